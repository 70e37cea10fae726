//! The configuration as text: the one in force, and a sample file.

use std::fmt::Write as _;

use super::Config;
use super::error::Origin;
use super::kind::Kind;
use super::load::defaults;
use super::settings::{Fallback, SETTINGS, Setting};

/// A setting with its value in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Key of the setting.
    pub key: &'static str,
    /// Its value, with secrets masked.
    pub shown_value: String,
    /// Where the value came from.
    pub origin: Origin,
}

impl Config {
    /// All settings with their values, in the order of [`SETTINGS`].
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        SETTINGS
            .iter()
            .zip(&self.origins)
            .map(|(setting, origin)| Entry {
                key: setting.key,
                shown_value: setting.show(self),
                origin: origin.clone(),
            })
            .collect()
    }

    /// A table of key, value and origin, one setting a line.
    #[must_use]
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
# Every setting stands here with its default; remove the # before one to change it.
# Stronger than this file are environment variables, such as COPYDESK_LISTEN or
# COPYDESK_LIMITS__JOBS_PER_HOUR, and then command-line flags.
# `copydesk config` prints the values in force and where each comes from.
";

/// A `copydesk.toml` with every setting, its description and its default,
/// commented out.
#[must_use]
pub fn sample() -> String {
    let defaults = defaults();
    let mut text = SAMPLE_HEAD.to_owned();
    let mut section = "";
    for setting in SETTINGS {
        if setting.section() != section {
            section = setting.section();
            let _ = write!(text, "\n[{section}]\n");
        }
        let _ = write!(text, "\n# {}: {}.\n", setting.description, setting.kind.expects());
        match setting.default {
            Fallback::Derived(words) => drop(writeln!(text, "# The default is {words}.")),
            Fallback::Unset => text.push_str("# It may be left out.\n"),
            Fallback::Value(_) => {}
        }
        let _ = writeln!(text, "#{} = {}", setting.leaf(), literal(setting, &defaults));
    }
    text
}

/// The value in force as TOML.
fn literal(setting: &Setting, config: &Config) -> String {
    match &setting.kind {
        Kind::Whole { .. } => setting.show(config),
        Kind::Models(field) => {
            let items: Vec<_> = (field.get)(config).iter().map(|one| string(one)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => string(&setting.show(config)),
    }
}

fn string(text: &str) -> String {
    toml::Value::from(text).to_string()
}
