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
mod stdio;
mod tools;
mod wait;

pub use api::{Api, Area, Ask, Reply};
pub use arguments::CheckDocs;
pub use handler::{Checker, Desk};
pub use http::{Body, answer, is_long};
pub use stdio::serve_stdio;
pub use wait::LONGEST_WAIT;
