//! `copydesk mcp`: a server's tools on standard input and output, and the docs checks of this machine.

use std::ffi::OsString;
use std::fs;
use std::io::IsTerminal;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use copydesk_mcp::{Api, Ask, CheckDocs, Desk, Reply, serve_stdio};
use reqwest::Method;
use serde_json::{Map, Value};

use crate::args::{CheckFlags, McpFlags};
use crate::check;
use crate::client::{Client, Request};
use crate::failure::Failure;
use crate::logging;

/// More of an answer is not read.
const LONGEST_ANSWER: usize = 64 * 1024 * 1024;

pub(crate) async fn run(
    flags: &McpFlags,
    environment: &[(OsString, OsString)],
    configured: impl Fn() -> Result<String, Failure>,
) -> Result<ExitCode, Failure> {
    let client = Client::new(&flags.server(), environment, configured)?;
    let folder = fs::canonicalize(&flags.folder)
        .ok()
        .filter(|folder| folder.is_dir())
        .ok_or_else(|| Failure::usage(format!("--folder {} is not a folder", flags.folder.display())))?;
    if std::io::stdin().is_terminal() {
        eprintln!("copydesk: this talks to programs; an agent or editor starts it by itself (see docs/mcp.md)");
    }
    // Standard output belongs to the protocol.
    logging::warnings();
    let checker = move |asked: CheckDocs| check(&folder, asked);
    let ended = serve_stdio(Desk::new(client).with_checker(Arc::new(checker))).await;
    ended.map(|()| ExitCode::SUCCESS).map_err(Failure::error)
}

/// Checks a folder inside of the one that this is for.
fn check(folder: &Path, asked: CheckDocs) -> Result<Map<String, Value>, String> {
    let path = inside(folder, asked.path.as_deref().unwrap_or("."))?;
    let docs_paths = asked.docs_paths.unwrap_or_default();
    let flags = CheckFlags::of(path, docs_paths, asked.base);
    match check::value(&flags).map_err(|failure| failure.sentence())? {
        Value::Object(said) => Ok(said),
        _ => Err("The checks said nothing.".to_owned()),
    }
}

/// A folder by its path from another. Links are followed before it is judged where it is.
fn inside(folder: &Path, path: &str) -> Result<PathBuf, String> {
    let outside = || format!("{path:?} is not inside the folder that `copydesk mcp` was started for (see --folder).");
    // Nothing outside is even asked about.
    if Path::new(path).components().any(|part| part == Component::ParentDir) {
        return Err(outside());
    }
    let there = folder.join(path);
    if !there.starts_with(folder) {
        return Err(outside());
    }
    let real = fs::canonicalize(&there).map_err(|_| format!("There is no folder {path:?}."))?;
    if real.starts_with(folder) { Ok(real) } else { Err(outside()) }
}

impl Api for Client {
    async fn ask(&self, ask: Ask) -> Result<Reply, String> {
        let path: Vec<&str> = ask.path.iter().map(String::as_str).collect();
        let query: Vec<(&str, &str)> = ask.query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request = Request {
            method: if ask.post.is_some() { Method::POST } else { Method::GET },
            area: ask.area.path(),
            path: &path,
            query: &query,
            body: ask.post.as_ref(),
            header: ask.header.as_ref().map(|(name, value)| (*name, value.as_str())),
            accept: ask.accept,
        };
        let mut answer = self.answer(request).await.map_err(|failure| failure.sentence())?;
        let status = answer.status().as_u16();
        let incomplete = answer.headers().get_all("views-incomplete").iter();
        let incomplete = incomplete.filter_map(|why| Some(why.to_str().ok()?.to_owned())).collect();
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.unreachable(&error).sentence())? {
            if body.len() + piece.len() > LONGEST_ANSWER {
                return Err("The answer is too long to be read here.".to_owned());
            }
            body.extend_from_slice(&piece);
        }
        Ok(Reply { status, body: String::from_utf8_lossy(&body).into_owned(), incomplete })
    }
}
