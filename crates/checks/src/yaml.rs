use std::ops::Range;

use saphyr_parser::{Event, Parser, Span};

/// Byte positions of the characters of a text: the YAML parser counts characters.
pub(crate) struct Characters {
    /// Where each character starts; none if all have one byte.
    starts: Option<Vec<usize>>,
    end: usize,
}

impl Characters {
    pub(crate) fn of(text: &str) -> Self {
        let starts = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
        Self { starts, end: text.len() }
    }

    /// The byte position of the character with this number.
    pub(crate) fn byte(&self, index: usize) -> usize {
        match &self.starts {
            Some(starts) => starts.get(index).copied().unwrap_or(self.end),
            None => index.min(self.end),
        }
    }

    /// The byte range of a span.
    pub(crate) fn range(&self, span: &Span) -> Range<usize> {
        let start = self.byte(span.start.index());
        start..self.byte(span.end.index()).max(start)
    }
}

/// A value in a YAML document and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Yaml {
    pub(crate) value: YamlValue,
    pub(crate) range: Range<usize>,
}

/// What a value in a YAML document is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum YamlValue {
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<(Yaml, Yaml)>),
    /// A reference to another place; it is not followed, so that it cannot grow.
    Alias,
}

/// What is not well-formed: why and where.
pub(crate) struct YamlFault {
    pub(crate) message: String,
    pub(crate) at: usize,
}

/// Nothing that people write is nested deeper.
const DEEPEST: usize = 64;

impl Yaml {
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let YamlValue::Map(fields) = &self.value else { return None };
        fields.iter().find(|(key, _)| key.text() == Some(name)).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let YamlValue::Text(text) = &self.value { Some(text) } else { None }
    }

    pub(crate) fn items(&self) -> &[Self] {
        if let YamlValue::List(items) = &self.value { items } else { &[] }
    }
}

/// Reads the first document of a YAML file; none if it is empty.
pub(crate) fn read(text: &str) -> Result<Option<Yaml>, YamlFault> {
    let characters = Characters::of(text);
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlFault {
            message: error.info().to_owned(),
            at: characters.byte(error.marker().index()),
        })?;
        let range = characters.range(&span);
        let done = match event {
            Event::Scalar(value, ..) => Some(Yaml { value: YamlValue::Text(value.into_owned()), range }),
            Event::Alias(_) => Some(Yaml { value: YamlValue::Alias, range }),
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_map = matches!(event, Event::MappingStart(..));
                open.push(Open { is_map, items: Vec::new(), start: range.start });
                None
            }
            Event::MappingEnd | Event::SequenceEnd => open.pop().map(|level| level.close(range.end)),
            _ => None,
        };
        if open.len() > DEEPEST {
            return Err(YamlFault { message: "it is nested too deeply".to_owned(), at: range_start(&open) });
        }
        match (done, open.last_mut()) {
            (Some(done), Some(level)) => level.items.push(done),
            (Some(done), None) => return Ok(Some(done)),
            (None, _) => {}
        }
    }
    Ok(None)
}

fn range_start(open: &[Open]) -> usize {
    open.last().map_or(0, |level| level.start)
}

/// A list or map that is being read; the keys and values of a map take turns.
struct Open {
    is_map: bool,
    items: Vec<Yaml>,
    start: usize,
}

impl Open {
    fn close(self, end: usize) -> Yaml {
        let range = self.start..end.max(self.start);
        if !self.is_map {
            return Yaml { value: YamlValue::List(self.items), range };
        }
        let mut fields = Vec::with_capacity(self.items.len() / 2);
        let mut items = self.items.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            fields.push((key, value));
        }
        Yaml { value: YamlValue::Map(fields), range }
    }
}
