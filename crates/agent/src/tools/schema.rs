use serde_json::{Value, json};

/// A type that can stand in a tool's input.
pub(super) trait Described {
    /// Whether it may be left out.
    const OPTIONAL: bool = false;
    /// Its JSON schema, without a description.
    fn schema() -> Value;
}

impl Described for String {
    fn schema() -> Value {
        json!({"type": "string"})
    }
}

impl Described for bool {
    fn schema() -> Value {
        json!({"type": "boolean"})
    }
}

impl Described for u32 {
    fn schema() -> Value {
        json!({"type": "integer"})
    }
}

impl Described for Vec<String> {
    fn schema() -> Value {
        json!({"type": "array", "items": {"type": "string"}})
    }
}

impl<T: Described> Described for Option<T> {
    const OPTIONAL: bool = true;
    fn schema() -> Value {
        T::schema()
    }
}

/// One field of a tool's input: its name, whether it may be left out, its schema and its description.
pub(super) type Field = (&'static str, bool, Value, &'static str);

/// The JSON schema of an object with these fields. It stands in every request, so it says nothing that goes without saying:
/// fields that are not named are refused with a sentence that names those that are.
pub(super) fn object(fields: Vec<Field>) -> Value {
    let required: Vec<&str> = fields.iter().filter(|field| !field.1).map(|field| field.0).collect();
    let mut properties = serde_json::Map::new();
    for (name, _, mut schema, description) in fields {
        if !description.is_empty() {
            schema["description"] = Value::String(description.trim().to_owned());
        }
        properties.insert(name.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Declares the input of a tool once: the struct, its JSON schema, and from the comments what the model reads.
macro_rules! tool_input {
    ($(#[doc = $about:literal])+ $name:ident as $tool:literal {
        $($(#[doc = $doc:literal])* $field:ident: $type:ty,)*
    }) => {
        $(#[doc = $about])+
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[doc = $doc])* pub(super) $field: $type,)*
        }

        impl $name {
            pub(super) const TOOL: &'static str = $tool;

            pub(super) fn definition() -> $crate::tools::Definition {
                $crate::tools::Definition {
                    name: Self::TOOL,
                    description: concat!($($about),+).trim(),
                    schema: $crate::tools::schema::object(vec![$((
                        stringify!($field),
                        <$type as $crate::tools::schema::Described>::OPTIONAL,
                        <$type as $crate::tools::schema::Described>::schema(),
                        concat!($($doc),*),
                    )),*]),
                }
            }
        }
    };
}
pub(super) use tool_input;
