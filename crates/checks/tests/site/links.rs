use copydesk_checks::{Check, Severity, SiteSettings, check_all};

use super::tree::{Tree, briefly, docs_json, found, subjects};

fn mintlify(page: &str) -> Tree {
    Tree::of([
        ("docs/index.mdx", "# Home\n"),
        ("docs/guides/install.mdx", "# Install\n\n## Set up\n\n<Accordion title=\"Common errors\">x</Accordion>\n"),
        ("docs/guides/index.mdx", "# Guides\n"),
        ("docs/images/a b.png", ""),
        ("docs/snippets/note.mdx", "## From the snippet\n\n[relative](anywhere)\n"),
        ("docs/snippets/part.jsx", ""),
        ("docs/files/x.pdf", ""),
    ])
    .with(
        "docs/docs.json",
        &docs_json(&["index"]).replacen(
            "{\"navigation\"",
            "{\"redirects\": [{\"source\": \"/old/:slug*\", \"destination\": \"/guides/install\"}], \"navigation\"",
            1,
        ),
    )
    .with("docs/guides/page.mdx", page)
}

#[test]
fn what_resolves_on_a_mintlify_site_is_fine() {
    let tree = mintlify(
        "# Page\n\n[a](/guides/install) [b](./install) [c](guides/install#set-up) [d](/guides) [e](/) [f](#page)\n\
         [g](/old/thing/deep) [h](https://x.example) [i](mailto:a@b.c) [j](//host/x) [k](/guides/install.md)\n\
         [l](/guides/install?x=1#set-up) [m](/llms.txt) [n](/guides/install#common-errors) [o](../guides/install.mdx)\n\
         [p](/files/x.pdf) [q](tel:1) [r]() [s](/images) [t](/guides/page/)\n\n\
         ![i](/images/a%20b.png) ![j](../images/a%20b.png)\n",
    );
    assert_eq!(found(&tree), []);
}

#[test]
fn what_does_not_resolve_on_a_mintlify_site_is_found() {
    let tree = mintlify(
        "import X from '/snippets/gone.mdx'\nimport { Y } from '../snippets/part.jsx'\n\n# Page\n\n\
         [a](/guides/instal) [b](./nothing) [c](missing.md) <Card href=\"/no/card\" />\n\n\
         ![x](/images/no.png) <img src=\"no.svg\" />\n\n<Snippet file=\"none.mdx\" />\n\n<Snippet file=\"note.mdx\" />\n",
    );
    assert_eq!(subjects(&tree, Check::Links), ["/guides/instal", "./nothing", "missing.md", "/no/card"]);
    assert_eq!(subjects(&tree, Check::Images), ["/images/no.png", "no.svg"]);
    assert_eq!(subjects(&tree, Check::Snippets), ["/snippets/gone.mdx", "none.mdx"]);
    let report = check_all(&tree, &SiteSettings::default()).unwrap();
    let first = report.findings.iter().find(|finding| finding.check == Check::Links).unwrap();
    assert_eq!(first.message, "`/guides/instal` leads nowhere; did you mean `/guides/install`?");
    assert_eq!((first.line, first.column), (6, 5));
    assert_eq!(report.pages, 5);
}

#[test]
fn anchors_are_looked_for_in_the_page_and_its_snippets() {
    let tree = mintlify(
        "import Note from '/snippets/note.mdx'\n\n# Page\n\n<Note />\n\n[a](#page) [b](#from-the-snippet) [c](#nope)\n\
         [d](/guides/install#set-upp) [e](/guides/install#SET_UP) [f](/guides/install#:~:text=x)\n",
    );
    let missing = ["#nope", "/guides/install#set-upp", "/guides/install#SET_UP"];
    assert_eq!(subjects(&tree, Check::Anchors), missing);
    let report = check_all(&tree, &SiteSettings::default()).unwrap();
    let messages: Vec<&str> = report.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert!(
        messages.contains(
            &"`/guides/install#set-upp`: docs/guides/install.mdx has no such heading; did you mean `#set-up`?"
        )
    );
}

#[test]
fn a_page_with_parts_from_elsewhere_may_have_any_anchor() {
    let component = "import { X } from '../snippets/part.jsx'\n\n";
    for start in [component, "---\nopenapi: GET /x\n---\n", "## {title}\n\n"] {
        let tree = mintlify(&format!("{start}[a](#any)\n")).with("docs/snippets/part.jsx", "<h2 id={x}>…</h2>");
        assert_eq!(subjects(&tree, Check::Anchors), Vec::<String>::new(), "{start}");
        let tally = check_all(&tree, &SiteSettings::default()).unwrap().tally;
        assert_eq!((tally.anchors.judged, tally.anchors.left()), (0, 1), "{start}");
    }
    // A component that makes no headings hides nothing.
    assert_eq!(subjects(&mintlify(&format!("{component}[a](#any)\n")), Check::Anchors), ["#any"]);
}

#[test]
fn pages_from_an_api_description_need_no_files() {
    let tree = mintlify("[a](/api-reference/users/get) [b](/made/here) [c](/elsewhere)\n");
    let text = tree.files["docs/docs.json"].replacen(
        "\"pages\"",
        "\"openapi\": {\"source\": \"o.json\", \"directory\": \"made\"}, \"pages\"",
        1,
    );
    assert_eq!(subjects(&tree.with("docs/docs.json", &text), Check::Links), ["/elsewhere"]);
}

#[test]
fn without_a_generator_files_link_to_files() {
    let tree = Tree::of([
        (
            "README.md",
            "# R\n\n[a](docs/a.md) [b](docs/gone.md) [c](/rooted) [d](docs) [e](LICENSE) [f](../../issues)\n\
          [g](docs/a.md#here) [h](docs/a.md#gone) [i](gone.html) [j](some/page) ![k](gone.png) ![l](logo.svg)\n\
          [m]({{site.url}}/x.md) ![n](https://x/y.png) [o](docs/a.md#L10) [p](src/x.rs)\n",
        ),
        ("docs/a.md", "# Here\n\n[up](../README.md)\n"),
        ("logo.svg", ""),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["docs/gone.md", "LICENSE", "gone.html", "some/page", "src/x.rs"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["docs/a.md#gone", "docs/a.md#L10"]);
    let tally = check_all(&tree, &SiteSettings::default()).unwrap().tally;
    let reasons: Vec<&str> = tally.links.not_judged.keys().map(String::as_str).collect();
    let expected = [
        "a template fills it in",
        "it leads outside the repository",
        "nobody here knows where the site begins that shows the page",
    ];
    assert_eq!(reasons, expected);
    assert_eq!(subjects(&tree, Check::Images), ["gone.png"]);
}

#[test]
fn other_generators_are_left_alone_except_for_links_to_files() {
    let tree =
        Tree::of([("antora.yml", ""), ("content/a.md", "[x](/posts/b) ![i](pic.png) [f](gone.md) [r](../other)\n")]);
    assert_eq!(subjects(&tree, Check::Links), ["gone.md"]);
    assert_eq!(subjects(&tree, Check::Images), ["pic.png"]);
}

#[test]
fn mkdocs_pages_link_to_files() {
    let pages =
        [("docs/index.md", "[a](guide/a.md) [b](guide/b.md) [c](/abs) <img src=\"../img/x.png\"> [d](guide/a/)\n")];
    let tree = Tree::of(pages)
        .with("docs/guide/a.md", "# A\n\n<img src=\"../../img/x.png\">\n")
        .with("docs/img/x.png", "")
        .with("mkdocs.yml", "site_name: X\nnav:\n  - index.md\n  - Guide:\n      - A: guide/a.md\n");
    assert_eq!(subjects(&tree, Check::Links), ["guide/b.md"]);
    assert_eq!(subjects(&tree, Check::Images), Vec::<String>::new());
    let made = tree.clone().with("mkdocs.yml", "plugins:\n  - gen-files\n");
    assert_eq!(subjects(&made, Check::Links), Vec::<String>::new());
}

#[test]
fn vitepress_resolves_addresses_by_files() {
    let tree = Tree::of([
        (
            "docs/.vitepress/config.mts",
            "export default { themeConfig: { sidebar: [{ text: 'A', link: '/guide/a' }, { link: '/gone' }] } }",
        ),
        (
            "docs/index.md",
            "[a](/guide/a) [b](./guide/b) [c](/guide/) [d](/guide/a.html) ![i](/logo.png) ![j](/no.png)\n",
        ),
        ("docs/guide/a.md", "# A\n"),
        ("docs/guide/index.md", "# G\n"),
        ("docs/public/logo.png", ""),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["./guide/b"]);
    assert_eq!(subjects(&tree, Check::Images), ["/no.png"]);
    assert_eq!(subjects(&tree, Check::Navigation), ["/gone"]);
    let routed = tree.with("docs/guide/[name].md", "x");
    assert_eq!(subjects(&routed, Check::Links), Vec::<String>::new());
}

#[test]
fn docusaurus_pages_may_have_other_addresses_than_their_files() {
    let tree = Tree::of([
        ("docusaurus.config.js", "module.exports = { presets: [['classic', {}]] }"),
        ("sidebars.js", "module.exports = { docs: ['intro', 'no-such'] }"),
        (
            "docs/intro.md",
            "[a](./chosen-slug) [b](/docs/x) [c](./gone.md) [d](guide/g.md) ![i](/img/x.png) ![j](/img/no.png)\n",
        ),
        ("docs/guide/g.md", "---\nslug: /chosen-slug\n---\n\n[rooted](guide/g.md)\n"),
        ("static/img/x.png", ""),
        ("i18n/fr/docusaurus-plugin-content-docs/current/a.md", "[x](intro.md) [y](untranslated.md)\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["/docs/x", "./gone.md", "untranslated.md"]);
    assert_eq!(subjects(&tree, Check::Images), ["/img/no.png"]);
    assert_eq!(subjects(&tree, Check::Navigation), Vec::<String>::new());
}

#[test]
fn every_page_check_has_a_finding_and_its_place() {
    let tree = Tree::of([
        ("a.mdx", "<Card>\n"),
        ("b.md", "---\na: 1\na: 2\n---\n"),
        ("c.md", "```\nopen\n"),
        ("d.md", "x\u{200b}y\n"),
        ("e.txt", "x\u{202e}y\n"),
        ("docs/e.txt", "x\u{202e}y\n"),
        ("node_modules/f.md", "```\n"),
    ]);
    let settings = SiteSettings::new(&[".".to_owned(), "docs".to_owned()]);
    let found = briefly(&check_all(&tree, &settings).unwrap().findings);
    let checks: Vec<(Check, &str)> = found.iter().map(|(check, path, _)| (*check, path.as_str())).collect();
    assert_eq!(
        checks,
        [
            (Check::Syntax, "a.mdx"),
            (Check::FrontMatter, "b.md"),
            (Check::CodeFences, "c.md"),
            (Check::InvisibleCharacters, "d.md"),
            (Check::InvisibleCharacters, "docs/e.txt"),
        ]
    );
}

#[test]
fn a_finding_does_not_tell_the_secret() {
    let secret = format!("gh{}_{}", "p", "q7Rz2LmX9vKp4WnB8sYd3HgT6cJf1Q2qihlP");
    let tree = Tree::of([("a.md", "")]).with("a.md", &format!("Use {secret} now.\n"));
    let report = check_all(&tree, &SiteSettings::default()).unwrap();
    assert_eq!(report.findings[0].check, Check::Secrets);
    let shown = serde_json::to_string(&report.findings).unwrap();
    assert!(!shown.contains(&secret[4..12]), "{shown}");
}

#[test]
fn all_formats_of_documentation_are_looked_through() {
    let hidden = "x\u{202e}y\n";
    let paths =
        ["docs.json", "docs/README", "docs/x.asciidoc", "docs/x.ipynb", "docs/x.mkd", "docs/x.tsv", "sidebars.js"];
    let mut tree = Tree::of([("docs/logo.bin", hidden), ("other.tsv", hidden)]);
    for path in paths {
        tree = tree.with(path, hidden);
    }
    // Only a file that says where the pages are is Mintlify's.
    let tree = tree.with("docs.json", &format!("{}{hidden}", docs_json(&[])));
    let findings = check_all(&tree, &SiteSettings::new(&["docs".to_owned()])).unwrap().findings;
    let found = findings.iter().filter(|finding| finding.check == Check::InvisibleCharacters);
    assert_eq!(found.map(|finding| finding.path.as_str()).collect::<Vec<_>>(), paths);
}

#[test]
fn only_the_documentation_is_looked_at() {
    let tree =
        Tree::of([("docs/a.md", "[x](gone.md)\n"), ("other/b.md", "[x](gone.md)\n"), ("README.md", "[x](gone.md)\n")]);
    let settings = SiteSettings::new(&["./docs/".to_owned(), "README.md".to_owned()]);
    let paths: Vec<String> = check_all(&tree, &settings).unwrap().findings.into_iter().map(|f| f.path).collect();
    assert_eq!(paths, ["README.md", "docs/a.md"]);
}

#[test]
fn a_definition_that_no_link_uses_is_a_warning() {
    let tree = Tree::of([("a.md", "# A\n\n[x][used]\n\n[used]: gone.md\n[left]: nowhere.md\n")]);
    let findings = check_all(&tree, &SiteSettings::default()).expect("files in memory").findings;
    let told: Vec<(&str, Severity)> = findings.iter().map(|it| (it.subject.as_str(), it.severity)).collect();
    assert_eq!(told, [("gone.md", Severity::Error), ("nowhere.md", Severity::Warning)]);
}

#[test]
fn what_may_have_been_meant_is_a_page_of_the_documentation_that_readers_get() {
    let page = "# A\n\n[x](../CHANGELOGS.md) [y](instal.md)\n";
    let tree = || Tree::of([("docs/a.md", page), ("docs/install.md", "# Install\n"), ("CHANGELOG.md", "# Changes\n")]);
    let told = |tree: &Tree, settings: &SiteSettings| -> Vec<String> {
        let findings = check_all(tree, settings).expect("files in memory").findings;
        findings.into_iter().filter(|it| it.check == Check::Links).map(|it| it.message).collect()
    };
    let (outside, inside) =
        ("`../CHANGELOGS.md` leads nowhere", "`instal.md` leads nowhere; did you mean `install.md`?");
    let hinted = format!("{outside}; did you mean `../CHANGELOG.md`?");
    assert_eq!(told(&tree(), &SiteSettings::default()), [hinted.as_str(), inside]);
    assert_eq!(told(&tree(), &SiteSettings::new(&["docs".to_owned()])), [outside, inside], "it is not documentation");
    let site = tree().with("mkdocs.yml", "site_name: T\n");
    assert_eq!(told(&site, &SiteSettings::default()), [outside, inside], "the site has no such page");
}
