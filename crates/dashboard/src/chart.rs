//! Charts of views, drawn as SVG: people and AI one above the other.
//!
//! Nothing is stretched but the columns: letters keep their size, whatever the width, because only the drawing inside has
//! a grid of its own. Colours come from classes.

use std::fmt::{self, Write};

use askama::filters::Safe;

use crate::words::{many, number};

/// More points than this are an area.
const MOST_COLUMNS: usize = 92;
/// Names below the chart at most.
const MOST_TICKS: usize = 6;
/// How high the grid of the drawing is.
const HIGH: u64 = 1000;

/// A stretch of time.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    /// What it is called, in full and short.
    pub(crate) label: String,
    pub(crate) tick: String,
    pub(crate) people: u64,
    pub(crate) ai: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// What it shows, in a sentence.
    pub(crate) about: String,
    pub(crate) points: Vec<Point>,
    pub(crate) is_small: bool,
    /// Whether there are views by people in it at all.
    pub(crate) has_people: bool,
}

impl Chart {
    /// The drawing. What it is made of are numbers, and names that come from dates.
    pub(crate) fn svg(&self) -> Safe<String> {
        let mut svg = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut svg);
        Safe(svg)
    }

    fn write(&self, svg: &mut String) -> fmt::Result {
        let top = scale(self.points.iter().map(|point| point.people + point.ai).max().unwrap_or(0));
        let class = if self.is_small { "chart low" } else { "chart" };
        let about = self.about.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
        write!(svg, "<svg class=\"{class}\" role=\"group\" aria-label=\"{about}\">")?;
        for half in 0..=2 {
            let (y, value) = (100 - half * 50, top * half / 2);
            write!(svg, "<line x2=\"100%\" y1=\"{y}%\" y2=\"{y}%\"/>")?;
            // A half of an odd number is no number of views.
            if value * 2 == top * half {
                write!(svg, "<text x=\"-6\" y=\"{y}%\" dy=\".35em\" text-anchor=\"end\">{}</text>", short(value))?;
            }
        }
        let count = self.points.len().max(1);
        for (at, point) in self.points.iter().enumerate().step_by(count.div_ceil(MOST_TICKS)) {
            let x = (at * 1000 + 500) / count;
            write!(svg, "<text x=\"{}.{}%\" y=\"100%\" dy=\"1.4em\" text-anchor=\"middle\">", x / 10, x % 10)?;
            write!(svg, "{}</text>", point.tick)?;
        }
        let wide = count * 10;
        write!(svg, "<svg width=\"100%\" height=\"100%\" viewBox=\"0 0 {wide} {HIGH}\" preserveAspectRatio=\"none\">")?;
        let is_area = count > MOST_COLUMNS;
        if is_area {
            self.area(svg, top)?;
        }
        for (at, point) in self.points.iter().enumerate() {
            self.column(svg, at, point, (!is_area).then_some(top))?;
        }
        svg.push_str("</svg></svg>");
        Ok(())
    }

    /// A column that can be pointed at and gone to with keys.
    fn column(&self, svg: &mut String, at: usize, point: &Point, top: Option<u64>) -> fmt::Result {
        let x = at * 10;
        write!(svg, "<g data-n=\"{at}\"><title>{}</title>", self.said(point))?;
        write!(svg, "<rect class=\"hit\" x=\"{x}\" width=\"10\" height=\"{HIGH}\"/>")?;
        if let Some(top) = top {
            let (people, ai) = (height(point.people, top), height(point.ai, top));
            for (class, y, high) in [("p", HIGH - people, people), ("a", HIGH - people - ai, ai)] {
                if high > 0 {
                    write!(svg, "<rect class=\"{class}\" x=\"{}\" y=\"{y}\" width=\"8\" height=\"{high}\"/>", x + 1)?;
                }
            }
        }
        svg.push_str("</g>");
        Ok(())
    }

    fn area(&self, svg: &mut String, top: u64) -> fmt::Result {
        let line = |of: fn(&Point) -> u64| -> String {
            let points = self.points.iter().enumerate();
            points.map(|(at, point)| format!("{},{} ", at * 10 + 5, HIGH - height(of(point), top))).collect()
        };
        let last = self.points.len().saturating_sub(1) * 10 + 5;
        // The whole behind, people before it.
        for (class, points) in [("a", line(|point| point.people + point.ai)), ("p", line(|point| point.people))] {
            write!(svg, "<path class=\"{class}\" d=\"M5,{HIGH} L{points}L{last},{HIGH}Z\"/>")?;
        }
        Ok(())
    }

    fn said(&self, point: &Point) -> String {
        let ai = number(point.ai);
        match self.has_people {
            true => format!("{}: {}, {ai} AI", point.label, many(point.people, "person", "people")),
            false => format!("{}: {ai}", point.label),
        }
    }
}

/// A part of a row's bar that is `of` of `most`, for people and AI: two widths in a grid of a hundred.
pub(crate) fn bar(people: u64, ai: u64, most: u64) -> Safe<String> {
    let width = |views: u64| u128::from(views) * 100 / u128::from(most.max(1));
    let (p, a) = (width(people), width(people + ai) - width(people));
    Safe(format!(
        "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"t\" width=\"100\" height=\"10\"/><rect class=\"p\" width=\"{p}\" height=\"10\"/>\
         <rect class=\"a\" x=\"{p}\" width=\"{a}\" height=\"10\"/></svg>"
    ))
}

fn height(views: u64, top: u64) -> u64 {
    u64::try_from(u128::from(views) * u128::from(HIGH) / u128::from(top.max(1))).unwrap_or(HIGH)
}

/// The round number that a chart reaches up to.
fn scale(most: u64) -> u64 {
    let mut step: u64 = 1;
    loop {
        for times in [2, 4, 5, 10] {
            if let Some(top) = step.checked_mul(times).filter(|top| *top >= most) {
                return top;
            }
        }
        match step.checked_mul(10) {
            Some(more) => step = more,
            None => return most,
        }
    }
}

/// 12,500 as 12.5k, where there is little room.
fn short(value: u64) -> String {
    let (unit, name) = match value {
        0..10_000 => return number(value),
        10_000..1_000_000 => (1000, "k"),
        1_000_000..1_000_000_000 => (1_000_000, "M"),
        _ => (1_000_000_000, "G"),
    };
    match value % unit * 10 / unit {
        0 => format!("{}{name}", number(value / unit)),
        tenth => format!("{}.{tenth}{name}", number(value / unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(count: u64) -> Chart {
        let point = |n: u64| Point { label: format!("Day {n}"), tick: n.to_string(), people: n, ai: n * 2 };
        Chart {
            about: "\"x\" < y".to_owned(),
            points: (0..count).map(point).collect(),
            is_small: false,
            has_people: true,
        }
    }

    #[test]
    fn scales_are_round() {
        assert_eq!([0, 1, 3, 7, 12, 999, 1001].map(scale), [2, 2, 4, 10, 20, 1000, 2000]);
        assert_eq!(scale(u64::MAX), u64::MAX);
        let words = [999, 9999, 12_500, 2_000_000, 20_000_000_000].map(short);
        assert_eq!(words, ["999", "9,999", "12.5k", "2M", "20G"]);
    }

    #[test]
    fn columns_say_what_they_stand_for() {
        let svg = chart(3).svg().to_string();
        assert_eq!(svg.matches("<g data-n=").count(), 3);
        assert!(svg.contains("<title>Day 2: 2 people, 4 AI</title>"));
        assert!(svg.contains("aria-label=\"&quot;x&quot; &lt; y\"") && !svg.contains("<path"));
        // 2 people and 4 AI of 10: a fifth of the height, and two more above it.
        assert!(
            svg.contains("y=\"800\" width=\"8\" height=\"200\"")
                && svg.contains("y=\"400\" width=\"8\" height=\"400\"")
        );
        let area = chart(93).svg().to_string();
        assert_eq!((area.matches("<path").count(), area.matches("<g data-n=").count()), (2, 93));
        assert!(chart(0).svg().to_string().ends_with("</svg></svg>"));
    }
}
