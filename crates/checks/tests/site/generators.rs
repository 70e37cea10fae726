//! What generators other than those of scripts make of links: MkDocs, mdBook, Jekyll, Hugo and Sphinx.

use copydesk_checks::{Check, SiteSettings, check_all};

use super::tree::{Tree, found, subjects};

/// How many links, anchors, images and snippets are not judged.
fn left(tree: &Tree) -> u64 {
    let tally = check_all(tree, &SiteSettings::default()).expect("files in memory").tally;
    tally.kinds().iter().map(|(_, count)| count.left()).sum()
}

fn jekyll(page: &str) -> Tree {
    Tree::of([
        ("_config.yml", "baseurl: /base\nrepository_path: /docs\nhelp: https://x.example\n"),
        ("index.md", "---\n---\n# Home\n"),
        ("docs/install.md", "---\npermalink: /setup/\n---\n# Install\n\n## On a Mac\n"),
        ("_posts/2024-05-06-news.md", "---\n---\n# News\n"),
        ("_includes/note.html", "<p>x</p>"),
        ("_includes/more.md", "## From elsewhere\n"),
        ("assets/a.png", ""),
    ])
    .with("page.md", &format!("---\n---\n{page}"))
}

#[test]
fn templates_in_addresses_of_jekyll_are_filled_in() {
    let tree = jekyll(
        "[a]({{ '/setup/' | relative_url }}) [b]({{ site.baseurl }}/setup/#on-a-mac) [c]({% link docs/install.md %})\n\
         [d]({% post_url 2024-05-06-news %}) [e]({{ site.url }}{{ site.baseurl }}/) [f]({{ site.help }}/x)\n\
         [g]({{ \"/setup\" | prepend: site.baseurl }}) ![h]({{ \"/assets/a.png\" | absolute_url }})\n\
         <a href=\"{{ \"/setup/\" | relative_url }}\">i</a>\n\n| a |\n|---|\n| [j]({{ '/setup/' | relative_url }}) |\n\n\
         [k]: {{ '/setup/' | relative_url }}\n\n[k]\n",
    );
    assert_eq!(found(&tree), []);
    assert_eq!(left(&tree), 0);
}

#[test]
fn templates_in_addresses_of_jekyll_may_lead_nowhere() {
    let tree = jekyll(
        "[a]({{ '/gone/' | relative_url }}) [b]({{ site.baseurl }}/setup/#gone) [c]({% link docs/gone.md %})\n\
         [d]({% post_url 2024-05-06-gone %}) ![e]({{ '/assets/gone.png' | relative_url }})\n\
         <a href=\"{{ \"/gone\" | relative_url }}\">f</a> [g]({{ page.previous.url }})\n",
    );
    let links = [
        "{{ '/gone/' | relative_url }}",
        "{% link docs/gone.md %}",
        "{% post_url 2024-05-06-gone %}",
        "{{ \"/gone\" | relative_url }}",
    ];
    assert_eq!(subjects(&tree, Check::Links), links);
    assert_eq!(subjects(&tree, Check::Anchors), ["{{ site.baseurl }}/setup/#gone"]);
    assert_eq!(subjects(&tree, Check::Images), ["{{ '/assets/gone.png' | relative_url }}"]);
    assert_eq!(left(&tree), 1);
}

#[test]
fn parts_that_a_page_of_jekyll_takes_in_are_followed() {
    let tree = jekyll("{% include note.html %}\n{% include more.md x=1 %}\n\n[a](#from-elsewhere) [b](#gone)\n");
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    let tree = jekyll("{% include gone.html %}\n");
    assert_eq!(subjects(&tree, Check::Snippets), ["gone.html"]);
    let themed = jekyll("{% include gone.html %}\n").with("_config.yml", "theme: minima\n");
    assert_eq!(found(&themed), []);
}

fn hugo(page: &str) -> Tree {
    Tree::of([
        ("hugo.toml", "baseURL = 'https://x.example/'\n"),
        ("content/_index.md", "# Home\n"),
        ("content/docs/_index.md", "# Docs\n"),
        ("content/docs/install.md", "# Install\n\n## On a Mac\n"),
        ("content/blog/Release.md", "# Release\n"),
        ("layouts/shortcodes/note.html", "<div>{{ .Inner }}</div>"),
    ])
    .with("content/docs/page.md", page)
}

#[test]
fn references_of_hugo_are_looked_up() {
    let fine = "[a]({{< ref \"install\" >}}) [b]({{< relref \"install.md#on-a-mac\" >}}) [c]({{% ref \"/docs/install\" %}})\n\
         [d]({{< ref \"release\" >}}) [e]({{< ref \"docs/install.md\" >}}#on-a-mac) [f]({{< relref path=\"/docs\" >}})\n";
    assert_eq!((found(&hugo(fine)), left(&hugo(fine))), (vec![], 0));
    let broken = hugo("[a]({{< ref \"instal\" >}}) [b]({{< relref \"install.md#gone\" >}}) [c]({{< other \"x\" >}})\n");
    assert_eq!(subjects(&broken, Check::Links), ["{{< ref \"instal\" >}}"]);
    assert_eq!(subjects(&broken, Check::Anchors), ["{{< relref \"install.md#gone\" >}}"]);
    assert_eq!(left(&broken), 1);
}

#[test]
fn a_template_for_links_of_hugo_may_go_by_name() {
    let hook = "{{ if eq .Destination \"g\" }}{{ end }}{{ .Page.GetPage .Destination }}";
    let tree =
        hugo("[a](release) [b](install) [c](gone) [d](g)\n").with("layouts/_default/_markup/render-link.html", hook);
    assert_eq!((subjects(&tree, Check::Links), left(&tree)), (vec!["gone".to_owned()], 0));
}

#[test]
fn shortcodes_of_hugo_that_bring_no_anchors_leave_them_judged() {
    let tree = hugo("{{< note >}}\n## Here\n{{< /note >}}\n\n[a](#here) [b](#gone)\n");
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    let tree = hugo("{{< theirs >}}\n\n[b](#gone)\n");
    assert_eq!((found(&tree), left(&tree)), (vec![], 1));
}

fn mkdocs(page: &str) -> Tree {
    let config = "markdown_extensions:\n  - attr_list\n  - pymdownx.snippets:\n      base_path: [includes, .]\n\
                  plugins: [macros]\nextra:\n  api: reference/\n";
    Tree::of([
        ("mkdocs.yml", config),
        ("docs/index.md", "# Home\n"),
        ("docs/reference/index.md", "# Reference\n"),
        ("includes/part.md", "## From a part\n\n[x](anywhere.md)\n"),
        ("README.md", "# Read me\n"),
    ])
    .with("docs/page.md", page)
}

#[test]
fn snippets_of_mkdocs_are_followed() {
    let tree = mkdocs(
        "# Page\n\n--8<-- \"part.md\"\n\n--8<-- \"README.md\"\n\n```py\n--8<-- \"gone.py:1:3\"\n```\n\n\
         [a](#from-a-part) [b](#read-me) [c](#gone) [](){#named} [d](#named)\n",
    );
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    assert_eq!(subjects(&tree, Check::Snippets), ["gone.py:1:3".split(':').next().unwrap()]);
    // What stands in the part is relative to the pages that take it in.
    assert_eq!((subjects(&tree, Check::Links), left(&tree)), (vec![], 1));
}

#[test]
fn names_of_the_configuration_are_filled_in_by_mkdocs() {
    let tree = mkdocs("[a]({{ api }}index.md) [b]({{ api }}gone.md) [c]({{ other }})\n");
    assert_eq!(subjects(&tree, Check::Links), ["{{ api }}gone.md"]);
}

#[test]
fn files_that_a_chapter_takes_in_are_followed() {
    let tree = Tree::of([
        ("book.toml", "[book]\ntitle = \"x\"\n"),
        ("src/SUMMARY.md", "- [A](a.md)\n"),
        (
            "src/a.md",
            "# A\n\n{{#include part.md}}\n\n```rust\n{{#include gone.rs:x}}\n```\n\n[a](#in-the-part) [b](#gone)\n",
        ),
        ("src/part.md", "## In the part\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    assert_eq!(subjects(&tree, Check::Snippets), ["gone.rs"]);
}

fn sphinx(conf: &str, page: &str) -> Tree {
    Tree::of([
        ("docs/index.md", "# Home\n"),
        ("docs/other.md", "# Other\n\n(my-label)=\n## A Part\n\n### Deep: one\n"),
        ("docs/old.rst", ".. _old-label:\n\nOld\n===\n"),
        ("docs/part.txt", "x"),
    ])
    .with("docs/conf.py", &format!("extensions = ['myst_parser']\n{conf}"))
    .with("docs/page.md", page)
}

#[test]
fn names_of_places_hold_in_all_of_a_sphinx_project() {
    let fine = "# Page\n\n[a](#my-label) [b](#old-label) [c](my-label) [d](other.md#my-label) [e](other.md#a-part) [f](#page)\n\
                {ref}`my-label` {ref}`text <old-label>` {doc}`other` {doc}`/index` [g](other.md#deep-one) [h](other)\n";
    let tree = sphinx("", fine);
    assert_eq!((found(&tree), left(&tree)), (vec![], 0));
    let broken = "[a](#gone) [b](other.md#gone) [c](gone.md) {ref}`no-label` {doc}`no-page`\n\n```{include} no.txt\n```\n\
                  ```{literalinclude} part.txt\n```\n\n:::{note}\n[d](none.md)\n:::\n\n```{tip}\n[e](nothing.md)\n```\n\n\
                  ```{figure} no.png\n```\n";
    let tree = sphinx("", broken);
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone", "other.md#gone", "#no-label"]);
    assert_eq!(subjects(&tree, Check::Links), ["gone.md", "no-page", "none.md", "nothing.md"]);
    assert_eq!(subjects(&tree, Check::Snippets), ["no.txt"]);
    assert_eq!(subjects(&tree, Check::Images), ["no.png"]);
}

#[test]
fn names_of_other_projects_are_not_judged() {
    let others = "extensions = ['myst_parser', 'sphinx.ext.intersphinx', 'sphinx.ext.autodoc']\n\
                  intersphinx_mapping = {'python': ('https://docs.python.org/3', None)}\n";
    let tree = sphinx(others, "[a](#some-name) [b](#mod.func)\n");
    assert_eq!((found(&tree), left(&tree)), (vec![], 2));
    // Where headings have ids, such a link is one to a heading.
    let tree = sphinx(&format!("{others}myst_heading_anchors = 3\n"), "[a](#some-name) [b](#mod.func)\n");
    assert_eq!((subjects(&tree, Check::Anchors), left(&tree)), (vec!["#some-name".to_owned()], 1));
}

#[test]
fn what_a_jekyll_site_leaves_out_is_shown_by_code_hosts() {
    let tree = jekyll("# Page\n")
        .with("_config.yml", "exclude: [notes]\n")
        .with("notes/style.md", "# Style\n\n[a](words.md) [b](gone.md) [c](#gone)\n")
        .with("notes/words.md", "# Words\n");
    assert_eq!(subjects(&tree, Check::Links), ["gone.md"]);
    assert_eq!((subjects(&tree, Check::Anchors), left(&tree)), (vec!["#gone".to_owned()], 0));
}

#[test]
fn a_page_that_is_built_is_not_taken_for_one_that_git_ignores() {
    let tree = Tree::of([
        (".gitignore", "*.html\n"),
        ("book.toml", "[output.html.redirect]\n\"./old.html\" = \"a.html\"\n"),
        ("src/SUMMARY.md", "- [A](a.md)\n"),
        ("src/a.md", "# A\n\n[a](a.html) [b](gone.html) [c](old.html) [d](../std/index.html)\n"),
    ]);
    assert_eq!((subjects(&tree, Check::Links), left(&tree)), (vec!["gone.html".to_owned()], 0));
}

#[test]
fn navigation_may_list_what_git_ignores() {
    let tree = Tree::of([
        (".gitignore", "docs/made.md\n"),
        ("mkdocs.yml", "nav: [index.md, made.md, gone.md]\n"),
        ("docs/index.md", "# Home\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Navigation), ["gone.md"]);
}

#[test]
fn terms_of_hugo_may_have_ids() {
    let config = "baseURL = 'https://x.example/'\n[markup.goldmark.parser]\nautoDefinitionTermID = true\n";
    let page = "---\naliases: [\n  '/old/',\n]\n---\n## name\n\n`name`\n: Text.\n\nOther one\n: Text.\n\n\
                [a](#name-1) [b](#other-one) [c](#gone) [d](/old/)\n";
    let tree = hugo(page).with("hugo.toml", config);
    assert_eq!(found(&tree).into_iter().map(|found| found.2).collect::<Vec<_>>(), ["#gone"]);
}

#[test]
fn redirects_that_a_hugo_site_gives_to_its_host_count() {
    let tree =
        hugo("[a](/api/x/y) [b](/ap/x)\n").with("static/_redirects", "# old\n/api/*  https://x.example/:splat\n");
    assert_eq!(subjects(&tree, Check::Links), ["/ap/x"]);
}

#[test]
fn links_of_pages_outside_of_sites_may_be_for_other_sites() {
    let tree = mkdocs("# Page\n").with("notes/x.md", "[a](../rules) [b](b.html) [c](gone.md)\n");
    assert_eq!(subjects(&tree, Check::Links), ["gone.md"]);
}

#[test]
fn directives_of_the_configuration_may_name_places() {
    let conf = "def setup(app):\n    app.add_directive('x', X)\n    names = [f\"api-{name}\"]\n";
    let tree = sphinx(conf, "[a](api-get-users) [b](my-label) [c](no-label) [d](#my-labe)\n");
    assert_eq!((subjects(&tree, Check::Links), left(&tree)), (vec!["no-label".to_owned()], 1));
    assert_eq!(subjects(&tree, Check::Anchors), ["#my-labe"]);
}

#[test]
fn the_first_chapter_is_the_page_of_the_book() {
    let tree = Tree::of([
        ("book.toml", "[output.html]\nsite-url = \"/x/\"\n"),
        ("src/SUMMARY.md", "- [B](b.md)\n- [A](a.md)\n"),
        ("src/a.md", "# A\n\n[a](index.html) [b](./) [c](/x/) [d](/x/gone.html) [e](/y/)\n"),
        ("src/b.md", "# B\n"),
    ]);
    assert_eq!((subjects(&tree, Check::Links), left(&tree)), (vec!["/x/gone.html".to_owned()], 0));
}

#[test]
fn preprocessors_may_read_names_and_make_ids() {
    let page = "# A\n\n[a](items.fn) [b](gone.md) [c](#r-items.fn) [d](#gone)\n";
    let book =
        |config: &str| Tree::of([("src/SUMMARY.md", "- [A](a.md)\n"), ("src/a.md", page)]).with("book.toml", config);
    let tree = book("[preprocessor.spec]\n");
    assert_eq!((subjects(&tree, Check::Links), left(&tree)), (vec!["gone.md".to_owned()], 2));
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    assert_eq!(left(&book("[preprocessor.mermaid]\n")), 0);
}

#[test]
fn a_summary_in_another_site_is_no_book() {
    let tree =
        hugo("[a](../install/) [b](../gone/)\n").with("content/docs/SUMMARY.md", "# Contents\n\n- [Gone](README.md)\n");
    assert_eq!(subjects(&tree, Check::Links), ["README.md", "../gone/"]);
    assert_eq!(subjects(&tree, Check::Navigation), Vec::<String>::new());
}

#[test]
fn ids_of_modules_are_not_judged() {
    let tree =
        mkdocs("::: pkg.mod\n\n[a](#pkg.mod.Thing) [b](#gone-one)\n").with("mkdocs.yml", "plugins: [mkdocstrings]\n");
    assert_eq!((subjects(&tree, Check::Anchors), left(&tree)), (vec!["#gone-one".to_owned()], 1));
}

#[test]
fn versions_of_a_mkdocs_site_are_served_side_by_side() {
    let config = "site_url: https://x.example/\nplugins: [mike]\n";
    let tree = mkdocs("[a](/dev/page/) [b](gone.md)\n").with("mkdocs.yml", config).without("includes/part.md");
    assert_eq!((subjects(&tree, Check::Links), left(&tree)), (vec!["gone.md".to_owned()], 1));
}

#[test]
fn tags_that_say_so_hold_markdown() {
    let page = "# Page\n\n<figure markdown>\n  ![a](gone.png){ width=\"200\" }\n</figure>\n\n\
                <div class=\"grid\" id=\"cards\" markdown>\n\n- [b](gone.md)\n\n</div>\n\n[c](#cards)\n";
    let tree = mkdocs(page);
    assert_eq!(subjects(&tree, Check::Images), ["gone.png"]);
    assert_eq!(subjects(&tree, Check::Links), ["gone.md"]);
    assert_eq!(subjects(&tree, Check::Anchors), Vec::<String>::new());
}

#[test]
fn drawings_that_a_page_takes_in_have_the_ids_that_they_say() {
    let tree = mkdocs("# Page\n\n--8<-- \"docs/x.svg\"\n\n[a](#node-1) [b](#gone)\n")
        .with("docs/x.svg", "<svg><g id=\"node-1\"/></svg>\n");
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
}

#[test]
fn pictures_beside_a_page_of_hugo_are_judged_wherever_it_is_served() {
    let config = "baseURL = 'https://x.example/'\n[permalinks]\nblog = '/blog/:year/:slug/'\n";
    let tree = hugo("# Page\n")
        .with("hugo.toml", config)
        .with("content/blog/post/index.md", "![a](there.png) ![b](gone.png)\n")
        .with("content/blog/post/there.png", "");
    assert_eq!(subjects(&tree, Check::Images), ["gone.png"]);
}

#[test]
fn pages_of_commands_may_have_any_id() {
    let tree = mkdocs("::: mkdocs-click\n    :module: x\n\n[a](#x-command)\n")
        .with("mkdocs.yml", "site_name: x\n")
        .without("includes/part.md");
    assert_eq!((found(&tree), left(&tree)), (vec![], 1));
}

#[test]
fn pictures_of_a_blog_are_judged_by_file() {
    let tree = mkdocs("# Page\n")
        .with("mkdocs.yml", "plugins: [blog]\n")
        .with("docs/blog/posts/a.md", "![a](there.png) ![b](gone.png)\n")
        .with("docs/blog/posts/there.png", "");
    assert_eq!(subjects(&tree, Check::Images), ["gone.png"]);
}

#[test]
fn terms_of_a_glossary_are_not_judged() {
    let tree = sphinx("", "[a](<#my other term>)\n");
    assert_eq!((found(&tree), left(&tree)), (vec![], 1));
}

#[test]
fn ids_of_described_code_begin_with_its_name() {
    let tree = mkdocs(
        "::: pkg.mod\n    options: {}\n\n::: mkdocs-click\n    :module: pkg.cli\n    :command: tool\n\n\
         [a](#pkg.mod.Thing) [b](#tool-build) [c](#other.mod) [d](#build)\n",
    );
    assert_eq!(subjects(&tree, Check::Anchors), ["#other.mod", "#build"]);
    // The two, and one that stands in a part of other pages.
    assert_eq!(left(&tree), 3);
}

#[test]
fn a_configuration_of_mkdocs_may_have_another_name() {
    let tree = Tree::of([
        ("mkdocs-common.yml", "site_name: x\n"),
        ("mkdocs-nav.yml", "nav: [index.md]\n"),
        ("mkdocs-offline.yml", "INHERIT: mkdocs-common.yml\n"),
        ("mkdocs-online.yml", "INHERIT: mkdocs-common.yml\nsite_url: https://x.example/\n"),
        ("docs/index.md", "[a](guide) [b](/guide/) [c](gone)\n\n!!! note\n\n    [d](gone.md)\n"),
        ("docs/guide.md", "# Guide\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["gone", "gone.md"]);
    assert_eq!(left(&tree), 0);
}

#[test]
fn headings_that_a_template_of_hugo_fills_in_leave_the_others_known() {
    let tree = Tree::of([
        ("hugo.toml", "baseURL = 'https://x.example/'\n"),
        (
            "content/page.md",
            "## {{% param x %}} Own {#own}\n\n## New in {{% param x %}}\n\n[a](#own) [b](#new-in-v1) [c](#gone)\n",
        ),
    ]);
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    assert_eq!(left(&tree), 1);
}

#[test]
fn code_that_mkdocs_shows_brings_no_anchors() {
    let tree = mkdocs("```py\n--8<-- \"docs/x.py\"\n```\n\n[a](#gone)\n").with("docs/x.py", "f(id=\"x\")\n");
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
}

#[test]
fn plugins_of_mkdocs_make_no_files_and_browsers_go_no_further_than_the_host() {
    let tree = Tree::of([
        ("mkdocs.yml", "site_url: https://x.example/\nplugins: [blog]\nhooks: [marks.py]\n"),
        ("marks.py", ""),
        ("docs/index.md", "# Home\n"),
        (
            "docs/blog/posts/a.md",
            "[a](gone.md) ![b](/blog/gone.png) [c](/blog/archive/2024/) <a href=\"../../../../../\">d</a>\n",
        ),
        ("docs/guide.md", "# Guide\n\n<!-- md:setting own.name -->\n\n[a](#own.name) [b](#gone)\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["gone.md"]);
    assert_eq!(subjects(&tree, Check::Images), ["/blog/gone.png"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    assert_eq!(left(&tree), 2);
}

#[test]
fn hugo_tells_where_pages_lists_and_settings_lead() {
    let page = "[a](/news/2024/05/first-news/) [b](/news/2024/05/gone/) [c](/tags/new-things/) [d](/tags/gone/) \
                [e]({{< param \"repo.url\" >}}/x) [f]({{% param home %}}) [g](/llms.txt) [h](/#start) [i](/#gone)\n";
    let tree = Tree::of([
        (
            "config/_default/hugo.yaml",
            "baseURL: https://x.example/\npermalinks: {news: /:section/:year/:month/:slug/}\n",
        ),
        ("config/_default/params.yaml", "repo: {url: https://y.example}\nhome: /gone/\n"),
        ("config/_default/outputs.yaml", "home: [HTML, LLMS]\n"),
        (
            "config/staging/hugo.yaml",
            "baseURL: https://z.example/\nmodule: {mounts: [{source: ../.., target: content}]}\n",
        ),
        ("layouts/shortcodes/start.html", "<p id=\"start\"></p>"),
        ("content/_index.html", "---\ntitle: Home\n---\n<div>{{< start >}}</div>\n"),
        ("content/news/one.md", "---\ntitle: First news!\ndate: 2024-05-06\ntags: [New things]\n---\n"),
        ("content/page.md", page),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["/news/2024/05/gone/", "/tags/gone/", "{{% param home %}}"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["/#gone"]);
    assert_eq!(left(&tree), 1);
}

#[test]
fn jupyter_book_and_myst_share_the_names_of_places() {
    let page = "(here)=\n# Page\n\n[a](other.md) [b](gone.md) [c](#there) [d](#gone) ![e](x.png)\n";
    let other = "# Other\n\n```{figure} x.png\n:name: there\n```\n\n## A Part\n";
    let book = Tree::of([("docs/_config.yml", "title: x\n"), ("docs/_toc.yml", "root: page\n")]);
    let project = Tree::of([("docs/myst.yml", "version: 1\nproject: {title: x}\n")]);
    for tree in [book, project] {
        let tree = tree.with("docs/page.md", page).with("docs/other.md", other).with("docs/x.png", "");
        assert_eq!(subjects(&tree, Check::Links), ["gone.md"]);
        assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
        assert_eq!(left(&tree), 0);
    }
    let tree = Tree::of([("myst.yml", "project: {}\n"), ("a.md", "[a](#a-part) [b](#gone)\n"), ("b.md", other)]);
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
}

#[test]
fn ids_of_gitbook_keep_dots() {
    let tree = Tree::of([
        ("SUMMARY.md", "* [A](README.md)\n"),
        (
            "README.md",
            "## Release 4.6\n\n## 1. One - two\n\n[a](#release-4.6) [b](#id-1.-one-two) [c](#gone) ![d](/.gitbook/x.png)\n",
        ),
    ]);
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    assert_eq!(subjects(&tree, Check::Images), ["/.gitbook/x.png"]);
}

#[test]
fn a_readme_beside_an_index_of_mkdocs_is_shown_by_code_hosts_alone() {
    let tree = Tree::of([
        ("mkdocs.yml", "site_name: x\n"),
        ("docs/index.md", "[a](README.md) ## A & B\n"),
        ("docs/README.md", "## A & B\n\n[a](#a--b) [b](#a-b) [c](/docs/gone.md)\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["/docs/gone.md", "README.md"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["#a-b"]);
}

#[test]
fn functions_of_templates_of_mkdocs_tell_whether_they_make_anchors() {
    let page = "{{ table('x') }}\n\n[a](#gone)\n";
    let tree = mkdocs(page).with("main.py", "def table(x):\n    return '<td>' + x\n");
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    let tree = mkdocs(page).with("main.py", "def table(x):\n    return '<td id=\"' + x\n");
    assert_eq!(subjects(&tree, Check::Anchors), Vec::<String>::new());
}

#[test]
fn collections_of_jekyll_hold_texts_of_any_kind() {
    let tree = Tree::of([
        ("_config.yml", "collections: {terms: {output: true, permalink: /terms/:path/}}\n"),
        ("_terms/one-1.0.txt", "---\n---\nText\n"),
        ("page.md", "---\n---\n[a](/terms/one-1.0/) [b](/terms/gone/)\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["/terms/gone/"]);
}

#[test]
fn tabs_and_code_of_mkdocs_may_have_ids() {
    let tabbed = "pymdownx.tabbed: {combine_header_slug: true, slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}}";
    let page = "# Page\n\n## Logo\n\n=== \":icon-x: An image\"\n\n    x\n\n``` { .sh #listing }\nx\n```\n\n\
                [a](#logo-an-image) [b](#listing) [c](#an-image)\n";
    let tree = mkdocs(page).with("mkdocs.yml", &format!("markdown_extensions:\n  - {tabbed}\n"));
    assert_eq!(subjects(&tree, Check::Anchors), ["#an-image"]);
}

#[test]
fn figures_of_hugo_are_judged() {
    let tree = Tree::of([
        ("hugo.toml", "baseURL = 'https://x.example/'\n"),
        ("static/img/a.png", ""),
        (
            "content/page.md",
            "{{< figure src=\"/img/a.png\" >}}\n\n{{< figure src=\"/img/gone.png\" link=\"/gone/\" >}}\n",
        ),
    ]);
    assert_eq!(subjects(&tree, Check::Images), ["/img/gone.png"]);
    assert_eq!(subjects(&tree, Check::Links), ["/gone/"]);
}

#[test]
fn templates_in_definitions_and_before_lines_hide_nothing_from_hugo() {
    let page = "[a] [b]\n\n{{< tab lang=\"yaml\" >}}\n---\nx: 1\n---\n{{< /tab >}}\n\n[c](#gone)\n\n\
                [a]: https://y.example/{{< param version >}}/x\n[b]: /gone/\n";
    let tree = Tree::of([("hugo.toml", "baseURL = 'https://x.example/'\n"), ("content/page.md", page)]);
    assert_eq!(subjects(&tree, Check::Links), ["/gone/"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
}

#[test]
fn folders_of_hugo_give_settings_to_their_pages() {
    let tree = Tree::of([
        ("hugo.toml", "baseURL = 'https://x.example/'\n"),
        ("content/docs/v1/_index.md", "---\ncascade:\n  version: v1\n---\n"),
        ("content/docs/v1/a.md", "[a](/docs/{{< param version >}}/a/) [b](/docs/{{< param version >}}/gone/)\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["/docs/{{< param version >}}/gone/"]);
    assert_eq!(left(&tree), 0);
}

#[test]
fn posts_of_mkdocs_are_served_by_their_dates() {
    let tree = Tree::of([
        ("mkdocs.yml", "site_url: https://x.example/\nplugins: [blog]\n"),
        ("docs/blog/images/a.png", ""),
        (
            "docs/blog/posts/a.md",
            "<img src=\"../../../../images/a.png\"> <img src=\"../../../../gone.png\"> <img src=\"x.png\">\n",
        ),
    ]);
    assert_eq!(subjects(&tree, Check::Images), ["../../../../gone.png"]);
    assert_eq!(left(&tree), 1);
}

#[test]
fn redirects_of_places_leave_the_pages_of_a_book_alone() {
    let tree = Tree::of([
        ("book.toml", "[output.html.redirect]\n\"/old.html#part\" = \"a.html\"\n\"/a.html#old\" = \"a.html#new\"\n"),
        ("src/SUMMARY.md", "- [A](a.md)\n"),
        ("src/a.md", "## New\n\n[a](old.html) [b](a.html#old) [c](a.html#gone)\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["old.html"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["a.html#gone"]);
}

#[test]
fn what_lies_beside_the_documentation_is_not_in_a_site_of_mkdocs() {
    let tree = Tree::of([
        ("mkdocs.yml", "site_name: X\n"),
        ("docs/index.md", "# A\n\n[out](../README.md)\n"),
        ("docs/guide/page.md", "# B\n\n[a](../../README.md) ![b](../../logo.png) [c](../index.md) ![d](../in.png)\n"),
        ("docs/in.png", ""),
        ("logo.png", ""),
        ("README.md", "# R\n"),
    ]);
    let report = check_all(&tree, &SiteSettings::default()).expect("files in memory");
    let told: Vec<&str> = report.findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "`../../README.md` leads nowhere: that file is not in the site",
            "the image `../../logo.png` does not exist: that file is not in the site"
        ]
    );
    // Nobody knows what is served above the site.
    assert_eq!(left(&tree), 1);
}

#[test]
fn what_modules_mounts_and_adapters_of_hugo_bring_is_not_judged() {
    let config = "baseURL: https://x.example/\nmodule:\n  imports:\n    - path: x.example/y\n      mounts:\n        \
                  - {source: a.md, target: content/manuals/build/there.md}\npermalinks:\n  page:\n    \
                  manuals: /:sections[1:]/:slugorcontentbasename/\n  section:\n    manuals: /:sections[1:]/\n";
    let page = "[a](/build/there/) [b](/cli/anything/) [c](/build/own/) [d](/build/) [g](/deep/er/own/) [h](manuals/build/own.md) [i](/manuals/build/index.md) [e](/gone/) [f](/build/gone/)\n\n\
                {{< img src=\"shown.png\" >}} {{< img src=\"gone.png\" >}}\n";
    let tree = Tree::of([
        ("hugo.yaml", config),
        ("content/page.md", page),
        ("content/cli/_content.gotmpl", ""),
        ("content/manuals/_index.md", ""),
        ("content/manuals/build/_index.md", ""),
        ("content/manuals/deep/er/_index.md", ""),
        ("content/manuals/deep/er/own.md", "![x](../../images/x.png) [y](../../build/there.md)\n"),
        ("content/manuals/deep/images/x.png", ""),
        ("content/manuals/build/own.md", ""),
        ("assets/shown.png", ""),
        ("_vendor/x.example/y/a.md", "[x](gone.md)\n"),
    ]);
    let said: Vec<String> = found(&tree).into_iter().map(|(_, _, subject)| subject).collect();
    assert_eq!(
        (said.as_slice(), left(&tree)),
        (["/gone/", "/build/gone/", "gone.png"].map(str::to_owned).as_slice(), 3)
    );
}

#[test]
fn pages_that_shortcodes_of_hugo_take_in_bring_anchors() {
    let layout = "{{ with site.GetPage (.Get 0) }}{{ .RenderShortcodes }}{{ end }}";
    let tree = hugo("{{% include \"x\" %}}\n\n[a](#there)\n").with("layouts/_shortcodes/include.html", layout);
    assert_eq!((found(&tree), left(&tree)), (vec![], 1));
}

#[test]
fn routes_of_astro_make_addresses_that_nobody_can_list() {
    let tree = Tree::of([
        ("astro.config.mjs", "import redirects from './moved.js';\nexport default { redirects };\n"),
        (
            "moved.js",
            "const blog = {\n  '/a': '/en/blog',\n  '/b': '/gone/x/y',\n  '/c': '/list/x.txt',\n};\n\
             export default { ...blog, '/d': '/list/x' };\n",
        ),
        ("src/pages/[lang]/blog/[...page].astro", ""),
        ("src/pages/list/[name].txt.ts", ""),
    ]);
    let findings = check_all(&tree, &SiteSettings::default()).expect("files in memory").findings;
    let of = |it: &copydesk_checks::Finding| (it.path.clone(), it.line, it.subject.clone());
    assert_eq!(
        findings.iter().map(of).collect::<Vec<_>>(),
        [("moved.js".to_owned(), 3, "/b /gone/x/y".to_owned()), ("moved.js".to_owned(), 6, "/d /list/x".to_owned())]
    );
}

#[test]
fn a_check_that_could_judge_nothing_of_what_there_is_had_something_to_judge() {
    let tree = Tree::of([("page.md", "![x](/nobody/knows.png)\n")]);
    let report = check_all(&tree, &SiteSettings::default()).expect("files in memory");
    assert_eq!((report.tally.images.judged, report.tally.images.left()), (0, 1));
    assert!(!report.idle.contains(&Check::Images) && report.idle.contains(&Check::Links), "{:?}", report.idle);
}
