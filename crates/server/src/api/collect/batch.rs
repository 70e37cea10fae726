//! Items of a body on their way to the store, and what is said of each.

use std::collections::BTreeMap;

use copydesk_desk::views::Site;
use copydesk_domain::ProjectId;
use copydesk_views::collect::{BodyError, Item};
use copydesk_views::{BotSignature, Hit};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::parts::views;
use crate::app::App;
use crate::edge::TimeLimit;
use crate::problem::{Detail, Problem};

/// After so many items others are let in between: reading ten thousand takes longer than anybody should have to wait.
const AT_A_STRETCH: usize = 256;
/// Refused events that an error names at most.
const NAMED: usize = 100;

/// What happened to the events
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct EventsTaken {
    /// Views that are now counted and on disk.
    accepted: u64,
    /// Events that were there before, by their `id`.
    duplicates: u64,
    /// Events that are not views, by reason: `asset`, `status`, `method`, `prefetch`, `other_host`, `not_a_request`,
    /// `expired` (older than the project keeps views).
    ignored: BTreeMap<&'static str, u64>,
    /// Events that are invalid.
    rejected: Vec<RejectedEvent>,
}

/// An invalid event
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RejectedEvent {
    /// Its place in the body, from 0.
    index: usize,
    /// Why, for programs: `invalid_json`, `invalid_event`, `invalid_path`, `path_too_long`, `future`, `too_old`,
    /// `invalid_id`.
    #[schema(pattern = "^[a-z][a-z0-9_]*$")]
    code: &'static str,
    /// The same for people.
    error: String,
}

#[derive(Default)]
pub(super) struct Batch<'a> {
    items: usize,
    hits: Vec<Hit<'a>>,
    /// Where each hit stands in the body.
    places: Vec<usize>,
    ignored: BTreeMap<&'static str, u64>,
    rejected: Vec<RejectedEvent>,
}

impl<'a> Batch<'a> {
    /// Reads items, each by itself.
    pub(super) async fn read(items: Vec<&'a [u8]>, read: impl Fn(&'a [u8]) -> Item<'a>) -> Self {
        let mut batch = Self { items: items.len(), ..Self::default() };
        for (index, item) in items.into_iter().enumerate() {
            match read(item) {
                Item::Hit(hit) => {
                    batch.hits.push(hit);
                    batch.places.push(index);
                }
                Item::Other => batch.ignore("not_a_request"),
                Item::Wrong(wrong) => {
                    batch.rejected.push(RejectedEvent { index, code: wrong.code, error: wrong.error });
                }
            }
            if index % AT_A_STRETCH == AT_A_STRETCH - 1 {
                tokio::task::yield_now().await;
            }
        }
        batch
    }

    /// Leaves out what is for other sites: the log of a whole account has them all.
    pub(super) fn only(mut self, site: &Site) -> Self {
        let before = self.hits.len();
        let hits = self.places.into_iter().zip(self.hits);
        (self.places, self.hits) =
            hits.filter(|(_, hit)| hit.host.as_deref().is_none_or(|host| site.takes(host))).unzip();
        let others = before - self.hits.len();
        if others > 0 {
            self.ignored.insert("other_host", others as u64);
        }
        // What was signed for another site proves nothing here.
        for hit in &mut self.hits {
            if hit.signature.as_ref().is_some_and(|signature| !site.is_asked_at(&signature.host())) {
                hit.signature = None;
            }
        }
        self
    }

    /// Takes `signature` for that of the one event that came with it, unless the event has one itself.
    pub(super) fn signed(mut self, signature: BotSignature<'a>) -> Result<Self, Problem> {
        if self.items != 1 {
            let error = "A signature in the headers is that of one event; with more, each has its own fields.";
            return Err(Problem::new(axum::http::StatusCode::BAD_REQUEST, "invalid_events", error));
        }
        if let Some(hit) = self.hits.first_mut().filter(|hit| hit.signature.is_none()) {
            hit.signature = Some(Box::new(signature.asked(hit.method.as_deref(), &hit.target)));
        }
        Ok(self)
    }

    /// Keeps the views among them. When it answers they are on disk.
    pub(super) async fn keep(mut self, app: &App, limit: &TimeLimit, id: &ProjectId) -> Result<EventsTaken, Problem> {
        limit.lift();
        let taken = views(app)?.take(id, &self.hits).await?;
        let duplicates = taken.duplicates.len() as u64;
        for (reason, count) in taken.left {
            self.ignored.insert(reason.as_str(), count);
        }
        if taken.expired > 0 {
            self.ignored.insert("expired", taken.expired);
        }
        for (place, refusal) in taken.refused {
            let Some(&index) = self.places.get(place) else { continue };
            self.rejected.push(RejectedEvent { index, code: refusal.as_str(), error: refusal.to_string() });
        }
        self.rejected.sort_by_key(|event| event.index);
        Ok(EventsTaken { accepted: taken.counted, duplicates, ignored: self.ignored, rejected: self.rejected })
    }

    fn ignore(&mut self, reason: &'static str) {
        *self.ignored.entry(reason).or_default() += 1;
    }

    /// How many items there were.
    pub(super) fn len(&self) -> usize {
        self.items
    }
}

impl EventsTaken {
    /// The same, or an error if out of so many events not one was right.
    pub(super) fn unless_all_wrong(self, events: usize) -> Result<Self, Problem> {
        if events == 0 || self.rejected.len() < events {
            return Ok(self);
        }
        let error = match self.rejected.as_slice() {
            [only] => format!("The event is wrong: {}.", only.error),
            all => format!("All {} events are wrong; nothing was kept.", all.len()),
        };
        let named = self.rejected.iter().take(NAMED);
        let details =
            named.map(|event| Detail::new(format!("[{}]", event.index), format!("{}: {}", event.code, event.error)));
        let status = axum::http::StatusCode::BAD_REQUEST;
        Err(Problem::new(status, "invalid_events", error).with_details(details.collect()))
    }
}

/// A body that has no items.
pub(super) fn no_items(error: BodyError) -> Problem {
    let status = axum::http::StatusCode::BAD_REQUEST;
    match error {
        BodyError::Empty => Problem::new(status, "invalid_json", "The request body is empty."),
        BodyError::NotJson(why) => {
            Problem::new(status, "invalid_json", format!("The request body is not valid JSON: {why}."))
        }
        BodyError::TooMany(most) => {
            Problem::new(status, "too_many_events", format!("The request body has more than {most} events."))
        }
    }
}
