//! Stretches of days as people choose them, and the ones before and after.

use copydesk_domain::dates;
use copydesk_domain::{Invalid, Timestamp};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Unit};

use super::Range;

/// Days of a project's zone, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub first: Date,
    pub last: Date,
    /// Whether it is so many months, which are not of one length.
    months: Option<i32>,
}

/// Periods up to today that can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    Today,
    Week,
    Month,
    Quarter,
    Year,
}

impl Preset {
    pub const ALL: [Self; 5] = [Self::Today, Self::Week, Self::Month, Self::Quarter, Self::Year];

    /// As an address has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Today => "today",
            Self::Week => "7d",
            Self::Month => "30d",
            Self::Quarter => "90d",
            Self::Year => "12m",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == text)
    }

    /// As people say it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Today => "Today",
            Self::Week => "Last 7 days",
            Self::Month => "Last 30 days",
            Self::Quarter => "Last 90 days",
            Self::Year => "Last 12 months",
        }
    }
}

impl Period {
    /// The period of that name that ends today.
    pub fn until_now(preset: Preset, now: Timestamp, zone: &TimeZone) -> Self {
        let today = today(now, zone);
        let days = |days: i64| Self { first: shifted(today, 1 - days), last: today, months: None };
        match preset {
            Preset::Today => days(1),
            Preset::Week => days(7),
            Preset::Month => days(30),
            Preset::Quarter => days(90),
            Preset::Year => Self { first: shifted(moved(today, -12), 1), last: today, months: Some(12) },
        }
    }

    /// From one day to another, both included, as people write them in fields of these names.
    pub fn between(from: &str, to: &str) -> Result<Self, Vec<Invalid>> {
        let day = |field: &'static str, text: &str| {
            let wrong = || vec![Invalid::new(field, "must be a date such as 2026-01-31")];
            text.trim().parse::<Date>().map_err(|_| wrong()).and_then(|date| match date.year() {
                1970..=9998 => Ok(date),
                _ => Err(vec![Invalid::new(field, "must be in a year from 1970 to 9998")]),
            })
        };
        match (day("from", from), day("to", to)) {
            (Ok(first), Ok(last)) if first > last => Err(vec![Invalid::new("from", "must not be after the last day")]),
            (Ok(first), Ok(last)) => Ok(Self { first, last, months: None }),
            (first, last) => Err(first.err().into_iter().chain(last.err()).flatten().collect()),
        }
    }

    /// The one of the same length just before it.
    #[must_use]
    pub fn before(self) -> Self {
        let last = shifted(self.first, -1);
        let first = match self.months {
            Some(months) => moved(self.first, -months),
            None => shifted(self.first, -self.days()),
        };
        Self { first, last, ..self }
    }

    /// The one of the same length just after it.
    #[must_use]
    pub fn after(self) -> Self {
        let first = shifted(self.last, 1);
        let last = match self.months {
            Some(months) => shifted(moved(first, months), -1),
            None => shifted(first, self.days() - 1),
        };
        Self { first, last, ..self }
    }

    pub fn days(self) -> i64 {
        self.first.until((Unit::Day, self.last)).map_or(1, |span| i64::from(span.get_days()) + 1)
    }

    /// The day after it, with which it ends.
    pub fn end(self) -> Date {
        shifted(self.last, 1)
    }

    /// Whether it holds a day that has begun.
    pub fn has_begun(self, now: Timestamp, zone: &TimeZone) -> bool {
        self.first <= today(now, zone)
    }

    /// The same to be asked about: from the first midnight to the one after the last day.
    pub fn range(self, zone: &TimeZone) -> Range {
        let midnight = |date: Date| dates::instant("date", &date.to_string(), zone).ok();
        Range { from: midnight(self.first), to: midnight(self.end()) }
    }
}

fn today(now: Timestamp, zone: &TimeZone) -> Date {
    let now = jiff::Timestamp::from_millisecond(now.as_millis()).unwrap_or_default();
    zone.to_datetime(now).date()
}

/// Where time ends there is no other day.
fn shifted(date: Date, days: i64) -> Date {
    date.saturating_add(Span::new().days(days))
}

fn moved(date: Date, months: i32) -> Date {
    date.saturating_add(Span::new().months(months))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        dates::instant("at", text, &TimeZone::UTC).unwrap()
    }

    fn shown(period: Period) -> String {
        format!("{}..{} ({})", period.first, period.last, period.days())
    }

    #[test]
    fn periods_end_today_in_the_zone() {
        let berlin = dates::zone("Europe/Berlin");
        // It is the next day there already.
        let now = at("2026-11-15T23:30:00Z");
        for (preset, wanted, before) in [
            (Preset::Today, "2026-11-16..2026-11-16 (1)", "2026-11-15..2026-11-15 (1)"),
            (Preset::Week, "2026-11-10..2026-11-16 (7)", "2026-11-03..2026-11-09 (7)"),
            (Preset::Month, "2026-10-18..2026-11-16 (30)", "2026-09-18..2026-10-17 (30)"),
            (Preset::Year, "2025-11-17..2026-11-16 (365)", "2024-11-17..2025-11-16 (365)"),
        ] {
            let period = Period::until_now(preset, now, &berlin);
            assert_eq!((shown(period), shown(period.before())), (wanted.to_owned(), before.to_owned()));
            assert_eq!(period.before().after(), period);
            assert!(period.has_begun(now, &berlin) && !period.after().has_begun(now, &berlin));
            assert_eq!(Preset::parse(preset.as_str()), Some(preset));
        }
    }

    #[test]
    fn both_days_are_part_of_it() {
        let period = Period::between("2026-03-28", " 2026-03-29 ").unwrap();
        let range = period.range(&dates::zone("Europe/Berlin"));
        let shown = |at: Option<Timestamp>| at.unwrap().to_string();
        assert_eq!(shown(range.from), "2026-03-27T23:00:00.000Z");
        assert_eq!(shown(range.to), "2026-03-29T22:00:00.000Z", "the clocks go forward in that night");
    }

    #[test]
    fn what_is_no_date_is_said_for_each_field() {
        let fields = |from: &str, to: &str| -> Vec<&'static str> {
            Period::between(from, to).unwrap_err().into_iter().map(|wrong| wrong.field).collect()
        };
        assert_eq!(fields("yesterday", "2026-02-30"), ["from", "to"]);
        assert_eq!(fields("2026-02-02", "2026-02-01"), ["from"]);
        assert_eq!(fields("-009999-01-01", "9999-12-31"), ["from", "to"]);
        assert_eq!(fields("", ""), ["from", "to"]);
    }
}
