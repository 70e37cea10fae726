//! Reads JSON, and literals of JavaScript that need no running, with positions.

use std::ops::Range;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    /// All of it, with quotes and brackets.
    pub(crate) range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    List(Vec<Node>),
    /// Names and values in order.
    Object(Vec<(String, Node)>),
    /// A number, a truth value, nothing; or something that only running the script would tell.
    Other,
}

/// What is not well-formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: &'static str,
    pub(crate) at: usize,
}

/// Nothing that people write is nested deeper.
const DEEPEST: usize = 100;

impl Node {
    /// The value of a field, if this is an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.fields().iter().find(|(field, _)| field == name).map(|(_, node)| node)
    }

    /// The fields, if this is an object.
    pub(crate) fn fields(&self) -> &[(String, Self)] {
        if let Value::Object(fields) = &self.value { fields } else { &[] }
    }

    /// The items, if this is a list.
    pub(crate) fn items(&self) -> &[Self] {
        if let Value::List(items) = &self.value { items } else { &[] }
    }

    /// The text, if this is one.
    pub(crate) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }
}

/// Reads a file of JSON.
pub(crate) fn json(text: &str) -> Result<Node, Fault> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut reader = Reader { text, bytes: text.as_bytes(), at: start, script: false };
    let node = reader.value(0)?;
    reader.space()?;
    if reader.at < text.len() {
        return Err(Fault { message: "something follows after the end", at: reader.at });
    }
    Ok(node)
}

/// Reads the literal that starts at `at` in a script; what is computed is left out of it.
pub(crate) fn script(text: &str, at: usize) -> Option<Node> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at, script: true };
    reader.value(0).ok()
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    script: bool,
}

impl Reader<'_> {
    fn fault<T>(&self, message: &'static str) -> Result<T, Fault> {
        Err(Fault { message, at: self.text.floor_char_boundary(self.at.min(self.text.len())) })
    }

    fn space(&mut self) -> Result<(), Fault> {
        loop {
            match &self.bytes[self.at..] {
                [b' ' | b'\t' | b'\n' | b'\r', ..] => self.at += 1,
                [b'/', b'/', ..] if self.script => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                [b'/', b'*', ..] if self.script => match memchr::memmem::find(&self.bytes[self.at..], b"*/") {
                    Some(length) => self.at += length + 2,
                    None => return self.fault("a comment is not closed"),
                },
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth > DEEPEST {
            return self.fault("it is nested too deeply");
        }
        self.space()?;
        let start = self.at;
        let value = match self.bytes.get(start) {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string(b'"')?),
            Some(quote @ (b'\'' | b'`')) if self.script => {
                let quote = *quote;
                let text = self.string(quote)?;
                if quote == b'`' && text.contains("${") { Value::Other } else { Value::Text(text) }
            }
            Some(_) if self.script => Value::Other,
            Some(_) => {
                self.word()?;
                Value::Other
            }
            None => return self.fault("it ends too early"),
        };
        // `"a" + b`, `f(x)` or `{…}.x` is computed.
        let end = self.at;
        if self.script && (value == Value::Other && end == start || self.goes_on()?) {
            self.skip_expression()?;
            return Ok(Node { value: Value::Other, range: start..self.at });
        }
        Ok(Node { value, range: start..end })
    }

    /// Whether what follows a literal makes it part of an expression. `satisfies` and `as` of TypeScript do not.
    fn goes_on(&mut self) -> Result<bool, Fault> {
        self.space()?;
        let rest = &self.bytes[self.at..];
        Ok(matches!(
            rest,
            [b'+' | b'.' | b'(' | b'?' | b'|' | b'&' | b'[' | b'-' | b'*' | b'%' | b'=' | b'<' | b'>', ..]
        ))
    }

    fn skip_expression(&mut self) -> Result<(), Fault> {
        let mut open = 0usize;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'{' | b'[' | b'(' => open += 1,
                b'}' | b']' | b')' if open == 0 => return Ok(()),
                b'}' | b']' | b')' => open -= 1,
                b',' | b';' if open == 0 => return Ok(()),
                b'"' | b'\'' | b'`' => {
                    self.string(byte)?;
                    continue;
                }
                b'/' if matches!(self.bytes.get(self.at + 1), Some(b'/' | b'*')) => {
                    self.space()?;
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        self.at += self.bytes[start..].iter().take_while(|b| is_part(b)).count();
        let word = &self.text[start..self.at];
        if is_number(word) || matches!(word, "true" | "false" | "null") {
            return Ok(());
        }
        self.at = start;
        self.fault("there is no value where one is expected")
    }

    fn list(&mut self, depth: usize) -> Result<Value, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space()?;
            if self.closes(b']') {
                return Ok(Value::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.separator(b']')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        self.at += 1;
        let mut fields: Vec<(String, Node)> = Vec::new();
        loop {
            self.space()?;
            if self.closes(b'}') {
                return Ok(Value::Object(fields));
            }
            let start = self.at;
            match self.key()? {
                Some(name) => {
                    self.at += 1;
                    let node = self.value(depth + 1)?;
                    fields.push((name, node));
                }
                None => {
                    self.skip_expression()?;
                    fields.push((String::new(), Node { value: Value::Other, range: start..self.at }));
                }
            }
            self.separator(b'}')?;
        }
    }

    fn closes(&mut self, bracket: u8) -> bool {
        let closes = self.bytes.get(self.at) == Some(&bracket);
        self.at += usize::from(closes);
        closes
    }

    /// A comma, or the end, which is left for `closes`. JSON has no comma before the end.
    fn separator(&mut self, bracket: u8) -> Result<(), Fault> {
        self.space()?;
        match self.bytes.get(self.at) {
            Some(b',') => {
                self.at += 1;
                self.space()?;
                if !self.script && self.bytes.get(self.at) == Some(&bracket) {
                    return self.fault("a comma stands before a closing bracket");
                }
                Ok(())
            }
            Some(byte) if *byte == bracket => Ok(()),
            Some(_) => self.fault("a comma or a closing bracket is missing"),
            None => self.fault("a bracket is not closed"),
        }
    }

    /// The name of a field, up to its colon; none if it is computed.
    fn key(&mut self) -> Result<Option<String>, Fault> {
        let name = match self.bytes.get(self.at) {
            Some(b'"') => self.string(b'"')?,
            Some(b'\'') if self.script => self.string(b'\'')?,
            Some(b) if self.script && (b.is_ascii_alphabetic() || *b == b'_' || *b == b'$') => {
                let start = self.at;
                let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'$';
                self.at += self.bytes[start..].iter().take_while(|b| is_part(b)).count();
                self.text[start..self.at].to_owned()
            }
            Some(_) if self.script => return Ok(None),
            Some(_) => return self.fault("a name in quotes is missing"),
            None => return self.fault("a bracket is not closed"),
        };
        self.space()?;
        match self.bytes.get(self.at) {
            Some(b':') => Ok(Some(name)),
            _ if self.script => Ok(None),
            _ => self.fault("a colon is missing"),
        }
    }

    /// A string, with its escapes resolved.
    fn string(&mut self, quote: u8) -> Result<String, Fault> {
        let mut text = String::new();
        let mut start = self.at + 1;
        self.at = start;
        loop {
            match self.bytes.get(self.at) {
                Some(byte) if *byte == quote => {
                    text.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    text.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    self.escape(&mut text)?;
                    start = self.at;
                }
                Some(b'\n') if quote != b'`' => return self.fault("a quote is not closed on its line"),
                Some(0..0x20) if !self.script => return self.fault("a control character stands in a text"),
                Some(_) => self.at += 1,
                None => return self.fault("a quote is not closed"),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Fault> {
        let Some(c) = self.text[self.at..].chars().next() else { return self.fault("a quote is not closed") };
        self.at += c.len_utf8();
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => text.push(self.code_point()?),
            '"' | '\\' | '/' => text.push(c),
            _ if self.script => text.push(c),
            _ => return self.fault("there is no such escape"),
        }
        Ok(())
    }

    fn code_point(&mut self) -> Result<char, Fault> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Some(code) = digits else { return self.fault("`\\u` needs four digits") };
        self.at += 4;
        // Halves of a pair stand for characters that no path needs.
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

/// Whether a word is a number as JSON writes it.
fn is_number(word: &str) -> bool {
    let (number, exponent) =
        word.split_once(['e', 'E']).map_or((word, None), |(number, exponent)| (number, Some(exponent)));
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, part)| (whole, Some(part)));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let signless = |text: &str| digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(signless)
}

/// Text as JSON writes it, with quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn json_is_read_with_positions() {
        let text = r#"{ "a": ["x", {"b": "y\n\u0041"}], "n": -1.5e3, "t": true }"#;
        let node = json(text).unwrap();
        let list = node.get("a").unwrap().items();
        assert_eq!(&text[list[0].range.clone()], "\"x\"");
        assert_eq!(list[1].get("b").unwrap().text(), Some("y\nA"));
    }

    #[test]
    fn what_is_not_json_is_said() {
        for (text, message) in [
            ("{\"a\": 1,}", "a comma stands before a closing bracket"),
            ("[1 2]", "a comma or a closing bracket is missing"),
            ("{\"a\" 1}", "a colon is missing"),
            ("{a: 1}", "a name in quotes is missing"),
            ("[\"x]", "a quote is not closed"),
            ("[", "it ends too early"),
            ("{} x", "something follows after the end"),
            ("[yes]", "there is no value where one is expected"),
        ] {
            assert_eq!(json(text).unwrap_err().message, message, "{text}");
        }
        assert!(json(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn scripts_are_read_as_far_as_they_are_data() {
        let text = "{ a: ['x', `y`, `z${1}`, f('no'), ...rest], // comment\n 'b-c': \"d\" + e, g: 1, h() { return 1 }, \
                    i: 'last', } satisfies X";
        let node = script(text, 0).unwrap();
        let list: Vec<Option<&str>> = node.get("a").unwrap().items().iter().map(Node::text).collect();
        assert_eq!(list, [Some("x"), Some("y"), None, None, None]);
        assert_eq!(node.get("b-c").unwrap().text(), None);
        assert_eq!(node.get("i").unwrap().text(), Some("last"));
    }

    proptest! {
        #[test]
        fn the_same_texts_are_json_as_elsewhere(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["[", "]", "{", "}", ",", ":", "\"a\"", "\"b\":", "1", "-", "0.5", "e3", "true",
                    "null", " ", "\"", "\\", "n", "\n", "[1]", "{}"]),
                0..8,
            ),
        ) {
            let text = pieces.concat();
            prop_assert_eq!(json(&text).is_ok(), serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
            let _ = script(&text, 0);
        }

        #[test]
        fn quoted_text_is_read_back(text in any::<String>()) {
            prop_assert_eq!(json(&quoted(&text)).unwrap().text().map(str::to_owned), Some(text));
        }
    }
}
