//! The turn machine: it is told what happened and says what is to be done next. No runtime, no clock, no network, so
//! that the same events always lead to the same end; that is what makes it possible to go on after a crash.

mod step;
mod talk;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use copydesk_domain::Dollars;
pub(crate) use step::{Effect, Event, Limits};
use step::{Phase, Repair, Running};
pub(crate) use talk::{Item, Talk, ToolResult};

use crate::said::{Finish, Ran, Said, Stop};
use crate::text::{one_line, short};
use crate::tools;

/// How many times in a row a model may do something that makes no sense.
const MOST_SLIPS: u32 = 3;
/// How many times in a row it may do the same with the same result before it is told, and before it is stopped.
const TELL_REPEATS: u32 = 3;
const MOST_REPEATS: u32 = 5;
/// How many calls of one answer are run.
pub(crate) const MOST_CALLS: usize = 100;
/// When so many answers are left, the model is told.
const WARN_TURNS: u32 = 3;
/// How many bytes of findings a model is shown.
const MOST_FINDINGS: usize = 8_000;

const NUDGE: &str = "You called no tool. If the work is done, or if nothing has to be changed, call `finish` with a \
                     summary. If it is not, go on with the tools.";
const CUT_OFF: &str = "Your answer was cut off because it was too long. Do less in one answer: edit one place at a \
                       time with `edit_file`, and write long files in parts.";
const EMPTY: &str = "Your answer was empty. Call a tool, or call `finish` with a summary.";
const PAUSED: &str = "Go on.";
const REFUSED: &str = "You did not answer the request. It is about editing documentation with the tools given. If you \
                       cannot do it, call `finish` and say why.";
const REPEATED: &str = "You have made this same call three times with the same result. It will not change. Do \
                        something else, or call `finish`.";

/// The state of one round of a job.
pub(crate) struct Machine {
    talk: Talk,
    limits: Limits,
    phase: Phase,
    turns: u32,
    tokens: u64,
    cost: f64,
    /// How often in a row the model has done something that makes no sense.
    slips: u32,
    nudged: bool,
    edited: bool,
    squeezed: bool,
    last: String,
    repeats: u32,
    repair: Option<Repair>,
    ids: HashSet<String>,
}

impl Machine {
    /// A machine that begins with `talk`.
    pub(crate) fn new(mut talk: Talk, limits: Limits) -> Self {
        let calls = talk.items().iter().filter_map(|item| match item {
            Item::Model(said) => Some(&said.calls),
            _ => None,
        });
        let ids = calls.flatten().map(|call| call.id.clone()).collect();
        talk.fit(limits.context_bytes);
        Self {
            talk,
            limits,
            phase: Phase::New,
            turns: 0,
            tokens: 0,
            cost: 0.0,
            slips: 0,
            nudged: false,
            edited: false,
            squeezed: false,
            last: String::new(),
            repeats: 0,
            repair: None,
            ids,
        }
    }

    /// What the model is to be shown with [`Effect::Call`].
    pub(crate) fn talk(&self) -> &Talk {
        &self.talk
    }

    /// Says what is to be done after something has happened.
    pub(crate) fn handle(&mut self, event: Event) -> Effect {
        match (std::mem::replace(&mut self.phase, Phase::Over), event) {
            (Phase::New, Event::Start) => self.call(),
            (Phase::Calling, Event::Prompted(prompts)) => self.prompted(&prompts),
            (Phase::Calling, Event::TooLong) => self.too_long(),
            (Phase::Calling, Event::Answered { said, tokens, cost }) => self.answered(said, tokens, cost),
            (Phase::Running(running), Event::Ran { outcomes, edited }) => {
                self.edited = edited;
                self.ran(running, outcomes)
            }
            (Phase::Checking { id, results, finish }, Event::Checked(findings)) => {
                self.checked(id, results, finish, &findings)
            }
            _ => Effect::Fail("The engine lost track of the conversation.".to_owned()),
        }
    }

    /// Asks the model, unless a limit is reached.
    fn call(&mut self) -> Effect {
        if let Some(repair) = &self.repair
            && repair.left == 0
        {
            return Effect::Finish(repair.finish.clone());
        }
        if let Some(sentence) = self.reached() {
            return self.give_up(sentence);
        }
        if self.limits.turns - self.turns == WARN_TURNS && self.turns > 0 {
            let note = format!("You have {WARN_TURNS} answers left. Bring the work to an end and call `finish`.");
            self.talk.user(&note);
        }
        self.ask()
    }

    fn ask(&mut self) -> Effect {
        self.talk.fit(self.limits.context_bytes);
        self.phase = Phase::Calling;
        Effect::Call
    }

    /// What is new is work like any other: the model gets all the answers for it, not only those that are left for the
    /// repair, and what it had finished before is not the end any more.
    fn prompted(&mut self, prompts: &[String]) -> Effect {
        self.repair = None;
        self.nudged = false;
        for prompt in prompts {
            self.talk.user(prompt);
        }
        self.ask()
    }

    /// The first time that the provider finds the talk too long it is cut to half; the estimate was wrong.
    fn too_long(&mut self) -> Effect {
        if self.squeezed {
            return self.give_up("The conversation is too long for the model's context.".to_owned());
        }
        self.squeezed = true;
        self.limits.context_bytes = self.limits.context_bytes.min(self.talk.bytes()) / 2;
        self.ask()
    }

    fn reached(&self) -> Option<String> {
        let Limits { turns, tokens, cost, .. } = self.limits;
        if self.turns >= turns {
            return Some(format!("The model did not come to an end within {turns} answers."));
        }
        if self.tokens >= tokens {
            return Some(format!("The job has used {} tokens for this prompt; {tokens} are allowed.", self.tokens));
        }
        let budget = cost.filter(|budget| self.cost >= budget.most.amount())?;
        let cost = Dollars::rounded(self.cost);
        Some(format!("The job has cost {cost} US dollars for this prompt; {budget}."))
    }

    /// Ends without the model's word for it. A change that was finished and was only to be repaired is kept.
    fn give_up(&mut self, sentence: String) -> Effect {
        match &self.repair {
            Some(repair) => Effect::Finish(repair.finish.clone()),
            None => Effect::Fail(sentence),
        }
    }

    fn answered(&mut self, mut said: Said, tokens: u64, cost: f64) -> Effect {
        self.turns += 1;
        self.tokens = self.tokens.saturating_add(tokens);
        self.cost += cost;
        if let Some(repair) = &mut self.repair {
            repair.left = repair.left.saturating_sub(1);
        }
        if said.calls.is_empty() {
            return self.spoke(said);
        }
        said.name_calls(&mut self.ids, self.turns);
        let running = Running::of(&said);
        self.talk.model(said);
        if running.calls.is_empty() {
            return self.ran(running, Vec::new());
        }
        let calls = running.calls.clone();
        self.phase = Phase::Running(running);
        Effect::Run(calls)
    }

    /// An answer without calls.
    fn spoke(&mut self, said: Said) -> Effect {
        let text = said.text.trim().to_owned();
        match said.stop {
            Stop::Length => self.slip(said, CUT_OFF, "The model's answers were cut off again and again."),
            Stop::Refused => {
                let sentence = match one_line(&text, 300) {
                    empty if empty.is_empty() => "The model refused the request.".to_owned(),
                    text => format!("The model refused the request: {text}"),
                };
                self.slip(said, REFUSED, &sentence)
            }
            Stop::Paused => self.slip(said, PAUSED, "The model paused again and again."),
            Stop::Done if text.is_empty() => self.slip(said, EMPTY, "The model gave nothing but empty answers."),
            Stop::Done => self.stopped_calling(said, text),
        }
    }

    /// Text alone: the work is done, or the model has forgotten that it has tools.
    fn stopped_calling(&mut self, said: Said, text: String) -> Effect {
        if let Some(repair) = &self.repair {
            return Effect::Finish(repair.finish.clone());
        }
        if self.nudged || (!self.edited && says_nothing_to_do(&text)) {
            let finish = Finish { summary: text, ..Finish::default() };
            return self.finish(None, Vec::new(), finish);
        }
        self.nudged = true;
        self.talk.model(said);
        self.talk.user(NUDGE);
        self.call()
    }

    /// Meets an answer that makes no sense with a correction, or with the end if there were too many.
    fn slip(&mut self, said: Said, correction: &str, sentence: &str) -> Effect {
        self.slips += 1;
        if self.slips >= MOST_SLIPS {
            return self.give_up(sentence.to_owned());
        }
        if !said.text.trim().is_empty() {
            self.talk.model(said);
        }
        self.talk.user(correction);
        self.call()
    }

    /// After the calls of an answer were run; `outcomes` are theirs, in order.
    fn ran(&mut self, running: Running, outcomes: Vec<Ran>) -> Effect {
        let failed = outcomes.iter().any(|ran| !ran.ok);
        let made_sense = outcomes.iter().any(|ran| ran.valid) || matches!(running.finish, Some((_, Ok(_))));
        let mut results = running.results(outcomes);
        if let Some(sentence) = self.watch(&running, &mut results, made_sense) {
            return self.give_up(sentence);
        }
        match running.asked() {
            Some((id, Ok(finish))) if !failed => self.finish(Some(id), results, finish),
            Some((id, asked)) => {
                let why = asked.err().unwrap_or_else(|| {
                    "Not finished: another call of the same answer failed. Look at its result first.".to_owned()
                });
                set_result(&mut results, &id, why);
                self.go_on(results, running.cut_off)
            }
            None => self.go_on(results, running.cut_off),
        }
    }

    fn go_on(&mut self, results: Vec<ToolResult>, cut_off: bool) -> Effect {
        self.talk.results(results);
        if cut_off {
            self.talk.user(CUT_OFF);
        }
        self.call()
    }

    /// Counts calls that make no sense and calls that are made again and again; says so when it is enough.
    fn watch(&mut self, running: &Running, results: &mut [ToolResult], made_sense: bool) -> Option<String> {
        if made_sense {
            self.slips = 0;
            self.nudged = false;
        } else {
            self.slips += 1;
        }
        if self.slips >= MOST_SLIPS {
            return Some(
                "The model called tools that do not exist, or called them wrongly, again and again.".to_owned(),
            );
        }
        let signature = running.signature(results);
        self.repeats = if signature == self.last { self.repeats + 1 } else { 1 };
        self.last = signature;
        if self.repeats >= MOST_REPEATS {
            let name = running.all.first().map_or("a tool", |call| call.name.as_str());
            let name = one_line(name, 60);
            return Some(format!("The model was going in circles: it called `{name}` again and again."));
        }
        if self.repeats >= TELL_REPEATS
            && let Some(result) = results.last_mut()
        {
            result.text = format!("{}\n\n{REPEATED}", result.text);
        }
        None
    }

    /// The model says that it is done. A change is checked once before it is believed.
    fn finish(&mut self, id: Option<String>, results: Vec<ToolResult>, mut finish: Finish) -> Effect {
        finish.summary = short(finish.summary.trim(), tools::LONGEST_SUMMARY);
        finish.title = if self.edited { title_of(&finish) } else { String::new() };
        if !self.edited || self.repair.is_some() {
            return Effect::Finish(finish);
        }
        self.phase = Phase::Checking { id, results, finish };
        Effect::Check
    }

    fn checked(
        &mut self,
        id: Option<String>,
        mut results: Vec<ToolResult>,
        finish: Finish,
        findings: &[String],
    ) -> Effect {
        let left = self.limits.repair_turns;
        if findings.is_empty() || left == 0 {
            return Effect::Finish(finish);
        }
        let list = tools::list_findings(findings, MOST_FINDINGS);
        let note = format!(
            "Not finished yet. The docs checks find problems that were not there before this change:\n{list}\nRepair \
             what your change has broken, then call `finish` again. You have {left} answers for that."
        );
        match id {
            Some(id) => {
                set_result(&mut results, &id, note);
                self.talk.results(results);
            }
            None => {
                let text = finish.summary.clone();
                self.talk.model(Said { text, ..Said::default() });
                self.talk.user(&note);
            }
        }
        self.repair = Some(Repair { left, finish });
        self.call()
    }
}

fn set_result(results: &mut [ToolResult], id: &str, text: String) {
    if let Some(result) = results.iter_mut().find(|result| result.id == id) {
        result.text = text;
    }
}

/// The title, or the first line of the summary if there is none.
fn title_of(finish: &Finish) -> String {
    let given = one_line(&finish.title, 120);
    if !given.is_empty() {
        return given;
    }
    let line = finish.summary.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = one_line(line.trim_start_matches(['#', '*', '-', ' ']), 72);
    if line.is_empty() { "Update documentation".to_owned() } else { line }
}

/// Whether a model says in plain words that there is nothing to do. In doubt it does not: then it is asked once more.
fn says_nothing_to_do(text: &str) -> bool {
    const STARTS: [&str; 3] = ["no change", "no edit", "nothing "];
    const WORDS: [&str; 12] = [
        "no change is",
        "no changes are",
        "no changes were",
        "no change needed",
        "no changes needed",
        "no edits are",
        "no updates are",
        "nothing to change",
        "nothing to do",
        "nothing to edit",
        "nothing needs",
        "nothing has to",
    ];
    let text = short(text, 4_000).to_lowercase();
    STARTS.iter().any(|start| text.starts_with(start)) || WORDS.iter().any(|words| text.contains(words))
}
