//! Days and months since 1970, all UTC.

/// The month that a day is in.
pub fn month_of(day: i32) -> i32 {
    // The calendar of years that begin in March, in which the day that comes and goes is the last.
    let since = i64::from(day) + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let months = (era * 400 + year_of_era) * 12 + from_march + 2;
    (months - 1970 * 12) as i32
}

/// The first day of a month.
pub(crate) fn first_day(month: i32) -> i32 {
    let months = i64::from(month) + 1970 * 12 - 2;
    let (year, from_march) = (months.div_euclid(12), months.rem_euclid(12));
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * from_march + 2) / 5;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    (era * 146_097 + of_era - 719_468) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_is_in_the_month_that_the_calendar_says() {
        let mut date = jiff::civil::date(1970, 1, 1);
        for day in 0..200_000 {
            let month = (i32::from(date.year()) - 1970) * 12 + i32::from(date.month()) - 1;
            assert_eq!(month_of(day), month, "{date}");
            assert_eq!(first_day(month), day - i32::from(date.day()) + 1, "{date}");
            date = date.tomorrow().unwrap();
        }
    }
}
