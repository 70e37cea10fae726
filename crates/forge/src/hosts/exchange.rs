//! What goes to a host and what comes back.

use copydesk_domain::SecretText;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;
use url::Url;

use super::host_message;
use crate::ForgeError;

#[derive(Clone)]
pub(super) struct HostRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) body: Option<Value>,
    /// Whether doing it twice is the same as doing it once.
    pub(super) is_repeatable: bool,
}

impl HostRequest {
    pub(super) fn new(method: Method, url: Url) -> Self {
        let is_repeatable = method != Method::POST;
        Self { method, url, body: None, is_repeatable }
    }

    /// The same for another page, of which the host has told the address. Only the query of that counts: a list stays
    /// where it is, and hosts behind others do not always know what they are called.
    pub(super) fn for_page(&self, address: &str) -> Option<Self> {
        let (_, query) = address.split_once('?')?;
        let mut next = self.clone();
        next.url.set_query(Some(query.split('#').next()?));
        Some(next)
    }

    pub(super) fn with_body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    pub(super) fn with_query(mut self, pairs: &[(&str, &str)]) -> Self {
        self.url.query_pairs_mut().extend_pairs(pairs);
        self
    }

    /// Says that it may be done twice, as a `POST` usually must not.
    pub(super) fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }
}

/// What goes along with a request to say who asks.
#[derive(Default)]
pub(super) struct Authorization {
    pub(super) header: Option<HeaderValue>,
    /// What of it must never be shown.
    pub(super) masks: Vec<SecretText>,
}

impl Authorization {
    /// The value of a header, in which `secret` is what must not be shown.
    pub(super) fn new(header: &str, secret: &SecretText) -> Result<Self, ForgeError> {
        let unfit = |_| ForgeError::lasting("the credential holds characters that cannot be sent; give it once more");
        let mut value = HeaderValue::from_str(header).map_err(unfit)?;
        value.set_sensitive(true);
        let encoded = header.rsplit(' ').next().unwrap_or_default();
        Ok(Self { header: Some(value), masks: vec![secret.clone(), encoded.into()] })
    }

    pub(super) fn bearer(token: &SecretText) -> Result<Self, ForgeError> {
        Self::new(&format!("Bearer {}", token.expose()), token)
    }
}

/// What a host answered.
pub(super) struct HostResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// What must not be shown of it.
    pub(super) masks: Vec<SecretText>,
}

impl HostResponse {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The host's own message, fit to be shown.
    pub(super) fn message(&self) -> String {
        host_message::message(&self.body, &self.masks)
    }

    /// The address of the next page, from `Link: <…>; rel="next"`.
    pub(super) fn next_link(&self) -> Option<String> {
        next_of(self.header("link")?)
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: ForgeError,
    /// Whether the host may have done what it was asked for.
    pub(super) is_unclear: bool,
}

impl From<Failed> for ForgeError {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

/// The host has surely not done anything.
impl From<ForgeError> for Failed {
    fn from(error: ForgeError) -> Self {
        Self { error, is_unclear: false }
    }
}

/// The address of the next page in the value of a `Link` header.
fn next_of(value: &str) -> Option<String> {
    let is_next = |parameters: &str| {
        parameters.split(';').any(|parameter| {
            let (name, value) = parameter.trim().split_once('=').unwrap_or_default();
            name.eq_ignore_ascii_case("rel") && value.trim_matches('"').split(' ').any(|word| word == "next")
        })
    };
    let mut rest = value;
    while let Some((_, link)) = rest.split_once('<') {
        let (address, after) = link.split_once('>')?;
        let (parameters, _) = after.split_once('<').unwrap_or((after, ""));
        if is_next(parameters.trim_end().trim_end_matches(',')) {
            return Some(address.to_owned());
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_links() {
        let many =
            r#"<https://x/?page=1,2>; rel="prev", <https://x/?page=3>; rel="next", <https://x/?page=9>; rel="last""#;
        assert_eq!(next_of(many).as_deref(), Some("https://x/?page=3"));
        assert_eq!(next_of("<https://x/?page=2>; title=a; rel=next").as_deref(), Some("https://x/?page=2"));
        assert_eq!(next_of(r#"<https://x/?page=9>; rel="last""#), None);
        for odd in ["", "<", "rel=next", "<https://x", "<>;<>;rel", "<a>; rel=\"nextish\""] {
            assert_eq!(next_of(odd), None, "{odd}");
        }
    }

    #[test]
    fn only_the_query_of_a_next_page_counts() {
        let request = HostRequest::new(Method::GET, Url::parse("https://host.example/api/pulls?page=1").unwrap());
        let next = request.for_page("http://other.example/elsewhere?page=2&x=%2F#y").unwrap();
        assert_eq!(next.url.as_str(), "https://host.example/api/pulls?page=2&x=%2F");
        assert!(request.for_page("https://host.example/api/pulls").is_none());
    }
}
