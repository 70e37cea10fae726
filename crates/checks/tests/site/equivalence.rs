//! The new findings of a change are those that all checks give after it and do not give before it.

use std::collections::BTreeMap;

use copydesk_checks::{Check, Finding, SiteSettings, check_all, invisible};
use proptest::prelude::*;

use super::change::{changed, compare};
use super::tree::{Tree, docs_json};

const PATHS: [&str; 14] = [
    "docs/a.mdx",
    "docs/b.mdx",
    "docs/a.md",
    "docs/index.mdx",
    "docs/sub/c.mdx",
    "docs/sub/c.md",
    "docs/sub/index.md",
    "docs/sub/deep/d_e.mdx",
    "docs/snippets/s.mdx",
    "docs/snippets/t.mdx",
    "docs/README.md",
    "docs/snippets/x.jsx",
    "docs/table.tsv",
    "docs/CHANGELOG",
];

/// What pages are made of. Each link has a text of its own: one that is exchanged for another is no new finding.
const PIECES: [&str; 40] = [
    "# One\n\n",
    "## Two\n\n",
    "## Three\n\n",
    "<a id=\"four\" />\n\n",
    "[l1](/a) ",
    "[l2](/b#two) ",
    "[l3](a.md) ",
    "[l4](./b.mdx#one) ",
    "[l5](../a#three) ",
    "[l6](/sub/c#four) ",
    "[l7](sub/) ",
    "[l8](/sub) ",
    "[l9](/sub/deep) ",
    "[l10](./) ",
    "[l11](/) ",
    "[l12](/#one) ",
    "[l13](index#one) ",
    "[l14](#two) ",
    "[l15](#three) ",
    "[l16](d_e) ",
    "[l17](deep/d\\_e.mdx#one) ",
    "[l18](/old) ",
    "[l19](/moved/x/y) ",
    "[l20](README.md#one) ",
    "[l21](/api-reference/x) ",
    "![i22](/i.png) ",
    "![i23](../i.png) ",
    "<Card href=\"/b#two\" img=\"/i.png\" />\n\n",
    "<Snippet file=\"s.mdx\" />\n\n",
    "\n\nimport S from '/snippets/s.mdx'\n\n",
    "\n\nimport T from './t.mdx'\n\n",
    "\n\nimport U from '../snippets/t'\n\n",
    "\n\nimport X from '/snippets/x.jsx'\n\n",
    "[r]\n\n[r]: /b#three\n\n",
    "x\u{200b}y ",
    "<Open>\n\n",
    "{{ template }} ",
    "\n\n```\nfence\n",
    "plain words ",
    "[l24](/a%20b#one) ",
];

/// What makes a site of the pages: files by path, and what stands for the first brace of Mintlify's file.
const NAVIGATION: [(&str, &str); 8] = [
    ("", ""),
    ("docs/docs.json", "{"),
    (
        "docs/docs.json",
        "{\"redirects\": [{\"source\": \"/old\", \"destination\": \"/a\"}, \
         {\"source\": \"/moved/:slug*\", \"destination\": \"/b\"}],",
    ),
    ("docs/docs.json", "{\"redirects\": [{\"source\": \"/old\", \"destination\": \"/old\"}],"),
    ("docs/docs.json", "{\"openapi\": \"x.json\","),
    ("mkdocs.yml", "nav:\n  - a.md\n  - Sub: sub/c.md\n  - sub/c.mdx\n"),
    ("docs/SUMMARY.md", "- [A](a.md)\n- [C](sub/c.md)\n"),
    ("docs/.vitepress/config.ts", "export default { sidebar: [{ link: '/a' }, { link: '/sub/' }, { link: '/gone' }] }"),
];

#[derive(Debug, Clone)]
enum Edit {
    Write(&'static str, String),
    Delete(&'static str),
    Move(&'static str, &'static str),
    Append(&'static str, &'static str),
    Drop(&'static str, &'static str),
    Navigation(usize),
    Image,
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..8).prop_map(|pieces| pieces.concat())
}

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(PATHS.to_vec())
}

fn sites() -> impl Strategy<Value = Tree> {
    let pages = prop::collection::btree_map(path(), text(), 2..9);
    (pages, 0..NAVIGATION.len(), any::<bool>()).prop_map(|(pages, navigation, image)| {
        let mut tree = Tree::default();
        for (path, text) in pages {
            tree = tree.with(path, &text);
        }
        let tree = navigated(tree, navigation);
        if image { tree.with("docs/i.png", "") } else { tree }
    })
}

fn navigated(mut tree: Tree, number: usize) -> Tree {
    for (path, _) in NAVIGATION {
        tree.files.remove(path);
    }
    match NAVIGATION[number] {
        ("", _) => tree,
        (path @ "docs/docs.json", start) => {
            tree.with(path, &docs_json(&["a", "b", "sub/index"]).replacen('{', start, 1))
        }
        (path, text) => tree.with(path, text),
    }
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        3 => (path(), text()).prop_map(|(path, text)| Edit::Write(path, text)),
        3 => path().prop_map(Edit::Delete),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Move(from, to)),
        3 => (path(), prop::sample::select(PIECES.to_vec())).prop_map(|(path, piece)| Edit::Append(path, piece)),
        3 => (path(), prop::sample::select(PIECES.to_vec())).prop_map(|(path, piece)| Edit::Drop(path, piece)),
        1 => (0..NAVIGATION.len()).prop_map(Edit::Navigation),
        1 => Just(Edit::Image),
    ];
    prop::collection::vec(edit, 1..4)
}

fn apply(tree: &Tree, edits: &[Edit]) -> Tree {
    let mut tree = tree.clone();
    for edit in edits {
        match edit {
            Edit::Write(path, text) => tree = tree.with(path, text),
            Edit::Delete(path) => {
                tree.files.remove(*path);
            }
            Edit::Move(from, to) => {
                if let Some(text) = tree.files.remove(*from) {
                    tree = tree.with(to, &text);
                }
            }
            Edit::Append(path, piece) => {
                if let Some(text) = tree.files.get_mut(*path) {
                    text.push_str(piece);
                }
            }
            Edit::Drop(path, piece) => {
                if let Some(text) = tree.files.get_mut(*path) {
                    *text = text.replace(piece, "");
                }
            }
            Edit::Navigation(number) => tree = navigated(tree, *number),
            Edit::Image => {
                if tree.files.remove("docs/i.png").is_none() {
                    tree = tree.with("docs/i.png", "");
                }
            }
        }
    }
    tree
}

/// What a finding is about: a broken link is one thing, be it the page or the place in it that is missing.
fn about(finding: &Finding) -> (Check, String) {
    let check = if finding.check == Check::Anchors { Check::Links } else { finding.check };
    (check, finding.subject.clone())
}

/// Whether a finding says that a page which the change added has no such heading, in a page that the change left alone.
/// Nobody could judge that link before; it is the one thing that a change may be forgiven, so that adding a page does not
/// cost a search through all others.
fn is_about_added(finding: &Finding, base: &Tree, now: &Tree) -> bool {
    let added = now.files.keys().filter(|path| !base.files.contains_key(*path));
    finding.check == Check::Anchors
        && base.files.get(&finding.path) == now.files.get(&finding.path)
        && added.into_iter().any(|path| finding.message.contains(&format!(": {path} has no such heading")))
}

/// The difference of two full runs, counted the plain way; with `strict` off, without what may be forgiven.
fn expected(base: &Tree, now: &Tree, strict: bool) -> BTreeMap<((Check, String), String), i64> {
    let settings = SiteSettings::new(&["docs".to_owned()]);
    let count = |tree: &Tree| {
        let mut counts: BTreeMap<((Check, String), String), i64> = BTreeMap::new();
        for finding in check_all(tree, &settings).expect("files in memory").findings {
            if !strict && is_about_added(&finding, base, now) {
                continue;
            }
            *counts.entry((about(&finding), finding.path.clone())).or_default() += 1;
        }
        // A change is looked through for hidden text whatever its files are; all of a folder only as far as it is docs.
        for (path, text) in tree.files.iter().filter(|(path, _)| path.ends_with(".jsx")) {
            for hidden in invisible::scan(text) {
                let subject = format!("U+{:04X}", u32::from(hidden.character));
                *counts.entry(((Check::InvisibleCharacters, subject), path.clone())).or_default() += 1;
            }
        }
        counts
    };
    let mut counts = count(now);
    for (key, number) in count(base) {
        *counts.entry(key).or_default() -= number;
    }
    let mut moved: BTreeMap<(Check, String), i64> = BTreeMap::new();
    for ((about, path), number) in &counts {
        if *number < 0 && !now.files.contains_key(path) {
            *moved.entry(about.clone()).or_default() -= number;
        }
    }
    let mut new = BTreeMap::new();
    for ((about, path), number) in counts {
        let mut number = number;
        let carried = moved.entry(about.clone()).or_default();
        if !base.files.contains_key(&path) {
            let taken = number.clamp(0, *carried);
            number -= taken;
            *carried -= taken;
        }
        if number > 0 {
            new.insert((about, path), number);
        }
    }
    new
}

/// What a link to a file must hold: its name without the ending, or nothing for that of an index.
fn stem(path: &str) -> &str {
    let stem = copydesk_checks::paths::stem(path);
    if matches!(stem, "index" | "README") { "" } else { stem }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_change_brings_what_the_full_checks_say(base in sites(), edits in edits()) {
        let now = apply(&base, &edits);
        let comparison = compare(&base, &now);
        let mut new: BTreeMap<((Check, String), String), i64> = BTreeMap::new();
        // What may be written, and what runs, is asked of a change only.
        let is_of_both = |finding: &&Finding| !matches!(finding.check, Check::Scope | Check::Executable);
        for finding in comparison.new.iter().filter(is_of_both) {
            *new.entry((about(finding), finding.path.clone())).or_default() += 1;
        }
        // What the change deletes is judged by what was before, also where the checks of what is now cannot tell.
        let gone: Vec<&str> = base.files.keys().filter(|path| !now.files.contains_key(*path)).map(|path| stem(path)).collect();
        let by_base = |subject: &str| subject.contains('#') || gone.iter().any(|stem| subject.contains(stem));
        let told: BTreeMap<_, i64> = new.iter().filter(|(key, _)| !by_base(&key.0.1)).map(|(key, count)| (key.clone(), *count)).collect();
        let (most, least) = (expected(&base, &now, true), expected(&base, &now, false));
        let within = |few: &BTreeMap<_, i64>, many: &BTreeMap<_, i64>| {
            few.iter().all(|(key, number)| many.get(key).is_some_and(|most| number <= most))
        };
        prop_assert!(
            within(&told, &most) && within(&least, &new),
            "changed {:?}\nfound {:?}\nexpected {:?}", changed(&base, &now), new, most
        );
    }
}
