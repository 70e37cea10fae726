//! Netlify's log drains: <https://docs.netlify.com/manage/monitoring/log-drains/>.

use std::borrow::Cow;

use serde::Deserialize;

use super::item::{Item, Mistake, fields};
use super::text::{Lossy, Moment, Status, Text, address};
use crate::{Hit, page};

#[derive(Deserialize)]
struct NetlifyLine<'a> {
    #[serde(borrow)]
    log_type: Option<Text<'a>>,
    #[serde(borrow)]
    request_id: Option<Text<'a>>,
    timestamp: Option<Moment>,
    #[serde(borrow)]
    url: Option<Text<'a>>,
    #[serde(borrow)]
    method: Option<Text<'a>>,
    status_code: Option<Status>,
    /// Left out by Netlify where personal data is excluded, as is the address.
    #[serde(borrow)]
    user_agent: Option<Lossy<'a>>,
    #[serde(borrow)]
    client_ip: Option<Text<'a>>,
}

pub fn netlify_line(item: &[u8]) -> Item<'_> {
    let line: NetlifyLine<'_> = match fields(item, "a line") {
        Ok(line) => line,
        Err(mistake) => return Item::Wrong(mistake),
    };
    if line.log_type.as_ref().is_some_and(|kind| kind.0 != "traffic") {
        return Item::Other;
    }
    let (Some(url), Some(status)) = (line.url, line.status_code) else { return Item::Other };
    let Some(at) = line.timestamp else { return Item::Wrong(Mistake::event("the line has no timestamp")) };
    Item::Hit(Hit {
        host: page::host(&url.0).map(Cow::Owned),
        target: url.0,
        at: at.0,
        user_agent: line.user_agent.unwrap_or_default().0,
        method: line.method.map(|it| it.0),
        status: Some(status.0),
        ip: address(line.client_ip.as_ref()),
        id: line.request_id.filter(|id| !id.0.is_empty()).map(|id| Cow::Owned(format!("netlify:{}", id.0))),
        ..Hit::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"account_id":"a","client_ip":"192.0.2.7","content_type":"text/html; charset=UTF-8","country":"DE",
        "deploy_id":"d","duration":12,"log_type":"traffic","method":"GET","referrer":"","request_id":"01HXYZ","request_size":10,
        "response_size":20,"site_id":"s","status_code":200,"timestamp":"2026-03-15T12:00:00.123Z",
        "url":"https://Docs.example.com/guide/","user_agent":"Mozilla/5.0 X"}"#;

    #[test]
    fn a_request_is_read() {
        let Item::Hit(told) = netlify_line(LINE.as_bytes()) else { panic!() };
        assert_eq!((told.target.as_ref(), told.at), ("https://Docs.example.com/guide/", 1_773_576_000));
        assert_eq!((told.host.as_deref(), told.status), (Some("docs.example.com"), Some(200)));
        assert_eq!((told.user_agent.as_ref(), told.id.as_deref()), ("Mozilla/5.0 X", Some("netlify:01HXYZ")));
        assert_eq!(told.ip, Some("192.0.2.7".parse().unwrap()));
    }

    #[test]
    fn other_logs_are_left() {
        assert_eq!(
            netlify_line(br#"{"log_type":"functions","message":"x","timestamp":"2026-03-15T12:00:00Z"}"#),
            Item::Other
        );
        assert_eq!(netlify_line(b"{}"), Item::Other);
        assert!(matches!(netlify_line(b"x"), Item::Wrong(_)));
        assert!(matches!(netlify_line(br#"{"url":"https://a/","status_code":200}"#), Item::Wrong(_)));
    }
}
