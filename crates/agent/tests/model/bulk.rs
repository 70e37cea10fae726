//! What work on many files costs, beside what it took with the tools that there were at first: one edit of one file at a
//! time, by its text. What it took then was measured with the program of then, by these very calls on these very pages. They
//! are as long as half of the pages of real sites are at least (medians of five sites: 1.9 to 6.8 kB).

use std::sync::Arc;

use copydesk_agent::Provider;
use copydesk_forge::{FileChange, MemoryTree, Workspace};
use serde_json::{Value, json};

use crate::desk::{Pages, editor, round_over};
use crate::stub::{Reply, Stub, openai};

/// One answer: its calls.
type Answer = Vec<(&'static str, Value)>;
type Files = Vec<(String, String)>;

/// What a way to do something took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Took {
    calls: usize,
    /// All of it: what was said so far, and what tools there are.
    last_request: usize,
    /// What the model has written, which is what is paid for most.
    written: usize,
}

async fn took(files: &Files, answers: Vec<Answer>) -> (Took, Vec<FileChange>) {
    let mut answers = answers;
    answers.push(vec![("finish", json!({ "title": "Do it", "summary": "Did it." }))]);
    let (calls, written) = (
        answers.iter().map(Vec::len).sum(),
        answers.iter().flatten().map(|(name, arguments)| name.len() + arguments.to_string().len()).sum(),
    );
    let reply = |answer: &Answer| -> Reply {
        let ids: Vec<String> = (0..answer.len()).map(|at| format!("c{at}")).collect();
        let calls: Vec<_> =
            answer.iter().zip(&ids).map(|((name, arguments), id)| (id.as_str(), *name, arguments.clone())).collect();
        openai("", &calls)
    };
    let stub = Stub::new(answers.iter().map(reply).collect::<Vec<_>>()).await;
    let tree = MemoryTree::of(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let workspace = Workspace::new(Arc::new(tree), Arc::new(|_: &str| Ok(())));
    let edited = round_over(workspace, &editor(&stub, Provider::OpenAi), &Pages::with_prompt("Do it.")).await.unwrap();
    assert_eq!(stub.left(), 0, "all of it was asked for");
    let asked = stub.asked();
    let last = &asked.last().unwrap().body;
    let refused = last.to_string().matches("\"Error: ").count();
    assert_eq!(refused, 0, "every call did something: {last}");
    let after = edited.workspace.changes();
    (Took { calls, last_request: last.to_string().len(), written }, after)
}

fn named(at: usize) -> String {
    format!("docs/guides/operating/set-up-part-{at:02}.md")
}

/// A sentence as it stands in real pages, whose paragraphs are often one line: the words in the middle of it.
fn paragraph(at: usize, words: &str) -> String {
    format!(
        "Before you go on with part {at}, make sure that the workspace you are in is the one you mean. {words} Most teams \
         find that the settings they begin with are enough for the first weeks, and come back to this page later.\n"
    )
}

/// What a page says besides, about 5 kB that no two pages have in common.
fn prose(at: usize) -> String {
    let line = |line: usize| {
        format!(
            "Step {line} of topic {at}: open the settings, choose the region that is nearest to your readers, and keep \
             the value {} that the page shows.\n{}",
            at * 100 + line,
            if line.is_multiple_of(4) { "\n" } else { "" }
        )
    };
    (1..=36).map(line).collect()
}

/// Does it both ways; they come to the same, and one takes at most half of what the other took with the program of then:
/// calls, bytes of the last request, bytes written.
async fn compare(name: &str, files: Files, before: Vec<Answer>, now: Vec<Answer>, then: (usize, usize, usize)) {
    let (at_length, old_files) = took(&files, before).await;
    let (now, new_files) = took(&files, now).await;
    assert_eq!(old_files, new_files, "{name}");
    assert!(!old_files.is_empty(), "{name}");
    let before = Took { calls: then.0, last_request: then.1, written: then.2 };
    assert_eq!((at_length.calls, at_length.written), (before.calls, before.written), "{name}: the same calls");
    println!("{name}: {before:?} before, {now:?} now");
    let halves = [(now.calls, before.calls), (now.last_request, before.last_request), (now.written, before.written)];
    for (now, before) in halves {
        assert!(2 * now <= before, "{name}: {now} is more than half of {before}");
    }
}

#[tokio::test]
async fn forty_replacements_in_22_files() {
    let page = |at: usize| {
        let first = paragraph(at, "Acme Cloud runs everywhere.");
        let more = if at < 18 { paragraph(at + 100, "Acme Cloud is fast.") + "\n" } else { String::new() };
        (named(at), format!("# Page {at}\n\n{first}\n{more}Nothing else.\n\n{}", prose(at)))
    };
    let files: Files = (0..22).map(page).collect();
    let edit = |(path, _): &(String, String)| {
        let edit = json!({ "path": path, "old_text": "Acme Cloud", "new_text": "Acme Platform", "replace_all": true });
        ("edit_file", edit)
    };
    let search = |more: Value| {
        let mut arguments = json!({ "pattern": "Acme Cloud" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        vec![("search", arguments)]
    };
    let before = vec![search(json!({})), files.iter().map(edit).collect()];
    let replace = json!({ "old_text": "Acme Cloud", "new_text": "Acme Platform" });
    compare(
        "40 replacements in 22 files",
        files.clone(),
        before,
        vec![search(json!({ "show": "counts" })), vec![("replace_in_files", replace)]],
        (24, 35_993, 2_911),
    )
    .await;
}

#[tokio::test]
async fn eighty_lines_out_of_12_files() {
    let notice = |at: usize| {
        let lines: Vec<String> = (0..if at < 8 { 5 } else { 4 })
            .map(|line| format!("Point {line} of page {at} about the old client."))
            .collect();
        format!(":::warning The old client\n{}\n:::\n", lines.join("\n"))
    };
    let text = |at: usize, notice: &str| {
        format!("# Page {at}\n\n{notice}\nThe rest of page {at} stays as it is.\n\n{}", prose(at))
    };
    let files: Files = (0..12).map(|at| (named(at), text(at, &notice(at)))).collect();
    assert_eq!((0..12).map(|at| notice(at).lines().count()).sum::<usize>(), 80);
    let read = files.iter().map(|(path, _)| ("read_file", json!({ "path": path }))).collect();
    let edit = |(at, (path, _)): (usize, &(String, String))| {
        ("edit_file", json!({ "path": path, "old_text": notice(at) + "\n", "new_text": "" }))
    };
    let before = vec![read, files.iter().enumerate().map(edit).collect()];
    let search = json!({ "pattern": ":::warning The old client", "show": "files" });
    let replace =
        json!({ "old_text": ":::warning The old client\\n[\\s\\S]*?\\n:::\\n\\n", "new_text": "", "regex": true });
    let now = vec![vec![("search", search)], vec![("replace_in_files", replace)]];
    compare("80 lines out of 12 files", files.clone(), before, now, (25, 82_647, 4_507)).await;
}

#[tokio::test]
async fn a_page_moved_that_30_links_lead_to() {
    let text = |at: usize| {
        let linked = |to: &str| paragraph(at, &format!("See [the guide](guide.md{to})."));
        format!("# Page {at}\n\n{}\n{}\n{}\n{}", linked(""), linked("#start"), linked("#end"), prose(at))
    };
    let mut files: Files = vec![(
        "docs/guides/operating/guide.md".to_owned(),
        format!("# Guide\n\n## Start\n\nGo.\n\n## End\n\nStop.\n\n{}", prose(99)),
    )];
    files.extend((0..10).map(|at| (named(at), text(at))));
    let moved = |rewrite: bool| {
        let mut arguments =
            json!({ "from": "docs/guides/operating/guide.md", "to": "docs/guides/operating/start/guide.md" });
        if rewrite {
            arguments["rewrite_links"] = json!(true);
        }
        vec![("move_file", arguments)]
    };
    let edit = |(path, _): &(String, String)| {
        let edit =
            json!({ "path": path, "old_text": "](guide.md", "new_text": "](start/guide.md", "replace_all": true });
        ("edit_file", edit)
    };
    let search = vec![("search", json!({ "pattern": "guide.md" }))];
    let before = vec![search, moved(false), files.iter().skip(1).map(edit).collect()];
    compare("a page that 30 links lead to", files.clone(), before, vec![moved(true)], (13, 24_769, 1_485)).await;
}
