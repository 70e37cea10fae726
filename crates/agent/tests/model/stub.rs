use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// One thing that the server does when it is asked.
#[derive(Clone)]
pub enum Reply {
    /// A stream that ends as it should.
    Stream(String),
    /// A status with headers and a body.
    Status(u16, &'static str, String),
    /// A stream that promises more than it sends.
    Cut(String),
    /// Nothing at all, until the other side hangs up.
    Silence,
    /// Headers and the beginning of a stream, then nothing.
    Stall(String),
    /// A stream with one line that does not end, in small pieces: so many of 8,192 bytes.
    Flood(usize),
}

/// What was asked.
#[derive(Clone)]
pub struct Asked {
    pub path: String,
    pub headers: String,
    pub body: Value,
}

/// A server that does one thing after the other.
pub struct Stub {
    pub url: String,
    script: Arc<Mutex<VecDeque<Reply>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    pub hung_up: Arc<Notify>,
}

impl Stub {
    pub async fn new(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let hung_up = Arc::new(Notify::new());
        let stub = Self { url, script: script.clone(), asked: asked.clone(), hung_up: hung_up.clone() };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, script.clone(), asked.clone(), hung_up.clone()));
            }
        });
        stub
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many replies were not asked for.
    pub fn left(&self) -> usize {
        self.script.lock().unwrap().len()
    }
}

async fn serve(
    mut stream: TcpStream,
    script: Arc<Mutex<VecDeque<Reply>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    hung_up: Arc<Notify>,
) {
    let Some(request) = read(&mut stream).await else { return };
    asked.lock().unwrap().push(request);
    let reply = script.lock().unwrap().pop_front();
    let reply =
        reply.unwrap_or_else(|| Reply::Status(400, "", json!({"error": "the script is at its end"}).to_string()));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    let bytes = match &reply {
        Reply::Stream(body) => format!("{head}content-length: {}\r\n\r\n{body}", body.len()),
        Reply::Cut(body) => format!("{head}content-length: {}\r\n\r\n{body}", body.len() + 999),
        Reply::Stall(body) => format!("{head}content-length: {}\r\n\r\n{body}", body.len() + 999),
        Reply::Silence => String::new(),
        Reply::Flood(_) => format!("{head}\r\ndata: "),
        Reply::Status(status, headers, body) => format!(
            "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        ),
    };
    let _ = stream.write_all(bytes.as_bytes()).await;
    let _ = stream.flush().await;
    if let Reply::Flood(pieces) = reply {
        for _ in 0..pieces {
            if stream.write_all(&[b'x'; 8192]).await.is_err() {
                break;
            }
            // Lets the other side read what there is, so that it comes in pieces.
            tokio::task::yield_now().await;
        }
    }
    if matches!(reply, Reply::Silence | Reply::Stall(_)) {
        let mut rest = [0; 16];
        while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
        hung_up.notify_one();
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 65_536];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0usize) {
                let path = head.split(' ').nth(1)?.to_owned();
                let body = serde_json::from_str(body).unwrap_or(Value::Null);
                return Some(Asked { path, headers: head.to_lowercase(), body });
            }
        }
        match stream.read(&mut chunk).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&chunk[..count]),
            _ => return None,
        }
    }
}

/// A call of a tool: its id, its name, its arguments.
pub type Call<'a> = (&'a str, &'a str, Value);

/// An answer as OpenAI streams it, with the arguments of each call in two pieces.
pub fn openai(text: &str, calls: &[Call<'_>]) -> Reply {
    Reply::Stream(openai_stream(text, calls, if calls.is_empty() { "stop" } else { "tool_calls" }))
}

pub fn openai_stream(text: &str, calls: &[Call<'_>], reason: &str) -> String {
    let mut frames = vec![json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})];
    frames.push(json!({"choices": [{"index": 0, "delta": {"content": text}}]}));
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), ToOwned::to_owned);
        let middle = arguments.floor_char_boundary(arguments.len() / 2);
        let (start, end) = arguments.split_at(middle);
        let call =
            json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": start}});
        frames.push(json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}));
        let call = json!({"index": index, "function": {"arguments": end}});
        frames.push(json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}));
    }
    frames.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    frames.push(json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}));
    let frames: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    format!("{frames}data: [DONE]\n\n")
}

/// An answer as Anthropic streams it.
pub fn anthropic(text: &str, calls: &[Call<'_>]) -> Reply {
    let mut events = vec![(
        "message_start",
        json!({"message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1}}}),
    )];
    let mut blocks = Vec::new();
    if !text.is_empty() {
        blocks.push((json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text})));
    }
    for (id, name, arguments) in calls {
        let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        blocks.push((start, json!({"type": "input_json_delta", "partial_json": arguments.to_string()})));
    }
    for (index, (start, delta)) in blocks.into_iter().enumerate() {
        events.push(("content_block_start", json!({"index": index, "content_block": start})));
        events.push(("content_block_delta", json!({"index": index, "delta": delta})));
        events.push(("content_block_stop", json!({"index": index})));
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    events.push(("message_delta", json!({"delta": {"stop_reason": reason}, "usage": {"output_tokens": 10}})));
    events.push(("message_stop", json!({})));
    let event = |(name, mut data): (&str, Value)| {
        data["type"] = json!(name);
        format!("event: {name}\ndata: {data}\n\n")
    };
    Reply::Stream(events.into_iter().map(event).collect())
}

pub fn finish(title: &str) -> Call<'static> {
    ("f1", "finish", json!({"title": title, "summary": "Did it."}))
}

pub fn edit<'a>(id: &'a str, old: &str, new: &str) -> Call<'a> {
    (id, "edit_file", json!({"path": "docs/a.md", "old_text": old, "new_text": new}))
}
