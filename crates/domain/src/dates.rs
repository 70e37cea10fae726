//! Instants as people write them, and the hours, days, weeks and months of a time zone.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;

use crate::{Invalid, Timestamp};

/// The instant that `text` means: a date is its midnight in `zone`, a date-time with an offset is that instant, and one
/// without is in `zone`.
pub fn instant(field: &'static str, text: &str, zone: &TimeZone) -> Result<Timestamp, Invalid> {
    let text = text.trim();
    // A zone in brackets would be read and not heeded.
    let plain = !text.contains('[');
    let read = with_offset(text).or_else(|| {
        // A midnight that a zone skips begins with the first instant after it.
        let local = match text.parse::<Date>() {
            Ok(date) if is_date(text) => date.to_datetime(jiff::civil::Time::midnight()),
            _ => text.parse::<DateTime>().ok()?,
        };
        zone.to_ambiguous_zoned(local)
            .compatible()
            .map_or_else(|_| edge_of_time(local), |zoned| Some(zoned.timestamp()))
    });
    let wrong = || {
        let shown: String = text.chars().take(60).collect();
        Invalid::new(field, format!("must be a date such as 2026-01-31 or an ISO 8601 date-time, not {shown:?}"))
    };
    let read = read.filter(|_| plain);
    read.map(|instant| Timestamp::from_millis(instant.as_millisecond())).ok_or_else(wrong)
}

/// Whether there is nothing behind the date.
fn is_date(text: &str) -> bool {
    !text.contains(['T', 't', ' ', ':'])
}

/// The last day of the year 9999 and the first of -9999 can be written, but not every instant of them can be counted.
fn edge_of_time(local: DateTime) -> Option<jiff::Timestamp> {
    match (local.year(), local.month(), local.day()) {
        (9999, 12, 30..) => Some(jiff::Timestamp::MAX),
        (-9999, 1, ..=2) => Some(jiff::Timestamp::MIN),
        _ => None,
    }
}

fn with_offset(text: &str) -> Option<jiff::Timestamp> {
    if is_date(text) {
        return None;
    }
    text.parse::<jiff::Timestamp>()
        .ok()
        .or_else(|| {
            let end = text.rfind(['Z', 'z', '+', '-'])?;
            let is_offset = format!("2000-01-01T00:00:00{}", &text[end..]).parse::<jiff::Timestamp>().is_ok();
            text[..end].parse().ok().filter(|_| is_offset).and_then(edge_of_time)
        })
        .or_else(|| {
            // A plus that was not encoded in a query arrives as a space: `2026-01-31T10:00:00 02:00`.
            let (time, offset) = text.rsplit_once(' ')?;
            let looks_so = time.contains(['T', 't']) && offset.len() == 5 && offset.as_bytes().get(2) == Some(&b':');
            if looks_so { format!("{time}+{offset}").parse().ok() } else { None }
        })
}

/// A length of time on the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// Sixty minutes, from the hour that the zone's clocks show.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From Monday to Monday.
    Week,
    /// From the first to the first.
    Month,
}

impl Interval {
    /// All of them, the shortest first.
    pub const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::Week, Self::Month];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// The one of that word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|interval| interval.as_str() == text)
    }

    /// The beginning of the one that `at` is in, and the beginning of the next one.
    pub fn around(self, at: Timestamp, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
        let at = jiff::Timestamp::from_millisecond(at.as_millis()).ok()?;
        let local = zone.to_datetime(at);
        let midnight = |date: Date| {
            let zoned = zone.to_ambiguous_zoned(date.to_datetime(jiff::civil::Time::midnight())).compatible().ok()?;
            Some(Timestamp::from_millis(zoned.timestamp().as_millisecond()))
        };
        let date = local.date();
        let (first, next) = match self {
            Self::Hour => {
                // Counted in minutes gone by and not by the clock: an hour that a zone repeats is two.
                let minutes = i64::from(local.minute()) * 60 + i64::from(local.second());
                let begin = (at.as_second() - minutes) * 1000;
                return Some((Timestamp::from_millis(begin), Timestamp::from_millis(begin + 3_600_000)));
            }
            Self::Day => (date, date.tomorrow().ok()?),
            Self::Week => {
                let monday = date.checked_sub(jiff::Span::new().days(date.weekday().since(Weekday::Monday))).ok()?;
                (monday, monday.checked_add(jiff::Span::new().days(7)).ok()?)
            }
            Self::Month => {
                let first = date.first_of_month();
                (first, first.checked_add(jiff::Span::new().months(1)).ok()?)
            }
        };
        Some((midnight(first)?, midnight(next)?))
    }

    /// The edges from `from` to `to`: these two, and every beginning of an interval between them. None if they would be
    /// more than `most`.
    pub fn edges(self, from: Timestamp, to: Timestamp, zone: &TimeZone, most: usize) -> Option<Vec<Timestamp>> {
        let mut edges = vec![from];
        let mut last = from;
        while last < to {
            // Where time ends there is no next one.
            let next = self.around(last, zone).map_or(to, |(_, next)| next).min(to);
            // A zone that sets its clocks back by a part of an hour repeats some of it.
            last = if next > last { next } else { last.plus(std::time::Duration::from_secs(900)).min(to) };
            edges.push(last);
            if edges.len() > most {
                return None;
            }
        }
        Some(edges)
    }
}

/// `at` as the clocks of `zone` show it, with the offset: `2026-01-31T00:00:00+01:00`.
pub fn local(at: Timestamp, zone: &TimeZone) -> String {
    let Ok(instant) = jiff::Timestamp::from_millisecond(at.as_millis()) else { return at.to_string() };
    let zoned = instant.to_zoned(zone.clone());
    zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// The zone of that name; a project's was checked when it was set.
pub fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap_or(TimeZone::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, zone_name: &str) -> String {
        instant("dateFrom", text, &zone(zone_name)).unwrap().to_string()
    }

    #[test]
    fn a_date_is_its_midnight_in_the_zone() {
        assert_eq!(at("2026-01-31", "UTC"), "2026-01-31T00:00:00.000Z");
        assert_eq!(at("2026-01-31", "Asia/Kathmandu"), "2026-01-30T18:15:00.000Z");
        assert_eq!(at("20260131", "UTC"), "2026-01-31T00:00:00.000Z");
        // Clocks went from 24:00 to 1:00 there.
        assert_eq!(at("2018-11-04", "America/Sao_Paulo"), "2018-11-04T03:00:00.000Z");
    }

    #[test]
    fn a_date_time_is_in_the_zone_unless_it_says_otherwise() {
        assert_eq!(at("2026-07-01T12:00", "Europe/Berlin"), "2026-07-01T10:00:00.000Z");
        assert_eq!(at("2026-07-01T12:00:30.5", "UTC"), "2026-07-01T12:00:30.500Z");
        assert_eq!(at("2026-07-01T12:00:00Z", "Europe/Berlin"), "2026-07-01T12:00:00.000Z");
        assert_eq!(at("2026-07-01T12:00:00+05:45", "Europe/Berlin"), "2026-07-01T06:15:00.000Z");
        assert_eq!(at("2026-07-01T12:00:00 05:45", "Europe/Berlin"), "2026-07-01T06:15:00.000Z");
    }

    fn edges(interval: Interval, from: &str, to: &str, zone_name: &str) -> Vec<String> {
        let zone = zone(zone_name);
        let at = |text| instant("at", text, &zone).unwrap();
        let edges = interval.edges(at(from), at(to), &zone, 100).unwrap();
        edges.into_iter().map(|edge| local(edge, &zone)).collect()
    }

    #[test]
    fn days_of_a_zone_have_23_or_25_hours() {
        let days = edges(Interval::Day, "2026-03-28", "2026-03-31", "Europe/Berlin");
        let wanted = ["28T00:00:00+01:00", "29T00:00:00+01:00", "30T00:00:00+02:00", "31T00:00:00+02:00"];
        assert_eq!(days, wanted.map(|it| format!("2026-03-{it}")));
        let hours = edges(Interval::Hour, "2026-10-25", "2026-10-26", "Europe/Berlin");
        assert_eq!(hours.len(), 26);
    }

    #[test]
    fn edges_begin_and_end_as_asked() {
        let weeks = edges(Interval::Week, "2026-11-11", "2026-11-24T12:00", "UTC");
        assert_eq!(
            weeks.iter().map(|it| &it[5..13]).collect::<Vec<_>>(),
            ["11-11T00", "11-16T00", "11-23T00", "11-24T12"]
        );
        let months = edges(Interval::Month, "2026-01-31", "2026-03-01", "Asia/Kathmandu");
        assert_eq!(months.iter().map(|it| &it[5..10]).collect::<Vec<_>>(), ["01-31", "02-01", "03-01"]);
        assert_eq!(edges(Interval::Day, "2026-01-01", "2026-01-01", "UTC").len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn edges_rise_and_are_quarter_hours(start in 946_684_800i64..2_000_000_000, days in 1i64..60, which in 0usize..4, zone_at in 0usize..6) {
            let zone = zone(["Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Chatham", "Africa/Casablanca", "UTC"][zone_at]);
            let from = Timestamp::from_millis((start - start % 900) * 1000);
            let to = from.plus(std::time::Duration::from_secs(days as u64 * 86_400));
            let edges = Interval::ALL[which].edges(from, to, &zone, 10_000).unwrap();
            proptest::prop_assert!(edges.first() == Some(&from) && edges.last() == Some(&to));
            proptest::prop_assert!(edges.is_sorted_by(|a, b| a < b));
            proptest::prop_assert!(edges.iter().all(|edge| edge.as_millis() % 900_000 == 0));
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-02-30",
            "2026",
            "1767225600",
            "2026-01-01T25:00",
            "2026-01-01 x",
            "2026-01-01Z",
        ] {
            assert!(instant("dateFrom", text, &TimeZone::UTC).is_err(), "{text:?}");
        }
    }
}
