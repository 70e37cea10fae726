//! The list of agents: who they are and by which words they are known.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Class;

/// The list that comes with the program.
pub(super) const BUILTIN: &str = include_str!("../../data/agents.toml");
/// How it is called in messages.
pub(super) const BUILTIN_NAME: &str = "agents.toml (built in)";

/// One agent of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub name: String,
    /// The words in a user agent by which it is known.
    pub tokens: Vec<String>,
    pub operator: String,
    pub purpose: String,
    pub class: Class,
    /// The operator's page about it.
    pub docs: String,
    /// The day of this entry.
    pub date: String,
    /// The list of addresses that the operator publishes for it.
    pub ranges: Option<String>,
    /// Whether the operator says that it comes from other addresses too. Else one from outside is not what it says.
    pub also_elsewhere: bool,
    /// Whether everything from those addresses is this agent, whatever it calls itself.
    pub by_address: bool,
    /// The directory of keys that it signs with.
    pub keys: Option<String>,
    /// Whether there is an app of this name that shows pages, so that beside the name of a browser it is a person.
    pub app: bool,
}

/// A file that an operator publishes: addresses or keys.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// How the list and the file are called.
    pub name: String,
    pub url: String,
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    /// Something in it is wrong.
    #[error("{}:{line}: {message}", file.display())]
    Wrong {
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        message: String,
    },
}

impl ListError {
    pub(super) fn wrong(file: &Path, line: usize, message: impl Into<String>) -> Self {
        Self::Wrong { file: file.to_owned(), line, message: message.into() }
    }
}

/// A list as it is written.
#[derive(Debug, Default)]
pub(super) struct List {
    pub date: String,
    pub agents: Vec<Agent>,
    pub ranges: Vec<Published>,
    pub keys: Vec<Published>,
    /// Names that browsers and apps add to that of the browser they are made of, in small letters.
    apps: HashSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    date: String,
    #[serde(default)]
    agent: Vec<toml::Spanned<Entry>>,
    #[serde(default)]
    ranges: Vec<toml::Spanned<Published>>,
    #[serde(default)]
    keys: Vec<toml::Spanned<Published>>,
    /// Names of apps, a space between them.
    #[serde(default)]
    apps: String,
    /// Names of agents that are not to be known any more.
    #[serde(default)]
    remove: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    tokens: Option<Vec<String>>,
    operator: String,
    purpose: String,
    class: toml::Spanned<String>,
    docs: String,
    date: Option<String>,
    ranges: Option<String>,
    #[serde(default)]
    also_elsewhere: bool,
    #[serde(default)]
    by_address: bool,
    keys: Option<String>,
    #[serde(default)]
    app: bool,
}

/// Tokens of robots.txt that no request carries; an entry for one would be a mistake.
const NOT_USER_AGENTS: [&str; 2] = ["Google-Extended", "Applebot-Extended"];

impl List {
    /// The list that comes with the program.
    pub(super) fn builtin() -> Self {
        let mut list = Self::default();
        list.add(Path::new(BUILTIN_NAME), BUILTIN).expect("the tests read the list that is built in");
        list
    }

    /// Takes over what `text` says: entries with a known name replace, others are added.
    pub(super) fn add(&mut self, file: &Path, text: &str) -> Result<(), ListError> {
        let line = |span: std::ops::Range<usize>| line_of(text, span.start);
        let read: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(1, line);
            ListError::wrong(file, at, error.message())
        })?;
        if !is_date(&read.date) {
            return Err(ListError::wrong(file, 1, "date must be a day such as 2026-11-15"));
        }
        self.agents.retain(|agent| !read.remove.contains(&agent.name));
        let mut known: HashMap<String, usize> =
            self.agents.iter().enumerate().map(|(at, agent)| (agent.name.clone(), at)).collect();
        for entry in read.agent {
            let at = entry.span();
            let agent = agent(entry.into_inner(), &read.date)
                .map_err(|(span, message)| ListError::wrong(file, line(span.unwrap_or(at)), message))?;
            match known.get(&agent.name).and_then(|&place| self.agents.get_mut(place)) {
                Some(place) => *place = agent,
                None => {
                    known.insert(agent.name.clone(), self.agents.len());
                    self.agents.push(agent);
                }
            }
        }
        for (mine, theirs) in [(&mut self.ranges, read.ranges), (&mut self.keys, read.keys)] {
            for published in theirs {
                let at = published.span();
                publish(mine, published.into_inner()).map_err(|message| ListError::wrong(file, line(at), message))?;
            }
        }
        self.apps.extend(read.apps.split_ascii_whitespace().map(str::to_ascii_lowercase));
        self.date = self.date.clone().max(read.date);
        Ok(())
    }

    /// Whether `name`, which stands beside a browser's, is that of an app or of another browser.
    pub(super) fn is_app(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        // Whoever builds on a browser likes to be called after it.
        let after_one = ["fox", "zilla", "bird", "webkit", "explorer"].iter().any(|end| name.ends_with(end));
        after_one || name.contains("browser") || self.apps.contains(&name)
    }
}

type Fault = (Option<std::ops::Range<usize>>, String);

fn agent(entry: Entry, date: &str) -> Result<Agent, Fault> {
    let fault = |message: String| (None, message);
    let class = Class::parse(entry.class.as_ref()).ok_or_else(|| {
        let known: Vec<&str> = Class::ALL.iter().map(|class| class.as_str()).collect();
        let message = format!("there is no class “{}”; there are {}", entry.class.as_ref(), known.join(", "));
        (Some(entry.class.span()), message)
    })?;
    let date = entry.date.unwrap_or_else(|| date.to_owned());
    if entry.name.trim().is_empty() {
        return Err(fault("an agent needs a name".to_owned()));
    }
    if !is_date(&date) {
        return Err(fault(format!("{}: date must be a day such as 2026-11-15", entry.name)));
    }
    let tokens = entry.tokens.unwrap_or_else(|| vec![entry.name.clone()]);
    for token in &tokens {
        if token.len() < 2 || super::reduce(token) != *token {
            let kept = super::reduce(token);
            return Err(fault(format!(
                "{}: the token “{token}” is never seen; of a user agent with it “{kept}” is kept (no versions, no paths)",
                entry.name
            )));
        }
        if NOT_USER_AGENTS.iter().any(|name| name.eq_ignore_ascii_case(token)) {
            return Err(fault(format!("{token} is a token of robots.txt, no request carries it")));
        }
    }
    if (entry.also_elsewhere || entry.by_address) && entry.ranges.is_none() {
        return Err(fault(format!("{}: also_elsewhere and by_address need ranges", entry.name)));
    }
    Ok(Agent {
        name: entry.name,
        tokens,
        operator: entry.operator,
        purpose: entry.purpose,
        class,
        docs: entry.docs,
        date,
        ranges: entry.ranges,
        also_elsewhere: entry.also_elsewhere,
        by_address: entry.by_address,
        keys: entry.keys,
        app: entry.app,
    })
}

fn publish(known: &mut Vec<Published>, new: Published) -> Result<(), String> {
    let is_name = !new.name.is_empty()
        && new.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !is_name {
        return Err(format!("“{}” cannot name a file: use a-z, 0-9 and -", new.name));
    }
    if !new.url.starts_with("https://") {
        return Err(format!("{}: the url must begin with https://", new.name));
    }
    known.retain(|published| published.name != new.name);
    known.push(new);
    Ok(())
}

fn is_date(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10
}

pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
