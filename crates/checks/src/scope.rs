//! Which files a change may touch, and how many.

use serde::{Deserialize, Serialize};

use crate::{nav, paths};

/// What a change may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// The folders that hold documentation, or single files; `.` for all of the repository.
    pub docs_paths: Vec<String>,
    /// The most files that may change.
    pub max_files: usize,
    /// The most lines that may be added and removed, together.
    pub max_lines: usize,
}

/// What documentation is written in, and the data beside it.
const DOCUMENTATION: [&str; 15] = [
    "md", "mdx", "markdown", "mkd", "rst", "adoc", "asciidoc", "txt", "json", "yaml", "yml", "toml", "csv", "tsv",
    "ipynb",
];

/// What people call instructions to coding agents; a page must not become one, and none may be changed.
/// In lower case, because some file systems do not tell the difference.
const AGENT_FILES: [&str; 7] =
    ["agents.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md", "copilot-instructions.md", "skill.md"];

/// The same, where the name in lower case is that of an ordinary page.
const AGENT_FILES_IN_CAPITALS: [&str; 4] = ["AGENT.md", "WARP.md", "CRUSH.md", "CONVENTIONS.md"];

/// Files that build, own, license or lock something, whatever folder they are in.
const OTHER_FILES: [&str; 40] = [
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
    "tsconfig.json",
    "jsconfig.json",
    "deno.json",
    "bun.lock",
    "cargo.toml",
    "cargo.lock",
    "pyproject.toml",
    "poetry.lock",
    "uv.lock",
    "requirements.txt",
    "constraints.txt",
    "composer.json",
    "composer.lock",
    "gemfile",
    "codeowners",
    "license",
    "license.md",
    "license.txt",
    "licence.md",
    "licence.txt",
    "copying",
    "copying.txt",
    "notice",
    "notice.txt",
    "azure-pipelines.yml",
    "appveyor.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile",
    "cloudbuild.yaml",
    "netlify.toml",
    "vercel.json",
    "cmakelists.txt",
    "wrangler.toml",
    "renovate.json",
];

/// Folders whose content is made by a program.
const GENERATED_FOLDERS: [&str; 8] =
    ["node_modules", "vendor", "third_party", "__pycache__", "bower_components", "dist", "build", "target"];

impl Scope {
    /// A scope over these folders, with the usual limits: 100 files and 10,000 lines.
    pub fn new(docs_paths: &[String]) -> Self {
        Self { docs_paths: docs_paths.to_vec(), max_files: 100, max_lines: 10_000 }
    }

    /// Whether a file may be written; if not, why, as one sentence for a user or a model.
    pub fn may_write(&self, path: &str) -> Result<(), String> {
        let path = path.trim_start_matches("./");
        if paths::normalise("", path).as_deref() != Some(path) || path.is_empty() {
            return Err(format!("{path:?} is not a plain path inside the repository."));
        }
        let nav_kind = nav::kind_of(path);
        let is_config = nav_kind == Some(nav::NavKind::VitePress);
        let lower = path.to_lowercase();
        let name = paths::file_name(&lower);
        let parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| part.starts_with('.') && !(is_config && *part == ".vitepress")) {
            return Err(format!("{path} is or lies in a hidden file or folder, which is not documentation."));
        }
        let is_agent_file = AGENT_FILES.contains(&name) || AGENT_FILES_IN_CAPITALS.contains(&paths::file_name(path));
        if is_agent_file || name.ends_with(".instructions.md") || name.ends_with(".prompt.md") {
            return Err(format!("{path} holds instructions for agents and may not be changed."));
        }
        if OTHER_FILES.contains(&name) || name.ends_with(".lock") || name.starts_with("requirements-") {
            return Err(format!("{path} is not documentation but part of how the project is built or owned."));
        }
        let docs_path = self.docs_path_of(path);
        let below = docs_path.as_deref().map_or(path, |folder| path.strip_prefix(folder).unwrap_or(path));
        if below.split('/').any(|part| GENERATED_FOLDERS.contains(&part)) {
            return Err(format!("{path} lies in a folder of generated files."));
        }
        if nav_kind.is_some() {
            return Ok(());
        }
        if docs_path.is_none() {
            let folders = self.docs_paths.join(", ");
            return Err(format!("{path} is outside of the documentation, which is in {folders}."));
        }
        if !DOCUMENTATION.contains(&paths::extension(path).as_str()) && !is_readme(name) {
            return Err(format!(
                "{path} is not a documentation file: only text formats such as .md and .mdx may be changed."
            ));
        }
        Ok(())
    }

    /// Whether a file with this content may be written over; a generated one would lose the change.
    pub fn may_replace(&self, path: &str, content: &[u8]) -> Result<(), String> {
        let start = content.get(..2048).unwrap_or(content);
        let head = String::from_utf8_lossy(start);
        let head: Vec<&str> = head.lines().take(10).collect();
        let is_generated = head.iter().any(|line| {
            let upper = line.to_uppercase();
            let says = upper.contains("DO NOT EDIT") || upper.contains("DO NOT MODIFY");
            line.contains("@generated") || says && is_comment(line)
        });
        if is_generated {
            return Err(format!("{path} says that it is generated; change what it is generated from instead."));
        }
        if start.contains(&0) {
            return Err(format!("{path} is a binary file."));
        }
        Ok(())
    }

    /// The docs path that a file is below, in its plain form.
    fn docs_path_of(&self, path: &str) -> Option<String> {
        self.docs_paths.iter().map(|folder| paths::plain_folder(folder)).find(|folder| paths::is_below(path, folder))
    }
}

/// A page may well tell people not to edit something; only a remark about the file itself counts.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    let is_marked = ["<!--", "//", "#", "{/*", "/*", "..", "[//]", "--", "%"].iter().any(|mark| line.starts_with(mark));
    let is_heading = line.starts_with("# ") && !line.to_lowercase().contains("generated");
    is_marked && !is_heading
}

fn is_readme(name: &str) -> bool {
    matches!(name, "readme" | "changelog" | "contributing" | "authors" | "history" | "faq" | "todo")
}

/// How many lines differ between two texts: those that only one of them has. Lines that only moved do not count.
pub(crate) fn changed_lines(before: &[u8], now: &[u8]) -> usize {
    let mut counts: std::collections::HashMap<&[u8], i64> = std::collections::HashMap::new();
    for line in before.split_inclusive(|b| *b == b'\n') {
        *counts.entry(line).or_default() -= 1;
    }
    for line in now.split_inclusive(|b| *b == b'\n') {
        *counts.entry(line).or_default() += 1;
    }
    counts.values().map(|count| usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX)).sum()
}

#[cfg(test)]
mod tests {
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
            "website/sidebars.js",
            "docs/.vitepress/config.mts",
            "src/SUMMARY.md",
            "docs/openapi.yaml",
            "docs/table.csv",
        ] {
            assert_eq!(docs().may_write(path), Ok(()), "{path}");
        }
        let all = Scope::new(&[".".to_owned()]);
        for path in ["a.md", "packages/x/README.md", "guide/intro.mdx"] {
            assert_eq!(all.may_write(path), Ok(()), "{path}");
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
        for content in [
            "<!-- Generated by x. DO NOT EDIT. -->\n# A",
            "# @generated\n",
            "// Code generated; do not modify\n",
            "a\0b",
        ] {
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
}
