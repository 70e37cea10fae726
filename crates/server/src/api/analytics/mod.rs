//! Page views: totals and pages, their course over time, and who read them.

mod agents;
mod csv;
mod query;
mod series;
mod views;

pub(crate) use agents::{__path_view_agents, view_agents};
pub(crate) use series::{__path_view_series, view_series};
pub(crate) use views::{__path_page_views, page_views};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use copydesk_desk::readers::ReadError;
use copydesk_domain::Standing;
use copydesk_views::store::{Counts, Loss, ViewsError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::parts::views;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::{Problem, standing_headers};

/// Views by people and by AI agents.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Totals {
    /// Views by people.
    human: u64,
    /// Views by AI agents that read for a person, and fetches of the Markdown form of a page.
    ai: u64,
    /// Both together.
    total: u64,
}

impl From<Counts> for Totals {
    fn from(counts: Counts) -> Self {
        Self { human: counts.human, ai: counts.ai, total: counts.total() }
    }
}

/// Lets a request through if its key has not had too many, and says where it stands.
fn admitted(app: &App, caller: &Caller) -> Result<HeaderMap, Problem> {
    let used_up = |standing: Standing| {
        let what = format!("The key's {} analytics requests a minute are used up", standing.limit);
        Problem::too_many(&what, standing)
    };
    let standing = views(app)?.readers().admit(&caller.id()).map_err(used_up)?;
    Ok(standing.map(standing_headers).unwrap_or_default())
}

/// The header that says why an answer is not to be relied on, once for each reason.
pub(crate) const INCOMPLETE: HeaderName = HeaderName::from_static("views-incomplete");
/// More reasons than this help nobody.
const MOST_REASONS: usize = 5;

/// Headers that say what is missing from an answer; none if nothing is.
fn incomplete(losses: &[Loss]) -> HeaderMap {
    let value = |loss: &Loss| HeaderValue::from_str(&loss.sentence()).ok();
    losses.iter().filter_map(value).take(MOST_REASONS).map(|value| (INCOMPLETE, value)).collect()
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Invalid(invalid) => Self::invalid_all(vec![invalid.into()]),
            ReadError::Views(error) => error.into(),
        }
    }
}

impl From<ViewsError> for Problem {
    fn from(error: ViewsError) -> Self {
        match error {
            ViewsError::Unavailable(cause) => {
                Problem::unavailable("The page views cannot be reached at the moment; try again.").with_cause(cause)
            }
            ViewsError::Moved(why) => Problem::unavailable(why),
            ViewsError::Unsure(cause) | ViewsError::Damaged(cause) => Problem::internal("", cause),
        }
    }
}
