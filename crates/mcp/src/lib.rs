//! Copydesk as tools for agents (Model Context Protocol): what each tool is called, takes, asks of the interface and gives
//! back. How a request reaches the interface is somebody else's: over HTTP for `copydesk mcp`, within the process for
//! the server's own `/mcp`. So a tool may do exactly what its key may.

mod api;
mod arguments;
mod bounds;
mod calls;
mod handler;
mod http;
mod schema;
mod tools;
mod wait;

pub use api::{Api, Area, Ask, Reply};
pub use arguments::CheckDocs;
pub use handler::{Checker, Desk};
pub use http::{Body, answer, is_long};
pub use wait::LONGEST_WAIT;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio;

/// The most bytes of one message on standard input: a request of the interface may have a mebibyte, and JSON inside of
/// JSON takes more.
const LONGEST_MESSAGE: usize = 8 * 1024 * 1024;

/// Answers on standard input and output until the client goes away. An error says why it never began.
pub async fn serve_stdio<A: Api>(desk: Desk<A>) -> Result<(), String> {
    let (input, output) = stdio();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LONGEST_MESSAGE);
    let running = desk.serve(transport).await.map_err(|error| error.to_string())?;
    running.waiting().await.map(drop).map_err(|error| error.to_string())
}
