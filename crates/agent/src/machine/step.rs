use copydesk_domain::Budget;

use super::{MOST_CALLS, ToolResult};
use crate::said::{Call, Finish, Ran, Said, Stop};
use crate::tools;

pub(crate) enum Event {
    Start,
    /// The user has written more. Only before a call.
    Prompted(Vec<String>),
    /// The model has answered.
    Answered {
        said: Said,
        /// Tokens in and out.
        tokens: u64,
        /// US dollars.
        cost: f64,
    },
    /// The provider finds the talk too long.
    TooLong,
    /// The calls were run.
    Ran {
        /// What came out, in the order of the calls.
        outcomes: Vec<Ran>,
        /// Whether anything is different from the beginning.
        edited: bool,
    },
    /// The change was checked.
    Checked(Vec<String>),
}

/// What is to be done next. There is always exactly one thing, so nothing can hang.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    Call,
    Run(Vec<Call>),
    Check,
    /// The work is done.
    Finish(Finish),
    /// The work cannot be done; why, as one sentence.
    Fail(String),
}

/// Where the machine ends by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Answers of the model a round of the job.
    pub(crate) turns: u32,
    /// Tokens in and out a round of the job.
    pub(crate) tokens: u64,
    /// US dollars a round of the job.
    pub(crate) cost: Option<Budget>,
    /// How large the talk may be.
    pub(crate) context_bytes: usize,
    /// Answers of the model to repair what the checks find.
    pub(crate) repair_turns: u32,
}

/// Where the machine stands.
pub(super) enum Phase {
    New,
    Calling,
    Running(Running),
    Checking { id: Option<String>, results: Vec<ToolResult>, finish: Finish },
    Over,
}

/// While the model may repair what it has broken.
pub(super) struct Repair {
    pub(super) left: u32,
    pub(super) finish: Finish,
}

/// The calls of one answer.
pub(super) struct Running {
    pub(super) all: Vec<Call>,
    pub(super) calls: Vec<Call>,
    /// The one that wants to end the work: its place, and what it says or what is wrong with it.
    pub(super) finish: Option<(usize, Result<Finish, String>)>,
    /// Whether the answer was cut off.
    pub(super) cut_off: bool,
}

impl Running {
    pub(super) fn of(said: &Said) -> Self {
        let all = &said.calls;
        let is_finish = |call: &Call| call.name == tools::FINISH;
        let finish = all.iter().take(MOST_CALLS).position(is_finish);
        Self {
            all: all.clone(),
            cut_off: said.stop == Stop::Length,
            calls: all.iter().take(MOST_CALLS).filter(|call| !is_finish(call)).cloned().collect(),
            finish: finish.and_then(|at| Some((at, tools::read_finish(&all.get(at)?.arguments)))),
        }
    }

    /// Pairs each call with its result. That of the call that ends the work is yet to be filled in.
    pub(super) fn results(&self, outcomes: Vec<Ran>) -> Vec<ToolResult> {
        let mut outcomes = outcomes.into_iter();
        let result = |(at, call): (usize, &Call)| {
            let text = if at >= MOST_CALLS {
                format!("Not run: only the first {MOST_CALLS} calls of an answer are.")
            } else if call.name == tools::FINISH {
                "Not done: call `finish` once.".to_owned()
            } else {
                outcomes.next().map_or_else(|| "Not run.".to_owned(), |ran| ran.text)
            };
            ToolResult { id: call.id.clone(), name: call.name.clone(), text }
        };
        self.all.iter().enumerate().map(result).collect()
    }

    /// The id of the call that wants to end the work, and what it says or what is wrong with it.
    pub(super) fn asked(&self) -> Option<(String, Result<Finish, String>)> {
        let (at, asked) = self.finish.as_ref()?;
        Some((self.all.get(*at)?.id.clone(), asked.clone()))
    }

    /// What was called with what result, to see when the same is done again.
    pub(super) fn signature(&self, results: &[ToolResult]) -> String {
        let one = |(call, result): (&Call, &ToolResult)| format!("{}{}{}\0", call.name, call.arguments, result.text);
        self.all.iter().zip(results).map(one).collect()
    }
}
