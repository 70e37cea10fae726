use std::sync::Arc;

use copydesk_forge::{Kind, LARGEST_TEXT, MemoryTree};
use proptest::prelude::*;

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

fn call(workspace: &mut Workspace, name: &str, arguments: Value) -> Ran {
    let call = Call { name: name.to_owned(), arguments, ..Call::default() };
    run(workspace, &call, 100, &|_| Ok(vec!["docs/a.md:1: something is wrong".to_owned()])).unwrap()
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
    assert_eq!(ok(workspace, "list_files", json!({"folder": "nowhere"})), "No files.");
    assert!(ok(workspace, "list_files", json!({})).contains("src/main.rs"));
    assert!(refused(workspace, "list_files", json!({"pattern": "[z-a"})).contains("not a glob"));
    assert!(refused(workspace, "list_files", json!({"folder": "docs/../.."})).contains("leaves the repository"));
}

#[test]
fn long_lists_are_cut() {
    let files = (0..1_000).map(|at| (format!("docs/{at:04}.md"), "x"));
    let mut workspace = Workspace::new(Arc::new(MemoryTree::of(files)), Arc::new(|_| Ok(())));
    let listed = ok(&mut workspace, "list_files", json!({}));
    assert_eq!(listed.lines().count(), 501);
    assert!(listed.ends_with("(500 of 1000 files; narrow it down)"));
    let found = ok(&mut workspace, "search", json!({"pattern": "x"}));
    assert_eq!(found.lines().count(), 101);
    assert!(found.ends_with("(more may match; narrow it down)"));
}

#[test]
fn searches_with_context() {
    let workspace = &mut workspace();
    let found = ok(workspace, "search", json!({"pattern": "^then", "ignore_case": true, "context": 1}));
    assert_eq!(
        found,
        "docs/guide/start.mdx-7- Install the tool.\ndocs/guide/start.mdx:8: Then run it.\ndocs/guide/start.mdx-9- \n"
    );
    assert_eq!(ok(workspace, "search", json!({"pattern": "tool", "files": "*.md"})), "No matches.");
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
    assert_eq!(ok(workspace, "read_file", json!({"path": "README.md"})), "1: # Read me\n");
    assert!(ok(workspace, "read_file", json!({"path": "docs/empty.md"})).contains("empty"));
    let beyond = json!({"path": "README.md", "from_line": 9});
    assert!(refused(workspace, "read_file", beyond).contains("only 1 lines"));
    let backwards = json!({"path": "docs/windows.md", "from_line": 3, "to_line": 1});
    assert!(refused(workspace, "read_file", backwards).contains("before"));
    for (path, word) in [
        ("docs/logo.png", "not a text file"),
        ("docs/here.md", "symbolic link"),
        ("docs/large.md", "not read"),
        ("docs", "a folder"),
        ("../x", "leaves"),
        (".git/config", "git's own"),
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
        run(workspace, &call, 2, &|_| Ok(Vec::new())).unwrap()
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
    assert_eq!(ok(workspace, "check_docs", Value::Null), "1 new problems:\n- docs/a.md:1: something is wrong\n");
}

#[test]
fn says_what_is_wrong_with_arguments() {
    let workspace = &mut workspace();
    for (name, arguments, word) in [
        ("read_file", json!({}), "missing field `path`"),
        ("read_file", json!({"path": 3}), "expected a string"),
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
    for definition in definitions() {
        assert!(
            definition.description.len() >= 20 && !definition.description.contains("  "),
            "{}",
            definition.description
        );
        assert_eq!(definition.schema["type"], "object");
        for (_, field) in definition.schema["properties"].as_object().unwrap() {
            assert!(field["description"].as_str().unwrap().len() > 10);
        }
    }
    let edit = definitions().into_iter().find(|definition| definition.name == "edit_file").unwrap();
    assert_eq!(edit.schema["required"], json!(["path", "old_text", "new_text"]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_arguments_make_a_tool_panic_or_answer_without_bound(
        name in prop::sample::select(vec!["list_files", "search", "read_file", "edit_file", "write_file", "move_file"]),
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
        ] {
            let ran = call(&mut workspace, name, arguments);
            prop_assert!(ran.text.len() <= 51_000);
        }
        for path in workspace.changed_paths() {
            prop_assert!(path.starts_with("docs/") && !path.contains(".."));
        }
    }
}
