//! The repository that jobs are measured on, the one edit that each makes, and the model that makes it.

use std::fmt::Write;

use copydesk_testkit::model::{ModelServer, Reply, Request};
use copydesk_testkit::{GitEntry, GitRepo};
use serde_json::json;

/// Files in a folder.
const FOLDER: usize = 100;

/// One edit: a line in a page, another one for each number.
pub(super) struct Change {
    pub(super) number: usize,
    /// The page, in a folder in `docs`.
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
}

impl Change {
    /// The change of this number in a repository of so many pages. No two of a run are in the same page.
    pub(super) fn new(number: usize, pages: usize) -> Self {
        // A prime that divides neither size, so that all pages come up before one does again.
        let page = number * 1009 % pages;
        Self {
            number,
            path: path(page),
            old: format!("This page describes release {page}."),
            new: format!("This page describes release {page}, revised by change {number}."),
        }
    }

    /// What a user asks for. The model reads the number from it.
    pub(super) fn prompt(&self) -> String {
        format!("Say in {} that its release was revised. (change {}.)", self.path, self.number)
    }

    /// The change that a prompt asks for.
    pub(super) fn of_prompt(text: &str, pages: usize) -> Option<Self> {
        let (_, rest) = text.split_once("(change ")?;
        let (number, _) = rest.split_once(".)")?;
        Some(Self::new(number.parse().ok()?, pages))
    }
}

/// A bare repository of so many Markdown pages in one pack, a hundred in a folder.
pub(super) fn repository(pages: usize) -> GitRepo {
    let repository = GitRepo::with((0..pages).map(|page| (path(page), GitEntry::File(text(page, pages).into()))));
    repository.git(&["repack", "-adq"]);
    repository
}

/// A model that edits one page and then finishes, at once.
pub(super) async fn model(pages: usize) -> ModelServer {
    ModelServer::builder().program(move |request| reply(request, pages)).start().await
}

fn reply(request: &Request, pages: usize) -> Reply {
    let Some(change) = request.user_texts().find_map(|text| Change::of_prompt(text, pages)) else {
        return Reply::text("Which change?");
    };
    if request.has_called("edit_file") {
        let title = format!("Revise the release in {}", change.path);
        return Reply::of_call("finish", json!({"title": title, "summary": "Said that the release was revised."}));
    }
    let edit = json!({"path": change.path, "old_text": change.old, "new_text": change.new});
    Reply::of_call("edit_file", edit)
}

fn path(page: usize) -> String {
    format!("docs/section-{:03}/page-{:02}.md", page / FOLDER, page % FOLDER)
}

/// A page of about two kilobytes that links to the next ones.
fn text(page: usize, pages: usize) -> String {
    let mut text = format!(
        "---\ntitle: Page {page}\ndescription: How part {page} of the product is used.\n---\n\n# Page {page}\n\n\
         This page describes release {page}.\n"
    );
    for part in 1..=4 {
        let next = (page + part * 7) % pages;
        let link = format!("../section-{:03}/page-{:02}.md", next / FOLDER, next % FOLDER);
        let _ = write!(
            text,
            "\n## Step {part}\n\nOpen the settings of part {page} and choose what is wanted for step {part}. The \
             service keeps the choice until somebody makes another one, and tells everybody who follows the project. \
             What comes next is on [page {next}]({link}#step-1).\n\n```sh\nproduct configure --part {page} --step \
             {part}\n```\n\nIf the command is refused, look at the log of the service: it says which of the settings \
             does not fit and what would.\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_says_which_change_it_wants() {
        let change = Change::new(17, 2000);
        let read = Change::of_prompt(&change.prompt(), 2000).unwrap();
        assert_eq!((read.number, read.path, read.new), (17, change.path, change.new));
        assert!(Change::of_prompt("Fix typos", 2000).is_none());
    }

    #[test]
    fn a_page_holds_the_line_that_its_change_replaces_once() {
        let change = Change::new(5, 2000);
        let page = 5 * 1009 % 2000;
        assert_eq!(path(page), change.path);
        assert_eq!(text(page, 2000).matches(&change.old).count(), 1);
    }
}
