//! A way to ClickHouse that breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// Passes everything on to a server, and loses what it is told to.
pub struct Proxy {
    pub url: String,
    port: u16,
    bends: Arc<Bends>,
    task: Option<tokio::task::JoinHandle<()>>,
    server: String,
}

#[derive(Default)]
struct Bends {
    /// So many answers to inserts are lost after the server has done them.
    lost_answers: AtomicUsize,
    /// Nobody tells the server the token of an insert.
    without_token: AtomicBool,
    /// Answers to statements that delete are kept back as long as this is true.
    keeps_back: watch::Sender<bool>,
    /// One of them is.
    is_kept: Notify,
}

impl Proxy {
    /// To `http://host:port`.
    pub async fn start(server: &str) -> Self {
        let server = server.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut proxy =
            Self { url: format!("http://127.0.0.1:{port}"), port, bends: Arc::default(), task: None, server };
        proxy.serve(listener);
        proxy
    }

    fn serve(&mut self, listener: TcpListener) {
        let (bends, server) = (Arc::clone(&self.bends), self.server.clone());
        self.task = Some(tokio::spawn(async move {
            let mut passing = tokio::task::JoinSet::new();
            while let Ok((from, _)) = listener.accept().await {
                passing.spawn(pass(from, server.clone(), Arc::clone(&bends)));
            }
        }));
    }

    /// Nothing gets through any more, open connections included.
    pub async fn cut(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            let _ = task.await;
        }
    }

    pub async fn mend(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
        self.serve(listener);
    }

    pub fn lose_answers(&self, count: usize) {
        self.bends.lost_answers.store(count, Ordering::SeqCst);
    }

    pub fn lost_all(&self) -> bool {
        self.bends.lost_answers.load(Ordering::SeqCst) == 0
    }

    /// Keeps back answers to statements that delete.
    pub fn keep_back(&self) {
        self.bends.keeps_back.send_replace(true);
    }

    /// Waits until one is.
    pub async fn keeps_one(&self) {
        self.bends.is_kept.notified().await;
    }

    pub fn let_go(&self) {
        self.bends.keeps_back.send_replace(false);
    }

    pub fn drop_tokens(&self) {
        self.bends.without_token.store(true, Ordering::SeqCst);
    }
}

async fn pass(from: TcpStream, server: String, bends: Arc<Bends>) {
    let Ok(to) = TcpStream::connect(server).await else { return };
    let ((mut asks, mut hears), (mut answers, mut sends)) = (from.into_split(), to.into_split());
    let (inserts, deletes) = (AtomicBool::new(false), AtomicBool::new(false));
    let asking = async {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = asks.read(&mut buffer).await {
            let mut bytes = buffer[..read].to_vec();
            // The statement may come with the head of the request or behind it.
            let begins = find(&bytes, b"HTTP/1.1\r\n").is_some();
            for (flag, word) in [(&inserts, &b"INSERT"[..]), (&deletes, b"DELETE")] {
                let is_said = find(&bytes, word).is_some();
                if begins || is_said {
                    flag.store(is_said, Ordering::SeqCst);
                }
            }
            if bends.without_token.load(Ordering::SeqCst)
                && let Some(place) = find(&bytes, b"insert_deduplication_token")
            {
                // Where any text may stand.
                bytes.splice(place..place + b"insert_deduplication_token".len(), *b"log_comment");
            }
            if sends.write_all(&bytes).await.is_err() {
                break;
            }
        }
    };
    let answering = async {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = answers.read(&mut buffer).await {
            let lose = |left: usize| left.checked_sub(1);
            if inserts.load(Ordering::SeqCst)
                && bends.lost_answers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose).is_ok()
            {
                break;
            }
            if deletes.load(Ordering::SeqCst) && *bends.keeps_back.borrow() {
                bends.is_kept.notify_one();
                let _ = bends.keeps_back.subscribe().wait_for(|keeps| !keeps).await;
            }
            if hears.write_all(&buffer[..read]).await.is_err() {
                break;
            }
        }
    };
    tokio::select! { () = asking => {}, () = answering => {} }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
