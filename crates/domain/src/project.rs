use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::text_id;
use crate::{Dollars, HostSettings, Invalid, Repository, Timestamp, ViewSettings};

/// A project's id: 1 to 64 lower-case letters, digits and dashes, so that it is safe in an address. What comes from
/// outside is looked at by `parse`; `from` takes the word of the database.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectId(Arc<str>);

text_id!(ProjectId);

impl<'de> Deserialize<'de> for ProjectId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl ProjectId {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(plain);
        if fits && !text.starts_with('-') && !text.ends_with('-') {
            Ok(Self(text.into()))
        } else {
            Err(Invalid::new("id", "must be 1 to 64 lower-case letters, digits and dashes, no dash at either end"))
        }
    }

    /// The id that a project of this name gets if it is free.
    pub fn from_name(name: &str) -> Self {
        let mut slug = String::new();
        for c in name.chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        slug.truncate(48);
        let slug = slug.trim_matches('-');
        Self(if slug.is_empty() { "project" } else { slug }.into())
    }

    /// The same id with a word behind it.
    pub fn with_suffix(&self, suffix: &str) -> Self {
        Self(format!("{self}-{suffix}").into())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The id in every address.
    pub id: ProjectId,
    /// What people call it.
    pub name: String,
    /// Where its documentation lives.
    pub repository: Repository,
    /// The branch that jobs start from.
    pub base_ref: String,
    /// The folders that jobs may edit.
    pub docs_paths: Vec<String>,
    /// What else jobs may or may not write.
    pub write_paths: WritePaths,
    /// IANA name of the zone in which days are reported.
    pub time_zone: String,
    /// Job creations and messages an hour; none: the server's default; 0: no limit.
    pub jobs_per_hour: Option<u32>,
    /// Jobs running at a time; none: the server's default; 0: no limit.
    pub max_running: Option<u32>,
    /// How long a job may run, in seconds; none: the server's default.
    pub time_limit_seconds: Option<u32>,
    /// US dollars that a prompt of a job may cost, where prices are known; none: what the server allows.
    pub job_cost: Option<Dollars>,
    /// What happens to a change that causes new findings of the docs checks.
    pub on_findings: OnFindings,
    /// How its page views are collected, counted and kept.
    pub views: ViewSettings,
    /// How its code host is reached.
    pub host: HostSettings,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Patterns of paths such as `docs/data/*.json`; the name of a folder stands for all that is below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct WritePaths {
    /// What jobs may write although it is not recognised as documentation.
    pub allow: Vec<String>,
    /// What jobs may never write.
    pub deny: Vec<String>,
}

/// More patterns than these nobody oversees.
pub const MAX_PATTERNS: usize = 100;

/// What happens to a change that causes new findings of the docs checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnFindings {
    /// The pull request is opened as a draft, with the findings in its text.
    #[default]
    Draft,
    /// The job fails.
    Fail,
}

impl OnFindings {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Fail => "fail",
        }
    }

    /// The one of that word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Draft, Self::Fail].into_iter().find(|it| it.as_str() == text)
    }
}

/// A folder inside the repository, in its plain form: `docs`, `site/content`, or `.` for all of it.
pub fn docs_path(text: &str) -> Result<String, Invalid> {
    let wrong = || Invalid::new("docs_path", format!("must be a folder inside the repository, not {text:?}"));
    if text.is_empty()
        || text.len() > 1024
        || text.starts_with('/')
        || text.chars().any(|c| c.is_control() || c == '\\')
    {
        return Err(wrong());
    }
    let parts: Vec<_> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.iter().any(|part| *part == ".." || part.eq_ignore_ascii_case(".git")) {
        return Err(wrong());
    }
    Ok(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}

/// A pattern of paths inside the repository, in its plain form: `docs/data`, `docs/**/*.json`.
pub fn path_pattern(field: &'static str, text: &str) -> Result<String, Invalid> {
    match docs_path(text) {
        Ok(pattern) if pattern != "." => Ok(pattern),
        _ => Err(Invalid::new(
            field,
            format!("must be a path inside the repository, or a pattern of some, not {text:?}"),
        )),
    }
}

/// A branch name, by git's own rules (`git check-ref-format`).
pub fn git_ref(field: &'static str, text: &str) -> Result<String, Invalid> {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let wrong = text.is_empty()
        || text.len() > 255
        || text == "@"
        || text.starts_with('-')
        || text.ends_with('.')
        || text.contains("..")
        || text.contains("@{")
        || text.contains(forbidden)
        || text.split('/').any(bad_part);
    if wrong { Err(Invalid::new(field, "must be a branch name that git accepts")) } else { Ok(text.to_owned()) }
}

/// An IANA time zone name.
pub fn time_zone(text: &str) -> Result<String, Invalid> {
    match jiff::tz::TimeZone::get(text) {
        Ok(zone) => Ok(zone.iana_name().unwrap_or(text).to_owned()),
        Err(_) => {
            Err(Invalid::new("time_zone", format!("must be an IANA time zone such as Europe/Berlin, not {text:?}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_come_from_names() {
        assert_eq!(ProjectId::from_name("Acme Docs (v2)!").as_str(), "acme-docs-v2");
        assert_eq!(ProjectId::from_name("文档").as_str(), "project");
    }

    #[test]
    fn docs_paths_stay_inside() {
        assert_eq!(docs_path("./docs//guides/").unwrap(), "docs/guides");
        assert_eq!(docs_path(".").unwrap(), ".");
        for text in ["", "/etc", "../x", "docs/../../x", ".git", "docs/.GIT/x", "a\\b", "a\0b"] {
            assert!(docs_path(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn branch_names_follow_git() {
        for good in ["main", "feature/x", "v1.2", "@x", "ünïcode"] {
            assert!(git_ref("baseRef", good).is_ok(), "{good:?}");
        }
        for bad in
            ["", "@", "-x", "a..b", "a b", "a~1", "x.lock", "a/.b", "a//b", "/a", "a/", "a.", "x@{1}", "a:b", "a\x7f"]
        {
            assert!(git_ref("baseRef", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn zones_are_known_ones() {
        assert_eq!(time_zone("Asia/Kolkata").unwrap(), "Asia/Kolkata");
        assert!(time_zone("Mars/Olympus").is_err());
    }

    proptest! {
        #[test]
        fn every_name_gives_a_valid_id(name in ".{0,80}") {
            let id = ProjectId::from_name(&name);
            prop_assert_eq!(ProjectId::parse(id.as_str()), Ok(id.clone()));
            prop_assert!(ProjectId::parse(id.with_suffix("abcdef").as_str()).is_ok());
        }

        #[test]
        fn a_docs_path_is_stable_and_relative(text in "[a-z./]{1,20}") {
            if let Ok(path) = docs_path(&text) {
                prop_assert_eq!(docs_path(&path), Ok(path.clone()));
                prop_assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."));
            }
        }
    }
}
