//! One webhook: how it stands, what was delivered to it, and what can be done with it.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use copydesk_store::{DeliveryFilter, WebhookDelivery, WebhookEndpoint};

use super::webhooks::{sender, shown_once, standing, told};
use super::{Frame, OWNER, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::asked;
use crate::pages::ask::AskPage;
use crate::respond::plain;
use crate::respond::{Oops, Reply, page, to};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

/// Deliveries on a page.
const SHOWN: u32 = 25;

pub(super) fn routes(table: Table) -> Table {
    table
        .get(OWNER, "/p/{project}/settings/webhooks/{id}", show)
        .post(OWNER, "/p/{project}/settings/webhooks/{id}/pause", pause)
        .post(OWNER, "/p/{project}/settings/webhooks/{id}/resume", resume)
        .post(OWNER, "/p/{project}/settings/webhooks/{id}/test", test)
        .post_surely(OWNER, "/p/{project}/settings/webhooks/{id}/rotate", rotate)
        .get(OWNER, "/p/{project}/settings/webhooks/{id}/remove", ask)
        .post_surely(OWNER, "/p/{project}/settings/webhooks/{id}/remove", remove)
        .post(OWNER, "/p/{project}/settings/webhooks/{id}/deliveries/{delivery}/redeliver", redeliver)
}

#[derive(Template)]
#[template(path = "settings/webhook.html")]
struct WebhookPage {
    shell: Shell,
    frame: Frame,
    webhook: WebhookEndpoint,
    deliveries: Vec<WebhookDelivery>,
    /// Only failed ones.
    is_failed: bool,
    /// Where older ones are.
    older: Option<String>,
    /// Whether newer ones were left behind.
    is_first: bool,
}

impl WebhookPage {
    fn standing(&self) -> (&'static str, &'static str) {
        standing(&self.webhook)
    }

    fn told(&self) -> String {
        told(&self.webhook.events)
    }

    /// How a delivery stands: the look of its badge, and the words.
    fn progress(&self, delivery: &WebhookDelivery) -> (&'static str, &'static str) {
        match (delivery.delivered_at, delivery.given_up_at, delivery.last_tried_at) {
            (Some(_), ..) => ("good", "delivered"),
            (None, Some(_), _) => ("bad", "given up"),
            (None, None, Some(_)) => ("warn", "tried again later"),
            (None, None, None) => ("", "waits"),
        }
    }
}

/// The webhook of that id, if it is one of the project.
async fn found(dash: &Dash, who: &InProject, id: &str) -> Result<WebhookEndpoint, Oops> {
    let found = dash.desk().store.webhook(plain(id)?).await?;
    found.filter(|webhook| webhook.project_id == who.project.id).ok_or(Oops::NotFound)
}

fn address(who: &InProject, webhook: &WebhookEndpoint, rest: &str) -> String {
    who.path(&format!("/settings/webhooks/{}{rest}", webhook.id))
}

type Named = Path<(String, String)>;

async fn show(State(dash): State<Dash>, who: InProject, Path((_, id)): Named, query: RawQuery) -> Reply {
    let (webhook, query) = (found(&dash, &who, &id).await?, asked(query));
    let (is_failed, before) = (query.text("failed") == "true", query.given("before"));
    let before = before.map(|before| plain(&before).map(str::to_owned)).transpose()?;
    let is_first = before.is_none();
    let filter = DeliveryFilter { failed: is_failed, before, limit: SHOWN + 1 };
    let mut deliveries = dash.desk().store.deliveries(&webhook.id, filter).await?;
    let more = deliveries.len() > SHOWN as usize;
    deliveries.truncate(SHOWN as usize);
    let older = deliveries.last().filter(|_| more).map(|last| {
        let failed = if is_failed { "&failed=true" } else { "" };
        address(&who, &webhook, &format!("?before={}{failed}", last.id))
    });
    page(&WebhookPage {
        shell: shell(&dash, &who, "Webhook"),
        frame: Frame::new(&who, "webhooks").said(&query),
        webhook,
        deliveries,
        is_failed,
        older,
        is_first,
    })
}

async fn pause(State(dash): State<Dash>, who: InProject, Path((_, id)): Named) -> Reply {
    let webhook = found(&dash, &who, &id).await?;
    let why = format!("{} paused it.", who.user.email);
    who.store(&dash).pause_webhook(&webhook.id, &why).await?;
    to(&address(&who, &webhook, ""))
}

async fn resume(State(dash): State<Dash>, who: InProject, Path((_, id)): Named) -> Reply {
    let webhook = found(&dash, &who, &id).await?;
    who.store(&dash).resume_webhook(&webhook.id).await?;
    to(&address(&who, &webhook, ""))
}

async fn test(State(dash): State<Dash>, who: InProject, Path((_, id)): Named) -> Reply {
    let webhook = found(&dash, &who, &id).await?;
    sender(&dash)?.clone().test_surely(who.store(&dash), webhook.id.clone()).await?.ok_or(Oops::NotFound)?;
    to(&address(&who, &webhook, "?said=tested"))
}

async fn rotate(State(dash): State<Dash>, who: InProject, Path((_, id)): Named) -> Reply {
    let webhook = found(&dash, &who, &id).await?;
    let rotated = sender(&dash)?.rotate(&who.store(&dash), &webhook.id).await?;
    let (webhook, signing) = rotated.ok_or(Oops::NotFound)?;
    shown_once(&dash, &who, webhook, &signing).await
}

async fn ask(State(dash): State<Dash>, who: InProject, Path((_, id)): Named) -> Reply {
    let webhook = found(&dash, &who, &id).await?;
    page(&AskPage {
        shell: shell(&dash, &who, "Remove a webhook"),
        question: "Remove the webhook?".to_owned(),
        words: format!("Deliveries waiting for {} are dropped, and its log is deleted.", webhook.url),
        action: address(&who, &webhook, "/remove"),
        deed: "Remove it",
        keep: "Keep it",
        back: address(&who, &webhook, ""),
    })
}

async fn remove(State(dash): State<Dash>, who: InProject, Path((_, id)): Named) -> Reply {
    let webhook = found(&dash, &who, &id).await?;
    who.store(&dash).remove_webhook(&webhook.id).await?;
    to(&who.path("/settings/webhooks?said=removed"))
}

async fn redeliver(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, id, delivery)): Path<(String, String, String)>,
) -> Reply {
    let webhook = found(&dash, &who, &id).await?;
    let delivery = dash.desk().store.delivery(plain(&delivery)?).await?;
    let delivery = delivery.filter(|delivery| delivery.endpoint_id == webhook.id).ok_or(Oops::NotFound)?;
    who.store(&dash).redeliver(&delivery.id).await?;
    to(&address(&who, &webhook, "?said=again"))
}
