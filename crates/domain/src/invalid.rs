/// A value that breaks a rule, with the field it was given for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {message}")]
pub struct Invalid {
    pub field: &'static str,
    /// What is wrong, as the end of a sentence that begins with the field.
    pub message: String,
}

impl Invalid {
    pub fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }
}
