//! Links that let somebody in.

use copydesk_desk::people::Link;
use copydesk_domain::Invalid;

use crate::dash::Dash;
use crate::form::Form;

/// The address that a link has.
pub(crate) fn join_address(dash: &Dash, link: &Link) -> String {
    format!("{}/join/{}", dash.settings().public_url, link.token.expose())
}

/// For whom an invitation is, as its maker says.
pub(crate) fn checked_note(form: &Form) -> Result<String, Invalid> {
    let note = form.text("note");
    if note.is_empty() {
        return Err(Invalid::new("note", "is needed, so that you know later whom it is for"));
    }
    if note.chars().count() > 200 || note.chars().any(char::is_control) {
        return Err(Invalid::new("note", "must have at most 200 characters and no control characters"));
    }
    Ok(note.to_owned())
}
