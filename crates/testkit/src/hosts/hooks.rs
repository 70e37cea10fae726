//! What hosts send when something happens.

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

    /// The same as a form, as it is sent by hosts that are set up so. Gitea signs the JSON nevertheless; GitHub signs what
    /// goes over the wire, for which the `secret` is needed.
    #[must_use]
    pub fn as_form(mut self, secret: Option<&str>) -> Self {
        self.body = form_urlencoded::Serializer::new(String::new()).append_pair("payload", &self.body).finish();
        self.headers[0].1 = "application/x-www-form-urlencoded".to_owned();
        if let Some(secret) = secret {
            let hook = Hook { address: String::new(), secret: secret.to_owned() };
            let signature = format!("sha256={}", self.signature(&hook));
            self.headers.retain(|(name, _)| !name.ends_with("signature-256"));
            self.headers.push(("x-hub-signature-256".to_owned(), signature));
        }
        self
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
    pub async fn send(&self, address: &str) -> Option<u16> {
        let mut request = reqwest::Client::new().post(address).body(self.body.clone());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.send().await.ok().map(|answer| answer.status().as_u16())
    }
}
