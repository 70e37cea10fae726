use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// The addresses that an operator publishes for an agent, as sorted ranges that do not touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<(u128, u128)>);

/// Where a list of addresses is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RangeError {
    pub line: usize,
    pub message: String,
}

impl Ranges {
    /// Reads what operators publish: JSON with `ipv4Prefix` and `ipv6Prefix` (or any text that is a prefix, under any
    /// key), or plain text with a prefix or an address a line.
    pub(super) fn parse(text: &str) -> Result<Self, RangeError> {
        let prefixes = if text.trim_start().starts_with(['{', '[']) { from_json(text)? } else { from_lines(text)? };
        if prefixes.is_empty() {
            return Err(RangeError { line: 1, message: "there is no address in it".to_owned() });
        }
        Ok(Self::new(prefixes))
    }

    fn new(mut ranges: Vec<(u128, u128)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u128, u128)> = Vec::with_capacity(ranges.len());
        for (from, to) in ranges {
            match merged.last_mut() {
                Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        Self(merged)
    }

    /// Whether `address` is in one of them.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let address = number(address);
        let after = self.0.partition_point(|&(from, _)| from <= address);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|&(_, to)| address <= to)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Both kinds of address in one order: IPv4 where IPv6 maps it.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => Ipv6Addr::to_bits(address),
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped, or translated on the way (64:ff9b::/96).
pub(super) fn unmapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => match six.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
                let [.., a, b, c, d] = six.octets();
                Ipv4Addr::new(a, b, c, d).into()
            }
            _ => address.to_canonical(),
        },
        IpAddr::V4(_) => address,
    }
}

/// Whether a reader somewhere on the internet can have this address. Those for documentation are taken for public.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            let [first, second, ..] = four.octets();
            let is_shared = first == 100 && second & 0xc0 == 64;
            // 0/8 is this host, 224/4 are groups, and the rest is kept back.
            let is_nobody = first == 0 || first >= 224;
            !(is_shared || is_nobody || four.is_private() || four.is_loopback() || four.is_link_local())
        }
        IpAddr::V6(six) => {
            let first = six.segments()[0];
            // fe80::/10 is the link and fec0::/10 the site of old.
            let is_near = first & 0xff80 == 0xfe80 || six.is_unique_local();
            !(is_near || six.is_loopback() || six.is_unspecified() || six.is_multicast())
        }
    }
}

/// `192.0.2.0/24`, `2001:db8::/32` or one address, as its first and last.
fn prefix(text: &str) -> Option<(u128, u128)> {
    let range: IpNet = text.parse().or_else(|_| text.parse().map(|address: IpAddr| address.into())).ok()?;
    Some((number(range.network()), number(range.broadcast())))
}

fn from_lines(text: &str) -> Result<Vec<(u128, u128)>, RangeError> {
    let mut ranges = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let content = content.split('#').next().unwrap_or_default().trim().trim_end_matches(',');
        if content.is_empty() {
            continue;
        }
        let range = prefix(content).ok_or_else(|| RangeError {
            line: line + 1,
            message: format!("“{content}” is no address and no range such as 192.0.2.0/24"),
        })?;
        ranges.push(range);
    }
    Ok(ranges)
}

fn from_json(text: &str) -> Result<Vec<(u128, u128)>, RangeError> {
    let json: serde_json::Value =
        serde_json::from_str(text).map_err(|error| RangeError { line: error.line(), message: error.to_string() })?;
    let mut ranges = Vec::new();
    collect(&json, &mut ranges)?;
    Ok(ranges)
}

/// Every text in the document that is a prefix. What is named one and is none is an error, not a gap in the list.
fn collect(json: &serde_json::Value, ranges: &mut Vec<(u128, u128)>) -> Result<(), RangeError> {
    match json {
        serde_json::Value::Array(items) => items.iter().try_for_each(|item| match item.as_str() {
            Some(text) => named(text, ranges),
            None => collect(item, ranges),
        }),
        serde_json::Value::Object(members) => members.iter().try_for_each(|(name, value)| match value.as_str() {
            Some(text) if is_prefix_name(name) => named(text, ranges),
            Some(_) => Ok(()),
            None => collect(value, ranges),
        }),
        _ => Ok(()),
    }
}

fn is_prefix_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("prefix") || name == "ip" || name.contains("cidr") || name.contains("address") || name == "range"
}

fn named(text: &str, ranges: &mut Vec<(u128, u128)>) -> Result<(), RangeError> {
    let range = prefix(text.trim())
        .ok_or_else(|| RangeError { line: 1, message: format!("“{text}” is no range such as 192.0.2.0/24") })?;
    ranges.push(range);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn holds(ranges: &Ranges, address: &str) -> bool {
        ranges.contains(address.parse().unwrap())
    }

    #[test]
    fn reads_what_operators_publish() {
        let text = r#"{"creationTime":"2026-10-01T00:00:00.000000","prefixes":[
            {"ipv4Prefix":"23.98.142.176/28"},{"ipv6Prefix":"2001:4860:4801:10::/64"},{"ipv4Prefix":"20.15.240.64/28"}]}"#;
        let ranges = Ranges::parse(text).unwrap();
        assert_eq!(ranges.len(), 3);
        assert!(holds(&ranges, "23.98.142.176") && holds(&ranges, "23.98.142.191"));
        assert!(!holds(&ranges, "23.98.142.175") && !holds(&ranges, "23.98.142.192"));
        assert!(holds(&ranges, "2001:4860:4801:10::1") && !holds(&ranges, "2001:4860:4801:11::1"));
        assert!(holds(&ranges, "::ffff:20.15.240.64"), "an IPv4 address as IPv6 writes it");
    }

    #[test]
    fn reads_lines_and_merges() {
        let ranges =
            Ranges::parse("# comment\n192.0.2.0/25\n192.0.2.128/25 # the rest\n\n198.51.100.7\n::/0\n").unwrap();
        assert_eq!(ranges.len(), 1, "everything is in ::/0");
        assert!(holds(&Ranges::parse("192.0.2.0/25\n192.0.2.128/25").unwrap(), "192.0.2.200"));
        assert_eq!(Ranges::parse("192.0.2.0/25\n192.0.2.128/25").unwrap().len(), 1);
    }

    #[test]
    fn addresses_that_nobody_on_the_internet_has() {
        let public = |text: &str| is_public(unmapped(text.parse().unwrap()));
        for near in [
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "127.0.0.1",
            "169.254.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::192.168.0.1",
        ] {
            assert!(!public(near), "{near}");
        }
        for far in [
            "192.0.2.1",
            "198.51.100.7",
            "100.63.255.255",
            "100.128.0.1",
            "172.32.0.1",
            "8.8.8.8",
            "2001:db8::1",
            "2606:4700::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert!(public(far), "{far}");
        }
        assert_eq!(unmapped("64:ff9b::23.98.142.180".parse().unwrap()).to_string(), "23.98.142.180");
    }

    #[test]
    fn says_where_it_is_wrong() {
        assert_eq!(Ranges::parse("192.0.2.0/24\n192.0.2.0/33").unwrap_err().line, 2);
        assert_eq!(Ranges::parse("192.0.2.0/24\n\nnonsense").unwrap_err().line, 3);
        assert_eq!(Ranges::parse("{\n\"prefixes\": [\n}").unwrap_err().line, 3);
        assert!(Ranges::parse(r#"{"prefixes":[{"ipv4Prefix":"1.2.3"}]}"#).is_err());
        assert!(Ranges::parse("").is_err(), "an empty list would make every agent a liar");
        assert!(Ranges::parse(r#"{"prefixes":[]}"#).is_err());
        assert!(Ranges::parse("<!DOCTYPE html><title>404</title>").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn agrees_with_a_look_at_each(
            prefixes in prop::collection::vec((any::<u32>(), 4_u32..=32), 1..40),
            asked in prop::collection::vec(any::<u32>(), 1..60),
        ) {
            let text: Vec<String> =
                prefixes.iter().map(|(at, bits)| format!("{}/{bits}", Ipv4Addr::from(*at))).collect();
            let ranges = Ranges::parse(&text.join("\n")).unwrap();
            for address in asked.iter().chain(prefixes.iter().map(|(at, _)| at)) {
                let naive = prefixes.iter().any(|(at, bits)| (at ^ address).leading_zeros() >= *bits);
                prop_assert_eq!(ranges.contains(Ipv4Addr::from(*address).into()), naive);
            }
        }
    }
}
