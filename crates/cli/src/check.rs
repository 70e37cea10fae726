use std::process::ExitCode;

use copydesk_checks::{Finding, Folder, SiteSettings, check_all};
use copydesk_domain::docs_path;
use serde_json::json;

use crate::args::CheckFlags;
use crate::failure::Failure;
use crate::output::{self, printable};

/// `copydesk check`: the docs checks of a job, on a folder.
pub(crate) fn run(flags: &CheckFlags) -> Result<ExitCode, Failure> {
    let mut docs_paths = flags.docs_path.iter().map(|path| docs_path(path)).collect::<Result<Vec<_>, _>>()?;
    if docs_paths.is_empty() {
        docs_paths.push(".".to_owned());
    }
    let shown = flags.path.display();
    if !flags.path.is_dir() {
        return Err(Failure::usage(format!("{shown} is not a folder")));
    }
    if let Some(missing) = docs_paths.iter().find(|path| !flags.path.join(path).exists()) {
        return Err(Failure::usage(format!("there is no {missing} in {shown}")));
    }
    let folder = Folder::new(&flags.path);
    let report = check_all(&folder, &SiteSettings { docs_paths })
        .map_err(|error| Failure::error(format!("cannot read {shown}: {error}")))?;
    if flags.json {
        output::json(&json!({ "pages": report.pages, "findings": report.findings }))?;
    } else {
        report.findings.iter().for_each(print);
        let count = report.findings.len();
        let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        output::line(&format!("{}, {}", counted(report.pages, "page"), counted(count, "finding")));
    }
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A line as compilers write it, so that editors find the place.
fn print(finding: &Finding) {
    let Finding { path, line, column, message, check, .. } = finding;
    output::line(&printable(&format!("{path}:{line}:{column}: {message} [{}]", check.as_str())));
}
