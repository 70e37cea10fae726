//! The clients of code hosts. `Hosts` is shared by a process; a `Connection` is one project's way to its host.

mod access;
mod bitbucket;
mod forgejo;
mod gate;
mod github;
mod github_app;
mod gitlab;
mod http;
mod jwt;
mod limits;
mod message;
mod opening;
mod place;
mod plain;
mod refusal;
mod report;
mod settings;
mod title;
mod words;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_domain::{HostKind, HostSettings, Repository};
use reqwest::{Certificate, Method};
use serde_json::Value;
use tokio::sync::OnceCell;

use self::access::Access;
use self::gate::{Gate, Pass};
use self::github_app::{App, Tokens};
use self::http::Line;
use self::jwt::SigningKey;
use self::place::Place;
use self::refusal::{Act, refused};
use crate::objects::lock;
use crate::{CodeHost, Credential, ForgeError, Remote, Secret, SshKey, Trust};

pub use settings::{HostsSettings, Media};

/// The most that a file of certificates may hold.
const LARGEST_CA_FILE: u64 = 1024 * 1024;
/// How many HTTP clients are kept; each stands for one file of certificates.
const MOST_CLIENTS: usize = 32;
/// How long to wait for a connection.
const CONNECT_TIME: Duration = Duration::from_secs(15);

/// What all connections of a process share: HTTP clients and the tokens of GitHub Apps.
pub struct Hosts {
    settings: Arc<HostsSettings>,
    clients: Mutex<HashMap<Trusted, reqwest::Client>>,
    tokens: Arc<Tokens>,
}

/// The certificates of authorities to trust beside the known ones, and whether to take any.
type Trusted = (Option<Vec<u8>>, bool);

/// One project's way to its code host.
pub struct Connection {
    kind: HostKind,
    gate: Arc<Gate>,
    code_host: Option<Arc<dyn CodeHost>>,
}

impl Connection {
    /// Which kind of host it leads to.
    pub fn kind(&self) -> HostKind {
        self.kind
    }

    /// What git needs. With a GitHub App it holds a token that ends within an hour, so it is asked for when it is needed.
    pub async fn remote(&self) -> Result<Remote, ForgeError> {
        self.gate.remote().await
    }

    /// Where pull requests are; none for a repository on this machine.
    pub fn code_host(&self) -> Option<Arc<dyn CodeHost>> {
        self.code_host.clone()
    }
}

impl Hosts {
    /// Nobody is spoken to yet.
    pub fn new(settings: HostsSettings) -> Self {
        Self { settings: Arc::new(settings), clients: Mutex::default(), tokens: Arc::default() }
    }

    /// The way to a project's host. Nobody is spoken to yet; what is wrong with the settings or the credential is said.
    pub fn connect(
        &self,
        repository: &Repository,
        settings: &HostSettings,
        secret: Option<Secret>,
    ) -> Result<Connection, ForgeError> {
        let kind = settings.kind_of(repository);
        let address = repository.clone_address().to_owned();
        let trust =
            Trust { ca_file: settings.ca_file.clone(), accept_any_certificate: settings.accept_any_certificate };
        if kind == HostKind::Local {
            let gate = Arc::new(Gate { address, pass: Pass::None, ssh_key: None, trust });
            return Ok(Connection { kind, gate, code_host: None });
        }
        let place = Place::of(repository, kind, settings)?;
        let client = self.client(&trust)?;
        let line = |access| Line {
            client: client.clone(),
            settings: Arc::clone(&self.settings),
            kind,
            api: place.api.clone(),
            repository: place.name(),
            access,
        };
        let app = match &secret {
            Some(Secret::GithubApp { app_id, installation_id, private_key }) if kind == HostKind::Github => {
                let key = SigningKey::from_pem(private_key)?;
                Some(Arc::new(self.app(line(Access::None), &place, app_id, *installation_id, private_key, key)))
            }
            Some(Secret::GithubApp { .. }) => {
                return Err(ForgeError::lasting(format!(
                    "a GitHub App is of no use on {}; give a token",
                    kind.title()
                )));
            }
            _ => None,
        };
        let gate = Arc::new(gate_of(kind, address, &place, secret.as_ref(), app.clone(), trust));
        let line = Arc::new(line(access_of(kind, secret, app)));
        let code_host = Some(code_host(repository, &place, line, Arc::clone(&gate)));
        Ok(Connection { kind, gate, code_host })
    }

    fn app(
        &self,
        line: Line,
        place: &Place,
        id: &str,
        installation: Option<u64>,
        private_key: &str,
        key: SigningKey,
    ) -> App {
        let (id, path) = (id.trim().to_owned(), place.path());
        let where_installed = installation.map(|number| number.to_string()).unwrap_or_default();
        let mark = github_app::mark(&[&line.api, &id, &where_installed, &path, private_key]);
        let tokens = Arc::clone(&self.tokens);
        App { line, id, installation, key, path, name: place.last().to_owned(), tokens, mark }
    }

    /// The client for those certificates, one for all who trust the same.
    fn client(&self, trust: &Trust) -> Result<reqwest::Client, ForgeError> {
        let certificates = trust.ca_file.as_deref().map(read_certificates).transpose()?;
        let key = (certificates, trust.accept_any_certificate);
        if let Some(client) = lock(&self.clients).get(&key) {
            return Ok(client.clone());
        }
        let client = self.new_client(&key)?;
        let mut clients = lock(&self.clients);
        if clients.len() >= MOST_CLIENTS {
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }

    fn new_client(&self, (certificates, accept_any): &Trusted) -> Result<reqwest::Client, ForgeError> {
        let mut builder = reqwest::Client::builder()
            .user_agent(&self.settings.user_agent)
            .timeout(self.settings.time_limit)
            .connect_timeout(CONNECT_TIME.min(self.settings.time_limit))
            // They are followed by hand, so that no credential leaves the origin.
            .redirect(reqwest::redirect::Policy::none());
        if let Some(pem) = certificates {
            let found = Certificate::from_pem_bundle(pem).ok().filter(|found| !found.is_empty());
            builder = builder.tls_certs_merge(found.ok_or_else(|| ForgeError::lasting(NOT_CERTIFICATES))?);
        }
        if *accept_any {
            builder = builder.tls_danger_accept_invalid_certs(true);
        }
        let unfit = if certificates.is_some() { NOT_CERTIFICATES } else { NO_AUTHORITIES };
        builder.build().map_err(|_| ForgeError::lasting(unfit))
    }
}

const NOT_CERTIFICATES: &str = "the `ca_file` of the project's host holds no certificates in PEM";
const NO_AUTHORITIES: &str =
    "this machine knows no certificate authorities; install them (often `ca-certificates`), or set `ca_file`";

fn read_certificates(path: &str) -> Result<Vec<u8>, ForgeError> {
    let unreadable = |_| ForgeError::lasting("the `ca_file` of the project's host cannot be read");
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LARGEST_CA_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST_CA_FILE {
        return Err(ForgeError::lasting("the `ca_file` of the project's host has more than 1 MiB"));
    }
    Ok(bytes)
}

fn code_host(repository: &Repository, place: &Place, line: Arc<Line>, gate: Arc<Gate>) -> Arc<dyn CodeHost> {
    match line.kind {
        HostKind::Github => {
            Arc::new(github::Github { line, gate, path: format!("repos/{}", place.path()), owner: OnceCell::new() })
        }
        HostKind::Gitlab => Arc::new(gitlab::Gitlab { line, gate, path: format!("projects/{}", place.one_segment()) }),
        HostKind::Forgejo => Arc::new(forgejo::Forgejo { line, gate, path: format!("repos/{}", place.path()) }),
        HostKind::Bitbucket => {
            Arc::new(bitbucket::Bitbucket { line, gate, path: format!("repositories/{}", place.path()) })
        }
        HostKind::Git | HostKind::Local => {
            Arc::new(plain::Plain { line, gate, repository: repository.clone(), web: place.web.clone() })
        }
    }
}

/// What a host's interface is shown.
fn access_of(kind: HostKind, secret: Option<Secret>, app: Option<Arc<App>>) -> Access {
    if let Some(app) = app {
        return Access::App(app);
    }
    let (username, token) = match secret {
        Some(Secret::Token { username, token }) => (username, token),
        Some(Secret::SshKey { token: Some(token), .. }) => (None, token),
        Some(Secret::SshKey { token: None, .. } | Secret::GithubApp { .. }) | None => return Access::None,
    };
    // As it is pasted, with the end of the line.
    let token = token.trim().to_owned();
    match (kind, username) {
        (HostKind::Forgejo | HostKind::Bitbucket, Some(username)) => Access::Basic(Credential::new(username, token)),
        (HostKind::Forgejo, None) => Access::Token(token),
        _ => Access::Bearer(token),
    }
}

/// What git is shown.
fn gate_of(
    kind: HostKind,
    address: String,
    place: &Place,
    secret: Option<&Secret>,
    app: Option<Arc<App>>,
    trust: Trust,
) -> Gate {
    let fixed =
        |username: Option<&str>, token: &str| Pass::Fixed(Credential::new(git_user(kind, username), token.trim()));
    if let Some(app) = app {
        // An App has no key for SSH; its token is for https.
        let address = if address.starts_with("ssh:") { format!("{}.git", place.web) } else { address };
        return Gate { address, pass: Pass::App(app), ssh_key: None, trust };
    }
    let (pass, ssh_key) = match secret {
        Some(Secret::Token { username, token }) => (fixed(username.as_deref(), token), None),
        Some(Secret::SshKey { private_key, known_hosts, token }) => {
            let pass = token.as_deref().map_or(Pass::None, |token| fixed(None, token));
            (pass, Some(SshKey::new(private_key, known_hosts.as_deref())))
        }
        Some(Secret::GithubApp { .. }) | None => (Pass::None, None),
    };
    Gate { address, pass, ssh_key, trust }
}

/// The user that goes with a token: the given one, or the one that the host wants to see.
fn git_user(kind: HostKind, given: Option<&str>) -> &str {
    match (kind, given) {
        // The address of an Atlassian account is a user for the interface only.
        (HostKind::Bitbucket, Some(given)) if given.contains('@') => "x-bitbucket-api-token-auth",
        (_, Some(given)) => given,
        (HostKind::Github, None) => "x-access-token",
        (HostKind::Gitlab, None) => "oauth2",
        (HostKind::Bitbucket, None) => "x-token-auth",
        (HostKind::Forgejo | HostKind::Git | HostKind::Local, None) => "copydesk",
    }
}

/// Writes a comment, once.
async fn post_comment(line: &Line, path: String, body: Value) -> Result<(), ForgeError> {
    let call = line.call(Method::POST, &path)?.with_body(body);
    let answer = line.send(&call).await?;
    if answer.is_success() { Ok(()) } else { Err(refused(line, Act::Comment, &answer)) }
}

/// A repository without a commit has no main branch.
fn empty(line: &Line) -> ForgeError {
    ForgeError::lasting(format!("{} is empty; push a first commit to it", line.name()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn connect(address: &str, secret: Option<Secret>) -> Result<Connection, ForgeError> {
        let repository = Repository::parse(address, Path::new("/srv")).unwrap();
        Hosts::new(HostsSettings::default()).connect(&repository, &HostSettings::default(), secret)
    }

    fn token(username: Option<&str>) -> Option<Secret> {
        Some(Secret::Token { username: username.map(str::to_owned), token: "planted".to_owned() })
    }

    #[tokio::test]
    async fn each_host_gets_the_user_that_it_wants_to_see() {
        for (address, username, user) in [
            ("https://github.com/acme/docs", None, "x-access-token"),
            ("https://gitlab.com/acme/docs", None, "oauth2"),
            ("https://gitlab.com/acme/docs", Some("deploy"), "deploy"),
            ("https://codeberg.org/acme/docs", None, "copydesk"),
            ("https://bitbucket.org/acme/docs", None, "x-token-auth"),
            ("https://bitbucket.org/acme/docs", Some("me"), "me"),
            ("https://bitbucket.org/acme/docs", Some("me@example.com"), "x-bitbucket-api-token-auth"),
            ("https://git.example.com/docs", Some("me"), "me"),
        ] {
            let remote = connect(address, token(username)).unwrap().remote().await.unwrap();
            assert_eq!(remote.credential, Some(Credential::new(user, "planted")), "{address}");
            assert!(!format!("{remote:?}").contains("planted"));
        }
    }

    #[tokio::test]
    async fn a_key_goes_to_git_and_its_token_to_the_interface() {
        let secret = Secret::SshKey {
            private_key: "planted".to_owned(),
            known_hosts: Some("host ssh-ed25519 AAAA".to_owned()),
            token: Some("planted".to_owned()),
        };
        let connection = connect("git@github.com:acme/docs.git", Some(secret)).unwrap();
        let remote = connection.remote().await.unwrap();
        assert_eq!(remote.address, "ssh://git@github.com/acme/docs.git");
        assert_eq!(remote.ssh_key, Some(SshKey::new("planted", Some("host ssh-ed25519 AAAA"))));
        assert!(!format!("{remote:?}").contains("planted"));
        assert!(connection.code_host().is_some());
    }

    #[test]
    fn what_cannot_work_is_said_at_once() {
        let app = || Secret::GithubApp { app_id: "1".to_owned(), installation_id: None, private_key: "x".to_owned() };
        let error = |address, secret| connect(address, secret).err().unwrap().message;
        assert!(error("https://gitlab.com/acme/docs", Some(app())).contains("a GitHub App is of no use on GitLab"));
        assert!(error("https://github.com/acme/docs", Some(app())).contains("the private key of the GitHub App"));
        assert!(error("https://github.com/acme", None).contains("owner/name"));
        let local = connect("/srv/docs.git", token(None)).unwrap();
        assert!(local.code_host().is_none() && local.kind() == HostKind::Local);
    }

    #[test]
    fn a_file_of_certificates_must_be_one() {
        let repository = Repository::parse("https://github.com/acme/docs", Path::new("/srv")).unwrap();
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("ca.pem");
        let settings = HostSettings { ca_file: Some(file.to_str().unwrap().to_owned()), ..HostSettings::default() };
        let connect = || Hosts::new(HostsSettings::default()).connect(&repository, &settings, None);
        assert!(connect().err().unwrap().message.contains("cannot be read"));
        std::fs::write(&file, "no certificate").unwrap();
        assert_eq!(connect().err().unwrap().message, NOT_CERTIFICATES);
    }
}
