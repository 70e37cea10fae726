//! A credential as somebody fills it in, checked field by field. Nothing of it is ever in what is said.

use copydesk_domain::{Invalid, SecretText};
use copydesk_forge::HostSecret;

use super::{private_key, token};

/// Which kind it is, and what belongs to that kind; the rest is left alone.
#[derive(Debug, Clone, Default)]
pub struct CredentialDraft {
    /// `token`, `ssh_key` or `github_app`.
    pub kind: String,
    /// For a token, and for an SSH key where pull requests are opened too.
    pub token: Option<SecretText>,
    pub username: Option<String>,
    /// Of the SSH key or the GitHub App.
    pub private_key: Option<SecretText>,
    pub known_hosts: Option<String>,
    /// The id or the client id of the GitHub App.
    pub app_id: Option<String>,
    /// Where it is installed; none: asked for.
    pub installation: Option<String>,
}

impl CredentialDraft {
    pub fn check(self) -> Result<HostSecret, Invalid> {
        match self.kind.as_str() {
            "token" => Ok(HostSecret::Token {
                username: self.username.map(|name| plain_word("username", name)).transpose()?,
                token: checked_token(self.token.as_ref())?,
            }),
            "ssh_key" => {
                let known = |text: String| {
                    private_key::known_hosts(&text).map_err(|problem| Invalid::new("known_hosts", problem))
                };
                Ok(HostSecret::SshKey {
                    private_key: checked_key(self.private_key.as_ref(), private_key::ssh)?,
                    known_hosts: self.known_hosts.map(known).transpose()?,
                    token: self.token.map(|token| checked_token(Some(&token))).transpose()?,
                })
            }
            "github_app" => {
                let app_id = self.app_id.ok_or_else(|| Invalid::new("app_id", "is needed"))?;
                let number = |text: String| {
                    text.parse().map_err(|_| Invalid::new("installation", "must be the number of an installation"))
                };
                Ok(HostSecret::GithubApp {
                    app_id: plain_word("app_id", app_id)?,
                    installation_id: self.installation.map(number).transpose()?,
                    private_key: checked_key(self.private_key.as_ref(), private_key::pem)?,
                })
            }
            _ => Err(Invalid::new("kind", "must be token, ssh_key or github_app")),
        }
    }
}

/// A word that goes into an address or a header beside a secret.
pub fn plain_word(field: &'static str, word: String) -> Result<String, Invalid> {
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && c != ':';
    if (1..=255).contains(&word.len()) && word.chars().all(plain) {
        Ok(word)
    } else {
        Err(Invalid::new(field, "must have 1 to 255 characters without blanks and colons"))
    }
}

fn checked_token(text: Option<&SecretText>) -> Result<SecretText, Invalid> {
    let wrong = |problem| Invalid::new("token", problem);
    let text = text.ok_or_else(|| wrong("is needed"))?;
    token(text.expose()).map(SecretText::from).map_err(wrong)
}

fn checked_key(
    text: Option<&SecretText>,
    check: fn(&str) -> Result<String, &'static str>,
) -> Result<SecretText, Invalid> {
    let wrong = |problem| Invalid::new("private_key", problem);
    let text = text.ok_or_else(|| wrong("is needed"))?;
    if text.expose().len() > super::MAX_CREDENTIAL_BYTES {
        return Err(wrong("is longer than 64 KiB"));
    }
    check(text.expose()).map(SecretText::from).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n";

    fn draft(kind: &str) -> CredentialDraft {
        CredentialDraft { kind: kind.to_owned(), ..CredentialDraft::default() }
    }

    #[test]
    fn each_kind_needs_what_belongs_to_it() {
        let token = CredentialDraft { token: Some("planted".into()), ..draft("token") };
        assert_eq!(token.check().unwrap().title(), "token");
        let key = CredentialDraft { private_key: Some(KEY.into()), ..draft("ssh_key") };
        assert_eq!(key.check().unwrap().title(), "SSH key");
        let app =
            CredentialDraft { private_key: Some(KEY.into()), app_id: Some("12".to_owned()), ..draft("github_app") };
        assert_eq!(app.check().unwrap().title(), "GitHub App");
        for (draft, field) in [
            (draft("token"), "token"),
            (draft("ssh_key"), "private_key"),
            (draft("github_app"), "app_id"),
            (draft(""), "kind"),
            (CredentialDraft { token: Some("a\nb".into()), ..draft("token") }, "token"),
            (CredentialDraft { username: Some("a b".to_owned()), ..draft("token") }, "username"),
            (CredentialDraft { private_key: Some("planted".into()), ..draft("ssh_key") }, "private_key"),
        ] {
            let invalid = draft.check().unwrap_err();
            assert_eq!(invalid.field, field);
            assert!(!invalid.message.contains("planted"));
        }
    }
}
