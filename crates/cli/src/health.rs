//! Whether a process is ready, for those who watch over it and have no other client at hand, as in a container.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use reqwest::redirect::Policy;

use crate::client::{base, build, read, unreachable};
use crate::config::Config;
use crate::failure::Failure;
use crate::output;

/// Who waits for longer than this is not ready.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a process with this configuration says how it is, on this machine.
pub(crate) fn address(config: &Config) -> String {
    here(config.admin_listen.unwrap_or(config.listen))
}

/// How a process of this machine that listens there is reached.
pub(crate) fn here(listen: SocketAddr) -> String {
    // One that listens everywhere is asked here.
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, listen.port()))
}

pub(crate) async fn ask(url: &str) -> Result<ExitCode, Failure> {
    let base = base(url)?;
    let address = base.join("readyz").map_err(|error| Failure::usage(error.to_string()))?;
    let http = build(reqwest::Client::builder().timeout(PATIENCE).redirect(Policy::none()), base.scheme() == "http")?;
    let answer = read(http.get(address).send().await.map_err(|error| unreachable(&base, &error))?).await?;
    // Another program may answer there too.
    if answer["status"] != "ok" {
        return Err(Failure::error(format!("{base} is not a Copydesk server")));
    }
    output::line("ready");
    Ok(ExitCode::SUCCESS)
}
