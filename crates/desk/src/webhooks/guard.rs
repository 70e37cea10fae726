//! Which addresses deliveries may go to. Whoever adds a webhook chooses where this server connects to, so it must not
//! lead to what only this server can reach: itself, its network, the metadata service of its host.
//!
//! Names are judged when they are looked up for a connection, and the connection goes to one of the addresses that
//! were judged. So a name that points elsewhere a moment later gains nothing.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use copydesk_domain::Invalid;
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use url::{Host, Url};

use crate::network::parse_network;

/// The longest address of a webhook.
const LONGEST_URL: usize = 2048;
/// Names that are looked up at a time. A look-up cannot be stopped and keeps a thread that jobs need too.
const LOOKUPS: usize = 8;

/// What else deliveries may go to than addresses of the internet; never to the metadata services of clouds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AllowPrivate {
    #[default]
    No,
    /// This machine and private networks.
    Yes,
    Only(Vec<IpNet>),
}

impl AllowPrivate {
    /// Reads `false`, `true`, or ranges with commas between them.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let wrong = |range: &str| {
            Invalid::new("allow_private", format!("must be true, false or ranges such as 10.0.0.0/8, not {range:?}"))
        };
        match text.trim() {
            "false" => Ok(Self::No),
            "true" => Ok(Self::Yes),
            ranges => {
                let read = |range: &str| parse_network(range).map_err(|_| wrong(range));
                ranges.split(',').map(read).collect::<Result<_, _>>().map(Self::Only)
            }
        }
    }

    fn names(&self, address: IpAddr) -> bool {
        match self {
            Self::No => false,
            Self::Yes => !is_public(address),
            Self::Only(ranges) => ranges.iter().any(|range| range.contains(&address.to_canonical())),
        }
    }
}

pub(crate) type Lookup = Arc<dyn Fn(&str) -> std::io::Result<Vec<IpAddr>> + Send + Sync>;

/// Decides where deliveries may go.
#[derive(Clone)]
pub(crate) struct Guard {
    allowed: Arc<AllowPrivate>,
    lookup: Lookup,
    lookups: Arc<Semaphore>,
}

/// An address that deliveries may not go to. Which one a name leads to is nobody's business who only knows the name.
#[derive(Debug)]
pub(crate) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the address is not one that webhooks may go to; see webhooks.allow_private")
    }
}

impl Error for Refused {}

impl Guard {
    pub(crate) fn new(allowed: AllowPrivate) -> Self {
        Self::with_lookup(allowed, Arc::new(system_lookup))
    }

    pub(crate) fn with_lookup(allowed: AllowPrivate, lookup: Lookup) -> Self {
        Self { allowed: Arc::new(allowed), lookup, lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }

    /// The address of a webhook, if it is one that deliveries may go to as far as that can be told without a look-up.
    pub(crate) fn check(&self, text: &str) -> Result<Url, Invalid> {
        let wrong = |message: String| Invalid::new("url", message);
        if text.len() > LONGEST_URL {
            return Err(wrong(format!("must have at most {LONGEST_URL} bytes")));
        }
        let url = Url::parse(text).map_err(|error| wrong(format!("must be an https address: {error}")))?;
        match url.scheme() {
            "https" => {}
            "http" if *self.allowed != AllowPrivate::No => {}
            "http" => {
                let exception = "only those in the ranges of webhooks.allow_private may begin with http";
                return Err(wrong(format!("must be an https address; {exception}")));
            }
            _ => return Err(wrong("must be an https address".to_owned())),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must not hold a user or a password".to_owned()));
        }
        if url.fragment().is_some() {
            return Err(wrong("must not have a fragment".to_owned()));
        }
        self.check_literal(&url).map_err(|refused| wrong(format!("leads where it may not: {refused}")))?;
        Ok(url)
    }

    /// An address in numbers is never looked up, so it is judged here.
    pub(crate) fn check_literal(&self, url: &Url) -> Result<(), Refused> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        if self.admits(address, url.scheme() == "http") { Ok(()) } else { Err(Refused) }
    }

    /// Whether an address in numbers is one that may be asked for something, with encryption or without.
    pub(crate) fn admits_numbers(&self, url: &Url) -> bool {
        match url.host() {
            Some(Host::Ipv4(address)) => self.admits(IpAddr::V4(address), false),
            Some(Host::Ipv6(address)) => self.admits(IpAddr::V6(address), false),
            Some(Host::Domain(_)) | None => true,
        }
    }

    /// Whether a name or an address in numbers leads only to where encrypted requests may go.
    pub(crate) async fn is_outside(&self, host: &str) -> std::io::Result<bool> {
        Ok(self.addresses(host).await?.iter().all(|address| self.admits(*address, false)))
    }

    /// Whether a delivery to that address would find a way, without one.
    pub(crate) async fn has_way(&self, url: &Url) -> std::io::Result<bool> {
        let plain = url.scheme() == "http";
        let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        Ok(self.addresses(host).await?.iter().any(|address| self.admits(*address, plain)))
    }

    /// What a name or an address in numbers leads to; at least one.
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => {
                let permit = self.lookups.clone().acquire_owned().await.map_err(std::io::Error::other)?;
                let (lookup, name) = (self.lookup.clone(), host.to_owned());
                let looked = tokio::task::spawn_blocking(move || {
                    let _permit = permit;
                    lookup(&name)
                });
                looked.await.map_err(std::io::Error::other)??
            }
        };
        if found.is_empty() {
            return Err(std::io::Error::other("the name has no address"));
        }
        Ok(found)
    }

    /// Without encryption only to where the configuration says so.
    fn admits(&self, address: IpAddr, plain: bool) -> bool {
        !is_metadata(address) && (self.allowed.names(address) || (!plain && is_public(address)))
    }

    /// The resolver of a client that speaks only http (`plain`) or only https.
    pub(crate) fn resolver(&self, plain: bool) -> Arc<Checked> {
        Arc::new(Checked { guard: self.clone(), plain })
    }
}

/// Looks names up and gives only the addresses that the guard admits.
pub(crate) struct Checked {
    guard: Guard,
    plain: bool,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, plain, name) = (self.guard.clone(), self.plain, name.as_str().to_owned());
        Box::pin(async move {
            let permit = guard.lookups.clone().acquire_owned().await?;
            let lookup = guard.lookup.clone();
            let found = tokio::task::spawn_blocking(move || {
                // Held here: whoever asked may have given up long before the answer.
                let _permit = permit;
                lookup(&name)
            });
            let found = found.await??;
            let admitted: Vec<_> = found.iter().filter(|address| guard.admits(**address, plain)).copied().collect();
            if admitted.is_empty() {
                return Err(Refused.into());
            }
            Ok(Box::new(admitted.into_iter().map(|it| SocketAddr::new(it, 0))) as Addrs)
        })
    }
}

fn system_lookup(name: &str) -> std::io::Result<Vec<IpAddr>> {
    Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
}

/// Where clouds tell their machines who they are and what they may do: whoever may ask there has their rights.
fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_metadata_v4(address),
        IpAddr::V6(address) => {
            is_metadata_v6(address) || embedded(address).or_else(|| compatible(address)).is_some_and(is_metadata_v4)
        }
    }
}

/// All that is only on the link, where most have it (169.254.169.254, also .170.2, .170.23, .0.23, .42.42); Alibaba's, Azure's
/// and Oracle's old one.
fn is_metadata_v4(address: Ipv4Addr) -> bool {
    matches!(address.octets(), [169, 254, ..] | [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192])
}

/// All that is only on the link; Amazon's, Google's, Oracle's and Scaleway's.
fn is_metadata_v6(address: Ipv6Addr) -> bool {
    matches!(
        address.segments(),
        [0xfe80..=0xfebf, ..]
            | [0xfd00, 0xec2, ..]
            | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]
            | [0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe]
            | [0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42]
    )
}

/// The IPv4 address in an IPv6 address of the old form `::a.b.c.d`, or of a NAT64 of one's own network.
fn compatible(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 1, _, _, _, high, low] => Some(join(high, low)),
        _ => None,
    }
}

/// Whether an address is one of the internet at large.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    // The registry of special addresses (IANA), and the metadata service that one host has on a public one.
    !matches!(
        address.octets(),
        [0 | 10 | 127, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [192, 168, ..]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [224..=255, ..]
            | [168, 63, 129, 16]
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Only this part of all addresses is given out, and these of it are for protocols and for documentation.
    let given_out = first & 0xe000 == 0x2000;
    let protocols = first == 0x2001 && second < 0x200;
    let documentation = (first == 0x2001 && second == 0xdb8) || (first == 0x3fff && second < 0x1000);
    given_out && !protocols && !documentation
}

/// The IPv4 address that an IPv6 address leads to: mapped, through NAT64, or 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(join(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(join(high, low)),
        [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

fn join(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests;
