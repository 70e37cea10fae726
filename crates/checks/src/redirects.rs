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
    /// Whether any number of parts may follow.
    rest: bool,
    end: bool,
}

impl Sources {
    pub(crate) fn of<'a>(sources: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for source in sources {
            let mut at = &mut all;
            for part in parts(source).take(DEEPEST) {
                if is_rest(part) {
                    at.rest = true;
                    break;
                }
                at = match part.split_once(['*', ':']) {
                    None => at.named.entry(part.to_owned()).or_default(),
                    Some(("", _)) => at.any.get_or_insert_default(),
                    Some((prefix, _)) => at.begun.entry(prefix.to_owned()).or_default(),
                };
            }
            at.end |= !at.rest;
        }
        all
    }

    /// Whether one of them is for this address.
    pub(crate) fn hold(&self, address: &str) -> bool {
        let address: Vec<&str> = parts(address).take(DEEPEST).collect();
        self.hold_parts(&address)
    }

    fn hold_parts(&self, address: &[&str]) -> bool {
        let Some((part, address)) = address.split_first() else { return self.end || self.rest };
        let begun = |at: &usize| part.is_char_boundary(*at) && *at > 0;
        self.rest
            || self.named.get(*part).is_some_and(|next| next.hold_parts(address))
            || self.any.as_ref().is_some_and(|next| next.hold_parts(address))
            || !self.begun.is_empty()
                && (1..=part.len())
                    .filter(begun)
                    .any(|at| self.begun.get(&part[..at]).is_some_and(|next| next.hold_parts(address)))
    }
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
            assert_eq!(sources.hold(address), expected, "{source} {address}");
        }
    }
}
