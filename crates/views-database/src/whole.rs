//! What of a project is there whole.

use copydesk_views::Bucket;

use crate::calendar::{first_day, month_of};
use crate::cover::quarter;
use crate::project::Project;

/// The first of each that the floor does not cut.
pub(crate) struct Whole {
    pub(crate) quarter: i32,
    pub(crate) day: i32,
    pub(crate) month: i32,
    /// The first quarter hours of that day and month.
    pub(crate) day_begins: i32,
    pub(crate) month_begins: i32,
}

impl Whole {
    pub(crate) fn of(project: &Project) -> Self {
        let a_day = Bucket::A_DAY as i32;
        let quarter = quarter(project.floor.gone_before());
        let day = quarter / a_day + i32::from(quarter % a_day != 0);
        let month = month_of(day) + i32::from(first_day(month_of(day)) != day);
        let (day_begins, month_begins) = (day.saturating_mul(a_day), first_day(month).saturating_mul(a_day));
        Self { quarter, day, month, day_begins, month_begins }
    }
}
