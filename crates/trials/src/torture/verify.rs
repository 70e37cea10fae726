//! Whether the run went as it must: what the database says, held against what the workers wrote down.

use std::collections::HashMap;

use copydesk_domain::{Job, Status};
use copydesk_store::Event;

use super::check_history;
use super::fleet::Life;
use super::journal::{JournalLine, Mark};

/// All that is known after a run.
pub(super) struct Evidence {
    /// The ids of the jobs that were created.
    pub(super) created: Vec<String>,
    /// The jobs that are there, with their events.
    pub(super) jobs: Vec<(Job, Vec<Event>)>,
    pub(super) journal: Vec<JournalLine>,
    pub(super) lives: Vec<Life>,
    /// When the machine itself stood still.
    pub(super) stalls: Vec<(u64, u64)>,
    pub(super) kills: usize,
}

/// What it comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    pub(super) attempts: usize,
    /// The most attempts that one job took.
    pub(super) most: usize,
    /// Attempts that a kill cut short.
    pub(super) cut_short: usize,
    /// Times that a process was held still.
    pub(super) stops: usize,
    /// Attempts that went on after their job had been given to another, and got nowhere.
    pub(super) fenced: usize,
    /// Attempts that lost their lease while the machine stood still.
    pub(super) stalled: usize,
    /// Attempts that lost their lease though their process and the machine were running.
    pub(super) starved: usize,
    pub(super) violations: Vec<String>,
}

/// One attempt as it really was.
#[derive(Debug)]
struct Attempt<'a> {
    job: &'a str,
    number: i64,
    begin: u64,
    end: u64,
    /// Whether its process was killed in the middle of it.
    cut_short: bool,
    /// Whether its process was held still in the middle of it, so that it could not know that its lease had run out.
    stopped: bool,
    /// Whether the machine stood still in the middle of it.
    stalled: bool,
    let_go: bool,
}

pub(super) fn verify(evidence: &Evidence) -> Findings {
    let mut violations = Vec::new();
    let mut found = Findings {
        stops: evidence.lives.iter().map(|life| life.stops.len()).sum(),
        ..check_jobs(evidence, &mut violations)
    };
    let attempts = attempts(evidence, &mut violations);
    found.cut_short = attempts.iter().filter(|attempt| attempt.cut_short).count();
    found.fenced = attempts.iter().filter(|attempt| attempt.stopped && attempt.let_go).count();
    let lost = |stalled| move |it: &&Attempt<'_>| !it.stopped && it.let_go && it.stalled == stalled;
    found.stalled = attempts.iter().filter(lost(true)).count();
    found.starved = attempts.iter().filter(lost(false)).count();
    check_overlaps(&attempts, &mut violations);
    // A busy machine may starve one worker alone once in a while; more means that leases are not kept.
    if found.starved * 100 > found.attempts {
        violations.push(format!("{} attempts lost their lease though nothing was done to them", found.starved));
    }
    if evidence.kills == 0 {
        violations.push("nothing was killed".to_owned());
    }
    if found.cut_short == 0 || found.attempts <= evidence.created.len() {
        violations.push("no kill met a running job".to_owned());
    }
    found.violations = violations;
    found
}

fn check_jobs(evidence: &Evidence, violations: &mut Vec<String>) -> Findings {
    let mut found = Findings::default();
    let there: HashMap<&str, _> = evidence.jobs.iter().map(|(job, events)| (job.id.as_str(), (job, events))).collect();
    if evidence.jobs.len() != evidence.created.len() {
        violations.push(format!("{} jobs were created and {} are there", evidence.created.len(), evidence.jobs.len()));
    }
    for id in &evidence.created {
        let Some((job, events)) = there.get(id.as_str()) else {
            violations.push(format!("job {id}: is gone"));
            continue;
        };
        if job.status != Status::Completed {
            let Job { outcome, message, .. } = job;
            violations.push(format!("job {id}: is {}, {outcome:?}, {message:?}", job.status.as_str()));
        }
        let count = |kind: &str| events.iter().filter(|event| event.kind == kind).count();
        if count("completed") != 1 {
            violations.push(format!("job {id}: was completed {} times", count("completed")));
        }
        violations.extend(check_history(id, events, job.status));
        found.attempts += count("claimed");
        found.most = found.most.max(count("claimed"));
    }
    found
}

/// The attempts of the journal, each from its beginning to its end or the death of its process.
fn attempts<'a>(evidence: &'a Evidence, violations: &mut Vec<String>) -> Vec<Attempt<'a>> {
    let mut attempts = Vec::new();
    let ends: HashMap<_, _> = evidence
        .journal
        .iter()
        .filter(|line| line.mark != Mark::Begin)
        .map(|line| ((line.job.as_str(), line.attempt, line.pid), line))
        .collect();
    for line in evidence.journal.iter().filter(|line| line.mark == Mark::Begin) {
        let mut lives = evidence.lives.iter().filter(|life| life.pid == line.pid && life.born <= line.at);
        let Some(life) = lives.find(|life| life.died.is_none_or(|died| line.at <= died)) else {
            violations.push(format!("job {}: attempt {} by a process that nobody started", line.job, line.attempt));
            continue;
        };
        let ended = ends.get(&(line.job.as_str(), line.attempt, line.pid));
        let end = ended.map_or(life.died.unwrap_or(u64::MAX), |end| end.at);
        let within = |(from, until): &(u64, u64)| *from <= end && line.claimed <= *until;
        attempts.push(Attempt {
            job: &line.job,
            number: line.attempt,
            begin: line.at,
            end,
            cut_short: ended.is_none(),
            stopped: life.stops.iter().any(within),
            stalled: evidence.stalls.iter().any(within),
            let_go: ended.is_some_and(|end| end.mark == Mark::LetGo),
        });
    }
    attempts
}

/// No two attempts of a job at a time. A process that was held still cannot know that its lease has run out, so its
/// attempt may last into the next one: that nothing it wrote was accepted is seen from the events.
fn check_overlaps(attempts: &[Attempt<'_>], violations: &mut Vec<String>) {
    let mut of_job: HashMap<&str, Vec<&Attempt<'_>>> = HashMap::new();
    for attempt in attempts.iter().filter(|attempt| !attempt.stopped) {
        of_job.entry(attempt.job).or_default().push(attempt);
    }
    for (job, mut attempts) in of_job {
        attempts.sort_by_key(|attempt| attempt.begin);
        for (at, one) in attempts.iter().enumerate() {
            for other in attempts[at + 1..].iter().filter(|other| other.begin < one.end) {
                let together = (one.end.min(other.end) - other.begin) / 1_000_000;
                violations.push(format!(
                    "job {job}: attempts {} and {} ran at the same time for {together} ms",
                    one.number, other.number
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests;
