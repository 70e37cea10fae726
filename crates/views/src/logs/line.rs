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

/// The lines of a text, without their ends.
pub(super) fn each(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let unended = text.last().is_some_and(|last| *last != b'\n').then_some(text.len());
    let mut start = 0;
    memchr::memchr_iter(b'\n', text).chain(unended).map(move |end| &text[std::mem::replace(&mut start, end + 1)..end])
}
