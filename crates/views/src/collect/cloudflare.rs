//! Cloudflare's Logpush of HTTP requests: <https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/>.

use std::borrow::Cow;

use serde::Deserialize;

use super::item::{Item, Mistake, fields};
use super::text::{Lossy, Moment, Status, Text, address};
use crate::{BotSignature, Hit, page};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LogpushLine<'a> {
    #[serde(borrow, rename = "ClientRequestURI")]
    client_request_uri: Option<Text<'a>>,
    #[serde(borrow)]
    client_request_path: Option<Text<'a>>,
    #[serde(borrow)]
    client_request_host: Option<Text<'a>>,
    #[serde(borrow)]
    client_request_method: Option<Text<'a>>,
    #[serde(borrow)]
    client_request_user_agent: Option<Lossy<'a>>,
    #[serde(borrow, rename = "ClientIP")]
    client_ip: Option<Text<'a>>,
    edge_response_status: Option<Status>,
    edge_start_timestamp: Option<Moment>,
    #[serde(borrow, rename = "RayID")]
    ray_id: Option<Text<'a>>,
    worker_subrequest: Option<bool>,
    #[serde(borrow)]
    request_headers: Option<RequestHeaders<'a>>,
}

/// The headers that Logpush was told to add (custom fields): of them those of a signature.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RequestHeaders<'a> {
    #[serde(borrow, alias = "Signature")]
    signature: Option<Lossy<'a>>,
    #[serde(borrow, alias = "Signature-Input")]
    signature_input: Option<Lossy<'a>>,
    #[serde(borrow, alias = "Signature-Agent")]
    signature_agent: Option<Lossy<'a>>,
}

/// The file with which Logpush tries out a destination.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    #[allow(dead_code, reason = "any text will do")]
    content: String,
}

/// Whether a body is the one with which Logpush tries out a destination, `{"content":"tests"}`.
pub fn is_trial(body: &[u8]) -> bool {
    serde_json::from_slice::<Trial>(body).is_ok()
}

pub fn cloudflare_line(item: &[u8]) -> Item<'_> {
    let line: LogpushLine<'_> = match fields(item, "a line") {
        Ok(line) => line,
        Err(mistake) => return Item::Wrong(mistake),
    };
    // What a Worker fetches on its own is nobody's view.
    if line.worker_subrequest == Some(true) {
        return Item::Other;
    }
    let Some(target) = line.client_request_uri.or(line.client_request_path) else { return Item::Other };
    let Some(at) = line.edge_start_timestamp else {
        return Item::Wrong(Mistake::event("the line has no EdgeStartTimestamp"));
    };
    let Some(status) = line.edge_response_status else {
        return Item::Wrong(Mistake::event("the line has no EdgeResponseStatus"));
    };
    let method = line.client_request_method.map(|it| it.0);
    let host = line.client_request_host.map(|host| host.0);
    let signature = line.request_headers.and_then(|headers| {
        BotSignature::told(
            headers.signature.map(|it| it.0),
            headers.signature_input.map(|it| it.0),
            headers.signature_agent.map(|it| it.0),
            host.clone(),
        )
    });
    Item::Hit(Hit {
        signature: signature.map(|signature| Box::new(signature.asked(method.as_deref(), &target.0))),
        target: target.0,
        host: host.map(|host| page::plain_host(&host).into()),
        at: at.0,
        user_agent: line.client_request_user_agent.unwrap_or_default().0,
        method,
        status: Some(status.0),
        ip: address(line.client_ip.as_ref()),
        id: line.ray_id.filter(|id| !id.0.is_empty()).map(|id| Cow::Owned(format!("cloudflare:{}", id.0))),
        ..Hit::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"ClientIP":"2001:db8::1","ClientRequestHost":"docs.example.com:443","ClientRequestMethod":"GET",
        "ClientRequestURI":"/guide?a=b","ClientRequestUserAgent":"Mozilla/5.0 X","EdgeEndTimestamp":"2026-03-15T12:00:01Z",
        "EdgeResponseBytes":1,"EdgeResponseStatus":200,"EdgeStartTimestamp":"2026-03-15T12:00:00Z","RayID":"48b371889c489b2c"}"#;

    #[test]
    fn a_request_is_read_with_every_form_of_timestamp() {
        for stamp in [r#""2026-03-15T12:00:00Z""#, "1773576000", "1773576000696000000"] {
            let line = LINE.replace(r#""2026-03-15T12:00:00Z""#, stamp);
            let Item::Hit(told) = cloudflare_line(line.as_bytes()) else { panic!("{stamp}") };
            assert_eq!((told.target.as_ref(), told.at, told.status), ("/guide?a=b", 1_773_576_000, Some(200)));
            assert_eq!((told.host.as_deref(), told.user_agent.as_ref()), (Some("docs.example.com"), "Mozilla/5.0 X"));
            assert_eq!(told.id.as_deref(), Some("cloudflare:48b371889c489b2c"));
            assert_eq!(told.ip, Some("2001:db8::1".parse().unwrap()));
        }
    }

    #[test]
    fn what_is_no_request() {
        assert!(is_trial(br#"{"content":"tests"}"#) && is_trial(b" {\"content\":\"test\"}\n"));
        assert!(!is_trial(LINE.as_bytes()) && !is_trial(b"{}") && !is_trial(b""));
        assert_eq!(cloudflare_line(br#"{"content":"tests"}"#), Item::Other);
        let own = LINE.replace(r#"{"ClientIP""#, r#"{"WorkerSubrequest":true,"ClientIP""#);
        assert_eq!(cloudflare_line(own.as_bytes()), Item::Other);
        for without in ["EdgeStartTimestamp", "EdgeResponseStatus"] {
            assert!(matches!(cloudflare_line(LINE.replace(without, "Other").as_bytes()), Item::Wrong(_)), "{without}");
        }
    }
}
