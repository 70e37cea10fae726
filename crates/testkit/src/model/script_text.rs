//! A script as it is written in `model.toml`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::script::{Arguments, Break, Call, Fault, FaultKind, Reply, Script, Stop, Times, Tokens};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptText {
    context_limit: Option<usize>,
    step: Vec<StepText>,
}

/// A reply, or a fault if it has a `fault` or is said `once`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    thought: Option<String>,
    text: Option<String>,
    #[serde(default)]
    call: Vec<CallText>,
    usage: Option<Tokens>,
    stop: Option<Stop>,
    delay_ms: Option<u64>,
    #[serde(default)]
    repeat: bool,
    #[serde(default)]
    once: bool,
    fault: Option<FaultName>,
    status: Option<u16>,
    headers: Option<BTreeMap<String, String>>,
    after: Option<usize>,
    times: Option<usize>,
    #[serde(default)]
    forever: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallText {
    tool: String,
    args: Option<Value>,
    raw: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum FaultName {
    Status,
    ContextOverflow,
    Empty,
    Refusal,
    Error,
    Overloaded,
    Garbage,
    Drop,
    End,
    Stall,
}

impl Script {
    /// Reads a script; says what is wrong with it if it cannot.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: ScriptText = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut script = Self::new();
        if let Some(limit) = read.context_limit {
            script = script.context_limit(limit);
        }
        let steps = read.step.len();
        for (number, step) in read.step.into_iter().enumerate() {
            let named = |problem: String| format!("step {}: {problem}", number + 1);
            if step.repeat && number + 1 != steps {
                return Err(named("only the last step can repeat".to_owned()));
            }
            script = match step.fault().map_err(named)? {
                Ok(fault) => script.fault(fault),
                Err(step) => script.reply(step.reply().map_err(named)?),
            };
        }
        if script.replies() == 0 && steps == 0 {
            return Err("there is no step".to_owned());
        }
        Ok(script)
    }
}

impl StepText {
    /// The fault that it is; the step itself if it is a reply.
    fn fault(mut self) -> Result<Result<Fault, Self>, String> {
        let times = match (self.forever, self.times) {
            (true, Some(_)) => return Err("`times` and `forever` exclude each other".to_owned()),
            (true, None) => Times::Forever,
            (false, times) => Times::Count(times.unwrap_or(1)),
        };
        let Some(name) = self.fault else {
            if let Some(stray) = self.stray_fault_key() {
                return Err(format!("`{stray}` belongs to a fault"));
            }
            if !self.once && (self.forever || self.times.is_some()) {
                return Err("`times` and `forever` belong to a fault or to what is said `once`".to_owned());
            }
            return match self.once {
                true => Ok(Ok(Fault { kind: FaultKind::Say(self.reply()?), times })),
                false => Ok(Err(self)),
            };
        };
        if !self.call.is_empty()
            || self.thought.is_some()
            || self.stop.is_some()
            || self.usage.is_some()
            || self.repeat
            || self.once
        {
            return Err("a fault says nothing".to_owned());
        }
        if self.text.is_some() && name != FaultName::Refusal {
            return Err("only a refusal has a text".to_owned());
        }
        if name != FaultName::Status && (self.status.is_some() || self.headers.is_some()) {
            return Err("only the fault `status` has a status and headers".to_owned());
        }
        let after = self.after.take();
        let breaks = |what| FaultKind::Break(after.unwrap_or(0), what);
        let kind = match name {
            FaultName::Status => {
                let status = self.status.ok_or("the fault `status` needs a `status`")?;
                FaultKind::Status(status, self.headers.take().unwrap_or_default().into_iter().collect())
            }
            FaultName::ContextOverflow => FaultKind::ContextOverflow,
            FaultName::Empty => FaultKind::Empty,
            FaultName::Refusal => FaultKind::Refusal(self.text.take().unwrap_or_default()),
            FaultName::Error => breaks(Break::Error),
            FaultName::Overloaded => breaks(Break::Overloaded),
            FaultName::Garbage => breaks(Break::Garbage),
            FaultName::Drop => breaks(Break::Drop),
            FaultName::End => breaks(Break::End),
            FaultName::Stall => breaks(Break::Stall),
        };
        if after.is_some() && !matches!(kind, FaultKind::Break(..)) {
            return Err("`after` belongs to a fault in the middle of a stream".to_owned());
        }
        Ok(Ok(Fault { kind, times }))
    }

    fn stray_fault_key(&self) -> Option<&'static str> {
        let keys =
            [("status", self.status.is_some()), ("headers", self.headers.is_some()), ("after", self.after.is_some())];
        keys.into_iter().find_map(|(key, given)| given.then_some(key))
    }

    fn reply(self) -> Result<Reply, String> {
        let calls = self.call.into_iter().map(CallText::call).collect::<Result<Vec<_>, _>>()?;
        let text = self.text.unwrap_or_default();
        if text.is_empty() && calls.is_empty() {
            return Err("it neither says nor calls anything; use `fault = \"empty\"` for an empty answer".to_owned());
        }
        Ok(Reply {
            thought: self.thought.unwrap_or_default(),
            text,
            calls,
            usage: self.usage.unwrap_or_default(),
            stop: self.stop,
            delay: Duration::from_millis(self.delay_ms.unwrap_or(0)),
            repeat: self.repeat,
        })
    }
}

impl CallText {
    fn call(self) -> Result<Call, String> {
        let arguments = match (self.args, self.raw) {
            (Some(args), None) => Arguments::Json(args),
            (None, Some(raw)) => Arguments::Raw(raw),
            (None, None) => Arguments::Json(Value::Object(serde_json::Map::new())),
            (Some(_), Some(_)) => return Err(format!("the call of {} has both `args` and `raw`", self.tool)),
        };
        Ok(Call { name: self.tool, arguments })
    }
}
