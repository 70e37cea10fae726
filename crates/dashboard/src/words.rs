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
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
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

/// What to say beside a limit that may be left empty.
pub(crate) fn on_this_server(default: &str) -> String {
    format!("On this server: {default}.")
}

/// The same of a limit that a project can only lower.
pub(crate) fn only_lower(default: &str) -> String {
    format!("{} A project can only lower it; it holds where the price of the model is known.", on_this_server(default))
}

/// The same with a large letter first.
pub(crate) fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// 1234567 as «1.2 MB».
pub(crate) fn bytes(n: u64) -> String {
    let mut rest = n as f64;
    for unit in ["bytes", "kB", "MB", "GB"] {
        if rest < 1000.0 {
            return if unit == "bytes" { format!("{n} bytes") } else { format!("{rest:.1} {unit}") };
        }
        rest /= 1000.0;
    }
    format!("{rest:.1} TB")
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
