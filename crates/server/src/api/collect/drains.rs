//! Logs that those who host sites send by themselves.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_desk::Sender;
use copydesk_desk::views::Site;
use copydesk_domain::ProjectId;
use copydesk_views::collect::cloudflare::{cloudflare_line, is_trial};
use copydesk_views::collect::{BodyError, Item, items, netlify_line, vercel_line};

use super::batch::{Batch, EventsTaken, no_items};
use super::drain_key::{NamedSecrets, VERCEL_HEADER, VercelSignature, forbidden};
use super::packed::{self, Bound};
use crate::app::App;
use crate::bodies::Whose;
use crate::body::{self, BodyBytes, RequestBody};
use crate::edge::TimeLimit;
use crate::large_bodies::LargeBodyPlace;
use crate::problem::{ErrorBody, Problem};

const BOUND: Bound = Bound(16 * 1024 * 1024, "16 MiB");
/// Bytes with which Vercel tries the address at most.
const TRIAL: u64 = 4096;
/// Lines that a body may have at most.
const MOST: usize = 200_000;
static VERIFY: HeaderName = HeaderName::from_static("x-vercel-verify");

type Named = Result<Path<String>, PathRejection>;

/// Drain a Vercel log
///
/// Vercel's log drains, as JSON or NDJSON, signed with the project's drain secret. A request counts once, however many
/// lines its function prints. Where the project names its domains, other hosts (previews) are left out.
#[utoipa::path(post, path = "/drains/{projectId}/vercel", tag = "Page views", operation_id = "drainVercel", security(()),
    params(("projectId" = String, Path, description = "The project"),
        ("verify" = Option<String>, Query, description = "The value of `x-vercel-verify` that Vercel shows; it is sent back"),
        ("x-vercel-signature" = Option<String>, Header, description = "HMAC-SHA1 of the body with the drain secret, in hexadecimal")),
    request_body(content((Vec<Object> = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "What happened to the lines", body = EventsTaken),
        (status = 400, description = "The body cannot be read", body = ErrorBody),
        (status = 403, description = "The signature is wrong or missing, or there is no such project", body = ErrorBody),
        (status = 413, description = "The body has more than 16 MiB, unpacked", body = ErrorBody),
        (status = 415, description = "The body has an unknown compression", body = ErrorBody)))]
pub(crate) async fn vercel(
    State(app): State<App>,
    project: Named,
    limit: TimeLimit,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let verify = verification(&headers, query.as_deref());
    let Some(signature) = VercelSignature::of(&headers) else {
        // Vercel tries the address before there is a secret to sign with. Such a body is not even read, so it must not be
        // one of lines that somebody relies on.
        if verify.is_none() || headers.contains_key(VERCEL_HEADER) {
            return Err(forbidden());
        }
        if !body.has_at_most(TRIAL) {
            tracing::warn!(
                "lines of a Vercel log drain came without a signature, and were refused; give the drain the secret"
            );
            return Err(forbidden());
        }
        return Ok(verified(verify, Json(EventsTaken::default()).into_response()));
    };
    let (site, secrets) = known(&app, project).await?;
    // Read in any case: nobody is to learn which projects there are.
    let bytes = packed::raw(&app, &headers, body, Whose::Stranger, BOUND).await?;
    let Some(site) = site.filter(|_| signature.is_of(&bytes, &secrets)) else { return Err(forbidden()) };
    let body = drained(&app, &headers, bytes).await?;
    let taken = keep(&app, &limit, &site, &body, &headers, vercel_line).await?;
    Ok(verified(verify, Json(taken).into_response()))
}

/// Verify the address of a Vercel log drain
///
/// Answers with the `x-vercel-verify` that the address or the request names, as Vercel wants it, whatever the project.
#[utoipa::path(get, path = "/drains/{projectId}/vercel", tag = "Page views", operation_id = "tryVercelDrain", security(()),
    params(("projectId" = String, Path, description = "The project"),
        ("verify" = Option<String>, Query, description = "The value of `x-vercel-verify` that Vercel shows; it is sent back")),
    responses((status = 200, description = "It is here", body = String, content_type = "text/plain", headers(
        ("x-vercel-verify" = String, description = "What was named")))))]
pub(crate) async fn try_vercel(RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let text = (CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    verified(verification(&headers, query.as_deref()), ([text], "ok").into_response())
}

/// Drain a Netlify log
///
/// Netlify's log drains to a general HTTP endpoint, as JSON or NDJSON. The project's drain secret is the bearer token, the
/// header `x-copydesk-secret`, or `secret` in the address. Only the traffic log counts.
#[utoipa::path(post, path = "/drains/{projectId}/netlify", tag = "Page views", operation_id = "drainNetlify", security(()),
    params(("projectId" = String, Path, description = "The project"),
        ("secret" = Option<String>, Query, description = "The drain secret"),
        ("x-copydesk-secret" = Option<String>, Header, description = "The drain secret")),
    request_body(content((Vec<Object> = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "What happened to the lines", body = EventsTaken),
        (status = 400, description = "The body cannot be read", body = ErrorBody),
        (status = 403, description = "The secret is wrong, or there is no such project", body = ErrorBody),
        (status = 413, description = "The body has more than 16 MiB, unpacked", body = ErrorBody),
        (status = 415, description = "The body has an unknown compression", body = ErrorBody)))]
pub(crate) async fn netlify(
    State(app): State<App>,
    project: Named,
    limit: TimeLimit,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Json<EventsTaken>, Problem> {
    let (site, body) = with_secret(&app, project, query.as_deref(), &headers, body).await?;
    keep(&app, &limit, &site, &body, &headers, netlify_line).await.map(Json)
}

/// Drain a Cloudflare log
///
/// Cloudflare's Logpush of HTTP requests, as gzipped lines. The project's drain secret is the bearer token, the header
/// `x-copydesk-secret` (`header_X-Copydesk-Secret=…` in Logpush), or `secret` in the address. The file with which Logpush
/// tries out a destination is taken.
#[utoipa::path(post, path = "/drains/{projectId}/cloudflare", tag = "Page views", operation_id = "drainCloudflare", security(()),
    params(("projectId" = String, Path, description = "The project"),
        ("secret" = Option<String>, Query, description = "The drain secret"),
        ("x-copydesk-secret" = Option<String>, Header, description = "The drain secret")),
    request_body(content((String = "application/x-ndjson"), (Vec<u8> = "application/gzip"))),
    responses((status = 200, description = "What happened to the lines", body = EventsTaken),
        (status = 400, description = "The body cannot be read", body = ErrorBody),
        (status = 403, description = "The secret is wrong, or there is no such project", body = ErrorBody),
        (status = 413, description = "The body has more than 16 MiB, unpacked", body = ErrorBody),
        (status = 415, description = "The body has an unknown compression", body = ErrorBody)))]
pub(crate) async fn cloudflare(
    State(app): State<App>,
    project: Named,
    limit: TimeLimit,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Json<EventsTaken>, Problem> {
    let (site, body) = with_secret(&app, project, query.as_deref(), &headers, body).await?;
    if is_trial(&body.bytes) {
        return Ok(Json(EventsTaken::default()));
    }
    keep(&app, &limit, &site, &body, &headers, cloudflare_line).await.map(Json)
}

/// The project that the address names, if there is one, and its drain secrets: none without it.
async fn known(app: &App, project: Named) -> Result<(Option<Site>, Vec<String>), Problem> {
    let id = project.ok().and_then(|Path(id)| ProjectId::parse(&id).ok());
    let project = match id {
        Some(id) => app.store().project(&id).await?,
        None => None,
    };
    let Some(project) = project else { return Ok((None, Vec::new())) };
    let secrets = app.desk().senders.taken(&project.id, Sender::Drain).await?;
    Ok((Some(Site::new(project.id, project.views.domains)), secrets))
}

/// The project and the body of a request that names the secret. Without it not even the body is read.
async fn with_secret(
    app: &App,
    project: Named,
    query: Option<&str>,
    headers: &HeaderMap,
    body: RequestBody,
) -> Result<(Site, Drained), Problem> {
    let named = NamedSecrets::of(headers, query);
    if named.is_empty() {
        return Err(forbidden());
    }
    let (site, secrets) = known(app, project).await?;
    let Some(site) = site.filter(|_| named.have(&secrets)) else { return Err(forbidden()) };
    let bytes = packed::raw(app, headers, body, Whose::Known, BOUND).await?;
    Ok((site, drained(app, headers, bytes).await?))
}

/// The body of a drain, and its place among the large ones for as long as it is worked on.
struct Drained {
    bytes: BodyBytes,
    _place: Option<LargeBodyPlace>,
}

/// What somebody sent who has proved to be allowed to, ready to be read.
async fn drained(app: &App, headers: &HeaderMap, bytes: BodyBytes) -> Result<Drained, Problem> {
    let place = app.large_bodies().place_for(bytes.len(), packed::is_packed(headers, &bytes)).await;
    Ok(Drained { bytes: packed::plain(app, headers, bytes, Whose::Known, BOUND).await?, _place: place })
}

/// Keeps the views among the lines. Bad lines are named and cost no good one; the sender could not repair them anyway.
async fn keep(
    app: &App,
    limit: &TimeLimit,
    site: &Site,
    body: &Drained,
    headers: &HeaderMap,
    read: impl for<'a> Fn(&'a [u8]) -> Item<'a>,
) -> Result<EventsTaken, Problem> {
    let lines = match items(&body.bytes, packed::form(headers), MOST) {
        Ok(lines) => lines,
        Err(BodyError::Empty) => Vec::new(),
        Err(BodyError::TooMany(most)) => return Err(body::too_large(&format!("{most} lines"))),
        Err(error) => return Err(no_items(error)),
    };
    Batch::read(lines, read).await.only(site).keep(app, limit, &site.project).await
}

/// The verification code that Vercel shows to whoever makes the drain: in the address of the drain, or in a header of the
/// request, which it lets one add.
fn verification(headers: &HeaderMap, query: Option<&str>) -> Option<HeaderValue> {
    let plain =
        |code: &str| (1..=128).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let in_query = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .find_map(|(name, value)| (name == "verify").then(|| value.into_owned()));
    let in_header = || headers.get(&VERIFY)?.to_str().ok().map(str::to_owned);
    let code = in_query.or_else(in_header).filter(|code| plain(code))?;
    HeaderValue::from_str(&code).ok()
}

fn verified(code: Option<HeaderValue>, mut response: Response) -> Response {
    if let Some(code) = code
        && response.status() == StatusCode::OK
    {
        response.headers_mut().insert(VERIFY.clone(), code);
    }
    response
}
