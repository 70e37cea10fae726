//! Whom a request came from, behind proxies.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

/// Entries of `X-Forwarded-For` that are looked at; nobody has more proxies.
const HOPS: usize = 32;

/// The proxies whose word on where a request came from is taken: those of this machine, unless told otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxies(Vec<IpNet>);

impl Proxies {
    /// These and no others.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// Those of this machine and of private networks. Only where nobody else can reach the server from there.
    pub fn private() -> Self {
        Self::named(&LOOPBACK).and(&PRIVATE)
    }

    fn named(networks: &[&str]) -> Self {
        Self(networks.iter().filter_map(|text| text.parse().ok()).collect())
    }

    fn and(mut self, networks: &[&str]) -> Self {
        self.0.extend(Self::named(networks).0);
        self
    }

    /// The reader's address: the peer, or if that is a proxy of ours the last one before our proxies in
    /// `X-Forwarded-For`. What stands further left was written by who knows whom.
    pub fn reader<'a>(&self, peer: IpAddr, forwarded_for: impl DoubleEndedIterator<Item = &'a str>) -> IpAddr {
        let mut reader = peer.to_canonical();
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

    /// Whether its word is taken.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];
const PRIVATE: [&str; 7] =
    ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "fc00::/7", "fe80::/10"];

impl Default for Proxies {
    fn default() -> Self {
        Self::named(&LOOPBACK)
    }
}

/// An entry of `X-Forwarded-For`, which some proxies write with a port, and IPv6 in brackets.
fn address(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|inner| inner.contains(':'));
    let with_port = || hop.parse().ok().map(|with_port: SocketAddr| with_port.ip());
    let address = bare.unwrap_or(hop).parse().ok().or_else(with_port);
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(proxies: &Proxies, peer: &str, forwarded: &[&str]) -> String {
        proxies.reader(peer.parse().unwrap(), forwarded.iter().copied()).to_string()
    }

    #[test]
    fn only_this_machine_is_believed_unless_told_otherwise() {
        let reader = |peer: &str, forwarded: &[&str]| seen(&Proxies::default(), peer, forwarded);
        for stranger in ["192.0.2.1", "10.0.0.1", "192.168.1.1", "fd00::1", "fe80::1", "2001:db8::1"] {
            assert_eq!(reader(stranger, &["198.51.100.7"]), stranger);
        }
        for own in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(reader(own, &["198.51.100.7"]), "198.51.100.7", "{own}");
        }
        assert_eq!(reader("127.0.0.1", &["203.0.113.9, 198.51.100.7"]), "198.51.100.7", "the first one was made up");
        assert_eq!(
            reader("127.0.0.1", &["203.0.113.9, 10.0.0.1"]),
            "10.0.0.1",
            "what a private network says is not known"
        );
        assert_eq!(reader("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(reader("::ffff:192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
    }

    #[test]
    fn the_last_one_before_our_proxies_is_the_reader() {
        let reader = |peer: &str, forwarded: &[&str]| seen(&Proxies::private(), peer, forwarded);
        assert_eq!(reader("192.0.2.1", &["198.51.100.7"]), "192.0.2.1", "a stranger");
        assert_eq!(reader("127.0.0.1", &["203.0.113.9", "198.51.100.7, 10.1.2.3"]), "198.51.100.7");
        assert_eq!(reader("10.0.0.1", &["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(reader("10.0.0.1", &["[2001:db8::1]"]), "2001:db8::1");
        assert_eq!(reader("10.0.0.1", &["2001:db8::1"]), "2001:db8::1");
        assert_eq!(reader("10.0.0.1", &["198.51.100.7:1234"]), "198.51.100.7");
        assert_eq!(reader("10.0.0.1", &["::ffff:198.51.100.7"]), "198.51.100.7");
        assert_eq!(reader("10.0.0.1", &["10.0.0.9"]), "10.0.0.9");
        for garbage in [
            "unknown",
            "_hidden",
            "",
            " ",
            "[198.51.100.7]",
            "[",
            "[]",
            "[::1",
            "1.2.3",
            "1.2.3.4.5",
            "é",
            "2001:db8::1]:4",
        ] {
            assert_eq!(reader("10.0.0.1", &[garbage]), "10.0.0.1", "{garbage:?}");
            let before = format!("198.51.100.7, {garbage}, 10.0.0.2");
            assert_eq!(
                reader("10.0.0.1", &[&before]),
                "10.0.0.2",
                "{garbage:?}: nobody knows who wrote what is before it"
            );
        }
        let many = "10.0.0.1, ".repeat(100_000) + "10.0.0.2";
        assert_eq!(reader("10.0.0.1", &[&many]), "10.0.0.1", "a bounded number is looked at");
        assert_eq!(seen(&Proxies::new(Vec::new()), "127.0.0.1", &["198.51.100.7"]), "127.0.0.1");
    }
}
