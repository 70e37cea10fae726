//! What the engine is told about its own change before it may finish it. Whoever gave it the work checks again.

use std::io;
use std::sync::atomic::AtomicBool;

use copydesk_checks::{Finding, Scope, SiteSettings, Until, check_change};
use copydesk_forge::Workspace;

use crate::WorkspaceFiles;

/// What a change breaks, by the docs checks, as sentences.
pub(crate) fn docs_checks(workspace: &Workspace, scope: &Scope, is_enough: &AtomicBool) -> io::Result<Vec<String>> {
    let changed: Vec<String> = workspace.changed_paths().map(str::to_owned).collect();
    let (before, now) = (WorkspaceFiles::Base(&**workspace.base()), WorkspaceFiles::Edited(workspace));
    let (before, now) = (Until::new(&before, is_enough), Until::new(&now, is_enough));
    let settings = SiteSettings { docs_paths: scope.docs_paths.clone() };
    let comparison = check_change(&before, &now, &changed, &settings, scope)?;
    Ok(comparison.new.iter().filter(|finding| finding.is_error()).map(sentence).collect())
}

fn sentence(finding: &Finding) -> String {
    format!("{}:{}:{}: {}", finding.path, finding.line, finding.column, finding.message)
}
