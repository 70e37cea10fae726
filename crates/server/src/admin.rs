use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::api;
use crate::connections::Bounds;
use crate::operation::Operation;
use crate::serve::{listen, listener};

/// Few ask here, and none of them for long.
const BOUNDS: Bounds = Bounds { all: 128, of_a_peer: None, head_time: Duration::from_secs(5) };

/// Health and figures for those who run the process, on a listener and a thread of their own: however busy the process is
/// with others, and whatever they do to its connections, this one answers.
pub struct AdminListener {
    pub address: SocketAddr,
    thread: JoinHandle<()>,
}

impl AdminListener {
    /// Answers at `address` until the stop.
    pub fn start(address: SocketAddr, process: Operation) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listening = {
            let _runtime = runtime.enter();
            listener(address, BOUNDS.all).and_then(|listener| Ok((listener.local_addr()?, listener)))
        };
        let (address, listener) = match listening {
            Ok(listening) => listening,
            Err(error) => {
                // Whoever asks for it may run in another runtime, where this one must not be dropped.
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let answering = async move {
            let router = api::operation_router(process.clone());
            listen(process, router, listener, BOUNDS, |_| false).await;
        };
        let thread = std::thread::Builder::new().name("admin".to_owned()).spawn(move || runtime.block_on(answering))?;
        Ok(Self { address, thread })
    }

    /// Waits for its end, after the stop.
    pub async fn ended(self) {
        // It panics only if a bug does; everything else of the process has come to its end all the same.
        let _ = tokio::task::spawn_blocking(move || self.thread.join().is_ok()).await;
    }
}
