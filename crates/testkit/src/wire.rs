use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::conformance::Seen;
use crate::{Answer, Client, PATIENCE};

/// A bare connection, for requests that no HTTP client would make.
pub struct Wire {
    stream: TcpStream,
    client: Client,
    read: Vec<u8>,
}

impl Wire {
    /// Connects to the server that `client` talks to.
    pub async fn connect(client: &Client) -> Self {
        let address = client.base().strip_prefix("http://").unwrap();
        Self { stream: TcpStream::connect(address).await.unwrap(), client: client.clone(), read: Vec::new() }
    }

    /// Sends bytes as they are.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends bytes, unless the server has closed the connection or takes no more.
    pub async fn try_send(&mut self, bytes: &[u8]) {
        let _ = tokio::time::timeout(Duration::from_secs(2), self.stream.write_all(bytes)).await;
    }

    /// Waits until there is something to read, and leaves it there.
    pub async fn begins(&mut self) {
        self.stream.readable().await.unwrap();
    }

    /// Reads a `100 Continue`, by which the server says that it reads the body.
    pub async fn read_continue(&mut self) {
        let end = self.read_until(|read| read.windows(4).position(|it| it == b"\r\n\r\n").map(|at| at + 4)).await;
        let head = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        assert_eq!(head, "HTTP/1.1 100 Continue\r\n\r\n");
    }

    /// Reads an answer to a request that was `method` `path`, and holds it against the description like any other.
    pub async fn answer(&mut self, method: Method, path: &str) -> Answer {
        let (status, headers, bytes) = self.read_answer().await;
        let seen = Seen { method: &method, path, status, headers: &headers, body: Some(&bytes) };
        self.client.description().check(&seen);
        Answer::new(status, headers, bytes)
    }

    /// Reads an answer to something that is no request, of which the description knows nothing.
    pub async fn said(&mut self) -> Answer {
        let (status, headers, bytes) = self.read_answer().await;
        Answer::new(status, headers, bytes)
    }

    /// Waits until the server has closed the connection, be it with a reset; fails if it says anything before.
    pub async fn ends(mut self) {
        let mut rest = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.stream.read_to_end(&mut rest)).await;
        // What it had not read is lost, which is what a reset says.
        let _ = read.expect("still open");
        rest.splice(..0, self.read);
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }

    async fn read_answer(&mut self) -> (u16, HeaderMap, Bytes) {
        let end = self.read_until(|read| read.windows(4).position(|it| it == b"\r\n\r\n").map(|at| at + 4)).await;
        let head = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value.trim()).ok()?))
        };
        let headers: HeaderMap = lines.filter_map(header).collect();
        let length = headers.get("content-length").map_or(0, |value| value.to_str().unwrap().parse().unwrap());
        self.read_until(|read| (read.len() >= length).then_some(length)).await;
        (status, headers, self.read.drain(..length).collect::<Vec<_>>().into())
    }

    /// Waits until the server has closed the connection; fails if it says anything before.
    pub async fn closed(mut self) {
        let mut rest = Vec::new();
        tokio::time::timeout(PATIENCE, self.stream.read_to_end(&mut rest)).await.expect("still open").unwrap();
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }

    async fn read_until(&mut self, found: impl Fn(&[u8]) -> Option<usize>) -> usize {
        loop {
            if let Some(at) = found(&self.read) {
                return at;
            }
            let got = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.read)).await;
            let got = got.expect("no answer came").unwrap();
            assert_ne!(got, 0, "the connection was closed in an answer: {:?}", String::from_utf8_lossy(&self.read));
        }
    }
}
