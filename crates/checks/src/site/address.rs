//! Addresses as links write them, and as sites know them: without slashes around them.

use percent_encoding::percent_decode_str;

/// A link's address in parts, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) path: String,
    pub(crate) fragment: Option<String>,
}

/// What a link's target is, before anything is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Local(Address),
    /// Another host, or something that is no page at all, such as an address of mail.
    Elsewhere,
    /// It holds marks of a template, which only building the site fills in.
    Template,
    /// It is no address: percent-encoding that means nothing, or a query of this page.
    Odd,
}

/// Takes the target of a link apart.
pub(crate) fn target(written: &str) -> Target {
    let written = written.trim();
    if written.starts_with("//") || has_scheme(written) {
        return Target::Elsewhere;
    }
    if written.contains(['{', '}', '<', '>', '$', '`']) {
        return Target::Template;
    }
    if written.is_empty() || written.contains(['\\', '\0', '\n']) {
        return Target::Odd;
    }
    let (rest, fragment) = written.split_once('#').map_or((written, None), |(rest, fragment)| (rest, Some(fragment)));
    let path = rest.split('?').next().unwrap_or_default();
    if path.is_empty() && rest.contains('?') {
        return Target::Odd;
    }
    let fragment = fragment.map(|fragment| decoded(fragment).unwrap_or_else(|| fragment.to_owned()));
    match decoded(path).filter(|decoded| decoded.matches('/').count() == path.matches('/').count()) {
        Some(path) => Target::Local(Address { path, fragment }),
        None => Target::Odd,
    }
}

/// A local address in parts; none if the target is anything else.
pub(crate) fn address(written: &str) -> Option<Address> {
    if let Target::Local(address) = target(written) { Some(address) } else { None }
}

fn has_scheme(target: &str) -> bool {
    let scheme = target.split(['/', '#', '?']).next().unwrap_or_default();
    scheme.split_once(':').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// Percent-encoding resolved; none if it means nothing.
fn decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let is_coded = |part: &str| part.get(..2).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    let is_odd =
        |part: &str| part.starts_with("00") || part.get(..2).is_some_and(|code| code.eq_ignore_ascii_case("5c"));
    if !text.split('%').skip(1).all(|part| is_coded(part) && !is_odd(part)) {
        return None;
    }
    Some(percent_decode_str(text).decode_utf8().ok()?.into_owned())
}

/// An address without the slashes around it.
pub(crate) fn plain(address: &str) -> &str {
    address.trim_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_taken_apart() {
        let local = |path: &str, fragment: Option<&str>| {
            Target::Local(Address { path: path.to_owned(), fragment: fragment.map(str::to_owned) })
        };
        for (written, expected) in [
            ("a.md", local("a.md", None)),
            ("/a/b?x=1#c", local("/a/b", Some("c"))),
            ("#top", local("", Some("top"))),
            ("#a%2Fb", local("", Some("a/b"))),
            ("a%20b.md#%C3%A9", local("a b.md", Some("é"))),
            ("v1:2/x", Target::Elsewhere),
            ("https://x", Target::Elsewhere),
            ("mailto:a@b", Target::Elsewhere),
            ("//host/x", Target::Elsewhere),
            ("{{ x }}", Target::Template),
            ("?q=1", Target::Odd),
            ("a%2Fb", Target::Odd),
            ("a%zz", Target::Odd),
            ("", Target::Odd),
        ] {
            assert_eq!(target(written), expected, "{written}");
        }
    }
}
