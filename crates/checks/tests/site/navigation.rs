use copydesk_checks::nav::{insert_page, parse};
use copydesk_checks::{Check, SiteSettings, check_all};
use proptest::prelude::*;

use super::tree::{Tree, found, subjects};

const DOCS: &str = r#"{
  "name": "X",
  "navigation": {
    "tabs": [
      {
        "tab": "Guides",
        "groups": [
          {
            "group": "Start",
            "pages": [
              "index",
              "guides/install",
              { "group": "Deep", "pages": ["guides/deep/one"] }
            ]
          }
        ]
      },
      { "tab": "API", "openapi": "openapi.json", "pages": ["GET /users", "api-reference/made"] }
    ],
    "global": { "anchors": [{ "anchor": "Blog", "href": "https://x.example" }] }
  },
  "redirects": [
    { "source": "/old", "destination": "/guides/install" },
    { "source": "/gone", "destination": "/nowhere" },
    { "source": "/a", "destination": "/b" },
    { "source": "/b", "destination": "/a" },
    { "source": "/old", "destination": "https://x.example" },
    { "source": "/w/:slug*", "destination": "/v/:slug*" }
  ]
}
"#;

fn site() -> Tree {
    Tree::of([("docs/docs.json", DOCS), ("docs/index.mdx", "x"), ("docs/guides/install.mdx", "x")])
}

#[test]
fn mintlify_pages_and_redirects_are_read() {
    let navigation = parse("docs/docs.json", DOCS).unwrap();
    let targets: Vec<&str> = navigation.entries.iter().map(|entry| &DOCS[entry.range.clone()]).collect();
    assert_eq!(targets, ["index", "guides/install", "guides/deep/one", "api-reference/made"]);
    assert_eq!(navigation.redirects.len(), 6);
    assert_eq!(navigation.generated, ["api-reference"]);
}

#[test]
fn missing_pages_and_bad_redirects_are_found() {
    assert_eq!(subjects(&site(), Check::Navigation), ["guides/deep/one"]);
    assert_eq!(subjects(&site(), Check::Redirects), ["/gone /nowhere", "circle /a", "circle /b", "twice /old"]);
}

#[test]
fn sites_beside_the_documentation_are_not_checked() {
    let tree = site().with("other/docs.json", DOCS).with("other/page.mdx", "[a](/nowhere)");
    let report = check_all(&tree, &SiteSettings::new(&["docs".to_owned()])).expect("files in memory");
    assert_eq!(report.findings.iter().filter(|finding| finding.path == "docs/docs.json").count(), 5);
    assert!(report.findings.iter().all(|finding| !finding.path.starts_with("other")), "{:?}", report.findings);
}

#[test]
fn a_page_listed_twice_in_a_group_is_found() {
    let text = DOCS.replace("\"index\",\n", "\"index\", \"/index\",\n");
    let tree = site().with("docs/docs.json", &text).with("docs/guides/deep/one.mdx", "x");
    assert_eq!(subjects(&tree, Check::Navigation), ["twice /index"]);
}

#[test]
fn navigation_that_is_not_well_formed_is_found() {
    for (path, text) in [
        ("docs.json", "{\"navigation\": [,]}"),
        ("mkdocs.yml", "nav: [a.md\nx: }"),
        ("sidebars.json", "{\"a\": [\"b\",]}"),
    ] {
        let found = found(&Tree::of([(path, text), ("a.md", "x")]));
        assert_eq!(found.len(), 1, "{path} {found:?}");
        assert_eq!((found[0].0, found[0].1.as_str()), (Check::Navigation, path));
    }
    // Other tools have files of this name.
    assert_eq!(found(&Tree::of([("docs.json", "{\"x\": [,]}"), ("mint.json", "[1]")])), []);
}

#[test]
fn other_navigation_files_are_read_as_far_as_they_are_data() {
    let mkdocs = "docs_dir: pages\nnav:\n  - index.md\n  - 'Über': \"a/b.md\"\n  - Ext: https://x.example\n  - Sub:\n    - c.md\n\
                  markdown_extensions:\n  - x:\n      y: !!python/name:a.b.c\n";
    let navigation = parse("mkdocs.yml", mkdocs).unwrap();
    let targets: Vec<&str> = navigation.entries.iter().map(|entry| &mkdocs[entry.range.clone()]).collect();
    assert_eq!((navigation.root.as_str(), targets), ("pages", vec!["index.md", "a/b.md", "c.md"]));

    let summary =
        "# Summary\n\n- [One](one.md)\n  - [Two](./sub/two.md#x)\n- [Draft]()\n- [Ext](https://x.example/a.md)\n";
    let navigation = parse("src/SUMMARY.md", summary).unwrap();
    let targets: Vec<&str> = navigation.entries.iter().map(|entry| entry.target.as_str()).collect();
    assert_eq!(targets, ["one.md", "./sub/two.md#x"]);
    let tree = Tree::of([("src/one.md", "x")]).with("src/SUMMARY.md", summary);
    assert_eq!(found(&tree), [(Check::Navigation, "src/SUMMARY.md".to_owned(), "./sub/two.md#x".to_owned())]);

    let sidebars = "// @ts-check\nconst sidebars = {\n  docs: ['intro', { type: 'category', label: 'G', items: ['g/one', ...more], \
                    link: { type: 'doc', id: 'g/index' } }, { Label: ['short'] }, { type: 'link', href: 'x' }],\n};\n\
                    module.exports = sidebars;\n";
    let navigation = parse("sidebars.js", sidebars).unwrap();
    let targets: Vec<&str> = navigation.entries.iter().map(|entry| entry.target.as_str()).collect();
    assert_eq!(targets, ["intro", "g/index", "g/one", "short"]);
}

#[test]
fn a_page_is_added_by_the_smallest_edit() {
    let added = insert_page("docs/docs.json", DOCS, "docs/guides/new.mdx", "New", None).unwrap();
    assert_eq!(added, DOCS.replace("\"guides/install\",", "\"guides/install\",\n              \"guides/new\","));
    let added = insert_page("docs/docs.json", DOCS, "docs/guides/deep/two.mdx", "Two", None).unwrap();
    assert_eq!(added, DOCS.replace("[\"guides/deep/one\"]", "[\"guides/deep/one\", \"guides/deep/two\"]"));
    let added = insert_page("docs/docs.json", DOCS, "docs/guides/new.mdx", "New", Some("docs/index.mdx")).unwrap();
    assert_eq!(added, DOCS.replace("\"index\",", "\"index\",\n              \"guides/new\","));

    let mkdocs = "nav:\n  - Home: index.md\n  - Guide:\n      - guide/a.md\nsite_name: X\n";
    let added = insert_page("mkdocs.yml", mkdocs, "docs/guide/b.md", "B", None).unwrap();
    assert_eq!(added, mkdocs.replace("guide/a.md\n", "guide/a.md\n      - guide/b.md\n"));
    let added = insert_page("mkdocs.yml", mkdocs, "docs/top.md", "Top: all", None).unwrap();
    assert_eq!(added, mkdocs.replace("index.md\n", "index.md\n  - \"Top: all\": top.md\n"));

    let summary = "# Summary\r\n\r\n- [One](one.md)\r\n  - [Two](sub/two.md)\r\n";
    let added = insert_page("src/SUMMARY.md", summary, "src/sub/three.md", "Three [x]", None).unwrap();
    assert_eq!(added, format!("{summary}  - [Three \\[x\\]](sub/three.md)\r\n"));
}

#[test]
fn a_page_is_not_added_where_it_is_or_where_it_cannot_be() {
    assert_eq!(insert_page("docs/docs.json", DOCS, "docs/guides/install.mdx", "I", None), None);
    assert_eq!(insert_page("docs/docs.json", DOCS, "elsewhere/x.mdx", "I", None), None);
    assert_eq!(insert_page("docs.json", "{\"navigation\": {}}", "x.mdx", "X", None), None);
    assert_eq!(insert_page("docs.json", "not json", "x.mdx", "X", None), None);
    assert_eq!(insert_page("sidebars.js", "module.exports = {a: ['b']}", "docs/x.md", "X", None), None);
}

/// Text of pieces that mean something in one of the files.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"navigation\"",
            "\"pages\"",
            "\"a\"",
            "\"b/c\"",
            "\"",
            "'",
            "`",
            "nav:\n",
            "  - ",
            "- ",
            "a.md",
            "Über: ",
            "\n",
            "[x](a.md)",
            "[",
            "](",
            ")",
            "sidebar:",
            "link: ",
            "'/a'",
            "items: ",
            "module.exports = ",
            "//",
            "/*",
            "*/",
            "\\",
            "\\u00",
            "&x ",
            "*x",
            "\"redirects\"",
            "\"source\"",
            "é",
            "🚀",
            "type: 'doc'",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const FILES: [&str; 6] =
    ["docs/docs.json", "mkdocs.yml", "docs/SUMMARY.md", "sidebars.js", "sidebars.json", "docs/.vitepress/config.ts"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_navigation_file_or_not(text in pieces()) {
        for path in FILES {
            let Some(navigation) = parse(path, &text) else { continue };
            prop_assert!(navigation.entries.iter().all(|entry| text.get(entry.range.clone()).is_some()));
            prop_assert!(navigation.problems.iter().all(|problem| problem.at <= text.len()));
            if let Some(added) = insert_page(path, &text, "docs/new page.md", "A: \"title\"", None) {
                let before = navigation.entries.len();
                prop_assert_eq!(parse(path, &added).map(|navigation| navigation.entries.len()), Some(before + 1), "{}", added);
            }
        }
        found(&FILES.iter().fold(Tree::default(), |tree, path| tree.with(path, &text)));
    }
}
