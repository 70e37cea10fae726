use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::agents::Agent;
use crate::Class;

/// Finds the agents of the list in a reduced user agent, all tokens in one pass.
#[derive(Debug)]
pub(super) struct Tokens {
    automaton: AhoCorasick,
    /// By pattern: the agent, and which token wins if several are found (the lowest).
    patterns: Vec<(u32, Rank)>,
}

/// The kind first, then the longer token, then the earlier entry: never the order in the user agent.
type Rank = (u8, u32, u32);

impl Tokens {
    pub(super) fn new(agents: &[Agent]) -> Result<Self, aho_corasick::BuildError> {
        let mut texts = Vec::new();
        let mut patterns = Vec::new();
        for (at, agent) in (0..).zip(agents) {
            for token in &agent.tokens {
                let length = u32::try_from(token.len()).unwrap_or(u32::MAX);
                patterns.push((at, (rank(agent.class), u32::MAX - length, at)));
                texts.push(token.as_str());
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(texts)?;
        Ok(Self { automaton, patterns })
    }

    /// The agent that `user_agent` names, as its place in the list.
    pub(super) fn find(&self, user_agent: &str) -> Option<usize> {
        let bytes = user_agent.as_bytes();
        let mut best: Option<(Rank, u32)> = None;
        for found in self.automaton.find_overlapping_iter(user_agent) {
            let before = found.start().checked_sub(1).and_then(|at| bytes.get(at));
            let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
            // `python-httpx` is not httpx, but `Some-Diffbot` is Diffbot.
            let token = &bytes[found.start()..found.end()];
            let joined = before.is_some_and(|byte| matches!(byte, b'-' | b'_')) && !names_a_crawler(token);
            if joined || is_word(before) || is_word(bytes.get(found.end())) || is_host(bytes, found.start()) {
                continue;
            }
            let Some(&(agent, rank)) = self.patterns.get(found.pattern().as_usize()) else { continue };
            if best.is_none_or(|(lowest, _)| rank < lowest) {
                best = Some((rank, agent));
            }
        }
        best.and_then(|(_, agent)| usize::try_from(agent).ok())
    }
}

fn names_a_crawler(token: &[u8]) -> bool {
    let ends = |end: &[u8]| token.len() > end.len() && token[token.len() - end.len()..].eq_ignore_ascii_case(end);
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
