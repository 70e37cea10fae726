use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::{DEEPEST, Fault, Key, Kind, List, MOST_VALUES, Map, Value, What};

/// Byte positions of the characters of a text: the YAML parser counts characters.
pub struct Characters {
    /// Where each character starts; none if all have one byte.
    starts: Option<Vec<usize>>,
    end: usize,
}

impl Characters {
    pub fn of(text: &str) -> Self {
        let starts = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
        Self { starts, end: text.len() }
    }

    /// The byte position of the character with this number.
    pub fn byte(&self, index: usize) -> usize {
        match &self.starts {
            Some(starts) => starts.get(index).copied().unwrap_or(self.end),
            None => index.min(self.end),
        }
    }

    /// The byte range of a span.
    pub fn range(&self, span: &Span) -> Range<usize> {
        let start = self.byte(span.start.index());
        start..self.byte(span.end.index()).max(start)
    }
}

/// Reads the first document of a YAML file; none if it is empty. Aliases stand for what they name, and `<<` takes the
/// entries of others in, as readers of YAML do.
pub fn yaml(text: &str) -> Result<Option<Value>, Fault> {
    let characters = Characters::of(text);
    let mut reader = Reader { open: Vec::new(), anchors: HashMap::new(), left: MOST_VALUES };
    for event in Parser::new_from_str(text) {
        let (event, span) = event
            .map_err(|error| Fault { message: error.info().to_owned(), at: characters.byte(error.marker().index()) })?;
        if let Some(whole) = reader.take(event, characters.range(&span))? {
            return Ok(Some(whole));
        }
    }
    Ok(None)
}

struct Reader {
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    /// How many more values there may be.
    left: usize,
}

/// A list or map that is being read; the keys and values of a map take turns.
struct Open {
    is_map: bool,
    items: Vec<Value>,
    start: usize,
    anchor: usize,
    tag: Option<String>,
}

impl Reader {
    /// Takes one event in; gives the document when it is whole.
    fn take(&mut self, event: Event<'_>, range: Range<usize>) -> Result<Option<Value>, Fault> {
        let done = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, range.start)?;
                Some(self.named(anchor, scalar(text.into_owned(), style, tag.as_deref(), range)))
            }
            Event::Alias(anchor) => {
                let at = range.start;
                let Some(value) = self.anchors.get(&anchor) else {
                    return Err(Fault { message: "an alias stands inside what it names".to_owned(), at });
                };
                let size = size(value);
                let mut value = value.clone();
                value.range = range;
                self.count(size, at)?;
                Some(value)
            }
            Event::MappingStart(anchor, tag) => self.begin(true, anchor, tag.as_deref(), range.start)?,
            Event::SequenceStart(anchor, tag) => self.begin(false, anchor, tag.as_deref(), range.start)?,
            Event::MappingEnd | Event::SequenceEnd => match self.open.pop() {
                Some(level) => {
                    let anchor = level.anchor;
                    let value = level.close(range.end);
                    Some(self.named(anchor, value))
                }
                None => None,
            },
            _ => None,
        };
        Ok(match (done, self.open.last_mut()) {
            (Some(done), Some(level)) => {
                level.items.push(done);
                None
            }
            (done, _) => done,
        })
    }

    fn begin(&mut self, is_map: bool, anchor: usize, tag: Option<&Tag>, start: usize) -> Result<Option<Value>, Fault> {
        self.count(1, start)?;
        if self.open.len() >= DEEPEST {
            return Err(Fault { message: "it is nested too deeply".to_owned(), at: start });
        }
        let tag = tag.map(full).filter(|tag| !matches!(core(tag), Some("map" | "seq")));
        self.open.push(Open { is_map, items: Vec::new(), start, anchor, tag });
        Ok(None)
    }

    fn count(&mut self, more: usize, at: usize) -> Result<(), Fault> {
        match self.left.checked_sub(more) {
            Some(left) => self.left = left,
            None => return Err(Fault { message: "its aliases stand for too much".to_owned(), at }),
        }
        Ok(())
    }

    fn named(&mut self, anchor: usize, value: Value) -> Value {
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        value
    }
}

fn size(value: &Value) -> usize {
    1 + match &value.what {
        What::List(list) => list.items.iter().map(size).sum(),
        What::Map(map) => {
            map.entries.iter().map(|(key, value)| key.other.as_ref().map_or(1, |it| size(it)) + size(value)).sum()
        }
        _ => 0,
    }
}

/// A tag in full, with percent-encoding resolved, as programs compare it.
fn full(tag: &Tag) -> String {
    let handle = if tag.handle == "!!" { "tag:yaml.org,2002:" } else { tag.handle.as_str() };
    let written = format!("{handle}{}", tag.suffix);
    percent_encoding::percent_decode_str(&written).decode_utf8_lossy().into_owned()
}

/// The name of a tag that every reader of YAML knows.
fn core(tag: &str) -> Option<&str> {
    tag.strip_prefix("tag:yaml.org,2002:")
}

fn scalar(text: String, style: ScalarStyle, tag: Option<&Tag>, range: Range<usize>) -> Value {
    let tag = tag.map(full);
    let kind = match tag.as_deref().and_then(core) {
        Some("str") => Kind::Text,
        Some("null") => Kind::Null,
        Some("bool") => Kind::Bool,
        Some("int" | "float") => Kind::Number,
        _ if style == ScalarStyle::Plain && tag.is_none() => plain_kind(&text),
        _ => Kind::Text,
    };
    let is_known = matches!(tag.as_deref().and_then(core), Some("str" | "null" | "bool" | "int" | "float"));
    let mut value = Value::new(What::Scalar(text, kind), range);
    value.tag = tag.filter(|_| !is_known);
    value
}

/// What a scalar without quotes is, by the rules of YAML 1.1, which the tools of documentation keep to.
fn plain_kind(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Kind::Null,
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" | "yes" | "Yes" | "YES" | "no" | "No" | "NO" | "on"
        | "On" | "ON" | "off" | "Off" | "OFF" => return Kind::Bool,
        _ => {}
    }
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && number.chars().any(|c| c.is_ascii_digit())
        && number.parse::<f64>().is_ok();
    if is_number { Kind::Number } else { Kind::Text }
}

impl Open {
    fn close(self, end: usize) -> Value {
        let range = self.start..end.max(self.start);
        let what = if self.is_map {
            let mut entries: Vec<(Key, Value)> = Vec::with_capacity(self.items.len() / 2);
            let mut taken = Vec::new();
            let mut items = self.items.into_iter();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                if key.text() == Some("<<") && key.tag.is_none() {
                    taken.push(value);
                } else {
                    entries.push((key_of(key), value));
                }
            }
            What::Map(Map { entries: merged(entries, taken), open: None })
        } else {
            What::List(List { items: self.items, open: None })
        };
        let mut value = Value::new(what, range);
        value.tag = self.tag;
        value
    }
}

fn key_of(value: Value) -> Key {
    let range = value.range.clone();
    match (value.written(), &value.tag) {
        (Some(name), None) => Key { name: name.to_owned(), other: None, range },
        _ => Key { name: String::new(), other: Some(Box::new(value)), range },
    }
}

/// What `<<` takes in goes before the entries of the map itself, which count more.
fn merged(own: Vec<(Key, Value)>, taken: Vec<Value>) -> Vec<(Key, Value)> {
    let mut entries = Vec::new();
    for value in taken {
        match value.what {
            What::Map(map) => entries.extend(map.entries),
            // Of several, the first counts most.
            What::List(list) => entries.extend(list.items.into_iter().rev().flat_map(|item| match item.what {
                What::Map(map) => map.entries,
                _ => Vec::new(),
            })),
            _ => {}
        }
    }
    entries.extend(own);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        yaml(text).unwrap().unwrap()
    }

    #[test]
    fn yaml_is_read_with_positions() {
        let text = "a: 'ü'\nb:\n  - x\n  - {c: yes, d: 1.5, e: ~, f: \"1\"}\n";
        let value = read(text);
        assert_eq!(&text[value.get("a").unwrap().range.clone()], "'ü'");
        let map = &value.get("b").unwrap().items()[1];
        assert_eq!(map.get("c").unwrap().truth(), Some(true));
        assert_eq!(map.get("d").unwrap().written(), Some("1.5"));
        assert!(map.get("e").unwrap().is_null());
        assert_eq!(map.get("f").unwrap().text(), Some("1"));
        assert!(yaml("a: [").is_err());
        assert!(yaml("# nothing\n").unwrap().is_none());
    }

    #[test]
    fn keys_are_the_same_however_they_are_written() {
        for text in
            ["hooks: [x]", "{hooks: [x]}", "\"\\x68ooks\": [x]", "? hooks\n: [x]", "!!str hooks: [x]", "'hooks': [x]"]
        {
            assert_eq!(read(text).get("hooks").unwrap().items()[0].text(), Some("x"), "{text}");
        }
    }

    #[test]
    fn tags_are_given_in_full() {
        for text in [
            "a: !!python/name:os.x y",
            "a: !!p%79thon/name:os.x y",
            "a: !<tag:yaml.org,2002:python/name:os.x> y",
            "%TAG !e! tag:yaml.org,2002:python/\n---\na: !e!name:os.x y",
        ] {
            let value = read(text);
            assert_eq!(value.get("a").unwrap().tag.as_deref(), Some("tag:yaml.org,2002:python/name:os.x"), "{text}");
        }
        assert_eq!(read("a: !ENV [X, y]").get("a").unwrap().tag.as_deref(), Some("!ENV"));
        assert_eq!(read("a: !!str 1").get("a").unwrap().text(), Some("1"));
    }

    #[test]
    fn aliases_and_merges_stand_for_what_they_name() {
        let value = read("base: &b {x: 1, y: 2}\nown: {<<: *b, y: 3}\nlist: [*b]\n");
        assert_eq!(value.at(&["own", "x"]).unwrap().written(), Some("1"));
        assert_eq!(value.at(&["own", "y"]).unwrap().written(), Some("3"));
        assert_eq!(value.get("list").unwrap().items()[0].get("y").unwrap().written(), Some("2"));
    }

    #[test]
    fn a_file_that_multiplies_itself_is_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{}", level - 1);
            text.push_str(&format!("a{level}: &a{level} [{}]\n", vec![below; 10].join(", ")));
        }
        assert_eq!(yaml(&text).unwrap_err().message, "its aliases stand for too much");
        assert!(yaml(&"[".repeat(100_000)).is_err());
    }
}
