//! Further repositories that the agents of a project may read: the product's code, an SDK, an interface's description.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{HostSettings, Invalid, Project, ProjectId, Repository, Timestamp, git_ref};

/// How many code sources a project can have.
pub const MAX_CODE_SOURCES: usize = 16;

/// A repository that is read and never written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSource {
    pub project_id: ProjectId,
    /// What it is called in its project; `@` and this begin the paths of its files.
    pub name: String,
    /// Where it is.
    pub repository: Repository,
    /// The branch that is read; none: its main branch.
    pub branch: Option<String>,
    /// How its host is reached.
    pub host: HostSettings,
    pub created_at: Timestamp,
}

impl CodeSource {
    /// How its host is reached: as its settings say, or else as the project's host is, if both are on the same one.
    pub fn host_in<'a>(&'a self, project: &'a Project) -> &'a HostSettings {
        let is_told = self.host != HostSettings::default();
        if !is_told && self.repository.is_beside(&project.repository) { &project.host } else { &self.host }
    }

    /// Whether its host is shown the project's credential if it has none of its own: on the same host only, and not where
    /// an interface of its own is named, which may be anybody's.
    pub fn shares_credential(&self, project: &Project) -> bool {
        self.repository.is_beside(&project.repository) && self.host.api_url.is_none()
    }
}

/// The name of a code source: it stands in paths and in addresses.
pub fn code_source_name(field: &'static str, text: &str) -> Result<String, Invalid> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let fits = (1..=32).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('-');
    if fits {
        Ok(text.to_owned())
    } else {
        Err(Invalid::new(field, "must be 1 to 32 lower-case letters, digits and dashes, with no dash at the beginning"))
    }
}

/// A range of commits
///
/// What changed in a code source that the documentation should be updated for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobChanges))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeRange {
    /// The name of a code source of the project.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[a-z0-9][a-z0-9-]{0,31}$", example = "sdk"))]
    pub source: String,
    /// A tag, a commit id or a branch: the range begins after it.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 255, example = "v1.4"))]
    pub from: String,
    /// A tag, a commit id or a branch: the range ends with it. By default the commit that the source is at.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 255, example = "v1.5"))]
    #[serde(default)]
    pub to: Option<String>,
}

impl ChangeRange {
    /// All that is wrong with it, by the names that fields have in the interface.
    pub fn check(&self) -> Result<(), Vec<Invalid>> {
        let told = |field, wrong: Invalid| {
            Invalid::new(field, wrong.message.replace("a branch name", "a tag, a commit id or a branch"))
        };
        let source = code_source_name("changes.source", &self.source).err();
        let from = git_ref("changes.from", &self.from).err().map(|wrong| told("changes.from", wrong));
        let to = self.to.as_deref().and_then(|to| git_ref("changes.to", to).err());
        let to = to.map(|wrong| told("changes.to", wrong));
        let wrong: Vec<Invalid> = source.into_iter().chain(from).chain(to).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// Reads `SOURCE:FROM..TO`, of which `..TO` may be missing.
    pub fn parse(text: &str) -> Option<Self> {
        let (source, range) = text.split_once(':')?;
        let (from, to) = range.split_once("..").unwrap_or((range, ""));
        let to = (!to.is_empty()).then(|| to.to_owned());
        Some(Self { source: source.to_owned(), from: from.to_owned(), to })
    }
}

impl fmt::Display for ChangeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}..{}", self.source, self.from, self.to.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        for good in ["sdk", "a", "0", "api-v2", "a-", &"x".repeat(32)] {
            assert!(code_source_name("name", good).is_ok(), "{good:?}");
        }
        for bad in ["", "-a", "Sdk", "a/b", "a b", "@a", "a.b", "ä", &"x".repeat(33)] {
            assert!(code_source_name("name", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_range_is_read_from_one_word() {
        let range = |source: &str, from: &str, to: Option<&str>| ChangeRange {
            source: source.to_owned(),
            from: from.to_owned(),
            to: to.map(str::to_owned),
        };
        assert_eq!(ChangeRange::parse("sdk:v1.4..v1.5"), Some(range("sdk", "v1.4", Some("v1.5"))));
        assert_eq!(ChangeRange::parse("sdk:v1.4.."), Some(range("sdk", "v1.4", None)));
        assert_eq!(ChangeRange::parse("sdk:v1.4"), Some(range("sdk", "v1.4", None)));
        assert_eq!(ChangeRange::parse("v1.4..v1.5"), None);
        for text in ["sdk:v1.4..v1.5", "sdk:v1.4.."] {
            assert_eq!(ChangeRange::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_with_a_range_is_named_by_its_field() {
        let fields = |text: &str| -> Vec<&'static str> {
            let wrong = ChangeRange::parse(text).unwrap().check().err().unwrap_or_default();
            wrong.iter().map(|wrong| wrong.field).collect()
        };
        assert!(fields("sdk:v1.4..v1.5").is_empty() && fields("sdk:1a2b3c4").is_empty());
        assert_eq!(fields("SDK:-x..a b"), ["changes.source", "changes.from", "changes.to"]);
        assert_eq!(fields("sdk:..v1"), ["changes.from"]);
    }
}
