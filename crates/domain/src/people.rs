//! People who use the dashboard, what they may do, and who did what.

use serde::{Deserialize, Serialize};

use crate::{Invalid, ProjectId, Timestamp};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct User {
    pub id: String,
    /// In lower case; unique.
    pub email: String,
    pub name: String,
    /// Whether they are an administrator of all projects, users and the server.
    pub is_admin: bool,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
}

/// What a member may do in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees jobs, changes, views and pull requests.
    Viewer,
    /// Makes jobs and does with them what can be done.
    Editor,
    /// Also has keys, settings, members and the end of the project.
    Owner,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Editor, Self::Owner];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Owner => "owner",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }

    /// Whether somebody with this role may do what needs `wanted`.
    pub fn covers(self, wanted: Self) -> bool {
        self >= wanted
    }
}

/// A user's place in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub user: User,
    pub role: Role,
    /// Since when.
    pub since: Timestamp,
}

/// Through what somebody acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// Signed in to the dashboard.
    User,
    /// With an admin API key.
    Key,
    /// At the command line of the machine.
    Command,
    /// At the code host: by a comment, or by the label of an issue.
    Host,
    /// Copydesk by itself.
    Program,
}

impl ActorKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Key => "key",
            Self::Command => "command",
            Self::Host => "host",
            Self::Program => "program",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::User, Self::Key, Self::Command, Self::Host, Self::Program].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Who does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub kind: ActorKind,
    /// Of the user or the key.
    pub id: Option<String>,
    /// What people call it: an address, a key's name, a user of the machine.
    pub name: String,
}

impl Actor {
    pub fn user(user: &User) -> Self {
        Self { kind: ActorKind::User, id: Some(user.id.clone()), name: user.email.clone() }
    }

    pub fn key(id: &str, name: &str) -> Self {
        Self { kind: ActorKind::Key, id: Some(id.to_owned()), name: name.to_owned() }
    }

    /// Somebody at the command line, by the name that the machine knows them by.
    pub fn command(name: &str) -> Self {
        Self { kind: ActorKind::Command, id: None, name: name.to_owned() }
    }

    /// Somebody at the code host, by the name that it knows them by.
    pub fn host(name: &str) -> Self {
        Self { kind: ActorKind::Host, id: None, name: name.to_owned() }
    }

    /// How people call it; none for Copydesk itself.
    pub fn shown(&self) -> Option<String> {
        match self.kind {
            ActorKind::User => Some(self.name.clone()),
            ActorKind::Key if self.name.is_empty() => Some("a key without a name".to_owned()),
            ActorKind::Key => Some(format!("the key {}", self.name)),
            ActorKind::Command => Some(format!("{} at the command line", self.name)),
            ActorKind::Host => Some(format!("{} at the code host", self.name)),
            ActorKind::Program => None,
        }
    }

    /// Copydesk, which does some things without being asked.
    pub fn program() -> Self {
        Self { kind: ActorKind::Program, id: None, name: "Copydesk".to_owned() }
    }
}

/// Something that was done, as the audit log tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deed {
    pub id: String,
    /// The project it was done to; none: the server.
    pub project_id: Option<ProjectId>,
    pub actor_kind: ActorKind,
    pub actor_id: Option<String>,
    pub actor_name: String,
    /// What was done, such as `key.create`.
    pub action: String,
    /// What it was done to, in words or by its id.
    pub target: String,
    /// What else there is to know; never a secret.
    pub detail: String,
    pub created_at: Timestamp,
}

/// An e-mail address, in the one form in which it is kept: enough of a rule to catch what cannot be one, as nobody can tell
/// more without sending something there.
pub fn email(text: &str) -> Result<String, Invalid> {
    let text = text.trim().to_lowercase();
    let is_plain = |part: &str| !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || c.is_control());
    let well_formed = text.len() <= 254
        && text.split_once('@').is_some_and(|(name, host)| is_plain(name) && is_plain(host) && !host.contains('@'));
    if well_formed {
        Ok(text)
    } else {
        Err(Invalid::new("email", "must be an e-mail address, such as ada@example.com"))
    }
}

/// A person's name.
pub fn person_name(text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 100 || text.chars().any(char::is_control) {
        return Err(Invalid::new("name", "must have between 1 and 100 characters and no control characters"));
    }
    Ok(text.to_owned())
}

/// The shortest password that is taken.
pub const MIN_PASSWORD: usize = 10;
/// The longest, so that hashing one is bounded.
pub const MAX_PASSWORD: usize = 1000;

/// Whether a password is one to take. What is short is guessed; what else makes it bad, nobody can tell here.
pub fn password(text: &str, email: &str) -> Result<(), Invalid> {
    let length = text.chars().count();
    if length < MIN_PASSWORD {
        return Err(Invalid::new("password", format!("must have at least {MIN_PASSWORD} characters")));
    }
    if text.len() > MAX_PASSWORD {
        return Err(Invalid::new("password", format!("must have at most {MAX_PASSWORD} bytes")));
    }
    let name = email.split('@').next().unwrap_or_default();
    let is_own = text.eq_ignore_ascii_case(email) || text.eq_ignore_ascii_case(name);
    let first = text.chars().next();
    if is_own || text.chars().all(|c| Some(c) == first) {
        return Err(Invalid::new("password", "is too easy to guess; take some words that do not belong together"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form() {
        assert_eq!(email(" Ada@Example.COM ").unwrap(), "ada@example.com");
        for wrong in ["", "ada", "@x", "ada@", "a@b@c", "a b@c", "a@b\nc", &format!("{}@x", "a".repeat(260))] {
            assert!(email(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn roles_cover_those_below_them() {
        for (at, role) in Role::ALL.into_iter().enumerate() {
            assert_eq!(Role::parse(role.as_str()), Some(role));
            for (other_at, other) in Role::ALL.into_iter().enumerate() {
                assert_eq!(role.covers(other), at >= other_at);
            }
        }
    }

    #[test]
    fn weak_passwords_are_refused_with_a_reason() {
        assert!(password("four words put together", "ada@example.com").is_ok());
        for weak in ["short", "aaaaaaaaaaaa", "ada@example.com", &"x1".repeat(600)] {
            assert!(password(weak, "ada@example.com").is_err(), "{weak}");
        }
    }
}
