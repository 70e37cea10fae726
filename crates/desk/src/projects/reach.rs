//! Where a project may lead the server, depending on who asks.
//!
//! Whoever owns the machine may name anything that it reaches. Everybody else may name what is on the internet: no path of
//! this machine, no address of its network, nothing that a cloud tells only its machines.

use copydesk_boxed::boxed;
use copydesk_domain::{Invalid, Repository};
use url::Url;

use super::ProjectDraft;
use crate::webhooks::AllowPrivate;
use crate::webhooks::guard::Guard;

/// How far somebody may lead the server.
#[derive(Clone)]
pub enum Reach {
    /// To whatever it reaches, this machine included.
    Anywhere,
    /// To addresses of the internet.
    Internet(Outside),
}

/// Tells addresses of the internet from others.
#[derive(Clone)]
pub struct Outside(Guard);

#[boxed]
impl Reach {
    pub fn internet() -> Self {
        Self::Internet(Outside(Guard::new(AllowPrivate::No)))
    }

    /// What was given in a form or over HTTP, where a path that is not whole means nothing. What a name leads to can be
    /// another address later; git and the host's client look it up themselves.
    pub async fn check(&self, draft: &ProjectDraft) -> Result<(), Invalid> {
        if let Some(text) = draft.repository.as_deref() {
            self.check_repository(text.trim()).await?;
        }
        let Self::Internet(outside) = self else { return Ok(()) };
        if let Some(text) = draft.host.api_url.as_deref().filter(|text| *text != "default") {
            let url = Url::parse(text).map_err(|_| Invalid::new("host_api_url", "must be an https address"))?;
            outside.check("host_api_url", &url, &["https"]).await?;
        }
        if draft.host.ca_file.as_deref().is_some_and(|file| file != "none") {
            return Err(Invalid::new("host_ca_file", "names a file of the server, which only administrators may do"));
        }
        Ok(())
    }

    async fn check_repository(&self, text: &str) -> Result<(), Invalid> {
        let repository = Repository::parse(text, std::path::Path::new("/"))?;
        let url = Url::parse(repository.clone_address())
            .map_err(|_| Invalid::new("repository", "is not a well-formed address"))?;
        let is_whole = text.contains("://") || text.starts_with('/') || url.scheme() != "file";
        match self {
            _ if !is_whole => {
                Err(Invalid::new("repository", "must be an address such as https://github.com/acme/docs"))
            }
            Self::Anywhere => Ok(()),
            Self::Internet(outside) => outside.check("repository", &url, &["https", "ssh"]).await,
        }
    }
}

impl Outside {
    async fn check(&self, field: &'static str, url: &Url, schemes: &[&str]) -> Result<(), Invalid> {
        if !schemes.contains(&url.scheme()) {
            let message =
                format!("must be an address of {}; others only administrators may name", schemes.join(" or "));
            return Err(Invalid::new(field, message));
        }
        let name = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        match self.0.is_outside(&name).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(Invalid::new(field, "leads into a private network, where only administrators may lead the server"))
            }
            Err(_) => Err(Invalid::new(
                field,
                format!("names the host {name:?}, which could not be looked up, so that nobody can tell where it is"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::IpAddr;
    use std::sync::Arc;

    use super::*;
    use crate::projects::HostDraft;

    fn internet() -> Reach {
        let lookup = |name: &str| match name {
            "github.com" => Ok(vec![IpAddr::from([140, 82, 121, 3])]),
            "inside.example" => Ok(vec![IpAddr::from([10, 0, 0, 7])]),
            "both.example" => Ok(vec![IpAddr::from([140, 82, 121, 3]), IpAddr::from([127, 0, 0, 1])]),
            _ => Err(io::Error::other("no such name")),
        };
        Reach::Internet(Outside(Guard::with_lookup(AllowPrivate::No, Arc::new(lookup))))
    }

    fn repository(text: &str) -> ProjectDraft {
        ProjectDraft { repository: Some(text.to_owned()), ..ProjectDraft::default() }
    }

    #[tokio::test]
    async fn what_is_not_of_the_internet_is_refused() {
        for text in [
            "https://github.com/acme/docs",
            "git@github.com:acme/docs.git",
            "https://140.82.121.3/x",
            "github.com/acme/docs",
        ] {
            assert_eq!(internet().check(&repository(text)).await, Ok(()), "{text}");
        }
        for text in [
            "/srv/docs",
            "inside.example/docs",
            "file:///srv/docs",
            "http://github.com/acme/docs",
            "https://127.0.0.1/docs",
            "https://[::1]/docs",
            "https://2130706433/docs",
            "ssh://git@10.0.0.1/docs",
            "git@inside.example:docs",
            "https://both.example/docs",
            "https://169.254.169.254/latest",
            "https://localhost/docs",
            "https://nowhere.example/docs",
            "acme/docs",
        ] {
            assert_eq!(internet().check(&repository(text)).await.unwrap_err().field, "repository", "{text}");
        }
    }

    #[tokio::test]
    async fn neither_is_an_interface_or_a_file_of_the_machine() {
        let host = |api_url: Option<&str>, ca_file: Option<&str>| ProjectDraft {
            host: HostDraft {
                api_url: api_url.map(str::to_owned),
                ca_file: ca_file.map(str::to_owned),
                ..HostDraft::default()
            },
            ..ProjectDraft::default()
        };
        for (draft, field) in [
            (host(Some("https://inside.example/api"), None), "host_api_url"),
            (host(Some("http://github.com/api"), None), "host_api_url"),
            (host(None, Some("/etc/passwd")), "host_ca_file"),
        ] {
            assert_eq!(internet().check(&draft).await.unwrap_err().field, field);
        }
        assert_eq!(internet().check(&host(Some("default"), Some("none"))).await, Ok(()));
        assert_eq!(internet().check(&host(Some("https://github.com/api"), None)).await, Ok(()));
    }

    #[tokio::test]
    async fn whoever_owns_the_machine_may_name_it() {
        for text in ["/srv/docs", "file:///srv/docs", "http://10.0.0.1/docs", "git@inside.example:docs"] {
            assert_eq!(Reach::Anywhere.check(&repository(text)).await, Ok(()), "{text}");
        }
        assert!(Reach::Anywhere.check(&repository("acme/docs")).await.is_err(), "of which folder?");
    }
}
