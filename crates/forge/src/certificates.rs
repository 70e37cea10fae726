//! Whose word is taken for who a host is: one set of certificates for git and for the interface of a code host.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use base64::Engine;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::ForgeError;

/// The most that a file of certificates may hold.
const LARGEST_FILE: u64 = 1024 * 1024;

pub(crate) const NOT_CERTIFICATES: &str = "the file of `--host-ca-file` holds no certificates in PEM";

/// What is in a file of certificates.
pub(crate) fn read(path: &str) -> Result<Vec<u8>, ForgeError> {
    let unreadable = |_| ForgeError::lasting("the file of `--host-ca-file` cannot be read");
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(ForgeError::lasting("the file of `--host-ca-file` has more than 1 MiB"));
    }
    Ok(bytes)
}

fn named(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ForgeError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(|| ForgeError::lasting(NOT_CERTIFICATES))
}

/// The authorities of this machine and those of a file, as one file for git: by itself it would take the file instead of
/// the others, or beside them, as it was built.
pub(crate) fn bundle(path: &str) -> Result<String, ForgeError> {
    let mut out = String::new();
    for certificate in rustls_native_certs::load_native_certs().certs.iter().chain(&named(&read(path)?)?) {
        let text = base64::engine::general_purpose::STANDARD.encode(certificate);
        out.push_str("-----BEGIN CERTIFICATE-----\n");
        for line in text.as_bytes().chunks(64) {
            out.push_str(&String::from_utf8_lossy(line));
            out.push('\n');
        }
        out.push_str("-----END CERTIFICATE-----\n");
    }
    Ok(out)
}

/// What the interface is spoken to with: it trusts the authorities of this machine and those in `pem`.
pub(crate) fn client_config(pem: &[u8]) -> Result<ClientConfig, ForgeError> {
    let unfit = |_| ForgeError::lasting(NOT_CERTIFICATES);
    let named = named(pem)?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.add_parsable_certificates(named.iter().cloned()).0 == 0 {
        return Err(ForgeError::lasting(NOT_CERTIFICATES));
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let inner = inner.map_err(|_| ForgeError::lasting(NOT_CERTIFICATES))?;
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(unfit)?;
    let verifier = Arc::new(Verifier { inner, named });
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Also takes a certificate that is its own authority, as people make them for a host of their own and as git takes
/// them: it must be the very one that was named, and hold for that host and this day.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(Error::InvalidCertificate(CertificateError::Other(other)))
                // Days are looked at before this.
                if format!("{other:?}").contains("CaUsedAsEndEntity") && self.named.contains(end_entity) =>
            {
                rustls::client::verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
