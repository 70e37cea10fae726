//! Parts that a server may lack, and what is answered then.

use std::sync::Arc;

use copydesk_desk::docs_job::Workshop;
use copydesk_desk::views::Views;
use copydesk_desk::webhooks::Webhooks;

use crate::app::App;
use crate::problem::Problem;

pub(super) fn views(app: &App) -> Result<&Arc<Views>, Problem> {
    app.desk().views.as_ref().ok_or_else(|| Problem::unavailable("This server keeps no page views."))
}

pub(super) fn workshop(app: &App) -> Result<&Arc<Workshop>, Problem> {
    let none = || Problem::unavailable("This server cannot reach repositories.");
    app.desk().jobs.workshop().ok_or_else(none)
}

pub(super) fn webhooks(app: &App) -> Result<&Arc<Webhooks>, Problem> {
    app.desk().webhooks.as_ref().ok_or_else(|| Problem::unavailable("This server delivers no webhooks."))
}
