//! A body and the items in it.

/// How the items of a body are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One item a line, whatever they look like.
    Lines,
    /// As the body looks: a list, one item, or lines.
    Any,
}

/// Why a body has no items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("it is empty")]
    Empty,
    /// It is not JSON, and not lines of JSON either.
    #[error("{0}")]
    NotJson(&'static str),
    #[error("it has more than {0} events")]
    TooMany(usize),
}

/// The items of a body: of one object, of a list, or of lines with one object each. An item that is not sound is an item
/// all the same, which is then refused by itself; only a list that does not end is refused as a whole, because it broke
/// off on its way.
pub fn items(body: &[u8], form: Form, limit: usize) -> Result<Vec<&[u8]>, BodyError> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii();
    let items = match body.first() {
        None => return Err(BodyError::Empty),
        Some(b'[') if form == Form::Any => list(body, limit)?,
        // One object may be written over several lines.
        Some(b'{') if Scanner::new(body).end() == Some(body.len()) => vec![body],
        Some(_) => lines(body).take(limit.saturating_add(1)).collect(),
    };
    if items.len() > limit { Err(BodyError::TooMany(limit)) } else { Ok(items) }
}

/// Cuts a list at the commas that are in none of its elements.
fn list(body: &[u8], limit: usize) -> Result<Vec<&[u8]>, BodyError> {
    let mut items = Vec::new();
    let mut start = 1;
    for (mark, at) in Scanner::new(body) {
        let item = body.get(start..at - 1).unwrap_or_default().trim_ascii();
        let is_end = mark == Mark::End;
        // Nothing at all between the brackets is no element.
        if !(is_end && items.is_empty() && item.is_empty()) {
            items.push(item);
        }
        if items.len() > limit {
            return Err(BodyError::TooMany(limit));
        }
        if is_end {
            return if at == body.len() { Ok(items) } else { Err(BodyError::NotJson("something follows the list")) };
        }
        start = at;
    }
    Err(BodyError::NotJson("the list does not end"))
}

fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

/// What a scanner stops at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// A comma between elements of the outermost value.
    Comma,
    /// The end of the outermost value.
    End,
}

/// Finds where the elements of a list or an object end, knowing of JSON no more than strings and brackets, so that
/// what is wrong inside an element does not matter. Says the place after each mark.
struct Scanner<'a> {
    body: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Scanner<'a> {
    /// Of a body that begins with a bracket.
    fn new(body: &'a [u8]) -> Self {
        Self { body, at: 0, depth: 0 }
    }

    /// The place after the outermost value, if it ends.
    fn end(mut self) -> Option<usize> {
        self.find(|(mark, _)| *mark == Mark::End).map(|(_, at)| at)
    }

    /// Passes over a string whose opening quote was read.
    fn skip_string(&mut self) {
        while let Some(found) = memchr::memchr2(b'"', b'\\', self.body.get(self.at..).unwrap_or_default()) {
            let is_quote = self.body.get(self.at + found) == Some(&b'"');
            self.at += found + if is_quote { 1 } else { 2 };
            if is_quote {
                return;
            }
        }
        self.at = self.body.len();
    }
}

impl Iterator for Scanner<'_> {
    type Item = (Mark, usize);

    fn next(&mut self) -> Option<(Mark, usize)> {
        while let Some(&byte) = self.body.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => self.skip_string(),
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some((Mark::End, self.at));
                    }
                }
                b',' if self.depth == 1 => return Some((Mark::Comma, self.at)),
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(body: &str) -> Result<Vec<String>, BodyError> {
        shown(items(body.as_bytes(), Form::Any, 3)?)
    }

    fn shown(items: Vec<&[u8]>) -> Result<Vec<String>, BodyError> {
        Ok(items.into_iter().map(|item| String::from_utf8_lossy(item).into_owned()).collect())
    }

    #[test]
    fn one_a_list_or_lines() {
        assert_eq!(read("{\n  \"a\": 1,\n \"b\": 2\n}\n").unwrap(), ["{\n  \"a\": 1,\n \"b\": 2\n}"]);
        assert_eq!(read(r#" [{"a":1}, {"b":[1,2]}] "#).unwrap(), [r#"{"a":1}"#, r#"{"b":[1,2]}"#]);
        assert_eq!(read("{\"a\":1}\r\n\n{\"b\":2}\n").unwrap(), [r#"{"a":1}"#, r#"{"b":2}"#]);
        assert_eq!(read("\u{feff}{}").unwrap(), ["{}"]);
        assert_eq!(read("[]").unwrap(), [""; 0]);
        assert_eq!(read("[ \n ]").unwrap(), [""; 0]);
        assert_eq!(read("{\"a\":1}\nnonsense\n{\"b\":2}").unwrap().len(), 3, "a bad line is an item");
        assert_eq!(read("{ half").unwrap(), ["{ half"]);
    }

    #[test]
    fn what_has_no_items() {
        assert_eq!(read(" \n "), Err(BodyError::Empty));
        for broken_off in ["[", "[{}", "[{},", r#"[{"a":"]"#, r#"["\"]"#, r#"["\"#] {
            assert_eq!(read(broken_off), Err(BodyError::NotJson("the list does not end")), "{broken_off}");
        }
        assert_eq!(read("[1] x"), Err(BodyError::NotJson("something follows the list")));
        assert_eq!(read("[1,2,3,4]"), Err(BodyError::TooMany(3)));
        assert_eq!(read("{}\n{}\n{}\n{}"), Err(BodyError::TooMany(3)));
        assert_eq!(read("[1,2,3]").unwrap().len(), 3);
    }

    #[test]
    fn a_bad_element_is_an_element() {
        assert_eq!(read(r#"[{"a":1],x y,{"b":"],["}]"#).unwrap(), [r#"{"a":1]"#, "x y", r#"{"b":"],["}"#]);
        assert_eq!(read("[1,,2]").unwrap(), ["1", "", "2"]);
        assert_eq!(read("[1,]").unwrap(), ["1", ""]);
        assert_eq!(read("[{\"a\":\"\u{1}\n\\\",\"},2]").unwrap(), ["{\"a\":\"\u{1}\n\\\",\"}", "2"]);
        let bytes = items(b"[\"\xff\",{\"a\":\"\xc3\"}]", Form::Any, 3).unwrap();
        assert_eq!(bytes, [&b"\"\xff\""[..], b"{\"a\":\"\xc3\"}"]);
    }

    #[test]
    fn lines_are_lines_whatever_they_look_like() {
        let lines = |body: &str| shown(items(body.as_bytes(), Form::Lines, 3)?);
        assert_eq!(lines("[1]\n{\"a\":1}").unwrap(), ["[1]", "{\"a\":1}"]);
        assert_eq!(lines("[\n{\"a\":1}\n").unwrap(), ["[", "{\"a\":1}"]);
        assert_eq!(lines("{\"a\"\n{\"b\":1}").unwrap(), ["{\"a\"", "{\"b\":1}"]);
        assert_eq!(lines("1\n2\n3\n4"), Err(BodyError::TooMany(3)));
    }

    proptest! {
        #[test]
        fn a_sound_list_is_cut_as_serde_cuts_it(body in "\\[(1|\\[|\\]|\\{|\\}|\"|\\\\|,|:| |a){0,12}\\]") {
            if let Ok(sound) = serde_json::from_str::<Vec<&serde_json::value::RawValue>>(&body) {
                let sound: Vec<_> = sound.iter().map(|item| item.get().as_bytes()).collect();
                prop_assert_eq!(items(body.as_bytes(), Form::Any, 100).unwrap(), sound);
            }
        }
    }
}
