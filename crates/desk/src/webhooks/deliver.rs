//! One try of one delivery.

use std::error::Error;
use std::time::{Duration, Instant};

use copydesk_domain::{EventKind, Timestamp};
use copydesk_store::{After, Attempt, Blame, DueDelivery, Store, StoreError, WebhookDelivery};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response};

use tracing::Instrument;

use super::guard::Refused;
use super::{Webhooks, sign};
use crate::trace;

/// How much of an answer is kept.
const ANSWER_KEPT: usize = 2048;
/// The longest pause that a receiver can ask for.
const LONGEST_WISH: Duration = Duration::from_secs(24 * 3600);

/// How a try went, before it is known what to do about it.
struct Tried {
    attempt: Attempt,
    /// The pause that the receiver asks for.
    wish: Option<Duration>,
    /// Whether the fault is on this side.
    ours: bool,
}

/// Tries a delivery and writes down how that went. Gives the delivery as it then is; none if it is gone.
pub(super) async fn deliver(
    webhooks: &Webhooks,
    store: &Store,
    due: &DueDelivery,
) -> Result<Option<WebhookDelivery>, StoreError> {
    let span = trace::delivery_span(store, due).await;
    // The receiver is not to blame for what the database takes.
    let started = Instant::now();
    let mut tried = attempt(webhooks, store, due).instrument(span.clone()).await;
    if let Some(status) = tried.attempt.status {
        span.record("http.response.status_code", status);
    }
    span.record("failed", !matches!(tried.attempt.status, Some(200..=299)));
    drop(span);
    tried.attempt.took = started.elapsed();
    let (after, blame) = verdict(webhooks, &due.delivery, &tried, store.now());
    store.record_attempt(&due.delivery, tried.attempt, after, blame).await
}

/// What became of a delivery, in a word for the figures.
pub(super) fn outcome(tried: &WebhookDelivery) -> &'static str {
    match (tried.delivered_at, tried.given_up_at) {
        (Some(_), _) => "delivered",
        (None, Some(_)) => "given_up",
        (None, None) => "failed",
    }
}

fn verdict(webhooks: &Webhooks, delivery: &WebhookDelivery, tried: &Tried, now: Timestamp) -> (After, Blame) {
    let settings = &webhooks.settings;
    match tried.attempt.status {
        Some(200..=299) => return (After::Delivered, Blame::None),
        Some(410) => return (After::GiveUp, Blame::Gone("It answered 410 Gone.".to_owned())),
        _ if delivery.kind == EventKind::TEST => return (After::GiveUp, Blame::None),
        _ => {}
    }
    let pause = delivery.tries.checked_sub(1).and_then(|tries| settings.pauses.get(tries as usize));
    let after = match pause {
        Some(pause) => {
            let longer = pause.mul_f64(1.0 + (settings.jitter)().clamp(0.0, 1.0) / 10.0);
            After::Again(now.plus(longer.max(tried.wish.unwrap_or_default())))
        }
        None => After::GiveUp,
    };
    let days = settings.patience.as_secs() / (24 * 3600);
    let why = format!("No delivery succeeded for {days} days.");
    let blame = if tried.ours { Blame::None } else { Blame::Failing { patience: settings.patience, why } };
    (after, blame)
}

async fn attempt(webhooks: &Webhooks, store: &Store, due: &DueDelivery) -> Tried {
    let now = store.now();
    let secrets = match webhooks.secrets(store, due).await {
        Ok(secrets) if !secrets.is_empty() => secrets,
        Ok(_) => return failed("there is no secret to sign with", true),
        Err(error) => {
            // Whoever reads of the delivery has no business with the files of this machine.
            tracing::error!(%error, webhook = due.delivery.endpoint_id, "a delivery cannot be signed");
            return failed("the secret to sign with cannot be opened; the log of the server says why", true);
        }
    };
    let seconds = now.as_millis().div_euclid(1000);
    let signature = sign::signatures(&secrets, &due.delivery.event_id, seconds, &due.delivery.payload);
    let limit = tokio::time::Instant::now() + webhooks.settings.time_limit;
    let sent = send(webhooks, due, seconds, signature);
    match tokio::time::timeout_at(limit, sent).await {
        Ok(Ok(response)) => answered(response, limit, now).await,
        Ok(Err(tried)) => tried,
        Err(_) => failed(format!("no answer within {} seconds", webhooks.settings.time_limit.as_secs()), false),
    }
}

async fn send(webhooks: &Webhooks, due: &DueDelivery, seconds: i64, signature: String) -> Result<Response, Tried> {
    // Looked at again: the configuration may have changed since the webhook was made.
    let url = webhooks.guard.check(&due.url).map_err(|invalid| failed(invalid.to_string(), false))?;
    let failed_by = |error: reqwest::Error, ours| {
        // The address may hold a secret, and words that are looked for in what is said.
        let error = error.without_url();
        tracing::info!(%error, cause = causes(&error), webhook = due.delivery.endpoint_id, "a delivery failed");
        failed(said(&error), ours)
    };
    let client = webhooks.client(url.scheme() == "http").map_err(|error| failed_by(error, true))?;
    let request = client
        .post(url)
        .header(CONTENT_TYPE, "application/json")
        .header("webhook-id", &due.delivery.event_id)
        .header("webhook-timestamp", seconds)
        .header("webhook-signature", signature)
        .body(due.delivery.payload.clone());
    request.send().await.map_err(|error| failed_by(error, false))
}

async fn answered(mut response: Response, limit: tokio::time::Instant, now: Timestamp) -> Tried {
    let status = response.status();
    let wish = response.headers().get(RETRY_AFTER).and_then(|value| wished_pause(value.to_str().ok()?, now));
    let mut bytes = Vec::new();
    // The status is what counts; of the rest as much as comes in time and fits.
    while bytes.len() < ANSWER_KEPT {
        match tokio::time::timeout_at(limit, response.chunk()).await {
            Ok(Ok(Some(piece))) => bytes.extend_from_slice(&piece[..piece.len().min(ANSWER_KEPT - bytes.len())]),
            _ => break,
        }
    }
    let error = status.is_redirection().then(|| "redirects are not followed".to_owned());
    let attempt = Attempt { status: Some(status.as_u16()), answer: Some(kept(&bytes)), error, took: Duration::ZERO };
    Tried { attempt, wish, ours: false }
}

/// Text of at most [`ANSWER_KEPT`] bytes, whatever the bytes are, without the NUL that PostgreSQL's text cannot hold.
fn kept(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
    text.truncate(text.floor_char_boundary(ANSWER_KEPT));
    text
}

fn failed(error: impl Into<String>, ours: bool) -> Tried {
    let attempt = Attempt { status: None, answer: None, error: Some(error.into()), took: Duration::ZERO };
    Tried { attempt, wish: None, ours }
}

/// What a `retry-after` asks for, in seconds or as a date, within bounds.
fn wished_pause(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    let pause = match text.parse::<u32>() {
        Ok(seconds) => Duration::from_secs(seconds.into()),
        Err(_) => {
            let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
            Timestamp::from_millis(date.as_millisecond()).since(now)
        }
    };
    Some(pause.min(LONGEST_WISH))
}

/// What an error came of, as sentences, the last of which says most.
fn causes(error: &dyn Error) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        // Some repeat what they came of.
        if said.last() != Some(&words) {
            said.push(words);
        }
        cause = error.source();
    }
    said.join(": ")
}

/// An error in words that tell nothing of names and addresses inside: a name that is not there and one that leads inside
/// are the same, and what a certificate is for is left out. The log has it all.
fn said(error: &reqwest::Error) -> &'static str {
    let mut causes = String::new();
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<Refused>() {
            return NO_WAY;
        }
        causes.push_str(&format!("{error} {error:?} ").to_lowercase());
        cause = error.source();
    }
    let says = |words: &[&str]| words.iter().any(|word| causes.contains(word));
    if says(&["dns error", "lookup address", "resolve"]) {
        NO_WAY
    } else if says(&["certificate"]) {
        "cannot connect: its certificate is not trusted, or is for another name"
    } else if says(&["connection refused"]) {
        "cannot connect: the connection is refused"
    } else if error.is_connect() {
        "cannot connect"
    } else {
        "the connection broke"
    }
}

const NO_WAY: &str =
    "cannot connect: the name has no address, or none that webhooks may go to; see webhooks.allow_private";

impl Webhooks {
    /// The client for http (`plain`) or for https, made when it is first needed.
    fn client(&self, plain: bool) -> reqwest::Result<&Client> {
        let place = &self.clients[usize::from(plain)];
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let mut builder = Client::builder()
            .user_agent(concat!("Copydesk/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(self.guard.resolver(plain))
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would look the name up by itself, past the guard.
            .no_proxy()
            .pool_max_idle_per_host(1)
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd();
        // Reading the certificates of the machine takes long, and here nobody needs them.
        builder = if plain { builder.tls_certs_only([]) } else { builder.https_only(true) };
        let made = builder.build()?;
        Ok(place.get_or_init(|| made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_for_a_pause_is_read_and_bounded() {
        let now = Timestamp::from_millis(1_773_576_000_000);
        let seconds = |text: &str| wished_pause(text, now).map(|pause| pause.as_secs());
        assert_eq!(seconds("120"), Some(120));
        assert_eq!(seconds(" 0 "), Some(0));
        assert_eq!(seconds("999999999"), Some(24 * 3600));
        assert_eq!(seconds("Sun, 15 Mar 2026 12:02:00 GMT"), Some(120));
        assert_eq!(seconds("Sun, 15 Mar 2026 11:00:00 GMT"), Some(0));
        assert_eq!(seconds("Sun, 15 Mar 2099 12:00:00 GMT"), Some(24 * 3600));
        for nonsense in ["", "soon", "-1", "1.5", "99999999999999999999"] {
            assert_eq!(seconds(nonsense), None, "{nonsense}");
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("client error (Connect)")]
    struct Outer(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("error sending request")]
    struct Sending(#[source] Outer);

    #[test]
    fn a_cause_is_told_in_its_words() {
        let error = Sending(Outer(std::io::Error::other("the name is not known")));
        assert_eq!(causes(&error), "client error (Connect): the name is not known");
    }

    #[test]
    fn what_is_kept_of_an_answer_is_bounded_text() {
        assert_eq!(kept(b"fine"), "fine");
        assert!(kept(&[0xff; ANSWER_KEPT]).len() <= ANSWER_KEPT && kept(&[0; ANSWER_KEPT]).len() <= ANSWER_KEPT);
        assert!(kept("ü".repeat(ANSWER_KEPT).as_bytes()).len() <= ANSWER_KEPT);
    }
}
