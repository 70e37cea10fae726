//! The branch that the jobs of a new project start from, where none was named.

use std::time::Duration;

use copydesk_domain::{HostSettings, Repository};
use copydesk_forge::{HostSecret, Hosts, HostsSettings};

/// Somebody waits for it, and there is an answer to fall back on.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks the repository's host, or git, and notes what came of it.
pub(super) async fn ask(
    repository: &Repository,
    host: &HostSettings,
    secret: Option<HostSecret>,
    notes: &mut Vec<String>,
) -> String {
    let hosts = Hosts::new(HostsSettings { time_limit: PATIENCE, tries: 1, ..HostsSettings::default() });
    let asked = async { hosts.connect(repository, host, secret)?.default_branch().await };
    match asked.await {
        Ok(branch) => {
            notes.push(format!("jobs start from `{branch}`, the main branch of the repository"));
            branch
        }
        Err(error) => {
            notes.push(format!(
                "jobs start from `main`, since the main branch of the repository could not be asked for: {error}; \
                 name the base branch if it is another"
            ));
            "main".to_owned()
        }
    }
}
