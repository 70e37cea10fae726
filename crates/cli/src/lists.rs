use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use copydesk_agent::cause_of;
use copydesk_views::classify::{Classifier, ListSummary, check_agents, check_keys, check_ranges};
use serde_json::json;
use tokio::task::JoinSet;
use url::Url;

use crate::args::ListsCommand;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, printable};
use crate::{client, data_folder};

/// How long one list may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// No list is larger.
const MAX_LIST: usize = 8 * 1024 * 1024;

/// `copydesk lists`.
pub(crate) async fn run(command: ListsCommand, config: &Config) -> Result<ExitCode, Failure> {
    let folder = config.lists_folder();
    match command {
        ListsCommand::Show { json } => show(&folder, json),
        ListsCommand::Update { from, json } => {
            data_folder::check(config)?;
            update(&folder, from, json).await
        }
    }
}

fn load(folder: &Path) -> Result<Classifier, Failure> {
    Classifier::load(Some(folder)).map_err(|error| Failure::error(error.to_string()))
}

fn show(folder: &Path, as_json: bool) -> Result<ExitCode, Failure> {
    let summary = load(folder)?.summary();
    if as_json {
        return output::json(&json!(summary));
    }
    output::line(&format!("{} agents as of {}; lists in {}", summary.agents, summary.date, folder.display()));
    let rows = |kind: &str, lists: &[ListSummary]| -> Vec<Vec<String>> {
        let row = |list: &ListSummary| {
            let size = list.size.map_or_else(|| "not fetched".to_owned(), |size| format!("{size} {kind}"));
            let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            vec![list.name.clone(), size, or_dash(&list.date), or_dash(&list.url)]
        };
        lists.iter().map(row).collect()
    };
    let all = [rows("ranges", &summary.ranges), rows("keys", &summary.keys)].concat();
    output::table(&["list", "size", "date", "published at"], &all);
    Ok(ExitCode::SUCCESS)
}

struct Wanted {
    /// The folder within that of the lists, none for the list of agents.
    kind: &'static str,
    name: String,
    url: Url,
}

/// What became of it.
struct Outcome {
    name: String,
    size: Result<usize, String>,
}

async fn update(folder: &Path, from: Option<Url>, as_json: bool) -> Result<ExitCode, Failure> {
    let wanted = wanted(&load(folder)?, from.as_ref())?;
    let http = client(from.as_ref())?;
    let mut fetches = JoinSet::new();
    for wanted in wanted {
        let http = http.clone();
        fetches.spawn(async move {
            let fetched = fetch(&http, &wanted.url).await;
            (wanted, fetched)
        });
    }
    let mut outcomes = Vec::new();
    while let Some(ended) = fetches.join_next().await {
        let (wanted, fetched) = ended.map_err(|error| Failure::error(format!("a download failed: {error}")))?;
        // A mirror need not have everything.
        if from.is_some() && matches!(fetched, Ok(None)) {
            continue;
        }
        let size = fetched.and_then(|text| {
            let text = text.ok_or_else(|| "there is no such list (404)".to_owned())?;
            keep(folder, &wanted, &text)
        });
        outcomes.push(Outcome { name: wanted.name, size });
    }
    outcomes.sort_by(|one, other| one.name.cmp(&other.name));
    report(&outcomes, as_json)
}

fn report(outcomes: &[Outcome], as_json: bool) -> Result<ExitCode, Failure> {
    let failed = outcomes.iter().filter(|outcome| outcome.size.is_err()).count();
    if as_json {
        let line = |outcome: &Outcome| match &outcome.size {
            Ok(size) => json!({ "name": outcome.name, "size": size }),
            Err(why) => json!({ "name": outcome.name, "error": why }),
        };
        output::json(&json!(outcomes.iter().map(line).collect::<Vec<_>>()))?;
    } else if let Some(why) = common_cause(outcomes) {
        output::line(&printable(&format!("no list was updated: {why}")));
    } else {
        for Outcome { name, size } in outcomes {
            match size {
                Ok(size) => output::line(&format!("{name}: {size} entries")),
                Err(why) => output::line(&printable(&format!("{name}: not updated: {why}"))),
            }
        }
        output::line(&format!("{} lists updated, {failed} not", outcomes.len() - failed));
    }
    if outcomes.is_empty() {
        return Err(Failure::error("there is no list at that address"));
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What stands between a host and why nothing came from it.
const UNREACHED: &str = " cannot be reached: ";

/// One sentence for what keeps all lists away alike, as where there is no network.
fn common_cause(outcomes: &[Outcome]) -> Option<String> {
    let mut hosts = Vec::new();
    let mut common = None;
    for outcome in outcomes {
        let (host, why) = outcome.size.as_ref().err()?.split_once(UNREACHED)?;
        if *common.get_or_insert(why) != why {
            return None;
        }
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    let (first, others) = (hosts.first()?, hosts.len() - 1);
    let and_others =
        if others > 0 { format!(" and {}", output::counted(others as u64, "other host")) } else { String::new() };
    Some(format!("{first}{and_others}{UNREACHED}{}", common?))
}

fn wanted(classifier: &Classifier, from: Option<&Url>) -> Result<Vec<Wanted>, Failure> {
    let mut wanted = Vec::new();
    for (kind, lists) in [("ranges", classifier.published_ranges()), ("keys", classifier.published_keys())] {
        for list in lists {
            let url = match from {
                Some(base) => below(base, &format!("{kind}/{}.json", list.name)),
                None => Url::parse(&list.url).map_err(|error| Failure::error(format!("{}: {error}", list.url))),
            }?;
            wanted.push(Wanted { kind, name: list.name.clone(), url });
        }
    }
    if let Some(base) = from {
        wanted.push(Wanted { kind: "", name: "agents.toml".to_owned(), url: below(base, "agents.toml")? });
    }
    Ok(wanted)
}

fn below(base: &Url, path: &str) -> Result<Url, Failure> {
    let base = format!("{}/{path}", base.as_str().trim_end_matches('/'));
    Url::parse(&base).map_err(|error| Failure::usage(format!("--from: {error}")))
}

fn client(from: Option<&Url>) -> Result<reqwest::Client, Failure> {
    let plain = from.is_some_and(|base| base.scheme() == "http");
    let redirects = reqwest::redirect::Policy::limited(4);
    client::build(reqwest::Client::builder().timeout(PATIENCE).https_only(!plain).redirect(redirects), plain)
}

/// The text at `url`, bounded; none if there is nothing.
async fn fetch(http: &reqwest::Client, url: &Url) -> Result<Option<String>, String> {
    let host = url.host_str().unwrap_or_default();
    let told = |error: reqwest::Error| format!("{host}{UNREACHED}{}", cause_of(&error));
    let mut answer = http.get(url.clone()).send().await.map_err(told)?;
    if answer.status() == reqwest::StatusCode::NOT_FOUND {
        return Ok(None);
    }
    if !answer.status().is_success() {
        return Err(format!("the server answered {}", answer.status()));
    }
    let mut text = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(told)? {
        if text.len() + chunk.len() > MAX_LIST {
            return Err("it is larger than 8 MiB".to_owned());
        }
        text.extend_from_slice(&chunk);
    }
    String::from_utf8(text).map(Some).map_err(|_| "it is not text".to_owned())
}

/// Looks at a list before it takes the place of the old one, all at once.
fn keep(folder: &Path, wanted: &Wanted, text: &str) -> Result<usize, String> {
    let size = match wanted.kind {
        "ranges" => check_ranges(text),
        "keys" => check_keys(text),
        _ => check_agents(text),
    }?;
    let folder = folder.join(wanted.kind);
    let (file, other) = match wanted.kind {
        "" => (wanted.name.clone(), None),
        _ if text.trim_start().starts_with(['{', '[']) => {
            (format!("{}.json", wanted.name), Some(format!("{}.txt", wanted.name)))
        }
        _ => (format!("{}.txt", wanted.name), Some(format!("{}.json", wanted.name))),
    };
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&folder)?;
        let mut new = tempfile::NamedTempFile::new_in(&folder)?;
        new.write_all(text.as_bytes())?;
        new.as_file().sync_all()?;
        new.persist(folder.join(&file))?;
        // The same list in its other form would be read too.
        match other.map(|other| std::fs::remove_file(folder.join(other))) {
            Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    };
    write().map_err(|error| format!("cannot write {}: {error}", folder.join(&file).display()))?;
    Ok(size)
}
