//! As much of Bitbucket's language for queries as narrows down a list of pull requests.

use super::bitbucket_views::state;
use super::state::Pull;

/// Comparisons that all must hold, each with alternatives of which one must.
pub(super) struct Filter(Vec<Vec<Comparison>>);

struct Comparison {
    field: String,
    equal: bool,
    value: String,
}

impl Filter {
    /// `source.branch.name = "x" AND (state = "OPEN" OR state = "MERGED")`; none if it is not like that.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = words(text)?.into_iter().peekable();
        let mut all = Vec::new();
        loop {
            let grouped = words.next_if(|word| word == "(").is_some();
            let mut any = vec![Comparison::read(&mut words)?];
            while words.next_if(|word| word.eq_ignore_ascii_case("or")).is_some() {
                any.push(Comparison::read(&mut words)?);
            }
            if grouped && words.next()? != ")" || !grouped && any.len() > 1 {
                return None;
            }
            all.push(any);
            match words.next() {
                None => return Some(Self(all)),
                Some(word) if word.eq_ignore_ascii_case("and") => {}
                Some(_) => return None,
            }
        }
    }

    pub(super) fn is_about(&self, field: &str) -> bool {
        self.0.iter().flatten().any(|comparison| comparison.field == field)
    }

    pub(super) fn fits(&self, pull: &Pull) -> bool {
        self.0.iter().all(|any| any.iter().any(|comparison| comparison.holds(pull)))
    }
}

impl Comparison {
    fn read(words: &mut impl Iterator<Item = String>) -> Option<Self> {
        let (field, operator, value) = (words.next()?, words.next()?, words.next()?);
        let known = ["source.branch.name", "destination.branch.name", "state", "title", "id"];
        let value = value.strip_prefix('"').unwrap_or(&value).to_owned();
        let fits = known.contains(&field.as_str()) && (operator == "=" || operator == "!=");
        fits.then(|| Self { field, equal: operator == "=", value })
    }

    fn holds(&self, pull: &Pull) -> bool {
        let there = match self.field.as_str() {
            "source.branch.name" => pull.head.clone(),
            "destination.branch.name" => pull.base.clone(),
            "state" => state(pull).to_owned(),
            "title" => pull.title.clone(),
            _ => pull.number.to_string(),
        };
        (there == self.value) == self.equal
    }
}

/// The words of a query. A text keeps the quote before it, so that it cannot be taken for a word.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' | '=' => 1,
            '!' if rest.starts_with("!=") => 2,
            '"' => {
                let (word, length) = quoted(rest)?;
                words.push(word);
                rest = rest[length..].trim_start();
                continue;
            }
            _ => rest.find(|c: char| c.is_whitespace() || "()=!\"".contains(c)).unwrap_or(rest.len()),
        };
        if length == 0 {
            return None;
        }
        words.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    Some(words)
}

/// A text in quotes, with its first quote and without what escapes, and how long it was.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut word = String::from("\"");
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((word, at + 1)),
            '\\' => word.push(letters.next()?.1),
            letter => word.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Filter;

    #[test]
    fn queries_are_read_or_refused() {
        for (text, fits) in [
            (r#"source.branch.name = "docs/more""#, true),
            (r#"source.branch.name="a\"b\\" AND state != "OPEN""#, true),
            (r#"title = "x" AND (state = "OPEN" OR state = "MERGED")"#, true),
            ("id = 7", true),
            (r#"source.branch = "x""#, false),
            (r#"title ~ "x""#, false),
            (r#"title = "x"#, false),
            (r#"state = "OPEN" OR state = "MERGED""#, false),
            (r#"title = "x" AND"#, false),
            ("", false),
        ] {
            assert_eq!(Filter::parse(text).is_some(), fits, "{text}");
        }
    }

    #[test]
    fn a_text_that_escapes_is_one_text() {
        let filter = Filter::parse(r#"source.branch.name = "a\" OR \"b""#).unwrap();
        assert_eq!(filter.0.len(), 1);
        assert_eq!(filter.0[0][0].value, "a\" OR \"b");
    }
}
