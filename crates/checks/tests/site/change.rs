use copydesk_checks::{Check, Comparison, Scope, SiteSettings, check_change};

use super::tree::{Tree, briefly, docs_json};

/// Compares two trees; what changed is what differs.
pub(crate) fn compare(base: &Tree, now: &Tree) -> Comparison {
    let settings = SiteSettings::new(&["docs".to_owned()]);
    check_change(base, now, &changed(base, now), &settings, &Scope::new(&settings.docs_paths)).expect("files in memory")
}

pub(crate) fn changed(base: &Tree, now: &Tree) -> Vec<String> {
    let paths = base.files.keys().chain(now.files.keys());
    let mut changed: Vec<String> =
        paths.filter(|path| base.files.get(*path) != now.files.get(*path)).cloned().collect();
    changed.sort();
    changed.dedup();
    changed
}

fn new(base: &Tree, now: &Tree) -> Vec<(Check, String, String)> {
    let comparison = compare(base, now);
    let mut new = briefly(&comparison.new);
    new.sort_by(|a, b| (&a.1, &a.2).cmp(&(&b.1, &b.2)));
    new
}

fn site() -> Tree {
    Tree::of([
        ("docs/a.mdx", "# A\n\n[b](/b) [c](/b#part) ![i](/i.png) [old](/gone-before) [r](/old)\n"),
        ("docs/b.mdx", "import S from '/snippets/s.mdx'\n\n# B\n\n## Part\n\n[s](#shared)\n"),
        ("docs/c.mdx", "# C\n\n[shared](/b#shared)\n"),
        ("docs/snippets/s.mdx", "## Shared\n"),
        ("docs/i.png", ""),
    ])
    .with(
        "docs/docs.json",
        &docs_json(&["a", "b"]).replacen("{", "{\"redirects\": [{\"source\": \"/old\", \"destination\": \"/a\"}],", 1),
    )
}

#[test]
fn what_was_there_before_does_not_count() {
    let base = site();
    let now = base.clone().with("docs/a.mdx", &format!("Moved down.\n\n{}", base.files["docs/a.mdx"]));
    let comparison = compare(&base, &now);
    assert!(comparison.new.is_empty(), "{comparison:?}");
    let links = comparison.checks.iter().find(|result| result.check == "links").unwrap();
    assert_eq!((links.ran, links.new_findings, links.repaired), (true, 0, 0));
    let fixed = base.clone().with("docs/a.mdx", &base.files["docs/a.mdx"].replace("/gone-before", "/c"));
    let links = compare(&base, &fixed).checks.into_iter().find(|result| result.check == "links").unwrap();
    assert_eq!((links.new_findings, links.repaired), (0, 1));
    // Twice where it was once is new.
    let twice = base.clone().with("docs/a.mdx", &format!("{}[x](/gone-before)\n", base.files["docs/a.mdx"]));
    assert_eq!(new(&base, &twice), [(Check::Links, "docs/a.mdx".to_owned(), "/gone-before".to_owned())]);
}

#[test]
fn what_others_point_at_counts_when_it_goes() {
    let base = site();
    let at = |check, path: &str, subject: &str| (check, path.to_owned(), subject.to_owned());
    assert_eq!(
        new(&base, &base.clone().without("docs/b.mdx")),
        [
            at(Check::Links, "docs/a.mdx", "/b"),
            at(Check::Links, "docs/a.mdx", "/b#part"),
            at(Check::Links, "docs/c.mdx", "/b#shared"),
            at(Check::Navigation, "docs/docs.json", "b"),
        ]
    );
    let renamed = base.clone().with("docs/b.mdx", &base.files["docs/b.mdx"].replace("## Part", "## Other"));
    assert_eq!(new(&base, &renamed), [at(Check::Anchors, "docs/a.mdx", "/b#part")]);
    let without_image = base.clone().without("docs/i.png");
    assert!(new(&base, &without_image).contains(&at(Check::Images, "docs/a.mdx", "/i.png")));
    let shared = base.clone().with("docs/snippets/s.mdx", "## Else\n");
    assert_eq!(
        new(&base, &shared),
        [at(Check::Anchors, "docs/b.mdx", "#shared"), at(Check::Anchors, "docs/c.mdx", "/b#shared")]
    );
    let redirect = base.clone().with("docs/docs.json", &docs_json(&["a", "b"]));
    assert_eq!(new(&base, &redirect), [at(Check::Links, "docs/a.mdx", "/old")]);
}

#[test]
fn a_defect_that_is_exchanged_for_another_is_not_new() {
    let base = site();
    for target in ["/gone-elsewhere", "/b#nothing", "/b/", "#nothing"] {
        let text = base.files["docs/a.mdx"].replace("/gone-before", target);
        let comparison = compare(&base, &base.clone().with("docs/a.mdx", &text));
        assert!(comparison.new.is_empty(), "{target}: {comparison:?}");
        let repaired: u64 = comparison.checks.iter().map(|check| check.repaired).sum();
        assert_eq!(repaired, u64::from(target == "/b/"), "{target}");
    }
    // A link that worked is another matter, though one beside it is repaired.
    let text = base.files["docs/a.mdx"].replace("/gone-before", "/c").replace("[b](/b)", "[b](/none)");
    let now = base.clone().with("docs/a.mdx", &text);
    assert_eq!(new(&base, &now), [(Check::Links, "docs/a.mdx".to_owned(), "/none".to_owned())]);
}

#[test]
fn what_a_change_deletes_is_judged_whatever_else_is_unknown() {
    let base = Tree::of([
        ("docs/docs.json", "{\"navigation\": {\"pages\": [\"a\"], \"openapi\": \"x.json\"}}"),
        ("docs/a.mdx", "# A\n\n[x](/api-reference/x) [y](/api-reference/y)\n"),
        ("docs/api-reference/x.mdx", "# X\n"),
    ]);
    let now = base.clone().without("docs/api-reference/x.mdx");
    let comparison = compare(&base, &now);
    let links = comparison.checks.iter().find(|result| result.check == "links").unwrap();
    assert_eq!(links.not_judged.len(), 1, "what an API description makes cannot be told: {links:?}");
    assert_eq!(new(&base, &now), [(Check::Links, "docs/a.mdx".to_owned(), "/api-reference/x".to_owned())]);
    let base = Tree::of([
        ("mkdocs.yml", "nav: [a.md, made.md, b.md]\nplugins: [gen-files: {scripts: [x.py]}]\n"),
        ("docs/a.md", "# A\n"),
        ("docs/b.md", "# B\n"),
    ]);
    let now = base.clone().without("docs/b.md");
    assert_eq!(new(&base, &now), [(Check::Navigation, "mkdocs.yml".to_owned(), "b.md".to_owned())]);
}

#[test]
fn a_page_that_moves_by_its_front_matter_is_missed_at_its_old_address() {
    let base = Tree::of([
        ("docs/docusaurus.config.js", "export default { presets: [['classic', { docs: { path: 'pages' } }]] }"),
        ("docs/pages/a.md", "# A\n\n[b](/docs/special) [c](/docs/plain)\n"),
        ("docs/pages/b.md", "---\nslug: special\n---\n# B\n"),
        ("docs/pages/c.md", "---\nslug: plain\n---\n# C\n"),
    ]);
    let missing = |target: &str| [(Check::Links, "docs/pages/a.md".to_owned(), target.to_owned())];
    let now = base.clone().with("docs/pages/b.md", "---\nslug: other\n---\n# B\n");
    assert_eq!(new(&base, &now), missing("/docs/special"));
    assert_eq!(new(&base, &base.clone().without("docs/pages/c.md")), missing("/docs/plain"));
}

#[test]
fn a_name_that_other_pages_use_is_missed_when_it_goes() {
    let base = Tree::of([
        ("docs/conf.py", "extensions = ['myst_parser']\n"),
        ("docs/index.md", "# Home\n\n[a](#my-label)\n"),
        ("docs/other.md", "# Other\n\n(my-label)=\n## Part\n"),
    ]);
    let now = base.clone().with("docs/other.md", "# Other\n\n## Part\n");
    assert_eq!(new(&base, &now), [(Check::Anchors, "docs/index.md".to_owned(), "#my-label".to_owned())]);
}

#[test]
fn another_generator_moves_no_page() {
    let base =
        Tree::of([("docs/a.md", "# A\n\n[b](b.mdx)\n"), ("docs/b.mdx", "# B\n"), ("mkdocs.yml", "nav:\n  - a.md\n")]);
    let mut now = base.clone().with("docs/b.mdx", "# B\n\nMore.\n").with("docs/docs.json", &docs_json(&["a", "b"]));
    now.files.remove("mkdocs.yml");
    assert!(new(&base, &now).iter().all(|(check, ..)| *check != Check::Links), "{:?}", new(&base, &now));
}

#[test]
fn a_link_that_was_broken_is_not_new_where_its_page_is_now() {
    // As a page that is moved has its links rewritten: they lead to the same places, be they there or not.
    let base = site().with("docs/d.mdx", "[x](./nowhere) ![y](img/gone.svg)\n");
    let now = base
        .clone()
        .without("docs/d.mdx")
        .with("docs/f/e.mdx", "[x](../nowhere) ![y](../img/gone.svg) [z](./nowhere)\n");
    assert_eq!(new(&base, &now), [(Check::Links, "docs/f/e.mdx".to_owned(), "./nowhere".to_owned())]);
}

#[test]
fn a_moved_page_takes_its_findings_along() {
    let base = site().with("docs/d.mdx", "[x](/nowhere) [y](/b)\n");
    let now = base.clone().without("docs/d.mdx").with("docs/e.mdx", "[x](/nowhere) [y](/b) [z](/new-one)\n");
    assert_eq!(new(&base, &now), [(Check::Links, "docs/e.mdx".to_owned(), "/new-one".to_owned())]);
}

#[test]
fn the_scope_is_held() {
    let base = site().with("docs/gen.md", "<!-- Generated. DO NOT EDIT -->\n");
    for (path, part) in [
        (".github/workflows/ci.yml", "hidden"),
        ("AGENTS.md", "instructions for agents"),
        ("src/main.rs", "outside the documentation"),
        ("docs/gen.md", "generated"),
    ] {
        let comparison = compare(&base, &base.clone().with(path, "new\n"));
        let new: Vec<_> = comparison.new.iter().filter(|finding| finding.check == Check::Scope).collect();
        assert_eq!((new.len(), new[0].path.as_str()), (1, path));
        assert!(new[0].message.contains(part), "{}", new[0].message);
    }
    let settings = SiteSettings::new(&["docs".to_owned()]);
    let now = base.clone().with("docs/x.md", "1\n2\n3\n").with("docs/y.md", "4\n");
    for (max_files, max_lines, expected) in [(2, 4, 0), (1, 4, 1), (2, 3, 1)] {
        let scope = Scope { max_files, max_lines, ..Scope::new(&settings.docs_paths) };
        let comparison = check_change(&base, &now, &changed(&base, &now), &settings, &scope).unwrap();
        assert_eq!(comparison.new.len(), expected, "{max_files} {max_lines}");
    }
}

#[test]
fn a_change_may_have_only_so_many_bytes() {
    let base = site().with("docs/large.md", &"x".repeat(1000));
    let settings = SiteSettings::new(&["docs".to_owned()]);
    let now =
        base.clone().with("docs/x.md", &"x".repeat(60)).with("docs/y.csv", &"y".repeat(40)).without("docs/large.md");
    for (max_bytes, expected) in
        [(100, vec![]), (99, vec!["The changed files have 100 bytes; at most 99 are allowed."])]
    {
        let scope = Scope { max_bytes, ..Scope::new(&settings.docs_paths) };
        let comparison = check_change(&base, &now, &changed(&base, &now), &settings, &scope).unwrap();
        let new: Vec<&str> = comparison.new.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(new, expected);
    }
    assert_eq!(Scope::new(&settings.docs_paths).max_bytes, 16 << 20);
}

/// Whatever a file is called, wherever it lies and however large it is, a change may not bring such things in.
#[test]
fn every_changed_text_is_looked_through() {
    let base = site();
    let secret = format!("k{}{} x\u{202e}y\n", " = ghp_", "q7Rz2LmX9vKp4WnB8sYd3HgT6cJf1Q2qihlP");
    let large = format!("{}{secret}", "many plain words\n".repeat(250_000));
    for (path, text) in [
        ("docs/x.ipynb", &secret),
        ("docs/x.tsv", &secret),
        ("docs/README", &secret),
        ("docs/x.asciidoc", &secret),
        ("docs/x.mkd", &secret),
        ("docs/x-lock.json", &secret),
        ("docs/x.sh", &secret),
        ("docs/node_modules/x.md", &secret),
        ("docs/.hidden/x.md", &secret),
        ("docs/x.mdx", &secret),
        ("docs.json", &secret),
        ("SUMMARY.md", &secret),
        ("mkdocs.yml", &secret),
        ("sidebars.js", &secret),
        ("src/main.rs", &secret),
        ("docs/large.md", &large),
    ] {
        let comparison = compare(&base, &base.clone().with(path, text));
        for check in [Check::Secrets, Check::InvisibleCharacters] {
            let result = comparison.checks.iter().find(|result| result.check == check.as_str()).unwrap();
            let paths: Vec<&str> = result.findings.iter().map(|finding| finding.path.as_str()).collect();
            assert_eq!((result.ran, paths), (true, vec![path]), "{check:?}");
        }
        if text.len() > secret.len() {
            continue;
        }
        // What was there before is not new.
        let had = base.clone().with(path, text);
        let comparison = compare(&had, &had.clone().with(path, &format!("{text}.\n")));
        let is_text = |check| matches!(check, Check::Secrets | Check::InvisibleCharacters);
        assert_eq!(comparison.new.iter().filter(|finding| is_text(finding.check)).count(), 0, "{path}");
    }
}

#[test]
fn the_result_is_data() {
    let base = site();
    let now = base.clone().with("docs/a.mdx", "[x](/none)\n");
    let value = serde_json::to_value(compare(&base, &now).checks).unwrap();
    assert_eq!(value.as_array().unwrap().len(), 14);
    assert_eq!(value[3]["check"], "links");
    assert_eq!((value[3]["newFindings"].as_u64(), value[3]["repaired"].as_u64()), (Some(1), Some(1)));
    assert_eq!(value[3]["findings"][0]["message"], "`/none` leads nowhere");
}

fn runs(base: &Tree, now: &Tree) -> usize {
    compare(base, now).new.iter().filter(|finding| finding.check == Check::Executable).count()
}

#[test]
fn a_change_does_not_choose_by_which_rules_it_is_judged() {
    let base = Tree::of([
        ("docs/.vitepress/config.ts", "export default {title: 'X'}\n"),
        ("docs/index.md", "# A\n"),
        ("docs/guide/index.md", "# B\n"),
    ]);
    for (path, text) in [
        ("mkdocs.yml", "nav: []\n"),
        ("docs/mkdocs.yml", "nav: []\n"),
        ("docs/guide/book.toml", "[book]\ntitle = 'x'\n"),
        ("docs/guide/_config.yml", "title: x\n"),
        ("docs/docs.json", "{\"navigation\": []}\n"),
        ("docs/guide/more.md", "# C\n"),
    ] {
        let now = base.clone().with(path, text).with("docs/guide/x.md", "# X\n\n{{ f() }}\n");
        assert!(runs(&base, &now) > 0, "{path}");
    }
    // Code hosts show these, but the site makes pages of them as well.
    let now = base.clone().with("docs/guide/README.md", "# X\n\n{{ f() }}\n");
    assert!(runs(&base, &now) > 0);
}

#[test]
fn what_other_pages_of_the_site_have_is_no_news() {
    let base =
        Tree::of([("mkdocs.yml", "site_name: X\nplugins: [macros]\n"), ("docs/index.md", "# A\n\n{{ table('x') }}\n")]);
    assert_eq!(runs(&base, &base.clone().with("docs/b.md", "# B\n\n{{ table('x') }}\n")), 0);
    assert_eq!(runs(&base, &base.clone().with("docs/b.md", "# B\n\n{{ table('y') }}\n")), 1);
    let inherits = base.with("mkdocs.yml", "INHERIT: base.yml\n").with("base.yml", "site_name: X\nplugins: [macros]\n");
    assert_eq!(runs(&inherits, &inherits.clone().with("docs/b.md", "# B\n\n{{ table('y') }}\n")), 1);
}

#[test]
fn navigation_in_scripts_may_get_entries() {
    let base = Tree::of([
        ("docs/.vitepress/config.ts", "export default {themeConfig: {sidebar: [{text: 'A', link: '/a'}]}}\n"),
        ("docs/a.md", "# A\n"),
        ("docs/b.md", "# B\n"),
    ]);
    let config = &base.files["docs/.vitepress/config.ts"];
    let now =
        base.clone().with("docs/.vitepress/config.ts", &config.replace("'/a'}", "'/a'}, {text: 'B', link: '/b'}"));
    assert!(compare(&base, &now).new.is_empty());
    let now = base.clone().with("docs/.vitepress/config.ts", &config.replace("themeConfig", "vite: {}, themeConfig"));
    assert_eq!(compare(&base, &now).new[0].check, Check::Scope);
}
