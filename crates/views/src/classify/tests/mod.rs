mod kept;
mod lists;
mod signed;
mod speed;
mod verdicts;

use std::sync::LazyLock;

use super::{Classifier, Probe};
use crate::{Evidence, Verdict};

const CHROME: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36";
const GPTBOT: &str =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";
const CHATGPT: &str =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot";

static BUILTIN: LazyLock<Classifier> = LazyLock::new(Classifier::builtin);

fn judge(classifier: &Classifier, probe: &Probe<'_>) -> Verdict {
    classifier.verdict(&classifier.facts(probe))
}

fn verdict(user_agent: &str) -> Verdict {
    judge(&BUILTIN, &Probe::of(user_agent))
}

/// `class rule` of a verdict.
fn told(verdict: &Verdict) -> String {
    assert_eq!(verdict.rule.starts_with("browser"), verdict.evidence == Evidence::Browser, "{verdict:?}");
    format!("{} {}", verdict.class.as_str(), verdict.rule)
}
