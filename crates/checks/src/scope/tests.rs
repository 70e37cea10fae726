use super::*;

fn docs() -> Scope {
    Scope::new(&["docs".to_owned(), "README.md".to_owned()])
}

#[test]
fn documentation_may_be_written() {
    for path in [
        "docs/a.md",
        "docs/guides/b.mdx",
        "docs/data.json",
        "docs/README",
        "README.md",
        "docs.json",
        "mkdocs.yml",
        "sidebars.json",
        "src/SUMMARY.md",
        "docs/src/SUMMARY.md",
        "docs/openapi.yaml",
        "docs/table.csv",
        "docs/chart.json",
        "docs/requirements.md",
        "docs/requirements/index.mdx",
        "docs/Dockerfile.md",
        "docs/agents.mdx",
        "docs/k8s/example.yaml",
        "docs/größe/日本.md",
    ] {
        assert_eq!(docs().may_write(path), Ok(()), "{path}");
    }
    let all = Scope::new(&[".".to_owned()]);
    for path in [
        "a.md",
        "packages/x/README.md",
        "guide/intro.mdx",
        "README.txt",
        "CHANGELOG",
        "mkdocs.yml",
        "website/sidebars.json",
        "docs/openapi.json",
        "packages/x/docs/table.csv",
        "Content/menu.yaml",
    ] {
        assert_eq!(all.may_write(path), Ok(()), "{path}");
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
        assert_eq!(said, format!("{path} is outside of the documentation, which is in site/content/docs."));
    }
    assert!(Scope::new(&[".".to_owned()]).may_write("packages/x/mkdocs.yml").is_err());
}

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
fn data_of_programs_is_not_documentation() {
    let all = Scope::new(&[".".to_owned()]);
    for path in [
        "k8s/deploy.yaml",
        "requirements/dev.txt",
        "config/settings.toml",
        "src/data.json",
        "notes.txt",
        "notebook.ipynb",
        "infra/docs/deploy.yaml",
        "src/site/data.json",
    ] {
        let said = all.may_write(path).unwrap_err();
        assert!(said.contains("is data outside of") || said.contains("how the project is built"), "{said}");
    }
    // Who names a folder, means it; also beside all of the repository.
    for docs_paths in [vec!["src/data"], vec![".", "src/data"], vec!["src/data", "."]] {
        let docs_paths: Vec<String> = docs_paths.into_iter().map(str::to_owned).collect();
        assert_eq!(Scope::new(&docs_paths).may_write("src/data/x.json"), Ok(()), "{docs_paths:?}");
    }
}

#[test]
fn what_builds_or_deploys_is_refused_in_any_folder() {
    for name in [
        "azure-pipelines.yaml",
        "azure-pipelines-release.yml",
        "my-pipelines.yml",
        "action.yml",
        "Action.YAML",
        "cloudbuild.yml",
        "cloudbuild.prod.yaml",
        "buildspec.yml",
        "docker-compose.yml",
        "docker-compose.override.yaml",
        "compose.yaml",
        "compose.prod.yml",
        "Dockerfile",
        "Dockerfile.txt",
        "Makefile",
        "Chart.yaml",
        "values.yml",
        "kustomization.yaml",
        "tsconfig.build.json",
        "tsconfig-base.json",
        "tsconﬁg.json",
        "firebase.json",
        "requirements-dev.txt",
        "dev-requirements.txt",
        "requirements/dev.txt",
        "fly.toml",
        "book.toml",
        "_quarto.yml",
        "hugo.toml",
        "mcp.json",
    ] {
        for (scope, path) in [
            (Scope::new(&[".".to_owned()]), name.to_owned()),
            (Scope::new(&[".".to_owned()]), format!("docs/{name}")),
            (docs(), format!("docs/guides/{name}")),
        ] {
            let said = scope.may_write(&path).unwrap_err();
            assert!(said.contains("part of how the project is built"), "{said}");
        }
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
        assert_eq!(all.may_write(path).unwrap_err(), format!("{path} lies in a folder of generated files."));
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
        assert!(said.contains("holds a character that nobody sees (U+"), "{said}");
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
        assert_eq!(said, format!("{path} is outside of the documentation, which is in docs, README.md."));
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
    assert_eq!(changed_lines(b"a\nb\n", b"b\na\n"), 0);
    assert_eq!(changed_lines(b"", b"a\nb\n"), 2);
}

#[test]
fn settings_cannot_be_made_to_run_code() {
    let brings = |before: &str, now: &str| brings_code("mkdocs.yml", before.as_bytes(), now.as_bytes());
    assert!(brings("nav: []\n", "nav: []\nx: !!python/object/apply:os.system [\"id\"]\n"));
    assert!(brings("nav: []\n", "nav: []\nhooks:\n  - docs/evil.py\n"));
    assert!(brings("nav: []\n", "INHERIT: ../other.yml\nnav: []\n"));
    assert!(brings("", "%TAG !p! tag:yaml.org,2002:python/\n"));
    let emoji = "emoji: !!python/name:material.extensions.emoji.twemoji\n";
    assert!(!brings(emoji, &format!("{emoji}nav:\n  - index.md\n")), "what was there stays");
    assert!(!brings_code("docs/a.md", b"", b"!!python"));
}
