//! Values as log shippers write them.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

/// A string that is borrowed from the body wherever it has no escapes. (serde copies an `Option<Cow<str>>` always.)
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// A text that is read whatever is in it: log shippers put into a user agent the bytes that came, and a view is worth more
/// than its odd bytes. What is no UTF-8 becomes a replacement character. Of a list, as Vercel writes headers, the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lossy<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Lossy<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, because as a string it would have to be UTF-8.
        deserializer.deserialize_bytes(LossyVisitor).map(Self)
    }
}

struct LossyVisitor;

impl<'de> Visitor<'de> for LossyVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(String::from_utf8_lossy(bytes))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let first = list.next_element::<Lossy<'de>>()?.unwrap_or_default();
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(first.0)
    }
}

/// An instant: RFC 3339, or a number since 1970 in seconds, milliseconds, microseconds or nanoseconds, which its size
/// tells apart (as seconds, 100,000,000,000 would be in the year 5138). In whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(pub(super) i64);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MomentVisitor)
    }
}

struct MomentVisitor;

impl Visitor<'_> for MomentVisitor {
    type Value = Moment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an RFC 3339 date-time, or seconds or milliseconds since 1970")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Moment, E> {
        Ok(Moment(epoch(number)))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Moment, E> {
        Ok(Moment(epoch(i64::try_from(number).unwrap_or(i64::MAX))))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Moment, E> {
        // `as` stops at the ends, and no fraction of a second matters.
        if number.is_finite() { Ok(Moment(epoch(number.floor() as i64))) } else { Err(E::custom("no instant")) }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Moment, E> {
        if let Ok(number) = text.parse() {
            return Ok(Moment(epoch(number)));
        }
        // A date-time of another form, or without an offset, could be any instant of a day.
        let instant: Result<jiff::Timestamp, _> = text.parse();
        instant.map(|instant| Moment(instant.as_millisecond().div_euclid(1000))).map_err(|_| {
            E::custom("it is neither an RFC 3339 date-time with an offset nor a number of seconds or milliseconds")
        })
    }
}

fn epoch(number: i64) -> i64 {
    const STEPS: [(u64, i64); 3] =
        [(100_000_000_000, 1), (100_000_000_000_000, 1000), (100_000_000_000_000_000, 1_000_000)];
    let size = number.unsigned_abs();
    let unit = STEPS.iter().find(|(below, _)| size < *below).map_or(1_000_000_000, |(_, unit)| *unit);
    number.div_euclid(unit)
}

/// An address, as logs write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address(pub(super) IpAddr);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(deserializer)?;
        text.0.trim().parse().map(Self).map_err(|_| de::Error::custom("it is no IP address"))
    }
}

/// An address that is left out if it cannot be read: a log line is worth more than the address in it.
pub(super) fn address(text: Option<&Text<'_>>) -> Option<IpAddr> {
    text?.0.trim().parse().ok()
}

/// A status as logs write it: a number, or its digits. What is none (Vercel writes -1) is 0, so that it is no success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status(pub(super) u16);

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StatusVisitor)
    }
}

struct StatusVisitor;

impl Visitor<'_> for StatusVisitor {
    type Value = Status;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an HTTP status")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Status, E> {
        Ok(Status(u16::try_from(number).unwrap_or(0)))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Status, E> {
        Ok(Status(u16::try_from(number).unwrap_or(0)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Status, E> {
        text.trim().parse().map(Status).map_err(|_| E::custom("it is no HTTP status"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(json: &str) -> Option<i64> {
        serde_json::from_str::<Moment>(json).ok().map(|it| it.0)
    }

    #[test]
    fn instants_are_read_in_every_unit() {
        for json in [
            "1773576000",
            "1773576000.9",
            "1773576000123",
            "1773576000123456",
            "1773576000123456789",
            r#""1773576000""#,
            r#""1773576000123""#,
            r#""2026-03-15T12:00:00Z""#,
            r#""2026-03-15T12:00:00.999Z""#,
            r#""2026-03-15T14:00:00+02:00""#,
        ] {
            assert_eq!(moment(json), Some(1_773_576_000), "{json}");
        }
        assert_eq!(moment("-1"), Some(-1));
        assert_eq!(moment("0"), Some(0));
        assert_eq!(moment("1e300").map(|it| it > 4_000_000_000), Some(true));
        for json in [r#""""#, r#""yesterday""#, r#""2026-03-15""#, r#""2026-03-15T12:00:00""#, "null", "[]", "true"] {
            assert_eq!(moment(json), None, "{json}");
        }
    }

    #[test]
    fn text_without_escapes_is_not_copied() {
        let plain: Option<Text<'_>> = serde_json::from_str(r#""plain""#).unwrap();
        assert!(matches!(plain, Some(Text(Cow::Borrowed("plain")))));
        let escaped: Text<'_> = serde_json::from_str(r#""a\"b""#).unwrap();
        assert_eq!(escaped.0, "a\"b");
    }

    #[test]
    fn odd_bytes_do_not_matter_where_they_need_not() {
        let lossy = |json: &[u8]| serde_json::from_slice::<Lossy<'_>>(json).ok().map(|it| it.0.into_owned());
        assert_eq!(lossy(b"\"caf\xe9\"").as_deref(), Some("caf\u{fffd}"));
        assert_eq!(lossy(b"\"a\x01\\n\"").as_deref(), Some("a\u{1}\n"));
        assert_eq!(lossy(br#""\ud800x""#).map(|it| it.ends_with('x')), Some(true));
        assert_eq!(lossy(br#"["a","b"]"#).as_deref(), Some("a"));
        assert_eq!(lossy(b"[]").as_deref(), Some(""));
        assert_eq!((lossy(b"1"), lossy(b"{}"), lossy(b"[1]")), (None, None, None));
        assert!(matches!(serde_json::from_slice(b"\"a\"").unwrap(), Lossy(Cow::Borrowed("a"))));
    }
}
