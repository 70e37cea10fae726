use copydesk_checks::{Check, Severity, SiteSettings, check_all};

use super::change::compare;
use super::tree::Tree;

/// What is said of redirects: file, line, severity and the subject's first word.
fn said(tree: &Tree) -> Vec<(String, u32, Severity, String)> {
    let findings = check_all(tree, &SiteSettings::default()).expect("files in memory").findings;
    let of = findings.into_iter().filter(|it| it.check == Check::Redirects);
    of.map(|it| (it.path, it.line, it.severity, it.subject.split(' ').next().unwrap_or_default().to_owned())).collect()
}

fn at(path: &str, line: u32, severity: Severity, subject: &str) -> (String, u32, Severity, String) {
    (path.to_owned(), line, severity, subject.to_owned())
}

#[test]
fn redirects_of_mkdocs_are_judged() {
    let config = "\
site_name: X
plugins:
  - redirects:
      redirect_maps:
        'a.md': 'index.md'
        'b.md': 'gone.md#part'
        'c.md': 'd.md'
        'd.md': 'c.md'
        'e.md': 'a.md'
        'f.md': 'https://example.com/x'
        'g.md': 'sub/index.md#x'
";
    let tree = Tree::of([("mkdocs.yml", config), ("docs/index.md", "# A\n"), ("docs/sub/index.md", "# X\n")]);
    assert_eq!(
        said(&tree),
        [
            at("mkdocs.yml", 6, Severity::Error, "/b"),
            at("mkdocs.yml", 7, Severity::Error, "circle"),
            at("mkdocs.yml", 8, Severity::Error, "circle"),
            at("mkdocs.yml", 9, Severity::Warning, "chain"),
        ]
    );
}

#[test]
fn redirects_of_the_others_are_judged() {
    let astro = "\
export default {
  redirects: {
    '/a': '/b',
    '/b': '/a',
    '/old/[...slug]': '/new/[...slug]',
    '/c': '/gone',
    '/d': { status: 302, destination: '/guide' },
  },
  integrations: [starlight({})],
}
import starlight from '@astrojs/starlight'
";
    let tree = Tree::of([("astro.config.mjs", astro), ("src/content/docs/guide.md", "---\ntitle: G\n---\n")]);
    assert_eq!(
        said(&tree),
        [
            at("astro.config.mjs", 3, Severity::Error, "circle"),
            at("astro.config.mjs", 4, Severity::Error, "circle"),
            at("astro.config.mjs", 6, Severity::Error, "/c"),
        ]
    );
    let book = "[book]\n[output.html.redirect]\n\"/a/old.html\" = \"../new.html\"\n\"/b.html\" = \"gone.html\"\n\
                \"/new.html#x\" = \"new.html#y\"\n";
    let tree = Tree::of([("book.toml", book), ("src/SUMMARY.md", "- [N](new.md)\n"), ("src/new.md", "# N\n")]);
    assert_eq!(said(&tree), [at("book.toml", 4, Severity::Error, "/b.html")]);
}

#[test]
fn a_redirect_to_what_a_program_makes_is_not_judged() {
    let config =
        "plugins:\n  - redirects:\n      redirect_maps:\n        'a.md': 'made/x.md'\n        'b.md': 'gone.md'\n";
    let tree = Tree::of([("mkdocs.yml", config), ("docs/index.md", "# A\n"), (".gitignore", "/docs/made/x.md\n")]);
    assert_eq!(said(&tree), [at("mkdocs.yml", 5, Severity::Error, "/b")]);
}

#[test]
fn many_redirects_take_no_longer_each() {
    // One long chain that ends in a circle, and as many patterns: walked over again for each, this would not end.
    let mut redirects = Vec::new();
    for number in 0..10_000 {
        redirects.push(format!(r#"{{"source": "/r{number}", "destination": "/r{}"}}"#, (number + 1).min(9_998)));
        redirects.push(format!(r#"{{"source": "/p/:x/{number}", "destination": "/gone{number}"}}"#));
    }
    let config = format!(r#"{{"navigation": {{"pages": ["a"]}}, "redirects": [{}]}}"#, redirects.join(",\n"));
    let links: String = (0..10_000).map(|number| format!("[x](/q/{number}/x) ")).collect();
    let tree = Tree::of([("docs.json", &config), ("a.mdx", &links)]);
    assert_eq!(said(&tree).len(), 20_000);
}

#[test]
fn a_redirect_that_a_change_breaks_is_new() {
    let book = "[book]\n[output.html.redirect]\n\"/old.html\" = \"new.html\"\n";
    let base =
        Tree::of([("docs/book.toml", book), ("docs/src/SUMMARY.md", "- [N](new.md)\n"), ("docs/src/new.md", "# N\n")]);
    let now = base.clone().with("docs/src/SUMMARY.md", "- [O](other.md)\n").with("docs/src/other.md", "# O\n");
    let new = compare(&base, &now.without("docs/src/new.md")).new;
    assert!(new.iter().any(|it| it.check == Check::Redirects && it.path == "docs/book.toml"), "{new:?}");
    let astro = "export default { redirects: { '/a': '/b' } }\n";
    let base =
        Tree::of([("docs/astro.config.mjs", "export default {}\n"), ("docs/src/content/docs/guide.md", "# G\n")]);
    let new = compare(&base, &base.clone().with("docs/astro.config.mjs", astro)).new;
    assert!(new.iter().any(|it| it.check == Check::Redirects && it.line == 1), "{new:?}");
}
