//! What the engine is told about its own change before it may finish it. Whoever gave it the work checks again.

use std::io;
use std::sync::Arc;

use copydesk_checks::{Finding, Scope, SiteSettings, check_change};
use copydesk_forge::Workspace;

use crate::WorkspaceFiles;

/// Finds what a change breaks, as sentences. It is given the workspace and what a change may touch.
pub type Reviewer = Arc<dyn Fn(&Workspace, &Scope) -> io::Result<Vec<String>> + Send + Sync>;

/// The docs checks.
pub(crate) fn docs_checks() -> Reviewer {
    Arc::new(|workspace, scope| {
        let changed: Vec<String> = workspace.changed_paths().map(str::to_owned).collect();
        let (before, now) = (WorkspaceFiles::Base(&**workspace.base()), WorkspaceFiles::Edited(workspace));
        let settings = SiteSettings { docs_paths: scope.docs_paths.clone() };
        let comparison = check_change(&before, &now, &changed, &settings, scope)?;
        Ok(comparison.new_findings().map(sentence).collect())
    })
}

fn sentence(finding: &Finding) -> String {
    format!("{}:{}:{}: {}", finding.path, finding.line, finding.column, finding.message)
}
