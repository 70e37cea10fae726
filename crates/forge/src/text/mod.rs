//! The words around a change: the title and the text of its pull request. Prompts, models and repositories supply parts
//! of them; none of these can mention people, close issues, hide text or give a code host orders.

mod digest;
mod markdown;
mod plain;
mod reply;
mod template;

pub use digest::digest;
use markdown::{Keep, code, code_block, phrase, prose};
pub(crate) use plain::{one_line, plain, shorten};
pub use reply::{Reply, is_reply, reply, reply_mark};
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
    /// The issue that asks for it.
    pub issue: Option<u64>,
    /// The prompts, oldest first.
    pub prompts: &'a [&'a str],
    /// The commits of a code source that they are about: `sdk:v1.4..v1.5`.
    pub changes: Option<&'a str>,
    /// The repository's template for pull requests.
    pub template: Option<&'a str>,
    /// Whether it is a draft because of what the checks have found.
    pub is_draft_for_findings: bool,
}

/// What was done when more was asked for, in the editor's words.
#[derive(Debug, Clone)]
pub struct FollowUp<'a> {
    /// 1 for the first.
    pub number: usize,
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
    let title = shorten(&one_line(&plain(&one_line(&start))), LONGEST_TITLE);
    // `/` begins an order, and a title becomes the first line of a commit.
    let title = title.trim_start_matches(|c: char| c == '/' || c == '-' || c.is_whitespace());
    if title.is_empty() { "Update the documentation".to_owned() } else { title.to_owned() }
}

/// The title of a pull request as code hosts show it, with code in it. Commits have no code: for them it is [`title`].
pub fn pull_title(text: &str) -> String {
    with_packages(&title(text))
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
    let most = if template.has_place { MOST_TEMPLATE / 2 } else { MOST_TEMPLATE };
    let [before, after] = [&template.before, &template.after].map(|part| prose(part, Keep::Headings, most));
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
    sections.extend(input.changes.map(|range| format!("It is about what changed in {}.", code(range))));
    let issue = input.issue.map(|number| format!("Asked for in #{number}."));
    sections.extend(issue);
    sections.push(origin(input.job_link, input.job_id));
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
        parts.push(format!("{shown} earlier follow-ups are left out here."));
    }
    parts.extend(input.follow_ups.iter().skip(shown).map(|follow_up| told(follow_up, share)));
    parts.join("\n\n")
}

fn told(follow_up: &FollowUp, most: usize) -> String {
    let summary = prose(follow_up.summary, Keep::Paragraphs, most);
    format!("{}\n\n{summary}", heading_of(follow_up)).trim_end().to_owned()
}

fn heading_of(follow_up: &FollowUp) -> String {
    format!("{} {}", mark_of(follow_up), phrase(follow_up.title, LONGEST_TITLE))
}

/// By what it is known that a follow-up was told of.
fn mark_of(follow_up: &FollowUp) -> String {
    format!("**Follow-up {}:**", follow_up.number)
}

/// The text of a pull request that a person has written, with those follow-ups at its end that it does not tell of, and what
/// stands in the way of a merge now.
pub fn with_additions(theirs: &str, input: &PullRequestText) -> String {
    let theirs = theirs.replace("\r\n", "\n");
    let mut text = theirs.trim_end().to_owned();
    let is_new = |follow_up: &&FollowUp| !theirs.contains(&mark_of(follow_up));
    let new: Vec<&FollowUp> = input.follow_ups.iter().filter(is_new).collect();
    for (at, follow_up) in new.iter().enumerate() {
        let mut addition = told(follow_up, MOST_SUMMARY / new.len());
        // What is left to do is so after the last of them.
        if at + 1 == new.len() {
            addition.push_str(&obstacles(input));
        }
        let fits = |more: &str| text.chars().count() + more.chars().count() + 10 <= LONGEST_TEXT;
        let addition = if fits(&addition) { addition } else { heading_of(follow_up) };
        if fits(&addition) {
            text.push_str(&format!("\n\n---\n\n{addition}"));
        }
    }
    text.push('\n');
    text
}

/// Why a change is a draft, if it is.
fn obstacles(input: &PullRequestText) -> String {
    let mut text = String::new();
    if !input.not_done.is_empty() {
        text.push_str(&format!("\n\nNot done:\n\n{}", bullets(input.not_done)));
    }
    if !input.checks.new.is_empty() {
        text.push_str(&format!("\n\nNew findings of the checks:\n\n{}", bullets(input.checks.new)));
    }
    text
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
    for (heading, lines) in [("New findings:", input.checks.new), ("Fixed findings:", input.checks.repaired)] {
        if !lines.is_empty() {
            parts.push(format!("{heading}\n\n{}", bullets(lines)));
        }
    }
    if !input.checks.passed.is_empty() {
        let names: Vec<String> = input.checks.passed.iter().map(|name| phrase(name, 100)).collect();
        parts.push(format!("Nothing new was found by the checks for {}.", shorten(&names.join(", "), MOST_CHECKS)));
    }
    if !input.checks.not_judged.is_empty() {
        parts.push(format!("Not checked:\n\n{}", bullets(input.checks.not_judged)));
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

/// Whether a text ends as those do that are made here.
pub fn is_ours(body: &str) -> bool {
    body.trim_end().lines().last().is_some_and(|line| line.starts_with("Made by Copydesk"))
}

fn origin(job_link: Option<&str>, job_id: &str) -> String {
    let id = code(&shorten(job_id, 100));
    match job_link.filter(|link| is_plain_link(link)) {
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
