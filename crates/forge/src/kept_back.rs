//! Files that are not shown to whoever edits: what holds secrets, and what is hidden and has nothing to do with
//! documentation.

/// Hidden folders and files that are part of documentation, or say how it is written and built.
const SHOWN: [&str; 30] = [
    ".all-contributorsrc",
    ".changeset",
    ".cursor",
    ".cursorrules",
    ".editorconfig",
    ".eleventy.js",
    ".env.example",
    ".env.sample",
    ".env.template",
    ".forgejo",
    ".gitattributes",
    ".gitea",
    ".github",
    ".gitignore",
    ".gitlab",
    ".mintignore",
    ".mintlify",
    ".nav.yaml",
    ".nav.yml",
    ".nojekyll",
    ".order",
    ".pages",
    ".storybook",
    ".vale",
    ".vale.ini",
    ".vitepress",
    ".vuepress",
    ".well-known",
    ".gitbook",
    ".gitbook.yaml",
];
/// The same by how they begin: settings of tools that look at text.
const SHOWN_BEGINNINGS: [&str; 12] = [
    ".copydesk",
    ".cspell",
    ".htmltest",
    ".lychee",
    ".markdownlint",
    ".prettier",
    ".readthedocs.",
    ".redocly",
    ".remark",
    ".spectral",
    ".textlint",
    ".typos",
];
/// Names, or the ends of names, that hold secrets, as git matches them.
const SECRETS: [&str; 21] = [
    "*.env",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.p12",
    "*.pem",
    "*.pfx",
    "*.tfstate",
    "*.tfvars",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "secrets.env",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
];
/// Whether a file, or a folder and all below it, is not shown.
pub fn is_kept_back(path: &str) -> bool {
    let is_hidden = |part: &str| {
        part.len() > 1
            && part.starts_with('.')
            && part != ".."
            && !SHOWN.contains(&part)
            && !SHOWN_BEGINNINGS.iter().any(|beginning| part.starts_with(beginning))
    };
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_secret = |pattern: &&str| match pattern.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name == **pattern,
    };
    path.split('/').any(is_hidden) || SECRETS.iter().any(is_secret)
}

/// What git is told to leave out where it looks through everything: more than is kept back, since it cannot be told what of
/// the hidden is shown.
pub(crate) fn exclusions() -> Vec<String> {
    let all = SECRETS.iter().copied().chain([".*", ".*/**"]);
    all.map(|pattern| format!(":(exclude,glob,icase)**/{pattern}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_what_is_hidden_are_not_shown() {
        for path in [
            ".env",
            "docs/.env.local",
            "deploy/.aws/credentials",
            "certs/server.PEM",
            "infra/prod.tfvars",
            "id_rsa",
            ".idea/workspace.xml",
            "config/secrets.yml",
            "a/.hidden/page.md",
        ] {
            assert!(is_kept_back(path), "{path}");
        }
        for path in [
            "docs/a.md",
            ".github/CONTRIBUTING.md",
            "docs/.vitepress/config.mts",
            ".vale.ini",
            "docs/.pages",
            ".markdownlint.json",
            "docs/keys.md",
            "docs/credentials.md",
            "src/secrets.py",
            "docs/a.key.md",
            ".mintlify/AGENTS.md",
            "./docs",
        ] {
            assert!(!is_kept_back(path), "{path}");
        }
    }
}
