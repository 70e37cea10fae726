//! Lists from files, so that they can be renewed without a new program.

use std::path::Path;

use super::agents::{List, ListError};
use super::keys::Keys;
use super::ranges::Ranges;
use super::tokens::Tokens;
use super::{Classifier, Published};

/// No list is larger.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Addresses of one operator.
#[derive(Debug)]
pub(super) struct RangeList {
    pub name: String,
    pub ranges: Ranges,
    date: Option<String>,
}

/// What a classifier judges by.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// The day of the newest list of agents.
    pub date: String,
    pub agents: usize,
    pub ranges: Vec<ListSummary>,
    pub keys: Vec<ListSummary>,
}

/// A list that an operator publishes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ListSummary {
    pub name: String,
    /// Where it is published, if the list of agents says so.
    pub url: Option<String>,
    /// Ranges or keys in it; none if there is no file.
    pub size: Option<usize>,
    /// The day on which the operator made it, or the file was written.
    pub date: Option<String>,
}

impl Classifier {
    /// The list that comes with the program, without addresses and keys.
    pub fn builtin() -> Self {
        Self::new(List::builtin(), Vec::new(), Loaded::default())
    }

    /// The list that comes with the program, and over it what is in `folder`: `agents.toml`, `ranges/NAME.json` or
    /// `.txt`, `keys/NAME.json`. A folder that is not there is an empty one.
    pub fn load(folder: Option<&Path>) -> Result<Self, ListError> {
        let Some(folder) = folder else { return Ok(Self::builtin()) };
        let mut list = List::builtin();
        let file = folder.join("agents.toml");
        if let Some(text) = read(&file)? {
            list.add(&file, &text)?;
        }
        let ranges = files(&folder.join("ranges"), &["json", "txt"], read_ranges)?;
        let mut keys = Loaded::default();
        files(&folder.join("keys"), &["json"], |name, file, text| keys.add(name, file, text))?;
        Ok(Self::new(list, ranges, keys))
    }

    fn new(list: List, ranges: Vec<RangeList>, keys: Loaded) -> Self {
        let tokens = Tokens::new(&list.agents);
        let loaded = |name: Option<&String>| name.is_some_and(|name| ranges.iter().any(|list| list.name == *name));
        let by_address = (0..list.agents.len())
            .filter(|&at| list.agents[at].by_address && loaded(list.agents[at].ranges.as_ref()))
            .collect();
        Self { list, tokens, ranges, keys: keys.keys, key_files: keys.files, by_address }
    }

    pub fn summary(&self) -> Summary {
        let ranges = self.ranges.iter().map(|list| (list.name.as_str(), list.ranges.len(), list.date.clone()));
        let keys = self.key_files.iter().map(|(name, size)| (name.as_str(), *size, None));
        Summary {
            date: self.list.date.clone(),
            agents: self.list.agents.len(),
            ranges: summaries(&self.list.ranges, ranges.collect()),
            keys: summaries(&self.list.keys, keys.collect()),
        }
    }

    /// The lists of addresses that operators publish, and where.
    pub fn published_ranges(&self) -> &[Published] {
        &self.list.ranges
    }

    /// The directories of keys that operators publish, and where.
    pub fn published_keys(&self) -> &[Published] {
        &self.list.keys
    }
}

/// Whether `text` can be laid over the list of agents that comes with the program, and how many agents there are then.
pub fn check_agents(text: &str) -> Result<usize, String> {
    let mut list = List::builtin();
    list.add(Path::new("agents.toml"), text).map_err(|error| error.to_string())?;
    Ok(list.agents.len())
}

/// Whether `text` is a list of addresses, and of how many ranges.
pub fn check_ranges(text: &str) -> Result<usize, String> {
    Ranges::parse(text).map(|ranges| ranges.len()).map_err(|error| format!("line {}: {}", error.line, error.message))
}

/// Whether `text` is a directory of keys, and of how many.
pub fn check_keys(text: &str) -> Result<usize, String> {
    Keys::default().add("", text).map_err(|(line, message)| format!("line {line}: {message}"))
}

#[derive(Default)]
struct Loaded {
    keys: Keys,
    files: Vec<(String, usize)>,
}

impl Loaded {
    fn add(&mut self, name: &str, file: &Path, text: &str) -> Result<(), ListError> {
        let added = self.keys.add(name, text).map_err(|(line, message)| ListError::wrong(file, line, message))?;
        self.files.push((name.to_owned(), added));
        Ok(())
    }
}

fn summaries(published: &[Published], loaded: Vec<(&str, usize, Option<String>)>) -> Vec<ListSummary> {
    let mut lists: Vec<ListSummary> = published
        .iter()
        .map(|list| ListSummary { name: list.name.clone(), url: Some(list.url.clone()), size: None, date: None })
        .collect();
    for (name, size, date) in loaded {
        match lists.iter_mut().find(|list| list.name == name) {
            Some(list) => (list.size, list.date) = (Some(size), date),
            None => lists.push(ListSummary { name: name.to_owned(), url: None, size: Some(size), date }),
        }
    }
    lists
}

fn read_ranges(name: &str, file: &Path, text: &str) -> Result<RangeList, ListError> {
    let ranges = Ranges::parse(text).map_err(|error| ListError::wrong(file, error.line, error.message))?;
    Ok(RangeList { name: name.to_owned(), ranges, date: made_on(text) })
}

/// `creationTime` of the lists that Google, OpenAI, Bing and others publish.
fn made_on(text: &str) -> Option<String> {
    let at = text.find("\"creationTime\"")?;
    let value = text[at..].split('"').nth(3)?;
    value.get(..10).filter(|day| day.parse::<jiff::civil::Date>().is_ok()).map(str::to_owned)
}

/// Reads the files of a folder in the order of their names.
fn files<T>(
    folder: &Path,
    endings: &[&str],
    mut take: impl FnMut(&str, &Path, &str) -> Result<T, ListError>,
) -> Result<Vec<T>, ListError> {
    let wrong = |source| ListError::Read { file: folder.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(wrong(error)),
    };
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    paths.sort();
    let mut taken = Vec::new();
    for path in paths {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()).filter(|_| endings.contains(&ending)) else {
            continue;
        };
        if let Some(text) = read(&path)? {
            taken.push(take(name, &path, &text)?);
        }
    }
    Ok(taken)
}

/// The text of a file; none if there is no such file.
fn read(file: &Path) -> Result<Option<String>, ListError> {
    let wrong = |source| ListError::Read { file: file.to_owned(), source };
    match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(error)),
        Ok(metadata) if metadata.len() > MAX_FILE => {
            return Err(wrong(std::io::Error::other("it is larger than 16 MiB")));
        }
        Ok(_) => {}
    }
    std::fs::read_to_string(file).map(Some).map_err(wrong)
}
