//! Small things about words: cutting, counting and listing them.

use std::ops::Range;

/// The text, cut to at most `most` characters and set on one line.
pub(crate) fn clip(text: &str, most: usize) -> String {
    let line: String = text.chars().take(most + 1).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Where the line of a place starts and ends, or where so many bytes before and after it are. A text may be one long line,
/// and is looked at in many places.
pub(crate) fn line_around(text: &str, at: &Range<usize>, most: usize) -> Range<usize> {
    let boundary = |mut place: usize| {
        while !text.is_char_boundary(place) {
            place -= 1;
        }
        place
    };
    let from = boundary(at.start.saturating_sub(most));
    let to = boundary((at.end + most).min(text.len()));
    let start = text[from..at.start].rfind('\n').map_or(from, |end| from + end + 1);
    let end = text[at.end..to].find('\n').map_or(to, |end| at.end + end);
    start..end
}

/// `a, b and c`; after the first `most` only how many more there are.
pub(crate) fn listed(names: &[String], most: usize) -> String {
    let shown = names.len().min(most);
    let more = names.len() - shown;
    let mut parts: Vec<String> = names[..shown].to_vec();
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    match parts.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_by_characters_and_keeps_to_one_line() {
        assert_eq!(clip("äöü", 3), "äöü");
        assert_eq!(clip("äöüß", 3), "äö…");
        assert_eq!(clip("a\nb", 9), "a b");
    }

    #[test]
    fn lists_are_cut() {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(listed(&names(&["a"]), 3), "a");
        assert_eq!(listed(&names(&["a", "b"]), 3), "a and b");
        assert_eq!(listed(&names(&["a", "b", "c", "d"]), 2), "a, b and 2 more");
    }
}
