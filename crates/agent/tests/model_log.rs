//! What the engine `model` logs. In a process of its own, since what is logged is a matter of the whole process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]
#![allow(dead_code, reason = "the other tests of the engine use the rest")]

#[path = "model/desk.rs"]
mod desk;
#[path = "model/stub.rs"]
mod stub;

use std::sync::{Arc, Mutex};

use copydesk_agent::Provider;
use serde_json::json;

use desk::{KEY, Pages, edit, editor, fatal};
use stub::{Reply, Stub};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_key_is_in_no_log() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone()).init();
    let body = json!({"error": {"type": "x", "message": format!("your key {KEY}")}});
    for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::Ollama] {
        let stub = Stub::new([
            Reply::Status(500, "", body.to_string()),
            Reply::Stream(format!("event: error\ndata: {body}\n\n")),
            Reply::Status(401, "", body.to_string()),
        ])
        .await;
        fatal(edit(&editor(&stub, provider), &Pages::with_prompt("Go.")).await);
    }
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("did not work") && !log.contains("planted"), "{log}");
}
