//! Connections that are idle, slow and too many, while a drain and those who run the server go on.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
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
    let crowd = crowd(&options, &target, server.address).await;
    let (public, time) = (server.address, Duration::from_secs(options.seconds));
    // On a thread of its own, so that what is measured is the server and not the crowd.
    let looking = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        (runtime.block_on(look_for(time, admin, public, &target)), target)
    });
    let (mut seen, target) = looking.await.unwrap();
    let open = crowd.len();
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

/// Those who hold connections open.
async fn crowd(options: &SocketsOptions, target: &Target, address: SocketAddr) -> JoinSet<()> {
    let mut crowd = JoinSet::new();
    for number in 0..options.idle {
        crowd.spawn(async move {
            let Ok(mut stream) = TcpStream::connect(address).await else { return };
            if number % 2 == 0 {
                let _ = stream.write_all(b"G").await;
            }
            std::future::pending::<()>().await;
        });
    }
    for number in 0..options.slow {
        let head = target.slow_head(number);
        crowd.spawn(async move {
            // Cut off, it comes again.
            loop {
                let _ = trickle(address, &head).await;
                tokio::time::sleep(AGAIN).await;
            }
        });
    }
    crowd
}

async fn trickle(address: SocketAddr, head: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
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
        let (took, status) = timed(admin, request("GET", "/healthz", "none", &[], None)).await;
        self.note("/healthz on the admin listener", took, status);
        self.health.push(took);
        let (took, status) = timed(public, target.drain(self.drained)).await;
        self.note("a drain", took, status);
        self.drains.push(took);
        self.drained += u64::from(status == Some(200));
    }

    fn note(&mut self, what: &str, took: Duration, status: Option<u16>) {
        if status != Some(200) || took > LONG {
            self.violations.push(format!("{what} was answered with {status:?} after {took:?}"));
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
            "sockets: {} idle and {} slow connections ({open} of them at work in the end) for {} s; health on the admin listener: \
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

async fn timed(address: SocketAddr, ask: Vec<u8>) -> (Duration, Option<u16>) {
    let started = Instant::now();
    let asked = async {
        let mut connection = Connection::open(address).await.ok()?;
        connection.exchange(&ask).await.ok().map(|reply| reply.status)
    };
    let status = tokio::time::timeout(Duration::from_secs(60), asked).await.ok().flatten();
    (started.elapsed(), status)
}

async fn counted(address: SocketAddr, target: &Target) -> Option<u64> {
    let path = format!("/v1/analytics/{}/views?limit=1", target.project);
    let mut connection = Connection::open(address).await.ok()?;
    let reply = connection.exchange(&request("GET", &path, &target.key, &[], None)).await.ok()?;
    serde_json::from_slice::<serde_json::Value>(reply.body).ok()?["totals"]["total"].as_u64()
}
