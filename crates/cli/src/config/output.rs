//! The configuration as text: the one in force, and a sample file.

use std::fmt::Write as _;

use super::kind::UNSET;
use super::origin::Origin;
use super::settings::{Config, SETTINGS};

/// A setting with its value in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: &'static str,
    /// Its value, with secrets masked.
    pub shown_value: String,
    pub origin: Origin,
}

impl Config {
    /// All settings with their values, in the order of [`SETTINGS`].
    pub fn entries(&self) -> Vec<Entry> {
        SETTINGS
            .iter()
            .zip(&self.origins)
            .map(|(setting, origin)| Entry {
                key: setting.key,
                shown_value: (setting.show)(self),
                origin: origin.clone(),
            })
            .collect()
    }

    /// A table of key, value and origin, one setting a line.
    pub fn to_text(&self) -> String {
        let entries = self.entries();
        let width = |of: fn(&Entry) -> &str| {
            let widths = entries.iter().map(|entry| of(entry).chars().count());
            widths.max().unwrap_or(0)
        };
        let keys = width(|entry| entry.key);
        let values = width(|entry| &entry.shown_value);
        entries
            .iter()
            .map(|Entry { key, shown_value, origin }| format!("{key:keys$}  {shown_value:values$}  {origin}\n"))
            .collect()
    }
}

const SAMPLE_HEAD: &str = "\
# Configuration of Copydesk.
#
# This file lists every setting with its default. To change one, remove the # in front of it.
# Environment variables such as COPYDESK_LISTEN or COPYDESK_LIMITS__JOBS_PER_HOUR win over
# this file, and command-line flags win over both.
# `copydesk config` prints the values in force and where each comes from.
";

/// A `copydesk.toml` with every setting, its description and its default,
/// commented out.
pub fn sample() -> String {
    let defaults = Config::defaults();
    let mut text = SAMPLE_HEAD.to_owned();
    let mut section = "";
    for setting in SETTINGS.iter() {
        if setting.section() != section {
            section = setting.section();
            let _ = write!(text, "\n[{section}]\n");
        }
        let _ = write!(text, "\n# {}: {}.\n", setting.description, setting.expects);
        let shown = (setting.show)(&defaults);
        if let Some(words) = setting.derived {
            let _ = writeln!(text, "# The default is {words}.");
        } else if shown == UNSET {
            text.push_str("# It may be left out.\n");
        }
        let value = (setting.to_toml)(&defaults).unwrap_or_else(|| shown.into());
        let _ = writeln!(text, "#{} = {value}", setting.leaf());
    }
    text
}
