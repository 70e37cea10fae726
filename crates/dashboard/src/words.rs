//! Numbers and instants as people read them. The script puts instants into the reader's zone; without it they are in UTC.

use std::fmt;

use askama::filters::Safe;
use copydesk_domain::Timestamp;

/// Anything that counts; templates hand it over by reference.
pub(crate) trait Count {
    fn count(&self) -> u64;
}

macro_rules! counts {
    ($($number:ty),*) => { $(impl Count for $number {
        fn count(&self) -> u64 {
            u64::try_from(*self).unwrap_or(0)
        }
    })* };
}

counts!(u32, u64, usize, i64);

impl<T: Count> Count for &T {
    fn count(&self) -> u64 {
        (**self).count()
    }
}

/// 12345 as 12,345.
pub(crate) fn number(n: impl Count) -> String {
    let digits = n.count().to_string();
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
pub(crate) fn many(n: impl Count, one: &str, more: &str) -> String {
    let n = n.count();
    format!("{} {}", number(n), if n == 1 { one } else { more })
}

/// Text on one line, cut if it is long.
pub(crate) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

/// US dollars, with as many digits as make sense of small sums.
pub(crate) fn money(dollars: &f64) -> String {
    match *dollars {
        0.0 => "$0".to_owned(),
        sum if sum < 0.001 => "under $0.001".to_owned(),
        sum if sum < 1.0 => format!("${sum:.3}"),
        sum => format!("${sum:.2}"),
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
    fn instants_carry_their_exact_value() {
        let at = Timestamp::from_millis(1_794_706_496_120);
        assert_eq!(
            ago(&at).to_string(),
            "<time datetime=\"2026-11-15T01:34:56Z\" data-as=\"ago\">15 Nov 2026 01:34 UTC</time>"
        );
        assert!(clock(&at).to_string().ends_with(">01:34:56</time>"));
    }
}
