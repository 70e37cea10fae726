//! Comments in pages by which their authors leave findings out: `<!-- copydesk-ignore-next-line links: why -->`, in MDX
//! `{/* … */}`. Each covers lines, for the checks that it names or for all.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem;

use crate::lines::Lines;
use crate::rules::names;
use crate::{Check, Finding};

const MARK: &str = "copydesk-ignore";
/// A comment is no longer than this.
const LONGEST: usize = 1000;

/// Which lines of a page are covered.
#[derive(Debug, Default)]
pub(crate) struct Suppressions {
    /// By line: the text of the line, and the checks as bits.
    covered: HashMap<u32, (String, u32)>,
    /// The same by the text alone.
    texts: HashMap<String, u32>,
    /// What is wrong with the comments, and where.
    pub(crate) problems: Vec<(usize, String)>,
    /// Whether there is any.
    pub(crate) any: bool,
}

impl Suppressions {
    /// The suppressions of a page; `code` is where comments are only shown.
    pub(crate) fn of(text: &str, code: &[Range<usize>], lines: &Lines<'_>) -> Self {
        let mut found = Self::default();
        if memmem::find(text.as_bytes(), MARK.as_bytes()).is_none() {
            return found;
        }
        let mut open: Option<(u32, u32, usize)> = None;
        let all: Vec<&str> = text.lines().collect();
        for at in memmem::find_iter(text.as_bytes(), MARK) {
            if is_in(code, at) {
                continue;
            }
            let Some(comment) = comment(text, at) else { continue };
            found.any = true;
            let checks = match comment.checks() {
                Ok(checks) => checks,
                Err(message) => {
                    found.problems.push((at, message));
                    continue;
                }
            };
            let (first, last) = (lines.place(at).0, lines.place(comment.end).0);
            match (comment.verb, &mut open) {
                ("-line", _) => found.cover(&all, first..last + 1, checks),
                ("-next-line", _) => {
                    let next = (last..).find(|line| all.get(*line as usize).is_none_or(|text| !text.trim().is_empty()));
                    found.cover(&all, next.map_or(0..0, |next| next + 1..next + 2), checks);
                }
                ("-start", None) => open = Some((first, checks, at)),
                ("-start", Some(_)) => {
                    found.problems.push((at, format!("`{MARK}-start` is inside another")));
                }
                ("-end", Some((start, checks, _))) => {
                    found.cover(&all, *start..last + 1, *checks);
                    open = None;
                }
                ("-end", None) => found.problems.push((at, format!("`{MARK}-end` ends nothing"))),
                (verb, _) => found.problems.push((at, unknown(verb))),
            }
        }
        if let Some((_, _, at)) = open {
            found.problems.push((at, format!("`{MARK}-start` has no `{MARK}-end`, so it leaves nothing out")));
        }
        found
    }

    fn cover(&mut self, all: &[&str], lines: Range<u32>, checks: u32) {
        for line in lines.filter(|line| *line > 0) {
            let Some(text) = all.get(line as usize - 1) else { return };
            self.covered.entry(line).or_insert_with(|| ((*text).to_owned(), 0)).1 |= checks;
            *self.texts.entry((*text).to_owned()).or_default() |= checks;
        }
    }

    /// Whether a finding stands in a line that is covered for its check.
    pub(crate) fn covers(&self, finding: &Finding) -> bool {
        self.covered.get(&finding.line).is_some_and(|(_, checks)| checks & bit(finding.check) != 0)
    }

    /// Whether a finding stands in a line that is covered and was so, as it is written, in `before`.
    pub(crate) fn covers_as(&self, before: &Self, finding: &Finding) -> bool {
        let line = self.covered.get(&finding.line).filter(|_| self.covers(finding));
        line.and_then(|(text, _)| before.texts.get(text)).is_some_and(|checks| checks & bit(finding.check) != 0)
    }
}

struct Comment<'a> {
    /// What follows the mark, such as `-next-line`.
    verb: &'a str,
    rest: &'a str,
    /// Where it ends.
    end: usize,
}

/// The comment that the mark at `at` begins, if it begins one.
fn comment(text: &str, at: usize) -> Option<Comment<'_>> {
    let before = text[text.floor_char_boundary(at.saturating_sub(16))..at].trim_end();
    let close = if before.ends_with("<!--") {
        "-->"
    } else if before.ends_with("{/*") {
        "*/}"
    } else {
        return None;
    };
    let inner = &text[at + MARK.len()..text.floor_char_boundary((at + LONGEST).min(text.len()))];
    let inner = &inner[..inner.find(close)?];
    let verb = inner.split(|c: char| c.is_whitespace() || matches!(c, ':' | ',')).next().unwrap_or_default();
    Some(Comment { verb, rest: &inner[verb.len()..], end: at + MARK.len() + inner.len() })
}

impl Comment<'_> {
    /// The checks that it names as bits, all if it names none; what follows a colon is the reason.
    fn checks(&self) -> Result<u32, String> {
        let named = self.rest.split(':').next().unwrap_or_default();
        let named: Vec<&str> = named.split([',', ' ', '\t', '\n', '\r']).filter(|name| !name.is_empty()).collect();
        let mut bits = if named.is_empty() { u32::MAX } else { 0 };
        for name in named {
            match Check::named(name) {
                Some(check) => bits |= bit(check),
                None => {
                    let name: String = name.chars().take(40).collect();
                    return Err(format!("there is no check `{name}`; there are {}", names()));
                }
            }
        }
        Ok(bits & !bit(Check::Suppressions) & !bit(Check::Scope))
    }
}

fn bit(check: Check) -> u32 {
    1 << check as u32
}

fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= at);
    ranges[..after].last().is_some_and(|range| at < range.end)
}

fn unknown(verb: &str) -> String {
    let verb: String = verb.chars().take(40).collect();
    format!("there is no `{MARK}{verb}`; there are {MARK}-line, -next-line, -start and -end")
}
