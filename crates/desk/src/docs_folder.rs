//! Whether the documentation of a project is where the project says, and where it may be instead.

use std::collections::BTreeMap;
use std::io;

use copydesk_checks::is_foreign;
use copydesk_checks::page::is_page;
use copydesk_domain::Project;
use copydesk_forge::{Kind as FileKind, Tree};

/// How many folders are proposed at the most.
const MOST_PROPOSED: usize = 3;

/// None of the project's docs paths is in the repository, or what is there is in formats that are not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoDocs {
    /// A clause that names the paths, what was found instead and what to do.
    pub(crate) why: String,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// Pages or a site were found elsewhere, so that the project's settings are what is wrong.
    Elsewhere,
    /// Only files in formats that are not read are there.
    Unread,
    /// There is none, so that somebody may want the first page to be written.
    Nowhere,
}

impl NoDocs {
    pub(crate) fn is_unread(&self) -> bool {
        self.kind == Kind::Unread
    }

    /// Whether every job would find nothing to work on. Files that the project allows by name may be written all the same.
    pub(crate) fn is_fatal(&self, project: &Project) -> bool {
        match self.kind {
            Kind::Elsewhere => true,
            Kind::Unread => project.write_paths.allow.is_empty(),
            Kind::Nowhere => false,
        }
    }
}

/// Looks into the tree of a branch; all of it is listed only where there is no page.
pub(crate) fn in_tree(tree: &dyn Tree, docs_paths: &[String], branch: &str) -> io::Result<Option<NoDocs>> {
    let mut is_there = false;
    for path in docs_paths {
        if has_page(tree, path)? {
            return Ok(None);
        }
        is_there |= path == "." || tree.entry(path)?.is_some();
    }
    let files = tree.list("")?;
    // What is there need not be files, such as a link.
    Ok(if is_there { unread(&files, docs_paths) } else { in_files(&files, docs_paths, branch) })
}

/// Whether a path is a page, or a folder with one below.
fn has_page(tree: &dyn Tree, path: &str) -> io::Result<bool> {
    let mut folders = Vec::new();
    match tree.entry(path)?.map(|entry| entry.kind) {
        _ if path == "." => folders.push(String::new()),
        Some(FileKind::Folder) => folders.push(path.to_owned()),
        Some(kind) => return Ok(kind.is_file() && is_page(path)),
        None => return Ok(false),
    }
    while let Some(folder) = folders.pop() {
        for (name, kind) in tree.folder(&folder)? {
            if kind.is_file() && is_page(&name) {
                return Ok(true);
            }
            if kind == FileKind::Folder {
                folders.push(if folder.is_empty() { name } else { format!("{folder}/{name}") });
            }
        }
    }
    Ok(false)
}

/// Looks through the paths of all files of a branch.
pub(crate) fn in_files(files: &[String], docs_paths: &[String], branch: &str) -> Option<NoDocs> {
    if docs_paths.iter().any(|path| path == "." || files.iter().any(|file| is_in(file, path))) {
        return unread(files, docs_paths);
    }
    let (folders, sites) = (page_folders(files), configurations(files));
    let mut why = format!("the repository has no {} on its branch `{branch}`", listed(docs_paths));
    if !folders.is_empty() {
        why.push_str(&format!("; pages are in {}", listed(&folders)));
    }
    if !sites.is_empty() {
        let verb = if sites.len() == 1 { "configures" } else { "configure" };
        why.push_str(&format!("; {} {verb} a site", listed(&sites)));
    }
    let is_elsewhere = !folders.is_empty() || !sites.is_empty();
    let readme =
        files.iter().find(|file| !file.contains('/') && is_page(file) && file.to_lowercase().starts_with("readme."));
    match readme {
        _ if is_elsewhere => why.push_str(SAY_WHERE),
        Some(readme) => why.push_str(&format!(
            ", and elsewhere only pages such as `{readme}`; `copydesk project update --docs-path .` has jobs work on those; \
             otherwise name another branch or folder, or have a model write the first page"
        )),
        None => why.push_str(", and no page elsewhere; name another branch or folder, or have a model write the first page"),
    }
    Some(NoDocs { why, kind: if is_elsewhere { Kind::Elsewhere } else { Kind::Nowhere } })
}

const SAY_WHERE: &str =
    "; say where the documentation is with `copydesk project update --docs-path` or in the settings of the project";

/// Whether a file is a docs path, or below it.
fn is_in(file: &str, path: &str) -> bool {
    path == "." || file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether what is there is in formats that are not read, and nothing else.
fn unread(files: &[String], docs_paths: &[String]) -> Option<NoDocs> {
    const UNREAD: [&str; 6] = ["rst", "adoc", "asciidoc", "org", "textile", "rdoc"];
    let there: Vec<&String> = files.iter().filter(|file| docs_paths.iter().any(|path| is_in(file, path))).collect();
    if there.iter().any(|file| is_page(file)) {
        return None;
    }
    let is_of = |file: &str, ending: &str| {
        file.rsplit_once('.').is_some_and(|(_, found)| found.eq_ignore_ascii_case(ending)) && !is_aside(file)
    };
    let count = |ending: &&str| there.iter().filter(|file| is_of(file, ending)).count();
    let (number, ending) = UNREAD.iter().map(|ending| (count(ending), ending)).max_by_key(|(number, _)| *number)?;
    if number == 0 {
        return None;
    }
    let what = if number == 1 { "file" } else { "files" };
    let mut why = format!(
        "{} has {number} .{ending} {what}, which Copydesk does not read, and no page in Markdown or MDX, which it does",
        listed(docs_paths)
    );
    let folders = page_folders(files);
    if !folders.is_empty() {
        why.push_str(&format!("; pages are in {}{SAY_WHERE}", listed(&folders)));
    }
    Some(NoDocs { why, kind: Kind::Unread })
}

/// The folders that hold pages, those with the most first. Of each folder at the top, the deepest that holds all of its pages.
fn page_folders(files: &[String]) -> Vec<String> {
    let mut tops: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for file in files.iter().filter(|file| is_page(file) && !is_aside(file)) {
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let top = folder.split('/').next().unwrap_or_default();
        let seen = tops.entry(top).or_insert((0, folder));
        *seen = (seen.0 + 1, common(seen.1, folder));
    }
    let mut folders: Vec<(usize, &str)> = tops.into_values().collect();
    folders.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let named = |folder: &str| if folder.is_empty() { ".".to_owned() } else { folder.to_owned() };
    folders.into_iter().take(MOST_PROPOSED).map(|(_, folder)| named(folder)).collect()
}

/// The folder that both are in.
fn common<'a>(one: &'a str, two: &str) -> &'a str {
    let shared = one.split('/').zip(two.split('/')).take_while(|(a, b)| a == b);
    let length = shared.map(|(part, _)| part.len() + 1).sum::<usize>();
    &one[..length.saturating_sub(1).min(one.len())]
}

/// Whether it is hidden, somebody else's, a test's or an example's, or what every repository has beside its code.
fn is_aside(file: &str) -> bool {
    const BESIDE_CODE: [&str; 11] = [
        "readme",
        "changelog",
        "changes",
        "contributing",
        "code_of_conduct",
        "security",
        "license",
        "support",
        "agents",
        "claude",
        "gemini",
    ];
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name.split('.').next().unwrap_or_default();
    // At the top of a repository, names in capitals are about the repository: GOVERNANCE.md, CHANGELOG-v2.md.
    let is_in_capitals = name == file && stem.split('-').next().is_some_and(is_shouted);
    is_beside(file) || is_in_capitals || BESIDE_CODE.contains(&stem.to_lowercase().replace('-', "_").as_str())
}

/// Whether a word is in capitals. One of digits, or in a script that has no capitals, is not.
fn is_shouted(word: &str) -> bool {
    word.contains(char::is_uppercase) && !word.contains(char::is_lowercase)
}

/// Whether it lies in a folder whose pages are no documentation of the project.
fn is_beside(file: &str) -> bool {
    const FOLDERS: [&str; 8] = ["target", "test", "tests", "e2e", "example", "examples", "template", "templates"];
    is_foreign(file) || file.split('/').rev().skip(1).any(|part| FOLDERS.contains(&part))
}

/// Files by which one knows a documentation site, those nearest to the top first.
fn configurations(files: &[String]) -> Vec<String> {
    const NAMES: [&str; 7] =
        ["mkdocs.yml", "mkdocs.yaml", "docs.json", "mint.json", "book.toml", "antora.yml", "_config.yml"];
    const STEMS: [&str; 3] = ["docusaurus.config", "astro.config", ".vitepress/config"];
    let is_one = |file: &&String| {
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        let stem = file.rsplit_once('.').map_or("", |(stem, _)| stem);
        let is_there = |beside: &str| {
            let beside = if folder.is_empty() { beside.to_owned() } else { format!("{folder}/{beside}") };
            files.iter().any(|other| other.starts_with(&beside))
        };
        // Hugo's own name is one of many things called so, and its old one says nothing.
        let is_hugo = matches!(name.rsplit_once('.'), Some(("hugo" | "config", "toml" | "yaml" | "yml" | "json")))
            && is_there("content/")
            && (name.starts_with("hugo") || is_there("layouts/") || is_there("themes/") || is_there("archetypes/"));
        let is_sphinx = name == "conf.py" && (is_there("index.rst") || is_there("index.md"));
        !is_beside(file)
            && (is_hugo || is_sphinx || NAMES.contains(&name) || STEMS.iter().any(|known| stem.ends_with(known)))
    };
    let mut found: Vec<String> = files.iter().filter(is_one).cloned().collect();
    found.sort_by_key(|file| file.matches('/').count());
    found.truncate(MOST_PROPOSED);
    found
}

fn listed(paths: &[String]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    paths.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(files: &[&str], docs_paths: &[&str]) -> Option<NoDocs> {
        let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        in_files(&owned(files), &owned(docs_paths), "main")
    }

    #[test]
    fn a_path_that_is_there_is_right_be_it_a_file_or_all() {
        for path in ["docs", "docs/a.md", "README.md", "."] {
            assert_eq!(look(&["README.md", "docs/a.md"], &["gone", path]), None, "{path}");
        }
        assert!(look(&["docs-old/a.md"], &["docs"]).is_some());
    }

    #[test]
    fn what_is_there_instead_is_proposed() {
        let files =
            ["README.md", "content/a.md", "site/docs/b.md", "site/docs/x/c.mdx", "site/mkdocs.yml", ".github/x.md"];
        let found = look(&files, &["docs", "guides"]).unwrap();
        let words = "the repository has no `docs`, `guides` on its branch `main`; pages are in `site/docs`, `content`; \
                     `site/mkdocs.yml` configures a site; say where";
        assert!(found.kind == Kind::Elsewhere && found.why.starts_with(words), "{}", found.why);
        for page in ["a.md", "01-intro.md", "2024.md", "日本語.md"] {
            let found = look(&[page, "README.md", "src/x.rs"], &["docs"]).unwrap();
            assert!(found.kind == Kind::Elsewhere && found.why.contains("pages are in `.`;"), "{page}: {}", found.why);
        }
    }

    #[test]
    fn where_there_is_only_code_nothing_is_proposed() {
        let files = [
            "README.md",
            "AGENTS.md",
            "CHANGELOG-v2.md",
            "GOVERNANCE.md",
            "code-of-conduct.md",
            "crates/a/README.md",
            "src/main.rs",
            "node_modules/x/docs/a.md",
            "caddytest/testdata/index.html",
            "tests/book/src/a.md",
            "tests/book/book.toml",
            "examples/a/docusaurus.config.js",
            "config.yaml",
            "app/hugo.toml",
        ];
        let found = look(&files, &["docs"]).unwrap();
        assert!(found.kind != Kind::Elsewhere && found.why.contains("only pages such as `README.md`"), "{}", found.why);
        let found = look(&files[6..], &["docs"]).unwrap();
        assert!(found.kind != Kind::Elsewhere && found.why.contains("no page elsewhere"), "{}", found.why);
    }

    #[test]
    fn a_site_is_known_by_what_lies_beside_its_configuration() {
        let hugo = ["config.yaml", "layouts/x.html", "content/en/docs/a.md", "content/en/docs/b.md"];
        let why = look(&hugo, &["docs"]).unwrap().why;
        assert!(why.contains("pages are in `content/en/docs`; `config.yaml` configures a site"), "{why}");
        let two = ["a/b/mkdocs.yml", "guide/conf.py", "guide/index.rst", "other/conf.py"];
        let why = look(&two, &["docs"]).unwrap().why;
        assert!(why.contains("`guide/conf.py`, `a/b/mkdocs.yml` configure a site"), "{why}");
    }
}
