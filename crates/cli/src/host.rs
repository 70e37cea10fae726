//! How a project's code host is reached, as the command line takes and shows it.

use std::path::Path;

use copydesk_domain::{HostKind, HostSettings, Project, api_url};

use crate::args::{HostArg, HostFlags};
use crate::failure::Failure;

/// Far more than all authorities of the world need.
const MAX_CA_BYTES: u64 = 1024 * 1024;

/// What is to be of the settings, from what is.
pub(crate) fn read(flags: &HostFlags, mut host: HostSettings, working_dir: &Path) -> Result<HostSettings, Failure> {
    if let Some(kind) = flags.host {
        host.kind = kind.into();
    }
    match flags.host_api_url.as_deref() {
        None => {}
        Some("default") => host.api_url = None,
        Some(text) => {
            let url = api_url(text).map_err(|invalid| Failure::usage(format!("--host-api-url {}", invalid.message)))?;
            if url.starts_with("http://") {
                eprintln!("copydesk: note: over http, anybody in between can read the credential; use https");
            }
            host.api_url = Some(url);
        }
    }
    match flags.host_ca_file.as_deref() {
        None => {}
        Some("none") => host.ca_file = None,
        Some(text) => host.ca_file = Some(ca_file(&working_dir.join(text))?),
    }
    if let Some(any) = flags.host_accept_any_certificate {
        host.accept_any_certificate = any;
        if any {
            eprintln!("copydesk: note: without checks of certificates, anybody in between can read the credential");
        }
    }
    Ok(host)
}

/// The whole path of a file that holds certificates. The server reads it anew when it needs it.
fn ca_file(path: &Path) -> Result<String, Failure> {
    let wrong = |problem: String| Failure::usage(format!("--host-ca-file {}: {problem}", path.display()));
    let path = path.canonicalize().map_err(|error| wrong(error.to_string()))?;
    let about = std::fs::metadata(&path).map_err(|error| wrong(error.to_string()))?;
    if !about.is_file() || about.len() > MAX_CA_BYTES {
        return Err(wrong("is not a file of at most 1 MiB".to_owned()));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        return Err(wrong("holds no certificate in PEM".to_owned()));
    }
    path.into_os_string().into_string().map_err(|_| wrong("is a path that is not Unicode".to_owned()))
}

/// Labels and values, of which those that say nothing are left out.
pub(crate) fn shown(project: &Project) -> Vec<(&'static str, String)> {
    let host = &project.host;
    let told = if host.kind.is_none() { ", by the repository's address" } else { "" };
    let mut rows = vec![("code host", format!("{}{told}", host.kind_of(&project.repository).title()))];
    rows.extend(host.api_url.clone().map(|url| ("host interface", url)));
    rows.extend(host.ca_file.clone().map(|file| ("host CA file", file)));
    if host.accept_any_certificate {
        rows.push(("certificates", "any is taken".to_owned()));
    }
    rows
}

impl From<HostArg> for Option<HostKind> {
    fn from(arg: HostArg) -> Self {
        match arg {
            HostArg::Auto => None,
            HostArg::Github => Some(HostKind::Github),
            HostArg::Gitlab => Some(HostKind::Gitlab),
            // One asks the other's interface.
            HostArg::Forgejo | HostArg::Gitea => Some(HostKind::Forgejo),
            HostArg::Bitbucket => Some(HostKind::Bitbucket),
            HostArg::Git => Some(HostKind::Git),
        }
    }
}
