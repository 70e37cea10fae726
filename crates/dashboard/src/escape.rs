use std::fmt::{self, Write};

use askama::filters::Escaper;
use copydesk_domain::visible;

/// What every text goes through on its way into a page, so that it cannot be forgotten anywhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visible;

impl Escaper for Visible {
    fn write_escaped_str<W: Write>(&self, dest: W, string: &str) -> fmt::Result {
        askama::filters::Html.write_escaped_str(dest, &visible(string))
    }
}

/// The same for pages that are not made by a template.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = Visible.write_escaped_str(out, text);
}
