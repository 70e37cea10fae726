use std::path::Path;

use url::Url;

use crate::Invalid;

/// Where a project's repository is: an address that git can clone from, without any credential in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    clone_address: String,
    /// Whether the text it was read from carried a credential, which was left out.
    credential_dropped: bool,
}

impl Repository {
    /// Reads an `https`, `http`, `ssh` or `file` address, `user@host:path`, or a path on this machine, which is
    /// taken from `working_dir` if it is relative. What begins like a host, `github.com/acme/docs`, is its `https`
    /// address; a folder of that name is written `./github.com/acme/docs`.
    pub fn parse(text: &str, working_dir: &Path) -> Result<Self, Invalid> {
        let text = text.trim();
        if text.is_empty() || text.len() > 2048 || text.chars().any(char::is_control) {
            return Err(Invalid::new("repository", "must be an address or a path of 1 to 2048 characters"));
        }
        if text.contains("://") {
            return Self::from_url(text);
        }
        if text.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return Err(Invalid::new("repository", "holds a password; leave it out"));
        }
        if let Some(address) = scp_to_ssh(text) {
            return Self::from_url(&address);
        }
        if begins_with_host(text) {
            return Self::from_url(&format!("https://{text}"));
        }
        if text.starts_with('-') || text.contains("::") {
            return Err(Invalid::new("repository", "is neither an address nor a path that git may use"));
        }
        let absolute = std::path::absolute(working_dir.join(text))
            .map_err(|error| Invalid::new("repository", format!("is not a usable path: {error}")))?;
        let url = Url::from_file_path(&absolute).map_err(|()| Invalid::new("repository", "is not a usable path"))?;
        Ok(Self { clone_address: url.to_string(), credential_dropped: false })
    }

    /// Takes an address back from the store.
    pub fn from_stored(clone_address: String) -> Self {
        Self { clone_address, credential_dropped: false }
    }

    fn from_url(text: &str) -> Result<Self, Invalid> {
        // The parser's message could quote a credential, so it is not passed on.
        let mut url = Url::parse(text).map_err(|_| Invalid::new("repository", "is not a well-formed address"))?;
        if !matches!(url.scheme(), "https" | "http" | "ssh" | "file") {
            let message = format!("has the scheme `{}`; use https, http, ssh, file or a path", url.scheme());
            return Err(Invalid::new("repository", message));
        }
        if url.scheme() != "file" && url.host_str().is_none_or(str::is_empty) {
            return Err(Invalid::new("repository", "names no host"));
        }
        let dropped =
            url.password().is_some() || (url.scheme() != "ssh" && !url.username().is_empty()) || url.query().is_some();
        // `set_…` fails only for addresses that cannot have a user at all, and those have none.
        let _ = url.set_password(None);
        if url.scheme() != "ssh" {
            let _ = url.set_username("");
        }
        url.set_query(None);
        url.set_fragment(None);
        Ok(Self { clone_address: url.to_string(), credential_dropped: dropped })
    }

    /// What git clones from.
    pub fn clone_address(&self) -> &str {
        &self.clone_address
    }

    /// What clients see as `source.repository`: no credential, no `.git`, no slash at the end.
    pub fn public_address(&self) -> &str {
        let bare = self.clone_address.trim_end_matches('/');
        bare.strip_suffix(".git").unwrap_or(bare).trim_end_matches('/')
    }

    /// Whether it is on the same host as another, reached in the same way: what one may be shown, so may the other.
    pub fn is_beside(&self, other: &Self) -> bool {
        let place = |it: &Self| {
            let url = Url::parse(&it.clone_address).ok().filter(|url| url.scheme() != "file")?;
            let host = url.host_str()?.to_ascii_lowercase();
            Some((url.scheme().to_owned(), host, url.port_or_known_default()))
        };
        let (one, two) = (place(self), place(other));
        one.is_some() && one == two
    }

    /// Whether a credential was left out when the text was read.
    pub fn credential_dropped(&self) -> bool {
        self.credential_dropped
    }
}

/// `git@host:acme/docs.git` as an `ssh` address; none if `text` is not of that form.
fn scp_to_ssh(text: &str) -> Option<String> {
    let (host, path) = text.split_once(':')?;
    let looks_like_host = !host.is_empty() && !host.contains('/') && !host.starts_with('-') && !path.starts_with(':');
    let is_remote = host.contains('@') || host.contains('.');
    (looks_like_host && is_remote && !path.is_empty()).then(|| format!("ssh://{host}/{}", path.trim_start_matches('/')))
}

/// Whether it is `host/path` with a host that has a name in a domain, as people copy it from a browser.
pub fn begins_with_host(text: &str) -> bool {
    let Some((host, path)) = text.split_once('/') else { return false };
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        let of_name = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        !label.is_empty() && of_name && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_domain = labels.last().is_some_and(|last| last.len() > 1 && last.bytes().all(|it| it.is_ascii_alphabetic()));
    // `docs.git/…` is a bare repository and what lies in it.
    let is_host = labels.len() > 1 && labels.iter().all(is_label) && is_domain && !host.ends_with(".git");
    is_host && !path.trim_matches('/').is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(text: &str) -> String {
        Repository::parse(text, Path::new("/srv")).unwrap().public_address().to_owned()
    }

    #[test]
    fn shows_addresses_without_credentials_and_suffix() {
        assert_eq!(public("https://github.com/acme/docs.git"), "https://github.com/acme/docs");
        assert_eq!(public("https://x:secret@github.com/acme/docs/"), "https://github.com/acme/docs");
        assert_eq!(public("https://host/docs?private_token=secret"), "https://host/docs");
        assert_eq!(public("git@github.com:acme/docs.git"), "ssh://git@github.com/acme/docs");
        assert_eq!(public("/srv/git/docs.git"), "file:///srv/git/docs");
        assert_eq!(public("./docs"), "file:///srv/docs");
        assert_eq!(public("file:///srv/docs"), "file:///srv/docs");
        assert_eq!(public("github.com/acme/docs.git"), "https://github.com/acme/docs");
        for folder in
            ["acme/docs", "./github.com/acme", "docs.git/x", "v1.2/docs", ".site/docs", "site.md/", "a b.com/x"]
        {
            assert!(public(folder).starts_with("file:///srv/"), "{folder}");
        }
    }

    #[test]
    fn says_when_a_credential_was_left_out() {
        let parse = |text| Repository::parse(text, Path::new("/srv")).unwrap().credential_dropped();
        assert!(parse("https://token@github.com/acme/docs"));
        assert!(parse("ssh://git:pw@host/docs"));
        assert!(!parse("ssh://git@host/docs"));
    }

    #[test]
    fn what_is_beside_each_other_has_scheme_host_and_port_in_common() {
        let parse = |text| Repository::parse(text, Path::new("/srv")).unwrap();
        for (one, two, is_beside) in [
            ("https://git.example.com/acme/docs", "https://GIT.example.com:443/other/sdk", true),
            ("git@git.example.com:acme/docs", "ssh://other@Git.example.com/acme/sdk", true),
            ("https://git.example.com/acme/docs", "http://git.example.com/acme/sdk", false),
            ("https://git.example.com/acme/docs", "https://git.example.com:8443/acme/sdk", false),
            ("https://git.example.com/acme/docs", "https://git.example.com.evil.example/acme/sdk", false),
            ("https://git.example.com/acme/docs", "git@git.example.com:acme/sdk", false),
            ("/srv/docs", "/srv/sdk", false),
        ] {
            assert_eq!(parse(one).is_beside(&parse(two)), is_beside, "{one} {two}");
        }
    }

    #[test]
    fn refuses_what_git_must_not_be_given() {
        for text in
            ["", "ext::sh -c id", "-uroot", "javascript://x", "https://", "a\nb", "fd::17", "me:pw@host.example:docs"]
        {
            assert!(Repository::parse(text, Path::new("/srv")).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_password_never_shows(secret in "[a-zA-Z0-9]{12,20}", host in "[a-z]{1,8}\\.example") {
            let repository = Repository::parse(&format!("https://me:{secret}@{host}/docs.git"), Path::new("/")).unwrap();
            let shown = format!("{repository:?}");
            prop_assert!(!shown.contains(&secret));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,60}") {
            let _ = Repository::parse(&text, Path::new("/srv"));
        }
    }
}
