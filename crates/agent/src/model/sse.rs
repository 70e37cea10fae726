//! Reads the events of a stream and makes an answer of them. Bounds everything that a provider could make endless.

use std::time::Duration;

use reqwest::Response;
use secrecy::SecretString;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::failure::{self, CallFailure};
use crate::said::Said;

/// The most bytes of a line and of an event: a call of a tool may come in one piece.
const LONGEST_EVENT: usize = 4 * 1024 * 1024;

/// An answer that is being put together of a stream's events.
pub(super) trait WireAnswer: Default {
    /// Takes in an event; says whether it was the last.
    fn take(&mut self, event: &Value) -> Result<bool, CallFailure>;

    /// The answer, if it has come to its end. `done` is whether the stream was closed with OpenAI's mark.
    fn finish(self, done: bool) -> Option<Said>;
}

/// The events of one answer.
pub(super) struct EventStream {
    response: Response,
    /// After how long without a byte it is given up.
    silence: Duration,
    /// How many bytes may still come.
    left: usize,
    lines: Lines,
}

impl EventStream {
    pub(super) fn new(response: Response, silence: Duration, most_bytes: usize) -> Self {
        Self { response, silence, left: most_bytes, lines: Lines::default() }
    }

    /// Reads all of it, and says in how many pieces it came. What breaks off after the end of the answer does it no harm.
    pub(super) async fn read<Answer: WireAnswer>(
        mut self,
        key: Option<&SecretString>,
    ) -> Result<(Said, usize), CallFailure> {
        let mut answer = Answer::default();
        let mut pieces = 0;
        let (done, failure) = loop {
            let data = match self.next().await {
                Ok(Some(data)) => data,
                Ok(None) => break (false, CallFailure::unreachable()),
                Err(failure) => break (false, failure),
            };
            if data.trim_ascii() == b"[DONE]" {
                break (true, CallFailure::unreachable());
            }
            let event: Value =
                serde_json::from_slice(&data).map_err(|_| CallFailure::Garbled("an event of it is not JSON"))?;
            if event.get("error").is_some_and(|error| !error.is_null()) {
                return Err(failure::of_stream_error(&event, key));
            }
            pieces += 1;
            if answer.take(&event)? {
                break (false, CallFailure::unreachable());
            }
        };
        answer.finish(done).map(|said| (said, pieces)).ok_or(failure)
    }

    /// The data of the next event; none at a proper end.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, CallFailure> {
        loop {
            if let Some(event) = self.lines.next_event()? {
                return Ok(Some(event));
            }
            let chunk = tokio::time::timeout(self.silence, self.response.chunk()).await;
            match chunk.map_err(|_| CallFailure::unreachable())?.map_err(|_| CallFailure::unreachable())? {
                Some(chunk) => {
                    self.left =
                        self.left.checked_sub(chunk.len()).ok_or(CallFailure::Garbled("the answer is too long"))?;
                    self.lines.buffer.extend_from_slice(&chunk);
                }
                None => return Ok(self.lines.last_event()),
            }
        }
    }
}

/// Bytes that become lines, which become events.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
    /// Up to where the buffer was turned into lines, and up to where it was searched for the end of one.
    start: usize,
    searched: usize,
    data: Vec<u8>,
}

impl Lines {
    fn next_event(&mut self) -> Result<Option<Vec<u8>>, CallFailure> {
        while let Some(length) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            let end = self.searched + length;
            let line = self.buffer[self.start..end].strip_suffix(b"\r").unwrap_or(&self.buffer[self.start..end]);
            let (is_blank, is_bare) = (line.is_empty(), line.starts_with(b"{"));
            if let Some(value) = value_of(line) {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            (self.start, self.searched) = (end + 1, end + 1);
            if self.data.len() > LONGEST_EVENT {
                return Err(CallFailure::Garbled("an event of it is too long"));
            }
            if (is_blank || is_bare) && !self.data.is_empty() {
                return Ok(Some(std::mem::take(&mut self.data)));
            }
        }
        self.buffer.drain(..self.start);
        (self.start, self.searched) = (0, self.buffer.len());
        if self.buffer.len() > LONGEST_EVENT {
            return Err(CallFailure::Garbled("a line of it is too long"));
        }
        Ok(None)
    }

    /// What came without the empty line that should end it. A line that is not whole is nothing, unless it is JSON by
    /// itself: the answer, or the error, of a server that does not stream.
    fn last_event(&mut self) -> Option<Vec<u8>> {
        if !self.data.is_empty() {
            return Some(std::mem::take(&mut self.data));
        }
        let rest = self.buffer.split_off(self.start);
        self.searched = self.start;
        let line = rest.trim_ascii();
        let is_whole = line.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        is_whole.then(|| line.to_vec())
    }
}

/// What a line adds to an event's data. Names and comments add nothing; a line that is JSON by itself is how some
/// servers report an error in the middle of a stream.
fn value_of(line: &[u8]) -> Option<&[u8]> {
    if line.starts_with(b"{") {
        return Some(line);
    }
    let value = line.strip_prefix(b"data:")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Result<Vec<String>, CallFailure> {
        let mut lines = Lines::default();
        let mut events = Vec::new();
        for piece in pieces {
            lines.buffer.extend_from_slice(piece);
            while let Some(event) = lines.next_event()? {
                events.push(event);
            }
        }
        events.extend(lines.last_event());
        Ok(events.into_iter().map(|event| String::from_utf8(event).unwrap()).collect())
    }

    const STREAM: &str =
        ": hello\n\nevent: a\r\ndata: one\r\n\r\ndata:two\ndata: three\n\n\n{\"bare\": 1}\nid: 4\ndata: [DONE]\n";

    #[test]
    fn reads_what_servers_send() {
        let read = ["one", "two\nthree", "{\"bare\": 1}", "[DONE]"];
        assert_eq!(events(&[STREAM.as_bytes()]).unwrap(), read);
        assert_eq!(events(&[b"data: whole\n\ndata: not who"]).unwrap(), ["whole"]);
        assert_eq!(events(&[b"{\"not\": ", b"\"streamed\"}"]).unwrap(), ["{\"not\": \"streamed\"}"]);
        assert!(events(&[b"{\"not\": \"who"]).unwrap().is_empty());
    }

    #[test]
    fn what_has_no_end_is_cut_off() {
        let piece = [b'x'; 1 << 16];
        let endless: Vec<&[u8]> = vec![&piece; LONGEST_EVENT / piece.len() + 1];
        assert_eq!(events(&endless), Err(CallFailure::Garbled("a line of it is too long")));
        let line = [b"data: ".as_slice(), &piece, b"\n"].concat();
        let endless: Vec<&[u8]> = vec![&line; LONGEST_EVENT / piece.len() + 1];
        assert_eq!(events(&endless), Err(CallFailure::Garbled("an event of it is too long")));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_a_stream_is_cut(size in 1usize..20) {
            let pieces: Vec<&[u8]> = STREAM.as_bytes().chunks(size).collect();
            prop_assert_eq!(events(&pieces).unwrap(), events(&[STREAM.as_bytes()]).unwrap());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut lines = Lines { buffer: bytes, ..Lines::default() };
            while lines.next_event().unwrap().is_some() {}
        }
    }
}
