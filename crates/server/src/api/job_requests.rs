//! What clients send about jobs, parsed into domain types.

use axum::http::HeaderMap;
use copydesk_desk::jobs::Draft;
use copydesk_domain::{ChangeRange, Status, hex};
use copydesk_store::{Idempotency, JobFilter};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use utoipa::{IntoParams, ToSchema};

use crate::problem::{Detail, Problem};

/// At least one character that is not white space, as Rust's `trim` and so the contract understands it.
const NOT_BLANK: &str = r"[^\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// A job to create
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateJob {
    /// The instruction for the agent. 1 to 65,536 bytes after trimming.
    #[schema(min_length = 1, max_length = 65536, pattern = "", example = "Fix the broken links in docs/guides")]
    prompt: String,
    /// The branch to start from; by default the project's.
    #[schema(max_length = 255, pattern = "")]
    base_ref: Option<String>,
    /// The model or engine to use; by default the server's.
    model: Option<String>,
    /// Whether to open the pull request as a draft.
    draft: Option<bool>,
    /// Whether to open a pull request (default true). If not, the change can be reviewed first.
    open_pull_request: Option<bool>,
    /// Your own reference, returned with the job. 1 to 255 characters, no control characters.
    #[schema(min_length = 1, max_length = 255, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$")]
    client_reference: Option<String>,
    /// US dollars that each prompt of the job may cost. The project and the server may have smaller limits, and the smallest
    /// holds. Refused if the server does not know the price of the model. Kept to the millionth.
    #[schema(exclusive_minimum = 0, maximum = 1_000_000)]
    max_cost: Option<f64>,
    /// Update the documentation for a range of commits in one of the project's code sources; the agent is given the commits.
    #[serde(default, deserialize_with = "crate::body::object")]
    changes: Option<ChangeRange>,
}

/// A follow-up
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendMessage {
    /// What the agent is to do next. 1 to 65,536 bytes after trimming.
    #[schema(min_length = 1, max_length = 65536, pattern = "", example = "Use the shorter title")]
    pub(super) prompt: String,
}

/// The patterns that `#[schema(pattern = …)]` cannot take from a constant, by schema and property.
pub(crate) const PATTERNS: [(&str, &str, &str); 5] = [
    ("CreateJob", "prompt", NOT_BLANK),
    ("SendMessage", "prompt", NOT_BLANK),
    ("CreateJob", "baseRef", GIT_REF),
    ("JobChanges", "from", GIT_REF),
    ("JobChanges", "to", GIT_REF),
];

/// The rules of `git check-ref-format`, as `copydesk_domain::git_ref` checks them.
const GIT_REF: &str = r"^(?!@$)(?!-)(?!.*\.\.)(?!.*@\{)(?!.*\.$)(?!/)(?!\.)(?!.*//)(?!.*/\.)(?!.*/$)(?!.*\.lock(?:/|$))[^\u0000-\u0020\u007f-\u009f~^:?*\[\\]+$";

impl From<CreateJob> for Draft {
    fn from(asked: CreateJob) -> Self {
        Self {
            prompt: asked.prompt,
            base_ref: asked.base_ref,
            model: asked.model,
            draft: asked.draft.unwrap_or(false),
            open_pull_request: asked.open_pull_request.unwrap_or(true),
            client_reference: asked.client_reference,
            max_cost: asked.max_cost,
            changes: asked.changes,
        }
    }
}

/// Which jobs to list
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "describes the query, which is read by hand so that every mistake is an error")]
pub(crate) struct ListJobs {
    /// Only jobs with this status.
    #[param(value_type = Option<Status>)]
    status: Option<String>,
    /// The most jobs to list; 50 if not given.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// The `nextCursor` of the previous page.
    #[param(format = "uuid")]
    cursor: Option<String>,
}

/// Reads the query of a list; what it does not know it leaves alone.
pub(crate) fn list_filter(query: &str) -> Result<JobFilter, Problem> {
    let mut filter = JobFilter { limit: 50, ..JobFilter::default() };
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let name = &*name;
        if !["status", "limit", "cursor"].contains(&name) {
            continue;
        }
        if seen.contains(&name.to_owned()) {
            wrong.push(Detail::new(name, "is given twice"));
            continue;
        }
        seen.push(name.to_owned());
        match name {
            "status" => match Status::parse(&value) {
                Some(status) => filter.status = Some(status),
                None => wrong.push(Detail::new(name, "must be active, completed, archived or failed")),
            },
            "limit" => match plain_number(&value).filter(|limit| (1..=100).contains(limit)) {
                Some(limit) => filter.limit = limit,
                None => wrong.push(Detail::new(name, "must be a whole number from 1 to 100")),
            },
            _ if is_id(&value) => filter.before = Some(value.to_ascii_lowercase().as_str().into()),
            _ => wrong.push(Detail::new(name, "must be a nextCursor of this list")),
        }
    }
    if wrong.is_empty() { Ok(filter) } else { Err(Problem::invalid_all(wrong)) }
}

/// Digits only: no sign, no spaces.
pub(crate) fn plain_number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Whether `text` has the form of an id.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// The idempotency key of a request with `body`, if it has one. `target` says what the request is about.
pub(crate) fn idempotency(headers: &HeaderMap, target: &str, body: &[u8]) -> Result<Option<Idempotency>, Problem> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.to_str().unwrap_or_default();
    let printable = |b: u8| (0x20..=0x7e).contains(&b);
    if values.next().is_some() || !(1..=255).contains(&key.len()) || !key.bytes().all(printable) {
        return Err(Problem::invalid(
            "Idempotency-Key",
            "must be given once, with 1 to 255 printable ASCII characters",
        ));
    }
    // A key used for something else is another request, so that is part of what is compared.
    let digest = Sha256::new().chain_update(target.as_bytes()).chain_update([0]).chain_update(body).finalize();
    Ok(Some(Idempotency { key: key.to_owned(), fingerprint: hex(&digest) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_only() {
        assert_eq!(plain_number("50"), Some(50));
        for text in ["", "+5", "-1", " 5", "5.0", "0x5", "99999999999"] {
            assert_eq!(plain_number(text), None, "{text:?}");
        }
    }
}
