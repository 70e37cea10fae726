//! Bodies of collectors: bounded as they come, and bounded again once unpacked.

use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, StatusCode};
use copydesk_views::collect::{Form, Packing, UnpackError, unpack};

use crate::app::App;
use crate::bodies::{NoRoom, Whose};
use crate::body::{self, BodyBytes, RequestBody};
use crate::problem::Problem;

/// How much a body may have, packed or not, and the words for it.
#[derive(Clone, Copy)]
pub(super) struct Bound(pub(super) usize, pub(super) &'static str);

/// How many times its size a packed body is unpacked, mostly, and what is little in any case.
const USUAL_RATIO: usize = 16;
const LITTLE: usize = 64 * 1024;

/// Reads a body as it comes.
pub(super) async fn raw(
    app: &App,
    headers: &HeaderMap,
    body: RequestBody,
    whose: Whose,
    bound: Bound,
) -> Result<BodyBytes, Problem> {
    body::bounded(app, headers, body, whose, bound.0, bound.1).await
}

/// How the items of a body are written, as far as its type says so.
pub(super) fn form(headers: &HeaderMap) -> Form {
    const LINES: [&str; 3] = ["application/x-ndjson", "application/ndjson", "application/jsonl"];
    match body::essence(headers) {
        Some(essence) if LINES.contains(&essence.as_str()) => Form::Lines,
        _ => Form::Any,
    }
}

/// Whether it has to be unpacked.
pub(super) fn is_packed(headers: &HeaderMap, bytes: &[u8]) -> bool {
    packing(headers, bytes).is_ok_and(|packing| packing.is_some())
}

/// What its `Content-Encoding` says. One that says nothing may be packed all the same: Logpush sends files.
fn packing(headers: &HeaderMap, bytes: &[u8]) -> Result<Option<Packing>, Problem> {
    let named = headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?"));
    match named.map(Packing::named) {
        Some(None) => Err(body::unsupported("The Content-Encoding must be gzip, zstd or identity.")),
        Some(Some(packing)) => Ok(packing),
        None => Ok(Packing::of(bytes)),
    }
}

/// Unpacks it, once: what is packed twice is not what anybody sends. Memory for it is had from that of `whose` bodies.
pub(super) async fn plain(
    app: &App,
    headers: &HeaderMap,
    bytes: BodyBytes,
    whose: Whose,
    bound: Bound,
) -> Result<BodyBytes, Problem> {
    let Some(packing) = packing(headers, &bytes)? else { return Ok(bytes) };
    let share = app.bodies().share(whose);
    // Few unpack to more than this; for those there is a second try.
    let first = bytes.len().saturating_mul(USUAL_RATIO).max(LITTLE).min(bound.0);
    share.grow(first).await.map_err(|NoRoom| body::no_room())?;
    let mut unpacked = unpack(packing, &bytes, first);
    if matches!(unpacked, Err(UnpackError::TooLarge)) && first < bound.0 {
        share.grow(bound.0 - first).await.map_err(|NoRoom| body::no_room())?;
        unpacked = unpack(packing, &bytes, bound.0);
    }
    match unpacked {
        Ok(plain) => Ok(BodyBytes::new(plain.into(), share)),
        Err(UnpackError::TooLarge) => Err(body::too_large(bound.1)),
        Err(UnpackError::Damaged) => {
            let error = "The request body cannot be unpacked: it is not what its Content-Encoding says, or breaks off.";
            Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_encoding", error))
        }
    }
}
