//! Addresses that redirects are for.

/// Whether the source of a redirect, which may hold wildcards, is for this address.
pub(crate) fn matches(source: &str, address: &str) -> bool {
    let source: Vec<&str> = parts(source).collect();
    let address: Vec<&str> = parts(address).collect();
    matches_parts(&source, &address)
}

fn parts(address: &str) -> impl Iterator<Item = &str> {
    let path = address.split(['#', '?']).next().unwrap_or_default();
    path.split('/').filter(|part| !part.is_empty())
}

fn matches_parts(source: &[&str], address: &[&str]) -> bool {
    match (source, address) {
        ([], []) => true,
        ([first, ..], _) if is_rest(first) => true,
        ([first, source @ ..], [part, address @ ..]) => {
            (first.starts_with(':') || covers(first, part)) && matches_parts(source, address)
        }
        _ => false,
    }
}

/// `:slug*` and `*` stand for any number of parts.
fn is_rest(part: &str) -> bool {
    part == "*" || part == "**" || part.starts_with(':') && part.ends_with(['*', '+'])
}

fn covers(pattern: &str, part: &str) -> bool {
    match pattern.split_once(['*', ':']) {
        Some((prefix, _)) => part.starts_with(prefix),
        None => pattern == part,
    }
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
            assert_eq!(matches(source, address), expected, "{source} {address}");
        }
    }
}
