//! `copydesk check`: the docs checks of a job, on a folder.

mod base;
mod external;
mod github;
mod place;
mod sarif;
mod text;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use copydesk_checks::{
    Check, Count, ExternalLink, Files, Finding, Folder, Judge, Rules, SiteSettings, Tally, check_all_by,
    check_change_by, external_links, paths,
};
use copydesk_domain::docs_path;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::args::{CheckFlags, CheckFormat};
use crate::failure::Failure;
use crate::output;
use base::Base;
use place::Place;

/// What the checks say, whatever form it is given.
struct Outcome {
    pages: usize,
    findings: Vec<Finding>,
    tally: Tally,
    /// The checks that judged nothing.
    idle: Vec<Check>,
    /// The checks that the rules switch off.
    off: Vec<Check>,
    /// The commit that the files were compared with.
    base: Option<String>,
    /// How many links to other hosts were judged, if that was asked for.
    external: Option<Count>,
}

impl Outcome {
    fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.is_error()).count()
    }

    /// What was judged, by kind.
    fn kinds(&self) -> Vec<(&'static str, &Count)> {
        let external = self.external.iter().map(|count| ("external links", count));
        self.tally.kinds().into_iter().chain(external).collect()
    }

    fn judged(&self) -> Value {
        let mut judged = json!(self.tally);
        if let Some(count) = &self.external {
            judged["externalLinks"] = json!(count);
        }
        judged
    }

    fn json(&self) -> Value {
        json!({
            "pages": self.pages,
            "findings": self.findings,
            "judged": self.judged(),
            "judgedNothing": self.idle,
            "off": self.off,
            "base": self.base,
        })
    }
}

pub(crate) fn run(
    flags: &CheckFlags,
    runtime: &Runtime,
    environment: &[(OsString, OsString)],
) -> Result<ExitCode, Failure> {
    let external = |checked: &Checked<'_>| {
        external::judge(&checked.external_links()?, flags.external_private, runtime, environment)
    };
    let outcome = look(flags, external)?;
    match flags.format() {
        CheckFormat::Text => text::print(&outcome),
        CheckFormat::Json => output::line(&output::pretty(&outcome.json())),
        CheckFormat::Sarif => output::line(&output::pretty(&sarif::document(&outcome))),
        CheckFormat::Github => github::print(&outcome),
    }
    Ok(if outcome.errors() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the checks say as JSON, for who prints nothing. Other hosts are not asked.
pub(crate) fn value(flags: &CheckFlags) -> Result<Value, Failure> {
    let nobody = |_: &Checked<'_>| Ok((Vec::new(), Count::default()));
    Ok(look(flags, nobody)?.json())
}

/// Looks at a folder; `external` asks other hosts, if that is wanted.
fn look(
    flags: &CheckFlags,
    external: impl FnOnce(&Checked<'_>) -> Result<(Vec<Finding>, Count), Failure>,
) -> Result<Outcome, Failure> {
    let mut docs_paths = flags.docs_path.iter().map(|path| docs_path(path)).collect::<Result<Vec<_>, _>>()?;
    if docs_paths.is_empty() {
        docs_paths.push(".".to_owned());
    }
    let shown = flags.path.display();
    if !flags.path.is_dir() {
        return Err(Failure::usage(format!("{shown} is not a folder")));
    }
    for path in &docs_paths {
        let there = flags.path.join(path).try_exists();
        if !there.map_err(|error| unreadable(flags, &error))? {
            return Err(Failure::usage(format!("there is no {path} in {shown}")));
        }
    }
    let place = Place::of(&flags.path);
    let rules = place.rules()?;
    let base = flags.base.as_deref().map(|reference| Base::find(&place.root, reference)).transpose()?;
    let docs_paths = docs_paths.iter().map(|path| paths::join(&place.below, path)).collect();
    let checked = Checked { flags, settings: SiteSettings { docs_paths }, rules, now: Folder::new(&place.root), base };
    let mut outcome = checked.outcome()?;
    if outcome.pages == 0 && checked.base.is_none() {
        return Err(place.without_pages(&flags.path));
    }
    if flags.external {
        let (mut findings, count) = external(&checked)?;
        checked.rules.apply(&mut findings);
        if count.judged == 0 && count.left() == 0 {
            outcome.idle.push(Check::ExternalLinks);
        }
        outcome.findings.append(&mut findings);
        outcome.external = Some(count);
    }
    outcome.findings.sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
    // Code hosts name files from the root of the repository; people and their tools from where they are.
    if matches!(flags.format(), CheckFormat::Text | CheckFormat::Json) {
        outcome.findings.iter_mut().for_each(|finding| finding.path = place.shown(&finding.path));
    }
    Ok(outcome)
}

/// What is checked, and by what.
struct Checked<'a> {
    flags: &'a CheckFlags,
    settings: SiteSettings,
    rules: Rules,
    now: Folder,
    base: Option<Base>,
}

impl Checked<'_> {
    fn outcome(&self) -> Result<Outcome, Failure> {
        let off = Check::ALL.into_iter().filter(|check| self.rules.is_off(*check)).collect();
        let Some(base) = &self.base else {
            let report =
                check_all_by(&self.now, &self.settings, &self.rules).map_err(|error| unreadable(self.flags, &error))?;
            let (pages, findings, tally, idle) = (report.pages, report.findings, report.tally, report.idle);
            return Ok(Outcome { pages, findings, tally, idle, off, base: None, external: None });
        };
        // Whoever works on the files decides by what they are judged; what a job may touch is no matter here.
        let judge = Judge { scope: None, rules: &self.rules, heeds_new_comments: true };
        let compared = check_change_by(&base.files, &self.now, &base.changed, &self.settings, judge);
        let compared = compared.map_err(|error| unreadable(self.flags, &error))?;
        let (pages, findings, tally, idle) = (compared.pages, compared.new, compared.tally, compared.idle);
        Ok(Outcome { pages, findings, tally, idle, off, base: Some(base.commit.clone()), external: None })
    }

    /// The links to other hosts; if there is a base, those that it does not have in the same page.
    fn external_links(&self) -> Result<Vec<ExternalLink>, Failure> {
        let is_changed = |path: &str| {
            self.base.as_ref().is_none_or(|base| base.changed.binary_search_by(|it| it.as_str().cmp(path)).is_ok())
        };
        let links = external_links(&self.now, &self.settings, &self.rules, &is_changed);
        let mut links = links.map_err(|error| unreadable(self.flags, &error))?;
        if let Some(base) = &self.base {
            let only_base = |path: &str| base.files.exists(path).unwrap_or(false) && is_changed(path);
            let before = external_links(&base.files, &self.settings, &Rules::default(), &only_base);
            let before = before.map_err(|error| unreadable(self.flags, &error))?;
            let before: HashSet<(String, String)> = before.into_iter().map(|link| (link.path, link.address)).collect();
            links.retain(|link| !before.contains(&(link.path.clone(), link.address.clone())));
        }
        Ok(links)
    }
}

fn unreadable(flags: &CheckFlags, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot check {}: {error}", flags.path.display()))
}

/// The names of checks with commas between them.
fn names(checks: &[Check]) -> String {
    checks.iter().map(|check| check.as_str().replace('_', " ")).collect::<Vec<_>>().join(", ")
}
