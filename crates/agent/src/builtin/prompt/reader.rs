//! Reads the tokens of a prompt with the few moves that the grammar needs.

use super::token::{Cursor, Token};
use super::{NotUnderstood, quoted_back};

/// Words that say nothing about what is to be done, in front of a chore.
const COURTESIES: &[&str] = &[
    "please",
    "kindly",
    "hi",
    "hello",
    "hey",
    "can you",
    "could you",
    "would you",
    "will you",
    "i want you to",
    "i would like you to",
    "i'd like you to",
    "just",
    "first",
    "second",
    "third",
    "next",
    "finally",
    "lastly",
    "afterwards",
    "after that",
    "also",
    "and",
    "then",
    "thanks",
    "thank you",
];

/// The same behind a chore.
const TRAILING: &[&str] = &["please", "for me", "for us", "thanks", "thank you", "too", "as well"];

/// A prompt and how far it is read.
pub(super) struct Reader<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(prompt: &'a str) -> Self {
        Self { cursor: Cursor::new(prompt) }
    }

    pub(super) fn mark(&self) -> Cursor<'a> {
        self.cursor
    }

    pub(super) fn back_to(&mut self, mark: Cursor<'a>) {
        self.cursor = mark;
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.cursor.peek()
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        self.cursor.next()
    }

    /// Takes what `read` takes; nothing if it finds none.
    pub(super) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mark = self.mark();
        let found = read(self);
        if found.is_none() {
            self.back_to(mark);
        }
        found
    }

    /// Takes what `read` takes if it says that this is whole; else nothing.
    pub(super) fn whole(&mut self, read: impl FnOnce(&mut Self) -> bool) -> bool {
        self.attempt(|reader| read(reader).then_some(())).is_some()
    }

    /// Takes `token` if it is next.
    pub(super) fn take(&mut self, token: Token<'_>) -> bool {
        let is_next = self.peek() == token;
        if is_next {
            self.next();
        }
        is_next
    }

    /// Takes these words, whatever their case, if all of them are next.
    pub(super) fn phrase(&mut self, phrase: &str) -> bool {
        let same = |token: Token<'_>, word: &str| matches!(token, Token::Word(next) if next.eq_ignore_ascii_case(word));
        self.whole(|reader| phrase.split(' ').all(|word| same(reader.next(), word)))
    }

    /// Takes the first of these phrases that is next. Longer ones must be named first.
    pub(super) fn any(&mut self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.phrase(phrase))
    }

    /// Takes as many of these phrases as there are.
    pub(super) fn skip(&mut self, phrases: &[&str]) {
        while self.any(phrases) {}
    }

    /// Whether this word is next.
    pub(super) fn follows(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(next) if next.eq_ignore_ascii_case(word))
    }

    /// A quoted text, if it is next.
    pub(super) fn quoted(&mut self) -> Option<&'a str> {
        let Token::Quoted(text) = self.peek() else {
            return None;
        };
        self.next();
        Some(text)
    }

    /// All that is left as one text: in quotes, or to the end of the prompt.
    pub(super) fn long_text(&mut self) -> &'a str {
        if let Some(text) = self.cursor.long_quote() {
            return text;
        }
        let rest = self.cursor.rest();
        self.cursor.finish();
        rest
    }

    /// Takes `,`, `and` or `, and` between two things of a list.
    pub(super) fn joined(&mut self) -> bool {
        let comma = self.take(Token::Comma);
        let and = self.any(&["and also", "and", "&", "as well as"]);
        comma || and
    }

    /// Skips what is between two sentences.
    pub(super) fn skip_courtesies(&mut self) {
        loop {
            match self.peek() {
                Token::Stop | Token::Line | Token::Comma => {
                    self.next();
                }
                _ if self.any(COURTESIES) => {}
                // So begins what an issue asks for.
                _ if self.whole(|reader| reader.phrase("resolve this issue") && reader.take(Token::Colon)) => {}
                _ => break,
            }
        }
    }

    /// Skips polite words within a sentence, and the commas after them.
    pub(super) fn skip_courtesies_in_line(&mut self) {
        while self.any(COURTESIES) {
            self.take(Token::Comma);
        }
    }

    /// Skips polite words at the end of a chore.
    pub(super) fn skip_trailing_courtesies(&mut self) {
        while self.whole(|reader| {
            reader.take(Token::Comma);
            reader.any(TRAILING)
        }) {}
    }

    /// That the prompt is not understood from here on.
    pub(super) fn refuse(&self, hint: Option<&str>) -> NotUnderstood {
        NotUnderstood { part: quoted_back(self.cursor.rest()), hint: hint.map(str::to_owned) }
    }
}
