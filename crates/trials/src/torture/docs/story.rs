//! What jobs are asked to do, what the model says to it, and what must come out of it however often it was begun anew.
//! Every edit adds something, so one that is lost is seen as well as one that is made twice.

use std::collections::BTreeMap;
use std::time::Duration;

use copydesk_testkit::model::{ANTHROPIC_MODEL, OPENAI_MODEL, Reply, Script};
use serde_json::{Value, json};

/// The text files of a repository.
pub(super) type Files = BTreeMap<String, String>;

/// The engine that needs no model.
const BUILTIN: &str = "builtin";
const GUIDE: &str = "docs/guide.md";
const SECOND: &str = "docs/second.md";
const MOVED_GUIDE: &str = "docs/start/guide.md";
const THIRD: (&str, &str) = ("docs/third.md", "# Third page\n\nSee the [second page](second.md).\n");

/// What code sources are called.
pub(super) const SOURCE: &str = "sdk";
/// The file of a code source that changes again and again.
pub(super) const SOURCE_FILE: &str = "limits.md";

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
    /// Whether it reads a code source.
    pub(super) reads_source: bool,
    edits: Vec<Edit>,
    /// What answers ask for, by their numbers, where that is not one edit or one look.
    calls: BTreeMap<usize, Vec<Call>>,
}

/// A call of a tool.
type Call = (&'static str, Value);

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
    becomes: Becomes,
}

/// What becomes of a file.
#[derive(Debug, Clone)]
enum Becomes {
    /// The one text in it is everywhere the other.
    Replaced(String, String),
    /// It is new, and says this.
    New(String),
    /// It is elsewhere.
    Moved(&'static str),
}

impl Edit {
    fn apply(&self, files: &mut Files) {
        match &self.becomes {
            Becomes::Replaced(old, new) => {
                let text = files.get_mut(self.path).unwrap();
                *text = text.replace(old, new);
            }
            Becomes::New(text) => drop(files.insert(self.path.to_owned(), text.clone())),
            Becomes::Moved(to) => {
                let text = files.remove(self.path).unwrap();
                files.insert((*to).to_owned(), text);
            }
        }
    }
}

impl Story {
    /// A model reads a page, edits two and finishes.
    pub(super) fn model(tag: &str) -> Self {
        let mut story = Self::of_model(tag, OPENAI_MODEL);
        story.edits = vec![mark(1, GUIDE, "a", tag), mark(2, SECOND, "b", tag)];
        story.conclude(4);
        story
    }

    /// The same, with a follow-up that asks for one more edit. One that is sent `early` may come while the first prompt is
    /// still worked on; then it is taken in with that, and the script has nothing more to say to it.
    pub(super) fn followed_model(tag: &str, early: bool) -> Self {
        let mut story = Self { model: ANTHROPIC_MODEL, ..Self::model(tag) };
        story.prompts.push("Mark the guide once more.".to_owned());
        story.edits.push(mark(4, GUIDE, "c", tag));
        story.conclude(6);
        story.answers = if early { vec![4, 6] } else { vec![6] };
        story
    }

    /// A model that uses all of its tools, those that look many at a time, and reads a code source. It has no follow-up: by
    /// then the source has moved on, and a new round says so where the model server wants to hear the same as before.
    pub(super) fn all_tools(tag: &str) -> Self {
        let mut story = Self::of_model(tag, OPENAI_MODEL);
        story.reads_source = true;
        let in_source = format!("@{SOURCE}/{SOURCE_FILE}");
        let branded = format!("Acme Cloud {tag}");
        let replace = |path| replaced(3, path, "Acme Cloud", &branded);
        let looks = vec![
            ("read_files", json!({ "paths": [GUIDE, in_source] })),
            ("search", json!({ "pattern": "Acme", "folder": "docs", "context": 1 })),
            ("search", json!({ "pattern": "limit", "folder": format!("@{SOURCE}"), "show": "counts" })),
            ("list_files", json!({ "folder": format!("@{SOURCE}") })),
            ("history", json!({ "path": GUIDE })),
            ("source_diff", json!({ "source": SOURCE, "from": "v1", "path": SOURCE_FILE })),
            ("check_docs", json!({ "existing": true })),
        ];
        let of_lines = json!({
            "path": SECOND, "from_line": 3, "to_line": 3, "first_line": "Marks: none.", "last_line": "Marks: none.",
            "new_text": format!("Marks: b-{tag} none.")
        });
        let after_all = vec![("show_diff", json!({})), ("read_file", json!({ "path": in_source }))];
        story.calls = BTreeMap::from([
            (0, looks),
            (1, vec![("edit_file", json!({ "path": GUIDE, "old_text": "none", "new_text": "a slip" }))]),
            (2, vec![("restore_file", json!({ "path": GUIDE })), ("show_diff", json!({}))]),
            (3, vec![("replace_in_files", json!({ "old_text": "Acme Cloud", "new_text": branded, "folder": "docs" }))]),
            (4, vec![("write_file", json!({ "path": THIRD.0, "text": THIRD.1 }))]),
            (5, vec![("move_file", json!({ "from": GUIDE, "to": MOVED_GUIDE, "rewrite_links": true }))]),
            (6, vec![("edit_file", of_lines)]),
            (7, after_all),
        ]);
        story.edits = vec![
            replace(GUIDE),
            replace(SECOND),
            Edit { answer: Some(4), path: THIRD.0, becomes: Becomes::New(THIRD.1.to_owned()) },
            Edit { answer: Some(5), path: GUIDE, becomes: Becomes::Moved(MOVED_GUIDE) },
            replaced(5, SECOND, "(guide.md)", "(start/guide.md)"),
            replaced(6, SECOND, "Marks: ", &format!("Marks: b-{tag} ")),
        ];
        story.conclude(9);
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
        let edit = |path| Edit { answer: None, ..replaced(0, path, "Acme Cloud", &new) };
        Self {
            tag: tag.to_owned(),
            model: BUILTIN,
            prompts: vec![format!("Replace \"Acme Cloud\" with \"{new}\" in docs/.")],
            opens: true,
            asked: Asked::Nothing,
            moves: false,
            script: None,
            answers: vec![0],
            reads_source: false,
            edits: vec![edit(GUIDE), edit(SECOND)],
            calls: BTreeMap::new(),
        }
    }

    /// The same, with a second chore.
    pub(super) fn followed_builtin(tag: &str) -> Self {
        let mut story = Self::builtin(tag);
        story.prompts.push(format!("Replace \"Marks\" with \"Notes {tag}\" in docs/guide.md."));
        story.edits.push(Edit { answer: None, ..replaced(0, GUIDE, "Marks", &format!("Notes {tag}")) });
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
            edit.apply(&mut files);
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
            reads_source: false,
            edits: Vec::new(),
            calls: BTreeMap::new(),
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
            let reply = match (self.calls.get(&at), edit.map(|edit| (edit.path, &edit.becomes))) {
                (Some(calls), _) => {
                    calls.iter().fold(Reply::default(), |reply, (name, what)| reply.call(name, what.clone()))
                }
                (None, Some((path, Becomes::Replaced(old, new)))) => {
                    Reply::of_call("edit_file", json!({ "path": path, "old_text": old, "new_text": new }))
                }
                (None, None) if at == 0 => Reply::of_call("read_file", json!({ "path": GUIDE })),
                (None, _) if self.changes() => {
                    let title = format!("Mark the pages {}", self.tag);
                    Reply::of_call("finish", json!({ "title": title, "summary": "Marked the pages." }))
                }
                (None, _) => Reply::of_call("finish", json!({ "summary": "There is nothing to do." })),
            };
            script = script.reply(reply.after(thinks));
        }
        script
    }
}

fn replaced(answer: usize, path: &'static str, old: &str, new: &str) -> Edit {
    Edit { answer: Some(answer), path, becomes: Becomes::Replaced(old.to_owned(), new.to_owned()) }
}

fn mark(answer: usize, path: &'static str, letter: &str, tag: &str) -> Edit {
    replaced(answer, path, "Marks: ", &format!("Marks: {letter}-{tag} "))
}

/// The repository that all jobs start from.
pub(super) fn base() -> Files {
    BASE.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}
