use copydesk_checks::page::{Link, LinkKind, parse};
use copydesk_checks::repair::{anchor_for, broken_links, page_for, relink};
use copydesk_checks::{SiteSettings, Sites};

use super::tree::{Tree, docs_json};

fn link(target: &str) -> Link {
    Link { kind: LinkKind::Page, target: target.to_owned(), range: 0..0, in_tag: false }
}

#[test]
fn a_moved_page_is_found_by_its_name() {
    let pages: Vec<String> =
        ["docs/setup/install.mdx", "docs/a/same.md", "docs/b/same.md", "docs/api/index.mdx", "docs/Quick_Start.md"]
            .map(str::to_owned)
            .into();
    for (target, expected) in [
        ("/guides/install", Some("docs/setup/install.mdx")),
        ("../old/install.md#x", Some("docs/setup/install.mdx")),
        ("same.md", None),
        ("/b/same", Some("docs/b/same.md")),
        ("/reference/api/", Some("docs/api/index.mdx")),
        ("quick-start", Some("docs/Quick_Start.md")),
        ("/nothing", None),
        ("https://x.example/install", None),
        ("#x", None),
    ] {
        assert_eq!(page_for("docs/page.mdx", target, &pages).as_deref(), expected, "{target}");
    }
}

#[test]
fn an_anchor_is_found_if_only_one_heading_can_be_meant() {
    let page =
        parse("a.md", "# Install on Linux\n\n## Configuration\n\n## Set up\n\n## Set up again\n\n## Uninstall\n");
    for (fragment, expected) in [
        ("install", Some("install-on-linux")),
        ("configuration-file", Some("configuration")),
        ("configurtion", Some("configuration")),
        ("setup", Some("set-up")),
        ("set", None),
        ("nothing-like-it", None),
        ("x", None),
    ] {
        assert_eq!(anchor_for(fragment, &page).as_deref(), expected, "{fragment}");
    }
}

#[test]
fn links_are_written_as_they_were() {
    let tree = Tree::of([("docs/setup/install.mdx", "x"), ("docs/guides/page.mdx", "x")])
        .with("docs/docs.json", &docs_json(&["setup/install"]));
    let sites = Sites::find(&tree, &SiteSettings::default()).unwrap();
    for (old, expected) in [
        ("/guides/install#x", Some("/setup/install#x")),
        ("install", Some("../setup/install")),
        ("./install.mdx?y", Some("../setup/install.mdx?y")),
    ] {
        let written = relink(&sites, "docs/guides/page.mdx", &link(old), "docs/setup/install.mdx");
        assert_eq!(written.as_deref(), expected, "{old}");
    }
    assert_eq!(relink(&sites, "other/page.md", &link("/x"), "docs/setup/install.mdx"), None);
    assert_eq!(relink(&sites, "docs/a.mdx", &link("./x.md"), "docs/b c.md").as_deref(), Some("./b%20c.md"));
}

#[test]
fn broken_links_come_with_their_places() {
    let text = "[a](gone.md) [b](there.md) [c](there.md#gone) ![d](gone.png)\n";
    let tree = Tree::of([("docs/there.md", "# T\n"), ("docs/a.md", text)]);
    let sites = Sites::find(&tree, &SiteSettings::default()).unwrap();
    let page = parse("docs/a.md", text);
    let broken = broken_links(&tree, &sites, "docs/a.md", &page).unwrap();
    let found: Vec<_> =
        broken.iter().map(|broken| (&text[broken.link.range.clone()], broken.missing_anchor.clone())).collect();
    let missing = Some(("docs/there.md".to_owned(), "gone".to_owned()));
    assert_eq!(found, [("gone.md", None), ("there.md#gone", missing), ("gone.png", None)]);
}
