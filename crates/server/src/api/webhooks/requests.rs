//! What clients send about webhooks, parsed into domain types.

use copydesk_desk::webhooks::Wish;
use copydesk_domain::{EventKind, Project};
use copydesk_store::DeliveryFilter;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::api::job_requests::{is_id, plain_number};
use crate::problem::{Detail, Problem};

/// A webhook to create
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateWebhook {
    /// Where to deliver to: an https address that does not lead into a private network, unless the server allows it.
    #[schema(format = "uri", min_length = 9, max_length = 2048, example = "https://example.com/hooks/copydesk")]
    url: String,
    /// The events to deliver; all if it is empty or not given.
    #[schema(value_type = Option<Vec<EventKind>>)]
    events: Option<Vec<String>>,
    /// What it is for. At most 200 characters, no control characters.
    #[schema(max_length = 200, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$")]
    description: Option<String>,
}

impl CreateWebhook {
    pub(super) fn into_wish(self, project: &Project) -> Result<Wish, Problem> {
        let mut events = Vec::new();
        let mut wrong = Vec::new();
        for (at, word) in self.events.unwrap_or_default().iter().enumerate() {
            match EventKind::parse(word) {
                Some(kind) => events.push(kind),
                None => wrong.push(Detail::new(format!("events[{at}]"), format!("must be one of {}", kinds()))),
            }
        }
        if !wrong.is_empty() {
            wrong.truncate(10);
            return Err(Problem::invalid_all(wrong));
        }
        let description = self.description.unwrap_or_default();
        Ok(Wish { project_id: project.id.clone(), url: self.url, events, description })
    }
}

fn kinds() -> String {
    EventKind::ALL.map(EventKind::as_str).join(", ")
}

/// Which deliveries to list
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "describes the query, which is read by hand so that every mistake is an error")]
pub(crate) struct ListDeliveries {
    /// Whether to list only deliveries whose last attempt failed.
    failed: Option<bool>,
    /// The most deliveries to list; 50 if not given.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// The `nextCursor` of the previous page.
    #[param(format = "uuid")]
    cursor: Option<String>,
}

/// Reads the query of a list; what it does not know it leaves alone.
pub(super) fn delivery_filter(query: &str) -> Result<DeliveryFilter, Problem> {
    let mut filter = DeliveryFilter { failed: false, before: None, limit: 50 };
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let name = &*name;
        if !["failed", "limit", "cursor"].contains(&name) {
            continue;
        }
        if seen.contains(&name.to_owned()) {
            wrong.push(Detail::new(name, "is given twice"));
            continue;
        }
        seen.push(name.to_owned());
        match (name, &*value) {
            ("failed", "true") => filter.failed = true,
            ("failed", "false") => filter.failed = false,
            ("failed", _) => wrong.push(Detail::new(name, "must be true or false")),
            ("limit", text) => match plain_number(text).filter(|limit| (1..=100).contains(limit)) {
                Some(limit) => filter.limit = limit,
                None => wrong.push(Detail::new(name, "must be a whole number from 1 to 100")),
            },
            (_, text) if is_id(text) => filter.before = Some(text.to_ascii_lowercase()),
            _ => wrong.push(Detail::new(name, "must be a nextCursor of this list")),
        }
    }
    if wrong.is_empty() { Ok(filter) } else { Err(Problem::invalid_all(wrong)) }
}
