//! Looking at JSON with an eye to what is wrong with it.

use serde_json::{Map, Value};

use super::api::Rejection;

/// An object and where it stands in the request.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    pub map: &'a Map<String, Value>,
    pub path: String,
}

impl<'a> Fields<'a> {
    /// The value as an object.
    pub fn of(value: &'a Value, path: impl Into<String>) -> Result<Self, Rejection> {
        let path = path.into();
        match value.as_object() {
            Some(map) => Ok(Self { map, path }),
            None => Err(Rejection::bad(path.clone(), format!("{path}: must be an object"))),
        }
    }

    /// Where a field stands.
    pub fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A complaint about a field.
    pub fn bad(&self, name: &str, what: &str) -> Rejection {
        let at = self.at(name);
        Rejection::bad(at.clone(), format!("{at}: {what}"))
    }

    /// Complains about fields that the provider does not know.
    pub fn only(&self, known: &[&str]) -> Result<(), Rejection> {
        match self.map.keys().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => Err(self.bad(unknown, "this field is not known here")),
            None => Ok(()),
        }
    }

    /// A field; null counts as absent.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A text that may be absent.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, Rejection> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| self.bad(name, "must be a string")),
        }
    }

    /// A text that must be there.
    pub fn need_text(&self, name: &str) -> Result<&'a str, Rejection> {
        self.text(name)?.ok_or_else(|| self.bad(name, "is required"))
    }

    /// A truth value that may be absent.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, Rejection> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_bool().map(Some).ok_or_else(|| self.bad(name, "must be true or false")),
        }
    }

    /// A list that may be absent.
    pub fn list(&self, name: &str) -> Result<Option<&'a [Value]>, Rejection> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.bad(name, "must be an array")),
        }
    }

    /// A number between two bounds that may be absent.
    pub fn number(&self, name: &str, low: f64, high: f64) -> Result<Option<f64>, Rejection> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.as_f64().filter(|number| (low..=high).contains(number)) {
                Some(number) => Ok(Some(number)),
                None => Err(self.bad(name, &format!("must be a number from {low} to {high}"))),
            },
        }
    }

    /// A whole number above zero that may be absent.
    pub fn count(&self, name: &str) -> Result<Option<u64>, Rejection> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.as_u64().filter(|count| *count > 0) {
                Some(count) => Ok(Some(count)),
                None => Err(self.bad(name, "must be a whole number of at least 1")),
            },
        }
    }

    /// One word out of several, if the field is there.
    pub fn word(&self, name: &str, words: &[&str]) -> Result<Option<&'a str>, Rejection> {
        match self.text(name)? {
            Some(word) if !words.contains(&word) => {
                Err(self.bad(name, &format!("{word:?} is not one of {}", words.join(", "))))
            }
            word => Ok(word),
        }
    }
}

/// Whether it is 1 to 64 letters, digits, `_` and `-`: what both providers take as a tool's name.
pub(super) fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && is_id(name)
}

/// Whether it is letters, digits, `_` and `-` only, and not empty.
pub(super) fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// What is wrong with the schema of a tool's arguments.
pub(super) fn schema_problem(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some("must be an object".to_owned());
    }
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Some("its type must be \"object\"".to_owned());
    }
    jsonschema::validator_for(schema).err().map(|error| format!("is not a valid JSON schema: {error}"))
}
