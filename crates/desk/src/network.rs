//! Ranges of addresses, as configurations name them.

use std::net::IpAddr;

use copydesk_domain::Invalid;
use ipnet::IpNet;

/// Reads a range such as `10.0.0.0/8` or `2001:db8::/32`, or a single address.
pub fn parse_network(text: &str) -> Result<IpNet, Invalid> {
    let network = text.trim().parse::<IpNet>().ok().or_else(|| text.trim().parse::<IpAddr>().ok().map(IpNet::from));
    network
        .ok_or_else(|| Invalid::new("proxy", format!("must be an address or a range such as 10.0.0.0/8, not {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_ranges() {
        let holds = |range: &str, address: &str| {
            let address: IpAddr = address.parse().unwrap();
            parse_network(range).unwrap().contains(&address)
        };
        assert!(holds("172.16.0.0/12", "172.31.255.255") && !holds("172.16.0.0/12", "172.32.0.0"));
        assert!(holds("172.16.1.2/12", "172.31.255.255"), "an address inside names the range too");
        assert!(holds("0.0.0.0/0", "255.1.1.1") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("192.0.2.1", "192.0.2.1") && !holds("192.0.2.1", "192.0.2.2"));
        assert!(holds("::/0", "2001:db8::1") && holds("fe80::/10", "febf::1") && !holds("fe80::/10", "fec0::1"));
        for wrong in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/x"] {
            assert!(parse_network(wrong).is_err(), "{wrong}");
        }
    }
}
