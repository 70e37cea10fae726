//! The clients of code hosts. `Hosts` is shared by a process; a `Connection` is one project's way to its host.

mod access;
mod bitbucket;
mod client;
mod draft_title;
mod exchange;
mod forgejo;
mod git_access;
mod github;
mod github_app;
mod gitlab;
mod host_message;
mod interface;
mod jwt;
mod limits;
mod plain;
mod refusal;
mod report;
mod repository;
mod settings;
mod subject;
mod talk;
mod transport;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{HostKind, HostSettings, Repository};
use tokio::sync::OnceCell;

use self::access::Access;
use self::client::HostClient;
use self::git_access::GitAccess;
use self::github_app::{App, Tokens};
use self::repository::HostedRepository;
use self::subject::{CredentialKind, Subject};
use self::transport::Transport;
use crate::certificates::{self, NOT_CERTIFICATES};
use crate::default_branch::{self, Named, default_branch};
use crate::lock::lock;
use crate::{CodeHost, ForgeError, HostInterface, HostSecret, Remote, Trust};

pub use settings::HostsSettings;

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
    git: GitAccess,
    code_host: Option<Arc<dyn CodeHost>>,
    interface: Option<Arc<dyn HostInterface>>,
    time_limit: Duration,
    has_credential: bool,
}

#[boxed]
impl Connection {
    /// Which kind of host it leads to.
    pub fn kind(&self) -> HostKind {
        self.kind
    }

    /// Whether something was given to show to the host.
    pub fn has_credential(&self) -> bool {
        self.has_credential
    }

    /// What git needs. With a GitHub App it holds a token that ends within an hour, so it is asked for when it is needed.
    pub async fn remote(&self) -> Result<Remote, ForgeError> {
        self.git.remote().await
    }

    /// Where pull requests are; none for a repository on this machine.
    pub fn code_host(&self) -> Option<Arc<dyn CodeHost>> {
        self.code_host.clone()
    }

    /// What can be asked of the host itself; none if it speaks git only.
    pub fn interface(&self) -> Option<Arc<dyn HostInterface>> {
        self.interface.clone()
    }

    /// Asks the host, without writing anything, whether a branch could be pushed and a pull request opened from it. An
    /// error if it says that this cannot be; what it does not tell is left to the push.
    pub async fn check(&self) -> Result<(), ForgeError> {
        match &self.interface {
            Some(interface) => interface.check(self.git.shows_credential()).await,
            None => Ok(()),
        }
    }

    /// The repository's main branch, as its host says or else as git does.
    pub async fn default_branch(&self) -> Result<String, ForgeError> {
        if let Some(interface) = &self.interface
            && let Ok(branch) = interface.default_branch().await
            && copydesk_domain::git_ref("branch", &branch).is_ok()
        {
            return Ok(branch);
        }
        default_branch(&self.remote().await?, self.time_limit).await
    }

    /// Whether the repository has a branch or a tag of that name, as git tells it.
    pub async fn named(&self, name: &str) -> Result<Named, ForgeError> {
        default_branch::named(&self.remote().await?, name, self.time_limit).await
    }

    /// The paths of all files of a branch, as git tells them; no mirror is made for that.
    pub async fn files(&self, branch: &str) -> Result<Vec<String>, ForgeError> {
        default_branch::files(&self.remote().await?, branch, self.time_limit).await
    }
}

/// Where an App comes to a repository that is named by an address of ssh.
pub(crate) fn address_of_apps(repository: &Repository, kind: HostKind, settings: &HostSettings) -> Option<String> {
    HostedRepository::of(repository, kind, settings).ok().map(|hosted| git_access::address_of_app(&hosted))
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
        secret: Option<HostSecret>,
    ) -> Result<Connection, ForgeError> {
        let kind = settings.kind_of(repository);
        let address = repository.clone_address().to_owned();
        let trust =
            Trust { ca_file: settings.ca_file.clone(), accept_any_certificate: settings.accept_any_certificate };
        let time_limit = self.settings.time_limit;
        if kind == HostKind::Local {
            let git = GitAccess::local(address, trust);
            return Ok(Connection { kind, git, code_host: None, interface: None, time_limit, has_credential: false });
        }
        let hosted = HostedRepository::of(repository, kind, settings)?;
        let secret = secret.as_ref();
        let transport = Arc::new(Transport {
            http: self.client(&trust)?,
            settings: Arc::clone(&self.settings),
            api: hosted.api.clone(),
            subject: Subject { kind, repository: hosted.name(), credential: CredentialKind::of(secret, kind) },
        });
        let app = self.app(&transport, &hosted, secret)?;
        let git = GitAccess::new(kind, address, &hosted, secret, app.clone(), trust);
        let client = HostClient { transport, access: Access::of(secret, kind, app) };
        let interface = interface(kind, &hosted, client);
        let code_host: Arc<dyn CodeHost> = match &interface {
            Some(interface) => Arc::clone(interface) as Arc<dyn CodeHost>,
            None => Arc::new(plain::Plain { repository: repository.clone(), web: hosted.web }),
        };
        Ok(Connection {
            kind,
            git,
            code_host: Some(code_host),
            interface,
            time_limit,
            has_credential: secret.is_some(),
        })
    }

    fn app(
        &self,
        transport: &Arc<Transport>,
        hosted: &HostedRepository,
        secret: Option<&HostSecret>,
    ) -> Result<Option<Arc<App>>, ForgeError> {
        let Some(HostSecret::GithubApp { app_id, installation_id, private_key }) = secret else { return Ok(None) };
        if transport.subject.kind != HostKind::Github {
            let host = transport.subject.host();
            return Err(ForgeError::lasting(format!("a GitHub App is of no use on {host}; give a token")));
        }
        let (transport, tokens) = (Arc::clone(transport), Arc::clone(&self.tokens));
        let app = App::new(transport, hosted, app_id, *installation_id, private_key.expose(), tokens)?;
        Ok(Some(Arc::new(app)))
    }

    /// The client for those certificates, one for all who trust the same.
    fn client(&self, trust: &Trust) -> Result<reqwest::Client, ForgeError> {
        let certificates = trust.ca_file.as_deref().map(certificates::read).transpose()?;
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
        if *accept_any {
            builder = builder.tls_danger_accept_invalid_certs(true);
        } else if let Some(pem) = certificates {
            builder = builder.tls_backend_preconfigured(certificates::client_config(pem)?);
        }
        let unfit = if certificates.is_some() { NOT_CERTIFICATES } else { NO_AUTHORITIES };
        builder.build().map_err(|_| ForgeError::lasting(unfit))
    }
}

const NO_AUTHORITIES: &str = "this machine knows no certificate authorities; install them (often `ca-certificates`), or name a file of them with `--host-ca-file`";

/// The interface of that kind of host; none if it speaks git only.
fn interface(kind: HostKind, hosted: &HostedRepository, client: HostClient) -> Option<Arc<dyn HostInterface>> {
    let below = |collection: &str| format!("{collection}/{}", hosted.path());
    Some(match kind {
        HostKind::Github => Arc::new(github::Github { client, path: below("repos"), owner: OnceCell::new() }),
        HostKind::Gitlab => Arc::new(gitlab::Gitlab { client, path: format!("projects/{}", hosted.one_segment()) }),
        HostKind::Forgejo => Arc::new(forgejo::Forgejo { client, path: below("repos") }),
        HostKind::Bitbucket => Arc::new(bitbucket::Bitbucket { client, path: below("repositories") }),
        HostKind::Git | HostKind::Local => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Credential, SshKey};

    fn connect(address: &str, secret: Option<HostSecret>) -> Result<Connection, ForgeError> {
        let repository = Repository::parse(address, Path::new("/srv")).unwrap();
        Hosts::new(HostsSettings::default()).connect(&repository, &HostSettings::default(), secret)
    }

    fn token(username: Option<&str>) -> Option<HostSecret> {
        Some(HostSecret::Token { username: username.map(str::to_owned), token: "planted".into() })
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
        let secret = HostSecret::SshKey {
            private_key: "planted".into(),
            known_hosts: Some("host ssh-ed25519 AAAA".to_owned()),
            token: Some("planted".into()),
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
        let app = || HostSecret::GithubApp { app_id: "1".to_owned(), installation_id: None, private_key: "x".into() };
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
