//! A request as the fakes read it, and what they answer.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Response};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// A request, read to its end.
pub(super) struct Request {
    pub(super) method: Method,
    /// As it came, with what is encoded in it.
    pub(super) path: String,
    pub(super) raw_query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Where the fake is: scheme, host and port.
    pub(super) origin: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
}

/// What a field of a body may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    Text,
    Flag,
    Number,
    List,
    Object,
}

/// A body that no host would take for JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

impl Request {
    /// The parts of the path behind `prefix`, decoded; none if it does not begin with it.
    pub(super) fn parts(&self, prefix: &str) -> Option<Vec<String>> {
        let rest = self.path.strip_prefix(prefix)?.strip_prefix('/')?;
        let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        Some(rest.trim_end_matches('/').split('/').map(decode).collect())
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// What was asked for behind the question mark.
    pub(super) fn queries(&self) -> Vec<(String, String)> {
        form_urlencoded::parse(self.raw_query.as_bytes()).into_owned().collect()
    }

    /// The last value of a parameter.
    pub(super) fn query(&self, name: &str) -> Option<String> {
        self.queries().into_iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// A number among the parameters, between 1 and `most`.
    pub(super) fn number(&self, name: &str, fallback: usize, most: usize) -> usize {
        self.query(name).and_then(|text| text.parse().ok()).unwrap_or(fallback).clamp(1, most)
    }

    /// The secret behind a scheme of `authorization`, whatever its case.
    pub(super) fn authorization(&self) -> Option<(String, &str)> {
        let (scheme, secret) = self.header("authorization")?.split_once(' ')?;
        Some((scheme.to_ascii_lowercase(), secret.trim()))
    }

    /// User name and password of basic authentication.
    pub(super) fn basic(&self) -> Option<(String, String)> {
        use base64::Engine;
        let (scheme, secret) = self.authorization()?;
        if scheme != "basic" {
            return None;
        }
        let bytes = base64::engine::general_purpose::STANDARD.decode(secret).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        text.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
    }

    /// The body as an object. What the host would let pass but no client should send is added to `violations`: another
    /// content type, fields that nobody knows, values of another type.
    pub(super) fn object(
        &self,
        known: &[(&str, Is)],
        violations: &mut Vec<String>,
    ) -> Result<Map<String, Value>, Malformed> {
        let kind = self.header("content-type").unwrap_or("nothing");
        if kind.split(';').next().unwrap_or_default().trim() != "application/json" {
            violations.push(self.violation(&format!("the body is said to be {kind}")));
        }
        let object: Map<String, Value> = serde_json::from_slice(&self.body).map_err(|_| Malformed)?;
        for (name, value) in &object {
            match known.iter().find(|(known, _)| known == name) {
                None => violations.push(self.violation(&format!("there is no field {name:?}"))),
                Some((_, is)) if !is.fits(value) => {
                    violations.push(self.violation(&format!("{name:?} is no {is:?}: {value}")));
                }
                Some(_) => {}
            }
        }
        Ok(object)
    }

    /// Something that no client should do, told of this request.
    pub(super) fn violation(&self, what: &str) -> String {
        format!("{} {}: {what}", self.method, self.path)
    }

    /// Where this request belongs now that what was in front of `rest` is at `place`.
    pub(super) fn moved_to(&self, place: &str, rest: &[&str]) -> String {
        let tail: String = rest.iter().map(|part| format!("/{part}")).collect();
        let query = if self.raw_query.is_empty() { String::new() } else { format!("?{}", self.raw_query) };
        format!("{place}{tail}{query}")
    }

    /// Adds it to `violations` if the request does not say who makes it.
    pub(super) fn expect_user_agent(&self, violations: &mut Vec<String>) {
        if self.header("user-agent").is_none_or(str::is_empty) {
            violations.push(self.violation("no user agent"));
        }
    }

    /// Adds parameters that the host does not know to `violations`.
    pub(super) fn expect_queries(&self, known: &[&str], violations: &mut Vec<String>) {
        for (name, _) in self.queries() {
            if !known.contains(&name.as_str()) {
                violations.push(self.violation(&format!("there is no parameter {name:?}")));
            }
        }
    }
}

impl Is {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_u64(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

impl Reply {
    pub(super) fn json(status: u16, value: &Value) -> Self {
        Self::new(status, "application/json; charset=utf-8", value.to_string())
    }

    pub(super) fn text(status: u16, text: impl Into<String>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text.into())
    }

    pub(super) fn new(status: u16, kind: &str, body: impl Into<Bytes>) -> Self {
        Self { status, headers: vec![("content-type".to_owned(), kind.to_owned())], body: body.into() }
    }

    /// With this header instead of one of that name.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.retain(|(there, _)| there != name);
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    /// With this header, if there is anything to say in it.
    #[must_use]
    pub(super) fn with_some(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// As it goes over the wire.
    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = hyper::StatusCode::from_u16(self.status).unwrap();
        for (name, value) in self.headers {
            let name: HeaderName = name.parse().unwrap();
            response.headers_mut().append(name, HeaderValue::from_str(&value).unwrap());
        }
        response
    }
}

/// A text field; none if it is missing, null or something else.
pub(super) fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str)
}

/// A page of the list at a path, and the `Link` header that leads to the others.
pub(super) fn page<T: Clone>(
    items: &[T],
    request: &Request,
    path: &str,
    page: usize,
    size: usize,
) -> (Vec<T>, Option<String>) {
    let last = items.len().div_ceil(size).max(1);
    let shown = items.iter().skip((page - 1) * size).take(size).cloned().collect();
    let link = |to: usize, rel: &str| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(request.queries().iter().filter(|(name, _)| name != "page"));
        query.append_pair("page", &to.to_string());
        format!("<{}{path}?{}>; rel=\"{rel}\"", request.origin, query.finish())
    };
    let mut links = Vec::new();
    if page > 1 {
        links.push(link(page - 1, "prev"));
        links.push(link(1, "first"));
    }
    if page < last {
        links.push(link(page + 1, "next"));
        links.push(link(last, "last"));
    }
    (shown, (!links.is_empty()).then(|| links.join(", ")))
}
