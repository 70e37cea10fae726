use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::process::ExitCode;

use copydesk_domain::{Clock, SystemClock};
use copydesk_views::classify::{Classifier, Probe, reduce};
use copydesk_views::page::{self, Target};
use copydesk_views::{Channel, CountsAs, Verdict};
use serde_json::{Value, json};

use crate::args::ClassifyFlags;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, printable};

/// Lines that are remembered at most.
const REMEMBERED: usize = 50_000;

/// `copydesk classify`: the verdict on a user agent, and why.
pub(crate) fn run(flags: &ClassifyFlags, config: &Config) -> Result<ExitCode, Failure> {
    let folder = config.lists_folder();
    let classifier = Classifier::load(Some(&folder)).map_err(|error| Failure::error(error.to_string()))?;
    let markdown_path = match flags.path.as_deref().map(page::target).transpose() {
        Ok(target) => matches!(target, Some(Target::Page { markdown: true, .. })),
        Err(error) => return Err(Failure::usage(format!("--path: {error}"))),
    };
    let probe = Probe {
        user_agent: &flags.user_agent,
        accept: flags.accept.as_deref(),
        markdown_path,
        ip: flags.ip,
        signature: None,
        channel: Channel::Server,
        now: SystemClock.now().as_millis() / 1000,
    };
    match (flags.user_agent.as_str(), flags.json) {
        ("-", true) => lines(&classifier, &probe),
        ("-", false) => Err(Failure::usage("reading user agents from standard input needs --json")),
        (_, as_json) => one(&classifier, &probe, as_json),
    }
}

fn one(classifier: &Classifier, probe: &Probe<'_>, as_json: bool) -> Result<ExitCode, Failure> {
    let (_, verdict) = classifier.judge(probe);
    let agent = verdict.agent.as_deref().and_then(|name| classifier.agent(name));
    if as_json {
        let mut value = json!(VerdictLine::from(&verdict));
        value["kept"] = Value::from(reduce(probe.user_agent));
        if let Some(agent) = agent {
            value["operator"] = Value::from(agent.operator.as_str());
            value["purpose"] = Value::from(agent.purpose.as_str());
            value["documentation"] = Value::from(agent.docs.as_str());
            value["date"] = Value::from(agent.date.as_str());
        }
        return output::json(&value);
    }
    let say = |label: &str, text: &str| {
        if !text.is_empty() {
            output::line(&printable(&format!("{label:<14}{text}")));
        }
    };
    say("class", verdict.class.as_str());
    say("counts as", counted(&verdict));
    say("agent", verdict.agent.as_deref().unwrap_or_default());
    if let Some(agent) = agent {
        say("operator", &agent.operator);
        say("purpose", &agent.purpose);
    }
    say("evidence", verdict.evidence.as_str());
    say("rule", &verdict.rule);
    if let Some(agent) = agent {
        say("documentation", &agent.docs);
        say("as of", &agent.date);
    }
    say("kept", &reduce(probe.user_agent));
    Ok(ExitCode::SUCCESS)
}

/// One verdict a line for one user agent a line, as many as there are.
fn lines(classifier: &Classifier, probe: &Probe<'_>) -> Result<ExitCode, Failure> {
    let mut input = std::io::stdin().lock();
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut line = Vec::new();
    let mut known: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::error(format!("cannot read standard input: {error}")))? == 0 {
            break;
        }
        if !known.contains_key(&line) {
            // Lists repeat themselves; simple, and what repeats is soon back.
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(line.clone(), answer(classifier, probe, &line)?);
        }
        match known.get(&line).map_or(Ok(()), |answer| out.write_all(answer)) {
            Ok(()) => {}
            // The reader has what it wanted.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(Failure::error(format!("cannot write: {error}"))),
        }
    }
    match out.flush() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::error(format!("cannot write: {error}")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn answer(classifier: &Classifier, probe: &Probe<'_>, line: &[u8]) -> Result<Vec<u8>, Failure> {
    let user_agent = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
    let user_agent = user_agent.strip_suffix('\r').unwrap_or(&user_agent);
    let (_, verdict) = classifier.judge(&Probe { user_agent, ..probe.clone() });
    let mut answer =
        serde_json::to_vec(&VerdictLine::from(&verdict)).map_err(|error| Failure::error(error.to_string()))?;
    answer.push(b'\n');
    Ok(answer)
}

/// A verdict as scripts read it.
#[derive(serde::Serialize)]
struct VerdictLine<'a> {
    class: &'a str,
    agent: Option<&'a str>,
    evidence: &'a str,
    rule: &'a str,
    #[serde(rename = "countsAs")]
    counts_as: &'a str,
    /// The same as scripts have always read it.
    #[serde(rename = "counts_as")]
    counts_as_before: &'a str,
}

impl<'a> From<&'a Verdict> for VerdictLine<'a> {
    fn from(verdict: &'a Verdict) -> Self {
        Self {
            class: verdict.class.as_str(),
            agent: verdict.agent.as_deref(),
            evidence: verdict.evidence.as_str(),
            rule: &verdict.rule,
            counts_as: counted(verdict),
            counts_as_before: counted(verdict),
        }
    }
}

fn counted(verdict: &Verdict) -> &'static str {
    match verdict.counts_as() {
        CountsAs::Human => "human",
        CountsAs::Ai => "ai",
        CountsAs::Other => "other",
    }
}
