//! Whether a job came out as it must, however often those who worked on it were killed.

use std::collections::HashMap;

use copydesk_domain::{Outcome, Status, Timestamp};
use copydesk_store::Round;

use super::super::history::check_docs_history;
use super::seen::{Seen, SeenBranch};
use super::story::{Files, Story};

/// What must not be, as sentences.
pub(super) fn verify(story: &Story, base: &Files, seen: &Seen) -> Vec<String> {
    let mut check = Check { story, base, seen, wrong: Vec::new() };
    check.end();
    check.steps();
    check.model();
    check.branch();
    check.pull_request();
    let mut wrong = check.wrong;
    wrong.extend(check_docs_history(&seen.job.id, &seen.events, seen.job.status));
    wrong
}

/// How often somebody took the job up.
pub(super) fn attempts(seen: &Seen) -> usize {
    seen.events.iter().filter(|event| event.kind == "claimed").count()
}

/// How often the model was asked for nothing: the answer came to a process that died before it had recorded it.
pub(super) fn wasted_calls(seen: &Seen) -> usize {
    seen.calls.len().saturating_sub(seen.answers.len())
}

struct Check<'a> {
    story: &'a Story,
    base: &'a Files,
    seen: &'a Seen,
    wrong: Vec<String>,
}

impl<'a> Check<'a> {
    fn complain(&mut self, what: impl Into<String>) {
        self.wrong.push(format!("job {} ({}): {}", self.seen.job.id, self.story.tag, what.into()));
    }

    /// Completed, with the outcome that the story has.
    fn end(&mut self) {
        let job = &self.seen.job;
        let expected = if self.story.changes() { Outcome::PrCreated } else { Outcome::NoChanges };
        if job.status != Status::Completed || job.outcome != Some(expected) {
            let (status, outcome, message) = (job.status.as_str(), job.outcome, &job.message);
            self.complain(format!("is {status}, {outcome:?}, {message:?}; it should be completed, {expected:?}"));
        }
    }

    /// Each step is recorded once a round, in order; only that the pull request is open may be recorded again.
    fn steps(&mut self) {
        const STEPS: [&str; 4] = ["prepared", "edited", "committed", "pushed"];
        let (mut round, mut taken) = (0, STEPS.len());
        for event in &self.seen.events {
            if matches!(event.kind.as_str(), "opened" | "updated") && taken < STEPS.len() {
                self.complain(format!("event {}: opened before the push of round {round}", event.number));
            }
            // A round that has changed nothing is over with that.
            let kind = if event.kind == "unchanged" { "edited" } else { event.kind.as_str() };
            let Some(step) = STEPS.iter().position(|step| *step == kind) else { continue };
            let of = event.data["round"].as_u64().unwrap_or(0);
            let in_order = match step {
                0 => of == round + 1,
                _ => of == round && step == taken,
            };
            if !in_order {
                self.complain(format!("event {}: {} of round {of} out of order", event.number, event.kind));
            }
            (round, taken) = (of, step + 1);
        }
        let last = self.seen.rounds.last().map_or(0, |last| u64::from(last.number));
        if last != round || self.seen.rounds.last().is_none_or(|round| round.edit.is_none()) {
            self.complain(format!("has {last} rounds, of which the last should be edited; events tell of {round}"));
        }
    }

    /// Every answer that was recorded was asked for before, not after; what was asked for in vain was cut off by a kill.
    fn model(&mut self) {
        let (seen, story) = (self.seen, self.story);
        if !story.answers.contains(&seen.answers.len()) {
            self.complain(format!("has {} answers, which should be {:?}", seen.answers.len(), story.answers));
        }
        let mut first: HashMap<usize, Timestamp> = HashMap::new();
        for call in &seen.calls {
            let earliest = first.entry(call.position).or_insert(call.received_at);
            *earliest = call.received_at.min(*earliest);
            let recorded_at = seen.answers.get(call.position);
            if recorded_at.is_some_and(|recorded_at| call.received_at > *recorded_at) {
                self.complain(format!("the model was asked for answer {} after it was recorded", call.position + 1));
            }
        }
        for position in (0..seen.answers.len()).filter(|position| !first.contains_key(position)) {
            self.complain(format!("answer {} is there, but nobody asked for it", position + 1));
        }
        let (wasted, attempts) = (wasted_calls(seen), attempts(seen));
        if wasted > attempts.saturating_sub(1) {
            self.complain(format!("{wasted} calls of the model were in vain in {attempts} attempts"));
        }
        if seen.job.usage.model_calls != seen.answers.len() as u64 {
            let counted = seen.job.usage.model_calls;
            self.complain(format!("counts {counted} calls of the model and has {} answers", seen.answers.len()));
        }
    }

    /// One branch with one commit a round, which may be on top of a merge with the base branch, and all of the edits; or
    /// none at all.
    fn branch(&mut self) {
        let made: Vec<&'a Round> = self.seen.rounds.iter().filter(|round| round.commit.is_some()).collect();
        let names: Vec<&str> = self.seen.branches.iter().map(|branch| branch.name.as_str()).collect();
        let wanted = usize::from(self.story.changes());
        if names.len() != wanted {
            self.complain(format!("has {} branches instead of {wanted}: {names:?}", names.len()));
        }
        if !self.story.changes() && !made.is_empty() {
            self.complain("has changed something");
        }
        if let (true, Some(branch)) = (self.story.changes(), self.seen.branches.first()) {
            self.content(branch, &made);
        }
    }

    fn content(&mut self, branch: &SeenBranch, made: &[&'a Round]) {
        let merge = |round: &'a Round| round.merged.is_some().then_some(round.parent_commit.as_str());
        let commits: Vec<&str> =
            made.iter().rev().flat_map(|round| [round.commit.as_deref(), merge(round)]).flatten().collect();
        if branch.commits != commits {
            self.complain(format!("its branch has the commits {:?}, its rounds {commits:?}", branch.commits));
        }
        if self.seen.job.branch.as_deref() != Some(&branch.name) {
            self.complain(format!("says that its branch is {:?}; it is {}", self.seen.job.branch, branch.name));
        }
        if made.last().is_none_or(|last| !last.pushed) {
            self.complain("does not know that its last commit is pushed");
        }
        let expected = self.story.files_after(self.base, self.seen.answers.len());
        let paths = expected.keys().chain(branch.files.keys()).collect::<std::collections::BTreeSet<_>>();
        for path in paths.into_iter().filter(|path| expected.get(*path) != branch.files.get(*path)) {
            let (is, should) = (branch.files.get(path), expected.get(path));
            self.complain(format!("{path} is {is:?} and should be {should:?}"));
        }
    }

    /// One pull request, from that branch, and the job links to it.
    fn pull_request(&mut self) {
        let seen = self.seen;
        let wanted = usize::from(self.story.changes());
        if seen.pulls.len() != wanted {
            self.complain(format!("has {} pull requests instead of {wanted}", seen.pulls.len()));
        }
        let pull = seen.pulls.first();
        let link = pull.map(|pull| pull.url.clone());
        if seen.job.pr_link != link {
            self.complain(format!("links to {:?}; its pull request is {link:?}", seen.job.pr_link));
        }
        let shown = seen.job.pull_request.as_ref();
        if shown.map(|shown| (shown.number, &shown.url)) != pull.map(|pull| (pull.number, &pull.url)) {
            self.complain(format!("shows {shown:?}; its pull request is {pull:?}"));
        }
        if pull.map(|pull| &pull.head) != seen.branches.first().map(|branch| &branch.name) {
            self.complain(format!("its pull request is from {:?}", pull.map(|pull| &pull.head)));
        }
        let opened = seen.events.iter().filter(|event| matches!(event.kind.as_str(), "opened" | "updated"));
        let others = opened.filter(|event| event.data["prLink"].as_str() != link.as_deref()).count();
        if others > 0 {
            self.complain(format!("{others} of its events tell of another pull request"));
        }
    }
}

#[cfg(test)]
mod tests;
