//! What hosts send when something becomes of a pull request.

use aws_lc_rs::hmac;

use super::state::Hook;

/// A message to a receiver of webhooks, as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub headers: Vec<(String, String)>,
    /// Its body, to the byte that was signed.
    pub body: String,
}

impl Delivery {
    /// A message of JSON.
    pub(super) fn new(user_agent: &str, body: &serde_json::Value) -> Self {
        let headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("user-agent".to_owned(), user_agent.to_owned()),
        ];
        Self { headers, body: body.to_string() }
    }

    /// With a header more.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    /// What signs the body with the hook's secret, in hexadecimal digits.
    pub(super) fn signature(&self, hook: &Hook) -> String {
        self.sign(hmac::HMAC_SHA256, hook)
    }

    /// The same by the older method, which hosts still send beside it.
    pub(super) fn old_signature(&self, hook: &Hook) -> String {
        self.sign(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, hook)
    }

    fn sign(&self, method: hmac::Algorithm, hook: &Hook) -> String {
        let key = hmac::Key::new(method, hook.secret.as_bytes());
        let tag = hmac::sign(&key, self.body.as_bytes());
        copydesk_domain::hex(tag.as_ref())
    }

    /// Sends it and gives the status of the answer; none if there was none.
    pub(super) async fn send(&self, address: &str) -> Option<u16> {
        let mut request = reqwest::Client::new().post(address).body(self.body.clone());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.send().await.ok().map(|answer| answer.status().as_u16())
    }
}
