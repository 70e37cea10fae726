//! What is asked for on the pages about readers: a period, an interval, a page, and where in the list.

use copydesk_desk::readers::{Period, Preset, page_path};
use copydesk_domain::dates::{self, Interval};
use copydesk_domain::{Invalid, Project, Timestamp};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::form::{Form, Wrong};
use crate::words::part;

/// Points of a chart at most: more can be had of the interface.
const MOST_POINTS: i64 = 400;

pub(super) struct Asked {
    pub(super) zone: TimeZone,
    pub(super) period: Period,
    /// The name of the period, if it has one.
    preset: Option<Preset>,
    pub(super) by: Interval,
    /// One page of the site.
    pub(super) path: Option<String>,
    pub(super) offset: usize,
    /// As they were typed.
    pub(super) from: String,
    pub(super) to: String,
    pub(super) wrong: Wrong,
    now: Timestamp,
    /// The address of the page itself.
    at: String,
}

impl Asked {
    /// Reads a query. What is wrong with it is kept, and the last 30 days stand in for it.
    pub(super) fn read(query: Option<&str>, project: &Project, now: Timestamp, at: String) -> Self {
        let query = Form::parse(query.unwrap_or_default().as_bytes());
        let zone = dates::zone(&project.time_zone);
        let mut wrong: Vec<Invalid> = Vec::new();
        let (from, to) = (query.text("from").to_owned(), query.text("to").to_owned());
        let named = Preset::parse(query.text("range"));
        let usual = named.unwrap_or(Preset::Month);
        let (period, preset) = match (named, from.is_empty() && to.is_empty()) {
            (Some(_), _) | (_, true) => (Period::until_now(usual, now, &zone), Some(usual)),
            (None, false) => match Period::between(&from, &to) {
                Ok(period) => (period, None),
                Err(invalid) => {
                    wrong.extend(invalid);
                    (Period::until_now(usual, now, &zone), Some(usual))
                }
            },
        };
        let path = query.given("path").and_then(|path| page_path(&path).map_err(|invalid| wrong.push(invalid)).ok());
        let (from, to) = match wrong.is_empty() {
            true => (period.first.to_string(), period.last.to_string()),
            false => (from, to),
        };
        let offset = query.text("offset").parse().unwrap_or(0);
        let mut asked =
            Self { zone, period, preset, by: Interval::Day, path, offset, from, to, wrong: wrong.into(), now, at };
        let wanted = Interval::parse(query.text("by")).filter(|by| asked.intervals().contains(by));
        asked.by = wanted.unwrap_or_else(|| asked.usual());
        asked
    }

    /// The intervals that give a chart that can be read.
    fn intervals(&self) -> Vec<Interval> {
        let days = self.period.days();
        let points = |interval: &Interval| match interval {
            Interval::Hour => days * 24,
            Interval::Day => days,
            Interval::Week => days / 7,
            Interval::Month => days / 28,
        };
        let fit = |interval: &Interval| points(interval) <= MOST_POINTS && (points(interval) > 1 || days < 7);
        let fitting: Vec<Interval> = Interval::ALL.into_iter().filter(fit).collect();
        match days {
            // A day has no weeks.
            ..7 => fitting.into_iter().filter(|by| matches!(by, Interval::Hour | Interval::Day)).collect(),
            _ if fitting.is_empty() => vec![Interval::Month],
            _ => fitting,
        }
    }

    fn usual(&self) -> Interval {
        match self.period.days() {
            ..=1 => Interval::Hour,
            2..=92 => Interval::Day,
            93..=644 => Interval::Week,
            _ => Interval::Month,
        }
    }

    pub(super) fn range(&self) -> copydesk_desk::readers::Range {
        self.period.range(&self.zone)
    }

    /// The question as a query, without where in the list.
    pub(super) fn query(&self) -> String {
        let mut query = self.period_query();
        if self.by != self.usual() {
            query.push_str(&format!("&by={}", self.by.as_str()));
        }
        query
    }

    /// The period alone as a query, for pages that have nothing else of it.
    pub(super) fn period_query(&self) -> String {
        match self.preset {
            Some(preset) => format!("range={}", preset.as_str()),
            None => format!("from={}&to={}", self.period.first, self.period.last),
        }
    }

    fn of_path(&self) -> String {
        self.path.as_deref().map(|path| format!("&path={}", part(path))).unwrap_or_default()
    }

    /// The periods with a name: where they are shown, the name, and whether it is this one.
    pub(super) fn presets(&self) -> Vec<(String, &'static str, bool)> {
        let preset = |it: Preset| {
            let link = format!("{}?range={}{}", self.at, it.as_str(), self.of_path());
            (link, it.words(), self.preset == Some(it))
        };
        Preset::ALL.into_iter().map(preset).collect()
    }

    /// The same for intervals.
    pub(super) fn choices(&self) -> Vec<(String, &'static str, bool)> {
        let choice = |by: Interval| {
            let link = format!("{}?{}&by={}{}", self.at, self.period_query(), by.as_str(), self.of_path());
            (link, by.as_str(), self.by == by)
        };
        self.intervals().into_iter().map(choice).collect()
    }

    /// Where the period before is shown.
    pub(super) fn earlier(&self) -> String {
        self.with_period(self.period.before())
    }

    /// Where the period after is shown, if any of it has come.
    pub(super) fn later(&self) -> Option<String> {
        let after = self.period.after();
        after.has_begun(self.now, &self.zone).then(|| self.with_period(after))
    }

    fn with_period(&self, period: Period) -> String {
        format!("{}?from={}&to={}{}", self.at, period.first, period.last, self.of_path())
    }

    /// The period as people read it.
    pub(super) fn words(&self) -> String {
        in_words(self.period)
    }

    pub(super) fn words_before(&self) -> String {
        in_words(self.period.before())
    }

    pub(super) fn with_offset(&self, offset: usize) -> String {
        format!("{}?{}{}&offset={offset}", self.at, self.query(), self.of_path())
    }

    /// The same of one page, or of all.
    pub(super) fn with_path(&self, path: Option<&str>) -> String {
        let path = path.map(|path| format!("&path={}", part(path))).unwrap_or_default();
        format!("{}?{}{path}", self.at, self.query())
    }

    /// All of it, for what shows the same in another form.
    pub(super) fn whole(&self) -> String {
        format!("{}{}", self.query(), self.of_path())
    }

    /// The period as the interface is asked for it.
    pub(super) fn dates(&self) -> String {
        format!("dateFrom={}&dateTo={}", self.period.first, self.period.end())
    }
}

/// A period as people read it: «18 Oct – 16 Nov 2026».
fn in_words(period: Period) -> String {
    let (first, last) = (period.first, period.last);
    let whole = |date: Date| date.strftime("%-d %b %Y").to_string();
    match () {
        () if first == last => whole(first),
        () if first.year() == last.year() => format!("{} – {}", first.strftime("%-d %b"), whole(last)),
        () => format!("{} – {}", whole(first), whole(last)),
    }
}

/// The beginning of a point in full and short, as its interval has it.
pub(crate) fn name_of(start: &str, by: Interval) -> (String, String) {
    let Some(at) = start.get(..19).and_then(|text| text.parse::<jiff::civil::DateTime>().ok()) else {
        return (String::new(), String::new());
    };
    let name = |form: &str| at.strftime(form).to_string();
    match by {
        Interval::Hour => (name("%a %-d %b %H:%M"), if at.hour() == 0 { name("%-d %b") } else { name("%H:%M") }),
        Interval::Day => (name("%a %-d %b %Y"), name("%-d %b")),
        Interval::Week => (name("Week of %-d %b %Y"), name("%-d %b")),
        Interval::Month => (name("%B %Y"), name("%b %Y")),
    }
}
