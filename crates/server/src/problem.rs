use axum::http::StatusCode;
use axum::http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use copydesk_domain::{Invalid, Standing};
use copydesk_store::{StoreError, VaultError};
use serde::Serialize;
use utoipa::ToSchema;

/// The one shape of every error.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub(crate) struct ErrorBody {
    /// What is wrong, in one sentence.
    error: String,
    /// The same, for programs.
    #[schema(pattern = "^[a-z][a-z0-9_]*$")]
    code: &'static str,
    /// The individual mistakes, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    details: Vec<Detail>,
}

impl ErrorBody {
    pub(crate) fn new(code: &'static str, error: impl Into<String>) -> Self {
        Self { error: error.into(), code, details: Vec::new() }
    }
}

/// One mistake.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Detail {
    /// What is wrong.
    message: String,
    /// The field, parameter or header it is about.
    field: String,
}

impl Detail {
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { message: message.into(), field: field.into() }
    }
}

impl From<Invalid> for Detail {
    fn from(invalid: Invalid) -> Self {
        Self::new(invalid.field, invalid.message)
    }
}

/// An error on its way to the client. Boxed, because every answer that goes well carries its size about.
#[derive(Debug)]
pub(crate) struct Problem(Box<Inner>);

#[derive(Debug)]
struct Inner {
    status: StatusCode,
    body: ErrorBody,
    headers: HeaderMap,
    /// For the log, never for the client.
    cause: Option<String>,
}

/// Travels with the response to the access log.
#[derive(Debug, Clone)]
pub(crate) struct Cause(pub(crate) String);

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, error: impl Into<String>) -> Self {
        let body = ErrorBody::new(code, error);
        Self(Box::new(Inner { status, body, headers: HeaderMap::new(), cause: None }))
    }

    pub(crate) fn with_details(mut self, details: Vec<Detail>) -> Self {
        self.0.body.details = details;
        self
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        self.0.headers.insert(name, value.into());
        self
    }

    pub(crate) fn with_headers(mut self, headers: &HeaderMap) -> Self {
        self.0.headers.extend(headers.clone());
        self
    }

    /// What to say in the log, and nowhere else.
    pub(crate) fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    pub(crate) fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::invalid_all(vec![Detail::new(field, message)])
    }

    /// Several fields may be wrong.
    pub(crate) fn invalid_all(details: Vec<Detail>) -> Self {
        let error = match details.as_slice() {
            [only] => format!("The {} {}.", only.field, only.message),
            _ => format!("{} things in the request are wrong.", details.len()),
        };
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", error).with_details(details)
    }

    pub(crate) fn unauthorized() -> Self {
        // One answer for every reason, so that nothing is learned by trying.
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "A valid admin API key is needed: `Authorization: Bearer <key>`.",
        )
        .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "This key may only read; use a key with the write scope.")
    }

    pub(crate) fn not_an_administrator() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "The administration needs a key with the scope admin.")
    }

    pub(crate) fn only_administers() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "A key with the scope admin is for the administration alone.")
    }

    pub(crate) fn project_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "project_not_found", "There is no such project, or the key is not for it.")
    }

    pub(crate) fn job_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "job_not_found", "There is no such job in this project.")
    }

    pub(crate) fn route_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "There is nothing at this address; see /docs for what there is.")
    }

    pub(crate) fn limited(standing: Standing) -> Self {
        let what = format!("The project's {} job creations and messages an hour are used up", standing.limit);
        Self::too_many(&what, standing)
    }

    /// `what` is the sentence without its end.
    pub(crate) fn too_many(what: &str, standing: Standing) -> Self {
        let error = format!("{what}; try again in {} seconds.", standing.reset_seconds);
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", error)
            .with_header(RETRY_AFTER, HeaderValue::from(standing.reset_seconds.max(1)));
        problem.0.headers.extend(standing_headers(standing));
        problem
    }

    pub(crate) fn unavailable(error: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", error).with_header(RETRY_AFTER, HeaderValue::from(1))
    }

    /// Something that should not have happened; `cause` is logged under the request id.
    pub(crate) fn internal(request_id: &str, cause: impl Into<String>) -> Self {
        let error =
            format!("Something went wrong inside Copydesk; its log says more under the request id {request_id}.");
        let mut problem = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error);
        problem.0.cause = Some(cause.into());
        problem
    }
}

/// The `RateLimit-…` headers.
pub(crate) fn standing_headers(standing: Standing) -> HeaderMap {
    HeaderMap::from_iter([
        (HeaderName::from_static("ratelimit-limit"), HeaderValue::from(standing.limit)),
        (HeaderName::from_static("ratelimit-remaining"), HeaderValue::from(standing.remaining)),
        (HeaderName::from_static("ratelimit-reset"), HeaderValue::from(standing.reset_seconds)),
    ])
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let mut problem = match error {
            StoreError::Unreachable(_) => Self::unavailable("The database cannot be reached at the moment; try again."),
            StoreError::Dormant(ref why) | StoreError::Moved(ref why) => Self::unavailable(why.as_str()),
            // The request id is put in by the edge, which knows it.
            _ => Self::internal("", ""),
        };
        problem.0.cause = Some(error.to_string());
        problem
    }
}

impl From<VaultError> for Problem {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Store(error) => error.into(),
            error => {
                let mut problem = Self::internal("", "");
                problem.0.cause = Some(error.to_string());
                problem
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Inner { status, body, headers, cause } = *self.0;
        let mut response = (status, headers, axum::Json(body)).into_response();
        if let Some(cause) = cause {
            response.extensions_mut().insert(Cause(cause));
        }
        response
    }
}
