//! Who may drain a log to us: whoever knows the project's secret, proved in the way that the sender has.

use aws_lc_rs::{constant_time, hmac};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use copydesk_domain::unhex;

use crate::problem::Problem;

/// The header for senders that can set one.
pub(super) const SECRET_HEADER: &str = "x-copydesk-secret";

/// The header in which Vercel signs.
pub(super) const VERCEL_HEADER: &str = "x-vercel-signature";
/// Bytes of an HMAC-SHA1.
const TAG: usize = 20;

/// What Vercel says that it signed a body with: an HMAC-SHA1 in hexadecimal.
pub(super) struct VercelSignature(Vec<u8>);

impl VercelSignature {
    /// The one of a request, if it is well-formed.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        unhex(headers.get(VERCEL_HEADER)?.as_bytes()).filter(|tag| tag.len() == TAG).map(Self)
    }

    /// Whether it is that of this body with one of these secrets.
    pub(super) fn is_of(&self, body: &[u8], secrets: &[String]) -> bool {
        let key = |secret: &String| hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes());
        secrets.iter().any(|secret| hmac::verify(&key(secret), body, &self.0).is_ok())
    }
}

/// What a request names as the secret: in a header of ours, as a bearer token, or, for senders that know nothing but an
/// address, in the query. The log of requests has no queries.
pub(super) struct NamedSecrets(Vec<Vec<u8>>);

impl NamedSecrets {
    pub(super) fn of(headers: &HeaderMap, query: Option<&str>) -> Self {
        let own = headers.get(SECRET_HEADER).map(|value| value.as_bytes().to_vec());
        let bearer = headers.get(AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().as_bytes().to_vec())
        });
        let asked = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
            .find_map(|(name, value)| (name == "secret").then(|| value.into_owned().into_bytes()));
        Self([own, bearer, asked].into_iter().flatten().collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is one of these.
    pub(super) fn have(&self, secrets: &[String]) -> bool {
        let is =
            |given: &[u8], secret: &String| constant_time::verify_slices_are_equal(given, secret.as_bytes()).is_ok();
        self.0.iter().any(|given| secrets.iter().any(|secret| is(given, secret)))
    }
}

/// The answer to everybody else, whatever was wrong.
pub(super) fn forbidden() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "invalid_signature",
        "The signature or the secret of the log drain is not that of this project.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_openssl() {
        // printf '[]' | openssl dgst -sha1 -hmac secret
        let signed = |signature: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(VERCEL_HEADER, signature.parse().unwrap());
            VercelSignature::of(&headers).map(|it| it.is_of(b"[]", &["old".to_owned(), "secret".to_owned()]))
        };
        assert_eq!(signed("4d97c147a717c250c293a992fc31296b98e56060"), Some(true));
        assert_eq!(signed("0000000000000000000000000000000000000000"), Some(false));
        for malformed in ["", "xyz", "ab", "4d97c147a717c250c293a992fc31296b98e5606000"] {
            assert_eq!(signed(malformed), None, "{malformed}");
        }
        assert!(VercelSignature::of(&HeaderMap::new()).is_none());
    }
}
