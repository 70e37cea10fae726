//! Text in log lines: escapes, encodings, addresses.

use std::borrow::Cow;
use std::net::IpAddr;

use memchr::{memchr, memchr2};

use crate::page;

/// Where the text in quotes that begins at the start of `rest` ends: the place of the closing quote.
pub(super) fn closing_quote(rest: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', rest.get(from..)?)?;
        if rest[at] == b'"' {
            return Some(at);
        }
        from = at + 2;
    }
}

/// What a server escaped (`\"`, `\\`, `\x22`, `\t`), as it was.
pub(super) fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'\\', raw) else { return Cow::Borrowed(raw) };
    let mut text = Vec::with_capacity(raw.len());
    text.extend_from_slice(&raw[..first]);
    let mut rest = &raw[first..];
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        let Some((&kind, after)) = rest.split_first() else {
            text.push(b'\\');
            break;
        };
        let plain = match kind {
            b'x' | b'X' => {
                if let Some(byte) = page::hex_pair(after) {
                    text.push(byte);
                    rest = &after[2..];
                    continue;
                }
                None
            }
            b'"' | b'\\' | b'/' | b'\'' => Some(kind),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            b'b' => Some(8),
            b'f' => Some(12),
            b'v' => Some(11),
            _ => None,
        };
        match plain {
            Some(byte) => {
                text.push(byte);
                rest = after;
            }
            // No escape after all.
            None => text.push(b'\\'),
        }
    }
    Cow::Owned(text)
}

/// Percent-encoding taken off once.
pub(super) fn percent_decoded(raw: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match percent_encoding::percent_decode(&raw).into() {
        Cow::Owned(decoded) => Cow::Owned(decoded),
        Cow::Borrowed(_) => raw,
    }
}

/// Text, whatever it was; what is no UTF-8 is shown as such.
pub(super) fn lossy(raw: Cow<'_, [u8]>) -> Cow<'_, str> {
    match raw {
        // The check for plain text is many times faster than the search for where it ends.
        Cow::Borrowed(raw) => std::str::from_utf8(raw).map_or_else(|_| String::from_utf8_lossy(raw), Cow::Borrowed),
        Cow::Owned(raw) => Cow::Owned(match String::from_utf8(raw) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }),
    }
}

/// What was asked for. Bytes that are no UTF-8 are encoded as a browser would, so that no two pages become one.
pub(super) fn target(raw: Cow<'_, [u8]>) -> Cow<'_, str> {
    match raw {
        Cow::Borrowed(raw) => match std::str::from_utf8(raw) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(encoded(raw)),
        },
        Cow::Owned(raw) => match String::from_utf8(raw) {
            Ok(text) => Cow::Owned(text),
            Err(error) => Cow::Owned(encoded(error.as_bytes())),
        },
    }
}

fn encoded(raw: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(raw.len() + 8);
    for &byte in raw {
        if byte.is_ascii() {
            text.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// A field of its own, `-` and nothing being the same.
pub(super) fn given(raw: &[u8]) -> Option<&[u8]> {
    (!raw.is_empty() && raw != b"-").then_some(raw)
}

/// An address, with or without a port, or the first of a list of them.
pub(super) fn address(raw: &[u8]) -> Option<IpAddr> {
    if let Some(plain) = ipv4(raw) {
        return Some(plain);
    }
    let first = &raw[..memchr(b',', raw).unwrap_or(raw.len())];
    let text = std::str::from_utf8(first.trim_ascii()).ok()?;
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    text.parse::<std::net::SocketAddr>().ok().map(|with_port| with_port.ip())
}

/// What nearly all lines have, faster than the standard library does it; none sends the rest there.
fn ipv4(raw: &[u8]) -> Option<IpAddr> {
    let (mut octets, mut at, mut value, mut digits) = ([0u8; 4], 0, 0u16, 0);
    for &byte in raw {
        match byte {
            b'0'..=b'9' if digits < 3 && !(digits > 0 && value == 0) => {
                value = value * 10 + u16::from(byte - b'0');
                digits += 1;
            }
            b'.' if digits > 0 && at < 3 => {
                octets[at] = u8::try_from(value).ok()?;
                (at, value, digits) = (at + 1, 0, 0);
            }
            _ => return None,
        }
    }
    if at != 3 || digits == 0 {
        return None;
    }
    octets[3] = u8::try_from(value).ok()?;
    Some(IpAddr::from(octets))
}

/// A status: three digits.
pub(super) fn status(raw: &[u8]) -> Option<u16> {
    let &[a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = raw else { return None };
    Some(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
}

/// The method and the target of `GET /path HTTP/1.1`; none if it is not of that form.
pub(super) fn request(raw: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(target) = raw.strip_prefix(b"GET ") {
        return target_of(target).map(|target| (&b"GET"[..], target));
    }
    let space = memchr(b' ', raw)?;
    let (method, rest) = (&raw[..space], &raw[space + 1..]);
    if method.is_empty() || !method.iter().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(byte)) {
        return None;
    }
    target_of(rest).map(|target| (method, target))
}

/// The target without the protocol behind it.
fn target_of(rest: &[u8]) -> Option<&[u8]> {
    let target = match rest.len().checked_sub(9).and_then(|at| rest.split_at_checked(at)) {
        Some((target, [b' ', b'H', b'T', b'T', b'P', b'/', _, b'.', _])) => target,
        _ => match memchr::memrchr(b' ', rest) {
            Some(last) if rest[last + 1..].starts_with(b"HTTP/") => &rest[..last],
            _ => rest,
        },
    };
    (!target.is_empty()).then_some(target)
}

/// Whether the value of a `Sec-Purpose`, `Purpose` or `X-Moz` header says that the browser only fetched ahead.
pub(super) fn is_prefetch(raw: &[u8]) -> bool {
    let starts = |word: &str| raw.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()));
    starts("prefetch") || starts("prerender") || starts("preview")
}

/// A host without its port.
pub(super) fn host(raw: &str) -> &str {
    let raw = raw.trim();
    let bare = match (raw.starts_with('['), raw.rfind(':')) {
        (true, _) => raw.split_inclusive(']').next().unwrap_or(raw),
        (false, Some(colon)) => &raw[..colon],
        (false, None) => raw,
    };
    bare.trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_taken_off() {
        let text = |raw: &str| String::from_utf8_lossy(&unescaped(raw.as_bytes())).into_owned();
        assert_eq!(text(r#"a\"b\\c\x22\x5Cd\te"#), "a\"b\\c\"\\d\te");
        assert_eq!(text(r"\xC3\xA9"), "é");
        assert_eq!(text(r"C:\q \xZZ \"), r"C:\q \xZZ \");
        assert!(matches!(unescaped(b"plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_quote_closes_unless_it_is_escaped() {
        assert_eq!(closing_quote(br#"a\"b" x"#), Some(4));
        assert_eq!(closing_quote(br#"a\\" x"#), Some(3));
        assert_eq!(closing_quote(br#"a\""#), None);
        assert_eq!(closing_quote(br"a\"), None);
        assert_eq!(closing_quote(b"\""), Some(0));
    }

    #[test]
    fn targets_that_are_no_text_stay_apart() {
        assert_eq!(target(Cow::Borrowed(b"/a\xff")), "/a%FF");
        assert_eq!(target(unescaped(br"/a\xFE")), "/a%FE");
        assert_eq!(target(Cow::Borrowed("/é".as_bytes())), "/é");
    }

    #[test]
    fn requests_are_taken_apart() {
        assert_eq!(request(b"GET /a b HTTP/1.1"), Some((&b"GET"[..], &b"/a b"[..])));
        assert_eq!(request(b"GET /a"), Some((&b"GET"[..], &b"/a"[..])));
        for raw in [&b""[..], b"-", b"GET", b"GET ", b"\x16\x03 x"] {
            assert_eq!(request(raw), None);
        }
    }

    #[test]
    fn addresses_come_with_and_without_ports() {
        assert_eq!(address(b"192.0.2.1"), "192.0.2.1".parse().ok());
        assert_eq!(address(b"192.0.2.1:80"), "192.0.2.1".parse().ok());
        assert_eq!(address(b"[2001:db8::1]:80"), "2001:db8::1".parse().ok());
        assert_eq!(address(b"2001:db8::1"), "2001:db8::1".parse().ok());
        assert_eq!(address(b"192.0.2.1, 198.51.100.2"), "192.0.2.1".parse().ok());
        assert_eq!(address(b"example.com"), None);
    }

    proptest::proptest! {
        #[test]
        fn the_fast_way_reads_addresses_as_the_slow_one(text in "([0-9]{1,4}\\.){2,4}[0-9]{0,3}|[0-9.a]{0,16}") {
            proptest::prop_assert_eq!(ipv4(text.as_bytes()), text.parse::<std::net::Ipv4Addr>().ok().map(IpAddr::from));
        }
    }

    #[test]
    fn hosts_lose_their_port() {
        assert_eq!(host("docs.example.com:443"), "docs.example.com");
        assert_eq!(host("[::1]:80"), "[::1]");
        assert_eq!(host("docs.example.com."), "docs.example.com");
    }
}
