use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use copydesk_checks::{Check, Finding, Report, Severity, Tally};
use copydesk_forge::{Kind, LARGEST_TEXT, MemoryTree};
use proptest::prelude::*;

use crate::review::DocsChecks;

use super::*;

fn workspace() -> Workspace {
    let tree = MemoryTree::of([
        ("README.md", "# Read me\n"),
        (
            "docs/guide/start.mdx",
            "---\ntitle: Start\n---\n\n# Start\n\nInstall the tool.\nThen run it.\n\nInstall the tool.\n",
        ),
        ("docs/windows.md", "one\r\ntwo\r\nthree\r\n"),
        ("docs/empty.md", ""),
        ("src/main.rs", "fn main() {}\n"),
    ])
    .with("docs/logo.png", Kind::File, [0u8, 159, 146])
    .with("docs/here.md", Kind::Symlink, "../README.md")
    .with("docs/large.md", Kind::File, "x\n".repeat(LARGEST_TEXT as usize / 2 + 1));
    let guard =
        |path: &str| if path.starts_with("docs/") { Ok(()) } else { Err(format!("{path:?} is not documentation")) };
    Workspace::new(Arc::new(tree), Arc::new(guard))
}

/// Finds one thing wrong, always the same.
struct OneFault;

impl Review for OneFault {
    fn new_problems(&self, _: &Workspace) -> io::Result<Vec<Finding>> {
        Ok(vec![fault("docs/a.md", "something is wrong")])
    }

    fn all_problems(&self, _: &Workspace) -> io::Result<Report> {
        let findings =
            vec![fault("docs/a.md", "something is wrong"), fault("docs/b/c.md", "something was wrong before")];
        let mut tally = Tally::default();
        tally.links.not_judged.insert("made by a plugin".to_owned(), 3);
        Ok(Report { pages: 7, findings, tally, idle: Vec::new() })
    }
}

fn fault(path: &str, message: &str) -> Finding {
    Finding {
        check: Check::Links,
        severity: Severity::Error,
        path: path.to_owned(),
        line: 1,
        column: 2,
        message: message.to_owned(),
        subject: String::new(),
        around: None,
    }
}

fn scope(max_files: usize) -> Scope {
    Scope { max_files, ..Scope::new(&["docs".to_owned()]) }
}

fn call(workspace: &mut Workspace, name: &str, arguments: Value) -> Ran {
    let call = Call { name: name.to_owned(), arguments, ..Call::default() };
    run(workspace, &CodeSources::default(), &call, &scope(100), &OneFault).unwrap()
}

/// With the checks that jobs have.
fn checked(workspace: &mut Workspace, name: &str, arguments: Value) -> String {
    let (call, scope) = (Call { name: name.to_owned(), arguments, ..Call::default() }, scope(100));
    let review = DocsChecks { scope: &scope, is_enough: &AtomicBool::new(false) };
    let ran = run(workspace, &CodeSources::default(), &call, &scope, &review).unwrap();
    assert!(ran.ok && ran.valid, "{}", ran.text);
    ran.text
}

fn ok(workspace: &mut Workspace, name: &str, arguments: Value) -> String {
    let ran = call(workspace, name, arguments);
    assert!(ran.ok && ran.valid, "{}", ran.text);
    ran.text
}

fn refused(workspace: &mut Workspace, name: &str, arguments: Value) -> String {
    let ran = call(workspace, name, arguments);
    assert!(!ran.ok && ran.valid && ran.text.starts_with("Error: "), "{}", ran.text);
    ran.text
}

#[test]
fn lists_by_folder_and_glob() {
    let workspace = &mut workspace();
    assert_eq!(ok(workspace, "list_files", json!({"pattern": "*.mdx"})), "docs/guide/start.mdx");
    assert_eq!(ok(workspace, "list_files", json!({"folder": "./docs/guide/"})), "docs/guide/start.mdx");
    assert_eq!(ok(workspace, "list_files", json!({"folder": "docs", "pattern": "guide/*"})), "docs/guide/start.mdx");
    assert!(refused(workspace, "list_files", json!({"folder": "nowhere"})).contains("no folder or file \"nowhere\""));
    assert_eq!(ok(workspace, "list_files", json!({"pattern": "*.none"})), "No files.");
    assert!(ok(workspace, "list_files", json!({})).contains("src/main.rs (may not be changed)"));
    let first = ok(workspace, "list_files", json!({"depth": 1, "exclude": "src/**"}));
    assert_eq!(first, "docs/ (5 files)\nREADME.md (may not be changed)\n(6 files in all)");
    assert!(refused(workspace, "list_files", json!({"pattern": "[z-a"})).contains("not a glob"));
    assert!(refused(workspace, "list_files", json!({"folder": "docs/../.."})).contains("leaves the repository"));
}

#[test]
fn long_lists_are_cut_and_say_what_is_left() {
    let files = (0..1_000).map(|at| (format!("docs/{}/{at:04}.md", if at < 700 { "api" } else { "guides" }), "x\nx"));
    let mut workspace = Workspace::new(Arc::new(MemoryTree::of(files)), Arc::new(|_| Ok(())));
    let listed = ok(&mut workspace, "list_files", json!({}));
    assert_eq!(listed, "docs/api/ (700 files)\ndocs/guides/ (300 files)\n(1000 files in all)");
    let listed = ok(&mut workspace, "list_files", json!({"folder": "docs/api"}));
    assert_eq!(listed.lines().count(), 501);
    assert!(listed.ends_with("(500 of 700 lines, 700 files in all; narrow it down)"), "{listed}");
    let found = ok(&mut workspace, "search", json!({"pattern": "x"}));
    assert_eq!(found.lines().count(), 101);
    let left =
        "(1900 more matching lines in 950 files are not shown: docs/api/ 1300, docs/guides/ 600; narrow it down)\n";
    assert!(found.ends_with(left), "{found}");
    // The last file fills it up, and nothing is left.
    let found = ok(&mut workspace, "search", json!({"pattern": "x", "files": "00[0-4]?.md"}));
    assert!(found.lines().count() == 100 && !found.contains("not shown"), "{found}");
    let counts = ok(&mut workspace, "search", json!({"pattern": "x", "show": "counts", "exclude": "docs/api/**"}));
    assert!(counts.starts_with("docs/guides/0700.md: 2\n") && counts.lines().count() == 300, "{counts}");
    let files = ok(&mut workspace, "search", json!({"pattern": "x", "show": "files"}));
    assert!(files.lines().count() == 501 && files.contains("(1000 more matching lines in 500 files"), "{files}");
}

#[test]
fn secrets_and_what_is_hidden_are_not_shown() {
    let files = [
        (".env", "TOKEN=needle"),
        ("docs/.idea/a.md", "needle"),
        ("docs/.vitepress/config.mts", "needle"),
        ("docs/a.md", "needle"),
    ];
    let workspace = &mut Workspace::new(Arc::new(MemoryTree::of(files)), Arc::new(|_: &str| Ok(())));
    for path in [".env", "./.env", "docs/.idea/a.md"] {
        assert!(refused(workspace, "read_file", json!({"path": path})).contains("is not shown"), "{path}");
    }
    assert!(ok(workspace, "read_files", json!({"paths": [".env", "docs/a.md"]})).contains("is not shown"));
    assert!(
        refused(workspace, "search", json!({"pattern": "needle", "folder": "docs/.idea"})).contains("is not shown")
    );
    let found = ok(workspace, "search", json!({"pattern": "needle", "show": "files"}));
    assert!(found.contains("docs/a.md") && found.contains(".vitepress") && !found.contains(".env"), "{found}");
    let listed = ok(workspace, "list_files", json!({"depth": 5}));
    assert!(listed.contains("a.md") && !listed.contains(".env") && !listed.contains(".idea"), "{listed}");
}

#[test]
fn searches_with_context() {
    let workspace = &mut workspace();
    let found = ok(workspace, "search", json!({"pattern": "^then", "ignore_case": true, "context": 1}));
    assert_eq!(
        found,
        "docs/guide/start.mdx-7- Install the tool.\ndocs/guide/start.mdx:8: Then run it.\ndocs/guide/start.mdx-9- \n"
    );
    let near = ok(workspace, "search", json!({"pattern": "^(Install|Then)", "context": 2, "files": "*.mdx"}));
    let marks: Vec<&str> = near.lines().map(|line| &line["docs/guide/start.mdx".len()..][..3]).collect();
    assert_eq!(marks, ["-5-", "-6-", ":7:", ":8:", "-9-", ":10"], "{near}");
    assert_eq!(ok(workspace, "search", json!({"pattern": "tool", "files": "*.md"})), "No matches.");
    let closed = ok(workspace, "search", json!({"pattern": "# [A-Z]\\w+", "show": "matches"}));
    assert_eq!(closed, "README.md:1: # Read\ndocs/guide/start.mdx:5: # Start\n(may not be changed: README.md)\n");
    assert!(refused(workspace, "search", json!({"pattern": "x", "folder": "doc"})).contains("no folder or file"));
    let long = format!("{}needle{}", "ä".repeat(5_000), "ö".repeat(5_000));
    ok(workspace, "write_file", json!({"path": "docs/long.md", "text": long}));
    let found = ok(workspace, "search", json!({"pattern": "needle"}));
    assert!(found.contains("äneedleö") && found.len() < 500, "{found}");
    assert_eq!(
        ok(workspace, "search", json!({"pattern": "title", "folder": "docs/guide/start.mdx"})).lines().count(),
        1
    );
    assert!(refused(workspace, "search", json!({"pattern": "(a"})).contains("not a regular expression"));
    assert!(refused(workspace, "search", json!({"pattern": "(((a{9999}){9999}){9999})"})).contains("not a regular"));
    assert!(refused(workspace, "search", json!({"pattern": ""})).contains("1 to 1000"));
}

#[test]
fn reads_with_numbers() {
    let workspace = &mut workspace();
    let text = ok(workspace, "read_file", json!({"path": "docs/guide/start.mdx", "from_line": 7, "to_line": 8}));
    assert_eq!(text, "(lines 7 to 8 of 10)\n7: Install the tool.\n8: Then run it.\n");
    let closed = "(may not be changed: \"README.md\" is not documentation)\n1: # Read me\n";
    assert_eq!(ok(workspace, "read_file", json!({"path": "README.md"})), closed);
    let both = ok(workspace, "read_files", json!({"paths": ["docs/windows.md", "docs/none.md", "docs/empty.md"]}));
    assert!(both.starts_with("=== docs/windows.md ===\n1: one\n2: two\n3: three\n"), "{both}");
    assert!(
        both.contains("Error: there is no file \"docs/none.md\"") && both.contains("(The file is empty.)"),
        "{both}"
    );
    assert!(refused(workspace, "read_files", json!({"paths": []})).contains("empty"));
    assert!(refused(workspace, "read_files", json!({"paths": vec!["a"; 21]})).contains("at most 20"));
    assert!(ok(workspace, "read_file", json!({"path": "docs/empty.md"})).contains("empty"));
    let beyond = json!({"path": "README.md", "from_line": 9});
    assert!(refused(workspace, "read_file", beyond).contains("only 1 line"));
    let backwards = json!({"path": "docs/windows.md", "from_line": 3, "to_line": 1});
    assert!(refused(workspace, "read_file", backwards).contains("before"));
    for (path, word) in [
        ("docs/logo.png", "not a text file"),
        ("docs/here.md", "symbolic link"),
        ("docs/large.md", "not read"),
        ("docs", "a folder"),
        ("../x", "leaves"),
        (".git/config", "not shown"),
        ("docs/none.md", "there is no file"),
    ] {
        assert!(refused(workspace, "read_file", json!({"path": path})).contains(word), "{path}");
    }
}

#[test]
fn long_files_are_read_in_parts() {
    let text: String = (1..=5_000).map(|at| format!("line {at} {}\n", "w".repeat(30))).collect();
    let tree = MemoryTree::of([("a.md", text), ("b.md", "v".repeat(100_000))]);
    let mut workspace = Workspace::new(Arc::new(tree), Arc::new(|_| Ok(())));
    let read = ok(&mut workspace, "read_file", json!({"path": "a.md"}));
    assert!(read.len() <= 50_000 && read.starts_with("(lines 1 to 1"), "{}", read.len());
    let last: usize = read.lines().last().unwrap().split(':').next().unwrap().parse().unwrap();
    assert!(read.starts_with(&format!("(lines 1 to {last} of 5000)")));
    assert!(ok(&mut workspace, "read_file", json!({"path": "b.md"})).len() < 5_000);
}

#[test]
fn edits_what_is_there_exactly_once() {
    let workspace = &mut workspace();
    let path = "docs/guide/start.mdx";
    let edit = |old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let shown = ok(workspace, "edit_file", edit("Then run it.", "Then start it."));
    assert!(shown.contains("8: Then start it."), "{shown}");
    let twice = refused(workspace, "edit_file", edit("Install the tool.", "x"));
    assert!(twice.contains("2 times, at lines 7, 10"), "{twice}");
    let near = refused(workspace, "edit_file", edit("Then start  it", "x"));
    assert!(near.contains("What comes near") && near.contains("8: Then start it."), "{near}");
    let nothing = refused(workspace, "edit_file", edit("Quite another matter", "x"));
    assert!(nothing.contains("nothing in it comes near"), "{nothing}");
    assert!(refused(workspace, "edit_file", edit("", "x")).contains("empty"));
    assert!(refused(workspace, "edit_file", edit("  \n ", "x")).contains("white space"));
    assert!(refused(workspace, "edit_file", edit("Start", "Start")).contains("the same"));
    let all = json!({"path": path, "old_text": "Install the tool.", "new_text": "Get it.", "replace_all": true});
    assert!(ok(workspace, "edit_file", all).contains("2 places"));
    assert!(
        refused(workspace, "edit_file", json!({"path": "README.md", "old_text": "a", "new_text": "b"}))
            .contains("not doc")
    );
}

#[test]
fn a_line_break_at_the_end_keeps_the_empty_line_that_was_replaced() {
    for (new, after) in [
        ("# New\n\nOne.\n", "# New\n\nOne.\n\nTwo.\n"),
        ("# New\n\nOne.\n\n", "# New\n\nOne.\n\nTwo.\n"),
        ("# New\n\nOne.", "# New\n\nOne.\nTwo.\n"),
        ("", "Two.\n"),
    ] {
        let workspace = &mut workspace();
        ok(workspace, "write_file", json!({"path": "docs/a.md", "text": "# Old\n\nOne.\n\nTwo.\n"}));
        let edit = json!({"path": "docs/a.md", "from_line": 1, "to_line": 4, "first_line": "# Old", "last_line": "", "new_text": new});
        ok(workspace, "edit_file", edit);
        assert_eq!(workspace.text("docs/a.md").unwrap(), after, "{new:?}");
    }
}

#[test]
fn edits_lines_whose_first_and_last_are_known() {
    let workspace = &mut workspace();
    let path = "docs/guide/start.mdx";
    let lines = |from: u32, to: u32, first: &str, last: &str, new: &str| json!({"path": path, "from_line": from, "to_line": to, "first_line": first, "last_line": last, "new_text": new});
    let wrong = refused(workspace, "edit_file", lines(7, 8, "Install the tool.", "Then stop it.", "x"));
    assert!(wrong.contains("line 8") && wrong.contains("`last_line`") && wrong.contains("Then run it."), "{wrong}");
    assert!(refused(workspace, "edit_file", lines(7, 99, "Install the tool.", "x", "x")).contains("the lines 1 to 10"));
    assert!(refused(workspace, "edit_file", lines(0, 1, "---", "---", "x")).contains("0 to 1 are not"));
    let bare = json!({"path": path, "from_line": 7, "to_line": 8, "new_text": "x"});
    assert!(refused(workspace, "edit_file", bare).contains("`first_line` is missing"));
    ok(workspace, "edit_file", lines(7, 8, "Install the tool.", "Then run it.", "Get it."));
    assert!(workspace.text(path).unwrap().ends_with("# Start\n\nGet it.\n\nInstall the tool.\n"));
    // One line is its own last, and nothing removes it.
    let one = json!({"path": path, "from_line": 7, "first_line": "Get it.", "new_text": ""});
    ok(workspace, "edit_file", one);
    assert!(workspace.text(path).unwrap().ends_with("# Start\n\n\nInstall the tool.\n"));
}

#[test]
fn several_edits_are_made_together_or_not_at_all() {
    let workspace = &mut workspace();
    let path = "docs/guide/start.mdx";
    let first = json!({"old_text": "title: Start", "new_text": "title: Begin"});
    let bad = json!({"path": path, "edits": [first, {"old_text": "nowhere to be seen", "new_text": "x"}]});
    let why = refused(workspace, "edit_file", bad);
    assert!(why.contains("nothing was changed; edit 2: `old_text` is not in"), "{why}");
    assert!(workspace.is_unchanged());
    let same = json!({"old_text": "Start", "new_text": "Go", "replace_all": true});
    assert!(refused(workspace, "edit_file", json!({"path": path, "edits": [first, same]})).contains("the same text"));
    let both = json!({"path": path, "old_text": "a", "edits": [first]});
    assert!(refused(workspace, "edit_file", both).contains("not both"));
    let lines = json!({"from_line": 8, "first_line": "Then run it.", "new_text": "Run it.\nTwice."});
    let all = json!({"old_text": "Install the tool.", "new_text": "Get it.", "replace_all": true});
    let shown = ok(workspace, "edit_file", json!({"path": path, "edits": [all, lines, first]}));
    assert!(shown.contains("at 4 places") && shown.contains("2: title: Begin"), "{shown}");
    assert!(shown.contains("9: Twice.") && shown.contains("11: Get it."), "{shown}");
    let text = workspace.text(path).unwrap();
    assert!(text.ends_with("# Start\n\nGet it.\nRun it.\nTwice.\n\nGet it.\n"), "{text}");
}

#[test]
fn long_edits_are_shown_around_their_ends() {
    let workspace = &mut workspace();
    let long: Vec<String> = (0..50).map(|at| format!("line {at}")).collect();
    let edit = json!({"path": "docs/guide/start.mdx", "old_text": "Then run it.", "new_text": long.join("\n")});
    let shown = ok(workspace, "edit_file", edit);
    assert!(shown.contains("8: line 0\n") && shown.contains("57: line 49\n") && shown.contains(" lines)"), "{shown}");
    assert!(shown.lines().count() < 20, "{shown}");
}

#[test]
fn a_file_outside_of_folders_is_not_named_below_the_last_one() {
    let tree = MemoryTree::of([("a/one.md", "old\n"), ("b.md", "old\n"), ("c/two.md", "old\n")]);
    let workspace = &mut Workspace::new(Arc::new(tree), Arc::new(|_: &str| Ok(())));
    let dry = ok(workspace, "replace_in_files", json!({"old_text": "old", "new_text": "new", "dry_run": true}));
    let wanted = "a/\n- one.md: 1\n  1: new\n./\n- b.md: 1\n  1: new\nc/\n- two.md: 1\n  1: new\n";
    assert_eq!(dry, format!("Would replace 3 places in 3 files:\n{wanted}"));
}

#[test]
fn one_text_is_replaced_in_many_files() {
    let workspace = &mut workspace();
    ok(workspace, "write_file", json!({"path": "docs/more.md", "text": "Install the tool.\r\nNow.\r\n"}));
    let tool = |more: Value| {
        let mut input = json!({"old_text": "the tool", "new_text": "it"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let dry = ok(workspace, "replace_in_files", tool(json!({"dry_run": true})));
    assert_eq!(
        dry,
        "Would replace 3 places in 2 files:\ndocs/guide/\n- start.mdx: 2\n  7: Install it.\n  10: Install it.\ndocs/\n- more.md: 1\n  \
         1: Install it.\n"
    );
    assert!(workspace.text("docs/more.md").unwrap().contains("the tool"));
    ok(workspace, "replace_in_files", tool(json!({"exclude": "docs/guide/**"})));
    assert_eq!(workspace.text("docs/more.md").unwrap(), "Install it.\r\nNow.\r\n");
    let grouped = json!({"old_text": "^(Install) the (\\w+)", "new_text": "$1 our $2", "regex": true});
    assert!(ok(workspace, "replace_in_files", grouped).contains("2 places in 1 file:"));
    assert!(workspace.text("docs/guide/start.mdx").unwrap().contains("Install our tool.\nThen"));
    let closed = ok(workspace, "replace_in_files", json!({"old_text": "Read", "new_text": "See"}));
    assert!(closed.contains("Nothing to replace") && closed.contains("may not be changed: README.md"), "{closed}");
    let call = |workspace: &mut Workspace, arguments: Value| {
        let call = Call { name: "replace_in_files".to_owned(), arguments, ..Call::default() };
        run(workspace, &CodeSources::default(), &call, &scope(2), &OneFault).unwrap()
    };
    let many = call(workspace, json!({"old_text": "one", "new_text": "1"}));
    assert!(!many.ok && many.text.contains("at most 2 may be changed"), "{}", many.text);
}

#[test]
fn what_was_done_can_be_seen_and_undone() {
    let workspace = &mut workspace();
    assert_eq!(ok(workspace, "show_diff", json!({})), "Nothing is changed.");
    ok(workspace, "write_file", json!({"path": "docs/new.md", "text": "new\n"}));
    ok(workspace, "edit_file", json!({"path": "docs/windows.md", "old_text": "two", "new_text": "2"}));
    let diff = ok(workspace, "show_diff", json!({}));
    assert!(diff.contains("--- /dev/null\n+++ b/docs/new.md\n@@ -0,0 +1 @@\n+new\n"), "{diff}");
    assert!(diff.contains("--- a/docs/windows.md\n") && diff.contains("-two\r\n+2\r\n"), "{diff}");
    assert!(!ok(workspace, "show_diff", json!({"path": "docs/new.md"})).contains("windows"));
    assert_eq!(ok(workspace, "show_diff", json!({"path": "docs/none.md"})), "Changed: docs/new.md, docs/windows.md.");
    assert_eq!(ok(workspace, "restore_file", json!({"path": "docs/windows.md"})), "docs/windows.md is as it was.");
    assert_eq!(ok(workspace, "restore_file", json!({"path": "docs/new.md"})), "docs/new.md is gone: it was new.");
    assert!(workspace.is_unchanged());
    assert!(refused(workspace, "restore_file", json!({"path": "docs/new.md"})).contains("has not been changed"));

    // What was moved is not shown as deleted and written anew.
    let text = |changed: &str| format!("# A\n\nOne line that stays.\n{changed}\nAnother line that stays.\n");
    let workspace = &mut Workspace::new(
        Arc::new(MemoryTree::of([("docs/a.md", text("old").as_str()), ("docs/b.md", "B\n")])),
        Arc::new(|_: &str| Ok(())),
    );
    ok(workspace, "delete_file", json!({"path": "docs/a.md"}));
    ok(workspace, "write_file", json!({"path": "docs/new/a.md", "text": text("new")}));
    ok(workspace, "delete_file", json!({"path": "docs/b.md"}));
    let moved = "rename from docs/a.md\nrename to docs/new/a.md\n--- a/docs/a.md\n+++ b/docs/new/a.md\n@@ -1,5 +1,5 @@\n # A\n \n \
                 One line that stays.\n-old\n+new\n Another line that stays.\n";
    assert_eq!(
        ok(workspace, "show_diff", json!({})),
        format!("--- a/docs/b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-B\n{moved}")
    );
    for path in ["docs/a.md", "docs/new"] {
        assert_eq!(ok(workspace, "show_diff", json!({ "path": path })), moved);
    }
}

#[test]
fn a_page_of_a_book_is_one_only_once_its_summary_lists_it() {
    let tree = MemoryTree::of([
        ("docs/book.toml", "[book]\ntitle = \"B\"\n"),
        ("docs/src/SUMMARY.md", "# Summary\n\n- [A](a.md)\n- [Math](format/math.md)\n"),
        ("docs/src/a.md", "# A\n\nSee [math](format/math.md#it).\n"),
        ("docs/src/format/math.md", "# Math\n\n## It\n"),
    ]);
    let workspace = &mut Workspace::new(Arc::new(tree), Arc::new(|_| Ok(())));
    let input = json!({"from": "docs/src/format/math.md", "to": "docs/src/extra/maths.md", "rewrite_links": true});
    let said = checked(workspace, "move_file", input);
    assert!(said.contains("Links rewritten in docs/src/a.md: 1.") && said.contains("SUMMARY.md"), "{said}");
    assert!(workspace.text("docs/src/a.md").unwrap().contains("(extra/maths.md#it)"));
}

#[test]
fn a_page_that_moves_takes_its_links_along_and_tells_who_leads_to_it() {
    let tree = MemoryTree::of([
        ("docs/index.md", "# Home\n\nSee [start](guide/start.md#run) and [the same](./guide/start.md).\n"),
        (
            "docs/guide/start.md",
            "# Start\n\n## Run\n\nSee [next](next.md#go), [home](../index.md) and [web](https://a.b).\n\n![x](img/x.png)\n",
        ),
        ("docs/guide/next.md", "# Next\n\n## Go\n\nBack to [start](start.md).\n"),
        ("docs/guide/img/x.png", "x"),
    ]);
    let guard = |path: &str| if path == "docs/closed.md" { Err("closed".to_owned()) } else { Ok(()) };
    let workspace = &mut Workspace::new(Arc::new(tree), Arc::new(guard));
    let moved = json!({"from": "docs/guide/start.md", "to": "docs/begin/here/start.md"});
    let said = checked(&mut workspace.clone(), "move_file", moved.clone());
    assert!(said.contains("that were rewritten: 3.") && said.contains("left to you"), "{said}");
    assert!(said.contains("docs/index.md:3:") && said.contains("docs/guide/next.md:5:"), "{said}");
    let gone = checked(&mut workspace.clone(), "delete_file", json!({"path": "docs/guide/start.md"}));
    assert!(gone.contains("docs/index.md:3:") && gone.contains("docs/guide/next.md:5:"), "{gone}");
    let mut with = moved;
    with["rewrite_links"] = json!(true);
    let said = checked(workspace, "move_file", with);
    assert!(
        said.contains("Links rewritten in docs/index.md: 2.") && said.contains("find nothing that is broken"),
        "{said}"
    );
    assert_eq!(
        workspace.text("docs/begin/here/start.md").unwrap(),
        "# Start\n\n## Run\n\nSee [next](../../guide/next.md#go), [home](../../index.md) and [web](https://a.b).\n\n\
         ![x](../../guide/img/x.png)\n"
    );
    let home = workspace.text("docs/index.md").unwrap();
    assert!(home.contains("](begin/here/start.md#run)") && home.contains("begin/here/start.md)."), "{home}");
    assert!(workspace.text("docs/guide/next.md").unwrap().contains("](../begin/here/start.md)"));
}

#[test]
fn line_ends_stay_what_they_are() {
    let workspace = &mut workspace();
    let path = "docs/windows.md";
    ok(workspace, "edit_file", json!({"path": path, "old_text": "one\ntwo", "new_text": "1\n2"}));
    assert_eq!(workspace.text(path).unwrap(), "1\r\n2\r\nthree\r\n");
    ok(workspace, "write_file", json!({"path": path, "text": "a\nb\n"}));
    assert_eq!(workspace.text(path).unwrap(), "a\r\nb\r\n");
}

#[test]
fn writes_moves_and_deletes() {
    let workspace = &mut workspace();
    assert_eq!(
        ok(workspace, "write_file", json!({"path": "docs/new.md", "text": "a\nb\n"})),
        "Wrote docs/new.md, 2 lines."
    );
    ok(workspace, "move_file", json!({"from": "docs/new.md", "to": "docs/old.md"}));
    ok(workspace, "delete_file", json!({"path": "docs/empty.md"}));
    let paths: Vec<&str> = workspace.changed_paths().collect();
    assert_eq!(paths, ["docs/empty.md", "docs/old.md"]);
    assert!(refused(workspace, "delete_file", json!({"path": "docs/empty.md"})).contains("no file"));
    let taken = json!({"from": "docs/old.md", "to": "docs/windows.md"});
    assert!(refused(workspace, "move_file", taken).contains("already"));
    let large = json!({"path": "docs/big.md", "text": "x".repeat(LARGEST_TEXT as usize + 1)});
    assert!(refused(workspace, "write_file", large).contains("would have more"));
}

#[test]
fn one_file_too_many_is_refused() {
    let workspace = &mut workspace();
    let call = |workspace: &mut Workspace, name: &str, arguments: Value| {
        let call = Call { name: name.to_owned(), arguments, ..Call::default() };
        run(workspace, &CodeSources::default(), &call, &scope(2), &OneFault).unwrap()
    };
    let write = |path: &str| json!({"path": path, "text": "n"});
    assert!(call(workspace, "write_file", write("docs/new.md")).ok);
    // Moving one that is there changes two.
    let two = json!({"from": "docs/windows.md", "to": "docs/w.md"});
    assert!(call(workspace, "move_file", two).text.contains("would change 3 files, but at most 2 may be"));
    assert!(call(workspace, "delete_file", json!({"path": "docs/empty.md"})).ok);
    for (name, arguments) in [
        ("write_file", write("docs/third.md")),
        ("edit_file", json!({"path": "docs/windows.md", "old_text": "one", "new_text": "1"})),
        ("delete_file", json!({"path": "docs/windows.md"})),
    ] {
        let ran = call(workspace, name, arguments);
        assert!(!ran.ok && ran.valid && ran.text.contains("at most 2 may be changed"), "{name} {}", ran.text);
    }
    assert_eq!(workspace.changed_paths().collect::<Vec<_>>(), ["docs/empty.md", "docs/new.md"]);
    // What was changed may be changed further, and what is undone makes room.
    assert!(call(workspace, "edit_file", json!({"path": "docs/./new.md", "old_text": "n", "new_text": "m"})).ok);
    assert!(call(workspace, "move_file", json!({"from": "docs/new.md", "to": "docs/newer.md"})).ok);
    assert!(call(workspace, "delete_file", json!({"path": "docs/newer.md"})).ok);
    assert!(call(workspace, "write_file", write("docs/third.md")).ok);
    assert_eq!(workspace.changed_paths().collect::<Vec<_>>(), ["docs/empty.md", "docs/third.md"]);
}

#[test]
fn plans_and_checks() {
    let workspace = &mut workspace();
    ok(workspace, "plan", json!({"items": ["a"]}));
    assert!(refused(workspace, "plan", json!({"items": []})).contains("empty"));
    assert!(refused(workspace, "plan", json!({"items": vec!["a"; 21]})).contains("at most 20"));
    assert_eq!(plan_items("plan", &json!({"items": [" a\nb "]})), Some(vec!["a b".to_owned()]));
    assert_eq!(plan_items("finish", &json!({"items": []})), None);
    assert_eq!(ok(workspace, "check_docs", Value::Null), "1 new problem:\n- docs/a.md:1:2: something is wrong\n");
    let all = ok(workspace, "check_docs", json!({"existing": true}));
    assert!(all.starts_with("2 problems:\n") && all.contains("was wrong before"), "{all}");
    let below = ok(workspace, "check_docs", json!({"existing": true, "folder": "docs/b/", "kind": "links"}));
    assert!(below.starts_with("1 problem:\n") && below.contains("docs/b/c.md"), "{below}");
    assert_eq!(
        ok(workspace, "check_docs", json!({"existing": true, "kind": "images"})),
        "No problems.\n(7 pages were looked at; 3 places could not be judged: made by a plugin (3))"
    );
    assert!(ok(workspace, "check_docs", json!({"kind": ""})).starts_with("1 new problem"), "some say nothing so");
}

#[test]
fn says_what_is_wrong_with_arguments() {
    let workspace = &mut workspace();
    for (name, arguments, word) in [
        ("read_file", json!({}), "missing field `path`"),
        ("read_file", json!({"path": 3}), "expected a string"),
        ("search", json!({"pattern": "x", "show": "all"}), "expected one of `lines`, `matches`, `counts`, `files`"),
        ("check_docs", json!({"kind": "spelling"}), "no kind \"spelling\""),
        ("read_file", json!({"path": "a", "line": 3}), "unknown field `line`, expected one of `path`"),
        ("read_file", json!("{\"pa"), "not a JSON object. They begin with: {\"pa"),
        ("read_file", json!([1]), "not a JSON object"),
        ("rm", json!({}), "there is no tool `rm`"),
    ] {
        let ran = call(workspace, name, arguments);
        assert!(!ran.valid && !ran.ok && ran.text.contains(word), "{}", ran.text);
    }
    assert!(read_finish(&json!({"summary": " "})).is_err());
}

#[test]
fn descriptions_say_what_the_model_needs() {
    for definition in definitions(true) {
        assert!(
            definition.description.len() >= 20 && !definition.description.contains("  "),
            "{}",
            definition.description
        );
        assert_eq!(definition.schema["type"], "object");
    }
    let edit = definitions(true).into_iter().find(|definition| definition.name == "edit_file").unwrap();
    assert_eq!(edit.schema["required"], json!(["path"]));
    assert!(edit.schema["properties"]["edits"]["items"]["properties"]["old_text"].is_object());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_arguments_make_a_tool_panic_or_answer_without_bound(
        name in prop::sample::select(vec![
            "list_files", "search", "read_file", "read_files", "edit_file", "replace_in_files", "write_file", "move_file",
            "restore_file", "show_diff",
        ]),
        path in prop_oneof!["\\PC{0,20}", Just("docs/guide/start.mdx".to_owned()), "(docs|\\.\\.|\\.git|/|\\.|é)(/\\PC{0,6}){0,3}"],
        text in "\\PC{0,30}",
        number in any::<u32>(),
    ) {
        let mut workspace = workspace();
        for arguments in [
            json!({"path": path, "from_line": number, "to_line": number}),
            json!({"path": path, "old_text": text, "new_text": "n"}),
            json!({"path": path, "text": text}),
            json!({"from": path, "to": text}),
            json!({"pattern": text, "folder": path}),
            json!({"pattern": text, "files": path, "context": number}),
            json!({"paths": [path, text]}),
            json!({"path": path, "from_line": number, "to_line": 3, "first_line": text, "new_text": text}),
            json!({"path": path, "edits": [{"old_text": text, "new_text": "n"}, {"from_line": 1, "new_text": path}]}),
            json!({"old_text": text, "new_text": path, "regex": number % 2 == 0, "files": path}),
            json!({"path": path}),
        ] {
            let ran = call(&mut workspace, name, arguments);
            prop_assert!(ran.text.len() <= 51_000);
        }
        for path in workspace.changed_paths() {
            prop_assert!(path.starts_with("docs/") && !path.contains(".."));
        }
    }
}
