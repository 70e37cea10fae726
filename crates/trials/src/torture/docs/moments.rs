//! A process is killed in the middle of an act outside the database: while a push is held up in the repository, before
//! or after it is applied there, and while the model thinks. The git program that it started lives on for a while.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use copydesk_testkit::model::ModelServer;
use copydesk_testkit::{Backend, GitRepo};
use futures_util::StreamExt;
use tempfile::TempDir;

use super::life::{PATIENCE, Tally, conclude, live};
use super::story::Story;
use super::world::World;

/// How many worlds there are at a time.
const AT_ONCE: usize = 3;
const NOBODY: &str = "0000000000000000000000000000000000000000";

/// When the process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// The push has arrived and is not applied.
    Arrived,
    /// The push is applied and not yet acknowledged.
    Applied,
    /// The model has been asked and has not answered.
    Thinking,
}

/// What becomes of the push that the killed process has left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Orphan {
    /// It goes on at once.
    GoesOn,
    /// The repository turns it away.
    IsRefused,
    /// It goes on when another process has done the work.
    ComesLate,
}

struct Moment {
    story: fn(&str) -> Story,
    act: Act,
    /// Whether it is the push that makes the branch, or one that adds to it.
    first_push: bool,
    orphan: Orphan,
}

const fn moment(story: fn(&str) -> Story, act: Act, first_push: bool, orphan: Orphan) -> Moment {
    Moment { story, act, first_push, orphan }
}

fn followed(tag: &str) -> Story {
    Story::followed_model(tag, false)
}

fn later(tag: &str) -> Story {
    Story::model(tag).opened_later()
}

fn slow(tag: &str) -> Story {
    Story::model(tag).slowly(Duration::from_secs(1))
}

const MOMENTS: [Moment; 14] = [
    moment(Story::model, Act::Arrived, true, Orphan::GoesOn),
    moment(Story::builtin, Act::Arrived, true, Orphan::IsRefused),
    moment(Story::model, Act::Arrived, true, Orphan::ComesLate),
    moment(Story::builtin, Act::Applied, true, Orphan::GoesOn),
    moment(Story::model, Act::Applied, true, Orphan::ComesLate),
    moment(followed, Act::Arrived, false, Orphan::GoesOn),
    moment(followed, Act::Arrived, false, Orphan::IsRefused),
    moment(followed, Act::Arrived, false, Orphan::ComesLate),
    moment(followed, Act::Applied, false, Orphan::ComesLate),
    moment(followed, Act::Arrived, true, Orphan::ComesLate),
    moment(later, Act::Arrived, true, Orphan::IsRefused),
    moment(later, Act::Arrived, true, Orphan::ComesLate),
    moment(later, Act::Applied, true, Orphan::ComesLate),
    moment(slow, Act::Thinking, true, Orphan::GoesOn),
];

/// Kills at each of these moments, once on the machine that goes on and once on another.
pub(super) async fn run(backend: Backend, model: &Arc<ModelServer>) -> Tally {
    let machines = ["first", "second"];
    let cases = MOMENTS.iter().enumerate().flat_map(|case| machines.map(|machine| (case, machine)));
    let world = |((number, moment), machine): ((usize, &'static Moment), &'static str)| async move {
        let story = (moment.story)(&format!("moment-{number}-{machine}"));
        run_world(World::new(backend, model, story).await, moment, machine, model).await
    };
    let mut all = Tally::default();
    let mut worlds = std::pin::pin!(futures_util::stream::iter(cases).map(world).buffer_unordered(AT_ONCE));
    while let Some(tally) = worlds.next().await {
        all.join(tally);
    }
    all
}

async fn run_world(world: World, moment: &Moment, machine: &str, model: &ModelServer) -> Tally {
    let mut tally = Tally { worlds: 1, ..Tally::default() };
    let gate = Gate::new(&world.repo, moment);
    match play(&world, moment, machine, model, &gate).await {
        Ok(()) => tally.kills += 1,
        Err(error) => tally.violations.push(format!("{}: {error}", world.story.tag)),
    }
    conclude(world, &mut tally).await;
    tally
}

async fn play(world: &World, moment: &Moment, machine: &str, model: &ModelServer, gate: &Gate) -> Result<(), String> {
    let mut child = world.life("first", None).spawn().map_err(|error| format!("no worker: {error}"))?;
    let _stdin = child.stdin.take();
    let reached = || match moment.act {
        Act::Arrived | Act::Applied => gate.process().is_some(),
        Act::Thinking => model.calls_of(&world.story.tag).len() >= 2,
    };
    until("the process has come to the moment", reached).await?;
    child.kill().await.map_err(|error| format!("the worker cannot be killed: {error}"))?;
    let pushes = moment.act != Act::Thinking;
    if pushes && moment.orphan != Orphan::ComesLate {
        gate.open(moment.orphan == Orphan::GoesOn).await?;
    }
    if !live(world.later_life(machine)).await? {
        return Err("was killed again".to_owned());
    }
    if pushes && moment.orphan == Orphan::ComesLate {
        gate.open(true).await?;
    }
    Ok(())
}

/// Holds a push up inside of the repository.
struct Gate {
    folder: TempDir,
}

impl Gate {
    fn new(repo: &GitRepo, moment: &Moment) -> Self {
        let gate = Self { folder: tempfile::tempdir().unwrap() };
        let hook = match moment.act {
            Act::Arrived => "pre-receive",
            Act::Applied => "post-receive",
            Act::Thinking => return gate,
        };
        let (folder, wanted) = (gate.folder.path().display(), if moment.first_push { "yes" } else { "no" });
        let script = format!(
            "#!/bin/sh\n\
             read -r old new name\n\
             first=no; [ \"$old\" = {NOBODY} ] && first=yes\n\
             [ $first = {wanted} ] || exit 0\n\
             # Only the first that comes here is held up.\n\
             mkdir '{folder}/taken' 2>/dev/null || exit 0\n\
             echo $PPID > '{folder}/new' && mv '{folder}/new' '{folder}/process'\n\
             turns=0\n\
             while [ ! -e '{folder}/go' ] && [ $turns -lt 1200 ]; do sleep 0.05; turns=$((turns + 1)); done\n\
             test \"$(cat '{folder}/go')\" = yes\n"
        );
        repo.hook(hook, &script);
        gate
    }

    /// The git process that waits here.
    fn process(&self) -> Option<PathBuf> {
        let id = std::fs::read_to_string(self.folder.path().join("process")).ok()?;
        Some(Path::new("/proc").join(id.trim()))
    }

    /// Lets it go on, or turns it away, and waits until it is gone.
    async fn open(&self, go_on: bool) -> Result<(), String> {
        let new = self.folder.path().join("answer");
        std::fs::write(&new, if go_on { "yes\n" } else { "no\n" }).unwrap();
        std::fs::rename(&new, self.folder.path().join("go")).unwrap();
        let process = self.process().ok_or("no push is held up")?;
        until("the push that was left behind is gone", || !process.exists()).await
    }
}

async fn until(what: &str, is_so: impl Fn() -> bool) -> Result<(), String> {
    let give_up = tokio::time::Instant::now() + PATIENCE;
    while !is_so() {
        if tokio::time::Instant::now() >= give_up {
            return Err(format!("waited in vain until {what}"));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
