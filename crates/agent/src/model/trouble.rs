//! What a provider's failure means: try again, wait, or tell the user. Matches on what kind of error it is and never
//! shows one as it prints itself, since that could hold the request or the key.

use std::time::Duration;

use genai::Error;
use genai::webc;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::settings::Secret;
use crate::text::one_line;

/// The most of a provider's own words that a user is shown.
const LONGEST_WORDS: usize = 300;

/// Why a call did not work.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Trouble {
    /// It may work the next time; how long the provider says to wait; what to say if it never does.
    Passing(Option<Duration>, String),
    /// What came made no sense.
    Garbled,
    /// The talk is too long for the model.
    TooLong,
    /// It will not work; one sentence.
    Lasting(String),
}

/// What an error of the library means.
pub(super) fn of(error: &Error, key: Option<&Secret>) -> Trouble {
    match error {
        Error::HttpError { status, body, headers, .. } => of_status(status.as_u16(), body, Some(headers), key),
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => of_web(webc_error, key),
        Error::WebStream { error, .. } => match (error.downcast_ref::<Error>(), error.downcast_ref::<reqwest::Error>())
        {
            (Some(inner), _) => of(inner, key),
            (_, Some(inner)) => of_http(inner),
            _ => unreachable_provider(),
        },
        Error::ChatResponse { body, .. } => of_stream_error(body, key),
        Error::StreamParse { .. }
        | Error::JsonValueExt(_)
        | Error::SerdeJson(_)
        | Error::NoChatResponse { .. }
        | Error::InvalidJsonResponseElement { .. }
        | Error::ChatResponseGeneration { .. } => Trouble::Garbled,
        Error::RequiresApiKey { .. } | Error::NoAuthData { .. } | Error::NoAuthResolver { .. } => {
            Trouble::Lasting("There is no API key for the model provider.".to_owned())
        }
        _ => Trouble::Lasting("The request to the model provider could not be made.".to_owned()),
    }
}

fn of_web(error: &webc::Error, key: Option<&Secret>) -> Trouble {
    match error {
        webc::Error::ResponseFailedStatus { status, body, headers } => {
            of_status(status.as_u16(), body, Some(headers), key)
        }
        webc::Error::Reqwest(error) => of_http(error),
        _ => Trouble::Garbled,
    }
}

fn of_http(error: &reqwest::Error) -> Trouble {
    if error.is_builder() {
        return Trouble::Lasting("The address or the key of the model provider is not usable.".to_owned());
    }
    unreachable_provider()
}

/// The connection could not be made, was silent for too long or broke off.
pub(super) fn unreachable_provider() -> Trouble {
    Trouble::Passing(None, "The model provider could not be reached, or the connection broke off.".to_owned())
}

/// What an HTTP status means.
fn of_status(status: u16, body: &str, headers: Option<&HeaderMap>, key: Option<&Secret>) -> Trouble {
    let words = words_of(body, key);
    let said = |sentence: &str| said(sentence, &words);
    match status {
        401 => Trouble::Lasting(said("The model provider refused the API key.")),
        403 => Trouble::Lasting(said("The model provider does not allow this.")),
        404 => Trouble::Lasting(said("The model provider does not know this model or address.")),
        400 | 413 | 422 if is_too_long(body) => Trouble::TooLong,
        413 => Trouble::TooLong,
        408 | 409 | 425 => Trouble::Passing(wait_of(headers), said("The model provider did not answer in time.")),
        429 if is_out_of_money(body) => {
            Trouble::Lasting(said("The account with the model provider has no credit left."))
        }
        429 => Trouble::Passing(wait_of(headers), said("The model provider says that there are too many requests.")),
        500..=599 => {
            Trouble::Passing(wait_of(headers), said(&format!("The model provider failed with status {status}.")))
        }
        300..=399 => Trouble::Lasting(format!(
            "The model provider answered with status {status}, a redirect, which is not followed. Set `base_url`."
        )),
        _ => Trouble::Lasting(said(&format!("The model provider refused the request with status {status}."))),
    }
}

/// What an error in the middle of a stream means.
pub(super) fn of_stream_error(body: &Value, key: Option<&Secret>) -> Trouble {
    let inner = body.get("error").filter(|error| error.is_object()).unwrap_or(body);
    let word = |name: &str| inner.get(name).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let kind = format!("{} {} {}", word("type"), word("code"), word("status"));
    let code = inner.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let text = body.to_string();
    if let Some(code) = code.filter(|code| (300..600).contains(code)) {
        return of_status(code, &text, None, key);
    }
    const KINDS: [(&str, u16); 8] = [
        ("authentication", 401),
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
    ["insufficient_quota", "credit balance", "billing"].iter().any(|words| body.contains(words))
}

fn said(sentence: &str, words: &str) -> String {
    if words.is_empty() { sentence.to_owned() } else { format!("{sentence} It says: {words}") }
}

/// The provider's own message: one line, bounded, without the key.
fn words_of(body: &str, key: Option<&Secret>) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    let message = ["/error/message", "/message", "/error", "/detail", "/0/error/message"]
        .iter()
        .find_map(|path| value.pointer(path).and_then(Value::as_str))
        .unwrap_or_default();
    // Twice, since what is left after tidying up could make the key whole again.
    one_line(&without_key(&one_line(&without_key(message, key), 4 * LONGEST_WORDS), key), LONGEST_WORDS)
}

/// Text without the key, and without longer parts of it: some providers show its beginning or its end.
fn without_key(text: &str, key: Option<&Secret>) -> String {
    let Some(key) = key.map(Secret::expose).filter(|key| key.len() >= 4) else { return text.to_owned() };
    let text = text.replace(key, "[key]");
    let third = (key.len() / 3).max(8).min(key.len());
    let (start, end) = (crate::text::head(key, third), &key[key.ceil_char_boundary(key.len() - third)..]);
    let text = if start.is_empty() { text } else { text.replace(start, "[key]") };
    if end.is_empty() { text } else { text.replace(end, "[key]") }
}

/// How long the provider says to wait, in seconds or milliseconds. Dates are not understood: they would need a clock.
fn wait_of(headers: Option<&HeaderMap>) -> Option<Duration> {
    let number = |name: &str| headers?.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|millis| millis / 1000.0).or_else(|| number("retry-after"))?;
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
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), None);
        assert_eq!(wait("retry-after", "1e300"), None);
    }

    #[test]
    fn statuses_mean_what_they_mean() {
        let of = |status, body: &str| of_status(status, body, None, None);
        assert!(matches!(of(401, ""), Trouble::Lasting(s) if s.contains("refused the API key")));
        assert!(
            matches!(of(404, r#"{"error":{"message":"no model x"}}"#), Trouble::Lasting(s) if s.contains("no model x"))
        );
        assert!(matches!(of(400, r#"{"error":"prompt is too long: 9 > 8"}"#), Trouble::TooLong));
        assert!(matches!(of(400, "{}"), Trouble::Lasting(_)));
        assert!(matches!(of(429, r#"{"error":{"code":"insufficient_quota"}}"#), Trouble::Lasting(_)));
        for status in [408, 409, 429, 500, 502, 503, 529] {
            assert!(matches!(of(status, ""), Trouble::Passing(..)), "{status}");
        }
        assert!(matches!(of(302, ""), Trouble::Lasting(s) if s.contains("redirect")));
    }

    #[test]
    fn errors_in_a_stream_mean_the_same() {
        let of = |body: Value| of_stream_error(&body, None);
        let overloaded = serde_json::json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
        assert!(matches!(of(overloaded), Trouble::Passing(None, s) if s.contains("busy")));
        let key = serde_json::json!({"error": {"type": "authentication_error"}});
        assert!(matches!(of(key), Trouble::Lasting(_)));
        let long = serde_json::json!({"message": "m", "type": "exceed_context_size_error", "code": 400});
        assert!(matches!(of(long), Trouble::TooLong));
    }

    proptest! {
        #[test]
        fn a_key_never_shows(key in "[a-zA-Z0-9]{12,40}", before in "\\PC{0,40}", status in 300u16..600) {
            let secret = Secret::new(key.clone());
            let body = serde_json::json!({"error": {"message": format!("{before} {key} and {}", &key[key.len() - 8..])}});
            let trouble = of_status(status, &body.to_string(), None, Some(&secret));
            let shown = format!("{trouble:?}");
            prop_assert!(!shown.contains(&key));
            prop_assert!(shown.len() < 600);
        }

        #[test]
        fn any_body_is_read_without_a_panic(body in "\\PC{0,60}", key in "\\PC{0,12}", status in 100u16..999) {
            let _ = of_status(status, &body, None, Some(&Secret::new(key)));
        }
    }
}
