//! A client of a few lines: it costs next to nothing, so that a load run measures the server and not itself.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection that is kept open from one request to the next.
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// What the server said.
#[derive(Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) status: u16,
    head: &'a [u8],
    pub(crate) body: &'a [u8],
}

impl Reply<'_> {
    /// Whether it has a header of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.header(name).is_some()
    }

    /// The value of a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    /// All headers of that name.
    pub(crate) fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        let lines = self.head.split(|byte| *byte == b'\n').skip(1);
        let fields = lines.filter_map(|line| std::str::from_utf8(line).ok()?.split_once(':'));
        fields.filter(move |(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(16 * 1024) })
    }

    /// Sends a request, as [`request`] makes it, and reads the whole answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> io::Result<Reply<'_>> {
        self.received.clear();
        self.stream.write_all(request).await?;
        let head = self.read_head().await?;
        let (status, length) = read_head(&self.received[..head])?;
        while self.received.len() < head + length {
            self.receive().await?;
        }
        let (head, rest) = self.received.split_at(head);
        Ok(Reply { status, head, body: &rest[..length] })
    }

    /// Reads up to the end of the headers, and says where that is.
    async fn read_head(&mut self) -> io::Result<usize> {
        loop {
            if let Some(at) = self.received.windows(4).position(|four| four == b"\r\n\r\n") {
                return Ok(at + 4);
            }
            self.receive().await?;
        }
    }

    async fn receive(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.received).await? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server hung up")),
            _ => Ok(()),
        }
    }
}

/// The status code, and the length of the body, which the server must announce.
fn read_head(head: &[u8]) -> io::Result<(u16, usize)> {
    let head = std::str::from_utf8(head).map_err(io::Error::other)?;
    let bad = |what: &str| io::Error::other(format!("{what}: {head:?}"));
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| bad("no status line"))?;
    let length = head.split("\r\n").skip(1).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") { value.trim().parse().ok() } else { None }
    });
    Ok((status, length.ok_or_else(|| bad("no length"))?))
}

/// A whole request. With a body it is JSON.
pub(crate) fn request(method: &str, path: &str, key: &str, headers: &[(&str, &str)], body: Option<&str>) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    match body {
        Some(body) => {
            let length = body.len();
            text.push_str(&format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"));
        }
        None if method == "POST" => text.push_str("content-length: 0\r\n\r\n"),
        None => text.push_str("\r\n"),
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_whatever_their_case() {
        assert_eq!(read_head(b"HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\n").unwrap(), (201, 12));
        assert_eq!(read_head(b"HTTP/1.1 404 Not Found\r\nx: y\r\ncontent-length:0\r\n\r\n").unwrap(), (404, 0));
        assert!(read_head(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn a_request_says_how_long_it_is() {
        let text = String::from_utf8(request("POST", "/x", "k", &[("a", "b")], Some("{}"))).unwrap();
        assert!(text.starts_with("POST /x HTTP/1.1\r\n") && text.contains("\r\na: b\r\n"));
        assert!(text.ends_with("content-length: 2\r\n\r\n{}"));
    }
}
