//! Where a repository is on its host, and where that host's interface is.

use copydesk_domain::{HostKind, HostSettings, Repository};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::ForgeError;

/// What stands in a path or a query as it is; all else is escaped, the slash too.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A repository on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostedRepository {
    /// Where people look at it: `https://github.com/acme/docs`.
    pub(super) web: String,
    /// Where the interface of the host is, without a slash at the end.
    pub(super) api: String,
    /// Owner, groups and name, as they are called.
    segments: Vec<String>,
}

impl HostedRepository {
    pub(super) fn of(repository: &Repository, kind: HostKind, settings: &HostSettings) -> Result<Self, ForgeError> {
        let wrong = || ForgeError::lasting("the repository's address is not one of a code host");
        let address = Url::parse(repository.public_address()).map_err(|_| wrong())?;
        let host = web_host(address.host_str().ok_or_else(wrong)?);
        let origin = match (address.scheme(), address.port()) {
            // The port of ssh says nothing about that of the web.
            ("ssh", _) => format!("https://{host}"),
            (scheme, Some(port)) => format!("{scheme}://{host}:{port}"),
            (scheme, None) => format!("{scheme}://{host}"),
        };
        let api = match &settings.api_url {
            Some(given) => copydesk_domain::api_url(given).map_err(|_| ForgeError::lasting(NOT_AN_API))?,
            None => usual_api(kind, &origin, &host),
        };
        let mut segments = decoded(&address).ok_or_else(wrong)?;
        let above = folder_of(&api, kind);
        if !above.is_empty() && segments.starts_with(&above) {
            segments.drain(..above.len());
        }
        let web_path = address.path().trim_matches('/');
        let hosted = Self { web: format!("{origin}/{web_path}"), api, segments };
        hosted.checked(kind)
    }

    fn checked(self, kind: HostKind) -> Result<Self, ForgeError> {
        let fits = match kind {
            HostKind::Github | HostKind::Forgejo | HostKind::Bitbucket => self.segments.len() == 2,
            HostKind::Gitlab => self.segments.len() >= 2,
            HostKind::Git | HostKind::Local => true,
        };
        // A segment of dots would lead elsewhere in the interface.
        let is_dots = |segment: &String| segment == "." || segment == "..";
        if fits && !self.segments.iter().any(is_dots) {
            return Ok(self);
        }
        let form = if kind == HostKind::Gitlab { "group/name" } else { "owner/name" };
        Err(ForgeError::lasting(format!("the repository's address does not end in {form}, as on {}", kind.title())))
    }

    /// `acme/docs`, for people.
    pub(super) fn name(&self) -> String {
        self.segments.join("/")
    }

    /// `acme/docs`, escaped for a path.
    pub(super) fn path(&self) -> String {
        self.segments.iter().map(|segment| escaped(segment)).collect::<Vec<_>>().join("/")
    }

    /// `acme%2Fdocs`, all of it one segment of a path.
    pub(super) fn one_segment(&self) -> String {
        escaped(&self.name())
    }

    /// `docs`: the name without the owner.
    pub(super) fn last(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }
}

const NOT_AN_API: &str = "what `--host-api-url` says is not an https or http address";

/// Text for a path or a query.
pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// The names of hosts that take ssh on the port of https lead back to the host itself.
fn web_host(host: &str) -> String {
    match host {
        "ssh.github.com" => "github.com",
        "altssh.gitlab.com" => "gitlab.com",
        "altssh.bitbucket.org" => "bitbucket.org",
        other => other,
    }
    .to_owned()
}

fn usual_api(kind: HostKind, origin: &str, host: &str) -> String {
    match kind {
        HostKind::Github if host == "github.com" => "https://api.github.com".to_owned(),
        HostKind::Github if host.ends_with(".ghe.com") => format!("https://api.{host}"),
        HostKind::Github => format!("{origin}/api/v3"),
        HostKind::Gitlab => format!("{origin}/api/v4"),
        HostKind::Forgejo => format!("{origin}/api/v1"),
        HostKind::Bitbucket => "https://api.bitbucket.org/2.0".to_owned(),
        HostKind::Git | HostKind::Local => origin.to_owned(),
    }
}

/// The folder that a host runs in: `https://example.com/git/api/v1` says `git`, which is no part of a repository's name.
fn folder_of(api: &str, kind: HostKind) -> Vec<String> {
    let tail = match kind {
        HostKind::Gitlab => "/api/v4",
        HostKind::Forgejo => "/api/v1",
        HostKind::Github | HostKind::Bitbucket | HostKind::Git | HostKind::Local => return Vec::new(),
    };
    let Some(root) = api.strip_suffix(tail).and_then(|root| Url::parse(root).ok()) else { return Vec::new() };
    decoded(&root).unwrap_or_default()
}

fn decoded(url: &Url) -> Option<Vec<String>> {
    let segments = url.path_segments()?.filter(|segment| !segment.is_empty());
    segments.map(|text| Some(percent_encoding::percent_decode_str(text).decode_utf8().ok()?.into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn hosted(address: &str, kind: HostKind, api_url: Option<&str>) -> Result<HostedRepository, ForgeError> {
        let repository = Repository::parse(address, Path::new("/srv")).unwrap();
        let settings = HostSettings { api_url: api_url.map(str::to_owned), ..HostSettings::default() };
        HostedRepository::of(&repository, kind, &settings)
    }

    #[test]
    fn interfaces_are_found_from_addresses() {
        for (address, kind, api, path) in [
            ("https://github.com/acme/docs.git", HostKind::Github, "https://api.github.com", "acme/docs"),
            ("git@github.com:acme/docs.git", HostKind::Github, "https://api.github.com", "acme/docs"),
            ("ssh://git@ssh.github.com:443/acme/docs.git", HostKind::Github, "https://api.github.com", "acme/docs"),
            ("https://acme.ghe.com/a/b", HostKind::Github, "https://api.acme.ghe.com", "a/b"),
            ("https://github.acme.example/a/b.c", HostKind::Github, "https://github.acme.example/api/v3", "a/b.c"),
            ("http://127.0.0.1:8080/a/b", HostKind::Github, "http://127.0.0.1:8080/api/v3", "a/b"),
            ("https://gitlab.com/g/s/docs", HostKind::Gitlab, "https://gitlab.com/api/v4", "g/s/docs"),
            ("ssh://git@git.x.example:2222/g/docs.git", HostKind::Gitlab, "https://git.x.example/api/v4", "g/docs"),
            ("https://codeberg.org/acme/docs.v2.git", HostKind::Forgejo, "https://codeberg.org/api/v1", "acme/docs.v2"),
            ("https://bitbucket.org/acme/docs", HostKind::Bitbucket, "https://api.bitbucket.org/2.0", "acme/docs"),
        ] {
            let hosted = hosted(address, kind, None).unwrap();
            assert_eq!((hosted.api.as_str(), hosted.path().as_str()), (api, path), "{address}");
        }
    }

    #[test]
    fn names_are_escaped_whole_or_by_segment() {
        let hosted = hosted("https://gitlab.com/g/s%20x/docs.v2", HostKind::Gitlab, None).unwrap();
        assert_eq!(hosted.name(), "g/s x/docs.v2");
        assert_eq!(hosted.path(), "g/s%20x/docs.v2");
        assert_eq!(hosted.one_segment(), "g%2Fs%20x%2Fdocs.v2");
        assert_eq!(hosted.last(), "docs.v2");
        assert_eq!(hosted.web, "https://gitlab.com/g/s%20x/docs.v2");
    }

    #[test]
    fn the_folder_that_a_host_runs_in_is_no_part_of_the_name() {
        let api = Some("https://example.com/git/api/v1");
        assert_eq!(hosted("https://example.com/git/acme/docs", HostKind::Forgejo, api).unwrap().name(), "acme/docs");
        let api = Some("https://example.com/lab/api/v4/");
        let hosted = hosted("https://example.com/lab/g/s/docs", HostKind::Gitlab, api).unwrap();
        assert_eq!((hosted.name().as_str(), hosted.api.as_str()), ("g/s/docs", "https://example.com/lab/api/v4"));
    }

    #[test]
    fn addresses_that_lead_elsewhere_are_refused() {
        for (address, kind) in [
            ("https://github.com/acme", HostKind::Github),
            ("https://github.com/acme/docs/tree", HostKind::Github),
            ("https://gitlab.com/docs", HostKind::Gitlab),
            ("https://bitbucket.org/", HostKind::Bitbucket),
            ("https://codeberg.org/a/%FF", HostKind::Forgejo),
        ] {
            assert!(hosted(address, kind, None).is_err(), "{address}");
        }
        assert!(hosted("https://x.example/a/b", HostKind::Forgejo, Some("ftp://x")).is_err());
    }
}
