//! Whom a request came from, behind proxies.

use std::net::IpAddr;

use ipnet::IpNet;

/// Entries of `X-Forwarded-For` that are looked at; nobody has more proxies.
const HOPS: usize = 32;

/// The proxies whose word on where a request came from is taken: those of this machine and of private networks, unless
/// told otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxies(Vec<IpNet>);

impl Proxies {
    /// These and no others.
    pub fn new(networks: Vec<IpNet>) -> Self {
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
        self.0.iter().any(|network| network.contains(&address))
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
}
