use copydesk_domain::{EventKind, Timestamp};
use copydesk_store::{WebhookDelivery, WebhookEndpoint};
use serde::Serialize;
use utoipa::ToSchema;

/// A webhook
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Webhook)]
pub struct WebhookView<'a> {
    /// Unique identifier of the webhook.
    id: &'a str,
    /// The project whose events it receives.
    project_id: &'a str,
    /// Where it is.
    #[schema(format = "uri")]
    url: &'a str,
    /// The events it receives; all if empty.
    events: &'a [EventKind],
    /// What it is for.
    description: &'a str,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it was paused; null if it is not paused.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    paused_at: Option<Timestamp>,
    /// Why it was paused; null if it is not paused.
    #[schema(required)]
    paused_why: Option<&'a str>,
    /// The first failure since the last success.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    failing_since: Option<Timestamp>,
    /// The last success.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    last_success_at: Option<Timestamp>,
    /// Until when the previous secret also signs.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    old_secret_until: Option<Timestamp>,
    /// The secret that signs deliveries, shown only now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, pattern = "^whsec_[A-Za-z0-9+/]+={0,2}$")]
    secret: Option<String>,
}

impl<'a> WebhookView<'a> {
    /// The same with its secret.
    #[must_use]
    pub fn with_secret(mut self, secret: &super::WebhookSecret) -> Self {
        self.secret = Some(secret.reveal());
        self
    }
}

impl<'a> From<&'a WebhookEndpoint> for WebhookView<'a> {
    fn from(endpoint: &'a WebhookEndpoint) -> Self {
        Self {
            id: &endpoint.id,
            project_id: &endpoint.project_id,
            url: &endpoint.url,
            events: &endpoint.events,
            description: &endpoint.description,
            created_at: endpoint.created_at,
            paused_at: endpoint.paused_at,
            paused_why: endpoint.paused_why.as_deref(),
            failing_since: endpoint.failing_since,
            last_success_at: endpoint.last_success_at,
            old_secret_until: endpoint.old_secret_until,
            secret: None,
        }
    }
}

/// An event on its way to a webhook
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookDelivery)]
pub struct DeliveryView<'a> {
    /// Unique identifier of the delivery.
    id: &'a str,
    /// The webhook.
    webhook_id: &'a str,
    /// The event: the `webhook-id` that the receiver sees, the same at every try and every redelivery.
    event_id: &'a str,
    /// What happened.
    #[schema(example = "job.completed")]
    r#type: &'a str,
    /// When the delivery was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// How often it was tried.
    tries: u32,
    /// When it is tried next; null if it was delivered or given up.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    next_try_at: Option<Timestamp>,
    /// When it was last tried.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    last_tried_at: Option<Timestamp>,
    /// The status of the last answer.
    #[schema(required)]
    last_status: Option<u32>,
    /// The beginning of the last answer, at most 2 KiB.
    #[schema(required)]
    last_answer: Option<&'a str>,
    /// What was wrong with the last try, if not the status.
    #[schema(required)]
    last_error: Option<&'a str>,
    /// How long the last try took, in milliseconds.
    #[schema(required)]
    last_ms: Option<u32>,
    /// When it was delivered.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    delivered_at: Option<Timestamp>,
    /// When it was given up.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    given_up_at: Option<Timestamp>,
}

impl<'a> From<&'a WebhookDelivery> for DeliveryView<'a> {
    fn from(delivery: &'a WebhookDelivery) -> Self {
        Self {
            id: &delivery.id,
            webhook_id: &delivery.endpoint_id,
            event_id: &delivery.event_id,
            r#type: &delivery.kind,
            created_at: delivery.created_at,
            tries: delivery.tries,
            next_try_at: delivery.next_try_at,
            last_tried_at: delivery.last_tried_at,
            last_status: delivery.last_status,
            last_answer: delivery.last_answer.as_deref(),
            last_error: delivery.last_error.as_deref(),
            last_ms: delivery.last_ms,
            delivered_at: delivery.delivered_at,
            given_up_at: delivery.given_up_at,
        }
    }
}
