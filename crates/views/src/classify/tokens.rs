use super::MAX_REDUCED;
use super::agents::Agent;
use crate::Class;

/// Finds the agents of the list in a reduced user agent. Tokens are whole words, so only where a word begins is looked,
/// and only for the tokens that begin with the same two letters.
#[derive(Debug)]
pub(super) struct Tokens {
    /// By the two letters, the best first.
    places: Vec<Vec<Token>>,
}

#[derive(Debug, Clone)]
struct Token {
    /// The first eight bytes, and which of them it has: most other words differ there.
    head: (u64, u64),
    /// All of it in small letters.
    text: Box<[u8]>,
    rank: Rank,
    agent: usize,
    /// Whether it is known after a hyphen: `python-httpx` is not httpx, but `Some-Diffbot` is Diffbot.
    joins: bool,
}

/// The kind first, then the longer token, then the earlier entry: never the order in the user agent.
type Rank = (u8, usize, usize);

const PLACES: usize = 1024;

/// Each pair of letters has its own place.
fn place(first: u8, second: u8) -> usize {
    (usize::from(first & 31) << 5) | usize::from(second & 31)
}

/// A text of no more than [`MAX_REDUCED`] bytes in small letters, with room to read eight bytes anywhere.
fn lowered(text: &[u8]) -> [u8; MAX_REDUCED + 8] {
    let mut lower = [0; MAX_REDUCED + 8];
    for (to, from) in lower.iter_mut().zip(text.iter().take(MAX_REDUCED)) {
        *to = from.to_ascii_lowercase();
    }
    lower
}

fn head(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |first| u64::from_le_bytes(*first))
}

impl Tokens {
    pub(super) fn new(agents: &[Agent]) -> Self {
        let mut places = vec![Vec::new(); PLACES];
        for (at, agent) in agents.iter().enumerate() {
            for token in &agent.tokens {
                let text = token.to_ascii_lowercase().into_bytes();
                let [first, second, ..] = *text else { continue };
                let mask = if text.len() < 8 { (1 << (8 * text.len())) - 1 } else { u64::MAX };
                let rank = (rank(agent.class), usize::MAX - text.len(), at);
                places[place(first, second)].push(Token {
                    head: (head(&lowered(&text), 0) & mask, mask),
                    joins: names_a_crawler(&text),
                    text: text.into(),
                    rank,
                    agent: at,
                });
            }
        }
        for tokens in &mut places {
            tokens.sort_by_key(|token| token.rank);
        }
        Self { places }
    }

    /// The agent that `user_agent` names, as its place in the list.
    pub(super) fn find(&self, user_agent: &str) -> Option<usize> {
        let lower = lowered(user_agent.as_bytes());
        let bytes = &lower[..user_agent.len().min(MAX_REDUCED)];
        let mut best: Option<&Token> = None;
        let mut before = b' ';
        for (at, pair) in bytes.windows(2).enumerate() {
            if !before.is_ascii_alphanumeric() {
                let here = head(&lower, at);
                let joined = matches!(before, b'-' | b'_');
                let better = |token: &&Token| best.is_none_or(|best| token.rank < best.rank);
                let found = self.places[place(pair[0], pair[1])].iter().take_while(better).find(|token| {
                    here & token.head.1 == token.head.0 && (token.joins || !joined) && is_at(token, bytes, at)
                });
                best = found.filter(|_| !is_host(bytes, at)).or(best);
            }
            before = pair[0];
        }
        best.map(|token| token.agent)
    }
}

/// Whether `token` is at this place, ends where a word does, and is not the beginning of the name of another agent.
fn is_at(token: &Token, bytes: &[u8], at: usize) -> bool {
    let end = at + token.text.len();
    bytes.get(at..end) == Some(&token.text)
        && bytes
            .get(end)
            .is_none_or(|after| !after.is_ascii_alphanumeric() && !(*after == b'-' && is_other_agent(&bytes[end..])))
}

/// Operators name one agent after the other: `Some-User` is not `Some`, and says more about itself.
fn is_other_agent(rest: &[u8]) -> bool {
    [&b"-user"[..], b"-searchbot", b"-cli", b"-code"]
        .iter()
        .any(|end| rest.strip_prefix(*end).is_some_and(|after| !after.first().is_some_and(u8::is_ascii_alphanumeric)))
}

fn names_a_crawler(token: &[u8]) -> bool {
    let ends = |end: &[u8]| token.len() > end.len() && token.ends_with(end);
    ends(b"bot") || ends(b"spider") || ends(b"crawler") || ends(b"-user")
}

/// Whether the word that `at` is in is the address of an operator (`+claude.com`): it names a company, not an agent.
fn is_host(bytes: &[u8], at: usize) -> bool {
    let word = bytes[..at].iter().rposition(|byte| *byte == b' ').map_or(0, |space| space + 1);
    bytes.get(word) == Some(&b'+')
}

/// What says more about who asks wins: a coding agent over the assistant that it belongs to, any of them over the
/// library it is made with.
fn rank(class: Class) -> u8 {
    match class {
        Class::CodingAgent => 0,
        Class::Assistant => 1,
        Class::TrainingCrawler => 2,
        Class::AiSearch => 3,
        Class::Preview => 4,
        Class::Monitor => 5,
        Class::FeedReader => 6,
        Class::SearchEngine => 7,
        Class::OtherBot => 8,
        Class::MarkdownFetch => 9,
        Class::Library => 10,
        Class::Human => 11,
    }
}
