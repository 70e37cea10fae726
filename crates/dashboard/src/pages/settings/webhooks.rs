//! Who is told of what happens to a project's jobs.

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use copydesk_desk::webhooks::{NotMade, WebhookSecret, Webhooks, Wish};
use copydesk_domain::{EventKind, Invalid};
use copydesk_store::WebhookEndpoint;

use super::{Frame, OWNER, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, asked};
use crate::respond::{Oops, Reply, page, secret, unfit};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

pub(super) fn routes(table: Table) -> Table {
    table.get(OWNER, "/p/{project}/settings/webhooks", show).post_surely(OWNER, "/p/{project}/settings/webhooks", add)
}

/// What can be told, in words.
const KINDS: [(EventKind, &str); 7] = [
    (EventKind::JobCreated, "a job was created"),
    (EventKind::JobCompleted, "a job completed"),
    (EventKind::JobFailed, "a job failed"),
    (EventKind::JobArchived, "a job was archived"),
    (EventKind::PullRequestMerged, "a job’s pull request was merged"),
    (EventKind::PullRequestClosed, "a job’s pull request was closed"),
    (EventKind::ProjectFirstView, "the first page view was counted"),
];

#[derive(Template)]
#[template(path = "settings/webhooks.html")]
struct WebhooksPage {
    shell: Shell,
    frame: Frame,
    webhooks: Vec<WebhookEndpoint>,
    /// The one that was just made, with its secret, the only time that can be seen.
    new: Option<(WebhookEndpoint, String)>,
    url: String,
    description: String,
    ticked: Vec<String>,
}

impl WebhooksPage {
    fn kinds(&self) -> [(&'static str, &'static str); 7] {
        KINDS.map(|(kind, words)| (kind.as_str(), words))
    }

    fn is_ticked(&self, kind: &str) -> bool {
        self.ticked.iter().any(|ticked| ticked == kind)
    }
}

/// How a webhook stands: the look of its badge, and the words.
pub(super) fn standing(webhook: &WebhookEndpoint) -> (&'static str, &'static str) {
    match (webhook.paused_at, webhook.failing_since, webhook.last_success_at) {
        (Some(_), ..) => ("warn", "paused"),
        (None, Some(_), _) => ("bad", "fails"),
        (None, None, Some(_)) => ("good", "works"),
        (None, None, None) => ("", "not used yet"),
    }
}

/// What a webhook is told, in words.
pub(super) fn told(events: &[EventKind]) -> String {
    if events.is_empty() {
        return "everything".to_owned();
    }
    events.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
}

/// Who delivers.
pub(super) fn sender(dash: &Dash) -> Result<&Arc<Webhooks>, Oops> {
    let none = || Oops::refused(StatusCode::SERVICE_UNAVAILABLE, "This process delivers no webhooks.");
    dash.desk().webhooks.as_ref().ok_or_else(none)
}

async fn webhooks(dash: &Dash, who: &InProject, frame: Frame) -> Result<WebhooksPage, Oops> {
    Ok(WebhooksPage {
        shell: shell(dash, who, "Webhooks"),
        frame,
        webhooks: dash.desk().store.webhooks(Some(&who.project.id)).await?,
        new: None,
        url: String::new(),
        description: String::new(),
        ticked: Vec::new(),
    })
}

async fn show(State(dash): State<Dash>, who: InProject, query: RawQuery) -> Reply {
    page(&webhooks(&dash, &who, Frame::new(&who, "webhooks").said(&asked(query))).await?)
}

async fn add(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let ticked = form.all("event");
    let events: Option<Vec<EventKind>> = ticked.iter().map(|word| EventKind::parse(word)).collect();
    let made = match events {
        None => Err(Invalid::new("event", "must be among the choices")),
        Some(events) => {
            let wish = Wish {
                project_id: who.project.id.clone(),
                url: form.text("url").to_owned(),
                events,
                description: form.text("description").to_owned(),
            };
            match sender(&dash)?.add(&who.store(&dash), wish).await {
                Ok(made) => Ok(made),
                Err(NotMade::Invalid(invalid)) => Err(invalid),
                Err(NotMade::TooMany(most)) => Err(Invalid::new(
                    "url",
                    format!("cannot be added: the project has {most} webhooks; remove one first"),
                )),
                Err(NotMade::NoProject) => return Err(Oops::NotFound),
                Err(NotMade::Vault(error)) => return Err(error.into()),
            }
        }
    };
    match made {
        Ok((webhook, signing)) => shown_once(&dash, &who, webhook, &signing).await,
        Err(invalid) => {
            let template = webhooks(&dash, &who, Frame::new(&who, "webhooks").wrong(invalid)).await?;
            let (url, description) = (form.text("url").to_owned(), form.text("description").to_owned());
            unfit(&WebhooksPage { url, description, ticked, ..template })
        }
    }
}

/// The page with a secret that nobody can see again.
pub(super) async fn shown_once(
    dash: &Dash,
    who: &InProject,
    webhook: WebhookEndpoint,
    signing: &WebhookSecret,
) -> Reply {
    let template = webhooks(dash, who, Frame::new(who, "webhooks")).await?;
    page(&WebhooksPage { new: Some((webhook, signing.reveal())), ..template }).map(secret)
}
