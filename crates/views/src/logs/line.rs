use crate::Request;

/// What a line of a log is.
#[derive(Debug, Clone, PartialEq)]
pub enum Line<'a> {
    /// A request.
    Request(Request<'a>),
    /// Nothing, or a remark of whoever wrote the log.
    Aside,
    /// Not of the log's format.
    Unparsable,
}
