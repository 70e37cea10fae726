use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use crate::api::Api;
use crate::handler::Desk;
use crate::tools::WAIT_FOR_JOB;

/// The body of an answer.
pub type Body = http_body_util::combinators::BoxBody<bytes::Bytes, Infallible>;

/// Whether a message asks for something that may take longer than a request should: its answer is a stream.
pub fn is_long(message: &Value) -> bool {
    message["method"] == "tools/call" && message["params"]["name"] == WAIT_FOR_JOB
}

/// Answers one request (Streamable HTTP). No session is kept: each request stands for itself, so a client cannot take up
/// memory from one request to the next.
pub async fn answer<A: Api>(desk: Desk<A>, request: Request<Body>, is_long: bool) -> Response<Body> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(!is_long)
        // The key decides who is let in. A page of a browser has none, whatever name it reached us by; and it says its
        // origin, which is refused in any case.
        .disable_allowed_hosts()
        .enforce_origin_validation();
    StreamableHttpService::new(move || Ok(desk.clone()), Arc::new(NeverSessionManager::default()), config)
        .handle(request)
        .await
}
