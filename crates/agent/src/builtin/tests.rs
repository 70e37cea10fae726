//! What holds for every chore, on pages made from the parts that are hard to read.

use copydesk_forge::MemoryTree;
use proptest::prelude::*;

use super::*;

const PARTS: &[&str] = &[
    "# Teh Cloud\n",
    "## Cloud\n",
    "#### Cloud\n",
    "###### x\n",
    "Cloud\n=====\n",
    "Cloud recieves it. ",
    "a\n",
    "\n",
    "\n\n",
    "\r\n",
    "`Cloud`",
    "```\nCloud teh\n```\n",
    "[Cloud](b.md#cloud)",
    "[x](#teh-cloud)",
    "[x](gone.md)",
    "- Cloud\n",
    "> Cloud\n",
    "| Cloud | teh |\n| --- | --- |\n",
    "<Card title=\"Cloud\">\n",
    "</Card>\n",
    "{Cloud}",
    "*Cloud*",
    "\\*",
    "&amp;",
    "ä€",
    "---\n",
    "import x from './b.md'\n",
    "<!-- Cloud -->",
    "https://cloud.example/teh",
];

const FRONTS: &[&str] = &[
    "",
    "---\ntitle: Cloud\n---\n",
    "---\nicon: x\n---\n",
    "---\r\ntitle: 'Cloud'\r\n---\r\n",
    "\u{feff}",
    "+++\na = 1\n+++\n",
    "---\nbroken: [\n---\n",
    "---\ndescription: |\n  Cloud\n  teh\n---\n",
];

const PROMPTS: &[&str] = &[
    "replace \"Cloud\" with \"Acme Cloud\"",
    "replace \"Cloud\" with \"Sky: <1>\" also in code",
    "replace \"cloud\" with \"Sky\" ignoring case also inside words",
    "fix typos",
    "fix heading levels",
    "fill in missing front matter",
    "repair broken links and anchors",
    "add a page \"New: one\" at docs/new.md",
];

fn page() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(PARTS), 0..14);
    (prop::sample::select(FRONTS), parts).prop_map(|(front, parts)| format!("{front}{}", parts.concat()))
}

fn docs(files: Vec<(String, Vec<u8>)>) -> Docs {
    let workspace = Workspace::new(Arc::new(MemoryTree::of(files)), Arc::new(|_| Ok(())));
    Docs::new(workspace, &["docs".to_owned()], 100, Arc::default())
}

fn run(prompt: &str, docs: &mut Docs) {
    for chore in prompt::chores(prompt).unwrap() {
        do_chore(&chore, docs, &Ok(Renames::default())).unwrap();
        assert_eq!(docs.report.has_changes(), !docs.workspace.is_unchanged(), "{}", docs.report.summary(&chore));
    }
}

fn all_files(docs: &Docs) -> Vec<(String, Vec<u8>)> {
    let paths = docs.workspace.list("").unwrap();
    paths.into_iter().map(|path| (path.clone(), docs.workspace.read(&path).unwrap().unwrap())).collect()
}

#[test]
fn the_summary_of_many_chores_is_bounded() {
    let finished: Vec<(Chore, Report)> = (0..100)
        .map(|_| {
            let mut report = Report::default();
            (0..50).for_each(|number| report.note_change(&format!("docs/{number}.md"), 1, "x".repeat(300)));
            (Chore::Typos(chore::Scope::default()), report)
        })
        .collect();
    let (title, summary) = conclusion(&finished, false);
    assert!(summary.len() < LONGEST_SUMMARY + 100 && summary.ends_with("\n\nAnd 97 more chores."), "{}", summary.len());
    assert_eq!(title, "Fix typos");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_chore_done_twice_is_a_chore_done_once(
        a in page(),
        b in page(),
        mdx in any::<bool>(),
        prompt in prop::sample::select(PROMPTS),
    ) {
        let name = if mdx { "docs/a.mdx" } else { "docs/a.md" };
        let mut first = docs(vec![
            (name.to_owned(), a.into_bytes()),
            ("docs/b.md".to_owned(), b.into_bytes()),
            ("other/c.md".to_owned(), b"Cloud teh".to_vec()),
        ]);
        run(prompt, &mut first);
        prop_assert!(first.workspace.changed_paths().all(|path| path.starts_with("docs/")));
        let mut second = docs(all_files(&first));
        run(prompt, &mut second);
        let changed: Vec<_> = second.workspace.changes();
        prop_assert!(changed.is_empty(), "{:?}\n{:?}", all_files(&first), changed);
    }

    #[test]
    fn words_stay_where_only_heading_levels_change(a in page()) {
        let mut docs = docs(vec![("docs/a.md".to_owned(), a.clone().into_bytes())]);
        run("fix heading levels", &mut docs);
        let after = docs.workspace.text("docs/a.md").unwrap();
        prop_assert_eq!(a.replace('#', ""), after.replace('#', ""));
    }
}
