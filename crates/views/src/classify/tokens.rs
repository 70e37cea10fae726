use super::MAX_REDUCED;
use super::agents::Agent;
use crate::Class;

/// Finds the agents of the list in a reduced user agent. Tokens are whole words, so only where a word begins is looked,
/// and only for the tokens that begin with the same two letters.
#[derive(Debug)]
pub(super) struct Tokens {
    /// Where the tokens of each place begin; one more than there are places.
    starts: Vec<usize>,
    /// The first eight bytes of each token, and which of them it has: most other words differ there.
    heads: Vec<(u64, u64)>,
    tokens: Vec<Token>,
}

#[derive(Debug)]
struct Token {
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

/// Whether a byte can be in the middle of a word. In small letters.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn head(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |first| u64::from_le_bytes(*first))
}

impl Tokens {
    pub(super) fn new(agents: &[Agent]) -> Self {
        let mut tokens = Vec::new();
        for (at, agent) in agents.iter().enumerate() {
            for token in agent.tokens.iter().filter(|token| token.len() >= 2) {
                let text = token.to_ascii_lowercase().into_bytes();
                let rank = (rank(agent.class), usize::MAX - text.len(), at);
                tokens.push(Token { joins: names_a_crawler(&text), text: text.into(), rank, agent: at });
            }
        }
        let place_of = |token: &Token| place(token.text[0], token.text[1]);
        tokens.sort_by_key(place_of);
        let starts = (0..=PLACES).map(|wanted| tokens.partition_point(|token| place_of(token) < wanted)).collect();
        let heads = tokens.iter().map(|token| {
            let mask = if token.text.len() < 8 { (1 << (8 * token.text.len())) - 1 } else { u64::MAX };
            (head(&lowered(&token.text), 0) & mask, mask)
        });
        Self { starts, heads: heads.collect(), tokens }
    }

    /// The agent that `user_agent` names, as its place in the list.
    pub(super) fn find(&self, user_agent: &str) -> Option<usize> {
        let lower = lowered(user_agent.as_bytes());
        let bytes = &lower[..user_agent.len().min(MAX_REDUCED)];
        let mut best: Option<&Token> = None;
        let mut before = b' ';
        for (at, &first) in bytes.iter().enumerate() {
            let begins = !is_plain(before);
            let previous = std::mem::replace(&mut before, first);
            if !begins || !is_plain(first) {
                continue;
            }
            let here = head(&lower, at);
            let place = place(first, lower[at + 1]);
            let mut longest: Option<&Token> = None;
            for index in self.starts[place]..self.starts[place + 1] {
                let (head, mask) = self.heads[index];
                if here & mask == head {
                    let token = &self.tokens[index];
                    let joined = matches!(previous, b'-' | b'_') && !token.joins;
                    // `OpenAI JS` is not OpenAI: of those that begin here the longest is meant.
                    let order = |token: &Token| (usize::MAX - token.text.len(), token.rank);
                    let better = longest.is_none_or(|known| order(token) < order(known));
                    if better && !joined && is_at(token, bytes, at) && !is_host(bytes, at) {
                        longest = Some(token);
                    }
                }
            }
            if let Some(token) = longest.filter(|token| best.is_none_or(|best| token.rank < best.rank)) {
                best = Some(token);
            }
        }
        best.map(|token| token.agent)
    }
}

/// Whether `token` is at this place, ends where a word does, and is not the beginning of the name of another agent.
fn is_at(token: &Token, bytes: &[u8], at: usize) -> bool {
    let end = at + token.text.len();
    let goes_on = |after: &u8| after.is_ascii_alphanumeric() || (*after == b'-' && is_other_agent(&bytes[end..]));
    bytes.get(at..end) == Some(&token.text) && !bytes.get(end).is_some_and(goes_on)
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
