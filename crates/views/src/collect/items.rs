//! A body and the items in it.

use serde_json::value::RawValue;

/// Why a body has no items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Nothing is in it.
    #[error("it is empty")]
    Empty,
    /// It is not JSON, and not lines of JSON either.
    #[error("{0}")]
    NotJson(String),
    /// There are too many.
    #[error("it has more than {0} events")]
    TooMany(usize),
}

/// The items of a body: of one object, of a list, or of lines with one object each. Lists must be sound as a whole; a
/// line that is not is an item all the same, which is then refused by itself.
pub fn items(body: &[u8], limit: usize) -> Result<Vec<&[u8]>, BodyError> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii();
    let items = match body.first() {
        None => return Err(BodyError::Empty),
        Some(b'[') => list(body, limit)?,
        // One object may be written over several lines.
        Some(_) if serde_json::from_slice::<&RawValue>(body).is_ok() => vec![body],
        Some(_) => lines(body).take(limit.saturating_add(1)).collect(),
    };
    if items.len() > limit { Err(BodyError::TooMany(limit)) } else { Ok(items) }
}

fn list(body: &[u8], limit: usize) -> Result<Vec<&[u8]>, BodyError> {
    let not_json = |error: serde_json::Error| BodyError::NotJson(error.to_string());
    let found: Vec<&RawValue> = serde_json::from_slice(body).map_err(not_json)?;
    if found.len() > limit {
        return Err(BodyError::TooMany(limit));
    }
    Ok(found.into_iter().map(|item| item.get().as_bytes()).collect())
}

fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Vec<String>, BodyError> {
        let items = items(body.as_bytes(), 3)?;
        Ok(items.into_iter().map(|item| String::from_utf8(item.to_vec()).unwrap()).collect())
    }

    #[test]
    fn one_a_list_or_lines() {
        assert_eq!(read("{\n  \"a\": 1\n}\n").unwrap(), ["{\n  \"a\": 1\n}"]);
        assert_eq!(read(r#" [{"a":1}, {"b":[1]}] "#).unwrap(), [r#"{"a":1}"#, r#"{"b":[1]}"#]);
        assert_eq!(read("{\"a\":1}\r\n\n{\"b\":2}\n").unwrap(), [r#"{"a":1}"#, r#"{"b":2}"#]);
        assert_eq!(read("\u{feff}{}").unwrap(), ["{}"]);
        assert_eq!(read("[]").unwrap(), [""; 0]);
        assert_eq!(read("{\"a\":1}\nnonsense\n{\"b\":2}").unwrap().len(), 3, "a bad line is an item");
        assert_eq!(read("{ half").unwrap(), ["{ half"]);
    }

    #[test]
    fn what_has_no_items() {
        assert_eq!(read(" \n "), Err(BodyError::Empty));
        assert!(matches!(read("[{}"), Err(BodyError::NotJson(_))));
        assert!(matches!(read("[1] x"), Err(BodyError::NotJson(_))));
        assert_eq!(read("[1,2,3,4]"), Err(BodyError::TooMany(3)));
        assert_eq!(read("{}\n{}\n{}\n{}"), Err(BodyError::TooMany(3)));
        assert_eq!(read("[1,2,3]").unwrap().len(), 3);
    }
}
