//! When a line says it happened, in seconds since 1970.

/// The latest epoch that is still in seconds; what is larger counts milliseconds, microseconds or nanoseconds.
const MOST_SECONDS: f64 = 1e11;

/// The width of what [`common`] reads.
pub(super) const COMMON: usize = 26;

/// `10/Oct/2024:13:55:36 +0200`, as nginx and Apache write it between brackets.
pub(super) fn common(text: &[u8]) -> Option<i64> {
    let text: &[u8; COMMON] = text.try_into().ok()?;
    if [text[2], text[6], text[11], text[14], text[17], text[20]] != *b"//::: " {
        return None;
    }
    let two = |at: usize| pair(text[at], text[at + 1]);
    let date = days(two(7)? * 100 + two(9)?, month([text[3], text[4], text[5]])?, two(0)?)?;
    let offset = zone(text[21], [text[22], text[23]], [text[24], text[25]])?;
    Some(date * 86_400 + clock(two(12)?, two(15)?, two(18)?)? - offset)
}

/// Any of the ways in which logs write a time: RFC 3339 (also with a space or slashes, and in UTC without a zone), that
/// of [`common`], or an epoch in seconds, milliseconds, microseconds or nanoseconds.
pub(super) fn written(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]")).unwrap_or(text);
    dated(text).or_else(|| common(text)).or_else(|| written_epoch(text))
}

/// `2024-10-10`, `13:55:36`: a date and a time of day in UTC, in two fields.
pub(super) fn date_and_time(date: &[u8], time: &[u8]) -> Option<i64> {
    let &[h1, h2, b':', n1, n2, b':', s1, s2, ref rest @ ..] = time else { return None };
    if !is_fraction(rest) {
        return None;
    }
    Some(day(date)? * 86_400 + clock(pair(h1, h2)?, pair(n1, n2)?, pair(s1, s2)?)?)
}

/// An epoch in whatever unit fits its size.
pub(super) fn epoch(number: f64) -> Option<i64> {
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    let mut seconds = number;
    while seconds >= MOST_SECONDS {
        seconds /= 1000.0;
    }
    // In range: at most MOST_SECONDS.
    Some(seconds as i64)
}

fn written_epoch(text: &[u8]) -> Option<i64> {
    if text.is_empty() || !text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') {
        return None;
    }
    epoch(std::str::from_utf8(text).ok()?.parse().ok()?)
}

fn dated(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let &[b'T' | b't' | b' ', ref rest @ ..] = rest else { return None };
    let (time, rest) = rest.split_at_checked(8)?;
    let fraction = if let [b'.' | b',', digits @ ..] = rest {
        1 + digits.iter().take_while(|byte| byte.is_ascii_digit()).count()
    } else {
        0
    };
    let offset = match rest.get(fraction..)?.trim_ascii() {
        b"" | b"Z" | b"z" | b"UTC" | b"GMT" => 0,
        &[sign, h1, h2, b':', m1, m2] | &[sign, h1, h2, m1, m2] => zone(sign, [h1, h2], [m1, m2])?,
        &[sign, h1, h2] => zone(sign, [h1, h2], *b"00")?,
        _ => return None,
    };
    Some(date_and_time(date, time)? - offset)
}

fn day(text: &[u8]) -> Option<i64> {
    let &[y1, y2, y3, y4, b'-' | b'/', m1, m2, b'-' | b'/', d1, d2] = text else { return None };
    days(pair(y1, y2)? * 100 + pair(y3, y4)?, pair(m1, m2)?, pair(d1, d2)?)
}

fn is_fraction(text: &[u8]) -> bool {
    text.is_empty() || (text.len() > 1 && text[0] == b'.' && text[1..].iter().all(u8::is_ascii_digit))
}

fn pair(high: u8, low: u8) -> Option<i64> {
    let (high, low) = (high.wrapping_sub(b'0'), low.wrapping_sub(b'0'));
    (high < 10 && low < 10).then(|| i64::from(high) * 10 + i64::from(low))
}

/// A leap second is the first of the next minute.
fn clock(hour: i64, minute: i64, second: i64) -> Option<i64> {
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

fn zone(sign: u8, hours: [u8; 2], minutes: [u8; 2]) -> Option<i64> {
    let (hours, minutes) = (pair(hours[0], hours[1])?, pair(minutes[0], minutes[1])?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    match sign {
        b'+' => Some(hours * 3600 + minutes * 60),
        b'-' => Some(-(hours * 3600 + minutes * 60)),
        _ => None,
    }
}

fn month(name: [u8; 3]) -> Option<i64> {
    Some(match &name {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    })
}

/// Days since 1970-01-01 of a date of the Gregorian calendar; years begin in March, so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let longest = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    };
    if day < 1 || day > longest {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_as_servers_write_them() {
        let at = Some(1_728_568_536);
        assert_eq!(common(b"10/Oct/2024:15:55:36 +0200"), at);
        for text in [
            "2024-10-10T13:55:36Z",
            "2024-10-10T15:55:36.123456+02:00",
            "2024-10-10T13:55:36+0000",
            "2024-10-10T13:55:36UTC",
            "2024-10-10 13:55:36",
            "2024/10/10 13:55:36.001",
            "2024-10-10T05:55:36-08",
            "[10/Oct/2024:13:55:36 +0000]",
            "1728568536",
            "1728568536.999",
            "1728568536123",
            "1728568536123456",
            "1728568536123456789",
        ] {
            assert_eq!(written(text.as_bytes()), at, "{text}");
        }
        assert_eq!(date_and_time(b"2024-10-10", b"13:55:36"), at);
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "-",
            "2024-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2024-10-10",
            "2024-10-10T24:00:00Z",
            "2024-10-10T13:55:36X",
            "2024-10-10T13:55:36+2500",
            "1.2.3",
            ".",
            "-1",
            "NaN",
            "10/Okt/2024:13:55:36 +0000",
            "31/Sep/2024:13:55:36 +0000",
        ] {
            assert_eq!(written(text.as_bytes()), None, "{text}");
        }
        assert_eq!(date_and_time(b"2024-10-10", b"13:55"), None);
    }

    proptest! {
        #[test]
        fn agrees_with_a_calendar(seconds in 0i64..253_402_300_799, zone in -12 * 4i32..=14 * 4) {
            let instant = jiff::Timestamp::from_second(seconds).unwrap();
            let offset = jiff::tz::Offset::from_seconds(zone * 900).unwrap();
            let there = instant.to_zoned(offset.to_time_zone());
            prop_assert_eq!(common(there.strftime("%d/%b/%Y:%H:%M:%S %z").to_string().as_bytes()), Some(seconds));
            prop_assert_eq!(written(there.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string().as_bytes()), Some(seconds));
        }

        #[test]
        fn nothing_makes_it_fall_over(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = written(&text);
            let _ = common(&text);
        }
    }
}
