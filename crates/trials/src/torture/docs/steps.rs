//! A process is killed at every boundary between two steps, each time in a world of its own; another takes over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_testkit::Backend;
use copydesk_testkit::model::ModelServer;
use futures_util::StreamExt;

use super::life::{Tally, conclude, live};
use super::moments;
use super::seen::Seen;
use super::story::Story;
use super::world::World;

/// How many worlds of one plot there are at a time.
const AT_ONCE: usize = 3;
/// A plot is through when so many processes in a row have lived to the end.
const SURVIVORS: usize = 2;
/// More steps than any job has.
pub(super) const MOST_STEPS: usize = 500;
/// Where kills must have met a job: behind each of these. Between the opening of a pull request and the end of the job the
/// clock is looked at only by chance; there it is `torture hosts` that kills, at every request.
const BOUNDARIES: [&str; 7] = ["created", "claimed", "prepared", "answered", "committed", "pushed", "completed"];

/// The events that tell of a step.
pub(super) const STEPS: [&str; 11] = [
    "created",
    "claimed",
    "prepared",
    "edited",
    "unchanged",
    "committed",
    "pushed",
    "opened",
    "updated",
    "completed",
    "message",
];

type Plot = (&'static str, fn(&str) -> Story);

/// What jobs are killed at.
const PLOTS: [Plot; 5] = [
    ("tools", Story::all_tools),
    ("follow-up", |tag| Story::followed_model(tag, false)),
    ("later", |tag| Story::followed_model(tag, false).opened_later()),
    ("builtin", Story::builtin),
    ("idle", Story::idle_model),
];

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_steps(backend: Backend) -> bool {
    let started = Instant::now();
    let model = Arc::new(ModelServer::builder().start().await);
    let plots = PLOTS.iter().map(|(name, story)| {
        let model = &model;
        let world = move |step| World::new(backend, model, story(&format!("{name}-{step}")));
        run_plot(name, 1..MOST_STEPS as u64, world)
    });
    let (plots, moments) = tokio::join!(futures_util::future::join_all(plots), moments::run(backend, &model));
    let mut all = Tally::default();
    plots.into_iter().for_each(|tally| all.join(tally));
    let steps = all.kills;
    for boundary in BOUNDARIES.iter().filter(|boundary| !all.behind.contains_key(**boundary)) {
        all.violations.push(format!("no kill came behind the step {boundary}"));
    }
    all.join(moments);
    all.violations.extend(model.take_violations().into_iter().map(|violation| format!("the model: {violation:?}")));
    report(backend, &all, steps, started.elapsed());
    all.violations.is_empty()
}

/// Kills at these steps, each in a world of its own, until there is none left.
pub(super) async fn run_plot<W>(name: &str, steps: impl Iterator<Item = u64>, world: impl Fn(u64) -> W) -> Tally
where
    W: Future<Output = World>,
{
    let mut all = Tally::default();
    let mut survivors = 0;
    let run = |step| {
        let world = world(step);
        async move { run_world(world.await, step).await }
    };
    let mut worlds = std::pin::pin!(futures_util::stream::iter(steps).map(run).buffered(AT_ONCE));
    while let Some(tally) = worlds.next().await {
        survivors = if tally.kills == 0 { survivors + 1 } else { 0 };
        all.join(tally);
        if survivors == SURVIVORS {
            return all;
        }
    }
    all.violations.push(format!("{name}: no process lived to the end of the job"));
    all
}

async fn run_world(world: World, step: u64) -> Tally {
    let mut tally = Tally { worlds: 1, ..Tally::default() };
    match live(world.life("first", Some(step))).await {
        Ok(true) => {}
        Ok(false) => {
            tally.kills += 1;
            *tally.behind.entry(last_step(world.look().await.as_ref())).or_default() += 1;
            // The mirror is sometimes there already, and sometimes it is another machine that goes on.
            let machine = if step.is_multiple_of(2) { "first" } else { "second" };
            match live(world.later_life(machine)).await {
                Ok(true) => {}
                Ok(false) => tally.violations.push(format!("{}: was killed again", world.story.tag)),
                Err(error) => tally.violations.push(format!("{}: {error}", world.story.tag)),
            }
        }
        Err(error) => tally.violations.push(format!("{}: {error}", world.story.tag)),
    }
    conclude(world, &mut tally).await;
    tally
}

/// The last step that was recorded.
fn last_step(seen: Option<&Seen>) -> String {
    let Some(seen) = seen else { return "asked for".to_owned() };
    let mut steps = seen.events.iter().map(|event| event.kind.as_str());
    let last = steps.rfind(|kind| STEPS.contains(kind)).unwrap_or("nothing");
    // Answers are no events. The first round has its first at once, the others more than those before.
    let before = if seen.rounds.len() > 1 { 4 } else { 0 };
    if last == "prepared" && seen.answers.len() > before { "answered".to_owned() } else { last.to_owned() }
}

fn report(backend: Backend, all: &Tally, steps: usize, took: Duration) {
    for violation in all.violations.iter().take(50) {
        eprintln!("VIOLATION {violation}");
    }
    let behind: Vec<String> = all.behind.iter().map(|(step, count)| format!("{count} {step}")).collect();
    println!(
        "steps on {backend}: {} jobs, {steps} killed between steps (behind: {}), {} in the middle of an act outside, \
         {} answers of the model lost, {} violations, {:.1} s",
        all.worlds,
        behind.join(", "),
        all.kills - steps,
        all.wasted,
        all.violations.len(),
        took.as_secs_f64(),
    );
}
