use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Fault, Key, Kind, List, Map, Value, What};

/// Reads a file of TOML.
pub fn toml(text: &str) -> Result<Value, Fault> {
    let table = DeTable::parse(text).map_err(|error| Fault {
        message: error.message().lines().next().unwrap_or_default().to_owned(),
        at: error.span().map_or(0, |span| text.floor_char_boundary(span.start.min(text.len()))),
    })?;
    let range = table.span();
    Ok(Value::new(map(table.get_ref()), range))
}

fn map(table: &DeTable<'_>) -> What {
    let mut entries: Vec<(Key, Value)> = table
        .iter()
        .map(|(name, value)| {
            (Key { name: name.get_ref().to_string(), other: None, range: name.span() }, value_of(value))
        })
        .collect();
    entries.sort_by_key(|(key, _)| key.range.start);
    What::Map(Map { entries, open: None })
}

fn value_of(value: &Spanned<DeValue<'_>>) -> Value {
    let what = match value.get_ref() {
        DeValue::String(text) => What::Scalar(text.to_string(), Kind::Text),
        DeValue::Integer(number) => What::Scalar(number.to_string(), Kind::Number),
        DeValue::Float(number) => What::Scalar(number.to_string(), Kind::Number),
        DeValue::Boolean(truth) => What::Scalar(truth.to_string(), Kind::Bool),
        DeValue::Datetime(time) => What::Scalar(time.to_string(), Kind::Text),
        DeValue::Array(items) => What::List(List { items: items.iter().map(value_of).collect(), open: None }),
        DeValue::Table(table) => map(table),
    };
    Value::new(what, value.span())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_is_read_with_positions() {
        let text = "a = \"x\"\n[b]\nc = [1, true]\n";
        let value = toml(text).unwrap();
        assert_eq!(&text[value.get("a").unwrap().range.clone()], "\"x\"");
        let list = value.at(&["b", "c"]).unwrap().items();
        assert_eq!((list[0].written(), list[1].truth()), (Some("1"), Some(true)));
        assert!(toml("a = ").is_err());
    }
}
