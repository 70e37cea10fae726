//! Vercel's log drains: <https://vercel.com/docs/drains/reference/logs>.

use std::borrow::Cow;

use serde::Deserialize;

use super::item::{Item, Mistake, fields};
use super::text::{Lossy, Moment, Status, Text, address};
use crate::{Hit, page};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VercelLine<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    request_id: Option<Text<'a>>,
    timestamp: Option<Moment>,
    #[serde(borrow)]
    proxy: Option<Proxy<'a>>,
}

/// The request as it came to Vercel's edge. Lines of builds have none.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proxy<'a> {
    timestamp: Option<Moment>,
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    host: Option<Text<'a>>,
    #[serde(borrow)]
    path: Option<Text<'a>>,
    #[serde(borrow)]
    user_agent: Option<Lossy<'a>>,
    status_code: Option<Status>,
    #[serde(borrow)]
    client_ip: Option<Text<'a>>,
    #[serde(borrow)]
    vercel_id: Option<Text<'a>>,
}

/// Reads one line of a Vercel log drain.
///
/// A function writes a line for everything it prints, each with the same request, so a view is known by the request's id
/// and not by that of the line.
pub fn vercel_line(item: &[u8]) -> Item<'_> {
    let line: VercelLine<'_> = match fields(item, "a line") {
        Ok(line) => line,
        Err(mistake) => return Item::Wrong(mistake),
    };
    let Some(proxy) = line.proxy else { return Item::Other };
    let Some(target) = proxy.path else { return Item::Other };
    let Some(at) = proxy.timestamp.or(line.timestamp) else {
        return Item::Wrong(Mistake::event("the line has no timestamp"));
    };
    let id = line.request_id.or(proxy.vercel_id).or(line.id).filter(|id| !id.0.is_empty());
    Item::Hit(Hit {
        target: target.0,
        host: proxy.host.map(|host| page::plain_host(&host.0).into()),
        at: at.0,
        user_agent: proxy.user_agent.unwrap_or_default().0,
        method: proxy.method.map(|it| it.0),
        // Without a status the answer is still to come, so another line will tell.
        status: Some(proxy.status_code.map_or(0, |it| it.0)),
        ip: address(proxy.client_ip.as_ref()),
        id: id.map(|id| Cow::Owned(format!("vercel:{}", id.0))),
        ..Hit::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the fields and values of Vercel's own description.
    const LINE: &str = r#"{"id":"1573817250283254651097202070","deploymentId":"dpl_1","source":"lambda","host":"my-app-abc123.vercel.app",
        "timestamp":1773576000999,"projectId":"p","level":"info","message":"API request processed","entrypoint":"api/index.js",
        "requestId":"643af4e3-975a-4cc7-9e7a-1eda11539d90","statusCode":200,"path":"/api/users","executionRegion":"sfo1",
        "environment":"production","traceId":"t","proxy":{"timestamp":1773576000123,"method":"GET","host":"Docs.Example.com",
        "path":"/guide?search=zeit","userAgent":["Mozilla/5.0 X"],"referer":"https://a.b/","region":"sfo1","statusCode":200,
        "clientIp":"120.75.16.101","scheme":"https","vercelCache":"MISS"}}"#;

    #[test]
    fn a_request_is_read() {
        let Item::Hit(told) = vercel_line(LINE.as_bytes()) else { panic!() };
        assert_eq!(
            (told.target.as_ref(), told.at, told.user_agent.as_ref()),
            ("/guide?search=zeit", 1_773_576_000, "Mozilla/5.0 X")
        );
        assert_eq!((told.host.as_deref(), told.status), (Some("docs.example.com"), Some(200)));
        assert_eq!(told.ip, Some("120.75.16.101".parse().unwrap()));
        assert_eq!(told.id.as_deref(), Some("vercel:643af4e3-975a-4cc7-9e7a-1eda11539d90"));
    }

    #[test]
    fn lines_of_builds_and_of_nothing() {
        let build = br#"{"id":"1","deploymentId":"d","source":"build","host":"h","timestamp":1,"level":"error","message":"x","type":"stderr"}"#;
        assert_eq!(vercel_line(build), Item::Other);
        assert_eq!(vercel_line(b"{}"), Item::Other);
        for (line, words) in [
            ("x", "expected value"),
            ("7", "a line is a JSON object"),
            (r#"["a"]"#, "a line is a JSON object"),
            (r#"{"proxy":"x"}"#, "expected an object"),
            (r#"{"proxy":{"userAgent":1}}"#, "expected a string"),
        ] {
            let Item::Wrong(mistake) = vercel_line(line.as_bytes()) else { panic!("{line}") };
            assert!(mistake.error.contains(words), "{line}: {mistake}");
            assert!(!mistake.error.contains("struct") && !mistake.error.contains("enum"), "{line}: {mistake}");
        }
        assert!(matches!(vercel_line(br#"{"proxy":{"path":"/x"}}"#), Item::Wrong(_)));
        let revalidated = LINE.replace(r#""statusCode":200,"#, r#""statusCode":-1,"#);
        let Item::Hit(told) = vercel_line(revalidated.as_bytes()) else { panic!() };
        assert_eq!(told.status, Some(0), "no success");
        for (user_agent, read) in [(r#""U""#, "U"), ("[]", ""), ("null", ""), (r#"["U","V"]"#, "U")] {
            let line = LINE.replace(r#"["Mozilla/5.0 X"]"#, user_agent);
            let Item::Hit(told) = vercel_line(line.as_bytes()) else { panic!("{user_agent}") };
            assert_eq!(told.user_agent, read);
        }
    }
}
