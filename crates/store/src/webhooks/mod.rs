//! Webhooks: who wants to be told of what happens to a project's jobs, and every telling.
//!
//! Rows are held in the order webhook, then delivery, as their deletion does it, so that there is no deadlock.

mod attempts;
mod deliveries;
mod endpoints;
mod take;

pub use attempts::{After, Attempt, Blame};
pub(crate) use deliveries::insert;
pub use deliveries::{Backlog, DeliveryFilter, WebhookDelivery};
pub(crate) use endpoints::wanting;
pub use endpoints::{Added, NewEndpoint, WebhookEndpoint};
pub use take::{DueDelivery, DueEndpoint};
