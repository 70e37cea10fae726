use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copydesk_domain::{HostKind, HostSettings, Repository};
use copydesk_forge::{Connection, Forge, ForgeErrorKind, ForgeSettings, Signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::server::{hosts, settings, token};

fn certificates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/certificates")
}

/// A server with a certificate of an authority that nobody knows, which has a repository for whoever asks for one and
/// nothing else.
fn serve() -> String {
    serve_as("host")
}

/// The same with the certificate of that name.
fn serve_as(name: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/acme/docs.git", listener.local_addr().unwrap());
    let chain = CertificateDer::pem_file_iter(certificates().join(format!("{name}.pem")))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_file(certificates().join(format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // Whoever does not trust us leaves in the middle.
            _ = answer(stream.unwrap(), &config);
        }
    });
    url
}

fn answer(stream: TcpStream, config: &Arc<ServerConfig>) -> std::io::Result<()> {
    let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream);
    let mut request = [0; 4096];
    let length = stream.read(&mut request)?;
    let asked = String::from_utf8_lossy(&request[..length]).into_owned();
    let (status, body) = match asked.contains(" /api/v3/repos/acme/docs ") {
        true => ("200 OK", r#"{"default_branch":"main","owner":{"login":"acme"}}"#),
        false => ("404 Not Found", ""),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn connect(url: &str, ca_file: bool, accept_any_certificate: bool) -> Connection {
    connect_trusting(url, ca_file.then_some("ca.pem"), accept_any_certificate)
}

fn connect_trusting(url: &str, ca_file: Option<&str>, accept_any_certificate: bool) -> Connection {
    let repository = Repository::parse(url, Path::new("/")).unwrap();
    let ca_file = ca_file.map(|name| certificates().join(name).to_str().unwrap().to_owned());
    let of_host =
        HostSettings { kind: Some(HostKind::Github), ca_file, accept_any_certificate, ..HostSettings::default() };
    hosts().connect(&repository, &of_host, token()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_authority_is_not_trusted_until_it_is_named() {
    let url = serve();
    let host = |ca_file, any| connect(&url, ca_file, any).interface().unwrap();
    let error = host(false, false).default_branch().await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Lasting);
    assert!(
        error.message.contains("`--host-ca-file`") && error.message.contains("`--host-accept-any-certificate`"),
        "{error}"
    );
    assert_eq!(host(true, false).default_branch().await.unwrap(), "main");
    assert_eq!(host(false, true).default_branch().await.unwrap(), "main");
    let elsewhere = url.replace("https://", "http://");
    let error = connect(&elsewhere, false, false).interface().unwrap().default_branch().await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Away, "{error}");
}

fn forge(folder: &Path) -> Forge {
    let author = Signature { name: "Copydesk".to_owned(), email: "copydesk@example.org".to_owned() };
    Forge::new(ForgeSettings {
        folder: folder.to_owned(),
        time_limit: settings().time_limit,
        author: author.clone(),
        committer: author,
    })
}

/// As people make one for a host of their own: nobody else has signed it, and it says that it may sign others.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_its_own_authority_is_trusted_by_git_and_by_the_interface_alike() {
    let url = serve_as("own");
    let folder = tempfile::TempDir::new().unwrap();
    let forge = forge(folder.path());
    for (named, is_trusted) in
        [(Some("own.pem"), true), (Some("other.pem"), false), (Some("ca.pem"), false), (None, false)]
    {
        let connection = connect_trusting(&url, named, false);
        let asked = connection.interface().unwrap().default_branch().await;
        assert_eq!(asked.is_ok(), is_trusted, "{named:?}: {asked:?}");
        let remote = connection.remote().await.unwrap();
        let error = forge.mirror(&remote).await.unwrap().fetch("main").await.unwrap_err();
        let words = if is_trusted { "no git repository" } else { "not trusted" };
        assert!(error.message.contains(words), "{named:?}: {error}");
    }
    let elsewhere = url.replace("127.0.0.1", "localhost");
    let error = connect_trusting(&elsewhere, Some("own.pem"), false).interface().unwrap().default_branch().await;
    assert!(error.unwrap_err().message.contains("not trusted"), "it is the certificate of another name");
}

#[tokio::test(flavor = "multi_thread")]
async fn git_trusts_the_same_authorities() {
    let url = serve();
    let folder = tempfile::TempDir::new().unwrap();
    let forge = forge(folder.path());
    for (ca_file, any, words) in
        [(false, false, "not trusted"), (true, false, "no git repository"), (false, true, "no git repository")]
    {
        let remote = connect(&url, ca_file, any).remote().await.unwrap();
        let error = forge.mirror(&remote).await.unwrap().fetch("main").await.unwrap_err();
        assert!(error.message.contains(words), "{ca_file} {any}: {error}");
    }
}
