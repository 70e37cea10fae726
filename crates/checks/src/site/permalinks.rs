//! The addresses that Hugo gives to the pages of a section by `permalinks`.

use copydesk_values::Value;

use super::generator::Front;
use crate::paths;

/// How the pages of one section are addressed.
#[derive(Debug)]
pub(crate) struct Permalink {
    pub(crate) section: String,
    /// Whether it is for the lists of sections rather than for their pages.
    pub(crate) is_of_lists: bool,
    pattern: String,
}

/// Where Hugo looks for the date of a page, in this order.
const DATES: [&str; 6] = ["date", "publishDate", "pubdate", "published", "lastmod", "modified"];

/// The permalinks of a configuration, also in the form that tells kinds of pages apart.
pub(crate) fn of(config: &Value) -> Vec<Permalink> {
    let settings = config.get("permalinks").map(Value::entries).unwrap_or_default();
    let of_kind = |kind: &str| {
        let kind = settings.iter().find(|(key, _)| key.name == kind);
        kind.map(|(_, value)| value.entries()).unwrap_or_default().iter()
    };
    let pages = settings.iter().chain(of_kind("page")).map(|entry| (false, entry));
    let all = pages.chain(of_kind("section").map(|entry| (true, entry)));
    all.filter_map(|(is_of_lists, (key, value))| {
        Some(Permalink { section: key.name.clone(), is_of_lists, pattern: value.text()?.to_owned() })
    })
    .collect()
}

impl Permalink {
    /// Whether everything in the pattern is known here.
    pub(crate) fn is_known(&self) -> bool {
        let names = ["year", "month", "day", "section", "sections", "title", "slug", "filename", "contentbasename"];
        let more = ["slugorfilename", "slugorcontentbasename"];
        tokens(&self.pattern).iter().all(|token| match token {
            Token::Name("sections", slice) => slice.is_none_or(|slice| cut(&[""], slice).is_some()),
            Token::Name(name, None) => names.contains(name) || more.contains(name),
            Token::Name(_, Some(_)) => false,
            Token::Text(text) => !text.contains(['[', ':']),
        })
    }

    /// What every address begins with that it makes.
    pub(crate) fn start(&self) -> &str {
        let before = self.pattern.split(':').next().unwrap_or_default();
        before.rsplit_once('/').map_or("", |(folder, _)| folder).trim_matches('/')
    }

    /// The address of the page whose path below the content folder is `bare`, without its ending; `is_section` tells
    /// which of the folders above it are sections.
    pub(crate) fn address(&self, bare: &str, front: &Front, is_section: &dyn Fn(&str) -> bool) -> String {
        let name = paths::file_name(bare);
        let date = DATES.iter().find_map(|field| front.get(field)).unwrap_or(name);
        let part = |from: usize, to: usize| date.get(from..to).unwrap_or_default();
        let title = || sanitized(front.get("title").unwrap_or(name));
        let slug = || front.get("slug").map(sanitized);
        let sections = self.sections(bare, is_section);
        let mut address = String::new();
        for token in tokens(&self.pattern) {
            match token {
                Token::Text(text) => address.push_str(text),
                Token::Name("year", _) => address.push_str(part(0, 4)),
                Token::Name("month", _) => address.push_str(part(5, 7)),
                Token::Name("day", _) => address.push_str(part(8, 10)),
                Token::Name("section", _) => address.push_str(&self.section),
                Token::Name("sections", slice) => {
                    let parts = slice.map_or(Some(sections.as_slice()), |slice| cut(&sections, slice));
                    address.push_str(&sanitized(&parts.unwrap_or_default().join("/")));
                }
                Token::Name("title", _) => address.push_str(&title()),
                Token::Name("slug", _) => address.push_str(&slug().unwrap_or_else(title)),
                Token::Name(name_of, _) if name_of.starts_with("slugor") => {
                    address.push_str(&slug().unwrap_or_else(|| sanitized(name)));
                }
                Token::Name(..) => address.push_str(&sanitized(name)),
            }
        }
        let parts: Vec<&str> = address.split('/').filter(|part| !part.is_empty()).collect();
        parts.join("/").to_lowercase()
    }

    /// The parts of the path of the section that a page is in; a list is in its own. Folders above a section count,
    /// whether they are sections or not.
    fn sections<'p>(&self, bare: &'p str, is_section: &dyn Fn(&str) -> bool) -> Vec<&'p str> {
        let mut folder = if self.is_of_lists { bare } else { paths::folder(bare) };
        while folder.contains('/') && !is_section(folder) {
            folder = paths::folder(folder);
        }
        folder.split('/').filter(|part| !part.is_empty()).collect()
    }
}

/// A part of a list as patterns name it: `1:`, `:last`, `0`. None for what nobody here understands.
fn cut<'a, 'p>(list: &'a [&'p str], slice: &str) -> Option<&'a [&'p str]> {
    let end = |written: &str, otherwise: usize| match written {
        "" => Some(otherwise),
        "last" => Some(list.len().saturating_sub(1)),
        number => number.parse::<usize>().ok().map(|number| number.min(list.len())),
    };
    match slice.split_once(':') {
        Some((from, to)) => list.get(end(from, 0)?..end(to, list.len())?).or(Some(&[])),
        None => {
            let at = end(slice, list.len())?;
            list.get(at..at + 1).or(Some(&[]))
        }
    }
}

enum Token<'p> {
    Text(&'p str),
    /// A name, and the part of what it stands for: `:sections[1:]`.
    Name(&'p str, Option<&'p str>),
}

fn tokens(pattern: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once(':') {
        found.push(Token::Text(before));
        let (name, after) = after.split_at(after.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(after.len()));
        let slice = after.strip_prefix('[').and_then(|inside| inside.split_once(']'));
        found.push(Token::Name(name, slice.map(|(slice, _)| slice)));
        rest = slice.map_or(after, |(_, rest)| rest);
    }
    found.push(Token::Text(rest));
    found
}

/// A text as Hugo puts it into a path: what may not stand there is left out, and spaces become hyphens.
pub(crate) fn sanitized(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_due = false;
    for c in text.chars() {
        if c.is_alphanumeric() || "./\\_#+~-@".contains(c) {
            if is_due && c != '-' {
                out.push('-');
            }
            is_due = false;
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') && c.is_whitespace() {
            is_due = true;
        }
    }
    out.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_filled_in() {
        let front = Front::of(
            &copydesk_values::yaml("title: What's - new?  In 2\ndate: 2024-05-06T10:00:00Z\n").unwrap().unwrap(),
        );
        for (pattern, expected) in [
            ("/:section/:year/:month/:slug/", "news/2024/05/whats-new-in-2"),
            ("/:year/:day/:filename", "2024/06/a-file"),
            ("/x/:sections/:title.html", "x/news/deep/whats-new-in-2.html"),
            ("/:sections[1:]/:slugorcontentbasename/", "deep/a-file"),
            ("/:sections[0]/:sections[:last]/x", "news/news/x"),
            ("/:sections[5:]/:filename", "a-file"),
        ] {
            let permalink = Permalink { section: "news".to_owned(), is_of_lists: false, pattern: pattern.to_owned() };
            assert!(permalink.is_known(), "{pattern}");
            assert_eq!(permalink.address("news/deep/a file", &front, &|_| true), expected, "{pattern}");
        }
        for pattern in ["/:sections[a]/:slug", "/:weekday/:slug"] {
            let permalink = Permalink { section: String::new(), is_of_lists: false, pattern: pattern.to_owned() };
            assert!(!permalink.is_known(), "{pattern}");
        }
    }
}
