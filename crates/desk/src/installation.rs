use std::fmt;

use aws_lc_rs::hmac;
use copydesk_domain::hex;

/// The secret of an installation, from which secrets of its projects are made.
#[derive(Clone)]
pub struct InstallationSecret([u8; 32]);

impl InstallationSecret {
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The secret of a project's log drains: hex(HMAC-SHA256(secret, "drain:" + project)).
    pub fn drain_secret(&self, project: &str) -> String {
        self.derive("drain", project)
    }

    /// The secret of the webhooks that a project's code host sends, made likewise.
    pub fn hook_secret(&self, project: &str) -> String {
        self.derive("hook", project)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn derive(&self, purpose: &str, project: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let tag = hmac::sign(&key, format!("{purpose}:{project}").as_bytes());
        hex(tag.as_ref())
    }
}

impl fmt::Debug for InstallationSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallationSecret(…)")
    }
}
