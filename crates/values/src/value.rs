use std::ops::Range;
use std::sync::Arc;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Value {
    pub what: What,
    /// The tag that YAML gives it, in full; none for those that say nothing new, such as `!!str` of a text.
    pub tag: Option<String>,
    /// Where it stands in its file, with quotes and brackets.
    pub range: Range<usize>,
    /// The file that it stands in, if that is not the one that was read.
    pub file: Option<Arc<str>>,
    /// The package whose function it was given to, if it was: `starlight({ … })`.
    pub through: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A text, a number, a truth value or nothing, as written.
    Scalar(String, Kind),
    List(List),
    Map(Map),
    /// Only running the script would tell.
    Unknown(Unknown),
}

/// What a scalar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Text,
    Number,
    Bool,
    Null,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct List {
    pub items: Vec<Value>,
    /// Why there may be other items, if there may.
    pub open: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// Names and values in order. A name may be there twice: the last one counts.
    pub entries: Vec<(Key, Value)>,
    /// Why there may be other entries, if there may.
    pub open: Option<String>,
}

/// The name of an entry.
#[derive(Debug, Clone)]
pub struct Key {
    pub name: String,
    /// What it is if it is anything but a text: YAML has such keys.
    pub other: Option<Box<Value>>,
    pub range: Range<usize>,
}

/// Why nobody can tell without running the script, and what is known all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    pub why: String,
    /// The values that it may be, of those that stand in the script.
    pub perhaps: Vec<Value>,
}

/// What is not well-formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong, as part of a sentence.
    pub message: String,
    pub at: usize,
}

/// Two values are the same if they say the same, wherever they stand.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what && self.tag == other.tag
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.other == other.other
    }
}

impl Value {
    pub fn new(what: What, range: Range<usize>) -> Self {
        Self { what, tag: None, range, file: None, through: None }
    }

    pub(crate) fn text_of(text: impl Into<String>, range: Range<usize>) -> Self {
        Self::new(What::Scalar(text.into(), Kind::Text), range)
    }

    pub(crate) fn unknown(why: impl Into<String>, range: Range<usize>) -> Self {
        Self::new(What::Unknown(Unknown { why: why.into(), perhaps: Vec::new() }), range)
    }

    /// The value of an entry, if this is a map that has it.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let What::Map(map) = &self.what else { return None };
        map.entries.iter().rfind(|(key, _)| key.name == name && key.other.is_none()).map(|(_, value)| value)
    }

    /// The value at the end of a path of names.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    /// The entries, if this is a map.
    pub fn entries(&self) -> &[(Key, Self)] {
        if let What::Map(map) = &self.what { &map.entries } else { &[] }
    }

    /// The items, if this is a list.
    pub fn items(&self) -> &[Self] {
        if let What::List(list) = &self.what { &list.items } else { &[] }
    }

    /// The text, if this is one.
    pub fn text(&self) -> Option<&str> {
        match &self.what {
            What::Scalar(text, Kind::Text) => Some(text),
            _ => None,
        }
    }

    /// Any scalar as it is written.
    pub fn written(&self) -> Option<&str> {
        if let What::Scalar(text, _) = &self.what { Some(text) } else { None }
    }

    pub fn truth(&self) -> Option<bool> {
        match &self.what {
            What::Scalar(text, Kind::Bool) => {
                Some(matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "y"))
            }
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.what, What::Scalar(_, Kind::Null))
    }

    /// Why this value cannot be told, or why something may be missing from it.
    pub fn why_open(&self) -> Option<&str> {
        match &self.what {
            What::Unknown(unknown) => Some(&unknown.why),
            What::List(list) => list.open.as_deref(),
            What::Map(map) => map.open.as_deref(),
            What::Scalar(..) => None,
        }
    }
}
