use std::sync::Arc;

use rmcp::model::JsonObject;
use rmcp::schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// The schema of a tool's arguments and, from its comment, what the tool is for.
pub(crate) fn of<T: JsonSchema>() -> (Arc<JsonObject>, String) {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    let Value::Object(mut object) = schema else { return Default::default() };
    object.remove("title");
    let about = match object.remove("description") {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    (Arc::new(object), about)
}

/// What may be left out is not required; that it may also be null, and how wide a number is in Rust, only confuses clients
/// that know a part of JSON Schema.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|it| it != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(values)) = object.get_mut("enum") {
                values.retain(|it| !it.is_null());
            }
            if object.get("type").is_some_and(|kind| kind == "integer" || kind == "number") {
                object.remove("format");
            }
            if let Some(Value::Array(ways)) = object.get_mut("anyOf") {
                ways.retain(|way| way["type"] != "null");
                if let [Value::Object(only)] = ways.as_mut_slice() {
                    let only = std::mem::take(only);
                    object.remove("anyOf");
                    // What stands beside it says more about this place.
                    for (name, value) in only {
                        object.entry(name).or_insert(value);
                    }
                }
            }
            object.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}
