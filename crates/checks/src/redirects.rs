//! Addresses that redirects are for.

use std::collections::HashMap;

/// The sources of many redirects, in the form of a tree, so that an address is not compared with each.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// What follows a part that is named in full.
    named: HashMap<String, Self>,
    /// What follows a part that may be anything.
    any: Option<Box<Self>>,
    /// What follows a part that begins like this.
    begun: HashMap<String, Self>,
    /// The number of the redirect after which any number of parts may follow.
    rest: Option<usize>,
    /// The number of the redirect that ends here.
    end: Option<usize>,
}

impl Sources {
    pub(crate) fn of<'a>(sources: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for (number, source) in sources.enumerate() {
            let mut at = &mut all;
            let mut is_open = false;
            for part in parts(source).take(DEEPEST) {
                if is_rest(part) {
                    is_open = true;
                    break;
                }
                at = match part.split_once(['*', ':']) {
                    None => at.named.entry(part.to_owned()).or_default(),
                    Some(("", _)) => at.any.get_or_insert_default(),
                    Some((prefix, _)) => at.begun.entry(prefix.to_owned()).or_default(),
                };
            }
            // The first that is written counts.
            if is_open { &mut at.rest } else { &mut at.end }.get_or_insert(number);
        }
        all
    }

    /// The number of the one that is for this address.
    pub(crate) fn find(&self, address: &str) -> Option<usize> {
        let address: Vec<&str> = parts(address).take(DEEPEST).collect();
        self.find_parts(&address)
    }

    fn find_parts(&self, address: &[&str]) -> Option<usize> {
        let Some((part, address)) = address.split_first() else { return self.end.or(self.rest) };
        let begun = |at: &usize| part.is_char_boundary(*at) && *at > 0;
        let named = self.named.get(*part).and_then(|next| next.find_parts(address));
        named.or_else(|| self.any.as_ref()?.find_parts(address)).or(self.rest).or_else(|| {
            let mut ends = (1..=part.len()).filter(begun).filter(|_| !self.begun.is_empty());
            ends.find_map(|at| self.begun.get(&part[..at])?.find_parts(address))
        })
    }
}

/// Where a redirect leads from an address, if the names in both of its ends tell; none if that is not plain.
pub(crate) fn destination(source: &str, to: &str, address: &str) -> Option<String> {
    let address: Vec<&str> = parts(address).collect();
    let mut names: Vec<(&str, String)> = Vec::new();
    for (number, part) in parts(source).enumerate() {
        if is_rest(part) {
            let rest = address.get(number..).unwrap_or_default().join("/");
            names.push(if part.starts_with(':') { (part, rest) } else { (":splat", rest) });
            break;
        }
        match part.strip_prefix(':') {
            Some(name) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                names.push((part, (*address.get(number)?).to_owned()));
            }
            _ if is_pattern(part) => return None,
            _ => {}
        }
    }
    let mut filled = to.to_owned();
    for (name, value) in names {
        let bare = name.trim_end_matches(['*', '+']);
        filled = filled.replace(name, &value).replace(bare, &value);
    }
    let is_local = filled.starts_with('/') && !filled.starts_with("//");
    (is_local && !filled.contains(['*', ':', '(', '#', '?'])).then_some(filled)
}

/// Deeper addresses are compared up to here.
const DEEPEST: usize = 32;

fn parts(address: &str) -> impl Iterator<Item = &str> {
    let path = address.split(['#', '?']).next().unwrap_or_default();
    path.split('/').filter(|part| !part.is_empty())
}

/// `:slug*` and `*` stand for any number of parts.
fn is_rest(part: &str) -> bool {
    part == "*" || part == "**" || part.starts_with(':') && part.ends_with(['*', '+'])
}

/// Whether an address holds wildcards.
pub(crate) fn is_pattern(address: &str) -> bool {
    address.contains(['*', ':', '('])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_match_addresses() {
        for (source, address, expected) in [
            ("/old", "/old", true),
            ("/old", "/old/", true),
            ("/old", "/old#part", true),
            ("/old", "/older", false),
            ("/old/:slug*", "/old/a/b", true),
            ("/old/:slug*", "/old", true),
            ("/old/:slug*", "/new/a", false),
            ("/v1/:page/edit", "/v1/x/edit", true),
            ("/v1/:page/edit", "/v1/x/y", false),
            ("/a/*", "/a/b/c", true),
            ("/beta-*", "/beta-one", true),
        ] {
            let sources = Sources::of(["/elsewhere/:slug*", source].into_iter());
            assert_eq!(sources.find(address).is_some(), expected, "{source} {address}");
        }
    }

    #[test]
    fn redirects_lead_where_their_names_say() {
        for (source, to, address, expected) in [
            ("/old", "/new", "old", Some("/new")),
            ("/old/:slug*", "/new/:slug*", "old/a/b", Some("/new/a/b")),
            ("/old/:slug*", "/new/:slug", "old/a/b", Some("/new/a/b")),
            ("/old/*", "/new/:splat", "old/a", Some("/new/a")),
            ("/v1/:page/edit", "/edit/:page", "v1/x/edit", Some("/edit/x")),
            ("/old", "https://x.example", "old", None),
            ("/old", "/new#part", "old", None),
            ("/v1/:page(.*)", "/new/:page", "v1/x", None),
        ] {
            assert_eq!(destination(source, to, address).as_deref(), expected, "{source}");
        }
    }
}
