use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};

use super::ledger::{Ending, Ledger};

/// An answer on its way out.
pub(super) struct Speech {
    packets: VecDeque<Bytes>,
    tail: Tail,
    watch: Option<Watch>,
    /// Whether to let the packet before go out on its own.
    pause: bool,
}

/// What comes after the last packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    End,
    /// The connection is cut.
    Cut,
    /// Nothing, until the client goes away.
    Stall,
}

/// Writes down how a call ends; if nobody says how, the client has gone away.
pub(super) struct Watch {
    ledger: Arc<Mutex<Ledger>>,
    index: Option<usize>,
}

impl Watch {
    pub fn new(ledger: Arc<Mutex<Ledger>>, index: usize) -> Self {
        Self { ledger, index: Some(index) }
    }

    pub fn ended(&mut self, ending: Ending) {
        if let Some(index) = self.index.take() {
            self.ledger.lock().unwrap().calls[index].ending = ending;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended(Ending::ClientGone);
    }
}

impl Speech {
    pub fn new(packets: impl Into<VecDeque<Bytes>>, tail: Tail, watch: Watch) -> Self {
        Self { packets: packets.into(), tail, watch: Some(watch), pause: false }
    }

    /// An answer that nobody keeps a record of.
    pub fn unrecorded(bytes: impl Into<Bytes>) -> Self {
        Self { packets: [bytes.into()].into(), tail: Tail::End, watch: None, pause: false }
    }

    fn ended(&mut self, ending: Ending) {
        if let Some(watch) = &mut self.watch {
            watch.ended(ending);
        }
    }
}

impl Body for Speech {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.pause {
            self.pause = false;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(packet) = self.packets.pop_front() {
            self.pause = !self.packets.is_empty() || self.tail == Tail::Cut;
            return Poll::Ready(Some(Ok(Frame::data(packet))));
        }
        match self.tail {
            Tail::End => {
                self.ended(Ending::Sent);
                Poll::Ready(None)
            }
            Tail::Cut => {
                self.ended(Ending::CutOff);
                Poll::Ready(Some(Err(io::Error::other("the script cuts the connection"))))
            }
            Tail::Stall => Poll::Pending,
        }
    }
}
