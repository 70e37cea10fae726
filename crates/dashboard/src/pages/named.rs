//! Jobs by what people call them, and how they stand.

use copydesk_domain::{Job, Outcome, PullRequestState, Status};
use copydesk_store::{Store, StoreError};

/// Letters of a prompt that stand for a title that is not there yet.
const LETTERS: usize = 90;

/// A job in a list.
pub(super) struct Named {
    pub(super) job: Job,
    /// Its title, or the beginning of its first prompt.
    pub(super) name: String,
    /// The look and the word of its badge.
    pub(super) look: &'static str,
    pub(super) standing: &'static str,
}

pub(super) async fn named(store: &Store, jobs: Vec<Job>) -> Result<Vec<Named>, StoreError> {
    let mut all = Vec::with_capacity(jobs.len());
    for job in jobs {
        let name = match job.title.clone().filter(|title| !title.is_empty()) {
            Some(title) => title,
            None => {
                let prompt = store.messages(&job.id).await?.into_iter().next().map(|message| message.prompt);
                first_words(&prompt.unwrap_or_default())
            }
        };
        let (look, standing) = standing(&job);
        all.push(Named { job, name, look, standing });
    }
    Ok(all)
}

fn first_words(prompt: &str) -> String {
    let line = prompt.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

fn standing(job: &Job) -> (&'static str, &'static str) {
    let pull = job.pull_request.as_ref().map(|pull| pull.state);
    match (job.status, job.outcome, pull) {
        (Status::Active, ..) => ("live", "active"),
        (Status::Archived, ..) => ("", "archived"),
        (_, _, Some(PullRequestState::Merged)) => ("good", "merged"),
        (_, _, Some(PullRequestState::Closed)) => ("", "closed"),
        (_, Some(Outcome::PrCreated), _) => ("good", "pull request"),
        (_, Some(Outcome::ChangesReady), _) => ("good", "changes ready"),
        (_, Some(Outcome::NoChanges), _) => ("", "no change"),
        (_, Some(Outcome::Cancelled), _) => ("", "cancelled"),
        (_, Some(Outcome::TimedOut), _) => ("bad", "took too long"),
        (_, Some(Outcome::ChecksFailed), _) => ("bad", "checks failed"),
        (Status::Failed, ..) => ("bad", "failed"),
        (Status::Completed, ..) => ("good", "completed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prompt_is_cut_between_letters() {
        assert_eq!(first_words(" Fix it\nand more"), "Fix it");
        assert_eq!(first_words(&"é".repeat(200)).chars().count(), LETTERS + 1);
    }
}
