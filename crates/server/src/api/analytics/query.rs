//! The query of an analytics request. Nothing is clamped: what is not right is refused, all of it at once.

use copydesk_desk::readers::{Range, page_path};
use copydesk_domain::Invalid;
use copydesk_domain::dates::{self, Interval};
use jiff::tz::TimeZone;

use crate::problem::{Detail, Problem};

/// The parameters of a query, and what was wrong with those that were looked at.
pub(super) struct Query {
    pairs: Vec<(String, String)>,
    wrong: Vec<Detail>,
}

impl Query {
    pub(super) fn read(query: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
        Self { pairs, wrong: Vec::new() }
    }

    /// A parameter that may be given once.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let mut given = self.pairs.iter().filter(|(key, _)| key == name);
        let first = given.next().map(|(_, value)| value.clone());
        if given.next().is_some() {
            return self.refused(Invalid::new(name, "is given twice"), None);
        }
        first
    }

    /// A whole number in a range, with a default.
    pub(super) fn whole(&mut self, name: &'static str, default: usize, from: usize, to: usize) -> usize {
        let Some(text) = self.text(name) else { return default };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // More than a machine word is still a whole number; it is just larger than everything there is.
        let number = digits.then(|| text.parse().unwrap_or(usize::MAX));
        match number.filter(|number| (from..=to).contains(number)) {
            Some(number) => number,
            None => {
                let most = if to == usize::MAX { String::new() } else { format!(" to {to}") };
                self.refused(Invalid::new(name, format!("must be a whole number from {from}{most}")), default)
            }
        }
    }

    /// `dateFrom` and `dateTo`.
    pub(super) fn range(&mut self, zone: &TimeZone) -> Range {
        let mut date = |name| {
            let text = self.text(name)?;
            dates::instant(name, &text, zone).map_or_else(|invalid| self.refused(invalid, None), Some)
        };
        let range = Range::new(date("dateFrom"), date("dateTo"));
        range.unwrap_or_else(|invalid| self.refused(invalid, Range::default()))
    }

    /// `path`, in its one form.
    pub(super) fn path(&mut self) -> Option<String> {
        let path = page_path(&self.text("path")?);
        path.map_or_else(|invalid| self.refused(invalid, None), Some)
    }

    /// `interval`; none if it was left to us.
    pub(super) fn interval(&mut self) -> Option<Interval> {
        let interval = Interval::parse(&self.text("interval")?);
        interval.or_else(|| self.refused(Invalid::new("interval", "must be hour, day, week or month"), None))
    }

    /// The range as it was given, to be put into the address of the next page.
    pub(super) fn filters(&self) -> String {
        let mut filters = form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.pairs.iter().filter(|(name, _)| name == "dateFrom" || name == "dateTo") {
            filters.append_pair(name, value);
        }
        let filters = filters.finish();
        if filters.is_empty() { filters } else { format!("{filters}&") }
    }

    fn refused<T>(&mut self, invalid: Invalid, instead: T) -> T {
        self.wrong.push(invalid.into());
        instead
    }

    /// Everything that was wrong, if anything was.
    pub(super) fn finish(self) -> Result<(), Problem> {
        if self.wrong.is_empty() { Ok(()) } else { Err(Problem::invalid_all(self.wrong)) }
    }
}
