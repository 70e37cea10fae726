//! The pages that were looked at: what they are called, where they are on the site, and what of them was not judged.

use copydesk_checks::{SiteSettings, check_all, check_pages};

use super::tree::Tree;

fn pages(tree: &Tree) -> Vec<(String, Option<String>, Option<String>, u64)> {
    let (report, pages) = check_pages(tree, &SiteSettings::default()).expect("files in memory");
    assert_eq!(report, check_all(tree, &SiteSettings::default()).expect("files in memory"), "they say the same");
    let left = |not_judged: std::collections::BTreeMap<String, u64>| not_judged.values().sum();
    pages.into_iter().map(|page| (page.path, page.title, page.address, left(page.not_judged))).collect()
}

fn row(path: &str, title: &str, address: Option<&str>, left: u64) -> (String, Option<String>, Option<String>, u64) {
    let title = Some(title.to_owned()).filter(|title| !title.is_empty());
    (path.to_owned(), title, address.map(str::to_owned), left)
}

#[test]
fn pages_have_their_addresses_below_the_base_of_the_site() {
    let tree = Tree::of([
        ("docusaurus.config.js", "module.exports = { baseUrl: '/docs/', presets: [['classic', { docs: {} }]] }"),
        ("docs/intro.md", "---\ntitle: Begin here\nslug: /start\n---\n# Other\n"),
        ("docs/guides/setup.md", "# Set it up\n"),
    ]);
    assert_eq!(
        pages(&tree),
        [
            row("docs/guides/setup.md", "Set it up", Some("docs/docs/guides/setup"), 0),
            row("docs/intro.md", "Begin here", Some("docs/docs/start"), 0),
        ]
    );
}

#[test]
fn what_the_repository_does_not_tell_is_not_known() {
    let plain = Tree::of([("guide.md", "[a](https://example.com) [b](/somewhere)\n"), ("README.md", "\n")]);
    assert_eq!(pages(&plain), [row("README.md", "", None, 0), row("guide.md", "", None, 1)]);
    let settings = SiteSettings { docs_paths: vec!["docs".to_owned()] };
    let tree = Tree::of([("docs/guide/index.md", ""), ("docs/guide/a.mdx", ""), ("docs/README.md", "")]);
    let (_, pages_below) = check_pages(&tree, &settings).expect("files in memory");
    let addresses: Vec<Option<String>> = pages_below.into_iter().map(|page| page.address).collect();
    assert_eq!(addresses, [None, Some("guide/a".to_owned()), Some("guide/index".to_owned())]);
    let tree =
        Tree::of([(".vitepress/config.js", "export default { base: process.env.BASE }"), ("index.md", "# Home\n")]);
    assert_eq!(pages(&tree), [row("index.md", "Home", None, 0)]);
}

#[test]
fn navigation_that_is_written_as_a_page_is_none() {
    let summary = "# Summary\n\n- [A](a.md)\n- [Gone](gone.md)\n";
    for tree in [
        Tree::of([("book.toml", "[book]\ntitle = \"T\"\n"), ("src/SUMMARY.md", summary), ("src/a.md", "# A\n")]),
        Tree::of([("SUMMARY.md", summary), ("README.md", "# T\n"), ("a.md", "# A\n")]),
    ] {
        let (report, pages) = check_pages(&tree, &SiteSettings::default()).expect("files in memory");
        let listed: Vec<&str> = pages.iter().map(|page| page.path.as_str()).collect();
        assert!(listed.iter().any(|path| path.ends_with("a.md")), "{listed:?}");
        assert!(!listed.iter().any(|path| path.ends_with("SUMMARY.md")), "{listed:?}");
        assert!(report.findings.iter().any(|it| it.path.ends_with("SUMMARY.md")), "it is checked all the same");
    }
}
