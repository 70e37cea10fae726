//! Links to other hosts, asked for over the network and remembered for a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use copydesk_checks::{Count, ExternalLink, Finding};
use copydesk_desk::{Answer, ExternalSettings, judge_external};
use copydesk_domain::{Clock, SystemClock};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::failure::Failure;

const HOUR: i64 = 3_600_000;
/// How long an answer counts: what is there mostly stays, what is missing may be mended.
const THERE: i64 = 7 * 24 * HOUR;
const MISSING: i64 = 24 * HOUR;
/// A larger file is not read, and no more than these are kept.
const LARGEST: u64 = 64 * 1024 * 1024;
const MOST_KEPT: usize = 50_000;

/// What the network says of the links.
pub(super) fn judge(
    links: &[ExternalLink],
    private: bool,
    runtime: &Runtime,
    environment: &[(OsString, OsString)],
) -> Result<(Vec<Finding>, Count), Failure> {
    let now = SystemClock.now().as_millis();
    let file = cache_file(environment);
    let mut cache = file.as_deref().map(|file| Cache::read(file, now)).unwrap_or_default();
    let wanted: BTreeSet<&str> = links.iter().map(|link| link.address.as_str()).collect();
    let unknown: Vec<String> =
        wanted.into_iter().filter(|address| !cache.addresses.contains_key(*address)).map(str::to_owned).collect();
    let settings = ExternalSettings { private, ..ExternalSettings::default() };
    let answers = runtime.block_on(judge_external(&unknown, &settings)).map_err(|_| {
        Failure::usage("cannot prepare for https").hint("are the certificate authorities (ca-certificates) installed?")
    })?;
    cache.add(&answers, now);
    // Answers from private networks are of no use elsewhere, and what is there today may be somebody else's tomorrow.
    if let Some(file) = file.filter(|_| !private)
        && let Err(error) = cache.write(&file)
    {
        eprintln!("copydesk: the answers cannot be kept in {}: {error}", file.display());
    }
    Ok(verdict(links, &cache, &answers))
}

fn verdict(links: &[ExternalLink], cache: &Cache, answers: &HashMap<String, Answer>) -> (Vec<Finding>, Count) {
    let (mut findings, mut count) = (Vec::new(), Count::default());
    for link in links {
        match (cache.addresses.get(&link.address), answers.get(&link.address)) {
            (_, Some(Answer::NotJudged(reason))) => *count.not_judged.entry(reason.clone()).or_default() += 1,
            (Some(kept), _) => {
                count.judged += 1;
                findings.extend(kept.missing.as_deref().map(|why| link.finding(why)));
            }
            (None, _) => *count.not_judged.entry("it was not asked for".to_owned()).or_default() += 1,
        }
    }
    (findings, count)
}

/// Answers of earlier times.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Cache {
    addresses: BTreeMap<String, Kept>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    /// When it was asked for, in milliseconds.
    at: i64,
    /// Why there is nothing; none if there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

impl Cache {
    /// What still counts of a file; nothing if it cannot be read.
    fn read(file: &Path, now: i64) -> Self {
        let mut text = String::new();
        let read = fs::File::open(file).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
        let mut cache: Self = read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default();
        cache.addresses.retain(|_, kept| {
            let age = if kept.missing.is_some() { MISSING } else { THERE };
            (0..age).contains(&now.saturating_sub(kept.at))
        });
        cache
    }

    fn add(&mut self, answers: &HashMap<String, Answer>, now: i64) {
        for (address, answer) in answers {
            let missing = match answer {
                Answer::There => None,
                Answer::Missing(why) => Some(why.clone()),
                Answer::NotJudged(_) => continue,
            };
            self.addresses.insert(address.clone(), Kept { at: now, missing });
        }
    }

    /// Written beside and put in place, so that nobody reads half of it.
    fn write(&self, file: &Path) -> std::io::Result<()> {
        let mut newest: Vec<(&String, &Kept)> = self.addresses.iter().collect();
        newest.sort_by_key(|(_, kept)| std::cmp::Reverse(kept.at));
        newest.truncate(MOST_KEPT);
        let kept = Self { addresses: newest.into_iter().map(|(name, kept)| (name.clone(), kept.clone())).collect() };
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut beside = tempfile::NamedTempFile::new_in(folder)?;
        beside.write_all(&serde_json::to_vec(&kept)?)?;
        beside.persist(file).map(drop).map_err(|error| error.error)
    }
}

/// The file in the user's folder for such things.
fn cache_file(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let variable = |name: &str| {
        let found = environment.iter().find(|(variable, _)| variable == name);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let folder = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    Some(folder.join("copydesk").join("external-links.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_for_their_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("copydesk/external-links.json");
        let mut cache = Cache::default();
        let answers = HashMap::from([
            ("a".to_owned(), Answer::There),
            ("b".to_owned(), Answer::Missing("its host answers 404".to_owned())),
            ("c".to_owned(), Answer::NotJudged("busy".to_owned())),
        ]);
        cache.add(&answers, 1000);
        cache.write(&file).unwrap();
        let at = |now| Cache::read(&file, now).addresses.into_keys().collect::<Vec<_>>().join("");
        assert_eq!([at(1000), at(1000 + MISSING), at(1000 + THERE), at(0)], ["ab", "a", "", ""]);
        fs::write(&file, "{").unwrap();
        assert_eq!(at(1000), "");
    }
}
