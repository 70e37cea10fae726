//! One JSON object a line: Caddy, Fastly's JSON, and whatever names its fields so that they are known.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::line::LogLine;
use super::text;
use super::time;
use crate::Hit;

pub(super) fn parse(line: &[u8]) -> LogLine<'_> {
    if !line.starts_with(b"{") && line.trim_ascii_start().first() != Some(&b'{') {
        return LogLine::Unparsable;
    }
    let entry = match std::str::from_utf8(line) {
        Ok(line) => read(line),
        // nginx writes the bytes of a request as they came.
        Err(_) => {
            let line = String::from_utf8_lossy(line);
            read(&line).map(Hit::into_owned)
        }
    };
    entry.map_or(LogLine::Unparsable, LogLine::Hit)
}

/// Whether the line is one of Caddy's: the request is an object.
pub(super) fn is_caddy(line: &[u8]) -> bool {
    serde_json::from_slice::<Fields<'_>>(line).is_ok_and(|fields| fields.caddy)
}

/// Whether the line names its fields as Fastly's documentation does.
pub(super) fn is_fastly(line: &[u8]) -> bool {
    let has = |name: &str| memchr::memmem::find(line, name.as_bytes()).is_some();
    has("\"request_user_agent\"") && (has("\"response_status\"") || has("\"time_start\""))
}

fn read(line: &str) -> Option<Hit<'_>> {
    serde_json::from_str::<Fields<'_>>(line).ok()?.entry()
}

/// The fields of a line, or of an object in it.
#[derive(Default)]
struct Fields<'a> {
    entry: Hit<'a>,
    url: Option<Cow<'a, str>>,
    path: Option<Cow<'a, str>>,
    uri: Option<Cow<'a, str>>,
    request: Option<Cow<'a, str>>,
    /// How sure the address and the time are; the better one stays.
    address: u8,
    time: u8,
    at: Option<i64>,
    /// A time, a status or an id that makes no sense.
    bad: bool,
    caddy: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Url,
    Path,
    Uri,
    Request,
    Headers,
    UserAgent,
    Time(u8),
    Status,
    Method,
    Accept,
    Address(u8),
    Id,
    Host,
    Purpose,
    Other,
}

impl Key {
    fn of(name: &str) -> Self {
        let mut small = [0u8; 24];
        let mut length = 0;
        for byte in name.bytes().filter(u8::is_ascii_alphanumeric) {
            let Some(place) = small.get_mut(length) else { return Self::Other };
            *place = byte.to_ascii_lowercase();
            length += 1;
        }
        match &small[..length] {
            b"url" | b"requesturl" => Self::Url,
            b"path" | b"requestpath" => Self::Path,
            b"uri" | b"requesturi" | b"clientrequesturi" => Self::Uri,
            b"request" => Self::Request,
            b"headers" => Self::Headers,
            b"useragent" | b"httpuseragent" | b"ua" | b"requestuseragent" | b"clientrequestuseragent" => {
                Self::UserAgent
            }
            b"timestamp" | b"timeiso8601" | b"edgestarttimestamp" | b"timestart" | b"msec" => Self::Time(2),
            b"ts" | b"time" | b"timelocal" => Self::Time(1),
            b"status" | b"responsestatus" | b"statuscode" | b"edgeresponsestatus" | b"httpstatus" => Self::Status,
            b"method" | b"requestmethod" | b"clientrequestmethod" => Self::Method,
            b"accept" | b"httpaccept" | b"requestaccept" => Self::Accept,
            b"clientip" => Self::Address(2),
            b"ip" | b"remoteaddr" | b"remoteip" => Self::Address(1),
            b"id" => Self::Id,
            b"host" | b"httphost" | b"servername" | b"clientrequesthost" => Self::Host,
            b"secpurpose" | b"purpose" | b"httpsecpurpose" | b"xpurpose" | b"xmoz" => Self::Purpose,
            _ => Self::Other,
        }
    }
}

impl<'a> Fields<'a> {
    fn take(&mut self, key: Key, value: Value<'a>) {
        match (key, value) {
            (Key::Request, Value::Object(request)) => {
                self.join(*request);
                self.caddy = true;
            }
            (Key::Headers, Value::Object(headers)) => self.join_headers(*headers),
            (Key::Time(sure), value) => self.take_time(sure, &value),
            (Key::Status, Value::Number(number)) if (0.0..1000.0).contains(&number) => {
                self.entry.status = Some(number as u16);
            }
            (Key::Status, Value::Text(text)) => {
                self.entry.status = text::status(text.as_bytes());
                self.bad |= self.entry.status.is_none() && text::given(text.as_bytes()).is_some();
            }
            (Key::Status, Value::Number(_)) => self.bad = true,
            (Key::Id, Value::Number(number)) => self.entry.id = Some(number.to_string().into()),
            (Key::Purpose, Value::Text(text)) => self.entry.prefetch |= text::is_prefetch(text.as_bytes()),
            (Key::Address(sure), Value::Text(text)) if sure > self.address => {
                if let Some(address) = text::address(text.as_bytes()) {
                    (self.entry.ip, self.address) = (Some(address), sure);
                }
            }
            (key, Value::Text(text)) => self.take_text(key, text),
            _ => {}
        }
    }

    fn take_text(&mut self, key: Key, text: Cow<'a, str>) {
        match key {
            Key::Url => self.url = Some(text),
            Key::Path => self.path = Some(text),
            Key::Uri => self.uri = Some(text),
            Key::Request => self.request = Some(text),
            Key::Method => self.entry.method = Some(text),
            Key::Id => self.entry.id = Some(text),
            Key::UserAgent => self.entry.user_agent = if text == "-" { Cow::Borrowed("") } else { text },
            Key::Accept => self.entry.accept = Some(text),
            Key::Host => self.entry.host = Some(text),
            _ => {}
        }
    }

    fn take_time(&mut self, sure: u8, value: &Value<'_>) {
        if sure <= self.time {
            return;
        }
        let at = match value {
            Value::Number(number) => time::epoch(*number),
            Value::Text(text) => time::written(text.as_bytes()),
            _ => None,
        };
        if at.is_some() {
            (self.at, self.time) = (at, sure);
        }
    }

    fn join(&mut self, inner: Self) {
        self.url = inner.url.or(self.url.take());
        self.path = inner.path.or(self.path.take());
        self.uri = inner.uri.or(self.uri.take());
        let (entry, of_inner) = (&mut self.entry, inner.entry);
        entry.method = of_inner.method.or(entry.method.take());
        entry.host = of_inner.host.or(entry.host.take());
        entry.accept = of_inner.accept.or(entry.accept.take());
        entry.prefetch |= of_inner.prefetch;
        if !of_inner.user_agent.is_empty() {
            entry.user_agent = of_inner.user_agent;
        }
        if inner.address > self.address {
            (entry.ip, self.address) = (of_inner.ip, inner.address);
        }
    }

    /// A header may be called `Path` or `Id` by anybody, so only those that mean something are looked at.
    fn join_headers(&mut self, headers: Self) {
        let of_headers = headers.entry;
        self.entry.prefetch |= of_headers.prefetch;
        self.entry.accept = of_headers.accept.or(self.entry.accept.take());
        if !of_headers.user_agent.is_empty() {
            self.entry.user_agent = of_headers.user_agent;
        }
    }

    fn entry(self) -> Option<Hit<'a>> {
        if self.bad {
            return None;
        }
        let mut entry = self.entry;
        entry.at = self.at?;
        let target = self.url.or(self.path).or(self.uri);
        match (target, self.request) {
            (Some(target), request) => {
                entry.target = target;
                // Fastly's example calls the method so.
                entry.method = entry.method.or_else(|| request.and_then(method_of));
            }
            (None, Some(request)) => match text::request(request.as_bytes()) {
                Some((method, target)) => {
                    let target = std::str::from_utf8(target).ok()?.to_owned();
                    entry.method = Some(Cow::Owned(String::from_utf8_lossy(method).into_owned()));
                    entry.target = Cow::Owned(target);
                }
                None if request.starts_with('/') => entry.target = request,
                None => {}
            },
            (None, None) => return None,
        }
        Some(entry)
    }
}

fn method_of(request: Cow<'_, str>) -> Option<Cow<'_, str>> {
    match text::request(request.as_bytes()) {
        Some((method, _)) => Some(Cow::Owned(String::from_utf8_lossy(method).into_owned())),
        None if !request.is_empty() && request.bytes().all(|byte| byte.is_ascii_uppercase()) => Some(request),
        None => None,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields::default();
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
                key => {
                    let nests = matches!(key, Key::Request | Key::Headers);
                    let value = map.next_value_seed(ValueSeed { nests })?;
                    fields.take(key, value);
                }
            }
        }
        Ok(fields)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(Key::of(name))
            }
        }
        deserializer.deserialize_identifier(KeyVisitor)
    }
}

/// What is made of a value.
enum Value<'a> {
    Text(Cow<'a, str>),
    Number(f64),
    Object(Box<Fields<'a>>),
    Nothing,
}

#[derive(Clone, Copy)]
struct ValueSeed {
    /// Whether an object is looked into.
    nests: bool,
}

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value<'de>, E> {
        Ok(Value::Nothing)
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Nothing)
    }

    /// Of several values the first, as in Caddy's headers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value<'de>, A::Error> {
        let first = seq.next_element_seed(Self { nests: false })?.unwrap_or(Value::Nothing);
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(first)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        if self.nests {
            return FieldsVisitor.visit_map(map).map(|fields| Value::Object(Box::new(fields)));
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_728_568_536;

    fn request(line: &str) -> Hit<'_> {
        match parse(line.as_bytes()) {
            LogLine::Hit(entry) => entry,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn names_are_known_however_they_are_written() {
        for line in [
            r#"{"path":"/a","userAgent":"x","timestamp":"2024-10-10T13:55:36Z"}"#,
            r#"{"url":"/a","user_agent":"x","time":1728568536}"#,
            r#"{"request":"GET /a HTTP/1.1","http_user_agent":"x","ts":1728568536.5}"#,
            r#"{"uri":"/a","ua":"x","@timestamp":1728568536000}"#,
            r#" {"request_uri":"\/a","ua":"\u0078","time_iso8601":"2024-10-10T13:55:36+00:00","o":{"path":[1]}}"#,
            r#"{"request":"/a","ua":"x","msec":"1728568536.123","referrer":"/b"}"#,
        ] {
            let entry = request(line);
            assert_eq!((entry.target.as_ref(), entry.user_agent.as_ref(), entry.at), ("/a", "x", AT), "{line}");
        }
        let entry = request(
            r#"{"path":"/a","ts":1728568536,"status":"304","method":"POST","accept":"a/b","remote_addr":"192.0.2.1","id":7}"#,
        );
        assert_eq!(
            (entry.status, entry.method.as_deref(), entry.accept.as_deref()),
            (Some(304), Some("POST"), Some("a/b"))
        );
        assert_eq!((entry.ip, entry.id.as_deref()), ("192.0.2.1".parse().ok(), Some("7")));
    }

    #[test]
    fn caddy_nests_its_request() {
        let line = r#"{"level":"info","ts":1728568536.52,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.1","client_ip":"192.0.2.2","proto":"HTTP/2.0","method":"GET","host":"docs.example","uri":"/a?b","headers":{"User-Agent":["x y"],"Accept":["text/markdown"],"Sec-Purpose":["prefetch"],"Id":["9"]}},"duration":0.1,"status":200,"resp_headers":{"User-Agent":["no"]}}"#;
        assert!(is_caddy(line.as_bytes()));
        let entry = request(line);
        assert_eq!((entry.target.as_ref(), entry.at, entry.status), ("/a?b", AT, Some(200)));
        assert_eq!((entry.user_agent.as_ref(), entry.accept.as_deref()), ("x y", Some("text/markdown")));
        assert_eq!((entry.ip, entry.host.as_deref()), ("192.0.2.2".parse().ok(), Some("docs.example")));
        assert!(entry.prefetch && entry.id.is_none());
    }

    #[test]
    fn fastly_has_two_ways_to_name_things() {
        let new = r#"{"timestamp":"2024-10-10T13:55:36+0000","client_ip":"192.0.2.1","host":"docs.example","url":"/a","request_method":"GET","request_user_agent":"x","response_status":200}"#;
        let old = r#"{"time_start":1728568536000,"time_end":1,"client_ip":"192.0.2.1","request":"GET","host":"docs.example","url":"/a","request_user_agent":"x","status":"200"}"#;
        for line in [new, old] {
            assert!(is_fastly(line.as_bytes()));
            let entry = request(line);
            assert_eq!((entry.target.as_ref(), entry.at, entry.status), ("/a", AT, Some(200)));
            assert_eq!((entry.user_agent.as_ref(), entry.method.as_deref()), ("x", Some("GET")));
        }
    }

    #[test]
    fn what_tells_too_little_is_unparsable() {
        for line in [
            "",
            "x",
            "{}",
            "[]",
            r#"{"path":"/a"}"#,
            r#"{"ts":1728568536}"#,
            r#"{"path":"/a","ts":"soon"}"#,
            r#"{"path":"/a","ts":1728568536,"status":"ok"}"#,
            r#"{"path":"/a","ts":1728568536,"status":9999}"#,
            r#"{"path":"/a","ts":1728568536"#,
            r#"{"path":"/a","ts":1728568536} x"#,
        ] {
            assert_eq!(parse(line.as_bytes()), LogLine::Unparsable, "{line}");
        }
        let deep = format!(r#"{{"path":"/a","ts":1,"x":{}"#, "[".repeat(60_000));
        assert_eq!(parse(deep.as_bytes()), LogLine::Unparsable);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_matter() {
        let LogLine::Hit(entry) = parse(b"{\"path\":\"/a\",\"ts\":1728568536,\"ua\":\"x\xff\"}") else { panic!() };
        assert_eq!(entry.user_agent, "x\u{fffd}");
    }
}
