//! The page of a pull request. It is part of the described interface, since `prLink` leads to it; the pages for people serve
//! it, beside the interface.

use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::problem::ErrorBody;

/// Look at a pull request
///
/// A page for people, for repositories that no code host looks after. Whoever has the link may read it, as with a link
/// that is shared on purpose: it cannot be guessed. It ends when the job is archived or its link is revoked.
#[utoipa::path(get, path = "/pull/{token}", tag = "Pull requests", operation_id = "pullRequestPage", security(()),
    params(("token" = String, Path, description = "The last part of a job's `prLink`")),
    responses((status = 200, description = "The page", body = String, content_type = "text/html"),
        (status = 404, description = "There is no such pull request", body = ErrorBody)))]
#[allow(dead_code, reason = "only described")]
fn pull_request() {}

#[derive(OpenApi)]
#[openapi(paths(pull_request))]
struct Described;

pub(super) fn described() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Described::openapi())
}
