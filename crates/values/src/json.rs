use crate::{DEEPEST, Fault, Key, Kind, List, Map, Value, What};

/// Reads a file of JSON.
pub fn json(text: &str) -> Result<Value, Fault> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut reader = Reader { text, bytes: text.as_bytes(), at: start };
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        return reader.fault("something follows after the end");
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn fault<T>(&self, message: &str) -> Result<T, Fault> {
        let at = self.text.floor_char_boundary(self.at.min(self.text.len()));
        Err(Fault { message: message.to_owned(), at })
    }

    fn space(&mut self) {
        let is_space = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.bytes[self.at..].iter().take_while(|b| is_space(b)).count();
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > DEEPEST {
            return self.fault("it is nested too deeply");
        }
        self.space();
        let start = self.at;
        let what = match self.bytes.get(start) {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => What::Scalar(self.string()?, Kind::Text),
            Some(_) => self.word()?,
            None => return self.fault("it ends too early"),
        };
        Ok(Value::new(what, start..self.at))
    }

    fn word(&mut self) -> Result<What, Fault> {
        let start = self.at;
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        self.at += self.bytes[start..].iter().take_while(|b| is_part(b)).count();
        let word = &self.text[start..self.at];
        let kind = match word {
            "true" | "false" => Kind::Bool,
            "null" => Kind::Null,
            _ if is_number(word) => Kind::Number,
            _ => {
                self.at = start;
                return self.fault("there is no value where one is expected");
            }
        };
        Ok(What::Scalar(word.to_owned(), kind))
    }

    fn list(&mut self, depth: usize) -> Result<What, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space();
            if self.closes(b']') {
                return Ok(What::List(List { items, open: None }));
            }
            items.push(self.value(depth + 1)?);
            self.separator(b']')?;
        }
    }

    fn map(&mut self, depth: usize) -> Result<What, Fault> {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            self.space();
            if self.closes(b'}') {
                return Ok(What::Map(Map { entries, open: None }));
            }
            let start = self.at;
            match self.bytes.get(start) {
                Some(b'"') => {}
                Some(_) => return self.fault("a name in quotes is missing"),
                None => return self.fault("a bracket is not closed"),
            }
            let name = self.string()?;
            let key = Key { name, other: None, range: start..self.at };
            self.space();
            if self.bytes.get(self.at) != Some(&b':') {
                return self.fault("a colon is missing");
            }
            self.at += 1;
            entries.push((key, self.value(depth + 1)?));
            self.separator(b'}')?;
        }
    }

    fn closes(&mut self, bracket: u8) -> bool {
        let closes = self.bytes.get(self.at) == Some(&bracket);
        self.at += usize::from(closes);
        closes
    }

    /// A comma, or the end, which is left for `closes`.
    fn separator(&mut self, bracket: u8) -> Result<(), Fault> {
        self.space();
        match self.bytes.get(self.at) {
            Some(b',') => {
                self.at += 1;
                self.space();
                if self.bytes.get(self.at) == Some(&bracket) {
                    return self.fault("a comma stands before a closing bracket");
                }
                Ok(())
            }
            Some(byte) if *byte == bracket => Ok(()),
            Some(_) => self.fault("a comma or a closing bracket is missing"),
            None => self.fault("a bracket is not closed"),
        }
    }

    /// A string, with its escapes resolved.
    fn string(&mut self) -> Result<String, Fault> {
        let mut text = String::new();
        let mut start = self.at + 1;
        self.at = start;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
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
                Some(b'\n') => return self.fault("a quote is not closed on its line"),
                Some(0..0x20) => return self.fault("a control character stands in a text"),
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
            'u' => {
                let first = self.code_unit()?;
                text.push(self.character(first)?);
            }
            '"' | '\\' | '/' => text.push(c),
            _ => return self.fault("there is no such escape"),
        }
        Ok(())
    }

    fn code_unit(&mut self) -> Result<u32, Fault> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return self.fault("`\\u` needs four digits");
        };
        self.at += 4;
        Ok(code)
    }

    /// The character of a code unit, which may be the first half of a pair.
    fn character(&mut self, first: u32) -> Result<char, Fault> {
        let is_second = self.bytes.get(self.at..self.at + 2) == Some(b"\\u");
        if (0xd800..0xdc00).contains(&first) && is_second {
            let before = self.at;
            self.at += 2;
            let second = self.code_unit()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
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
pub fn quoted(text: &str) -> String {
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
        let text =
            r#"{ "a": ["x", {"b": "y\n\u0041"}], "n": -1.5e3, "t": true, "pair": "\ud83d\ude80", "half": "\ud83d" }"#;
        let value = json(text).unwrap();
        let list = value.get("a").unwrap().items();
        assert_eq!(&text[list[0].range.clone()], "\"x\"");
        assert_eq!(list[1].get("b").unwrap().text(), Some("y\nA"));
        assert_eq!(value.get("pair").unwrap().text(), Some("🚀"));
        assert_eq!(value.get("half").unwrap().text(), Some("\u{fffd}"));
        assert_eq!(value.get("t").unwrap().truth(), Some(true));
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
        }

        #[test]
        fn quoted_text_is_read_back(text in any::<String>()) {
            prop_assert_eq!(json(&quoted(&text)).unwrap().text().map(str::to_owned), Some(text));
        }
    }
}
