//! Events that servers send.

use std::borrow::Cow;

use copydesk_domain::Timestamp;
use serde::Deserialize;

use super::item::{Item, Mistake, fields};
use super::text::{Address, Lossy, Moment, Text};
use crate::{BotSignature, Hit, page};

/// An event of `POST /v1/analytics/{projectId}/events`. A field that is not known is refused: it is a misspelt one, and
/// without a word about it the views would be counted for the wrong kind of reader.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Event<'a> {
    #[serde(borrow)]
    path: Option<Text<'a>>,
    #[serde(borrow)]
    url: Option<Text<'a>>,
    #[serde(borrow)]
    user_agent: Option<Lossy<'a>>,
    timestamp: Option<Moment>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    accept: Option<Text<'a>>,
    ip: Option<Address>,
    status: Option<u16>,
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    authority: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    signature_input: Option<Text<'a>>,
    #[serde(borrow)]
    signature_agent: Option<Text<'a>>,
    /// Taken, because logs have it, and not kept.
    #[serde(borrow)]
    #[allow(dead_code, reason = "not kept")]
    referrer: Option<Lossy<'a>>,
}

/// Reads one event of a server; without a timestamp it is of `now`.
pub fn server_event(item: &[u8], now: Timestamp) -> Item<'_> {
    match read(item, now) {
        Ok(told) => Item::Hit(told),
        Err(mistake) => Item::Wrong(mistake),
    }
}

fn read(item: &[u8], now: Timestamp) -> Result<Hit<'_>, Mistake> {
    let event: Event<'_> = fields(item, "an event")?;
    let asked = event.authority.filter(|authority| !authority.0.is_empty()).map(|authority| authority.0);
    let authority = asked.or_else(|| event.url.as_ref().and_then(|url| page::authority(&url.0)).map(Cow::Owned));
    let host = event.url.as_ref().and_then(|url| page::host(&url.0));
    let target = event.path.or(event.url).ok_or_else(|| Mistake::event("an event needs a path or a url"))?.0;
    let method = event.method.map(|it| it.0);
    let signature = BotSignature::told(
        event.signature.map(|it| it.0),
        event.signature_input.map(|it| it.0),
        event.signature_agent.map(|it| it.0),
        authority,
    );
    Ok(Hit {
        host: host.or_else(|| page::host(&target)).map(Cow::Owned),
        signature: signature.map(|signature| Box::new(signature.asked(method.as_deref(), &target))),
        target,
        at: event.timestamp.map_or_else(|| now.as_millis().div_euclid(1000), |moment| moment.0),
        user_agent: event.user_agent.unwrap_or_default().0,
        method,
        status: event.status,
        accept: event.accept.map(|it| it.0),
        ip: event.ip.map(|it| it.0),
        id: event.id.map(|it| it.0),
        ..Hit::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_773_576_000_500);

    fn read(json: &str) -> Hit<'_> {
        match server_event(json.as_bytes(), NOW) {
            Item::Hit(told) => told,
            other => panic!("{json}: {other:?}"),
        }
    }

    fn wrong(json: &str) -> Mistake {
        match server_event(json.as_bytes(), NOW) {
            Item::Wrong(mistake) => mistake,
            other => panic!("{json}: {other:?}"),
        }
    }

    #[test]
    fn every_field_is_read() {
        let told = read(
            r#"{"path":"/x","url":"https://a/y","userAgent":"U","timestamp":"2026-03-15T11:00:00Z","id":"1",
                "accept":"text/markdown","ip":"2001:db8::1","status":304,"method":"GET","referrer":"https://b/"}"#,
        );
        assert_eq!((told.target.as_ref(), told.user_agent.as_ref(), told.at), ("/x", "U", 1_773_572_400));
        assert_eq!((told.id.as_deref(), told.accept.as_deref()), (Some("1"), Some("text/markdown")));
        assert_eq!((told.status, told.method.as_deref()), (Some(304), Some("GET")));
        assert_eq!(told.ip, Some("2001:db8::1".parse().unwrap()));
        let least = read(r#"{"url":"https://a/y?b"}"#);
        assert_eq!((least.target.as_ref(), least.user_agent.as_ref(), least.at), ("https://a/y?b", "", 1_773_576_000));
        assert_eq!(told.host.as_deref(), Some("a"), "the address names it, though the path says which page");
        assert_eq!(read(r#"{"path":"https://a.b/y"}"#).host.as_deref(), Some("a.b"));
        assert_eq!(read(r#"{"path":"/y"}"#).host, None);
        assert_eq!(read(r#"{"path":"/x","id":null,"ip":null,"timestamp":null}"#).id, None);
    }

    #[test]
    fn every_mistake_is_named() {
        for (json, code, words) in [
            ("", "invalid_json", "EOF"),
            ("{", "invalid_json", "EOF"),
            ("[]", "invalid_event", "object"),
            (r#"["/x"]"#, "invalid_event", "object"),
            ("12", "invalid_event", "object"),
            ("{}", "invalid_event", "path or a url"),
            (r#"{"path":null}"#, "invalid_event", "path or a url"),
            (r#"{"path":1}"#, "invalid_event", "expected a string"),
            (r#"{"path":"/","useragent":"x"}"#, "invalid_event", "unknown field `useragent`"),
            (r#"{"path":"/","path":"/"}"#, "invalid_event", "duplicate field"),
            (r#"{"path":"/","ip":"x"}"#, "invalid_event", "no IP address"),
            (r#"{"path":"/","status":"x"}"#, "invalid_event", "expected a number from 0 to 65535"),
            (r#"{"path":"/","status":70000}"#, "invalid_event", "expected a number from 0 to 65535"),
            (r#"{"path":"/","userAgent":["a",{"b":1}],"id":1}"#, "invalid_event", "expected a string"),
            (r#"{"path":"/","timestamp":"soon"}"#, "invalid_event", "RFC 3339"),
            (r#"{"path":"\ud800"}"#, "invalid_json", "hex escape"),
        ] {
            let mistake = wrong(json);
            assert_eq!(mistake.code, code, "{json}: {mistake}");
            assert!(mistake.error.contains(words), "{json}: {mistake}");
            assert!(!mistake.error.contains("at line"), "{mistake}");
        }
        assert!(wrong(&format!(r#"{{"{}":1}}"#, "x".repeat(10_000))).error.len() <= 200);
    }
}
