//! Machines that are network namespaces of this one, each on a cable of its own that can be pulled, and the way from there to the
//! database.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The first part of all addresses: nothing else on a machine for tests has it.
const NETWORK: &str = "10.213";
const DATABASE_PORT: u16 = 5432;
const SERVER_PORT: u16 = 4400;

pub(super) struct Machine {
    number: usize,
    /// Passes on what it sends to the database.
    relay: AbortHandle,
}

impl Machine {
    /// Makes a machine from which the database behind `socket` is reached while `is_reached` says so.
    pub(super) async fn new(number: usize, socket: PathBuf, is_reached: watch::Receiver<bool>) -> Self {
        let name = name(number);
        // What a run that was killed has left.
        let _ = Command::new("ip").args(["netns", "delete", &name]).output();
        ip(&format!("netns add {name}"));
        ip(&format!("link add {name} type veth peer name inside netns {name}"));
        ip(&format!("address add {NETWORK}.{number}.1/24 dev {name}"));
        ip(&format!("link set {name} up"));
        ip(&format!("-n {name} address add {NETWORK}.{number}.2/24 dev inside"));
        ip(&format!("-n {name} link set inside up"));
        ip(&format!("-n {name} link set lo up"));
        let listener = TcpListener::bind(format!("{NETWORK}.{number}.1:{DATABASE_PORT}")).await.unwrap();
        let relay = tokio::spawn(relay(listener, socket, is_reached)).abort_handle();
        Self { number, relay }
    }

    /// A program on this machine.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &name(self.number)]).arg(program);
        command
    }

    /// Where its server listens.
    pub(super) fn server(&self) -> SocketAddr {
        format!("{NETWORK}.{}.2:{SERVER_PORT}", self.number).parse().unwrap()
    }

    /// How programs on it reach the database of this name.
    pub(super) fn database_url(&self, name: &str) -> String {
        format!("postgres://copydesk@{NETWORK}.{}.1:{DATABASE_PORT}/{name}?sslmode=disable", self.number)
    }

    /// On the machine's side: without the other one, what is sent to it would leave by another way.
    pub(super) fn pull_cable(&self) {
        ip(&format!("-n {} link set inside down", name(self.number)));
    }

    pub(super) fn plug_cable(&self) {
        ip(&format!("-n {} link set inside up", name(self.number)));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.relay.abort();
        let _ = Command::new("ip").args(["netns", "delete", &name(self.number)]).output();
    }
}

fn name(number: usize) -> String {
    format!("copydesk-{number}")
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments} failed, which needs root: {said}");
}

/// Passes on every connection to the database. While that cannot be reached, what is sent waits on the way, as it does in a network
/// that loses packets.
async fn relay(listener: TcpListener, socket: PathBuf, mut is_reached: watch::Receiver<bool>) {
    while let Ok((client, _)) = listener.accept().await {
        if is_reached.wait_for(|is_reached| *is_reached).await.is_err() {
            return;
        }
        let Ok(server) = UnixStream::connect(&socket).await else { continue };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let (there, back) = (is_reached.clone(), is_reached.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = pass(from_client, to_server, there) => {}
                () = pass(from_server, to_client, back) => {}
            }
        });
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut is_reached: watch::Receiver<bool>,
) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
        if is_reached.wait_for(|is_reached| *is_reached).await.is_err() || to.write_all(&bytes[..count]).await.is_err()
        {
            return;
        }
    }
}
