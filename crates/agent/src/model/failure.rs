//! What a provider's failure means: try again, wait, or tell the user. A provider's own words are shown cut and without
//! the key; errors of the HTTP client are never shown as they print themselves.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::text::one_line;

/// The most of a provider's own words that a user is shown.
const LONGEST_WORDS: usize = 300;

/// Why a call did not work.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CallFailure {
    /// It may work the next time; how long the provider says to wait; what to say if it never does.
    Passing(Option<Duration>, String),
    /// There is no connection to the provider; why, as one sentence.
    Unreached(String),
    /// What came made no sense; why.
    Garbled(&'static str),
    /// The talk is too long for the model.
    TooLong,
    /// It will not work; one sentence.
    Lasting(String),
}

impl CallFailure {
    /// The connection could not be made, was silent for too long or broke off.
    pub(super) fn unreachable() -> Self {
        Self::Passing(None, "The model provider could not be reached, or the connection broke off.".to_owned())
    }

    /// There is no connection to the host.
    pub(super) fn no_connection(host: &str, cause: &str) -> Self {
        Self::Unreached(format!("The model provider at {host} could not be reached: {cause}."))
    }

    /// No request can be made of the address and the key.
    pub(super) fn unusable() -> Self {
        Self::Lasting("The address or the key of the model provider is not usable.".to_owned())
    }
}

/// Why there is no connection, in our own words: those of the HTTP client may hold anything.
pub fn cause_of(error: &reqwest::Error) -> &'static str {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let words = error.to_string().to_ascii_lowercase();
        match kind {
            Some(std::io::ErrorKind::ConnectionRefused) => return "it refuses the connection",
            Some(std::io::ErrorKind::HostUnreachable | std::io::ErrorKind::NetworkUnreachable) => {
                return "there is no way to it in the network";
            }
            _ if words.contains("dns error") || words.contains("lookup address") => return "its name is not known",
            _ if words.contains("certificate") => return "its certificate is not accepted",
            _ => cause = error.source(),
        }
    }
    if error.is_timeout() { "it does not answer in time" } else { "the connection broke off" }
}

/// What an HTTP status means.
pub(super) fn of_status(
    status: u16,
    body: &str,
    headers: Option<&HeaderMap>,
    key: Option<&SecretString>,
) -> CallFailure {
    let words = words_of(body, key);
    let said = |sentence: &str| said(sentence, &words);
    match status {
        401 => CallFailure::Lasting(said("The model provider refused the API key.")),
        403 => CallFailure::Lasting(said("The model provider does not allow this.")),
        404 => CallFailure::Lasting(said("The model provider does not know this model or address.")),
        400 | 413 | 422 if is_too_long(body) => CallFailure::TooLong,
        413 => CallFailure::TooLong,
        408 | 409 | 425 => CallFailure::Passing(wait_of(headers), said("The model provider did not answer in time.")),
        429 if is_out_of_money(body) => {
            CallFailure::Lasting(said("The account with the model provider has no credit left."))
        }
        429 => {
            CallFailure::Passing(wait_of(headers), said("The model provider says that there are too many requests."))
        }
        500..=599 => {
            CallFailure::Passing(wait_of(headers), said(&format!("The model provider failed with status {status}.")))
        }
        300..=399 => CallFailure::Lasting(format!(
            "The model provider answered with status {status}, a redirect, which is not followed. Set `base_url`."
        )),
        _ => CallFailure::Lasting(said(&format!("The model provider refused the request with status {status}."))),
    }
}

/// What an error in the middle of a stream means.
pub(super) fn of_stream_error(body: &Value, key: Option<&SecretString>) -> CallFailure {
    let inner = body.get("error").filter(|error| error.is_object()).unwrap_or(body);
    let word = |name: &str| inner.get(name).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let kind = format!("{} {} {}", word("type"), word("code"), word("status"));
    let code = inner.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let text = body.to_string();
    if let Some(code) = code.filter(|code| (300..600).contains(code)) {
        return of_status(code, &text, None, key);
    }
    const KINDS: [(&str, u16); 9] = [
        ("authentication", 401),
        ("billing", 402),
        ("permission", 403),
        ("not_found", 404),
        ("too_large", 413),
        ("rate_limit", 429),
        ("context_length", 413),
        ("exceed_context", 413),
        ("invalid_request", 400),
    ];
    let known = KINDS.iter().find(|(word, _)| kind.contains(word));
    of_status(known.map_or(500, |(_, status)| *status), &text, None, key)
}

fn is_too_long(body: &str) -> bool {
    const WORDS: [&str; 9] = [
        "context length",
        "context_size",
        "context_length",
        "context size",
        "context window",
        "maximum context",
        "prompt is too long",
        "too many tokens",
        "input token count",
    ];
    let body = body.to_ascii_lowercase();
    WORDS.iter().any(|words| body.contains(words))
}

fn is_out_of_money(body: &str) -> bool {
    let body = body.to_ascii_lowercase();
    ["insufficient_quota", "credit balance", "billing_hard_limit", "billing_not_active"]
        .iter()
        .any(|words| body.contains(words))
}

fn said(sentence: &str, words: &str) -> String {
    if words.is_empty() { sentence.to_owned() } else { format!("{sentence} It says: {words}") }
}

/// The provider's own message: one line, bounded, without the key.
fn words_of(body: &str, key: Option<&SecretString>) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    let message = ["/error/message", "/message", "/error", "/detail", "/0/error/message"]
        .iter()
        .find_map(|path| value.pointer(path).and_then(Value::as_str))
        .unwrap_or_default();
    // Twice, since what is left after tidying up could make the key whole again.
    one_line(&without_key(&one_line(&without_key(message, key), 4 * LONGEST_WORDS), key), LONGEST_WORDS)
}

/// Text without the key, and without longer parts of it: some providers show its beginning or its end.
fn without_key(text: &str, key: Option<&SecretString>) -> String {
    let Some(key) = key.map(ExposeSecret::expose_secret).filter(|key| key.len() >= 4) else { return text.to_owned() };
    let text = text.replace(key, "[key]");
    let third = (key.len() / 3).max(8).min(key.len());
    let (start, end) = (crate::text::head(key, third), &key[key.ceil_char_boundary(key.len() - third)..]);
    let text = if start.is_empty() { text } else { text.replace(start, "[key]") };
    if end.is_empty() { text } else { text.replace(end, "[key]") }
}

/// How long the provider says to wait: a number or a date, or when the limit that was reached begins anew. A date is held
/// against the provider's own clock.
fn wait_of(headers: Option<&HeaderMap>) -> Option<Duration> {
    let text = |name: &str| headers?.get(name)?.to_str().ok().map(str::trim);
    let seconds = |name: &str| text(name)?.parse::<f64>().ok();
    let date = |name: &str| httpdate::parse_http_date(text(name)?).ok();
    if let Some(seconds) = seconds("retry-after-ms").map(|millis| millis / 1000.0).or_else(|| seconds("retry-after")) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    if let Some(at) = date("retry-after") {
        return date("date").map(|now: SystemTime| at.duration_since(now).unwrap_or_default());
    }
    let reset = |kind: &str| {
        let spent = text(&format!("x-ratelimit-remaining-{kind}")) == Some("0");
        spent.then(|| span(text(&format!("x-ratelimit-reset-{kind}"))?)).flatten()
    };
    reset("requests").max(reset("tokens"))
}

/// A span of time as OpenAI writes it: `6m0s`, `1.5s`, `20ms`.
fn span(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let unit = rest[number..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |length| number + length);
        let worth = match &rest[number..unit] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        seconds += rest[..number].parse::<f64>().ok()? * worth;
        rest = &rest[unit..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn waits_as_long_as_it_is_told() {
        let wait = |name, value| wait_of(Some(&headers(name, value)));
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
        assert_eq!(wait("retry-after", "-1"), None);
        assert_eq!(wait("retry-after", "1e300"), None);
    }

    #[test]
    fn a_date_is_held_against_the_providers_clock() {
        let mut dated = headers("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT");
        assert_eq!(wait_of(Some(&dated)), None, "nobody knows what time it is there");
        dated.insert("date", "Wed, 21 Oct 2015 07:28:00 GMT".parse().unwrap());
        assert_eq!(wait_of(Some(&dated)), Some(Duration::from_secs(30)));
        dated.insert("date", "Wed, 21 Oct 2015 07:29:00 GMT".parse().unwrap());
        assert_eq!(wait_of(Some(&dated)), Some(Duration::ZERO));
    }

    #[test]
    fn limits_that_are_used_up_say_when_they_begin_anew() {
        let mut limits = headers("x-ratelimit-reset-tokens", "6m0.5s");
        limits.insert("x-ratelimit-reset-requests", "20ms".parse().unwrap());
        assert_eq!(wait_of(Some(&limits)), None, "neither is used up");
        limits.insert("x-ratelimit-remaining-requests", "0".parse().unwrap());
        assert_eq!(wait_of(Some(&limits)), Some(Duration::from_millis(20)));
        limits.insert("x-ratelimit-remaining-tokens", "0".parse().unwrap());
        assert_eq!(wait_of(Some(&limits)), Some(Duration::from_millis(360_500)));
        for odd in ["", "s", "3", "3x", "1.2.3s", "-1s", "9e9s"] {
            assert_eq!(span(odd).filter(|span| !span.is_zero()), None, "{odd}");
        }
    }

    #[test]
    fn statuses_mean_what_they_mean() {
        let of = |status, body: &str| of_status(status, body, None, None);
        assert!(matches!(of(401, ""), CallFailure::Lasting(s) if s.contains("refused the API key")));
        assert!(
            matches!(of(404, r#"{"error":{"message":"no model x"}}"#), CallFailure::Lasting(s) if s.contains("no model x"))
        );
        assert!(matches!(of(400, r#"{"error":"prompt is too long: 9 > 8"}"#), CallFailure::TooLong));
        assert!(matches!(of(400, "{}"), CallFailure::Lasting(_)));
        assert!(matches!(of(429, r#"{"error":{"code":"insufficient_quota"}}"#), CallFailure::Lasting(_)));
        for status in [408, 409, 429, 500, 502, 503, 529] {
            assert!(matches!(of(status, ""), CallFailure::Passing(..)), "{status}");
        }
        assert!(matches!(of(302, ""), CallFailure::Lasting(s) if s.contains("redirect")));
    }

    #[test]
    fn errors_in_a_stream_mean_the_same() {
        let of = |body: Value| of_stream_error(&body, None);
        let overloaded = serde_json::json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
        assert!(matches!(of(overloaded), CallFailure::Passing(None, s) if s.contains("busy")));
        let key = serde_json::json!({"error": {"type": "authentication_error"}});
        assert!(matches!(of(key), CallFailure::Lasting(_)));
        let long = serde_json::json!({"message": "m", "type": "exceed_context_size_error", "code": 400});
        assert!(matches!(of(long), CallFailure::TooLong));
    }

    proptest! {
        #[test]
        fn a_key_never_shows(key in "[a-zA-Z0-9]{12,40}", before in "\\PC{0,40}", status in 300u16..600) {
            let secret = SecretString::from(key.clone());
            let body = serde_json::json!({"error": {"message": format!("{before} {key} and {}", &key[key.len() - 8..])}});
            let trouble = of_status(status, &body.to_string(), None, Some(&secret));
            let shown = format!("{trouble:?}");
            prop_assert!(!shown.contains(&key));
            prop_assert!(shown.len() < 600);
        }

        #[test]
        fn any_body_is_read_without_a_panic(body in "\\PC{0,60}", key in "\\PC{0,12}", status in 100u16..999) {
            let _ = of_status(status, &body, None, Some(&SecretString::from(key)));
        }
    }
}
