//! What jobs are asked to do, what the model says to it, and what must come out of it however often it was begun anew.
//! Every edit adds something, so one that is lost is seen as well as one that is made twice.

use std::collections::BTreeMap;
use std::time::Duration;

use copydesk_testkit::model::{ANTHROPIC_MODEL, OPENAI_MODEL, Reply, Script};
use serde_json::json;

/// The text files of a repository.
pub(super) type Files = BTreeMap<String, String>;

/// The engine that needs no model.
const BUILTIN: &str = "builtin";
const GUIDE: &str = "docs/guide.md";
const SECOND: &str = "docs/second.md";

/// The repository that all jobs start from.
pub(super) const BASE: [(&str, &str); 3] = [
    ("README.md", "# Acme\n\nThe documentation is in `docs`.\n"),
    (GUIDE, "# Guide\n\nMarks: none.\n\nAcme Cloud runs everywhere. Acme Cloud is fast.\n"),
    (SECOND, "# Second page\n\nMarks: none.\n\nSee the [guide](guide.md). It is about Acme Cloud.\n"),
];

/// What somebody else adds to a base branch that moves on.
pub(super) const MOVED: (&str, &str) = ("docs/moved.md", "# Moved on\n");

/// A job from its first prompt to what it leaves behind.
#[derive(Debug, Clone)]
pub(super) struct Story {
    /// Unlike that of any other job; also the name of its conversation.
    pub(super) tag: String,
    pub(super) model: &'static str,
    /// The first prompt, then the follow-ups.
    pub(super) prompts: Vec<String>,
    /// Whether the job opens its pull request itself.
    pub(super) opens: bool,
    /// What of it is asked for at the code host.
    pub(super) asked: Asked,
    /// Whether the base branch moves on after the first push.
    pub(super) moves: bool,
    /// What the model says, if there is one.
    pub(super) script: Option<Script>,
    /// How many answers there may be when all is done.
    pub(super) answers: Vec<usize>,
    edits: Vec<Edit>,
}

/// What people ask for at the code host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    FollowUp,
    Job,
}

#[derive(Debug, Clone)]
struct Edit {
    /// The number of the answer that makes it, from 0; none if it is made in any case.
    answer: Option<usize>,
    path: &'static str,
    old: String,
    new: String,
}

impl Story {
    /// A model reads a page, edits two and finishes.
    pub(super) fn model(tag: &str) -> Self {
        let mut story = Self::of_model(tag, OPENAI_MODEL);
        let mark = |path, letter: &str| (path, "Marks: ".to_owned(), format!("Marks: {letter}-{tag} "));
        story.edits = vec![edit(1, mark(GUIDE, "a")), edit(2, mark(SECOND, "b"))];
        story.conclude(4);
        story
    }

    /// The same, with a follow-up that asks for one more edit. One that is sent `early` may come while the first prompt is
    /// still worked on; then it is taken in with that, and the script has nothing more to say to it.
    pub(super) fn followed_model(tag: &str, early: bool) -> Self {
        let mut story = Self { model: ANTHROPIC_MODEL, ..Self::model(tag) };
        story.prompts.push("Mark the guide once more.".to_owned());
        story.edits.push(edit(4, (GUIDE, "Marks: ".to_owned(), format!("Marks: c-{tag} "))));
        story.conclude(6);
        story.answers = if early { vec![4, 6] } else { vec![6] };
        story
    }

    /// A model that finds nothing to do.
    pub(super) fn idle_model(tag: &str) -> Self {
        let mut story = Self::of_model(tag, OPENAI_MODEL);
        story.conclude(2);
        story
    }

    /// No model, one chore.
    pub(super) fn builtin(tag: &str) -> Self {
        let new = format!("Acme Cloud {tag}");
        let edit = |path| Edit { answer: None, path, old: "Acme Cloud".to_owned(), new: new.clone() };
        Self {
            tag: tag.to_owned(),
            model: BUILTIN,
            prompts: vec![format!("Replace \"Acme Cloud\" with \"{new}\" in docs/.")],
            opens: true,
            asked: Asked::Nothing,
            moves: false,
            script: None,
            answers: vec![0],
            edits: vec![edit(GUIDE), edit(SECOND)],
        }
    }

    /// The same, with a second chore.
    pub(super) fn followed_builtin(tag: &str) -> Self {
        let mut story = Self::builtin(tag);
        story.prompts.push(format!("Replace \"Marks\" with \"Notes {tag}\" in docs/guide.md."));
        story.edits.push(Edit { answer: None, path: GUIDE, old: "Marks".to_owned(), new: format!("Notes {tag}") });
        story
    }

    /// No model, and a chore that finds nothing to do.
    pub(super) fn idle_builtin(tag: &str) -> Self {
        let mut story = Self::builtin(tag);
        story.prompts = vec![format!("Replace \"Nonesuch {tag}\" with \"Something\" in docs/.")];
        story.edits.clear();
        story
    }

    /// The same story, whose pull request is opened afterwards.
    pub(super) fn opened_later(mut self) -> Self {
        self.opens = false;
        self
    }

    /// The same story, of which the follow-up is a comment at the code host, or the whole job an issue there.
    pub(super) fn asked_for_by(mut self, asked: Asked) -> Self {
        self.asked = asked;
        self
    }

    /// The same story, while somebody else works on the base branch.
    pub(super) fn on_a_moving_base(mut self) -> Self {
        self.moves = true;
        self
    }

    /// The same story, whose model thinks for so long before each answer.
    pub(super) fn slowly(mut self, thinks: Duration) -> Self {
        self.script = self.script.is_some().then(|| self.write_script(thinks));
        self
    }

    /// Whether anything is changed.
    pub(super) fn changes(&self) -> bool {
        !self.edits.is_empty()
    }

    /// What the branch holds when the model has given so many answers.
    pub(super) fn files_after(&self, base: &Files, answers: usize) -> Files {
        let mut files = base.clone();
        if self.moves {
            files.insert(MOVED.0.to_owned(), MOVED.1.to_owned());
        }
        for edit in self.edits.iter().filter(|edit| edit.answer.is_none_or(|answer| answer < answers)) {
            let text = files.get_mut(edit.path).unwrap();
            *text = text.replace(&edit.old, &edit.new);
        }
        files
    }

    fn of_model(tag: &str, model: &'static str) -> Self {
        Self {
            tag: tag.to_owned(),
            model,
            prompts: vec![format!("Mark the pages. [[script:{tag}]]")],
            opens: true,
            asked: Asked::Nothing,
            moves: false,
            script: None,
            answers: Vec::new(),
            edits: Vec::new(),
        }
    }

    /// Ends after so many answers.
    fn conclude(&mut self, answers: usize) {
        self.answers = vec![answers];
        self.script = Some(self.write_script(Duration::ZERO));
    }

    fn write_script(&self, thinks: Duration) -> Script {
        let answers = self.answers.last().copied().unwrap_or(0);
        let mut script = Script::new();
        for at in 0..answers {
            let edit = self.edits.iter().find(|edit| edit.answer == Some(at));
            let reply = match edit {
                Some(Edit { path, old, new, .. }) => {
                    Reply::of_call("edit_file", json!({ "path": path, "old_text": old, "new_text": new }))
                }
                None if at == 0 => Reply::of_call("read_file", json!({ "path": GUIDE })),
                None if self.changes() => {
                    let title = format!("Mark the pages {}", self.tag);
                    Reply::of_call("finish", json!({ "title": title, "summary": "Marked the pages." }))
                }
                None => Reply::of_call("finish", json!({ "summary": "There is nothing to do." })),
            };
            script = script.reply(reply.after(thinks));
        }
        script
    }
}

fn edit(answer: usize, (path, old, new): (&'static str, String, String)) -> Edit {
    Edit { answer: Some(answer), path, old, new }
}

/// The repository that all jobs start from.
pub(super) fn base() -> Files {
    BASE.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}
