//! The addresses that Hugo gives to the pages of a section by `permalinks`.

use copydesk_values::Value;

use super::generator::Front;
use crate::paths;

/// How the pages of one section are addressed.
#[derive(Debug)]
pub(crate) struct Permalink {
    pub(crate) section: String,
    pattern: String,
}

/// Where Hugo looks for the date of a page, in this order.
const DATES: [&str; 6] = ["date", "publishDate", "pubdate", "published", "lastmod", "modified"];

/// The permalinks of a configuration, also in the form that tells kinds of pages apart.
pub(crate) fn of(config: &Value) -> Vec<Permalink> {
    let settings = config.get("permalinks").map(Value::entries).unwrap_or_default();
    let pages = settings.iter().find(|(key, _)| key.name == "page").map(|(_, value)| value.entries());
    let all = settings.iter().chain(pages.unwrap_or_default());
    all.filter_map(|(key, value)| Some(Permalink { section: key.name.clone(), pattern: value.text()?.to_owned() }))
        .collect()
}

impl Permalink {
    /// Whether everything in the pattern is known here.
    pub(crate) fn is_known(&self) -> bool {
        let names = ["year", "month", "day", "section", "sections", "title", "slug", "filename", "contentbasename"];
        let more = ["slugorfilename", "slugorcontentbasename"];
        tokens(&self.pattern).all(|token| match token {
            Token::Name(name) => names.contains(&name) || more.contains(&name),
            Token::Text(text) => !text.contains(['[', ':']),
        })
    }

    /// The address of the page whose path below the content folder is `bare`, without its ending.
    pub(crate) fn address(&self, bare: &str, front: &Front) -> String {
        let name = paths::file_name(bare);
        let date = DATES.iter().find_map(|field| front.get(field)).unwrap_or(name);
        let part = |from: usize, to: usize| date.get(from..to).unwrap_or_default();
        let title = || sanitized(front.get("title").unwrap_or(name));
        let slug = || front.get("slug").map(sanitized);
        let mut address = String::new();
        for token in tokens(&self.pattern) {
            match token {
                Token::Text(text) => address.push_str(text),
                Token::Name("year") => address.push_str(part(0, 4)),
                Token::Name("month") => address.push_str(part(5, 7)),
                Token::Name("day") => address.push_str(part(8, 10)),
                Token::Name("section") => address.push_str(&self.section),
                Token::Name("sections") => address.push_str(&sanitized(paths::folder(bare))),
                Token::Name("title") => address.push_str(&title()),
                Token::Name("slug") => address.push_str(&slug().unwrap_or_else(title)),
                Token::Name(name_of) if name_of.starts_with("slugor") => {
                    address.push_str(&slug().unwrap_or_else(|| sanitized(name)));
                }
                Token::Name(_) => address.push_str(&sanitized(name)),
            }
        }
        address.trim_matches('/').to_lowercase()
    }
}

enum Token<'p> {
    Text(&'p str),
    Name(&'p str),
}

fn tokens(pattern: &str) -> impl Iterator<Item = Token<'_>> {
    pattern.split(':').enumerate().flat_map(|(number, part)| {
        if number == 0 {
            return [Token::Text(part), Token::Text("")];
        }
        let end = part.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(part.len());
        [Token::Name(&part[..end]), Token::Text(&part[end..])]
    })
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
        ] {
            let permalink = Permalink { section: "news".to_owned(), pattern: pattern.to_owned() };
            assert!(permalink.is_known(), "{pattern}");
            assert_eq!(permalink.address("news/deep/a file", &front), expected, "{pattern}");
        }
        for pattern in ["/:sections[1:]/:slug", "/:weekday/:slug"] {
            assert!(!Permalink { section: String::new(), pattern: pattern.to_owned() }.is_known(), "{pattern}");
        }
    }
}
