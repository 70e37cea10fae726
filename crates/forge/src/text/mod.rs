//! The words around a change: the title and the text of its pull request. Prompts, models and repositories supply parts
//! of them; none of these can mention people, close issues, hide text or give a code host orders.

mod digest;
mod markdown;
mod plain;
mod template;

pub use digest::digest;
use markdown::{Keep, code, code_block, phrase, prose};
pub(crate) use plain::{one_line, plain, shorten};
pub use template::{find_template, template_paths};

use crate::{DiffKind, FileSummary};

/// The most characters that the text of a pull request has.
pub const LONGEST_TEXT: usize = 60_000;
/// The most characters that a title has.
pub const LONGEST_TITLE: usize = 120;

const MOST_TEMPLATE: usize = 14_000;
const MOST_SUMMARY: usize = 14_000;
/// How many follow-ups are told of.
const MOST_FOLLOW_UPS: usize = 10;
const MOST_FILES: usize = 8_000;
const MOST_CHECKS: usize = 5_000;
const MOST_PROMPTS: usize = 12_000;

/// What the text of a pull request is made from. Nothing in it is trusted but the job's link.
#[derive(Debug, Clone, Default)]
pub struct PullRequestText<'a> {
    /// What changed and why, in the editor's words.
    pub summary: &'a str,
    /// What was done since, when it was asked for more.
    pub follow_ups: &'a [FollowUp<'a>],
    /// What could not be done and why, in the editor's words.
    pub not_done: &'a [String],
    pub files: &'a [FileSummary],
    /// What the docs checks have found.
    pub checks: CheckLines<'a>,
    /// Where the job can be looked at.
    pub job_link: Option<&'a str>,
    pub job_id: &'a str,
    /// The prompts, oldest first.
    pub prompts: &'a [&'a str],
    /// The repository's template for pull requests.
    pub template: Option<&'a str>,
    /// Whether it is a draft because of what the checks have found.
    pub is_draft_for_findings: bool,
}

/// What was done when more was asked for, in the editor's words.
#[derive(Debug, Clone)]
pub struct FollowUp<'a> {
    pub title: &'a str,
    pub summary: &'a str,
}

/// Check results, each as one line.
#[derive(Debug, Clone, Default)]
pub struct CheckLines<'a> {
    /// New findings that remain.
    pub new: &'a [String],
    /// Findings that the change had brought and that were repaired.
    pub repaired: &'a [String],
    /// The names of checks that judged something and found nothing new.
    pub passed: &'a [String],
    /// What could not be judged, and why.
    pub not_judged: &'a [String],
}

/// A title for a pull request: one line, harmless.
pub fn title(text: &str) -> String {
    let start: String = text.chars().take(4 * LONGEST_TITLE).collect();
    let title = shorten(&with_packages(&one_line(&plain(&one_line(&start)))), LONGEST_TITLE);
    // `/` begins an order, and a title becomes the first line of a commit.
    let title = title.trim_start_matches(|c: char| c == '/' || c == '-' || c.is_whitespace());
    if title.is_empty() { "Update the documentation".to_owned() } else { title.to_owned() }
}

/// Names of packages in code (`` `@scope/package` ``) as they are, which were broken up as mentions are: in code they are none.
fn with_packages(title: &str) -> String {
    let is_name =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b));
    let is_package = |name: &str| name.split_once('/').is_some_and(|(scope, rest)| is_name(scope) && is_name(rest));
    let parts: Vec<&str> = title.split('`').collect();
    let part = |(at, part): (usize, &&str)| match part.strip_prefix("@ ") {
        Some(name) if at % 2 == 1 && at + 1 < parts.len() && is_package(name) => format!("@{name}"),
        _ => (*part).to_owned(),
    };
    parts.iter().enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// The text of a pull request, in Markdown.
pub fn body(input: &PullRequestText) -> String {
    let description = description(input);
    let template = input.template.map(template::filled).unwrap_or_default();
    let [before, after] =
        [&template.before, &template.after].map(|part| prose(part, Keep::Headings, MOST_TEMPLATE / 2));
    let mut sections = match template.has_place {
        true => vec![before, description, after],
        false => vec![before, format!("## What changed and why\n\n{description}")],
    };
    if !input.not_done.is_empty() {
        let intro = "This is a draft because a part of what was asked for is not done:";
        sections.push(format!("## Not done\n\n{intro}\n\n{}", bullets(input.not_done)));
    }
    sections.push(format!("## Files\n\n{}", files(input.files)));
    sections.push(format!("## Checks\n\n{}", checks(input)));
    sections.push(format!("## Prompt\n\n{}", prompts(input.prompts)));
    sections.push(origin(input));
    sections.retain(|section| !section.is_empty());
    sections.join("\n\n") + "\n"
}

/// What changed and why, of all rounds.
fn description(input: &PullRequestText) -> String {
    let shown = input.follow_ups.len().saturating_sub(MOST_FOLLOW_UPS);
    let share = MOST_SUMMARY / (1 + input.follow_ups.len() - shown);
    let first = prose(input.summary, Keep::Paragraphs, share);
    let mut parts = vec![if first.is_empty() { "No description was given.".to_owned() } else { first }];
    if shown > 0 {
        parts.push(format!("What {shown} follow-ups brought before these is left out here."));
    }
    parts.extend(input.follow_ups.iter().skip(shown).map(|follow_up| told(follow_up, share)));
    parts.join("\n\n")
}

fn told(follow_up: &FollowUp, most: usize) -> String {
    let summary = prose(follow_up.summary, Keep::Paragraphs, most);
    format!("**Follow-up:** {}\n\n{summary}", phrase(follow_up.title, LONGEST_TITLE)).trim_end().to_owned()
}

/// The text of a pull request that a person has written, with what is new at its end. It is there once, however often it is
/// added.
pub fn with_addition(theirs: &str, follow_up: &FollowUp, not_done: &[String]) -> String {
    let mut addition = told(follow_up, MOST_SUMMARY);
    if !not_done.is_empty() {
        addition.push_str(&format!("\n\nNot done:\n\n{}", bullets(not_done)));
    }
    let theirs = theirs.replace("\r\n", "\n");
    let theirs = theirs.trim_end();
    if theirs.contains(&addition) || theirs.chars().count() + addition.chars().count() > LONGEST_TEXT {
        return theirs.to_owned();
    }
    format!("{theirs}\n\n---\n\n{addition}\n")
}

fn files(files: &[FileSummary]) -> String {
    let line = |file: &FileSummary| {
        let path = code(&file.path);
        let counts = format!("(+{} −{})", file.added, file.removed);
        match (file.kind, &file.old_path) {
            (DiffKind::Added, _) => format!("- {path}: new {counts}"),
            (DiffKind::Deleted, _) => format!("- {path}: deleted {counts}"),
            (DiffKind::Renamed, Some(old)) => format!("- {path}: moved from {} {counts}", code(old)),
            (DiffKind::Renamed | DiffKind::Changed, _) => format!("- {path} {counts}"),
        }
    };
    if files.is_empty() { "No files.".to_owned() } else { list(files, MOST_FILES, line) }
}

fn checks(input: &PullRequestText) -> String {
    let mut parts = Vec::new();
    if input.is_draft_for_findings {
        parts.push("This is a draft because the change brings new findings that could not be repaired.".to_owned());
    }
    for (heading, lines) in
        [("New findings:", input.checks.new), ("Findings of before that are gone:", input.checks.repaired)]
    {
        if !lines.is_empty() {
            parts.push(format!("{heading}\n\n{}", bullets(lines)));
        }
    }
    if !input.checks.passed.is_empty() {
        let names: Vec<String> = input.checks.passed.iter().map(|name| phrase(name, 100)).collect();
        parts.push(format!("Nothing new was found by the checks for {}.", shorten(&names.join(", "), MOST_CHECKS)));
    }
    if !input.checks.not_judged.is_empty() {
        parts.push(format!("Not judged, so nothing is said of it:\n\n{}", bullets(input.checks.not_judged)));
    }
    if parts.is_empty() { "No checks ran.".to_owned() } else { parts.join("\n\n") }
}

fn bullets(items: &[String]) -> String {
    list(items, MOST_CHECKS, |item| format!("- {}", phrase(item, 400)))
}

/// One line for each item, up to a number of characters; says how many did not fit.
fn list<T>(items: &[T], most: usize, line: impl Fn(&T) -> String) -> String {
    let mut left = most;
    let mut lines = Vec::new();
    for item in items {
        let line = line(item);
        match left.checked_sub(line.chars().count() + 1) {
            Some(less) => left = less,
            None => break,
        }
        lines.push(line);
    }
    if lines.len() < items.len() {
        lines.push(format!("- and {} more", items.len() - lines.len()));
    }
    lines.join("\n")
}

/// Prompts are quoted as code behind `>`: in code nothing is a mention or a reference, and no line begins with what a
/// code host takes for an order, whichever way it reads code blocks.
fn prompts(prompts: &[&str]) -> String {
    let share = MOST_PROMPTS / prompts.len().clamp(1, 8);
    let shown = prompts.len().saturating_sub(8);
    let mut blocks: Vec<String> = Vec::new();
    if shown > 0 {
        blocks.push(format!("{shown} earlier prompts are left out."));
    }
    blocks.extend(prompts.iter().skip(shown).map(|prompt| code_block(prompt, "> ", share)));
    if prompts.is_empty() { "None.".to_owned() } else { blocks.join("\n\n") }
}

fn origin(input: &PullRequestText) -> String {
    let id = code(&shorten(input.job_id, 100));
    match input.job_link.filter(|link| is_plain_link(link)) {
        Some(link) if !id.is_empty() => format!("Made by Copydesk, job [{id}]({link})."),
        _ if id.is_empty() => "Made by Copydesk.".to_owned(),
        _ => format!("Made by Copydesk, job {id}."),
    }
}

/// Whether an address can stand in a Markdown link as it is.
fn is_plain_link(link: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/?=&%".contains(&b);
    (link.starts_with("https://") || link.starts_with("http://")) && link.len() <= 2000 && link.bytes().all(plain)
}
