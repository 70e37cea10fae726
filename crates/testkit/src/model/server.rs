use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::answer::{carry_out, reject, respond};
use super::api::{Api, Expected, Rejection};
use super::body::{Speech, Watch};
use super::ledger::{CallRecord, Ending, Ledger, Plan, Violation};
use super::request::{Item, Request, hash_of_value};
use super::script::{Reply, Script};
use crate::eventually;

/// The key that is accepted unless a test says otherwise.
pub const KEY: &str = "sk-scripted-4f1c9a7be2d05863";
/// A model that is known unless a test says otherwise, for clients that speak OpenAI's format.
pub const OPENAI_MODEL: &str = "gpt-scripted";
/// One that thinks before it answers, and takes neither `max_tokens` nor a temperature.
pub const OPENAI_REASONING_MODEL: &str = "gpt-5-scripted";
/// A model that is known unless a test says otherwise, for clients that speak Anthropic's format.
pub const ANTHROPIC_MODEL: &str = "claude-scripted";

/// The real servers take no larger body either.
const LARGEST_BODY: usize = 32 * 1024 * 1024;

type Program = Box<dyn Fn(&Request) -> Reply + Send + Sync>;

/// A server that is about to start.
pub struct Builder {
    keys: HashSet<String>,
    models: Vec<String>,
    ledger: Ledger,
    program: Option<Program>,
}

/// A model server that says what a script says. It stops when it is dropped; a test that drops it with violations that
/// nobody has looked at fails.
pub struct ModelServer {
    url: String,
    shared: Arc<ModelState>,
    task: JoinHandle<()>,
}

struct ModelState {
    keys: HashSet<String>,
    models: Vec<String>,
    program: Option<Program>,
    ledger: Arc<Mutex<Ledger>>,
}

impl Builder {
    /// Knows this script by this name.
    #[must_use]
    pub fn script(mut self, name: &str, script: Script) -> Self {
        self.ledger.scripts.insert(name.to_owned(), script);
        self
    }

    /// Uses this script for conversations that name none.
    #[must_use]
    pub fn fallback(mut self, script: Script) -> Self {
        self.ledger.fallback = Some(script);
        self
    }

    /// Asks `program` for every reply instead of a script, and sends it in one piece. The rules hold as ever, but how
    /// requests go on from each other is not looked at.
    #[must_use]
    pub fn program(mut self, program: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        self.program = Some(Box::new(program));
        self
    }

    /// Accepts this key as well.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.keys.insert(key.to_owned());
        self
    }

    /// Knows this model as well.
    #[must_use]
    pub fn model(mut self, model: &str) -> Self {
        self.models.push(model.to_owned());
        self
    }

    /// Starts it on a port of its own.
    pub async fn start(self) -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let ledger = Arc::new(Mutex::new(self.ledger));
        let shared = Arc::new(ModelState { keys: self.keys, models: self.models, program: self.program, ledger });
        let task = tokio::spawn(accept(listener, shared.clone()));
        ModelServer { url, shared, task }
    }
}

impl ModelServer {
    /// A server that accepts [`KEY`] and knows [`OPENAI_MODEL`], [`OPENAI_REASONING_MODEL`] and [`ANTHROPIC_MODEL`].
    pub fn builder() -> Builder {
        Builder {
            keys: HashSet::from([KEY.to_owned()]),
            models: [OPENAI_MODEL, OPENAI_REASONING_MODEL, ANTHROPIC_MODEL].map(str::to_owned).to_vec(),
            ledger: Ledger::default(),
            program: None,
        }
    }

    /// Where it is, without a path. Every path is understood with and without `/v1`.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn add_script(&self, name: &str, script: Script) {
        self.shared.ledger().scripts.insert(name.to_owned(), script);
    }

    /// The calls of all conversations that passed the rules, oldest first.
    pub fn calls(&self) -> Vec<CallRecord> {
        self.shared.ledger().calls.clone()
    }

    /// The calls of a conversation, or of all conversations of a script.
    pub fn calls_of(&self, name: &str) -> Vec<CallRecord> {
        let is_its = |call: &&CallRecord| {
            call.conversation == name || call.conversation.split('#').next().is_some_and(|script| script == name)
        };
        self.shared.ledger().calls.iter().filter(is_its).cloned().collect()
    }

    /// What a conversation held when the model was last asked.
    pub fn conversation(&self, name: &str) -> Vec<Item> {
        self.shared.ledger().items_of(name)
    }

    /// Waits until a conversation, or all of a script, have made so many calls; fails if they do not.
    pub async fn called(&self, name: &str, times: usize) -> Vec<CallRecord> {
        let what = format!("{name} has called the model {times} times");
        eventually(&what, async || Some(self.calls_of(name)).filter(|calls| calls.len() >= times)).await
    }

    /// Waits until a client has gone away from a call of this conversation; fails if it does not.
    pub async fn left(&self, name: &str) {
        let gone = |call: &CallRecord| call.ending == Ending::ClientGone;
        let what = format!("the client of {name} has gone away");
        eventually(&what, async || self.calls_of(name).iter().any(gone).then_some(())).await;
    }

    /// How many requests came with a key that is not accepted.
    pub fn wrong_keys(&self) -> usize {
        self.shared.ledger().wrong_keys
    }

    /// What the real servers would not have accepted, and breaks in a conversation.
    pub fn violations(&self) -> Vec<Violation> {
        self.shared.ledger().violations.clone()
    }

    /// The same, and they are forgiven.
    pub fn take_violations(&self) -> Vec<Violation> {
        std::mem::take(&mut self.shared.ledger().violations)
    }

    /// Fails if there are violations.
    pub fn assert_clean(&self) {
        let violations = self.take_violations();
        assert!(violations.is_empty(), "the model server has complaints: {violations:#?}");
    }

    /// Fails if an answer that arrived whole was asked for again or was left out of the conversation: it was paid for.
    pub fn assert_no_answer_wasted(&self, name: &str) {
        let calls = self.calls_of(name);
        let mut sent = HashSet::new();
        for call in &calls {
            assert!(!call.forgot_reply, "an answer is missing from the conversation: {call:#?}");
            let repeated = sent.contains(&(&call.conversation, call.hash));
            assert!(!repeated, "an answer that had arrived was asked for again: {call:#?}");
            if call.ending == Ending::Sent && !call.fault {
                sent.insert((&call.conversation, call.hash));
            }
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
        if !std::thread::panicking() {
            self.assert_clean();
        }
    }
}

impl ModelState {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    /// Answers a request. An error cuts the connection.
    async fn answer(&self, request: hyper::Request<Incoming>) -> io::Result<Response<Speech>> {
        let (head, body) = request.into_parts();
        if head.method == Method::GET && matches!(head.uri.path(), "/v1/models" | "/models") {
            return Ok(self.models());
        }
        let Some(api) = Api::at(head.uri.path()).filter(|_| head.method == Method::POST) else {
            let message = format!("there is no {} {}", head.method, head.uri.path());
            self.ledger().violate(None, message.clone());
            return Ok(reject(Api::OpenAi, &Rejection::status(404, message), &[], None));
        };
        let body = Limited::new(body, LARGEST_BODY).collect().await.map_err(io::Error::other)?.to_bytes();
        let mut request = match self.admit(api, &head.headers, &body) {
            Ok(request) => request,
            Err(rejection) => return Ok(reject(api, &rejection, &[], None)),
        };
        let (index, plan) = match &self.program {
            Some(program) => {
                request.position = Script::new().position(&request.turns);
                (self.ledger().note(&request), Plan::Say(program(&request)))
            }
            None => self.ledger().begin(&mut request),
        };
        let watch = Watch::new(self.ledger.clone(), index);
        carry_out(&request, plan, watch, self.program.is_some()).await
    }

    /// The request, if the real server would accept it.
    fn admit(&self, api: Api, headers: &HeaderMap, body: &Bytes) -> Result<Request, Rejection> {
        let checked = self.check(api, headers, body);
        if let Err(rejection) = &checked {
            self.ledger().violate(None, format!("{api:?} {}: {}", rejection.status, rejection.message));
        }
        let key = api.key(headers);
        let request = checked?;
        let key = key?;
        if self.keys.contains(key) {
            return Ok(request);
        }
        self.ledger().wrong_keys += 1;
        // Some servers repeat the key; whoever shows this to a user shows the key.
        Err(Rejection::status(401, format!("Incorrect API key provided: {key}.")))
    }

    fn check(&self, api: Api, headers: &HeaderMap, body: &Bytes) -> Result<Request, Rejection> {
        api.key(headers)?;
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(Rejection::status(415, "the content type must be application/json"));
        }
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| Rejection::status(400, format!("the body is not JSON: {error}")))?;
        let known = |hash: u64| self.ledger().good_tools.contains(&hash);
        let mut request = api.check(&value, &Expected { models: &self.models, tools_known: &known })?;
        if let Some(tools) = value.get("tools") {
            self.ledger().good_tools.insert(hash_of_value(tools));
        }
        request.size = body.len();
        Ok(request)
    }

    /// The list of models, which some clients look at first.
    fn models(&self) -> Response<Speech> {
        let model = |id: &String| json!({"id": id, "object": "model", "created": 0, "owned_by": "script"});
        let models: Vec<Value> = self.models.iter().map(model).collect();
        let list = json!({"object": "list", "data": models, "has_more": false});
        respond(200, "application/json", Speech::unrecorded(list.to_string()))
    }
}

async fn accept(listener: TcpListener, shared: Arc<ModelState>) {
    // Dropped with this task, and all connections with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, shared.clone()));
                }
                // Out of file descriptors: wait for some to come back.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(stream: TcpStream, shared: Arc<ModelState>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { shared.answer(request).await }
    });
    // Fails when the client goes away or the script cuts the connection, and both are meant to happen.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
