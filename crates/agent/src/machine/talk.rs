use crate::said::{Call, Said};
use crate::text::head;

/// How many of the newest results are kept as they are when room is made.
const KEPT_RESULTS: usize = 2;
/// How many of the newest answers are kept when room is made.
const KEPT_ANSWERS: usize = 3;
const DROPPED: &str = "(left out to save space; call the tool again if you need this)";
const SKIPPED: &str = "(Some earlier steps are left out here to save space.)";
const GO_ON: &str = "(Go on.)";

/// What was said so far, in a form that every provider takes: it begins with the user; each call of a tool has exactly
/// one result, directly after the answer with the calls; neither two answers nor two messages of the user are adjacent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Talk {
    items: Vec<Item>,
}

/// One piece of a talk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// From the user, or from Copydesk in the user's place.
    User(String),
    Model(Said),
    /// The results of the model's calls, in the order of the calls.
    Results(Vec<ToolResult>),
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolResult {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Talk {
    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Adds a message of the user. It joins the one before, if that is the user's as well.
    pub(crate) fn user(&mut self, text: &str) {
        match self.items.last_mut() {
            Some(Item::User(before)) => {
                before.push_str("\n\n");
                before.push_str(text);
            }
            _ => self.items.push(Item::User(text.to_owned())),
        }
    }

    /// Adds an answer that is not empty. The results of its calls must come next.
    pub(crate) fn model(&mut self, said: Said) {
        if matches!(self.items.last(), None | Some(Item::Model(_))) {
            self.user(GO_ON);
        }
        self.items.push(Item::Model(said));
    }

    /// Adds the results of the calls of the last answer.
    pub(crate) fn results(&mut self, results: Vec<ToolResult>) {
        self.items.push(Item::Results(results));
    }

    /// About how much room it takes in a request.
    pub(crate) fn bytes(&self) -> usize {
        self.items.iter().map(item_bytes).sum()
    }

    /// Makes room if there is too little: old results first, then old answers, then what is long in the
    /// newest ones. It makes
    /// more than is needed, so that it does not have to be done for every call, which would make caches useless.
    pub(crate) fn fit(&mut self, most: usize) {
        if self.bytes() <= most {
            return;
        }
        let aim = most / 4 * 3;
        self.drop_old_results(aim);
        self.drop_old_answers(aim);
        self.shorten_calls(most);
        self.shorten_results(most);
    }

    fn drop_old_results(&mut self, aim: usize) {
        let mut bytes = self.bytes();
        let count = self.items.iter().filter(|item| matches!(item, Item::Results(_))).count();
        let old = self.items.iter_mut().filter_map(results_of).take(count.saturating_sub(KEPT_RESULTS));
        for result in old.flatten() {
            if bytes <= aim {
                return;
            }
            if result.text.len() > DROPPED.len() {
                bytes -= result.text.len() - DROPPED.len();
                DROPPED.clone_into(&mut result.text);
            }
        }
    }

    fn drop_old_answers(&mut self, aim: usize) {
        let mut bytes = self.bytes();
        while bytes > aim {
            let answers = self.items.iter().filter(|item| matches!(item, Item::Model(_))).count();
            let first = self.items.iter().position(|item| matches!(item, Item::Model(_)));
            let Some(at) = first.filter(|_| answers > KEPT_ANSWERS) else { return };
            self.remove_answer(at);
            bytes = self.bytes();
        }
    }

    /// Removes an answer with its results and says so where it stood.
    fn remove_answer(&mut self, at: usize) {
        let with_results = matches!(self.items.get(at + 1), Some(Item::Results(_)));
        self.items.drain(at..at + 1 + usize::from(with_results));
        let after = match self.items.get(at) {
            Some(Item::User(_)) => Some(self.items.remove(at)),
            _ => None,
        };
        if let Some(Item::User(before)) = at.checked_sub(1).and_then(|at| self.items.get_mut(at)) {
            if !before.contains(SKIPPED) {
                before.push_str("\n\n");
                before.push_str(SKIPPED);
            }
            if let Some(Item::User(text)) = after {
                before.push_str("\n\n");
                before.push_str(&text);
            }
        }
    }

    fn shorten_results(&mut self, most: usize) {
        let bytes = self.bytes();
        let held: usize = self.items.iter_mut().filter_map(results_of).flatten().map(|result| result.text.len()).sum();
        let count = self.items.iter_mut().filter_map(results_of).flatten().count();
        if bytes <= most || count == 0 {
            return;
        }
        let share = (held.saturating_sub(bytes - most) / count).saturating_sub(DROPPED.len() + 1).max(100);
        for result in self.items.iter_mut().filter_map(results_of).flatten() {
            if result.text.len() > share + DROPPED.len() + 1 {
                result.text = format!("{}\n{DROPPED}", head(&result.text, share));
            }
        }
    }

    /// Cuts long arguments of calls, oldest first: a model that writes long files fills the room by itself.
    fn shorten_calls(&mut self, most: usize) {
        let mut bytes = self.bytes();
        for item in &mut self.items {
            let Item::Model(said) = item else { continue };
            if bytes <= most {
                return;
            }
            let before = said.bytes();
            said.calls.iter_mut().for_each(Call::shorten);
            bytes -= before.saturating_sub(said.bytes());
        }
    }
}

fn results_of(item: &mut Item) -> Option<&mut Vec<ToolResult>> {
    match item {
        Item::Results(results) => Some(results),
        _ => None,
    }
}

fn item_bytes(item: &Item) -> usize {
    match item {
        Item::User(text) => text.len() + 30,
        Item::Model(said) => said.bytes() + 30,
        Item::Results(results) => results.iter().map(|result| result.text.len() + result.id.len() + 60).sum(),
    }
}

#[cfg(test)]
impl Talk {
    /// Says what is wrong with it, if anything is.
    pub(crate) fn flaw(&self) -> Option<String> {
        if !matches!(self.items.first(), Some(Item::User(_))) {
            return Some("does not begin with the user".to_owned());
        }
        for (at, item) in self.items.iter().enumerate() {
            let next = self.items.get(at + 1);
            let flaw = match item {
                Item::User(text) if text.trim().is_empty() => Some("an empty message of the user"),
                Item::User(_) => matches!(next, Some(Item::User(_) | Item::Results(_))).then_some("after the user"),
                Item::Model(said) if said.calls.is_empty() => {
                    let empty = said.text.trim().is_empty();
                    (empty || !matches!(next, None | Some(Item::User(_)))).then_some("an answer without calls")
                }
                Item::Model(said) => {
                    let ids: Vec<_> = said.calls.iter().map(|call| call.id.as_str()).collect();
                    match next {
                        Some(Item::Results(results)) => {
                            let of: Vec<_> = results.iter().map(|result| result.id.as_str()).collect();
                            (of != ids).then_some("results of other calls")
                        }
                        _ => Some("calls without results"),
                    }
                }
                Item::Results(_) => matches!(next, Some(Item::Results(_))).then_some("results twice"),
            };
            if let Some(flaw) = flaw {
                return Some(format!("{flaw} at {at}: {:?}", self.items));
            }
        }
        let mut ids: Vec<_> = self
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Model(said) => Some(said.calls.iter().map(|call| call.id.as_str())),
                _ => None,
            })
            .flatten()
            .collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        let fine = |id: &&str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        (ids.len() != count || !ids.iter().all(fine)).then(|| format!("ids: {ids:?}"))
    }
}
