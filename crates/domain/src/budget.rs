//! What a prompt of a job may cost, and who says so.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Invalid;

/// The largest limit that can be set, as in the server's settings.
const MOST: f64 = 1_000_000.0;
const MILLION: u64 = 1_000_000;

/// An amount of US dollars, kept in whole millionths: what is stored, compared and shown is then the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(u64);

impl Dollars {
    /// The nearest amount; nothing if the number is not positive.
    pub fn rounded(amount: f64) -> Self {
        // A cast from a float stays within the bounds, and makes zero of what is no number.
        Self((amount * MILLION as f64).round() as u64)
    }

    pub fn from_millionths(millionths: u64) -> Self {
        Self(millionths)
    }

    pub fn millionths(self) -> u64 {
        self.0
    }

    pub fn amount(self) -> f64 {
        self.0 as f64 / MILLION as f64
    }

    /// A limit that somebody sets in a field of that name. What is too small to be kept is the smallest there is: to make
    /// nothing of it would forbid what was allowed.
    pub fn limit(field: &'static str, amount: f64) -> Result<Self, Invalid> {
        if amount > 0.0 && amount <= MOST {
            Ok(Self::rounded(amount).max(Self(1)))
        } else {
            Err(Invalid::new(field, "must be more than 0 and at most 1000000 US dollars"))
        }
    }

    /// The same, as it was typed.
    pub fn parse_limit(field: &'static str, text: &str) -> Result<Self, Invalid> {
        let is_plain = |b: u8| b.is_ascii_digit() || b == b'.';
        let amount = text.parse().ok().filter(|_| text.bytes().all(is_plain));
        let wrong = || Invalid::new(field, format!("must be an amount of US dollars such as 3 or 0.25, not {text:?}"));
        Self::limit(field, amount.ok_or_else(wrong)?)
    }
}

impl fmt::Display for Dollars {
    /// With cents, and with more places only where there is something in them: 3.00, 0.25, 0.0005.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = format!("{:06}", self.0 % MILLION);
        let rest = places[2..].trim_end_matches('0');
        write!(f, "{}.{}{rest}", self.0 / MILLION, &places[..2])
    }
}

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.amount())
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::rounded)
    }
}

/// Who has set a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetOf {
    Server,
    Project,
    Job,
}

/// The limit that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub most: Dollars,
    pub of: BudgetOf,
}

impl fmt::Display for Budget {
    /// The end of a sentence: so many dollars …
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.of {
            BudgetOf::Server => "on this server (`limits.job_cost`)",
            BudgetOf::Project => "by the settings of the project",
            BudgetOf::Job => "by the job's own `maxCost`",
        };
        write!(f, "{} are allowed {by}", self.most)
    }
}

/// All limits that were set for a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budgets {
    pub server: Option<Dollars>,
    pub project: Option<Dollars>,
    pub job: Option<Dollars>,
}

impl Budgets {
    /// The smallest is what holds, so that a project or a job cannot allow itself more than the operator does. Of equal
    /// ones it is that of whoever has more to say.
    pub fn smallest(self) -> Option<Budget> {
        let all = [(self.server, BudgetOf::Server), (self.project, BudgetOf::Project), (self.job, BudgetOf::Job)];
        all.into_iter().filter_map(|(most, of)| Some(Budget { most: most?, of })).min_by_key(|budget| budget.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_to_the_millionth() {
        for (amount, shown) in [
            (3.0, "3.00"),
            (0.25, "0.25"),
            (0.1 + 0.2, "0.30"),
            (0.0005, "0.0005"),
            (12.345_678_9, "12.345679"),
            (-1.0, "0.00"),
            (f64::NAN, "0.00"),
        ] {
            assert_eq!(Dollars::rounded(amount).to_string(), shown);
        }
        for text in ["0.29", "0.000001", "1000000.0", "2.5"] {
            let read: Dollars = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), if text == "0.000001" { "1e-6" } else { text });
            assert_eq!(Dollars::from_millionths(read.millionths()), read);
        }
    }

    #[test]
    fn a_limit_is_positive_and_plain() {
        assert_eq!(Dollars::limit("x", 1e-9), Ok(Dollars(1)));
        assert_eq!(Dollars::parse_limit("x", "0.5"), Ok(Dollars(500_000)));
        for amount in [0.0, -0.5, 1_000_000.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Dollars::limit("x", amount).unwrap_err().field, "x", "{amount}");
        }
        for text in ["", "0", "-1", "1,5", "1e3", "inf", "NaN", "much", "1.2.3"] {
            assert!(Dollars::parse_limit("x", text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_smallest_limit_holds() {
        let of = |server, project, job| {
            let dollars = |amount: Option<u64>| amount.map(Dollars);
            Budgets { server: dollars(server), project: dollars(project), job: dollars(job) }.smallest()
        };
        let is = |most, of| Some(Budget { most: Dollars(most), of });
        assert_eq!(of(None, None, None), None);
        assert_eq!(of(Some(5), Some(9), Some(9)), is(5, BudgetOf::Server));
        assert_eq!(of(Some(9), Some(5), None), is(5, BudgetOf::Project));
        assert_eq!(of(None, Some(5), Some(4)), is(4, BudgetOf::Job));
        assert_eq!(of(Some(5), Some(5), Some(5)), is(5, BudgetOf::Server));
        assert_eq!(of(Some(0), None, Some(1)), is(0, BudgetOf::Server));
    }
}
