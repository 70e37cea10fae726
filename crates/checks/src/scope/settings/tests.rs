use super::*;

fn refused(path: &str, before: Option<&str>, now: &str) -> Option<String> {
    super::refused(path, before.map(str::as_bytes), Some(now.as_bytes()), &Ground::default())
}

const BEFORE: &str = "site_name: X\nnav:\n  - index.md\nplugins:\n  - search\n  - redirects:\n      redirect_maps:\n        a.md: b.md\ntheme:\n  name: material\n";

#[test]
fn navigation_titles_and_redirects_may_differ() {
    for now in [
        BEFORE.replace("index.md", "start.md"),
        BEFORE.replace("site_name: X", "site_name: 'Y: Z'"),
        BEFORE.replace("a.md: b.md", "a.md: b.md\n        c.md: d.md"),
        BEFORE.replace("theme:\n  name: material", "theme: {name: material}"),
        format!("# A remark\n{BEFORE}"),
    ] {
        assert_eq!(refused("mkdocs.yml", Some(BEFORE), &now), None, "{now}");
    }
    let docs = "{\"navigation\": [], \"redirects\": []}";
    assert_eq!(refused("docs.json", Some(docs), "{\"redirects\": [1], \"navigation\": {\"pages\": [\"a\"]}}"), None);
    assert_eq!(refused("docs/_meta.json", Some("{}"), "{\"a\": \"A\"}"), None);
    assert_eq!(refused("docs/_category_.json", None, "{\"label\": \"A\", \"position\": 2}"), None);
    assert_eq!(refused("docs/.pages", None, "title: A\nnav: [a.md]\n"), None);
    let book = "[book]\ntitle = 'A'\n[output.html.redirect]\n'/a' = '/b'\n";
    assert_eq!(refused("book.toml", Some("[book]\ntitle = 'B'\n[output.html]\n"), book), None);
}

#[test]
fn nothing_else_may_however_it_is_written() {
    for more in [
        "hooks: [x.py]\n",
        "{hooks: [x.py]}",
        "\"\\x68ooks\": [x.py]\n",
        "? hooks\n: [x.py]\n",
        "!!str hooks: [x.py]\n",
        "'hooks': [x.py]\n",
        "INHERIT: ../other.yml\n",
        "\"INHERIT\": ../other.yml\n",
        "x: !!python/object/apply:os.popen [id]\n",
        "x: !!p%79thon/object/apply:os.popen [id]\n",
        "x: !<tag:yaml.org,2002:python/object/apply:os.popen> [id]\n",
        "? !!python/object/apply:os.popen [id]\n: x\n",
        "docs_dir: /etc\n",
        "<<: {hooks: [x.py]}\n",
        "theme: {name: material, custom_dir: docs}\n",
        "plugins: [search, gen-files: {scripts: [docs/x.py]}]\n",
        "markdown_extensions: [docs.evil]\n",
        "extra_javascript: [x.js]\n",
        "watch: [/]\n",
        "site_dir: /tmp\n",
        "- a list\n",
        "a: [\n",
    ] {
        let now = if more.starts_with('{') { more.to_owned() } else { format!("{BEFORE}{more}") };
        assert!(refused("mkdocs.yml", Some(BEFORE), &now).is_some(), "{now}");
        assert!(refused("docs/mkdocs.en.yml", Some(BEFORE), &now).is_some(), "{now}");
    }
    let nested = BEFORE.replace("  - search\n", "  - search\n  - macros: {module_name: x}\n");
    let said = refused("mkdocs.yml", Some(BEFORE), &nested).unwrap();
    assert_eq!(said, "mkdocs.yml would be changed in more than navigation, titles and redirects: `plugins`.");
    let tagged = BEFORE.replace("nav:\n", "nav: !!python/name:os.x\n");
    assert!(refused("mkdocs.yml", Some(BEFORE), &tagged).is_some(), "{tagged}");
    assert!(refused("mkdocs.yml", None, "nav: []\n").is_none());
    assert!(refused("mkdocs.yml", None, BEFORE).is_some());
    assert!(refused("docs.json", Some("{\"navigation\": []}"), "{\"navigation\": [], \"api\": 1}").is_some());
    assert!(refused("docs/data.yaml", Some("a: 1\n"), "a: !!python/name:os.x 2\n").is_some());
}

#[test]
fn redirects_are_plain_addresses_and_titles_are_texts() {
    for (from, to, why) in [
        ("a.md: b.md", "a.md: 'https://x.example/\";alert(1);\"'", "redirect"),
        ("a.md: b.md", "a.md: https://x.example/</script>", "redirect"),
        ("a.md: b.md", "../../x/a.md: b.md", "redirect"),
        ("a.md: b.md", "/tmp/a.md: b.md", "redirect"),
        ("site_name: X", "site_name: 'X\" onmouseover=\"alert(1)'", "script"),
        ("- index.md", "- '{{ x.__globals__ }}': index.md", "template"),
    ] {
        let now = BEFORE.replace(from, to);
        assert_ne!(now, BEFORE);
        let said = refused("mkdocs.yml", Some(BEFORE), &now).unwrap_or_else(|| panic!("{now}"));
        assert!(said.contains(why), "{said}");
    }
    let now = BEFORE.replace("a.md: b.md", "a.md: https://x.example/b?c=d&e#f%20g\n        'old/x y.md': b.md");
    assert!(refused("mkdocs.yml", Some(BEFORE), &now.replace("x y", "x-y")).is_none());
    assert!(refused("book.toml", Some("[output.html]\n"), "[output.html.redirect]\n'/../a' = 'b'\n").is_some());
}

#[test]
fn what_readers_do_not_agree_about_is_refused() {
    for (now, why) in [
        (format!("{BEFORE}# a remark\u{2028}hooks: [x.py]\n"), "end of a line"),
        (format!("{BEFORE}# a remark\u{85}hooks: [x.py]\n"), "end of a line"),
        (format!("{BEFORE}---\nhooks: [x.py]\n"), "several documents"),
        (format!("{BEFORE}...\nhooks: [x.py]\n"), "several documents"),
        (format!("\u{feff}{BEFORE}"), "byte order mark"),
        (format!("%TAG ! tag:yaml.org,2002:python/\n---\n{BEFORE}"), ""),
        (format!("{BEFORE}nav: [x.md]\n"), "twice"),
        (BEFORE.replace("site_name: X", "site_name: &a {hooks: [x.py]}\n<<: *a"), ""),
        (BEFORE.replace("site_name: X", "site_name: '<script>x</script>'"), "script"),
        (BEFORE.replace("index.md", "javascript:alert(1)"), "script"),
        (BEFORE.replace("site_name: X", "site_name: !ENV SECRET"), "tags"),
    ] {
        let said = refused("mkdocs.yml", Some(BEFORE), &now).unwrap_or_else(|| panic!("{now}"));
        assert!(said.contains(why), "{said}");
    }
    for bytes in [&b"nav: [\xff]\n"[..], &[0xff, 0xfe, b'n', 0, b'a', 0], b"nav: []\0\n"] {
        let said = super::refused("mkdocs.yml", Some(BEFORE.as_bytes()), Some(bytes), &Ground::default());
        assert!(said.is_some(), "{bytes:?}");
    }
    assert!(super::refused("mkdocs.yml", Some(BEFORE.as_bytes()), None, &Ground::default()).is_some());
    assert!(super::refused("docs/_meta.json", Some(b"{}"), None, &Ground::default()).is_none());
}

#[test]
fn other_files_of_settings_keep_what_they_set() {
    for (path, before, now) in [
        ("_config.yml", "title: A\n", "title: A\nplugins: [x]\n"),
        ("hugo.toml", "title = 'A'\n", "title = 'A'\n[module]\nimports = [{path = 'x'}]\n"),
        ("book.toml", "[book]\ntitle = 'A'\n", "[book]\ntitle = 'A'\n[preprocessor.x]\ncommand = 'id'\n"),
        ("docs/meta.json", "{\"title\": \"A\"}", "{\"title\": \"A\", \"scripts\": {}}"),
        ("docs/_category_.yml", "label: A\n", "label: A\nhooks: x\n"),
        ("docs/.pages", "nav: []\n", "nav: !!python/name:os.x\n"),
        ("docs/_meta.json", "{}", "{\"a\": {\"href\": \"javascript:alert(1)\"}}"),
        ("docs/sidebars.json", "{}", "{\"a\": [{\"type\": \"html\", \"value\": \"<img src=x onerror=alert(1)>\"}]}"),
        ("docs/sidebars.json", "{}", "{"),
        ("docs.json", "{\"navigation\": {}}", "{\"navigation\": {\"$ref\": \"../../x.json\"}}"),
        ("docs.json", "{\"navigation\": {}}", "{\"navigation\": {\"$ref\": \".github/x.json\"}}"),
        ("docs.json", "{\"navigation\": {}}", "{\"navigation\": {}, \"$ref\": \"x.json\"}"),
        ("docs.json", "{\"navigation\": {}}", "{\"navigation\": {}} {\"api\": 1}"),
        ("docs/_redirects", "", "/api/* https://evil.example/:splat 200\n"),
    ] {
        assert!(refused(path, Some(before), now).is_some(), "{path} {now}");
    }
    let ground = Ground {
        descriptions: ["api.yaml".to_owned()].into(),
        references: ["nav.json".to_owned()].into(),
        data: ["_data".to_owned()].into(),
        ..Ground::default()
    };
    let said = |path: &str, before: &str, now: &str| {
        super::refused(path, Some(before.as_bytes()), Some(now.as_bytes()), &ground)
    };
    let api = "openapi: 3.1.0\ninfo: {title: A}\n";
    assert_eq!(said("api.yaml", api, &api.replace("A}", "B}")), None);
    assert!(said("api.yaml", api, "on: push\njobs: {}\n").is_some());
    assert_eq!(said("nav.json", "{\"groups\": []}", "{\"groups\": [{\"group\": \"A\"}]}"), None);
    assert!(said("nav.json", "{\"groups\": []}", "{\"groups\": [], \"scripts\": {}}").is_some());
    assert_eq!(said("_data/a.yml", "- a\n", "- b\n"), None);
    assert!(said("_data/a.yml", "- a\n", "- !ruby/object:X {}\n").is_some());
}

proptest::proptest! {
    /// Whatever a change is made of: if it is accepted, nothing but navigation and titles says something else.
    #[test]
    fn an_accepted_change_keeps_all_other_values(
        parts in proptest::collection::vec(proptest::sample::select(PARTS.to_vec()), 0..6),
        place in 0usize..8,
        cut in 0usize..4,
    ) {
        let mut lines: Vec<&str> = BEFORE.lines().collect();
        let at = place.min(lines.len());
        lines.drain(at..(at + cut).min(lines.len()));
        for part in parts.iter().rev() {
            lines.insert(at, part);
        }
        let now = lines.join("\n") + "\n";
        if refused("mkdocs.yml", Some(BEFORE), &now).is_none() {
            let values = |text: &str| {
                let value = yaml(text).unwrap().unwrap();
                let kept = value.entries().iter().filter(|(key, _)| !MKDOCS.contains(&key.name.as_str()));
                let kept: Vec<(String, Value)> = kept.map(|(key, value)| (key.name.clone(), value.clone())).collect();
                kept.into_iter().filter(|(name, _)| name != "plugins").collect::<Vec<_>>()
            };
            proptest::prop_assert_eq!(values(&now), values(BEFORE));
            proptest::prop_assert!(!now.contains("hooks:") || now.contains("- hooks: "));
        }
    }
}

const PARTS: [&str; 24] = [
    "nav:",
    "  - a.md",
    "  - B: b.md",
    "site_name: Y",
    "site_name: &x Y",
    "hooks: [x.py]",
    "? hooks",
    ": [x.py]",
    "\"\\x68ooks\": [x.py]",
    "  - hooks: x.md",
    "<<: {hooks: [x.py]}",
    "theme:",
    "  name: material",
    "  custom_dir: x",
    "---",
    "...",
    "# remark",
    "plugins:",
    "  - redirects:",
    "  - macros",
    "x: !!python/name:os.x y",
    "copyright: |",
    "  text",
    "INHERIT: x.yml",
];
