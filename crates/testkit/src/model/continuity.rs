use super::request::Item;

/// How a request goes on from the one before it in its conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Continuation {
    /// How many parts of the request before are no longer there.
    pub dropped: usize,
    /// How many answers of tools were cut down or replaced by a note.
    pub shortened: usize,
    /// How many parts are new.
    pub added: usize,
}

/// A note that stands for the answer of a tool is at most so long, be the answer ever so short.
const LONGEST_NOTE: usize = 200;

/// Finds `before` again in `now`: all that the user said, word for word and in order; what the model said and called and
/// what tools answered, unless it was dropped or an answer was cut down. A note may stand where something was dropped,
/// and what the user said on both sides of a gap may have become one message. Gives the parts that are new as well;
/// says what cannot be found if `now` does not go on from `before`.
pub(super) fn compare<'a>(before: &[Item], now: &'a [Item]) -> Result<(Continuation, &'a [Item]), String> {
    let mut search = Search { now, at: 0, offset: 0, noted: false, found: Continuation::default() };
    for item in before {
        match item {
            Item::User(text) => search.find_user(text)?,
            _ => search.find_other(item),
        }
    }
    if search.noted && search.found.dropped == 0 {
        return Err("the user's earlier words were changed".to_owned());
    }
    let added = search.rest();
    // What was dropped cannot come back: then it was moved, and a cache is of no use from there on. Calls and answers
    // have ids; words may well be said twice.
    let has_id = |item: &&Item| matches!(item, Item::Call { .. } | Item::Result { .. });
    match added.iter().filter(has_id).find(|item| before.contains(item)) {
        Some(item) => Err(format!("it holds in another place {}", brief(item))),
        None => Ok((search.found, added)),
    }
}

struct Search<'a> {
    now: &'a [Item],
    /// The part that is looked at, and how much of it was found already if it is the user's.
    at: usize,
    offset: usize,
    /// Whether words of the user were passed over that were not there before.
    noted: bool,
    found: Continuation,
}

impl<'a> Search<'a> {
    fn find_user(&mut self, old: &str) -> Result<(), String> {
        let old = old.trim();
        while let Some(Item::User(text)) = self.now.get(self.at) {
            let place = text[self.offset..].find(old);
            match place {
                Some(at) if text[self.offset..self.offset + at].trim().is_empty() || self.found.dropped > 0 => {
                    self.offset += at + old.len();
                    return Ok(());
                }
                _ => self.pass_user(),
            }
        }
        Err(format!("it should still hold {}", brief(&Item::User(old.to_owned()))))
    }

    fn find_other(&mut self, old: &Item) {
        // Messages of the user may lie before it: the rest of one that was found, and notes.
        let ahead = self.now[self.at..].iter().take_while(|item| matches!(item, Item::User(_))).count();
        match self.now.get(self.at + ahead).and_then(|new| sameness(old, new)) {
            Some(shortened) => {
                (0..ahead).for_each(|_| self.pass_user());
                self.at += 1;
                self.found.shortened += usize::from(shortened);
            }
            None => self.found.dropped += 1,
        }
    }

    fn pass_user(&mut self) {
        self.noted |= !self.rest_of_user().is_empty();
        self.at += 1;
        self.offset = 0;
    }

    fn rest_of_user(&self) -> &'a str {
        match self.now.get(self.at) {
            Some(Item::User(text)) => text[self.offset..].trim(),
            _ => "",
        }
    }

    /// The parts behind everything that was found.
    fn rest(&mut self) -> &'a [Item] {
        let begun = self.offset > 0;
        let added = &self.now[self.at + usize::from(begun)..];
        self.found.added = added.len() + usize::from(begun && !self.rest_of_user().is_empty());
        added
    }
}

/// Whether both are the same part; and if so, whether a note stands for it now.
fn sameness(old: &Item, new: &Item) -> Option<bool> {
    match (old, new) {
        (Item::Result { id: old_id, text: old }, Item::Result { id, text }) if old_id == id => {
            if old == text {
                Some(false)
            } else {
                (text.len() < old.len().max(LONGEST_NOTE)).then_some(true)
            }
        }
        (Item::Assistant(old), Item::Assistant(new)) => (old.trim() == new.trim()).then_some(false),
        _ => (old == new).then_some(false),
    }
}

/// Whether the parts that were added begin with all of `reply`.
pub(super) fn begins_with(added: &[Item], reply: &[Item]) -> bool {
    added.len() >= reply.len() && reply.iter().zip(added).all(|(said, kept)| sameness(said, kept).is_some())
}

/// A part in a few words.
fn brief(item: &Item) -> String {
    let (who, text) = match item {
        Item::User(text) => ("the user's", text.clone()),
        Item::Assistant(text) => ("the model's", text.clone()),
        Item::Call { name, arguments, .. } => ("the call", format!("{name} {arguments}")),
        Item::Result { id, text } => ("the answer", format!("{id} {text}")),
    };
    let short: String = text.chars().take(120).collect();
    format!("{who} {short:?}")
}
