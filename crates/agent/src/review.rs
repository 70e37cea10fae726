//! What the engine is told about its own change before it may finish it. Whoever gave it the work checks again.

use std::io;

use copydesk_checks::{Finding, Scope, SiteSettings, check_change};
use copydesk_forge::Workspace;

use crate::WorkspaceFiles;

/// What a change breaks, by the docs checks, as sentences.
pub(crate) fn docs_checks(workspace: &Workspace, scope: &Scope) -> io::Result<Vec<String>> {
    let changed: Vec<String> = workspace.changed_paths().map(str::to_owned).collect();
    let (before, now) = (WorkspaceFiles::Base(&**workspace.base()), WorkspaceFiles::Edited(workspace));
    let settings = SiteSettings { docs_paths: scope.docs_paths.clone() };
    let comparison = check_change(&before, &now, &changed, &settings, scope)?;
    Ok(comparison.new.iter().map(sentence).collect())
}

fn sentence(finding: &Finding) -> String {
    format!("{}:{}:{}: {}", finding.path, finding.line, finding.column, finding.message)
}
