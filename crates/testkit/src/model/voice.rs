use super::request::{Mark, Request};
use super::script::Reply;

/// What a reply needs to know to be written out.
#[derive(Clone, Copy)]
pub(super) struct Voice<'a> {
    pub request: &'a Request,
    pub reply: &'a Reply,
    /// Where in the script it stands.
    pub mark: Mark,
    /// The number of its first call.
    pub first_call: usize,
}

impl Voice<'_> {
    /// An id for the answer or, with a number, for one of its calls.
    pub fn id(&self, prefix: &str, call: usize) -> String {
        self.mark.id(prefix, &self.request.conversation, self.first_call + call)
    }
}
