use crate::Hit;

/// What a line of a log is.
#[derive(Debug, Clone, PartialEq)]
pub enum LogLine<'a> {
    Hit(Hit<'a>),
    /// Nothing, or a remark of whoever wrote the log.
    Aside,
    /// Not of the log's format.
    Unparsable,
}
