use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::StreamBody;
use hyper::body::Frame;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::PATIENCE;
use crate::conformance::{Description, Seen};

/// An HTTP client that holds every answer against the server's own description.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
    description: Arc<Description>,
}

impl Client {
    pub(crate) fn new(base: String, description: Description) -> Self {
        let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        // Bodies as they come: some crate in the workspace may have switched decoding on.
        let builder = builder.no_gzip().no_brotli().no_deflate().no_zstd();
        // No certificates, because reading those of the machine takes longer than many a test.
        let http = builder.tls_certs_only([]).timeout(PATIENCE * 2).build().unwrap();
        Self { http, base, key: None, description: Arc::new(description) }
    }

    /// The same client with another key.
    pub fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    /// The same client for another listener of the server.
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { base: format!("http://{address}"), ..self.clone() }
    }

    /// The same client without a key.
    pub fn without_key(&self) -> Self {
        Self { key: None, ..self.clone() }
    }

    /// Where the server is: `http://127.0.0.1:port`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// What answers are held against.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// A request for `path`, which may have a query.
    pub fn request(&self, method: Method, path: &str) -> Call {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {key}")).unwrap());
        }
        Call { client: self.clone(), method, path: path.to_owned(), headers, body: None }
    }

    pub fn get(&self, path: &str) -> Call {
        self.request(Method::GET, path)
    }

    /// A POST request, without a body so far.
    pub fn post(&self, path: &str) -> Call {
        self.request(Method::POST, path)
    }
}

/// A request on its way.
pub struct Call {
    client: Client,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Option<reqwest::Body>,
}

impl Call {
    /// Adds a header, which need not be text; a second one of that name goes beside the first.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        self.headers.append(name, HeaderValue::from_bytes(value.as_ref()).unwrap());
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.json_text(body.to_string())
    }

    /// Sends anything at all as if it were JSON.
    pub fn json_text(self, body: impl Into<Bytes>) -> Self {
        self.header(CONTENT_TYPE.as_str(), "application/json").body(body)
    }

    /// Sends bytes, of no type.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into().into());
        self
    }

    /// Sends bytes piece by piece, without saying beforehand how many.
    pub fn chunked(mut self, pieces: Vec<Bytes>) -> Self {
        let frames = pieces.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        self.body = Some(reqwest::Body::wrap(StreamBody::new(futures_util::stream::iter(frames))));
        self
    }

    /// Sends the request and reads the whole answer.
    pub async fn send(self) -> Answer {
        let (client, method, path) = (self.client.clone(), self.method.clone(), self.path.clone());
        let response = self.start().await.unwrap_or_else(|error| panic!("no answer to {method} {path}: {error:?}"));
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes =
            response.bytes().await.unwrap_or_else(|error| panic!("half an answer to {method} {path}: {error:?}"));
        // What is compressed is for the test to look into.
        let body = (!headers.contains_key("content-encoding")).then_some(&*bytes);
        client.description.check(&Seen { method: &method, path: &path, status, headers: &headers, body });
        Answer::new(status, headers, bytes)
    }

    /// Sends the request and says only whether there was an answer: none if the server cannot be talked to.
    pub async fn try_send(self) -> Option<u16> {
        self.start().await.ok().map(|response| response.status().as_u16())
    }

    /// Sends the request and reads the answer, which must be 200, as server-sent events.
    pub async fn stream(self) -> EventStream {
        let (client, method, path) = (self.client.clone(), self.method.clone(), self.path.clone());
        let response = self.start().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        client.description.check(&Seen { method: &method, path: &path, status, headers: &headers, body: None });
        assert_eq!(status, 200, "{path}");
        assert_eq!(headers[CONTENT_TYPE], "text/event-stream");
        EventStream { headers, response, text: Vec::new(), ready: VecDeque::new() }
    }

    async fn start(self) -> reqwest::Result<reqwest::Response> {
        let request = self.client.http.request(self.method, format!("{}{}", self.client.base, self.path));
        let request = request.headers(self.headers);
        match self.body {
            Some(body) => request.body(body).send().await,
            None => request.send().await,
        }
    }
}

/// An answer, already held against the description.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// Its body as it came.
    pub bytes: Bytes,
    json: Value,
}

impl Answer {
    pub(crate) fn new(status: u16, headers: HeaderMap, bytes: Bytes) -> Self {
        let json = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { status, headers, bytes, json }
    }

    /// Fails unless the status is the one that the test expects.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// Fails unless this is that error.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.json["code"].as_str()), (status, Some(code)), "{}", self.text());
        self
    }

    /// Fails unless this is a 400 whose details name exactly these fields.
    #[track_caller]
    pub fn names(self, fields: &[&str]) -> Self {
        assert_eq!(self.status, 400, "{}", self.text());
        let details = self.json["details"].as_array().cloned().unwrap_or_default();
        let named: Vec<_> = details.iter().map(|detail| detail["field"].as_str().unwrap_or_default()).collect();
        assert_eq!(named, fields, "{}", self.text());
        self
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> &Value {
        &self.json
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The header of that name as a number.
    #[track_caller]
    pub fn number(&self, name: &str) -> u64 {
        let text = self.header(name).unwrap_or_else(|| panic!("there is no {name}: {:?}", self.headers));
        text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}"))
    }
}

impl std::ops::Index<&str> for Answer {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        &self.json[name]
    }
}

pub struct EventStream {
    pub headers: HeaderMap,
    response: reqwest::Response,
    text: Vec<u8>,
    ready: VecDeque<StreamedEvent>,
}

/// One event of a stream, as its lines said.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamedEvent {
    pub id: String,
    pub event: String,
    /// The `data:` lines as JSON.
    pub data: Value,
}

impl EventStream {
    /// The next event; none at the end of the stream. Fails if neither comes.
    pub async fn next(&mut self) -> Option<StreamedEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let piece = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            let piece = piece.expect("neither an event nor the end of the stream came").unwrap()?;
            self.text.extend_from_slice(&piece);
            while let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                self.ready.extend(read_event(std::str::from_utf8(&block).unwrap()));
            }
        }
    }

    /// Everything up to the end of the stream.
    pub async fn rest(mut self) -> Vec<StreamedEvent> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        assert!(self.text.is_empty(), "the stream ended in the middle of an event");
        all
    }
}

/// None for a comment, which keeps the connection alive.
fn read_event(block: &str) -> Option<StreamedEvent> {
    let field = |name: &str| {
        let lines: Vec<_> = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    };
    let data = serde_json::from_str(&field("data")?).unwrap();
    Some(StreamedEvent { id: field("id").unwrap_or_default(), event: field("event").unwrap_or_default(), data })
}
