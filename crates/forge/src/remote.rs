use copydesk_domain::SecretText;
use url::Url;

use crate::ForgeError;

/// A repository somewhere else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Remote {
    /// What git clones from, without a credential: a `file`, `https`, `http` or `ssh` address.
    pub address: String,
    /// What to show at an `https` or `http` address. Others have their own ways.
    pub credential: Option<Credential>,
    /// What to show at an `ssh` address; none: what this machine shows by itself.
    pub ssh_key: Option<SshKey>,
    /// Whose word is taken for who the host at an `https` address is.
    pub trust: Trust,
    /// Whether the host is Gitea or Forgejo, or nobody knows what it is.
    pub may_be_gitea: bool,
}

impl Remote {
    /// The repository at `address`, without a credential.
    pub fn at(address: impl Into<String>) -> Self {
        Self { address: address.into(), ..Self::default() }
    }

    /// Whether git shows the credential at the address, rather than a key or nothing.
    pub fn shows_credential(&self) -> bool {
        self.credential.is_some() && Address::parse(&self.address).is_ok_and(|address| address.is_http())
    }
}

/// Whose word is taken for who a host is, beside the authorities that this machine knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Trust {
    /// A file with the certificates of more authorities, in PEM.
    pub ca_file: Option<String>,
    pub accept_any_certificate: bool,
}

/// A private key for SSH and what is known of the host that it is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SshKey {
    /// For the file that the ssh program reads.
    pub(crate) private_key: SecretText,
    pub(crate) known_hosts: Option<String>,
}

impl SshKey {
    /// A key as OpenSSH writes it, and lines of `known_hosts`; none: what this machine knows.
    pub fn new(private_key: &str, known_hosts: Option<&str>) -> Self {
        Self { private_key: as_file(private_key).into(), known_hosts: known_hosts.map(as_file) }
    }
}

/// Text as ssh wants it in a file: it takes no key with foreign ends of lines or without the last one.
fn as_file(text: &str) -> String {
    format!("{}\n", text.trim().replace("\r\n", "\n"))
}

/// A user name and a secret. Two that are equal may share what was fetched with one of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Credential {
    username: String,
    secret: SecretText,
}

impl Credential {
    /// A credential; code hosts that know tokens only take any user name.
    pub fn new(username: impl Into<String>, secret: impl Into<SecretText>) -> Self {
        Self { username: username.into(), secret: secret.into() }
    }

    /// What stands in the `Authorization` header.
    pub(crate) fn header_value(&self) -> String {
        use base64::Engine;
        let pair = format!("{}:{}", self.username, self.secret.expose());
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
    }

    /// A text without the secret, should it be in there in any of its forms.
    pub(crate) fn mask(&self, text: &str) -> String {
        let header = self.header_value();
        let encoded = header.rsplit(' ').next().unwrap_or_default();
        let forms = [self.secret.expose(), encoded];
        forms.iter().filter(|form| form.len() > 3).fold(text.to_owned(), |text, form| text.replace(form, "…"))
    }
}

/// An address that git may be given.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) url: Url,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, ForgeError> {
        let wrong = || ForgeError::lasting("the repository's address is not one that git may use");
        let url = Url::parse(text).map_err(|_| wrong())?;
        let holds_secret = url.password().is_some() || url.query().is_some();
        if !matches!(url.scheme(), "file" | "https" | "http" | "ssh") || holds_secret || text.starts_with('-') {
            return Err(wrong());
        }
        // `ssh` takes a host or a user that begins with a dash for an option.
        let dashed = |part: &str| part.starts_with('-');
        if url.host_str().is_some_and(dashed) || dashed(url.username()) {
            return Err(wrong());
        }
        Ok(Self { url })
    }

    pub(crate) fn is_http(&self) -> bool {
        matches!(self.scheme(), "http" | "https")
    }

    pub(crate) fn scheme(&self) -> &str {
        self.url.scheme()
    }

    /// Scheme, host and port: whom a credential may be shown to.
    pub(crate) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// The folder of a repository on this machine.
    pub(crate) fn folder(&self) -> Option<std::path::PathBuf> {
        (self.scheme() == "file").then(|| self.url.to_file_path().ok()).flatten()
    }
}
