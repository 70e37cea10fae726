//! Cuts a prompt into words, quoted terms and marks. Lazily, since the text of a new page may stand in a prompt, and
//! what is in it need not be well-formed.

/// What a prompt is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A word or a path, without the marks around it.
    Word(&'a str),
    /// What stands in quotes.
    Quoted(&'a str),
    Comma,
    Colon,
    /// A bracket, open or closed.
    Bracket,
    /// The end of a sentence.
    Stop,
    /// A line break, with the bullet of a list after it.
    Line,
    /// A quote that does not end on its line.
    Unclosed,
    End,
}

/// A place in a prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The start, after the bullet of a list if there is one.
    pub(super) fn new(text: &'a str) -> Self {
        let mut cursor = Self { text, at: 0 };
        cursor.skip_bullet();
        cursor
    }

    /// What is left, without white space around it.
    pub(super) fn rest(&self) -> &'a str {
        self.text[self.at..].trim()
    }

    pub(super) fn finish(&mut self) {
        self.at = self.text.len();
    }

    /// The next token, without taking it.
    pub(super) fn peek(&self) -> Token<'a> {
        let mut ahead = *self;
        ahead.next()
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        if self.skip_space() {
            self.skip_bullet();
            return Token::Line;
        }
        let Some(first) = self.ahead() else {
            return Token::End;
        };
        match first {
            ',' => self.mark(first, Token::Comma),
            ':' => self.mark(first, Token::Colon),
            '(' | ')' => self.mark(first, Token::Bracket),
            '.' if self.starts_path() => self.word(),
            '.' | ';' | '!' | '?' | '…' => self.mark(first, Token::Stop),
            _ if is_quote(first) => self.quoted(false),
            _ => self.word(),
        }
    }

    /// Takes a quoted text that may have several lines; none if there is none.
    pub(super) fn long_quote(&mut self) -> Option<&'a str> {
        let mut ahead = *self;
        ahead.skip_space();
        if !ahead.ahead().is_some_and(is_quote) {
            return None;
        }
        match ahead.quoted(true) {
            Token::Quoted(text) => {
                *self = ahead;
                Some(text)
            }
            _ => None,
        }
    }

    fn ahead(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn mark(&mut self, c: char, token: Token<'a>) -> Token<'a> {
        self.at += c.len_utf8();
        token
    }

    /// Skips white space; says whether there was a line break in it.
    fn skip_space(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let space = rest.len() - rest.trim_start().len();
        let broken = rest[..space].contains('\n');
        self.at += space;
        broken
    }

    /// Skips `- `, `* `, `+ `, `1. ` and `1) `.
    fn skip_bullet(&mut self) {
        self.skip_space();
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let mark = if (1..=3).contains(&digits) { &[".", ")"][..] } else { &["-", "*", "+", "•"][..] };
        let after = |mark: &&str| rest[digits..].strip_prefix(*mark).is_some_and(|it| it.starts_with([' ', '\t']));
        if let Some(mark) = mark.iter().find(|mark| after(mark)) {
            self.at += digits + mark.len();
        }
    }

    /// Whether a dot here starts a path, such as `./docs` or `.md`, and does not end a sentence.
    fn starts_path(&self) -> bool {
        self.text[self.at..].trim_start_matches('.').starts_with(|c: char| c == '/' || c.is_alphanumeric())
    }

    /// A word ends at white space, at a quote, and at a comma outside of braces; marks at its end are not part of it.
    fn word(&mut self) -> Token<'a> {
        let rest = &self.text[self.at..];
        let mut braces = 0_usize;
        let mut end = rest.len();
        for (at, c) in rest.char_indices() {
            match c {
                '{' => braces += 1,
                '}' => braces = braces.saturating_sub(1),
                ',' if braces > 0 => {}
                '\'' | '’' => {}
                _ if c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')') || is_quote(c) => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        let word = &rest[..end];
        let bare = word.trim_end_matches(['.', ':', '!', '?', '…', '\'', '’']);
        // Marks alone, as in `.:`: the first stands for all of them, so that reading always gets on.
        let taken = if bare.is_empty() { word } else { bare };
        self.at += taken.len();
        Token::Word(taken)
    }

    fn quoted(&mut self, long: bool) -> Token<'a> {
        let rest = &self.text[self.at..];
        let Some(open) = rest.chars().next() else {
            return Token::End;
        };
        let fence = rest.len() - rest.trim_start_matches('`').len();
        let start = if open == '`' { fence } else { open.len_utf8() };
        let Some((end, after)) = closing(rest, open, start) else {
            self.at += start;
            return Token::Unclosed;
        };
        let text = &rest[start..end];
        if text.contains('\n') && !long {
            self.at += start;
            return Token::Unclosed;
        }
        self.at += after;
        Token::Quoted(text)
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '“' | '”' | '„' | '‘' | '«' | '»')
}

/// Where a quote that opens `rest` ends, and where what is after it starts.
fn closing(rest: &str, open: char, start: usize) -> Option<(usize, usize)> {
    if open == '`' {
        let fence = &rest[..start];
        let mut from = start;
        while let Some(found) = rest[from..].find(fence) {
            let at = from + found;
            let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
            if run == start {
                return Some((at, at + run));
            }
            from = at + run;
        }
        return None;
    }
    let ends: &[char] = match open {
        '"' => &['"'],
        '\'' => &['\''],
        '“' => &['”', '“'],
        '”' => &['”'],
        '„' => &['“', '”'],
        '‘' => &['’'],
        '«' => &['»'],
        _ => &['«'],
    };
    // An apostrophe inside a word is none: 'it's here' is one quote.
    let is_end = |at: usize, c: char| {
        let next = rest[at + c.len_utf8()..].chars().next();
        ends.contains(&c) && (!matches!(c, '\'' | '’') || !next.is_some_and(char::is_alphanumeric))
    };
    let (at, c) = rest[start..].char_indices().map(|(at, c)| (start + at, c)).find(|(at, c)| is_end(*at, *c))?;
    Some((at, at + c.len_utf8()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut cursor = Cursor::new(text);
        let mut all = Vec::new();
        loop {
            match cursor.next() {
                Token::End => return all,
                token => all.push(token),
            }
        }
    }

    #[test]
    fn quotes_of_all_kinds() {
        for text in ["\"a b\"", "'a b'", "“a b”", "‘a b’", "„a b“", "«a b»", "`a b`", "``a b``"] {
            assert_eq!(tokens(text), [Token::Quoted("a b")], "{text}");
        }
        assert_eq!(tokens("'it's'"), [Token::Quoted("it's")]);
        assert_eq!(tokens("``a`b``"), [Token::Quoted("a`b")]);
        assert_eq!(tokens("don't"), [Token::Word("don't")]);
        assert_eq!(tokens("\"a\nb\"")[0], Token::Unclosed);
    }

    #[test]
    fn marks_are_no_part_of_a_word_but_of_a_path_they_are() {
        use Token::{Comma, Stop, Word};
        assert_eq!(tokens("in ./docs/a.md, b."), [Word("in"), Word("./docs/a.md"), Comma, Word("b"), Stop]);
        assert_eq!(tokens("docs/{a,b}/*.md!"), [Word("docs/{a,b}/*.md"), Stop]);
    }

    #[test]
    fn a_list_is_lines() {
        use Token::{Line, Word};
        assert_eq!(tokens("- a\n\n  2) b\r\n* c"), [Word("a"), Line, Word("b"), Line, Word("c")]);
    }

    proptest! {
        #[test]
        fn every_text_is_read_to_its_end(text in "(\\PC|[\n\"'`“”‘’.,(){}]){0,60}") {
            prop_assert!(tokens(&text).len() <= text.len());
        }
    }
}
