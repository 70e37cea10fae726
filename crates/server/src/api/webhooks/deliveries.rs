//! What was delivered to a webhook, and what is to be delivered again.

use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use copydesk_desk::webhooks::DeliveryView;
use serde::Serialize;
use utoipa::ToSchema;

use super::requests::{ListDeliveries, delivery_filter};
use super::{Named, delivery_not_found, not_found};
use crate::api::parts::webhooks;
use crate::app::App;
use crate::auth::{Reader, Writer};
use crate::problem::Problem;

/// A page of deliveries, newest first
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebhookDeliveryList<'a> {
    deliveries: Vec<DeliveryView<'a>>,
    /// Send this as `cursor` to get the next page; null at the end.
    #[schema(required)]
    next_cursor: Option<&'a str>,
}

/// Test a webhook
///
/// Delivers an event of the type `webhook.test` once, also while the webhook is paused, and waits for the answer.
#[utoipa::path(post, path = "/v1/webhooks/{projectId}/{webhookId}/test", tag = "Webhooks",
    operation_id = "testWebhook",
    params(("projectId" = String, Path, description = "The project"),
        ("webhookId" = String, Path, description = "The webhook")),
    responses((status = 200, description = "The delivery, whether or not it succeeded", body = DeliveryView)))]
pub(super) async fn test_webhook(
    State(app): State<App>,
    Writer(caller): Writer,
    named: Named,
) -> Result<Response, Problem> {
    let endpoint = named.webhook(&app, &caller).await?;
    let (webhooks, store) = (webhooks(&app)?.clone(), app.store().clone());
    // On its own, so that what came of it is written down even if the client goes away.
    let tried = tokio::spawn(async move { webhooks.test(&store, &endpoint.id).await });
    let tried = tried.await.map_err(|error| Problem::internal("", error.to_string()))??;
    Ok(axum::Json(DeliveryView::from(&tried.ok_or_else(not_found)?)).into_response())
}

/// List the deliveries of a webhook, newest first
///
/// They are kept for 30 days.
#[utoipa::path(get, path = "/v1/webhooks/{projectId}/{webhookId}/deliveries", tag = "Webhooks",
    operation_id = "listWebhookDeliveries",
    params(("projectId" = String, Path, description = "The project"),
        ("webhookId" = String, Path, description = "The webhook"), ListDeliveries),
    responses((status = 200, description = "A page of deliveries", body = WebhookDeliveryList)))]
pub(super) async fn list_deliveries(
    State(app): State<App>,
    Reader(caller): Reader,
    named: Named,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut filter = delivery_filter(query.as_deref().unwrap_or_default())?;
    let endpoint = named.webhook(&app, &caller).await?;
    let wanted = filter.limit as usize;
    // One more than asked for tells whether there is a next page.
    filter.limit += 1;
    let mut deliveries = app.store().deliveries(&endpoint.id, filter).await?;
    let more = deliveries.len() > wanted;
    deliveries.truncate(wanted);
    let next_cursor = deliveries.last().filter(|_| more).map(|delivery| delivery.id.as_str());
    let deliveries = deliveries.iter().map(DeliveryView::from).collect();
    Ok(axum::Json(WebhookDeliveryList { deliveries, next_cursor }).into_response())
}

/// Deliver again
///
/// A delivery that waits is due at once. One that was delivered or given up gets a second one of the same event, which
/// is the answer.
#[utoipa::path(post, path = "/v1/webhooks/{projectId}/{webhookId}/deliveries/{deliveryId}/redeliver", tag = "Webhooks",
    operation_id = "redeliverWebhook",
    params(("projectId" = String, Path, description = "The project"),
        ("webhookId" = String, Path, description = "The webhook"),
        ("deliveryId" = String, Path, description = "The delivery")),
    responses((status = 200, description = "The delivery that is now on its way", body = DeliveryView)))]
pub(super) async fn redeliver(
    State(app): State<App>,
    Writer(caller): Writer,
    named: Named,
) -> Result<Response, Problem> {
    let endpoint = named.webhook(&app, &caller).await?;
    let delivery = named.delivery(&app, &endpoint).await?;
    let again = caller.store(&app).redeliver(&delivery.id).await?.ok_or_else(delivery_not_found)?;
    Ok(axum::Json(DeliveryView::from(&again)).into_response())
}
