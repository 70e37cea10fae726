//! The query of an analytics request. Nothing is clamped: what is not right is refused, all of it at once.

use copydesk_domain::{Invalid, Timestamp, dates};
use copydesk_views::Bucket;
use jiff::tz::TimeZone;

use crate::problem::{Detail, Problem};

/// The parameters of a query, and what was wrong with those that were looked at.
pub(super) struct Query {
    pairs: Vec<(String, String)>,
    wrong: Vec<Detail>,
}

/// A stretch of time, to the quarter hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    /// None: from the beginning.
    pub(super) from: Option<Timestamp>,
    /// None: without end.
    pub(super) to: Option<Timestamp>,
}

impl Range {
    pub(super) fn first(self) -> Bucket {
        self.from.map_or(Bucket::MIN, Bucket::of)
    }

    pub(super) fn end(self) -> Bucket {
        self.to.map_or(Bucket::MAX, Bucket::of)
    }
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
            self.refuse(Invalid::new(name, "is given twice"));
            return None;
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
            None if to == usize::MAX => self.refused(name, format!("must be a whole number from {from}"), default),
            None => self.refused(name, format!("must be a whole number from {from} to {to}"), default),
        }
    }

    /// `dateFrom` and `dateTo`.
    pub(super) fn range(&mut self, zone: &TimeZone) -> Range {
        let mut date = |name| {
            let text = self.text(name)?;
            dates::instant(name, &text, zone).map_err(|invalid| self.refuse(invalid)).ok()
        };
        let range = Range { from: date("dateFrom"), to: date("dateTo") };
        if let (Some(from), Some(to)) = (range.from, range.to)
            && from > to
        {
            self.refuse(Invalid::new("dateFrom", "must not be after dateTo"));
        }
        range
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

    pub(super) fn refuse(&mut self, invalid: Invalid) {
        self.wrong.push(invalid.into());
    }

    fn refused<T>(&mut self, name: &'static str, message: String, instead: T) -> T {
        self.refuse(Invalid::new(name, message));
        instead
    }

    /// Everything that was wrong, if anything was.
    pub(super) fn finish(self) -> Result<(), Problem> {
        if self.wrong.is_empty() { Ok(()) } else { Err(Problem::invalid_all(self.wrong)) }
    }
}
