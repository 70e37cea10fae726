//! What the engine is told about its own change before it may finish it. Whoever gave it the work checks again.

use std::io;
use std::sync::atomic::AtomicBool;

use copydesk_checks::{Finding, Report, Rules, Scope, SiteSettings, Until, check_all_by, check_change};
use copydesk_forge::Workspace;

use crate::WorkspaceFiles;

/// Finds what is wrong with the documentation.
pub(crate) trait Review {
    /// What the changes have brought in.
    fn new_problems(&self, workspace: &Workspace) -> io::Result<Vec<Finding>>;
    /// All there is, brought in or not, with how much was looked at.
    fn all_problems(&self, workspace: &Workspace) -> io::Result<Report>;
}

/// The docs checks, until it is enough.
pub(crate) struct DocsChecks<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) is_enough: &'a AtomicBool,
}

impl Review for DocsChecks<'_> {
    fn new_problems(&self, workspace: &Workspace) -> io::Result<Vec<Finding>> {
        let changed: Vec<String> = workspace.changed_paths().map(str::to_owned).collect();
        let (before, now) = (WorkspaceFiles::Base(&**workspace.base()), WorkspaceFiles::Edited(workspace));
        let (before, now) = (Until::new(&before, self.is_enough), Until::new(&now, self.is_enough));
        let comparison = check_change(&before, &now, &changed, &self.settings(), self.scope)?;
        Ok(comparison.new.into_iter().filter(Finding::is_error).collect())
    }

    fn all_problems(&self, workspace: &Workspace) -> io::Result<Report> {
        let now = WorkspaceFiles::Edited(workspace);
        let now = Until::new(&now, self.is_enough);
        // Rules that cannot be read leave nothing out, as for a change.
        let mut report = check_all_by(&now, &self.settings(), &Rules::read(&now)?.unwrap_or_default())?;
        report.findings.retain(Finding::is_error);
        Ok(report)
    }
}

impl DocsChecks<'_> {
    fn settings(&self) -> SiteSettings {
        SiteSettings { docs_paths: self.scope.docs_paths.clone() }
    }
}

/// A finding as a sentence.
pub(crate) fn sentence(finding: &Finding) -> String {
    format!("{}:{}:{}: {}", finding.path, finding.line, finding.column, finding.message)
}
