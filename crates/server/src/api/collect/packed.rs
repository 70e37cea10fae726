//! Bodies of collectors: bounded as they come, and bounded again once unpacked.

use axum::body::Body;
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use copydesk_views::collect::{Packing, UnpackError, unpack};

use crate::body;
use crate::problem::Problem;

/// How much a body may have, packed or not, and the words for it.
#[derive(Clone, Copy)]
pub(super) struct Bound(pub(super) usize, pub(super) &'static str);

/// Reads a body as it comes.
pub(super) async fn raw(headers: &HeaderMap, body: Body, bound: Bound) -> Result<Bytes, Problem> {
    body::bounded(headers, body, bound.0, bound.1).await
}

/// Unpacks it as its `Content-Encoding` says. One that says nothing may be packed all the same: Logpush sends files.
pub(super) fn plain(headers: &HeaderMap, bytes: Bytes, bound: Bound) -> Result<Bytes, Problem> {
    let named = headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?"));
    let packing = match named.map(Packing::named) {
        Some(None) => return Err(body::unsupported("The Content-Encoding must be gzip, zstd or identity.")),
        Some(Some(packing)) => packing,
        None => Packing::of(&bytes),
    };
    let Some(packing) = packing else { return Ok(bytes) };
    match unpack(packing, &bytes, bound.0) {
        Ok(plain) => Ok(plain.into()),
        Err(UnpackError::TooLarge) => Err(body::too_large(bound.1)),
        Err(UnpackError::Damaged) => {
            let error = "The request body cannot be unpacked: it is not what its Content-Encoding says, or breaks off.";
            Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_encoding", error))
        }
    }
}
