//! The signature of Standard Webhooks: the receiver can tell who sent a delivery, that nothing was changed on its way,
//! and that it is not an old one that somebody sends again.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use copydesk_domain::random_secret;

const PREFIX: &str = "whsec_";
/// How many bytes the specification lets a secret have.
const LENGTH: std::ops::RangeInclusive<usize> = 24..=64;

/// What the deliveries of a webhook are signed with. It is never printed by accident: `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    pub fn generate() -> Self {
        Self(random_secret().to_vec())
    }

    /// The one of these bytes; none if they are too few or too many.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        LENGTH.contains(&bytes.len()).then_some(Self(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As receivers get it: `whsec_` and the bytes in base64.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// The value of `webhook-signature`: one signature for each secret, so that a receiver may have either.
pub(crate) fn signatures(secrets: &[WebhookSecret], id: &str, seconds: i64, body: &str) -> String {
    let content = format!("{id}.{seconds}.{body}");
    let sign = |secret: &WebhookSecret| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        format!("v1,{}", STANDARD.encode(hmac::sign(&key, content.as_bytes())))
    };
    secrets.iter().map(sign).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that the libraries of the specification test themselves with.
    #[test]
    fn the_example_of_the_specification_comes_out() {
        let secret = WebhookSecret::from_bytes(STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()).unwrap();
        assert_eq!(secret.reveal(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let given = signatures(
            std::slice::from_ref(&secret),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(given, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn two_secrets_give_two_signatures() {
        let (new, old) = (WebhookSecret::generate(), WebhookSecret::generate());
        let both = signatures(&[new.clone(), old.clone()], "id", 7, "{}");
        let each = [signatures(&[new], "id", 7, "{}"), signatures(&[old], "id", 7, "{}")];
        assert_eq!(both, each.join(" "));
        assert_ne!(each[0], each[1]);
    }

    #[test]
    fn secrets_have_the_length_of_the_specification_and_hide() {
        for (length, fits) in [(23, false), (24, true), (64, true), (65, false)] {
            assert_eq!(WebhookSecret::from_bytes(vec![7; length]).is_some(), fits, "{length}");
        }
        let secret = WebhookSecret::generate();
        assert!(secret.reveal().starts_with("whsec_") && secret.reveal().len() > 40);
        assert_eq!(format!("{secret:?}"), "WebhookSecret(…)");
    }
}
