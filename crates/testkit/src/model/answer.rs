//! From what the script wants to what goes over the wire.

use std::io;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use super::api::{Api, Rejection};
use super::body::{Speech, Tail, Watch};
use super::ledger::{Ending, Plan};
use super::request::{Mark, Request};
use super::script::{Break, FaultKind, Reply, Stop};
use super::sse;
use super::voice::Voice;

/// What no client can take for an answer: no JSON, no UTF-8, no end.
const GARBAGE: &[u8] = b"data: {\"choices\": [{]]}\n\nevent: \xff\xfe\xc3\x28\ndata: <html>\n\n\x00\x01\x02\n\n";

/// The media type of a stream.
const EVENTS: &str = "text/event-stream; charset=utf-8";

/// How long a context is said to be when a script says that it is full.
const PRETENDED_CONTEXT: usize = 8192;

/// Does what the plan says. An error cuts the connection before anything was said.
pub(super) async fn carry_out(
    request: &Request,
    plan: Plan,
    watch: Watch,
    whole: bool,
) -> io::Result<Response<Speech>> {
    match plan {
        Plan::Say(reply) => {
            let voice = Voice { request, reply: &reply, mark: Mark::Reply(request.position), first_call: 0 };
            if !reply.delay.is_zero() {
                tokio::time::sleep(reply.delay).await;
            }
            Ok(say(voice, watch, whole))
        }
        Plan::Reject(rejection) => Ok(reject(request.api, &rejection, &[], Some(watch))),
        Plan::Fail(fault, reply, struck) => {
            let reply = reply.unwrap_or_default();
            // The ids of what two faults at one place say must not be the same.
            let mark = Mark::Fault(request.position);
            fail(Voice { request, reply: &reply, mark, first_call: struck * 100 }, fault, watch).await
        }
    }
}

/// Lets a fault strike instead of the reply.
async fn fail(voice: Voice<'_>, fault: FaultKind, mut watch: Watch) -> io::Result<Response<Speech>> {
    let api = voice.request.api;
    let instead = match fault {
        FaultKind::Status(status, headers) => {
            let rejection = Rejection::status(status, format!("The script answers {status} here."));
            return Ok(reject(api, &rejection, &headers, Some(watch)));
        }
        FaultKind::ContextOverflow => {
            let rejection = Rejection::overflow(api, PRETENDED_CONTEXT + 1, PRETENDED_CONTEXT);
            return Ok(reject(api, &rejection, &[], Some(watch)));
        }
        FaultKind::Break(0, Break::Drop) => {
            watch.ended(Ending::CutOff);
            return Err(io::Error::other("the script cuts the connection"));
        }
        FaultKind::Break(0, Break::Stall) => {
            // This future is dropped when the client goes away, and the watch with it.
            return std::future::pending().await;
        }
        FaultKind::Break(after, what) => return Ok(break_off(voice, after, what, watch)),
        FaultKind::Empty => Reply::default(),
        FaultKind::Refusal(text) => Reply::text(text).stop(Stop::Refusal),
        FaultKind::Say(reply) => reply,
    };
    Ok(say(Voice { reply: &instead, ..voice }, watch, false))
}

/// A reply, whole or in packets.
fn say(voice: Voice<'_>, watch: Watch, whole: bool) -> Response<Speech> {
    if !voice.request.stream {
        let document = voice.request.api.document(voice).to_string();
        return respond(200, "application/json", Speech::new([Bytes::from(document)], Tail::End, watch));
    }
    let bytes = voice.request.api.events(voice).concat().into_bytes();
    let packets = if whole { vec![Bytes::from(bytes)] } else { sse::packets(bytes) };
    respond(200, EVENTS, Speech::new(packets, Tail::End, watch))
}

/// A reply that is broken off.
fn break_off(voice: Voice<'_>, after: usize, what: Break, watch: Watch) -> Response<Speech> {
    let (api, stream) = (voice.request.api, voice.request.stream);
    let rejection = match what {
        Break::Overloaded => Rejection::status(529, "Overloaded"),
        _ => Rejection::status(500, "The server had an error while it was answering."),
    };
    if !stream && matches!(what, Break::Error | Break::Overloaded) {
        return reject(api, &rejection, &[], Some(watch));
    }
    let events = match stream {
        true => api.events(voice),
        // Halves, the second of which is kept back like the last events of a stream.
        false => halves(&api.document(voice).to_string()),
    };
    let (bytes, tail) = match what {
        Break::Error | Break::Overloaded => {
            let mut bytes = sse::whole_events(&events, after);
            bytes.extend_from_slice(api.error_event(&rejection).as_bytes());
            (bytes, Tail::End)
        }
        Break::Garbage => {
            let mut bytes = sse::beginning(&events, after);
            bytes.extend_from_slice(GARBAGE);
            (bytes, Tail::End)
        }
        Break::Drop => (sse::beginning(&events, after), Tail::Cut),
        Break::End => (sse::beginning(&events, after), Tail::End),
        Break::Stall => (sse::beginning(&events, after), Tail::Stall),
    };
    respond(200, if stream { EVENTS } else { "application/json" }, Speech::new(sse::packets(bytes), tail, watch))
}

fn halves(document: &str) -> Vec<String> {
    let middle = document.char_indices().nth(document.chars().count() / 2).map_or(0, |(at, _)| at);
    vec![document[..middle].to_owned(), document[middle..].to_owned(), String::new()]
}

/// An error in the provider's own shape.
pub(super) fn reject(
    api: Api,
    rejection: &Rejection,
    headers: &[(String, String)],
    watch: Option<Watch>,
) -> Response<Speech> {
    let bytes = Bytes::from(api.error(rejection).to_string());
    let speech = match watch {
        Some(watch) => Speech::new([bytes], Tail::End, watch),
        None => Speech::unrecorded(bytes),
    };
    let mut response = respond(rejection.status, "application/json", speech);
    for (name, value) in headers {
        let name: HeaderName = name.parse().expect("a script's header has a proper name");
        let value = HeaderValue::from_str(value).expect("a script's header has a proper value");
        response.headers_mut().insert(name, value);
    }
    response
}

/// An answer of this status and media type.
pub(super) fn respond(status: u16, kind: &'static str, speech: Speech) -> Response<Speech> {
    let mut response = Response::new(speech);
    *response.status_mut() = hyper::StatusCode::from_u16(status).expect("a script's status is one");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert("request-id", HeaderValue::from_static("req_scripted"));
    response
}
