//! `copydesk webhook`: who is told of what happens to a project's jobs.

use std::process::ExitCode;

use copydesk_desk::webhooks::{
    AllowPrivate, DeliveryView, NotMade, WebhookSecret, WebhookSettings, WebhookView, Webhooks, Wish,
};
use copydesk_domain::{EventKind, Timestamp};
use copydesk_store::{DeliveryFilter, Store, WebhookDelivery, WebhookEndpoint};
use serde_json::{Value, json};

use crate::args::WebhookCommand;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, printable};
use crate::{secrets, store};

/// What webhooks are delivered with.
pub(crate) fn webhooks(config: &Config) -> Result<Webhooks, Failure> {
    let allow_private = AllowPrivate::parse(&config.webhooks.allow_private)?;
    Ok(Webhooks::new(WebhookSettings { allow_private, ..WebhookSettings::default() }, secrets::vault(config)))
}

pub(crate) async fn run(command: WebhookCommand, config: &Config) -> Result<ExitCode, Failure> {
    let store = store::open_ready(config).await?;
    match command {
        WebhookCommand::Add { project, url, event, description, json } => {
            let events = event.iter().map(|word| read_event(word)).collect::<Result<_, _>>()?;
            let webhooks = webhooks(config)?;
            let wish = Wish { project_id: store::project_id(&project)?, url, events, description };
            add(&store, &webhooks, wish, json).await
        }
        WebhookCommand::List { project, json } => list(&store, project, json).await,
        WebhookCommand::Remove { id, json } => {
            if !store.remove_webhook(&id).await? {
                return Err(unknown(&id));
            }
            if json {
                return output::json(&json!({ "id": id, "removed": true }));
            }
            output::line(&format!("Removed the webhook {id} and its waiting deliveries."));
            Ok(ExitCode::SUCCESS)
        }
        WebhookCommand::Pause { id, json } => {
            let paused = store.pause_webhook(&id, "Somebody paused it.").await?;
            show(&paused.ok_or_else(|| unknown(&id))?, json)
        }
        WebhookCommand::Resume { id, json } => {
            show(&store.resume_webhook(&id).await?.ok_or_else(|| unknown(&id))?, json)
        }
        WebhookCommand::Rotate { id, json } => {
            let rotated = webhooks(config)?.rotate(&store, &id).await?;
            let (endpoint, secret) = rotated.ok_or_else(|| unknown(&id))?;
            reveal(&endpoint, &secret, json).map_err(|error| {
                Failure::error(format!("the secret could not be printed ({error}); run the command again"))
            })?;
            if !json {
                eprintln!(
                    "This secret is shown only now. Deliveries are also signed with the previous one for 24 hours."
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        WebhookCommand::Test { id, json } => {
            let tried = webhooks(config)?.test(&store, &id).await?.ok_or_else(|| unknown(&id))?;
            show_delivery(&tried, json)?;
            Ok(if tried.delivered_at.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        WebhookCommand::Deliveries { id, failed, limit, json } => {
            if store.webhook(&id).await?.is_none() {
                return Err(unknown(&id));
            }
            let filter = DeliveryFilter { failed, before: None, limit };
            deliveries(&store.deliveries(&id, filter).await?, json)
        }
        WebhookCommand::Redeliver { delivery, json } => {
            let none = || Failure::error(format!("there is no delivery with the id {delivery:?}"));
            let none = || none().hint("`copydesk webhook deliveries ID` shows them");
            show_delivery(&store.redeliver(&delivery).await?.ok_or_else(none)?, json)
        }
    }
}

async fn add(store: &Store, webhooks: &Webhooks, wish: Wish, json: bool) -> Result<ExitCode, Failure> {
    let project = wish.project_id.clone();
    let (endpoint, secret) = webhooks.add(store, wish).await.map_err(|why| match why {
        NotMade::Invalid(invalid) => Failure::from(invalid),
        NotMade::NoProject => Failure::unknown_project(&project),
        NotMade::TooMany(most) => Failure::error(format!("the project has {most} webhooks, the most that it can have")),
        NotMade::Vault(error) => error.into(),
    })?;
    if let Err(error) = reveal(&endpoint, &secret, json) {
        // A webhook whose secret nobody has seen is of no use.
        store.remove_webhook(&endpoint.id).await?;
        let message = format!("the secret could not be printed ({error}), so the webhook was not created");
        return Err(Failure::error(message));
    }
    if !json {
        eprintln!("This secret is shown only now. Try the webhook out with `copydesk webhook test {}`.", endpoint.id);
    }
    Ok(ExitCode::SUCCESS)
}

fn reveal(endpoint: &WebhookEndpoint, secret: &WebhookSecret, json: bool) -> std::io::Result<()> {
    if json {
        return output::try_line(&output::pretty(&value(&WebhookView::from(endpoint).with_secret(secret))));
    }
    output::try_line(&secret.reveal())
}

async fn list(store: &Store, project: Option<String>, json: bool) -> Result<ExitCode, Failure> {
    let project = store::named_project(store, project.as_deref()).await?;
    let endpoints = store.webhooks(project.as_ref()).await?;
    if json {
        return output::json(&endpoints.iter().map(|endpoint| value(&WebhookView::from(endpoint))).collect());
    }
    let row = |endpoint: &WebhookEndpoint| {
        vec![
            endpoint.id.clone(),
            endpoint.project_id.to_string(),
            printable(&endpoint.url),
            words(&endpoint.events),
            state(endpoint).to_owned(),
            printable(&endpoint.description),
        ]
    };
    let headings = ["id", "project", "url", "events", "state", "description"];
    output::table(&headings, &endpoints.iter().map(row).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

fn words(events: &[EventKind]) -> String {
    if events.is_empty() { "all".to_owned() } else { events.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(",") }
}

fn state(endpoint: &WebhookEndpoint) -> &'static str {
    match (endpoint.paused_at, endpoint.failing_since) {
        (Some(_), _) => "paused",
        (None, Some(_)) => "failing",
        (None, None) => "active",
    }
}

fn show(endpoint: &WebhookEndpoint, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&value(&WebhookView::from(endpoint)));
    }
    let paused = endpoint.paused_why.as_deref().map_or_else(|| "-".to_owned(), printable);
    for (label, value) in [
        ("id", endpoint.id.clone()),
        ("project", endpoint.project_id.to_string()),
        ("url", printable(&endpoint.url)),
        ("events", words(&endpoint.events)),
        ("state", state(endpoint).to_owned()),
        ("paused", paused),
        ("failing since", time(endpoint.failing_since)),
        ("last success", time(endpoint.last_success_at)),
    ] {
        output::field(label, &value, 14);
    }
    Ok(ExitCode::SUCCESS)
}

fn deliveries(deliveries: &[WebhookDelivery], json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&deliveries.iter().map(|delivery| value(&DeliveryView::from(delivery))).collect());
    }
    let row = |delivery: &WebhookDelivery| {
        vec![
            delivery.id.clone(),
            delivery.kind.clone(),
            progress(delivery).to_owned(),
            delivery.tries.to_string(),
            delivery.last_status.map_or_else(|| "-".to_owned(), |status| status.to_string()),
            time(delivery.last_tried_at),
            time(delivery.next_try_at),
            delivery.last_error.as_deref().map_or_else(|| "-".to_owned(), printable),
        ]
    };
    let headings = ["id", "type", "state", "tries", "status", "last try", "next try", "error"];
    output::table(&headings, &deliveries.iter().map(row).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

fn progress(delivery: &WebhookDelivery) -> &'static str {
    match (delivery.delivered_at, delivery.given_up_at) {
        (Some(_), _) => "delivered",
        (None, Some(_)) => "given up",
        (None, None) => "waiting",
    }
}

fn show_delivery(delivery: &WebhookDelivery, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&value(&DeliveryView::from(delivery)));
    }
    let text = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), printable);
    let number = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    for (label, value) in [
        ("id", delivery.id.clone()),
        ("event", delivery.event_id.clone()),
        ("type", delivery.kind.clone()),
        ("state", progress(delivery).to_owned()),
        ("tries", delivery.tries.to_string()),
        ("status", number(delivery.last_status)),
        ("milliseconds", number(delivery.last_ms)),
        ("error", text(&delivery.last_error)),
        ("answer", text(&delivery.last_answer)),
    ] {
        output::field(label, &value, 14);
    }
    Ok(ExitCode::SUCCESS)
}

fn time(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), |at| at.to_string())
}

fn value(view: &impl serde::Serialize) -> Value {
    // Views hold only strings and numbers, so they are always a value.
    serde_json::to_value(view).unwrap_or_else(|_| json!({}))
}

fn read_event(word: &str) -> Result<EventKind, Failure> {
    let known = EventKind::ALL.map(EventKind::as_str).join(", ");
    EventKind::parse(word).ok_or_else(|| Failure::usage(format!("--event must be one of {known}, not {word:?}")))
}

fn unknown(id: &str) -> Failure {
    Failure::error(format!("there is no webhook with the id {id:?}")).hint("`copydesk webhook list` shows the ids")
}
