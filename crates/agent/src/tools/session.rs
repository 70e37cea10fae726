use std::collections::BTreeMap;

use copydesk_checks::{Check, Report, Tally, paths};
use copydesk_forge::Workspace;
use serde_json::{Value, json};

use super::schema::{Described, tool_input};
use super::{ToolAnswer, folder_of, input, told};
use crate::review::{Review, sentence};
use crate::said;
use crate::text::{head, one_line};

/// The tool that ends the work.
pub(crate) const FINISH: &str = "finish";
/// The most bytes of a summary.
pub(crate) const LONGEST_SUMMARY: usize = 8_000;
const MOST_ITEMS: usize = 20;
const LONGEST_ITEM: usize = 200;
const LONGEST_NOT_DONE: usize = 500;
const LONGEST_FINDINGS: usize = 20_000;

tool_input! {
    /// Checks the documentation as it is now. Shows only problems that your changes have brought in; with `existing` all
    /// that there are, if the request is about them.
    CheckDocs as "check_docs" {
        existing: Option<bool>,
        /// A file or folder.
        folder: Option<String>,
        kind: Option<ProblemKind>,
    }
}

tool_input! {
    /// Shows the user what you are about to do. Call it again when the plan changes.
    Plan as "plan" {
        /// At most 20 short sentences.
        items: Vec<String>,
    }
}

tool_input! {
    /// Ends the work: all is done; or nothing has to be changed, and the summary says why; or something could not be done,
    /// and `not_done` says what and why: then what was done is kept as a draft.
    Finish as "finish" {
        /// Of the pull request: one line of at most 72 characters. Leave it out if nothing was changed.
        title: Option<String>,
        /// What you did, file by file, what you left on purpose, what you assumed or could not check; or why nothing was
        /// changed.
        summary: String,
        /// What the request asked for and you could not do, with what stood in the way: one sentence each. What you only
        /// could not check is not meant.
        not_done: Option<Vec<String>>,
    }
}

/// A kind of problems, by its name. Some models say nothing with an empty text.
#[derive(Debug, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ProblemKind(Option<Check>);

impl TryFrom<String> for ProblemKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match (name.trim(), Check::named(name.trim())) {
            (_, Some(kind)) => Ok(Self(Some(kind))),
            ("", None) => Ok(Self(None)),
            _ => Err(format!("there is no kind {:?} of problems", one_line(&name, 60))),
        }
    }
}

impl Described for ProblemKind {
    fn schema() -> Value {
        json!({"type": "string", "enum": Check::ALL.map(Check::as_str)})
    }
}

pub(super) fn check(workspace: &Workspace, input: &CheckDocs, review: &dyn Review) -> ToolAnswer {
    let kind = input.kind.as_ref().and_then(|kind| kind.0);
    let folder = folder_of(input.folder.as_deref())?;
    let is_all = input.existing.unwrap_or(false);
    let (mut findings, looked_at) = match is_all {
        true => {
            let report = review.all_problems(workspace)?;
            let looked_at = looked_at(&report);
            (report.findings, looked_at)
        }
        false => (review.new_problems(workspace)?, String::new()),
    };
    findings.retain(|finding| {
        let is_there = folder.is_empty() || finding.path == folder || paths::is_below(&finding.path, &folder);
        is_there && kind.is_none_or(|kind| finding.check == kind)
    });
    let which = if is_all { "" } else { "new " };
    if findings.is_empty() {
        return Ok(format!("No {which}problems.{looked_at}"));
    }
    let sentences: Vec<String> = findings.iter().map(sentence).collect();
    let noun = if findings.len() == 1 { "problem" } else { "problems" };
    Ok(format!("{} {which}{noun}:\n{}{looked_at}", findings.len(), list_findings(&sentences, LONGEST_FINDINGS)))
}

/// How much was looked at, and how much of it could not be judged: of that nothing is said.
fn looked_at(report: &Report) -> String {
    let Tally { links, anchors, images, snippets, navigation, redirects } = &report.tally;
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for count in [links, anchors, images, snippets, navigation, redirects] {
        count.not_judged.iter().for_each(|(reason, number)| *reasons.entry(reason).or_default() += number);
    }
    let mut reasons: Vec<(&str, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let not_judged: u64 = reasons.iter().map(|(_, number)| number).sum();
    let named: Vec<String> = reasons.iter().take(3).map(|(reason, number)| format!("{reason} ({number})")).collect();
    let not_judged = match not_judged {
        0 => String::new(),
        number => format!("; {number} places could not be judged: {}", named.join(", ")),
    };
    format!("\n({} pages were looked at{not_judged})", report.pages)
}

/// Findings as a list, as many as fit.
pub(crate) fn list_findings(findings: &[String], most: usize) -> String {
    let mut list = String::new();
    for (at, finding) in findings.iter().enumerate() {
        let line = format!("- {}\n", one_line(finding, 500));
        if list.len() + line.len() > most {
            list.push_str(&format!("({} more)\n", findings.len() - at));
            break;
        }
        list.push_str(&line);
    }
    list
}

pub(super) fn plan(input: &Plan) -> ToolAnswer {
    match input.items.len() {
        0 => told("the plan is empty"),
        1..=MOST_ITEMS => Ok("The user sees the plan.".to_owned()),
        count => told(format!("the plan has {count} items; at most {MOST_ITEMS} are allowed")),
    }
}

/// The items of a plan as the user is to see them; none if the arguments are not those of a plan.
pub(crate) fn plan_items(name: &str, arguments: &Value) -> Option<Vec<String>> {
    let plan: Plan = (name == Plan::TOOL).then(|| input(name, arguments).ok()).flatten()?;
    Some(plan.items.iter().take(MOST_ITEMS).map(|item| one_line(item, LONGEST_ITEM)).collect())
}

/// Reads the arguments of the tool that ends the work, or says what is wrong with them.
pub(crate) fn read_finish(arguments: &Value) -> Result<said::Finish, String> {
    let finish: Finish = input(FINISH, arguments)?;
    if finish.summary.trim().is_empty() {
        return Err("Error: the summary is empty. Say what you did, or why nothing had to be changed.".to_owned());
    }
    let title = finish.title.unwrap_or_default();
    let not_done = finish.not_done.unwrap_or_default();
    let not_done = not_done.iter().map(|item| one_line(item, LONGEST_NOT_DONE)).filter(|item| !item.is_empty());
    let not_done = not_done.take(MOST_ITEMS).collect();
    Ok(said::Finish { title: head(&title, 1_000).to_owned(), summary: finish.summary, not_done })
}
