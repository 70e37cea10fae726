//! What the checks say of a page, as a badge and a way to put it right.

use copydesk_desk::health::fix_prompt;
use copydesk_domain::{NotJudged, Role};
use copydesk_store::{Health, PageHealth};

use crate::dash::Dash;
use crate::who::InProject;
use crate::words::{many, number, part};

/// A badge beside a page.
pub(super) struct Badge {
    pub(super) look: &'static str,
    pub(super) words: String,
    /// What it rests on, in a sentence; may be empty.
    pub(super) detail: String,
    /// Where it can be put right, for those who may.
    pub(super) fix: Option<String>,
}

/// What is said of pages in one project to somebody.
pub(super) struct Checked<'a> {
    /// Whether the pages were ever judged.
    has_run: bool,
    who: &'a InProject,
    model: String,
}

impl<'a> Checked<'a> {
    pub(super) fn new(dash: &Dash, who: &'a InProject, health: Option<&Health>) -> Self {
        let has_run = health.is_some_and(|health| health.checked.is_some());
        Self { has_run, who, model: dash.desk().jobs.rules().default_model.clone() }
    }

    /// Of a page that may not be known.
    pub(super) fn badge(&self, page: Option<&PageHealth>) -> Badge {
        let badge = |look, words: &str, detail: String| Badge { look, words: words.to_owned(), detail, fix: None };
        let Some(page) = page.filter(|_| self.has_run) else {
            return match self.has_run {
                true => {
                    badge("bare", "not known", "Copydesk does not know which file this page comes from.".to_owned())
                }
                false => badge("bare", "not checked yet", String::new()),
            };
        };
        let left: u64 = page.not_judged.iter().map(|it| it.count).sum();
        match (page.found, left) {
            (0, 0) => badge("good", "no findings", String::new()),
            (0, _) => badge("", &format!("{} not judged", number(left)), reasons(&page.not_judged)),
            (found, _) => Badge {
                fix: self.who.role.covers(Role::Editor).then(|| self.fix(std::slice::from_ref(page))),
                detail: page.findings.iter().take(3).map(|it| it.message.clone()).collect::<Vec<_>>().join("; "),
                ..badge("warn", &many(found, "finding", "findings"), String::new())
            },
        }
    }

    /// The address of a new job that puts pages right.
    pub(super) fn fix(&self, pages: &[PageHealth]) -> String {
        self.who.path(&format!("/jobs/new?prompt={}", part(&fix_prompt(pages, &self.model))))
    }
}

/// Why something was not judged.
pub(super) fn reasons(all: &[NotJudged]) -> String {
    let said = all.iter().map(|it| format!("{} ({})", it.reason, number(it.count)));
    said.collect::<Vec<_>>().join(", ")
}
