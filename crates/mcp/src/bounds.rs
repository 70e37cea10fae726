//! What comes back is bounded, and says so: a model reads all of it.

use serde_json::{Map, Value, json};

/// The most bytes of one text, of which there may be many in an answer.
const LONGEST_TEXT: usize = 4_000;
/// The most items of one list.
const LONGEST_LIST: usize = 250;
/// The most bytes of a whole answer.
const LONGEST_ANSWER: usize = 200_000;

/// The start of a text, of no more than so many bytes.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A value whose texts and lists are bounded; what was cut is listed under `cut`.
pub(crate) fn bounded(mut object: Map<String, Value>) -> Value {
    let mut cut = Vec::new();
    let mut left = LONGEST_ANSWER;
    for (name, value) in &mut object {
        shorten(value, name, &mut left, &mut cut);
    }
    if !cut.is_empty() {
        object.insert("cut".to_owned(), Value::Array(cut));
    }
    Value::Object(object)
}

fn shorten(value: &mut Value, at: &str, left: &mut usize, cut: &mut Vec<Value>) {
    match value {
        Value::String(text) => {
            let most = LONGEST_TEXT.min(*left);
            if text.len() > most {
                cut.push(json!({ "field": at, "kept": most, "of": text.len(), "unit": "bytes" }));
                *text = head(text, most).to_owned();
            }
            *left = left.saturating_sub(text.len());
        }
        Value::Array(items) => {
            let there = items.len();
            items.truncate(LONGEST_LIST);
            for number in 0..items.len() {
                if *left == 0 {
                    items.truncate(number);
                    break;
                }
                shorten(&mut items[number], &format!("{at}[{number}]"), left, cut);
            }
            if items.len() < there {
                cut.push(json!({ "field": at, "kept": items.len(), "of": there, "unit": "items" }));
            }
        }
        Value::Object(object) => {
            for (name, value) in object {
                *left = left.saturating_sub(name.len());
                shorten(value, &format!("{at}.{name}"), left, cut);
            }
        }
        // A number takes some bytes too.
        _ => *left = left.saturating_sub(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_is_told() {
        let object = json!({ "id": "x", "message": "ä".repeat(4_000), "list": vec![1; 300] });
        let Value::Object(object) = object else { panic!() };
        let bounded = bounded(object);
        assert_eq!(bounded["message"].as_str().map(str::len), Some(4_000));
        assert_eq!(bounded["list"].as_array().map(Vec::len), Some(250));
        let message = json!({ "field": "message", "kept": 4_000, "of": 8_000, "unit": "bytes" });
        let list = json!({ "field": "list", "kept": 250, "of": 300, "unit": "items" });
        assert_eq!(bounded["cut"], json!([message, list]));
    }

    #[test]
    fn a_whole_answer_is_bounded_however_it_is_made() {
        let item = json!({ "a": "x".repeat(4_000), "b": ["y".repeat(4_000)] });
        let Value::Object(object) = json!({ "list": vec![item; 200] }) else { panic!() };
        let bounded = bounded(object).to_string();
        assert!(bounded.len() < LONGEST_ANSWER + 20_000, "{}", bounded.len());
        assert!(bounded.contains(r#""unit":"items""#));
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        let value = json!({ "a": "b", "c": [1, null, { "d": true }] });
        let Value::Object(object) = value.clone() else { panic!() };
        assert_eq!(bounded(object), value);
    }
}
