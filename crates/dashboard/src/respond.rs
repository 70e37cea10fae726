//! Answers: pages, redirections, and what went wrong.

use askama::Template;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
};
use axum::http::{HeaderName as Name, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_desk::readers::ReadError;
use copydesk_store::StoreError;
use copydesk_views::store::ViewsError;

use crate::form::sentence;

/// What may be done on our pages: nothing that did not come from us, and no text that becomes a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types copydesk";

static OPENER_POLICY: HeaderName = Name::from_static("cross-origin-opener-policy");

pub(crate) type Reply = Result<Response, Oops>;

/// What a page could not do.
#[derive(Debug, Clone)]
pub(crate) enum Oops {
    NotFound,
    /// The role does not reach so far.
    Forbidden,
    /// The request came from elsewhere.
    CrossSite,
    /// In words, with the status that fits.
    Refused(StatusCode, String),
    Broken(String),
}

impl IntoResponse for Oops {
    /// Travels in an empty answer to whoever knows how the page looks; see `access::guard`.
    fn into_response(self) -> Response {
        let mut response = self.words().0.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Oops {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unreachable(cause) => {
                tracing::warn!(cause, "the database cannot be reached");
                Self::Refused(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "The database cannot be reached at the moment. Try again in a moment.".to_owned(),
                )
            }
            StoreError::Dormant(why) | StoreError::Moved(why) => Self::Refused(StatusCode::SERVICE_UNAVAILABLE, why),
            error => Self::Broken(error.to_string()),
        }
    }
}

impl From<ViewsError> for Oops {
    fn from(error: ViewsError) -> Self {
        match error {
            ViewsError::Unavailable(cause) => {
                tracing::warn!(cause, "the page views cannot be reached");
                Self::Refused(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "The page views cannot be reached at the moment. Try again in a moment.".to_owned(),
                )
            }
            ViewsError::Moved(why) => Self::Refused(StatusCode::SERVICE_UNAVAILABLE, why),
            ViewsError::Unsure(cause) | ViewsError::Damaged(cause) => Self::Broken(cause),
        }
    }
}

impl From<ReadError> for Oops {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Invalid(wrong) => Self::Refused(StatusCode::UNPROCESSABLE_ENTITY, sentence(&wrong)),
            ReadError::Views(error) => error.into(),
        }
    }
}

impl From<askama::Error> for Oops {
    fn from(error: askama::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

impl Oops {
    pub(crate) fn refused(status: StatusCode, words: impl Into<String>) -> Self {
        Self::Refused(status, words.into())
    }

    /// Status, heading, and what to do now.
    pub(crate) fn words(&self) -> (StatusCode, &'static str, String) {
        match self {
            Self::NotFound => (
                StatusCode::NOT_FOUND,
                "There is nothing here",
                "The address is wrong, what was here is gone, or you are not a member of the project.".to_owned(),
            ),
            Self::Forbidden => (
                StatusCode::FORBIDDEN,
                "Your role does not allow that",
                "An owner of the project can give you another one.".to_owned(),
            ),
            Self::CrossSite => (
                StatusCode::FORBIDDEN,
                "This request did not come from a Copydesk page",
                "Nothing was changed. Open the page here and try it again.".to_owned(),
            ),
            Self::Refused(status, words) => (*status, "That did not work", words.clone()),
            Self::Broken(_) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something went wrong inside Copydesk",
                "Its log says more under the id below.".to_owned(),
            ),
        }
    }
}

/// A page.
pub(crate) fn page(template: &impl Template) -> Reply {
    page_with(StatusCode::OK, template)
}

pub(crate) fn page_with(status: StatusCode, template: &impl Template) -> Reply {
    Ok((status, [(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))], template.render()?)
        .into_response())
}

/// The page that answers a form which could not be taken.
pub(crate) fn unfit(template: &impl Template) -> Reply {
    page_with(StatusCode::UNPROCESSABLE_ENTITY, template)
}

/// Leads on, after a form was taken.
pub(crate) fn to(address: &str) -> Reply {
    let Ok(location) = HeaderValue::from_str(address) else { return Err(Oops::NotFound) };
    Ok((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response())
}

/// Not to be kept by anybody, and not compressed: a secret beside text that a stranger may choose gives itself away by the
/// length of what comes of both.
pub(crate) fn secret(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
    headers.insert(axum::http::header::CONTENT_ENCODING, HeaderValue::from_static("identity"));
    response
}

/// What every answer of ours says.
pub(crate) fn finish(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(OPENER_POLICY.clone(), HeaderValue::from_static("same-origin"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
}

/// An id from an address, if it can be one: PostgreSQL cannot even be asked about a NUL.
pub(crate) fn plain(id: &str) -> Result<&str, Oops> {
    let is_plain = id.len() <= 100 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if is_plain { Ok(id) } else { Err(Oops::NotFound) }
}
