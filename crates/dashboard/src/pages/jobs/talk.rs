//! What was said in a job, and what the checks say of its change.

use askama::Template;
use axum::extract::{Path, State};
use copydesk_domain::{CheckSummary, Timestamp};

use super::JobView;
use crate::dash::Dash;
use crate::respond::{Reply, page};
use crate::shell::Shell;
use crate::who::InProject;
use crate::{markdown, words};

#[derive(Template)]
#[template(path = "job_checks.html")]
struct ChecksPage {
    shell: Shell,
    it: JobView,
}

impl ChecksPage {
    fn found(&self) -> u64 {
        self.it.job.checks.iter().map(|check| check.new_findings).sum()
    }

    fn repaired(&self) -> u64 {
        self.it.job.checks.iter().map(|check| check.repaired).sum()
    }

    /// How a check came out: the look of its badge, and the words.
    fn verdict(&self, check: &CheckSummary) -> (&'static str, &'static str) {
        if check.new_findings > 0 {
            ("bad", "found something")
        } else if !check.ran {
            ("warn", "judged nothing")
        } else {
            ("good", "nothing new")
        }
    }

    fn name(&self, check: &CheckSummary) -> String {
        check.check.replace('_', " ")
    }

    fn left_out(&self, check: &CheckSummary) -> u64 {
        check.new_findings.saturating_sub(check.findings.len() as u64)
    }
}

pub(super) async fn checks(State(dash): State<Dash>, who: InProject, Path((_, id)): Path<(String, String)>) -> Reply {
    let it = JobView::new(&dash, &who, &id, "/checks").await?;
    page(&ChecksPage { shell: Shell::inside(&dash, &who, "/jobs", format!("Checks of {}", it.title)), it })
}

#[derive(Template)]
#[template(path = "job_talk.html")]
struct TalkPage {
    shell: Shell,
    it: JobView,
    said: Vec<Said>,
}

/// What somebody said.
struct Said {
    at: Timestamp,
    /// Whether the agent said it.
    by_agent: bool,
    text: String,
}

pub(super) async fn show(State(dash): State<Dash>, who: InProject, Path((_, id)): Path<(String, String)>) -> Reply {
    let it = JobView::new(&dash, &who, &id, "/talk").await?;
    let store = &dash.desk().store;
    let prompts = store.messages(&it.job.id).await?.into_iter();
    let mut said: Vec<Said> =
        prompts.map(|message| Said { at: message.created_at, by_agent: false, text: message.prompt }).collect();
    let ends = store.events_of(&it.job.id, &["completed", "failed"]).await?;
    said.extend(ends.into_iter().filter_map(|event| {
        let text = event.data["message"].as_str()?.to_owned();
        Some(Said { at: event.created_at, by_agent: true, text })
    }));
    // At the same instant the question comes first.
    said.sort_by_key(|said| (said.at, said.by_agent));
    page(&TalkPage { shell: Shell::inside(&dash, &who, "/jobs", format!("Talk of {}", it.title)), it, said })
}
