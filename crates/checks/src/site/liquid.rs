//! Liquid in addresses, as far as the settings of the site tell what it comes to.

/// What stands between the marks of a template, and what kind it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    Text(&'t str),
    /// `{{ … }}`
    Value(&'t str),
    /// `{% … %}`
    Tag(&'t str),
}

/// An address in parts; none if a template in it does not end.
pub(crate) fn parts(written: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = written;
    while let Some(start) = ["{{", "{%"].iter().filter_map(|mark| rest.find(mark)).min() {
        let (before, template) = rest.split_at(start);
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        let is_value = template.starts_with("{{");
        let (inside, after) = template[2..].split_once(if is_value { "}}" } else { "%}" })?;
        let inside = inside.trim_start_matches('-').trim_end_matches('-').trim();
        parts.push(if is_value { Part::Value(inside) } else { Part::Tag(inside) });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Some(parts)
}

/// The text of an expression with filters; `name` tells what a name stands for, `base` is where the site is served.
pub(crate) fn value(expression: &str, base: &str, name: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut filters = split(expression, '|').into_iter();
    let mut text = atom(filters.next()?, name)?;
    for filter in filters {
        let (filter, argument) = filter.split_once(':').map_or((filter, None), |(it, argument)| (it, Some(argument)));
        text = match (filter.trim(), argument) {
            ("relative_url" | "absolute_url", None) => format!("{base}/{}", text.trim_start_matches('/')),
            ("prepend", Some(argument)) => format!("{}{text}", atom(argument, name)?),
            ("append", Some(argument)) => format!("{text}{}", atom(argument, name)?),
            ("strip" | "escape", None) => text,
            _ => return None,
        };
    }
    Some(text)
}

fn atom(written: &str, name: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let written = written.trim();
    match quoted(written) {
        Some(text) => Some(text.to_owned()),
        None => name(written),
    }
}

/// What stands between quotes.
pub(crate) fn quoted(written: &str) -> Option<&str> {
    ['"', '\'', '`'].into_iter().find_map(|quote| written.strip_prefix(quote)?.strip_suffix(quote))
}

/// Parts between a character that stands outside of quotes.
fn split(text: &str, at: char) -> Vec<&str> {
    let (mut quote, mut start, mut parts) = (None, 0, Vec::new());
    for (position, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c == at => {
                parts.push(&text[start..position]);
                start = position + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_come_to_text() {
        let name = |name: &str| (name == "site.baseurl").then(|| "/base".to_owned());
        for (expression, expected) in [
            ("'/a' | relative_url", Some("/base/a")),
            ("\"a|b\" | absolute_url", Some("/base/a|b")),
            ("site.baseurl", Some("/base")),
            ("'/a/' | prepend: site.baseurl | append: '#b'", Some("/base/a/#b")),
            ("page.url | relative_url", None),
            ("'/a' | slugify", None),
        ] {
            assert_eq!(value(expression, "/base", &name).as_deref(), expected, "{expression}");
        }
    }

    #[test]
    fn addresses_are_taken_apart() {
        let parts_of = parts("{{ site.url }}/a{%- link b.md -%}#c");
        let expected = [Part::Value("site.url"), Part::Text("/a"), Part::Tag("link b.md"), Part::Text("#c")];
        assert_eq!(parts_of.as_deref(), Some(&expected[..]));
        assert_eq!(parts("a{{ b"), None);
    }
}
