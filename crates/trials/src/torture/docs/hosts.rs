//! Jobs whose pull requests live on code hosts. A process is killed at every boundary between two steps, and at every
//! request that it or its git makes: before that is done, or after it is done and before the answer. Another takes over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::HostKind;
use copydesk_testkit::Backend;
use copydesk_testkit::hosts::{Hold, Pause, Seen};
use copydesk_testkit::model::ModelServer;
use futures_util::StreamExt;
use futures_util::future::join_all;

use super::life::{PATIENCE, Tally, conclude, live};
use super::steps::{MOST_STEPS, run_plot};
use super::story::{Asked, Story};
use super::world::World;

/// A documentation job whose pull request lives on a code host is killed between its steps and at its requests; another
/// process must bring it to the same end, with one pull request.
#[derive(Debug, Clone, clap::Args)]
pub struct HostsOptions {
    /// sqlite, or postgres (on COPYDESK_TEST_POSTGRES).
    #[arg(long = "database")]
    pub backend: Backend,
    /// Kill at every step and every request, not only at those that change something and some of the others.
    #[arg(long)]
    pub full: bool,
    /// Only this plot: comment, merge, follow-up, later or label.
    #[arg(long)]
    pub plot: Option<String>,
}

const KINDS: [HostKind; 4] = [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket];
/// How many worlds of one host there are at a time.
const AT_ONCE: usize = 2;
/// In a short run a process is killed at one of so many steps. Each host begins with another, so that together they have
/// all of them.
const SOME_STEPS: usize = KINDS.len();
/// In a short run a process is killed at one of so many requests that change nothing.
const SOME_LOOKS: usize = 10;
/// Where kills must have met a job: behind each of these steps.
/// What comes after these takes a moment or two between two looks at the clock; there kills come at the requests instead.
const BOUNDARIES: [&str; 2] = ["claimed", "prepared"];

/// Makes a story for a job.
type Plot = fn(&str) -> Story;

/// What jobs are killed at; a short run makes do with the first.
const PLOTS: [(&str, Plot); 5] = [
    ("comment", |tag| Story::followed_builtin(tag).on_a_moving_base().asked_for_by(Asked::FollowUp)),
    ("merge", |tag| Story::followed_builtin(tag).on_a_moving_base()),
    ("follow-up", Story::followed_builtin),
    ("later", |tag| Story::followed_builtin(tag).opened_later()),
    ("label", |tag| Story::builtin(tag).asked_for_by(Asked::Job)),
];

/// What a request does to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    Look,
    Push,
    Open,
    Update,
    /// Says something.
    Say,
}

/// What becomes of the request at which a process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// It is never done.
    Lost,
    /// It is done, and never answered.
    Unanswered,
    /// It is done when another process has done the work.
    Late,
}

const FATES: [Fate; 3] = [Fate::Lost, Fate::Unanswered, Fate::Late];

/// How often a process was killed at which request.
type Kills = BTreeMap<(Act, Fate), usize>;

/// Everything that the worlds of one host have in common.
struct Run<'a> {
    options: &'a HostsOptions,
    model: &'a Arc<ModelServer>,
    kind: HostKind,
    /// Where a short run begins to count.
    first: usize,
    name: String,
    story: fn(&str) -> Story,
}

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_hosts(options: HostsOptions) -> bool {
    let started = Instant::now();
    let model = Arc::new(ModelServer::builder().start().await);
    let (mut all, mut kills) = (Tally::default(), Kills::new());
    let plots = if options.full { &PLOTS[..] } else { &PLOTS[..1] };
    for (name, story) in plots.iter().filter(|(name, _)| options.plot.as_deref().is_none_or(|plot| plot == *name)) {
        let run = |(first, kind): (usize, HostKind)| {
            let name = format!("{}-{name}", kind.as_str());
            Run { options: &options, model: &model, kind, first, name, story: *story }
        };
        // Its issues have no labels.
        let is_without = |kind: HostKind| *name == "label" && kind == HostKind::Bitbucket;
        let runs: Vec<Run<'_>> =
            KINDS.into_iter().enumerate().filter(|(_, kind)| !is_without(*kind)).map(run).collect();
        for (tally, of_run) in join_all(runs.iter().map(Run::run)).await {
            all.join(tally);
            of_run.into_iter().for_each(|(at, count)| *kills.entry(at).or_default() += count);
        }
    }
    for boundary in BOUNDARIES.iter().filter(|boundary| !all.behind.contains_key(**boundary)) {
        all.violations.push(format!("no kill came behind the step {boundary}"));
    }
    report(options.backend, &all, &kills, started.elapsed());
    all.violations.is_empty()
}

impl Run<'_> {
    async fn run(&self) -> (Tally, Kills) {
        let (mut all, mut kills) = (Tally::default(), Kills::new());
        let requests = self.rehearse(&mut all).await;
        let cases = futures_util::stream::iter(self.cases(&requests));
        let mut worlds = std::pin::pin!(cases.map(|case| self.run_world(case)).buffer_unordered(AT_ONCE));
        while let Some((at, tally)) = worlds.next().await {
            *kills.entry(at).or_default() += tally.kills;
            all.join(tally);
        }
        let acts = requests.iter().copied().filter(|act| *act != Act::Look).chain([Act::Push, Act::Open]);
        for at in acts.flat_map(|act| FATES.map(|fate| (act, fate))).collect::<BTreeSet<_>>() {
            if at != (Act::Say, Fate::Late) && kills.get(&at).is_none_or(|count| *count == 0) {
                all.violations.push(format!("{}: no kill came at {at:?}", self.name));
            }
        }
        let (first, every) = if self.options.full { (0, 1) } else { (self.first, SOME_STEPS) };
        let steps = (first + 1..MOST_STEPS).step_by(every);
        let world = |step| self.world(format!("step-{step}"));
        all.join(run_plot(&self.name, steps.map(|step| step as u64), world).await);
        (all, kills)
    }

    fn world(&self, tag: String) -> impl Future<Output = World> {
        let story = (self.story)(&format!("{}-{tag}", self.name));
        World::on_host(self.options.backend, self.model, story, self.kind)
    }

    /// What is asked of the host when nobody is killed. It is the same every time: no two requests are under way at once.
    async fn rehearse(&self, all: &mut Tally) -> Vec<Act> {
        let world = self.world("rehearsal".to_owned()).await;
        let mut tally = Tally { worlds: 1, ..Tally::default() };
        match live(world.life("first", None)).await {
            Ok(true) => {}
            Ok(false) => tally.violations.push(format!("{}: was killed by nobody", self.name)),
            Err(error) => tally.violations.push(format!("{}: {error}", self.name)),
        }
        let requests = world.host.iter().flat_map(|place| place.host.seen()).map(|seen| act(&seen)).collect();
        conclude(world, &mut tally).await;
        all.join(tally);
        requests
    }

    /// The numbers of the requests to kill at, from 1, with what becomes of them.
    fn cases(&self, requests: &[Act]) -> Vec<Case> {
        let mut cases = Vec::new();
        for (at, act) in requests.iter().copied().enumerate() {
            let fates = match act {
                Act::Look if !self.options.full && at % SOME_LOOKS != self.first => continue,
                // Nobody minds if somebody looks again later.
                Act::Look => &FATES[..2],
                Act::Push | Act::Open | Act::Update => &FATES,
                // No host can tell a reply that comes after minutes from another one.
                Act::Say => &FATES[..2],
            };
            cases.extend(fates.iter().map(|fate| Case { number: at + 1, act, fate: *fate }));
        }
        cases
    }

    async fn run_world(&self, case: Case) -> ((Act, Fate), Tally) {
        let mut world = self.world(format!("request-{}-{:?}", case.number, case.fate)).await;
        let mut tally = Tally { worlds: 1, ..Tally::default() };
        match play(&world, case).await {
            Ok(()) => tally.kills += 1,
            Err(error) => tally.violations.push(format!("{}: {error}", world.story.tag)),
        }
        // Bitbucket takes an opening that comes late for an update, with what was to be said when it was made.
        if let Some(place) = world.host.as_mut().filter(|_| case.act == Act::Open && case.fate == Fate::Late) {
            place.may_be_old = self.kind == HostKind::Bitbucket;
        }
        conclude(world, &mut tally).await;
        ((case.act, case.fate), tally)
    }
}

/// A request to kill at.
#[derive(Debug, Clone, Copy)]
struct Case {
    number: usize,
    act: Act,
    fate: Fate,
}

async fn play(world: &World, case: Case) -> Result<(), String> {
    let host = &world.host.as_ref().ok_or("there is no host")?.host;
    let pause = if case.fate == Fate::Unanswered { Pause::After } else { Pause::Before };
    let mut hold = host.hold(case.number, pause);
    kill_at(world, &mut hold).await?;
    // A request that nobody holds any more breaks, for a git too that has outlived its master.
    let late = Some(hold).filter(|_| case.fate == Fate::Late);
    // The mirror is sometimes there already, unless somebody may still write to it.
    let machine = if case.number.is_multiple_of(4) && late.is_none() { "first" } else { "second" };
    if !live(world.later_life(machine)).await? {
        return Err("was killed again".to_owned());
    }
    if let Some(hold) = late {
        hold.go_on().await;
    }
    Ok(())
}

/// Lets a process live until the request is held up, and kills it.
async fn kill_at(world: &World, hold: &mut Hold) -> Result<(), String> {
    let mut child = world.life("first", None).spawn().map_err(|error| format!("no worker: {error}"))?;
    // Its end is the end of the process, so it has to stay open.
    let _stdin = child.stdin.take();
    let reached = async {
        tokio::select! {
            () = hold.arrived() => Ok(()),
            ended = child.wait() => Err(format!("the request never came: {ended:?}")),
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.map_err(|_| "the request never came")??;
    child.kill().await.map_err(|error| format!("the worker cannot be killed: {error}"))
}

/// What a request does. Git looks with POST as well.
fn act(seen: &Seen) -> Act {
    match seen.method.as_str() {
        "POST" if seen.path.ends_with("/git-receive-pack") => Act::Push,
        "POST" if seen.path.ends_with("/git-upload-pack") => Act::Look,
        "POST" if seen.path.ends_with("/comments") || seen.path.ends_with("/notes") => Act::Say,
        "POST" => Act::Open,
        "PUT" | "PATCH" => Act::Update,
        _ => Act::Look,
    }
}

fn report(backend: Backend, all: &Tally, kills: &Kills, took: Duration) {
    for violation in all.violations.iter().take(50) {
        eprintln!("VIOLATION {violation}");
    }
    let behind: Vec<String> = all.behind.iter().map(|(step, count)| format!("{count} {step}")).collect();
    let count = |fits: &dyn Fn(Act, Fate) -> bool| -> usize {
        kills.iter().filter(|((act, fate), _)| fits(*act, *fate)).map(|(_, count)| count).sum()
    };
    let requests = count(&|_, _| true);
    println!(
        "hosts on {backend}: {} jobs on {} code hosts, {} killed between steps (behind: {}), {requests} at a request ({} \
         pushes, {} openings, {} updates, {} replies, {} looks; {} never done, {} done and not answered, {} done late), {} violations, \
         {:.1} s",
        all.worlds,
        KINDS.len(),
        all.kills - requests,
        behind.join(", "),
        count(&|act, _| act == Act::Push),
        count(&|act, _| act == Act::Open),
        count(&|act, _| act == Act::Update),
        count(&|act, _| act == Act::Say),
        count(&|act, _| act == Act::Look),
        count(&|_, fate| fate == Fate::Lost),
        count(&|_, fate| fate == Fate::Unanswered),
        count(&|_, fate| fate == Fate::Late),
        all.violations.len(),
        took.as_secs_f64(),
    );
}
