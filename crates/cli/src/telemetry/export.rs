//! From the queue to the collector.

use std::time::Duration;

use copydesk_agent::cause_of;
use reqwest::redirect::Policy;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;

use super::layer::{Ended, Value};
use super::settings::Settings;
use super::{Counts, Item, count};
use crate::failure::Failure;

/// The most spans in one request.
const MOST: usize = 512;
/// How long spans wait for others to go with them.
const GATHER: Duration = Duration::from_secs(1);
/// How long the collector may take. What comes meanwhile waits in the queue, as far as there is room.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends until nobody has anything to send any more.
pub(super) fn export(
    settings: Settings,
    mut waiting: Receiver<Item>,
    counts: Counts,
) -> Result<impl Future<Output = ()>, Failure> {
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("copydesk/", env!("CARGO_PKG_VERSION")))
        .timeout(PATIENCE)
        // Headers may hold a key, which is not carried elsewhere.
        .redirect(Policy::none());
    if settings.address.scheme() == "http" {
        // Reading the certificates of the machine takes long, and here nobody needs them.
        builder = builder.tls_certs_only([]);
    }
    let client = builder.build().map_err(|_| Failure::error("the HTTP client for traces cannot be made"))?;
    Ok(async move {
        let mut trouble = None;
        loop {
            let (spans, flushes, is_over) = gather(&mut waiting).await;
            if !spans.is_empty() {
                let number = spans.len() as u64;
                let sent = send(&client, &settings, &spans).await;
                count(&counts, if sent.is_ok() { "sent" } else { "dropped" }, number);
                // The same trouble every second would fill the log.
                if let Some(why) = sent.as_ref().err().filter(|why| trouble.as_ref() != Some(*why)) {
                    tracing::warn!(why, "the collector of traces does not take them; they are dropped");
                }
                trouble = sent.err();
            }
            // Whoever asked may have gone.
            for flush in flushes {
                let _ = flush.send(());
            }
            if is_over {
                return;
            }
        }
    })
}

/// What goes out together, who waits for that, and whether nothing will follow.
async fn gather(waiting: &mut Receiver<Item>) -> (Vec<Ended>, Vec<oneshot::Sender<()>>, bool) {
    let (mut spans, mut flushes) = (Vec::new(), Vec::new());
    let mut next = waiting.recv().await;
    let until = tokio::time::Instant::now() + GATHER;
    loop {
        match next {
            Some(Item::Span(span)) => spans.push(*span),
            Some(Item::Flush(flush)) => {
                flushes.push(flush);
                return (spans, flushes, false);
            }
            None => return (spans, flushes, true),
        }
        if spans.len() >= MOST {
            return (spans, flushes, false);
        }
        next = match tokio::time::timeout_at(until, waiting.recv()).await {
            Ok(next) => next,
            Err(_) => return (spans, flushes, false),
        };
    }
}

async fn send(client: &reqwest::Client, settings: &Settings, spans: &[Ended]) -> Result<(), String> {
    let request = client.post(settings.address.clone()).headers(settings.headers.clone());
    let response = request.json(&body(settings, spans)).send().await.map_err(|error| cause_of(&error).to_owned())?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("it answers {status}")),
    }
}

/// An `ExportTraceServiceRequest` as OTLP writes it in JSON: ids in hexadecimal digits, large numbers as text.
fn body(settings: &Settings, spans: &[Ended]) -> Json {
    let resource = settings.resource.iter().map(|(name, value)| attribute(name, json!({ "stringValue": value })));
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource.collect::<Vec<_>>() },
        "scopeSpans": [{
            "scope": { "name": "copydesk", "version": env!("CARGO_PKG_VERSION") },
            "spans": spans.iter().map(span).collect::<Vec<_>>(),
        }],
    }] })
}

fn span(span: &Ended) -> Json {
    let started = i128::from(span.started.as_millis()) * 1_000_000;
    let ended = started + i128::try_from(span.took.as_nanos()).unwrap_or_default();
    let attributes = span.attributes.iter().map(|(name, value)| {
        let value = match value {
            Value::Text(text) => json!({ "stringValue": text }),
            Value::Number(number) => json!({ "intValue": number.to_string() }),
            Value::Truth(truth) => json!({ "boolValue": truth }),
        };
        attribute(name, value)
    });
    let mut json = json!({
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": kind(&span.kind),
        "startTimeUnixNano": started.to_string(),
        "endTimeUnixNano": ended.to_string(),
        "attributes": attributes.collect::<Vec<_>>(),
    });
    if !span.parent_id.is_empty() {
        json["parentSpanId"] = span.parent_id.clone().into();
    }
    if span.failed {
        json["status"] = json!({ "code": 2 });
    }
    json
}

fn attribute(name: &str, value: Json) -> Json {
    json!({ "key": name, "value": value })
}

/// The number of a kind of span.
fn kind(word: &str) -> u8 {
    match word {
        "server" => 2,
        "client" => 3,
        "producer" => 4,
        "consumer" => 5,
        _ => 1,
    }
}
