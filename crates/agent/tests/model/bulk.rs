//! What work on many files costs, beside what it took with the tools that there were at first: one edit of one file at a
//! time, by its text. What it took then was measured with the program of then, by these very calls.

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
    /// Of what was said so far, in the last request; what tools there are is said in each.
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
    let last = &asked.last().unwrap().body["messages"];
    let refused = last.to_string().matches("\"Error: ").count();
    assert_eq!(refused, 0, "every call did something: {last}");
    let after = edited.workspace.changes();
    (Took { calls, last_request: last.to_string().len(), written }, after)
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
        let more = if at < 18 { "Acme Cloud is fast.\n" } else { "" };
        (format!("docs/p{at:02}.md"), format!("# Page {at}\n\nAcme Cloud runs everywhere.\n\n{more}Nothing else.\n"))
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
        (24, 12_022, 2_295),
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
    let text = |at: usize, notice: &str| format!("# Page {at}\n\n{notice}\nThe rest of page {at} stays as it is.\n");
    let files: Files = (0..12).map(|at| (format!("docs/p{at:02}.md"), text(at, &notice(at)))).collect();
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
    compare("80 lines out of 12 files", files.clone(), before, now, (25, 14_131, 3_835)).await;
}

#[tokio::test]
async fn a_page_moved_that_30_links_lead_to() {
    let text = |at: usize| {
        format!("# Page {at}\n\nSee [the guide](guide.md), [its start](guide.md#start) and [its end](guide.md#end).\n")
    };
    let mut files: Files =
        vec![("docs/guide.md".to_owned(), "# Guide\n\n## Start\n\nGo.\n\n## End\n\nStop.\n".to_owned())];
    files.extend((0..10).map(|at| (format!("docs/p{at:02}.md"), text(at))));
    let moved = |rewrite: bool| {
        let mut arguments = json!({ "from": "docs/guide.md", "to": "docs/start/guide.md" });
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
    compare("a page that 30 links lead to", files.clone(), before, vec![moved(true)], (13, 7_722, 1_171)).await;
}
