//! Adds a page and lists it in the navigation.

use copydesk_checks::page::{is_page, parse, slug};
use copydesk_checks::paths::{self, is_below};
use copydesk_forge::{Kind, Refusal};

use super::chore::AddPage;
use super::docs::{ChoreFailure, Docs};
use super::excerpt::first_sentence;
use super::front_matter::title_from_path;
use super::navigation::{Listing, Section, scripts_around};
use super::report::code;
use super::scalar;
use super::words::{clip, listed};

/// How many pages nearby are looked at to see how pages are written here.
const MOST_LOOKED_AT: usize = 20;

/// What stands in a page whose text was not given.
const PLACEHOLDER: &str = "This page is still to be written.";

pub(crate) fn run(chore: &AddPage, docs: &mut Docs) -> Result<(), ChoreFailure> {
    let pages = docs.pages()?;
    let section = chore.section.as_ref().map(|name| Section::find(name, docs)).transpose()?;
    let path = place(chore, section.as_ref(), &pages, docs)?;
    let stem = |path: &str| path.rsplit_once('.').map_or_else(|| path.to_owned(), |(stem, _)| stem.to_owned());
    if let Some(there) = pages.iter().find(|page| stem(page) == stem(&path)) {
        docs.report.say(format!("There is already a page {}, so nothing was changed.", code(there)));
        return Ok(());
    }
    let title = match &chore.title {
        Some(title) => title.split_whitespace().collect::<Vec<_>>().join(" "),
        None => title_from_path(&path).ok_or_else(|| refused("The page needs a title, in quotes."))?,
    };
    let text = content(chore, &path, &title, &pages, docs)?;
    match docs.workspace.write(&path, text) {
        Ok(()) => docs.count_change()?,
        Err(Refusal::Refused(why)) => {
            return Err(refused(&format!("The page cannot be added: {}.", why.trim_end_matches('.'))));
        }
        Err(Refusal::Unreadable(error)) => return Err(error.into()),
    }
    docs.report.note_change(&path, 1, "new");
    let places = Listing { page: &path, title: &title, section: section.as_ref() }.list(docs)?;
    if places.is_empty() {
        for script in scripts_around(&path, docs)? {
            docs.report
                .note_left(&script, format!("a script makes the navigation; list {} there by hand", code(&path)));
        }
    }
    let title = clip(&title, 100);
    docs.report.say(match places.as_slice() {
        [] => format!("Added the page \"{title}\"; it is not listed in any navigation file."),
        _ => format!("Added the page \"{title}\" and listed it in {}.", listed(&places, 5)),
    });
    Ok(())
}

fn refused(sentence: &str) -> ChoreFailure {
    ChoreFailure::Refused(clip(sentence, 400))
}

/// The path of the new page.
fn place(chore: &AddPage, section: Option<&Section>, pages: &[String], docs: &Docs) -> Result<String, ChoreFailure> {
    let folder = match &chore.path {
        Some(written) => {
            let path = in_docs(written, docs)?;
            if is_page(&path) {
                return Ok(path);
            }
            if path.rsplit('/').next().is_some_and(|name| name.contains('.')) {
                return Err(refused(&format!(
                    "{} is not the path of a page: those end in .md or .mdx.",
                    code(written)
                )));
            }
            let is_folder = docs.workspace.entry(&path)?.is_some_and(|entry| entry.kind == Kind::Folder);
            if !is_folder && !written.ends_with('/') {
                return Err(refused(&format!(
                    "Say the page's path with its extension: there is no folder {}.",
                    code(written)
                )));
            }
            path
        }
        None => only_folder(section, pages).ok_or_else(|| {
            refused("Say where the page is to go, such as `at docs/guides/name.md`; nothing was changed.")
        })?,
    };
    let name = chore.title.as_deref().map(file_name).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| refused("Say the page's title in quotes, or its path with the name of the file."))?;
    Ok(paths::join(&folder, &format!("{name}.{}", extension(&folder, pages))))
}

/// A path as it is in the repository: as written, or below the folder of the documentation.
fn in_docs(written: &str, docs: &Docs) -> Result<String, ChoreFailure> {
    let path = written.trim_start_matches("./").trim_matches('/');
    if path.split('/').any(|part| part == "..") || path.contains(['*', '?', '\\']) {
        return Err(refused(&format!("{} is not a path in the repository.", code(written))));
    }
    if docs.holds(path) {
        return Ok(path.to_owned());
    }
    let top = path.split('/').next().unwrap_or(path);
    match docs.paths() {
        [folder] if docs.workspace.entry(top)?.is_none() => Ok(format!("{folder}/{path}")),
        _ => Err(refused(&format!(
            "{} is not among the project's documentation, so nothing was changed.",
            code(written)
        ))),
    }
}

/// The one folder that the section's pages are in, or all pages.
fn only_folder(section: Option<&Section>, pages: &[String]) -> Option<String> {
    let all = section.map_or(pages, |section| section.pages.as_slice());
    let first = paths::folder(all.first()?);
    all.iter().all(|page| paths::folder(page) == first).then(|| first.to_owned())
}

/// `Rate limits & quotas` becomes `rate-limits-quotas`.
fn file_name(title: &str) -> String {
    let slug = slug(&clip(title, 80));
    slug.split(['-', '_']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// The extension that most pages of the folder have, else most of all pages.
fn extension(folder: &str, pages: &[String]) -> &'static str {
    let count =
        |inside: &str, end: &str| pages.iter().filter(|page| is_below(page, inside) && page.ends_with(end)).count();
    let here = (count(folder, ".mdx"), count(folder, ".md"));
    let (mdx, md) = if here == (0, 0) { (count("", ".mdx"), count("", ".md")) } else { here };
    if mdx > md { "mdx" } else { "md" }
}

/// The text of the new page, in the manner of its neighbours.
fn content(chore: &AddPage, path: &str, title: &str, pages: &[String], docs: &Docs) -> Result<String, ChoreFailure> {
    let body = chore.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let given = parse(path, body.unwrap_or_default());
    let text = if given.front_matter.is_some() {
        format!("{}\n", body.unwrap_or_default())
    } else {
        let manner = Manner::of(path, pages, docs)?;
        let has_heading = given.headings.iter().any(|heading| heading.level == 1);
        let description = chore.description.clone().or_else(|| first_sentence(&given, body.unwrap_or_default()));
        let mut text = String::new();
        if manner.front_matter {
            text.push_str(&format!("---\ntitle: {}\n", scalar::yaml(title)));
            if let Some(description) = description {
                text.push_str(&format!("description: {}\n", scalar::yaml(&description)));
            }
            text.push_str("---\n\n");
        }
        if (manner.heading || !manner.front_matter) && !has_heading {
            text.push_str(&format!("# {title}\n\n"));
        }
        text.push_str(body.unwrap_or(PLACEHOLDER));
        text.push('\n');
        text
    };
    match parse(path, &text).problems.first() {
        Some(problem) => Err(refused(&format!("The page would not be well-formed: {}.", problem.message))),
        None => Ok(text),
    }
}

/// How pages are written here.
struct Manner {
    front_matter: bool,
    /// Whether the title is also a heading.
    heading: bool,
}

impl Manner {
    fn of(path: &str, pages: &[String], docs: &Docs) -> Result<Self, ChoreFailure> {
        let near: Vec<&String> = pages.iter().filter(|page| is_below(page, paths::folder(path))).collect();
        let near = if near.is_empty() { pages.iter().collect() } else { near };
        let (mut seen, mut with_front_matter, mut with_heading) = (0, 0, 0);
        for page in near.into_iter().filter(|page| !page.ends_with("SUMMARY.md")).take(MOST_LOOKED_AT) {
            let Some(text) = docs.glance(page)? else { continue };
            let page = parse(page, &text);
            seen += 1;
            with_front_matter += usize::from(page.front_matter.is_some());
            with_heading += usize::from(page.headings.first().is_some_and(|heading| heading.level == 1));
        }
        Ok(Self { front_matter: seen == 0 || with_front_matter > 0, heading: seen > 0 && with_heading * 2 > seen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_names_of_files() {
        assert_eq!(file_name("Rate limits & quotas"), "rate-limits-quotas");
        assert_eq!(file_name("???"), "");
        assert_eq!(file_name("../../etc/passwd"), "etcpasswd");
    }

    #[test]
    fn the_extension_is_that_of_the_neighbours() {
        let pages = ["a/x.mdx", "a/y.mdx", "b/z.md"].map(str::to_owned);
        assert_eq!((extension("a", &pages), extension("b", &pages), extension("c", &pages)), ("mdx", "md", "mdx"));
        assert_eq!(extension("", &[]), "md");
    }
}
