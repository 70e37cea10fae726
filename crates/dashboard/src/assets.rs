//! Stylesheet, script and icon: built in, under addresses that change with their content and so can be kept for ever.

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::respond::{Oops, Reply};

const FILES: [(&str, &str, &[u8]); 3] = [
    ("app.css", "text/css; charset=utf-8", include_bytes!("../assets/app.css")),
    ("app.js", "text/javascript; charset=utf-8", include_bytes!("../assets/app.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
];

/// The addresses of the files.
#[derive(Debug, Clone)]
pub(crate) struct Assets {
    pub(crate) css: String,
    pub(crate) js: String,
    pub(crate) icon: String,
}

impl Assets {
    pub(crate) fn new() -> Self {
        let [css, js, icon] = FILES.map(|(name, _, content)| format!("/assets/{}/{name}", mark(content)));
        Self { css, js, icon }
    }
}

fn mark(content: &[u8]) -> String {
    copydesk_domain::hex(&Sha256::digest(content)[..5])
}

pub(crate) async fn asset(path: Option<Path<(String, String)>>) -> Reply {
    let Some(Path((wanted, name))) = path else { return Err(Oops::NotFound) };
    let found = FILES.iter().find(|(file, _, content)| *file == name && mark(content) == wanted);
    let (_, kind, content) = found.ok_or(Oops::NotFound)?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    let response: Response = (headers, *content).into_response();
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent with every first visit stays small.
    #[test]
    fn files_keep_to_their_budgets() {
        let size =
            |wanted: &str| FILES.iter().find(|(name, ..)| *name == wanted).map_or(0, |(.., content)| content.len());
        assert!(size("app.css") < 16 * 1024, "{}", size("app.css"));
        assert!(size("app.js") < 12 * 1024, "{}", size("app.js"));
        assert!(size("icon.svg") < 1024);
    }
}
