//! Who people are and what they may do in a repository.

/// What somebody may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    None,
    Read,
    Write,
    Admin,
}

/// Some people of an organisation, who may do the same in a repository.
#[derive(Debug, Clone)]
pub(super) struct Team {
    pub(super) access: Access,
    pub(super) logins: Vec<String>,
}

impl Team {
    pub(super) fn has(&self, login: &str) -> bool {
        self.logins.iter().any(|there| there.eq_ignore_ascii_case(login))
    }
}

impl Access {
    /// The word that GitHub, Forgejo and Bitbucket have for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// GitLab's number of it: Reporter, Developer, Maintainer.
    pub(super) fn level(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Read => 20,
            Self::Write => 30,
            Self::Admin => 40,
        }
    }
}

/// The number that a host knows somebody by. It follows from the login, so that documents need no list of people.
pub(super) fn id_of(login: &str) -> u64 {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    let hash = login.to_ascii_lowercase().bytes().fold(2_166_136_261, mix);
    u64::from(10_000 + hash % 90_000_000)
}

/// What Bitbucket knows somebody by, with its braces.
pub(super) fn uuid_of(login: &str) -> String {
    format!("{{d301aafa-d676-4ee0-88be-{:012}}}", id_of(login))
}

/// The id that somebody has at all of Atlassian's products.
pub(super) fn account_of(login: &str) -> String {
    format!("557058:{}", id_of(login))
}
