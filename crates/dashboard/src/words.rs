//! Numbers and instants as people read them. The script puts instants into the reader's zone; without it they are in UTC.

use std::fmt;

use askama::filters::Safe;
use copydesk_domain::Timestamp;

/// 12345 as 12,345.
pub(crate) fn number(n: impl TryInto<u64>) -> String {
    let digits = n.try_into().unwrap_or(0).to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `many(1, "file", "files")` is «1 file».
pub(crate) fn many(n: impl TryInto<u64>, one: &str, more: &str) -> String {
    let n = n.try_into().unwrap_or(0);
    format!("{} {}", number(n), if n == 1 { one } else { more })
}

/// How a figure stands against the one before: the look and the words. Nothing can be said if there was nothing before.
pub(crate) fn change(now: u64, before: u64) -> (&'static str, String) {
    if before == 0 {
        return ("dim", "–".to_owned());
    }
    let (now, before) = (i128::from(now), i128::from(before));
    let hundredfold = (now - before) * 100;
    // To the nearest, away from nought.
    let percent = (hundredfold.abs() * 2 + before) / (before * 2);
    let words = number(u64::try_from(percent).unwrap_or(u64::MAX));
    match hundredfold.signum() {
        _ if percent == 0 => ("dim", "±0 %".to_owned()),
        1 => ("up", format!("+{words} %")),
        _ => ("down", format!("−{words} %")),
    }
}

/// An instant, as an element that the script rewrites in the reader's zone and words.
pub(crate) struct When {
    at: Timestamp,
    style: &'static str,
}

/// «3 hours ago» once the script has seen it.
pub(crate) fn ago(at: &Timestamp) -> Safe<When> {
    Safe(When { at: *at, style: "ago" })
}

/// The time of day.
pub(crate) fn clock(at: &Timestamp) -> Safe<When> {
    Safe(When { at: *at, style: "clock" })
}

/// Date and time.
pub(crate) fn instant(at: &Timestamp) -> Safe<When> {
    Safe(When { at: *at, style: "full" })
}

impl fmt::Display for When {
    /// Nothing of it comes from elsewhere, so it needs no escaping.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, style } = self;
        let Ok(stamp) = jiff::Timestamp::from_millisecond(at.as_millis()) else { return f.write_str("–") };
        let shown = match *style {
            "clock" => stamp.strftime("%H:%M:%S"),
            _ => stamp.strftime("%e %b %Y %H:%M UTC"),
        };
        write!(f, "<time datetime=\"{stamp:.0}\" data-as=\"{style}\">{shown}</time>")
    }
}

impl askama::FastWritable for When {
    fn write_into(&self, dest: &mut dyn fmt::Write, _: &dyn askama::Values) -> askama::Result<()> {
        write!(dest, "{self}")?;
        Ok(())
    }
}

/// Text as a part of an address.
pub(crate) fn part(text: &str) -> String {
    const KEPT: &percent_encoding::AsciiSet =
        &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    percent_encoding::utf8_percent_encode(text, KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (n, words) in [(0_u64, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(n), words);
        }
        assert_eq!(many(1_u64, "file", "files"), "1 file");
        assert_eq!(many(1000_u64, "file", "files"), "1,000 files");
    }

    #[test]
    fn changes_are_told_in_hundredths() {
        let words = |now, before| change(now, before).1;
        assert_eq!([words(112, 100), words(88, 100), words(5, 5), words(5, 0)], ["+12 %", "−12 %", "±0 %", "–"]);
        assert_eq!([words(2015, 1000), words(0, 3), words(999_996, 1_000_000)], ["+102 %", "−100 %", "±0 %"]);
        assert!(words(u64::MAX, 1).starts_with('+') && words(1, u64::MAX) == "−100 %");
    }

    #[test]
    fn instants_carry_their_exact_value() {
        let at = Timestamp::from_millis(1_794_706_496_120);
        assert_eq!(
            ago(&at).to_string(),
            "<time datetime=\"2026-11-15T01:34:56Z\" data-as=\"ago\">15 Nov 2026 01:34 UTC</time>"
        );
        assert!(clock(&at).to_string().ends_with(">01:34:56</time>"));
    }
}
