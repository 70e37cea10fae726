//! The script for browsers.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_domain::hex;
use sha2::{Digest, Sha256};

use crate::problem::{ErrorBody, Problem};

/// What is served: our script without its comments and indentation.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let lines = include_str!("../../../assets/view.js").lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with("//")).flat_map(|line| [line, "\n"]).collect()
});
/// What its caches know it by.
static TAG: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = hex(&Sha256::digest(&*SCRIPT)[..8]);
    HeaderValue::from_str(&format!("\"{digest}\"")).unwrap_or(HeaderValue::from_static("\"script\""))
});

/// The script that sends page views
///
/// `view.js`; under the names of Plausible's scripts too (`script.js`, `script.local.js`, `script.manual.js`,
/// `plausible.js`, …), so that a page need only change the address.
#[utoipa::path(get, path = "/js/{script}", tag = "Page views", operation_id = "viewScript", security(()),
    params(("script" = String, Path, description = "The name of the script", example = "view.js")),
    responses((status = 200, description = "The script", body = String, content_type = "text/javascript"),
        (status = 304, description = "Not changed since `If-None-Match`"),
        (status = 404, description = "There is no such script", body = ErrorBody)))]
pub(crate) async fn script(path: Result<Path<String>, PathRejection>, headers: HeaderMap) -> Result<Response, Problem> {
    let known = path.is_ok_and(|Path(name)| is_ours(&name));
    if !known {
        return Err(Problem::route_not_found());
    }
    let common = [
        (CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400")),
        (ETAG, TAG.clone()),
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("cross-origin")),
    ];
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == *TAG) {
        return Ok((StatusCode::NOT_MODIFIED, common).into_response());
    }
    let text = [(CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"))];
    Ok((common, text, SCRIPT.as_str()).into_response())
}

/// Our own name, or `script.js` and `plausible.js` with words in between, as Plausible calls its variants.
fn is_ours(name: &str) -> bool {
    let variant = |name: &str| {
        let words = name.strip_suffix(".js").unwrap_or_default();
        let mut words = words.split('.');
        matches!(words.next(), Some("script" | "plausible"))
            && words.all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
    };
    name.len() <= 200 && (name == "view.js" || variant(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plausibles_names_are_known_and_no_others() {
        for name in ["view.js", "script.js", "plausible.js", "script.hash.outbound-links.js", "script.local.js"] {
            assert!(is_ours(name), "{name}");
        }
        for name in ["", ".js", "view", "script", "script..js", "scripts.js", "script.js.map", "../script.js", "x.js"] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
