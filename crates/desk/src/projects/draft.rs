//! What somebody wants a project to be, as it was written in a form or on a command line, checked field by field.

use std::path::Path;

use copydesk_domain::{
    Dollars, HostKind, HostSettings, Invalid, MAX_DOMAINS, MAX_PATTERNS, OnFindings, Project, Repository, Source,
    ViewSettings, WritePaths, api_url, begins_with_host, docs_path, domain, git_ref, parse_duration, path_pattern,
    time_zone,
};
use copydesk_store::ProjectChange;

use super::talk::TalkDraft;

/// Far more than all authorities of the world need.
const MAX_CA_BYTES: u64 = 1024 * 1024;

/// What is none, or an empty list, was not given and stays as it is.
#[derive(Debug, Default)]
pub struct ProjectDraft {
    pub name: Option<String>,
    pub repository: Option<String>,
    pub base_ref: Option<String>,
    pub docs_paths: Vec<String>,
    pub write_paths: WritePathsDraft,
    pub time_zone: Option<String>,
    /// A number, or `default` for the server's; so are the other limits.
    pub jobs_per_hour: Option<String>,
    pub max_running: Option<String>,
    /// A duration such as `45m`, or `default`.
    pub time_limit: Option<String>,
    /// US dollars such as `0.5`, or `default`.
    pub job_cost: Option<String>,
    pub on_findings: Option<OnFindings>,
    pub views: ViewsDraft,
    pub host: HostDraft,
}

#[derive(Debug, Default)]
pub struct WritePathsDraft {
    /// Patterns of paths; the one word `none` for no pattern. So are those that are denied.
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

#[derive(Debug, Default)]
pub struct ViewsDraft {
    /// Hosts of the site; the one word `none` for no host.
    pub domains: Vec<String>,
    pub people_from: Option<Source>,
    pub machines_from: Option<Source>,
    /// Days, or `default`.
    pub keep: Option<String>,
}

#[derive(Debug, Default)]
pub struct HostDraft {
    /// Some(None): the kind that the repository's address tells.
    pub kind: Option<Option<HostKind>>,
    /// An address, or `default`.
    pub api_url: Option<String>,
    /// A path, or `none`.
    pub ca_file: Option<String>,
    pub accept_any_certificate: Option<bool>,
    pub talk: TalkDraft,
}

/// A draft that holds to the rules.
#[derive(Debug)]
pub struct Checked {
    pub change: ProjectChange,
    /// What is allowed but may be a mistake, one sentence each.
    pub notes: Vec<String>,
}

impl ProjectDraft {
    /// Checks what was given for a project that is now as `old` is; paths are those of `working_dir`.
    pub fn check(self, old: Option<&Project>, working_dir: &Path) -> Result<Checked, Invalid> {
        let mut notes = Vec::new();
        let (views, host) = old.map(|old| (old.views.clone(), old.host.clone())).unwrap_or_default();
        let write_paths = self.write_paths.check(old.map(|old| old.write_paths.clone()).unwrap_or_default())?;
        let views = self.views.check(views)?;
        let host = self.host.check(host, working_dir, &mut notes)?;
        let docs_paths = self.docs_paths.iter().map(|path| docs_path(path)).collect::<Result<Vec<_>, _>>()?;
        let asks_for_host = self.repository.is_some() || host != old.map(|old| old.host.clone()).unwrap_or_default();
        let change = ProjectChange {
            name: self.name.map(|text| name(&text)).transpose()?,
            repository: self.repository.map(|text| repository(&text, working_dir, &mut notes)).transpose()?,
            base_ref: self.base_ref.map(|text| git_ref("base_ref", &text)).transpose()?,
            docs_paths: (!docs_paths.is_empty()).then_some(docs_paths),
            write_paths: differs(write_paths, old.map(|old| &old.write_paths)),
            time_zone: self.time_zone.map(|text| time_zone(&text)).transpose()?,
            jobs_per_hour: self.jobs_per_hour.map(|text| limit("jobs_per_hour", &text)).transpose()?,
            max_running: self.max_running.map(|text| limit("max_running", &text)).transpose()?,
            time_limit_seconds: self.time_limit.map(|text| time_limit(&text)).transpose()?,
            job_cost: self.job_cost.map(|text| job_cost(&text)).transpose()?,
            on_findings: self.on_findings,
            views: differs(views, old.map(|old| &old.views)),
            host: differs(host.clone(), old.map(|old| &old.host)),
        };
        if let (Some(old), Some(new), None) = (old, &change.repository, &change.base_ref)
            && old.repository != *new
        {
            notes.push(format!(
                "jobs still start from the branch `{}`; change the base branch if the new repository has another",
                old.base_ref
            ));
        }
        if let Some(repository) = change.repository.as_ref().or(old.map(|old| &old.repository))
            && asks_for_host
        {
            notes.extend(host.untold(repository).map(str::to_owned));
        }
        Ok(Checked { change, notes })
    }
}

/// What stays as it is, is not written, so that what somebody else changes at the same time is not taken back.
fn differs<T: PartialEq>(new: T, old: Option<&T>) -> Option<T> {
    (old != Some(&new)).then_some(new)
}

impl WritePathsDraft {
    fn check(self, old: WritePaths) -> Result<WritePaths, Invalid> {
        let patterns = |field: &'static str, given: &[String], old: Vec<String>| match given {
            [] => Ok(old),
            [none] if none == "none" => Ok(Vec::new()),
            given if given.len() > MAX_PATTERNS => {
                Err(Invalid::new(field, format!("may be given {MAX_PATTERNS} times at the most")))
            }
            given => given.iter().map(|text| path_pattern(field, text)).collect(),
        };
        Ok(WritePaths {
            allow: patterns("allow", &self.allow, old.allow)?,
            deny: patterns("deny", &self.deny, old.deny)?,
        })
    }
}

impl ViewsDraft {
    fn check(self, mut views: ViewSettings) -> Result<ViewSettings, Invalid> {
        match self.domains.as_slice() {
            [] => {}
            [none] if none == "none" => views.domains.clear(),
            domains if domains.len() > MAX_DOMAINS => {
                return Err(Invalid::new("domain", format!("may be given {MAX_DOMAINS} times at the most")));
            }
            domains => {
                views.domains = domains.iter().map(|it| domain(it)).collect::<Result<_, _>>()?;
                views.domains.sort();
                views.domains.dedup();
            }
        }
        views.sources.people = self.people_from.unwrap_or(views.sources.people);
        views.sources.machines = self.machines_from.unwrap_or(views.sources.machines);
        if let Some(days) = &self.keep {
            views.keep_days = limit("keep_views", days)?;
        }
        Ok(views)
    }
}

impl HostDraft {
    pub(super) fn check(
        self,
        mut host: HostSettings,
        working_dir: &Path,
        notes: &mut Vec<String>,
    ) -> Result<HostSettings, Invalid> {
        host.kind = self.kind.unwrap_or(host.kind);
        self.talk.check(&mut host)?;
        match self.api_url.as_deref() {
            None => {}
            Some("default") => host.api_url = None,
            Some(text) => {
                let url = api_url(text).map_err(|invalid| Invalid::new("host_api_url", invalid.message))?;
                if url.starts_with("http://") {
                    notes.push("over http, anybody in between can read the credential; use https".to_owned());
                }
                host.api_url = Some(url);
            }
        }
        match self.ca_file.as_deref() {
            None => {}
            Some("none") => host.ca_file = None,
            Some(text) => host.ca_file = Some(ca_file(&working_dir.join(text))?),
        }
        if let Some(any) = self.accept_any_certificate {
            host.accept_any_certificate = any;
            if any {
                notes.push("without checks of certificates, anybody in between can read the credential".to_owned());
            }
        }
        Ok(host)
    }
}

/// The whole path of a file that holds certificates. The server reads it anew when it needs it.
fn ca_file(path: &Path) -> Result<String, Invalid> {
    let wrong = |problem: &str| Invalid::new("host_ca_file", format!("{} {problem}", path.display()));
    let unreadable = |error: std::io::Error| wrong(&format!("cannot be read: {error}"));
    let path = path.canonicalize().map_err(unreadable)?;
    let about = std::fs::metadata(&path).map_err(unreadable)?;
    if !about.is_file() || about.len() > MAX_CA_BYTES {
        return Err(wrong("is not a file of at most 1 MiB"));
    }
    if !std::fs::read_to_string(&path).map_err(unreadable)?.contains("-----BEGIN CERTIFICATE-----") {
        return Err(wrong("holds no certificate in PEM"));
    }
    path.into_os_string().into_string().map_err(|_| wrong("is a path that is not Unicode"))
}

fn name(text: &str) -> Result<String, Invalid> {
    let name = text.trim();
    if (1..=200).contains(&name.chars().count()) && !name.chars().any(char::is_control) {
        Ok(name.to_owned())
    } else {
        Err(Invalid::new("name", "must have 1 to 200 characters and no control characters"))
    }
}

pub(super) fn repository(text: &str, working_dir: &Path, notes: &mut Vec<String>) -> Result<Repository, Invalid> {
    let repository = Repository::parse(text, working_dir)?;
    if begins_with_host(text.trim()) {
        let (address, text) = (repository.public_address(), text.trim());
        notes.push(format!("the repository is taken for {address}; a folder of this machine is `./{text}`"));
    }
    if repository.credential_dropped() {
        notes.push("the credential in the repository's address was not kept".to_owned());
    }
    let path = url::Url::parse(repository.clone_address()).ok().filter(|url| url.scheme() == "file");
    if path.and_then(|url| url.to_file_path().ok()).is_some_and(|path| !path.exists()) {
        let address = repository.clone_address();
        notes.push(format!("there is nothing at {address} yet; if that is a slip, change the project's repository"));
    }
    Ok(repository)
}

/// A count; `default` is none.
fn limit(field: &'static str, text: &str) -> Result<Option<u32>, Invalid> {
    if text == "default" {
        return Ok(None);
    }
    let wrong = || Invalid::new(field, format!("must be a whole number up to 1000000 or `default`, not {text:?}"));
    text.parse::<u32>().ok().filter(|number| *number <= 1_000_000).map(Some).ok_or_else(wrong)
}

fn time_limit(text: &str) -> Result<Option<u32>, Invalid> {
    if text == "default" {
        return Ok(None);
    }
    let time =
        parse_duration(text).map_err(|error| Invalid::new("time_limit", format!("is not a duration: {error}")))?;
    let seconds = u32::try_from(time.as_secs()).ok().filter(|seconds| (1..=7 * 24 * 3600).contains(seconds));
    seconds.map(Some).ok_or_else(|| Invalid::new("time_limit", "must be from 1s to 7d"))
}

/// What a prompt may cost. There is no 0 for no limit: a project can only lower what the server allows.
fn job_cost(text: &str) -> Result<Option<Dollars>, Invalid> {
    if text == "default" { Ok(None) } else { Dollars::parse_limit("job_cost", text).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(draft: ProjectDraft) -> Result<Checked, Invalid> {
        draft.check(None, Path::new("/"))
    }

    #[test]
    fn what_breaks_a_rule_is_named_by_its_field() {
        let text = |text: &str| Some(text.to_owned());
        let host = |api_url, ca_file| HostDraft { api_url, ca_file, ..HostDraft::default() };
        let write_paths =
            |allow: &str, deny: &str| WritePathsDraft { allow: vec![allow.to_owned()], deny: vec![deny.to_owned()] };
        for (field, draft) in [
            ("name", ProjectDraft { name: text(" \n"), ..ProjectDraft::default() }),
            ("name", ProjectDraft { name: text(&"x".repeat(201)), ..ProjectDraft::default() }),
            ("repository", ProjectDraft { repository: text(""), ..ProjectDraft::default() }),
            ("base_ref", ProjectDraft { base_ref: text("a..b"), ..ProjectDraft::default() }),
            ("docs_path", ProjectDraft { docs_paths: vec!["../x".to_owned()], ..ProjectDraft::default() }),
            ("allow", ProjectDraft { write_paths: write_paths("/etc", "x"), ..ProjectDraft::default() }),
            ("deny", ProjectDraft { write_paths: write_paths("x", "../*"), ..ProjectDraft::default() }),
            ("time_zone", ProjectDraft { time_zone: text("Nowhere"), ..ProjectDraft::default() }),
            ("jobs_per_hour", ProjectDraft { jobs_per_hour: text("-1"), ..ProjectDraft::default() }),
            ("max_running", ProjectDraft { max_running: text("1000001"), ..ProjectDraft::default() }),
            ("time_limit", ProjectDraft { time_limit: text("10"), ..ProjectDraft::default() }),
            ("time_limit", ProjectDraft { time_limit: text("8d"), ..ProjectDraft::default() }),
            ("job_cost", ProjectDraft { job_cost: text("0"), ..ProjectDraft::default() }),
            ("job_cost", ProjectDraft { job_cost: text("1,5"), ..ProjectDraft::default() }),
            ("host_api_url", ProjectDraft { host: host(text("git.example.com"), None), ..ProjectDraft::default() }),
            ("host_ca_file", ProjectDraft { host: host(None, text("nowhere.pem")), ..ProjectDraft::default() }),
        ] {
            assert_eq!(checked(draft).unwrap_err().field, field);
        }
        let domains = vec!["a.example".to_owned(); MAX_DOMAINS + 1];
        let views = ViewsDraft { domains, ..ViewsDraft::default() };
        assert_eq!(checked(ProjectDraft { views, ..ProjectDraft::default() }).unwrap_err().field, "domain");
    }

    #[test]
    fn what_is_allowed_and_may_be_a_mistake_is_noted() {
        let host = HostDraft {
            api_url: Some("http://git.example.com/api".to_owned()),
            accept_any_certificate: Some(true),
            ..HostDraft::default()
        };
        let repository = Some("/no/such/folder".to_owned());
        let Checked { change, notes } = checked(ProjectDraft { repository, host, ..ProjectDraft::default() }).unwrap();
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(change.name.is_none() && change.docs_paths.is_none() && change.repository.is_some());
    }

    #[test]
    fn an_address_that_does_not_tell_its_kind_is_noted() {
        let noted = |address: &str, kind| {
            let host = HostDraft { kind: Some(kind), ..HostDraft::default() };
            let draft = ProjectDraft { repository: Some(address.to_owned()), host, ..ProjectDraft::default() };
            checked(draft)
                .unwrap()
                .notes
                .iter()
                .any(|note| note.contains("no pull request") && note.contains("`--host`"))
        };
        assert!(noted("https://code.example.com/acme/docs", None));
        assert!(noted("ssh://git@code.example.com/acme/docs", None));
        assert!(!noted("https://code.example.com/acme/docs", Some(HostKind::Git)), "it was said");
        assert!(!noted("https://gitea.example.com/acme/docs", None));
    }
}
