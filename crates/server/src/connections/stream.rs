//! The bytes of a connection on their way between the client and the HTTP library.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::{Line, Phase};
use crate::own_answers::{OwnAnswers, canned};

/// A first line that is longer than this is what makes a head too large.
const LONG_LINE: usize = 32 * 1024;

#[derive(Debug, Default)]
struct FirstLine {
    length: usize,
    is_whole: bool,
}

/// A connection. It tells its [`Line`] what happens on it, and says in our words what the library would say in its own.
pub(crate) struct LineStream {
    stream: TcpStream,
    line: Arc<Line>,
    answers: Arc<OwnAnswers>,
    /// How long the first line of the first request is, as far as it has come; none for later requests, whose beginning
    /// only the library knows.
    first_line: Option<FirstLine>,
    /// What is said in the place of the library's answer, as far as it is not said yet.
    instead: Vec<u8>,
}

impl LineStream {
    pub(crate) fn new(stream: TcpStream, line: Arc<Line>, answers: Arc<OwnAnswers>) -> Self {
        Self { stream, line, answers, first_line: Some(FirstLine::default()), instead: Vec::new() }
    }

    fn note(&mut self, received: &[u8]) {
        let phase = self.line.phase();
        match phase {
            Phase::Fresh | Phase::Idle => self.line.enter(Phase::Head),
            // A request may come before the answer to the last one is taken; that one is not late for it.
            Phase::Head | Phase::Sending => {}
            Phase::Busy | Phase::StrangersBody => return,
        }
        if matches!(phase, Phase::Idle | Phase::Sending) {
            self.first_line = None;
        }
        if let Some(line) = self.first_line.as_mut().filter(|line| !line.is_whole) {
            let end = received.iter().position(|byte| *byte == b'\n');
            line.length += end.unwrap_or(received.len());
            line.is_whole = end.is_some();
        }
    }

    fn say(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let said = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.line.flows(said.is_ready());
        said
    }

    fn say_instead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.instead.is_empty() {
            let bytes = std::mem::take(&mut self.instead);
            let said = self.say(context, &bytes);
            self.instead = bytes;
            let said = ready!(said)?;
            if said == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.instead.drain(..said);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for LineStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (this, before) = (self.get_mut(), buffer.filled().len());
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        let received = buffer.filled().get(before..).unwrap_or_default();
        if !received.is_empty() {
            this.note(received);
        }
        Poll::Ready(Ok(()))
    }
}

/// Not vectored: so the library hands over what it has to say in one piece and in order, and an answer of its own, after
/// which it closes, is the end of that.
impl AsyncWrite for LineStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.say_instead(context))?;
        match canned(bytes) {
            None => this.say(context, bytes),
            // What is before it is an answer of ours.
            Some((_, at)) if at > 0 => this.say(context, &bytes[..at]),
            Some((status, _)) => {
                let is_line = this.first_line.as_ref().is_some_and(|line| line.length > LONG_LINE);
                this.instead = this.answers.instead_of(status, is_line);
                Poll::Ready(Ok(bytes.len()))
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.say_instead(context))?;
        ready!(Pin::new(&mut this.stream).poll_flush(context))?;
        this.line.is_said();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.say_instead(context))?;
        Pin::new(&mut this.stream).poll_shutdown(context)
    }
}
