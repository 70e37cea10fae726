//! Connections that are idle, slow and too many, while a drain and those who run the server go on.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::args::program;
use crate::connection::{Connection, request};
use crate::process::{Installation, Server, free_address, megabytes};

/// Connections are held open, bytes trickle, bodies stop in the middle. Health must be answered all the while, and every
/// drain with the right secret must be taken and counted.
#[derive(Debug, Clone, clap::Args)]
pub struct SocketsOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// Connections that send nothing, or the first byte of a request.
    #[arg(long, default_value_t = 1024)]
    pub idle: usize,
    /// Connections whose bodies stop in the middle.
    #[arg(long, default_value_t = 300)]
    pub slow: usize,
    #[arg(long, default_value_t = 20)]
    pub seconds: u64,
}

/// How much of a slow body comes before it stops.
const PART: usize = 6 * 1024 * 1024;
const TRICKLE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(50);
/// How long somebody who was cut off waits.
const AGAIN: Duration = Duration::from_secs(3);
/// An answer that takes longer than this is one that was held up.
const LONG: Duration = Duration::from_secs(2);
/// A connection that takes longer than this was not heard at first: the system of whoever asks does so again after a second.
/// However busy the server is, its system takes connections for it.
const UNHEARD: Duration = Duration::from_millis(900);
/// What the server may take: the bodies of all, and itself.
const MEMORY: u64 = 600_000_000;

struct Target {
    project: String,
    key: String,
    secret: String,
}

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_sockets(options: SocketsOptions) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let admin = free_address();
    let settings = vec![("COPYDESK_ADMIN_LISTEN", admin.to_string())];
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings };
    let project = installation.project_id("sockets", "https://example.com/docs");
    let secret = installation.ask(&["views", "drain", &project])["secret"].as_str().unwrap().to_owned();
    let target = Target { project, key: installation.key(), secret };
    let (server, _) = installation.serve().await;
    let open = Arc::new(AtomicUsize::new(0));
    let crowd = crowd(&options, &target, server.address, &open);
    let (public, time) = (server.address, Duration::from_secs(options.seconds));
    // On a thread of its own, so that what is measured is the server and not the crowd.
    let looking = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        (runtime.block_on(look_for(time, admin, public, &target)), target)
    });
    let (mut seen, target) = looking.await.unwrap();
    let open = open.load(Ordering::Relaxed);
    drop(crowd);
    let counted = counted(server.address, &target).await;
    if counted != Some(seen.drained) {
        seen.violations.push(format!("{} views were drained and {counted:?} counted", seen.drained));
    }
    if server.peak() > MEMORY {
        seen.violations.push(format!("the server took {}", megabytes(server.peak())));
    }
    seen.report(&options, open, &server)
}

/// Those who hold connections open. Cut off, they come again.
fn crowd(options: &SocketsOptions, target: &Target, address: SocketAddr, open: &Arc<AtomicUsize>) -> JoinSet<()> {
    let mut crowd = JoinSet::new();
    for number in 0..options.idle {
        let (open, sent) = (open.clone(), if number % 2 == 0 { "G" } else { "" });
        crowd.spawn(async move {
            loop {
                let _ = idle(address, sent, &open).await;
                tokio::time::sleep(AGAIN).await;
            }
        });
    }
    for number in 0..options.slow {
        let (open, head) = (open.clone(), target.slow_head(number));
        crowd.spawn(async move {
            loop {
                let _ = trickle(address, &head, &open).await;
                tokio::time::sleep(AGAIN).await;
            }
        });
    }
    crowd
}

/// A connection that is counted as long as it is there.
struct Counted<'a>(TcpStream, &'a AtomicUsize);

impl<'a> Counted<'a> {
    async fn connect(address: SocketAddr, open: &'a AtomicUsize) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        open.fetch_add(1, Ordering::Relaxed);
        Ok(Self(stream, open))
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn idle(address: SocketAddr, sent: &str, open: &AtomicUsize) -> std::io::Result<()> {
    let mut connection = Counted::connect(address, open).await?;
    connection.0.write_all(sent.as_bytes()).await?;
    connection.0.read_to_end(&mut Vec::new()).await.map(drop)
}

async fn trickle(address: SocketAddr, head: &str, open: &AtomicUsize) -> std::io::Result<()> {
    let mut connection = Counted::connect(address, open).await?;
    let stream = &mut connection.0;
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&vec![b' '; PART]).await?;
    loop {
        tokio::time::sleep(TRICKLE).await;
        stream.write_all(b" ").await?;
    }
}

impl Target {
    /// Bodies with a key, with a secret, with a signature that cannot be right, and for a project that does not exist.
    fn slow_head(&self, number: usize) -> String {
        let Self { project, key, secret } = self;
        let signature = "0".repeat(40);
        let (path, headers) = match number % 4 {
            0 => (format!("/v1/analytics/{project}/events"), format!("authorization: Bearer {key}")),
            1 => (format!("/drains/{project}/netlify"), format!("x-copydesk-secret: {secret}")),
            2 => (format!("/drains/{project}/vercel"), format!("x-vercel-signature: {signature}")),
            _ => ("/hooks/no-such-project".to_owned(), format!("x-hub-signature-256: sha256={signature:0<64}")),
        };
        let length = PART + 1024 * 1024;
        format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        )
    }

    /// A drain of one view.
    fn drain(&self, number: u64) -> Vec<u8> {
        let body = format!(
            r#"[{{"log_type":"traffic","url":"https://x.example/{number}","method":"GET","status_code":200,"timestamp":"2026-01-01T00:00:00Z","user_agent":"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}}]"#
        );
        request("POST", &format!("/drains/{}/netlify", self.project), &self.secret, &[], Some(&body))
    }
}

#[derive(Default)]
struct Seen {
    health: Vec<Duration>,
    drains: Vec<Duration>,
    /// Views that the server said it has.
    drained: u64,
    violations: Vec<String>,
}

impl Seen {
    async fn look(&mut self, admin: SocketAddr, public: SocketAddr, target: &Target) {
        let health = timed(admin, request("GET", "/healthz", "none", &[], None)).await;
        self.note("/healthz on the admin listener", &health);
        self.health.push(health.took);
        let drain = timed(public, target.drain(self.drained)).await;
        self.note("a drain", &drain);
        self.drains.push(drain.took);
        self.drained += u64::from(drain.status == Some(200));
    }

    fn note(&mut self, what: &str, asked: &Asked) {
        if asked.status != Some(200) || asked.took > LONG || asked.connected > UNHEARD {
            self.violations.push(format!("{what}: {asked:?}"));
        }
    }

    fn report(mut self, options: &SocketsOptions, open: usize, server: &Server) -> bool {
        self.violations.iter().take(50).for_each(|violation| eprintln!("VIOLATION {violation}"));
        let figures = |mut times: Vec<Duration>| {
            times.sort_unstable();
            let at = |part: f64| {
                times.get((times.len() as f64 * part) as usize).or(times.last()).copied().unwrap_or_default()
            };
            format!("median {:.1} ms, slowest {:.1} ms", at(0.5).as_secs_f64() * 1e3, at(1.0).as_secs_f64() * 1e3)
        };
        let (health, drains) = (std::mem::take(&mut self.health), std::mem::take(&mut self.drains));
        println!(
            "sockets: {} idle and {} slow connections ({open} of them open in the end) for {} s; health on the admin listener: \
             {}; {} drains: {}; peak {}; {} violations",
            options.idle,
            options.slow,
            options.seconds,
            figures(health),
            drains.len(),
            figures(drains),
            megabytes(server.peak()),
            self.violations.len(),
        );
        self.violations.is_empty()
    }
}

async fn look_for(time: Duration, admin: SocketAddr, public: SocketAddr, target: &Target) -> Seen {
    let (mut seen, end) = (Seen::default(), Instant::now() + time);
    while Instant::now() < end {
        seen.look(admin, public, target).await;
        tokio::time::sleep(PAUSE).await;
    }
    seen
}

/// A request that was made.
#[derive(Debug)]
struct Asked {
    /// How long it took to connect, and all in all.
    connected: Duration,
    took: Duration,
    status: Option<u16>,
}

async fn timed(address: SocketAddr, ask: Vec<u8>) -> Asked {
    let (started, mut connected) = (Instant::now(), Duration::MAX);
    let asked = async {
        let mut connection = Connection::open(address).await.ok()?;
        connected = started.elapsed();
        connection.exchange(&ask).await.ok().map(|reply| reply.status)
    };
    let status = tokio::time::timeout(Duration::from_secs(60), asked).await.ok().flatten();
    Asked { connected, took: started.elapsed(), status }
}

async fn counted(address: SocketAddr, target: &Target) -> Option<u64> {
    let path = format!("/v1/analytics/{}/views?limit=1", target.project);
    let mut connection = Connection::open(address).await.ok()?;
    let reply = connection.exchange(&request("GET", &path, &target.key, &[], None)).await.ok()?;
    serde_json::from_slice::<serde_json::Value>(reply.body).ok()?["totals"]["total"].as_u64()
}
