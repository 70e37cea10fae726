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
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/acme/docs.git", listener.local_addr().unwrap());
    let chain = CertificateDer::pem_file_iter(certificates().join("host.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(certificates().join("host.key")).unwrap();
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
    let repository = Repository::parse(url, Path::new("/")).unwrap();
    let ca_file = ca_file.then(|| certificates().join("ca.pem").to_str().unwrap().to_owned());
    let of_host = HostSettings { kind: Some(HostKind::Github), api_url: None, ca_file, accept_any_certificate };
    hosts().connect(&repository, &of_host, token()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_authority_is_not_trusted_until_it_is_named() {
    let url = serve();
    let host = |ca_file, any| connect(&url, ca_file, any).interface().unwrap();
    let error = host(false, false).default_branch().await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Lasting);
    assert!(error.message.contains("`ca_file`") && error.message.contains("`accept_any_certificate`"), "{error}");
    assert_eq!(host(true, false).default_branch().await.unwrap(), "main");
    assert_eq!(host(false, true).default_branch().await.unwrap(), "main");
    let elsewhere = url.replace("https://", "http://");
    let error = connect(&elsewhere, false, false).interface().unwrap().default_branch().await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Passing, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn git_trusts_the_same_authorities() {
    let url = serve();
    let folder = tempfile::TempDir::new().unwrap();
    let author = Signature { name: "Copydesk".to_owned(), email: "copydesk@example.org".to_owned() };
    let forge = Forge::new(ForgeSettings {
        folder: folder.path().to_owned(),
        time_limit: settings().time_limit,
        author: author.clone(),
        committer: author,
    });
    for (ca_file, any, words) in
        [(false, false, "not trusted"), (true, false, "no git repository"), (false, true, "no git repository")]
    {
        let remote = connect(&url, ca_file, any).remote().await.unwrap();
        let error = forge.mirror(&remote).await.unwrap().fetch("main").await.unwrap_err();
        assert!(error.message.contains(words), "{ca_file} {any}: {error}");
    }
}
