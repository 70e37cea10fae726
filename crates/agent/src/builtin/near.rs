//! Names that somebody may have meant.

use std::collections::BTreeSet;

/// Longer names are not compared letter by letter.
const LONGEST: usize = 120;

/// Up to three pages and folders whose path is close to `written`, the closest first.
pub(crate) fn near(written: &str, pages: &[String]) -> Vec<String> {
    let mut names: BTreeSet<&str> = pages.iter().map(String::as_str).collect();
    for page in pages {
        names.extend(page.match_indices('/').map(|(at, _)| &page[..at]));
    }
    let mut close: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((slips(written, name)?, name))).collect();
    close.sort_unstable();
    close.truncate(3);
    close.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// How far apart two paths are; none if too far. The same name elsewhere is close.
fn slips(written: &str, name: &str) -> Option<usize> {
    let leaf = |path: &str| path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let stem = |path: &str| leaf(path).rsplit_once('.').map_or_else(|| leaf(path), |(stem, _)| stem.to_owned());
    if stem(written) == stem(name) {
        return Some(1);
    }
    if written.len().max(name.len()) > LONGEST || written.len().abs_diff(name.len()) > 3 {
        return None;
    }
    let most = (leaf(name).len() / 3).clamp(1, 3);
    Some(strsim::levenshtein(written, name)).filter(|slips| *slips <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_other_folders_are_near() {
        let pages = ["docs/guides/start.mdx", "docs/guides/stop.mdx", "docs/api.md"].map(str::to_owned);
        assert_eq!(near("docs/guide", &pages), ["docs/guides"]);
        assert_eq!(near("docs/start.md", &pages), ["docs/guides/start.mdx"]);
        assert_eq!(near("docs/guides/strat.mdx", &pages), ["docs/guides/start.mdx"]);
        assert!(near("zebra", &pages).is_empty());
    }
}
