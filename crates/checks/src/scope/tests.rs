use super::*;

fn docs() -> Scope {
    Scope::new(&["docs".to_owned(), "README.md".to_owned()])
}

fn all() -> Scope {
    Scope::new(&[".".to_owned()])
}

#[test]
fn documentation_may_be_written() {
    for path in [
        "docs/a.md",
        "docs/guides/b.mdx",
        "docs/README",
        "README.md",
        "docs.json",
        "mkdocs.yml",
        "docs/mkdocs.en.yml",
        "sidebars.json",
        "docs/versioned_sidebars/version-1.0-sidebars.json",
        "docs/guides/_category_.json",
        "docs/_meta.json",
        "docs/guides/meta.json",
        "docs/guides/.pages",
        "docs/.nav.yml",
        "docs/_redirects",
        "docs/llms.txt",
        "src/SUMMARY.md",
        "docs/src/SUMMARY.md",
        "docs/table.csv",
        "docs/requirements.md",
        "docs/requirements/index.mdx",
        "docs/Dockerfile.md",
        "docs/agents.mdx",
        "docs/größe/日本.md",
        "docs/guides/contributing.md",
    ] {
        assert_eq!(docs().may_write(path), Ok(()), "{path}");
    }
    for path in [
        "a.md",
        "packages/x/README.md",
        "guide/intro.mdx",
        "README.txt",
        "CHANGELOG",
        "mkdocs.yml",
        "website/sidebars.json",
    ] {
        assert_eq!(all().may_write(path), Ok(()), "{path}");
    }
}

#[test]
fn navigation_may_be_written_only_where_it_is_looked_for() {
    let scope = Scope::new(&["site/content/docs".to_owned()]);
    for path in ["docs.json", "site/mkdocs.yml", "site/content/sidebars.json", "site/content/docs/SUMMARY.md"] {
        assert_eq!(scope.may_write(path), Ok(()), "{path}");
    }
    for path in ["src/docs.json", "site/other/mkdocs.yml", "site/content/x/sidebars.json", "lib/SUMMARY.md"] {
        let said = scope.may_write(path).unwrap_err();
        assert_eq!(said, format!("{path} is outside the documentation, which is in site/content/docs."));
    }
    assert!(all().may_write("packages/x/mkdocs.yml").is_err());
}

#[test]
fn what_the_site_names_may_be_written() {
    let tree = Memory::of(&[
        (
            "docs.json",
            r#"{"api": {"openapi": "/api/spec.yaml"}, "navigation": {"$ref": "./config/nav.json", "openapi": ["package.json"]}}"#,
        ),
        ("config/nav.json", r#"{"groups": [{"$ref": "../config/group.json"}, {"pages": ["skills/skill", "skill"]}]}"#),
        ("config/group.json", r#"{"group": "A", "pages": []}"#),
        ("api/spec.yaml", "openapi: 3.1.0\ninfo: {title: A}\n"),
        ("package.json", r#"{"name": "x", "scripts": {}}"#),
        ("skills/skill.md", "# Skill\n"),
        ("blog/_config.yml", "title: x\n"),
    ]);
    let scope = all().on(&tree).unwrap();
    for path in ["api/spec.yaml", "config/nav.json", "config/group.json", "skills/skill.md", "blog/_data/people.yml"] {
        assert_eq!(scope.may_write(path), Ok(()), "{path}");
        assert!(path == "skills/skill.md" || all().may_write(path).is_err(), "{path}");
    }
    for path in ["api/other.yaml", "package.json", "config/other.json", "x/skill.md", "_data/a.yml", "blog/_data/a.rb"]
    {
        assert!(scope.may_write(path).is_err(), "{path}");
    }
}

#[test]
fn what_nobody_knows_to_be_harmless_is_refused() {
    for name in UNKNOWN {
        for (scope, path) in
            [(all(), name.to_owned()), (all(), format!("docs/{name}")), (docs(), format!("docs/a/{name}"))]
        {
            let said = scope.may_write(&path).unwrap_err();
            assert!(said.starts_with(&path), "{said}");
        }
    }
}

/// Files that programs act upon, in no order; none of them is named anywhere else.
const UNKNOWN: [&str; 66] = [
    "project.json",
    "moon.yml",
    "dvc.yaml",
    "_quarto.yml",
    "_quarto-release.yml",
    "_metadata.yml",
    "notebook.ipynb",
    "page.qmd",
    "page.Rmd",
    "data.json",
    "settings.toml",
    "notes.txt",
    "CMakeLists.txt",
    "meson_options.txt",
    "requirements.in",
    "constraints.txt",
    "runtime.txt",
    "apt.txt",
    "postBuild",
    "environment.yml",
    "conf.py",
    "myst.yml",
    "zensical.toml",
    "properdocs.yml",
    "antora.yml",
    "typedoc.json",
    "docfx.json",
    "redocly.yaml",
    "vercel.json",
    "netlify.toml",
    "wrangler.jsonc",
    "turbo.json",
    "nx.json",
    "lerna.json",
    "rush.json",
    "deno.jsonc",
    "bunfig.toml",
    "pixi.toml",
    "mise.toml",
    "Taskfile.yml",
    "justfile",
    "Tiltfile",
    "Earthfile",
    "lefthook.yml",
    "renovate.json5",
    "buildkite.yml",
    "bitbucket-pipelines.yml",
    "cloudbuild.yaml",
    "action.yml",
    "docker-compose.yml",
    "Chart.yaml",
    "skaffold.yaml",
    "werf.yaml",
    "mcp.json",
    "_meta.js",
    "_category_.js",
    "meta.ts",
    "app.vue",
    "layout.astro",
    "snippet.jsx",
    "index.html",
    "logo.svg",
    "theme.css",
    "data.yaml",
    "openapi.json",
    ".pages.py",
];

#[test]
fn scripts_that_a_build_runs_may_not_be_written() {
    for path in [
        "sidebars.js",
        "docs/sidebars.ts",
        "docs/SideBars.cjs",
        "src/evil/sidebars.js",
        "docs/.vitepress/config.mts",
        ".vitepress/config.js",
        "lib/.vitepress/config.ts",
    ] {
        for scope in [docs(), Scope::new(&[".".to_owned()])] {
            let said = scope.may_write(path).unwrap_err();
            let expected =
                format!("{path} is a script that runs when the documentation is built, and may not be changed.");
            assert_eq!(said, expected);
        }
    }
}

#[test]
fn a_project_opens_and_closes_paths() {
    let scope = Scope {
        allow: ["docs/AGENTS.md", "docs/data", "docs/*.txt", "**/style-guide.md", "docs/**/*.toml", ".github/**"]
            .map(str::to_owned)
            .into(),
        deny: ["docs/legal/**", "docs/data/closed.json"].map(str::to_owned).into(),
        ..docs()
    };
    for path in ["docs/AGENTS.md", "docs/data/a.json", "docs/notes.txt", "docs/style-guide.md", "docs/x/y.toml"] {
        assert!(docs().may_write(path).is_err(), "{path}");
        assert_eq!(scope.may_write(path), Ok(()), "{path}");
    }
    for path in ["docs/legal/terms.md", "docs/data/closed.json"] {
        let said = scope.may_write(path).unwrap_err();
        assert_eq!(said, format!("{path} is denied to jobs by the project's settings."));
    }
    for path in [
        "docs/data/run.py",
        "docs/data/package.json",
        "docs/x/book.toml",
        "docs/requirements.txt",
        ".github/a.md",
        "docs/data/../../a.json",
        "docs/data/sidebars.js",
        "docs/data/notebook.ipynb",
        "docs/data/project.json",
        "docs/data/moon.yml",
    ] {
        assert!(scope.may_write(path).is_err(), "{path}");
    }
}

#[test]
fn what_guides_later_jobs_may_not_be_written() {
    for path in [
        "CONTRIBUTING.md",
        "docs/CONTRIBUTING.md",
        "docs/contributing.md",
        "docs/style-guide.md",
        "STYLE.md",
        "docs/STYLEGUIDE.mdx",
    ] {
        assert!(all().may_write(path).unwrap_err().contains("guides the authors"), "{path}");
    }
    assert!(Scope::new(&["site/pages".to_owned()]).may_write("site/pages/Contributing.md").is_err());
}

/// Files in memory.
pub(super) struct Memory(std::collections::BTreeMap<String, String>);

impl Memory {
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }
}

impl Files for Memory {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.get(path).map(|text| text.clone().into_bytes()))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        Ok(self.0.contains_key(path))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        Ok(self.0.keys().filter(|path| paths::is_below(path, folder)).cloned().collect())
    }
}

#[test]
fn agents_are_not_told_anything_by_another_spelling() {
    let all = Scope::new(&[".".to_owned()]);
    for path in ["AGENTS.override.md", "docs/Claude.Local.md", "gemini.x.y.md", "AGENTſ.md", "docs/SKILL.MD"] {
        let said = all.may_write(path).unwrap_err();
        assert_eq!(said, format!("{path} holds instructions for agents and may not be changed."));
    }
    for path in ["Node_Modules/a.md", "docs/VENDOR/a.md", "docs/Build/a.md"] {
        assert_eq!(all.may_write(path).unwrap_err(), format!("{path} is in a folder of generated files."));
    }
}

#[test]
fn paths_hold_only_what_people_see() {
    let all = Scope::new(&[".".to_owned()]);
    for path in [
        "\u{200c}.github/workflows/ci.yml",
        "\u{feff}AGENTS.md",
        "docs/a\u{202e}b.md",
        "docs/a\u{ad}b.md",
        "docs/a\u{2028}b.md",
        "docs/a\u{e0041}.md",
        "docs/a\u{fe0f}.md",
        "docs/a\u{3164}.md",
        "docs/a\nb.md",
        "docs/a\u{7f}.md",
        "docs/a\u{85}.md",
    ] {
        let said = all.may_write(path).unwrap_err();
        assert!(said.contains("contains an invisible character (U+"), "{said}");
        assert!(!said.chars().any(invisible::is_unseen), "{said:?}");
    }
    for path in ["docs./a.md", "docs /a.md", "docs\\a.md", "docs/a.md:b.md"] {
        assert!(all.may_write(path).unwrap_err().contains("is not a plain path"), "{path}");
    }
}

#[test]
fn all_else_may_not() {
    let all = Scope::new(&[".".to_owned()]);
    for path in [
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        ".gitignore",
        ".git/config",
        "docs/.hidden.md",
        ".cursor/rules.md",
        ".cursorrules",
        ".claude/settings.json",
        "AGENTS.md",
        "docs/CLAUDE.md",
        "docs/agents.md",
        "GEMINI.md",
        "x/SKILL.md",
        "docs/copilot-instructions.md",
        "a.instructions.md",
        "CODEOWNERS",
        "docs/CODEOWNERS",
        "LICENSE",
        "LICENSE.md",
        "package.json",
        "docs/package-lock.json",
        "Cargo.toml",
        "yarn.lock",
        "node_modules/x/README.md",
        "vendor/a.md",
        "docs/node_modules/a.md",
        "dist/a.md",
        "docs/logo.png",
        "docs/app.tsx",
        "docs/snippets/x.jsx",
        "src/main.rs",
        "docs/script.sh",
        "Makefile",
        "../x.md",
        "/etc/a.md",
        "docs/../a.md",
        "docs//a.md",
        "",
        "docs/.vitepress/theme/a.md",
        ".vitepress/cache/x.json",
        "azure-pipelines.yml",
        "requirements.txt",
    ] {
        assert!(all.may_write(path).is_err(), "{path}");
        assert!(docs().may_write(path).is_err(), "{path}");
    }
    for path in ["src/a.md", "docs2/a.md", "guide/b.mdx"] {
        let said = docs().may_write(path).unwrap_err();
        assert_eq!(said, format!("{path} is outside the documentation, which is in docs, README.md."));
    }
    // A docs folder may itself be called like an output folder.
    assert_eq!(Scope::new(&["build/docs".to_owned()]).may_write("build/docs/a.md"), Ok(()));
}

#[test]
fn generated_and_binary_files_may_not_be_replaced() {
    let scope = docs();
    for content in
        ["<!-- Generated by x. DO NOT EDIT. -->\n# A", "# @generated\n", "// Code generated; do not modify\n", "a\0b"]
    {
        assert!(scope.may_replace("docs/a.md", content.as_bytes()).is_err(), "{content:?}");
    }
    for content in ["# A\n\nDo not edit the file by hand.\n", "plain\n", "# Do not edit in production\n"] {
        assert_eq!(scope.may_replace("docs/a.md", content.as_bytes()), Ok(()), "{content:?}");
    }
}

#[test]
fn lines_that_differ_are_counted() {
    assert_eq!(changed_lines(b"a\nb\nc\n", b"a\nx\nc\n"), 2);
    assert_eq!(changed_lines(b"a\nb\n", b"b\na\n"), 2, "a line that moved is gone and there anew");
    assert_eq!(changed_lines(b"a\n\nb\n\nc\n", b"x\n\na\n\nb\n\nc\n"), 2, "what is repeated is not counted twice");
    assert_eq!(changed_lines(b"", b"a\nb\n"), 2);
}
