//! Messages on standard input and output, one a line. The library throws away what it cannot read, and a client would wait for
//! an answer for ever; here it gets one.

use std::io;

use rmcp::model::ErrorData;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServiceExt};
use serde_json::Value;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
};
use tokio::sync::mpsc;

use crate::api::Api;
use crate::handler::Desk;

/// The most bytes of one message: a request of the interface may have a mebibyte, and JSON inside of JSON takes more.
const LONGEST_MESSAGE: usize = 8 * 1024 * 1024;
/// What waits between whoever reads lines and the library.
const BETWEEN: usize = 64 * 1024;
/// Windows programs begin text with it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Answers on standard input and output until the client goes away. An error says why it never began.
pub async fn serve_stdio<A: Api>(desk: Desk<A>) -> Result<(), String> {
    let transport = Lines::new(tokio::io::stdin(), tokio::io::stdout());
    let running = desk.serve(transport).await.map_err(|error| error.to_string())?;
    running.waiting().await.map(drop).map_err(|error| error.to_string())
}

/// The library's own transport, which is given only lines that are JSON; the others are answered beside it.
struct Lines<W: AsyncWrite> {
    messages: AsyncRwTransport<RoleServer, DuplexStream, W>,
    wrong: mpsc::Receiver<ErrorData>,
    /// An answer that is on its way. Kept here, since whoever waits for a message may stop waiting in the middle of it.
    answer: Option<Sending>,
}

type Sending = std::pin::Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

impl<W: AsyncWrite + Send + Unpin + 'static> Lines<W> {
    fn new(input: impl AsyncRead + Send + Unpin + 'static, output: W) -> Self {
        let (lines, read) = tokio::io::duplex(BETWEEN);
        // Nobody reads on before the one before it is answered.
        let (tell, wrong) = mpsc::channel(1);
        tokio::spawn(sort(BufReader::new(input), lines, tell));
        let messages = AsyncRwTransport::new_server(read, output).with_max_line_length(LONGEST_MESSAGE);
        Self { messages, wrong, answer: None }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.messages.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answer) = &mut self.answer {
                let answered = answer.await;
                self.answer = None;
                answered.ok()?;
            }
            tokio::select! {
                biased;
                Some(wrong) = self.wrong.recv() => {
                    // What cannot be read has no id.
                    let answer = TxJsonRpcMessage::<RoleServer>::error(wrong, None);
                    self.answer = Some(Box::pin(self.messages.send(answer)));
                }
                message = self.messages.receive() => return message,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.messages.close().await
    }
}

/// Hands on the lines that are JSON and tells of those that are not, until either side has gone.
async fn sort(mut input: impl AsyncBufRead + Unpin, mut lines: DuplexStream, tell: mpsc::Sender<ErrorData>) {
    let mut line = Vec::new();
    while let Ok(is_whole) = next_line(&mut input, &mut line).await {
        let wrong = match is_whole {
            None => return,
            Some(false) => {
                Some(ErrorData::parse_error(format!("A message may have at most {LONGEST_MESSAGE} bytes."), None))
            }
            Some(true) => what_is_wrong(&line),
        };
        let handed_on = match wrong {
            Some(wrong) => tell.send(wrong).await.is_ok(),
            None => lines.write_all(&line).await.is_ok(),
        };
        if !handed_on {
            return;
        }
    }
}

/// Reads a line with its end. False if it is too long, and then all of it has been skipped; none at the end of the input.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    let mut is_whole = true;
    loop {
        line.clear();
        let read = (&mut *input).take(LONGEST_MESSAGE as u64).read_until(b'\n', line).await?;
        if line.ends_with(b"\n") || read < LONGEST_MESSAGE {
            return Ok((read > 0 || !is_whole).then_some(is_whole));
        }
        is_whole = false;
    }
}

fn what_is_wrong(line: &[u8]) -> Option<ErrorData> {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return None;
    }
    let error = serde_json::from_slice::<Value>(line).err()?;
    Some(ErrorData::parse_error(format!("The message is not valid JSON: {error}."), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_read_whole_or_skipped_whole() {
        let long = "x".repeat(2 * LONGEST_MESSAGE + 3);
        let just = "y".repeat(LONGEST_MESSAGE - 1);
        let mut input = BufReader::new(io::Cursor::new(format!("a\n{long}\nb\n{just}\n{just}z\nend")));
        let mut line = Vec::new();
        let mut read = Vec::new();
        while let Some(is_whole) = next_line(&mut input, &mut line).await.unwrap() {
            read.push(if is_whole { line.len() } else { 0 });
        }
        assert_eq!(read, [2, 0, 2, LONGEST_MESSAGE, 0, 3]);
    }

    #[test]
    fn only_json_is_handed_on() {
        for line in ["{}\n", "\n", "  \r\n", "\u{feff}[1]\r\n", "\"x\""] {
            assert_eq!(what_is_wrong(line.as_bytes()), None, "{line:?}");
        }
        for line in [&b"garbage\n"[..], b"{\n", b"{}{}\n", b"\"\xff\"\n", &b"[".repeat(1000)] {
            assert_eq!(what_is_wrong(line).unwrap().code.0, -32700, "{line:?}");
        }
    }
}
