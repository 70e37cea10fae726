//! Finds the setting somebody probably meant.

use strsim::osa_distance;

use super::settings::SETTINGS;

/// A name that would have been right.
pub(super) struct Meant {
    /// A key, or what the source writes instead.
    pub(super) name: String,
    /// Whether a value meant for it must not be shown.
    pub(super) secret: bool,
}

/// The setting, or the one of `others`, whose key is close to this one.
pub(super) fn nearest(key: &str, others: &[&str]) -> Option<Meant> {
    let settings = SETTINGS.iter().map(|setting| (setting.key, setting.secrecy.is_secret()));
    let candidates: Vec<_> = settings.chain(others.iter().map(|key| (*key, true))).collect();
    let close = candidates
        .iter()
        .map(|candidate| (osa_distance(key, candidate.0), candidate))
        .filter(|(slips, (name, _))| *slips <= (leaf(name).len() / 3).clamp(1, 3))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate);
    // The right name in a wrong or missing section is far away in letters.
    let elsewhere = || candidates.iter().find(|(name, _)| leaf(name) == leaf(key));
    let (name, secret) = close.or_else(elsewhere)?;
    Some(Meant { name: (*name).to_owned(), secret: *secret })
}

fn leaf(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}
