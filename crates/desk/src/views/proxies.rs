//! Whom a request came from, behind proxies.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use copydesk_domain::Invalid;

/// Entries of `X-Forwarded-For` that are looked at; nobody has more proxies.
const HOPS: usize = 32;

/// The proxies whose word on where a request came from is taken: those of this machine and of private networks, unless
/// told otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxies(Vec<Network>);

/// A range of addresses: `10.0.0.0/8`, `2001:db8::/32`, or a single one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    bits: u8,
}

impl Proxies {
    /// These and no others.
    pub fn new(networks: Vec<Network>) -> Self {
        Self(networks)
    }

    /// The reader's address: the peer, or if that is a proxy of ours the last one before our proxies in
    /// `X-Forwarded-For`. What stands further left was written by who knows whom.
    pub fn reader<'a>(&self, peer: IpAddr, forwarded_for: impl DoubleEndedIterator<Item = &'a str>) -> IpAddr {
        let mut reader = peer;
        for hop in forwarded_for.rev().flat_map(|line| line.rsplit(',')).take(HOPS) {
            if !self.trusts(reader) {
                return reader;
            }
            // Whoever wrote something that is no address is at the end of what can be told.
            let Some(address) = address(hop) else { return reader };
            reader = address;
        }
        reader
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.holds(address))
    }
}

impl Default for Proxies {
    fn default() -> Self {
        let own = [
            "127.0.0.0/8",
            "::1/128",
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "100.64.0.0/10",
            "169.254.0.0/16",
            "fc00::/7",
            "fe80::/10",
        ];
        Self(own.iter().filter_map(|text| text.parse().ok()).collect())
    }
}

/// An entry of `X-Forwarded-For`, which some proxies write with a port.
fn address(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let address = hop.parse().ok().or_else(|| hop.parse().ok().map(|with_port: std::net::SocketAddr| with_port.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

impl Network {
    pub(crate) fn holds(self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                u32::from(base) & mask == u32::from(address) & mask
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                u128::from(base) & mask == u128::from(address) & mask
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = || Invalid::new("proxy", format!("must be an address or a range such as 10.0.0.0/8, not {text:?}"));
        let (base, bits) = text.split_once('/').map_or((text, None), |(base, bits)| (base, Some(bits)));
        let base: IpAddr = base.trim().parse().map_err(|_| wrong())?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.trim().parse().map_err(|_| wrong()))?;
        if bits > most { Err(wrong()) } else { Ok(Self { base, bits }) }
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(peer: &str, forwarded: &[&str]) -> String {
        let proxies = Proxies::default();
        proxies.reader(peer.parse().unwrap(), forwarded.iter().copied()).to_string()
    }

    #[test]
    fn the_word_of_a_stranger_is_not_taken() {
        assert_eq!(reader("192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(reader("127.0.0.1", &["198.51.100.7"]), "198.51.100.7");
        assert_eq!(reader("127.0.0.1", &["203.0.113.9, 198.51.100.7"]), "198.51.100.7", "the first one was made up");
        assert_eq!(reader("127.0.0.1", &["203.0.113.9", "198.51.100.7, 10.1.2.3"]), "198.51.100.7");
        assert_eq!(reader("10.0.0.1", &["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(reader("10.0.0.1", &["198.51.100.7:1234"]), "198.51.100.7");
        assert_eq!(reader("10.0.0.1", &["::ffff:198.51.100.7"]), "198.51.100.7");
        assert_eq!(reader("10.0.0.1", &["unknown"]), "10.0.0.1");
        assert_eq!(reader("10.0.0.1", &["10.0.0.9"]), "10.0.0.9");
        assert_eq!(reader("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn networks_are_ranges() {
        let network = |text: &str| text.parse::<Network>().unwrap();
        let holds = |range: &str, address: &str| network(range).holds(address.parse().unwrap());
        assert!(holds("172.16.0.0/12", "172.31.255.255") && !holds("172.16.0.0/12", "172.32.0.0"));
        assert!(holds("0.0.0.0/0", "255.1.1.1") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("192.0.2.1", "192.0.2.1") && !holds("192.0.2.1", "192.0.2.2"));
        assert!(holds("::/0", "2001:db8::1") && holds("fe80::/10", "febf::1") && !holds("fe80::/10", "fec0::1"));
        for wrong in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/x"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }
}
