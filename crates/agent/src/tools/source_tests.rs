//! Tools in a project with code sources.

use std::sync::Arc;

use copydesk_checks::{Finding, Report, Tally};
use copydesk_domain::Timestamp;
use copydesk_forge::{DiffKind, FileDiff, FileSummary, MemoryTree, Range};

use super::*;
use crate::sources::{SourceCommit, SourceFiles};

struct NoFault;

impl Review for NoFault {
    fn new_problems(&self, _: &Workspace) -> io::Result<Vec<Finding>> {
        Ok(Vec::new())
    }

    fn all_problems(&self, _: &Workspace) -> io::Result<Report> {
        Ok(Report { pages: 1, findings: Vec::new(), tally: Tally::default(), idle: Vec::new() })
    }
}

/// Everything may be written, so that only the sources stand in the way.
fn workspace() -> Workspace {
    let tree = MemoryTree::of([
        ("docs/a.md", "Waits 30 seconds.\n"),
        ("@sdk/own.md", "The documentation's own.\n"),
        ("@other/own.md", "Likewise.\n"),
    ]);
    Workspace::new(Arc::new(tree), Arc::new(|_| Ok(())))
}

fn sources() -> CodeSources {
    let tree = MemoryTree::of([
        ("src/retry.rs", "pub const SECONDS: u32 = 60;\n"),
        ("src/lib.rs", "mod retry;\n"),
        (".env", "KEY=planted\n"),
        ("certs/server.pem", "planted\n"),
    ]);
    let commit = SourceCommit { id: "1".repeat(40), made_at: Timestamp::from_millis(0), tree: Arc::new(tree) };
    let source = |name: &str, commit| SourceFiles {
        name: name.to_owned(),
        repository: "https://example.com/acme/sdk".to_owned(),
        revision: "the main branch".to_owned(),
        commit,
    };
    CodeSources::new(vec![source("away", Err("the host does not answer".to_owned())), source("sdk", Ok(commit))])
}

fn call(workspace: &mut Workspace, name: &str, arguments: Value) -> Ran {
    let call = Call { name: name.to_owned(), arguments, ..Call::default() };
    let scope = Scope { max_files: 100, ..Scope::new(&[".".to_owned()]) };
    run(workspace, &sources(), &call, &scope, &NoFault).unwrap()
}

fn ok(name: &str, arguments: Value) -> String {
    let ran = call(&mut workspace(), name, arguments);
    assert!(ran.ok && ran.valid, "{}", ran.text);
    ran.text
}

fn refused(name: &str, arguments: Value) -> String {
    let ran = call(&mut workspace(), name, arguments);
    assert!(!ran.ok && ran.valid, "{}", ran.text);
    ran.text
}

#[test]
fn files_of_a_source_are_read_listed_and_searched_below_its_prefix() {
    let text = ok("read_file", json!({"path": "@sdk/src/retry.rs"}));
    assert!(text.contains("1: pub const SECONDS: u32 = 60;") && !text.contains("may not be changed"), "{text}");
    let text = ok("read_files", json!({"paths": ["docs/a.md", "@sdk/src/lib.rs", "@away/x"]}));
    assert!(
        text.contains("1: Waits 30") && text.contains("1: mod retry;") && text.contains("does not answer"),
        "{text}"
    );
    for folder in ["@sdk", "@sdk/", "@sdk/src"] {
        let text = ok("list_files", json!({"folder": folder}));
        assert!(text.contains("@sdk/src/retry.rs") && !text.contains("(may not") && !text.contains("docs/"), "{text}");
    }
    let text = ok("search", json!({"pattern": "SECONDS", "folder": "@sdk", "files": "src/*.rs"}));
    assert!(text.contains("@sdk/src/retry.rs:1: pub const SECONDS"), "{text}");
    assert!(ok("search", json!({"pattern": "mod", "folder": "@sdk/src/lib.rs"})).contains("@sdk/src/lib.rs:1:"));
}

#[test]
fn what_is_asked_without_a_folder_is_about_the_documentation_and_names_the_sources() {
    let text = ok("list_files", json!({}));
    assert!(text.contains("docs/a.md") && !text.contains("retry.rs") && text.contains("@away, @sdk)"), "{text}");
    let text = ok("search", json!({"pattern": "SECONDS|seconds"}));
    assert!(text.contains("docs/a.md:1:") && !text.contains("retry.rs"), "{text}");
    assert!(text.contains("(not searched: the code sources; name one as `folder`: @away, @sdk)"), "{text}");
    assert!(!ok("search", json!({"pattern": "seconds", "folder": "docs"})).contains("not searched"));
}

#[test]
fn a_source_that_cannot_be_read_says_why() {
    for (tool, arguments) in [
        ("read_file", json!({"path": "@away/a.rs"})),
        ("list_files", json!({"folder": "@away"})),
        ("search", json!({"pattern": "x", "folder": "@away/src"})),
    ] {
        let text = refused(tool, arguments);
        assert!(text.contains("@away cannot be read: the host does not answer"), "{text}");
    }
}

#[test]
fn secrets_of_a_source_are_not_shown() {
    for path in ["@sdk/.env", "@sdk/certs/server.pem"] {
        assert!(refused("read_file", json!({"path": path})).contains("is not shown"), "{path}");
        assert!(refused("list_files", json!({"folder": path})).contains("is not shown"), "{path}");
    }
    assert!(!ok("list_files", json!({"folder": "@sdk"})).contains(".env"));
    assert!(ok("search", json!({"pattern": "planted", "folder": "@sdk"})).starts_with("No matches"));
}

#[test]
fn no_tool_writes_into_a_source() {
    for (tool, arguments) in [
        ("write_file", json!({"path": "@sdk/src/lib.rs", "text": "x"})),
        ("write_file", json!({"path": "@sdk/new.md", "text": "x"})),
        ("edit_file", json!({"path": "@sdk/src/lib.rs", "old_text": "mod", "new_text": "x"})),
        ("delete_file", json!({"path": "@sdk/src/lib.rs"})),
        ("restore_file", json!({"path": "@sdk/src/lib.rs"})),
        ("move_file", json!({"from": "@sdk/src/lib.rs", "to": "docs/lib.md"})),
        ("move_file", json!({"from": "docs/a.md", "to": "@sdk/a.md"})),
        ("replace_in_files", json!({"old_text": "mod", "new_text": "x", "folder": "@sdk"})),
        ("write_file", json!({"path": "@away/a.md", "text": "x"})),
        ("check_docs", json!({"folder": "@sdk"})),
    ] {
        let mut workspace = workspace();
        let ran = call(&mut workspace, tool, arguments.clone());
        assert!(!ran.ok && ran.text.contains("can be read and never changed"), "{tool} {arguments}: {}", ran.text);
        assert!(workspace.is_unchanged(), "{tool} {arguments}");
    }
}

#[test]
fn a_path_of_the_documentation_that_begins_in_the_same_way_can_be_reached() {
    assert!(ok("read_file", json!({"path": "./@sdk/own.md"})).contains("documentation's own"));
    assert!(ok("read_file", json!({"path": "@other/own.md"})).contains("Likewise"), "no source is called so");
    assert!(ok("list_files", json!({"folder": "./@sdk"})).contains("@sdk/own.md"));
    let mut workspace = workspace();
    assert!(call(&mut workspace, "write_file", json!({"path": "./@sdk/own.md", "text": "new\n"})).ok);
    assert!(call(&mut workspace, "write_file", json!({"path": "@other/own.md", "text": "new\n"})).ok);
    assert_eq!(workspace.changed_paths().collect::<Vec<_>>(), ["@other/own.md", "@sdk/own.md"]);
}

fn asked(tool: &str, arguments: Value) -> Call {
    Call { name: tool.to_owned(), arguments, ..Call::default() }
}

#[test]
fn the_history_of_a_source_is_asked_by_its_prefix() {
    let of = |arguments| question(&asked(HISTORY, arguments), &sources());
    let (source, question) = of(json!({"path": "@sdk/src", "text": "retry"})).unwrap();
    assert_eq!((source.as_deref(), question.path.as_deref()), (Some("sdk"), Some("src")));
    let (source, question) = of(json!({"path": "@sdk", "commit": "1a2b3c4"})).unwrap();
    assert_eq!((source.as_deref(), question.path), (Some("sdk"), None));
    let (source, question) = of(json!({"path": "docs/a.md"})).unwrap();
    assert_eq!((source, question.path.as_deref()), (None, Some("docs/a.md")));
    assert!(of(json!({"path": "@away/src"})).unwrap_err().text.contains("does not answer"));
}

#[test]
fn a_range_of_a_source_is_asked_by_name() {
    let of = |arguments| range_question(&asked(SOURCE_DIFF, arguments), &sources());
    let (question, line) = of(json!({"source": "@sdk", "from": " v1 ", "path": "@sdk/src/", "from_line": 7})).unwrap();
    assert_eq!((question.source.as_str(), question.from.as_deref(), line), ("sdk", Some("v1"), Some(7)));
    assert_eq!((question.path.as_deref(), question.to), (Some("src"), None));
    assert_eq!(of(json!({"source": "sdk", "path": "@sdk"})).unwrap().0.path, None);
    for (arguments, said) in [
        (json!({"source": "nobody"}), "there are @away, @sdk"),
        (json!({"source": "away"}), "does not answer"),
        (json!({"source": "sdk", "path": ".env"}), "is not shown"),
        (json!({}), "do not fit"),
    ] {
        let text = of(arguments).unwrap_err().text;
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn an_answer_about_a_range_is_bounded_and_read_on_by_lines() {
    let summary =
        FileSummary { path: "a.rs".to_owned(), old_path: None, added: 1, removed: 0, kind: DiffKind::Changed };
    let file = FileDiff { summary, text: Some("+x\n".repeat(50_000)) };
    let range = Range { commits: 1, files: vec![file], ..Range::default() };
    let (mut question, _) = range_question(&asked(SOURCE_DIFF, json!({"source": "sdk"})), &sources()).unwrap();
    let ran = range_answered(Ok(range.clone()), &question, None);
    assert!(
        ran.ok && ran.text.len() <= LONGEST_ANSWER && ran.text.contains("more lines of this"),
        "{}",
        ran.text.len()
    );
    question.path = Some("a.rs".to_owned());
    let ran = range_answered(Ok(range), &question, Some(40_000));
    assert!(ran.text.contains("(lines 40000 to 4") && ran.text.len() <= LONGEST_ANSWER, "{}", &ran.text[..200]);
    assert!(range_answered(Ok(Range::default()), &question, None).text.contains("Nothing is different"));
    assert!(!range_answered(Err("there is no tag".to_owned()), &question, None).ok);
}
