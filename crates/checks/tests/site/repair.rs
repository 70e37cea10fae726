use copydesk_checks::repair::{Meant, Proof, Repairs};
use copydesk_checks::{SiteSettings, Sites, check_all};

use super::tree::{Tree, docs_json};

/// The new target with its proof, or the candidates.
type Told = Result<(String, Proof), Vec<String>>;

/// What the links of a page meant: the new target and the proof, or the candidates.
fn meant(tree: &Tree, path: &str, text: &str, renames: &[(&str, &str)]) -> Vec<(String, Told)> {
    let sites = Sites::find(tree, &SiteSettings::default()).expect("a tree in memory is read");
    let renames: Vec<(String, String)> = renames.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let repairs = Repairs::new(tree, &sites, &renames).expect("a tree in memory is read");
    let page = repairs.parse(path, text);
    let broken = repairs.broken(path, &page).expect("a tree in memory is read");
    let of = |meant| match meant {
        Meant::Proven { target, proof } => Ok((target, proof)),
        Meant::Unknown { candidates } => Err(candidates),
    };
    broken.into_iter().map(|broken| (text[broken.link.range].to_owned(), of(broken.meant))).collect()
}

fn one(tree: Tree, link: &str, renames: &[(&str, &str)]) -> Told {
    let text = format!("[x]({link})\n");
    let tree = tree.with("docs/guides/page.md", &text);
    let mut found = meant(&tree, "docs/guides/page.md", &text, renames);
    assert_eq!(found.len(), 1, "{link}: {found:?}");
    found.remove(0).1
}

fn plain() -> Tree {
    Tree::of([
        ("docs/setup/install.md", "# Install\n\n## The limits\n"),
        ("docs/setup/Names.md", "# N\n"),
        ("docs/parts/index.md", "# P\n"),
        ("docs/a/same.md", "# A\n"),
    ])
}

#[test]
fn case_ending_and_slash_are_seen_through() {
    for (link, expected) in [
        ("../setup/Install.md", "../setup/install.md"),
        ("../Setup/install.md", "../setup/install.md"),
        ("../setup/names.md", "../setup/Names.md"),
        ("../setup/install.mdx", "../setup/install.md"),
        ("../parts.md", "../parts/index.md"),
        ("../setup/Install.md#the-limits", "../setup/install.md#the-limits"),
        ("../setup/Install.md#the-lmiits", "../setup/install.md#the-limits"),
    ] {
        assert_eq!(one(plain(), link, &[]), Ok((expected.to_owned(), Proof::Spelling)), "{link}");
    }
}

#[test]
fn the_same_name_elsewhere_is_a_candidate_and_no_more() {
    assert_eq!(one(plain(), "install.md", &[]), Err(vec!["docs/setup/install.md".to_owned()]));
    assert_eq!(one(plain(), "../b/same.md", &[]), Err(vec!["docs/a/same.md".to_owned()]));
    assert_eq!(one(plain(), "zebra.md", &[]), Err(Vec::new()));
}

#[test]
fn a_repaired_page_without_the_place_is_left() {
    assert_eq!(one(plain(), "../setup/Install.md#zebra", &[]), Err(vec!["docs/setup/install.md".to_owned()]));
}

#[test]
fn a_named_index_is_no_readme_and_what_is_built_no_source() {
    let tree = || Tree::of([("docs/guides/README.md", "# R\n"), ("docs/guides/built.md", "# B\n")]);
    for link in ["index.html", "index.md", "built.html"] {
        assert!(one(tree(), link, &[]).is_err(), "{link}");
    }
}

#[test]
fn two_files_of_one_spelling_are_left() {
    let tree = plain().with("docs/setup/INSTALL.md", "# I\n");
    assert!(one(tree, "../setup/Install.md", &[]).is_err());
}

#[test]
fn the_history_proves_a_move() {
    let renames = [("docs/guides/start.md", "docs/setup/install.md")];
    let expected = Ok(("../setup/install.md#the-limits".to_owned(), Proof::Rename));
    assert_eq!(one(plain(), "start.md#the-limits", &renames), expected);
    // A name that was two files is nobody's.
    let twice = [renames[0], ("docs/guides/start.md", "docs/a/same.md")];
    let both = vec!["docs/a/same.md".to_owned(), "docs/setup/install.md".to_owned()];
    assert_eq!(one(plain(), "start.md", &twice), Err(both));
    // What it became is gone as well.
    assert_eq!(one(plain(), "start.md", &[("docs/guides/start.md", "docs/gone.md")]), Err(Vec::new()));
}

#[test]
fn addresses_are_repaired_as_addresses() {
    let text = "[a](/guides/start#x) [b](/Setup/install) [c](/setup/install/) [d](/elsewhere/install)\n";
    let tree = Tree::of([("docs/setup/install.mdx", "## X\n"), ("docs/guides/page.mdx", text)])
        .with("docs/docs.json", &docs_json(&["setup/install", "guides/page"]));
    let found = meant(&tree, "docs/guides/page.mdx", text, &[("docs/guides/start.mdx", "docs/setup/install.mdx")]);
    let start = ("/guides/start#x".to_owned(), Ok(("/setup/install#x".to_owned(), Proof::Rename)));
    assert_eq!(found.first(), Some(&start));
    let last = ("/elsewhere/install".to_owned(), Err(vec!["docs/setup/install.mdx".to_owned()]));
    assert_eq!(found.last(), Some(&last));
}

#[test]
fn a_redirect_of_the_site_proves_a_move() {
    let text = "[x](old.md)\n";
    let tree = Tree::of([("docs/new.md", "# N\n"), ("docs/a.md", text)])
        .with("mkdocs.yml", "site_name: x\nplugins:\n  - redirects:\n      redirect_maps:\n        old.md: new.md\n");
    let found = meant(&tree, "docs/a.md", text, &[]);
    assert_eq!(found, [("old.md".to_owned(), Ok(("new.md".to_owned(), Proof::Redirect)))]);
}

#[test]
fn an_anchor_is_repaired_if_only_one_is_near() {
    let text = "[a](#configurtion) [b](#Set_up) [c](#install) [d](#option-3) [e](there.md#teh-end) [f](there.md#zebra)\n\n\
                # Install on Linux\n\n## Configuration\n\n## Set up\n\n## Option 2\n";
    let tree = Tree::of([("docs/a.md", text), ("docs/there.md", "# The ends\n")]);
    let found = meant(&tree, "docs/a.md", text, &[]);
    let anchor = |target: &str| Ok((target.to_owned(), Proof::Anchor));
    let expected = [
        ("#configurtion", anchor("#configuration")),
        ("#Set_up", anchor("#set-up")),
        ("#install", Err(vec!["#install-on-linux".to_owned()])),
        ("#option-3", Err(vec!["#option-2".to_owned()])),
        ("there.md#teh-end", Err(vec!["#the-ends".to_owned()])),
        ("there.md#zebra", Err(Vec::new())),
    ]
    .map(|(link, meant)| (link.to_owned(), meant));
    assert_eq!(found, expected);
}

#[test]
fn links_that_work_and_images_are_left_alone() {
    let text = "[b](there.md) ![d](gone.png) [out](https://x.example/gone) [t]({{ x }})\n";
    let tree = Tree::of([("docs/there.md", "# T\n"), ("docs/a.md", text)]);
    assert_eq!(meant(&tree, "docs/a.md", text, &[]), []);
}

#[test]
fn where_no_generator_is_known_an_id_of_another_rule_is_no_finding_and_no_repair() {
    let text = "# Page\n\n## `client_ip`\n\n## 2. Set up\n\n## Plain words\n\n## GET /a/&lt;b&gt;\n\n";
    let links = "[a](#client-ip) [b](#client_ip) [c](#set-up) [d](#2-set-up) [e](#get-altbgt)\n";
    let text = format!("{text}{links}[f](#client--ip) [g](#plain-wrods)\n");
    let tree = Tree::of([("docs/page.md", text.as_str())]);
    let found = meant(&tree, "docs/page.md", &text, &[]);
    let repaired = |target: &str| Ok((target.to_owned(), Proof::Anchor));
    assert_eq!(
        found,
        [("#client--ip".to_owned(), Err(Vec::new())), ("#plain-wrods".to_owned(), repaired("#plain-words"))]
    );
    let report = check_all(&tree, &SiteSettings::default()).expect("a tree in memory is read");
    assert_eq!((report.tally.anchors.judged, report.tally.anchors.left()), (4, 3), "{:?}", report.tally);
}
