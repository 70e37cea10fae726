//! Sites of generators that are written in JavaScript, beyond what their fixtures show.

use copydesk_checks::{Check, SiteSettings, check_all};

use super::tree::{Tree, docs_json, subjects};

/// How many links, anchors, images and snippets were not judged.
fn left(tree: &Tree) -> Vec<u64> {
    let kinds = check_all(tree, &SiteSettings::default()).expect("files in memory").tally;
    kinds.kinds().iter().take(4).map(|(_, count)| count.left()).collect()
}

fn starlight(page: &str) -> Tree {
    let config = "import starlight from '@astrojs/starlight'\n\
                  export default { integrations: [starlight({ sidebar: [{ label: 'A', link: '/made/' }] })] }\n";
    Tree::of([("astro.config.mjs", config), ("src/content/docs/index.md", "# Home\n\n## Part\n")])
        .with("src/content/docs/page.md", page)
}

#[test]
fn what_hosts_redirect_is_there() {
    let tree = starlight("[a](/old/) [b](/older/page/) [c](/oldest/) [d](/moved/) [e](/gone/)\n")
        .with("public/_redirects", "# Old ones\n/old / 301\n/older/* /:splat\n/gone/* /404 404\n/* /404 404\n")
        .with("netlify.toml", "[[redirects]]\nfrom = \"/oldest\"\nto = \"/\"\n")
        .with("vercel.json", r#"{"redirects": [{"source": "/moved", "destination": "/"}]}"#);
    assert_eq!(subjects(&tree, Check::Links), ["/gone/"]);
}

#[test]
fn a_page_that_a_program_makes_is_not_judged() {
    let tree = starlight("[a](/reference/config/) [b](/made/) [c](/reference/other/)\n")
        .with("src/content/docs/reference/.gitignore", "config.md\n");
    assert_eq!(subjects(&tree, Check::Links), ["/reference/other/"]);
    assert_eq!(left(&tree), [2, 0, 0, 0]);
}

#[test]
fn links_of_parts_of_pages_are_judged_from_where_they_are_taken_in() {
    let part = "[a](/page/) [b](/gone/) [c](../page/) [d](../gone/) [e](#title) [f](#gone)\n";
    let tree = starlight("# Page\n").with("src/components/part.md", part);
    assert_eq!(subjects(&tree, Check::Links), Vec::<String>::new());
    assert_eq!(left(&tree), [3, 2, 0, 0]);
    let tree = tree
        .with("src/content/docs/deep/more.mdx", "import Part from '../../../components/over.mdx'\n\n## Title\n")
        .with("src/components/over.mdx", "import Part from './part.md'\n\n<Part/>\n");
    assert_eq!(subjects(&tree, Check::Links), ["/gone/", "../page/", "../gone/"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    assert_eq!(left(&tree), [0, 0, 0, 0]);
}

#[test]
fn addresses_that_components_of_the_site_make_something_of_are_not_judged() {
    let page = "<Repo href=\"lib/x.rs\" /> <Repo href=\"/gone\" /> <Card href=\"gone\" />\n";
    let tree = docusaurus(page);
    assert_eq!(subjects(&tree, Check::Links), ["/gone", "gone"]);
    assert_eq!(left(&tree), [1, 0, 0, 0]);
}

#[test]
fn nothing_is_above_the_root() {
    let tree = starlight("[a](../../../page/#part) [b](../../../#part) [c](../../gone/)\n\n![d](./none.png)\n");
    assert_eq!(subjects(&tree, Check::Links), ["../../gone/"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["../../../page/#part"]);
    assert_eq!(subjects(&tree, Check::Images), ["./none.png"]);
}

#[test]
fn what_components_show_by_address_is_judged() {
    let page = "<Video src=\"/a.mp4\" />\n<Shot src=\"/b.png\" />\n<Shot src=\"c.png\" />\n<Widget src=\"/d\" />\n";
    let tree = starlight(page).with("public/a.mp4", "");
    assert_eq!(subjects(&tree, Check::Images), ["/b.png"]);
}

#[test]
fn plugins_that_make_no_pages_hide_none() {
    let config =
        "export default { presets: [['classic', {}]], plugins: ['./plugin.js', function named() { return {} }] }\n";
    let tree = Tree::of([("docusaurus.config.js", config), ("docs/a.md", "[a](/videos)\n")]);
    for (plugin, missing) in [
        ("module.exports = () => ({ name: 'x' })", 1),
        ("actions.addRoute({})", 0),
        ("addRoute({ path: '/videos' })", 0),
        ("addRoute({ path: '/x' })", 1),
    ] {
        let tree = tree.clone().with("plugin.js", plugin);
        assert_eq!(subjects(&tree, Check::Links).len(), missing, "{plugin}");
    }
}

#[test]
fn posts_of_a_blog_are_files_and_lists_of_them_are_made() {
    let config = "import starlight from '@astrojs/starlight'\nimport blog from 'starlight-blog'\n\
                  export default { integrations: [starlight({ plugins: [blog()] })] }\n";
    let page = "[a](/blog/) [b](/blog/post/) [c](/blog/tags/x/) [d](/blog/2/) [e](/blog/gone/)\n";
    let tree = starlight(page).with("astro.config.mjs", config).with("src/content/docs/blog/post.md", "# Post\n");
    assert_eq!(subjects(&tree, Check::Links), ["/blog/gone/"]);
}

#[test]
fn aliases_of_imports_are_followed() {
    let page = "import A from '@/components/a.astro'\nimport B from '@/components/b.astro'\nimport C from '~/c'\n";
    let tree = starlight("# Page\n")
        .with("src/content/docs/more.mdx", page)
        .with("src/components/a.astro", "")
        .with("tsconfig.json", "{ // Aliases\n \"compilerOptions\": { \"paths\": { \"@/*\": [\"./src/*\"], }, }, }");
    assert_eq!(subjects(&tree, Check::Snippets), ["@/components/b.astro"]);
    assert_eq!(left(&tree), [0, 0, 0, 1]);
}

#[test]
fn pages_of_one_language_lead_to_those_of_their_own() {
    let tree = Tree::of([
        ("next.config.mjs", "export default {}\n"),
        ("app/docs/[[...slug]]/page.tsx", ""),
        (
            "lib/source.ts",
            "import { loader } from 'fumadocs-core/source'\nexport const source = loader({ baseUrl: '/docs' })\n",
        ),
        ("content/docs/a.mdx", "## One\n"),
        ("content/docs/a.fr.mdx", "## Un\n"),
        ("content/docs/a.cn.mdx", "## Yi\n"),
        ("content/docs/b.mdx", "[x](/docs/a#one) [y](/docs/a#un)\n"),
        ("content/docs/b.fr.mdx", "[x](/docs/a#one) [y](/docs/a#un)\n"),
        ("content/docs/b.es.mdx", "[x](/docs/a#one) [y](/docs/a#yi)\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Anchors), ["/docs/a#yi", "/docs/a#one", "/docs/a#un"]);
}

#[test]
fn folders_of_languages_are_those_of_the_settings() {
    let tree = Tree::of([
        ("next.config.mjs", "export default { i18n: { locales: ['en', 'fr'], defaultLocale: 'en' } }\n"),
        ("app/[lang]/[[...mdxPath]]/page.jsx", ""),
        ("content/en/index.mdx", "[a](/guide) [b](/en/guide#one) [c](/gone) [d](/fr/guide#one)\n"),
        ("content/en/guide.mdx", "## One\n"),
        ("content/fr/guide.mdx", "## Un\n\n[e](/guide#un) [f](/guide#one)\n"),
    ]);
    assert_eq!(subjects(&tree, Check::Links), ["/gone"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["/fr/guide#one", "/guide#one"]);
}

#[test]
fn mintlify_shows_its_first_page_at_the_root() {
    let config = docs_json(&["a"]).replacen("{", r#"{"redirects": [{"source": "/x", "destination": "/"}], "#, 1);
    let tree = Tree::of([("a.mdx", "[home](/)\n")]).with("docs.json", &config);
    assert_eq!(subjects(&tree, Check::Redirects), Vec::<String>::new());
    assert_eq!(subjects(&tree, Check::Links), Vec::<String>::new());
}

fn docusaurus(page: &str) -> Tree {
    let config = "export default { presets: [['classic', { docs: { path: '../docs' } }]] }\n";
    Tree::of([("site/docusaurus.config.js", config), ("docs/index.md", "# Home\n"), ("docs/sub/other.md", "# Other\n")])
        .with("docs/page.md", page)
}

#[test]
fn markdown_of_docusaurus_is_read_as_mdx() {
    let page = "import A from './\\_a.mdx'; import B\nfrom './_b.md';\n\n# Page\n\n<A/>\n\n## Own { /* #mine */ }\n\n\
                <img style={{ width: 1 }} src=\"/gone.png\" />\n\n[a](#from-a) [b](#from-b) [c](#mine) [d](#gone)\n";
    let tree = docusaurus(page).with("docs/_a.mdx", "## From a\n").with("docs/_b.md", "## From b\n");
    assert_eq!(subjects(&tree, Check::Images), ["/gone.png"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["#gone"]);
    assert_eq!(left(&tree), [0, 0, 0, 0]);
    let plain = docusaurus("---\nformat: md\n---\n\n{ is no script\n");
    assert_eq!(subjects(&plain, Check::Syntax), Vec::<String>::new());
}

#[test]
fn headings_of_components_have_the_ids_that_they_give_themselves() {
    let page = "import { A } from '@site/src/a'\n\n<A id=\"given\" />\n\n[a](#own) [b](#given) [c](#title)\n";
    for (component, missing) in [
        ("<h2 id=\"own\">Title</h2>", 1),
        ("<h2 id='own'>Title</h2><b id={id} />", 1),
        ("<h2 id=\"own\">Title</h2><b width={2} grid={x} />", 1),
        ("<h2 id={slug(title)}>Title</h2>", 0),
        ("const id = slug(title); <h2 id={id}>Title</h2>", 0),
        ("const x = await fetch(y); <div dangerouslySetInnerHTML={{ __html: x }} />", 0),
        ("({ id, text }) => <><b id=\"own\" /><p dangerouslySetInnerHTML={{ __html: text }} /></>", 1),
        ("<b id=\"own\" /><svg><marker id={`arrow-${n}`} /></svg>", 1),
    ] {
        let tree = docusaurus(page).with("site/src/a.tsx", component);
        assert_eq!(subjects(&tree, Check::Anchors).len(), missing, "{component}");
    }
}

#[test]
fn what_programs_put_among_the_files_of_a_site_is_not_judged() {
    let page = "<a href=\"/api/x.html\">a</a> [b](/docs/book) [c](/docs/gone) <a href=\"/gone.html\">d</a>\n";
    let tree = docusaurus(page).with(".gitignore", "site/static/api\n*.html\n").with("docs/book.ipynb", "{}");
    assert_eq!(subjects(&tree, Check::Links), ["/docs/gone", "/gone.html"]);
    assert_eq!(left(&tree), [2, 0, 0, 0]);
}

#[test]
fn pages_outside_of_what_is_checked_are_not_judged() {
    let config = "export default { presets: [['classic', { docs: { path: '../docs' } }]] }\n";
    let page = "[a](/docs/page) [b](/blog/gone)\n";
    let tree = Tree::of([("docusaurus.config.js", config), ("blog/2024-01-02-post.md", page)]);
    assert_eq!(subjects(&tree, Check::Links), ["/blog/gone"]);
    assert_eq!(left(&tree), [1, 0, 0, 0]);
}

#[test]
fn relative_links_of_next_start_where_its_addresses_end() {
    let pages = [("pages/api/one.mdx", "[a](../two/) [b](./two)\n"), ("pages/api/two.mdx", "# Two\n")];
    for (config, missing) in [("{ trailingSlash: true }", "./two"), ("{}", "../two/")] {
        let tree = Tree::of(pages).with("next.config.mjs", &format!("export default {config}\n"));
        assert_eq!(subjects(&tree, Check::Links), [missing]);
    }
}

#[test]
fn characters_may_be_written_by_number() {
    let tree = starlight("<a href=\"#a&#x5F;b\">a</a> <a href='#a&#95;b'>b</a> <a href=\"#a&b;c\">c</a>\n\n## a_b\n");
    assert_eq!(subjects(&tree, Check::Anchors), ["#a&b;c"]);
}

#[test]
fn links_of_scripts_between_braces_are_judged() {
    let page = "<Steps steps={[{ text: <p>It's <Link to=\"/gone\">x</Link></p>, code: '<a href=\"/no\">' }]} />\n\n\
                {list.map((it) => <img src=\"/gone.png\" />)} {/* <a href=\"/no\" /> */} {`<a href=\"/no\" />`}\n";
    let tree = docusaurus(page);
    assert_eq!(subjects(&tree, Check::Links), ["/gone"]);
    assert_eq!(subjects(&tree, Check::Images), ["/gone.png"]);
}

#[test]
fn pages_that_loaders_of_collections_make_are_not_judged() {
    let config = "import { changelogsLoader } from 'starlight-changelogs/loader'\n\
                  import { defineCollection } from 'astro:content'\nexport const collections = {\n\
                  logs: defineCollection({ loader: changelogsLoader([{ base: 'about/log', provider: 'x' }]) }) }\n";
    let tree = starlight("[a](/about/log/version/1/) [b](/about/gone/)\n").with("src/content.config.ts", config);
    assert_eq!(subjects(&tree, Check::Links), ["/about/gone/"]);
}

#[test]
fn redirects_are_followed_to_their_ends() {
    let config = docs_json(&["new/a"]).replacen(
        '{',
        r#"{"redirects": [{"source": "/old/:slug*", "destination": "/new/:slug*"}, {"source": "/x", "destination": "/new/a"},
           {"source": "/out/:slug*", "destination": "https://x.example/:slug*"}], "#,
        1,
    );
    let page = "## One\n\n[a](/old/a#one) [b](/old/a#gone) [c](/old/gone) [d](/x#one) [e](/x#gone) [f](/out/x#y)\n";
    let tree = Tree::of([("new/a.mdx", page)]).with("docs.json", &config);
    assert_eq!(subjects(&tree, Check::Links), ["/old/gone"]);
    assert_eq!(subjects(&tree, Check::Anchors), ["/old/a#gone", "/x#gone"]);
}

#[test]
fn a_configuration_that_cannot_be_read_leaves_links_unjudged() {
    let config = |count: usize| {
        let entries: String = (0..count).map(|number| format!("{{ text: 'P', link: '/page-{number}' }},\n")).collect();
        format!("export default {{ themeConfig: {{ sidebar: [{entries}] }} }}\n")
    };
    let tree = Tree::of([(".vitepress/config.ts", config(5000).as_str()), ("index.md", "# Home\n\n[x](/gone)\n")]);
    assert_eq!(subjects(&tree, Check::Navigation).len(), 5000);
    assert_eq!(subjects(&tree, Check::Links), ["/gone"]);
    // One is broken, the other larger than any that is read.
    for unreadable in ["export default { rewrites:\n".to_owned(), config(20_000)] {
        let tree = tree.clone().with(".vitepress/config.ts", &unreadable);
        assert_eq!((subjects(&tree, Check::Links), left(&tree)[0]), (Vec::new(), 1));
    }
}

#[test]
fn no_site_is_judged_by_a_configuration_that_cannot_be_read() {
    for (config, text, page) in [
        ("docusaurus.config.js", "export default {", "docs/index.md"),
        ("astro.config.mjs", "export default {", "src/content/docs/index.md"),
        ("mkdocs.yml", "nav: [", "docs/index.md"),
        ("docs.json", "{\"navigation\": ", "index.md"),
    ] {
        let tree = Tree::of([(config, text), (page, "# Home\n\n[x](./gone.md) [y](#home)\n")]);
        assert_eq!((subjects(&tree, Check::Links), left(&tree)[0]), (Vec::new(), 1), "{config}");
    }
}
