//! The question before something is done that cannot be taken back.

use askama::Template;

use crate::shell::Shell;

#[derive(Template)]
#[template(path = "ask.html")]
pub(crate) struct AskPage {
    pub(crate) shell: Shell,
    pub(crate) question: String,
    /// What comes of it.
    pub(crate) words: String,
    /// Where the form goes.
    pub(crate) action: String,
    /// What the button says.
    pub(crate) deed: &'static str,
    /// What the way back says.
    pub(crate) keep: &'static str,
    pub(crate) back: String,
}
