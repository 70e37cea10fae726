//! The address under which users reach the server.

use url::Url;

/// Reads an http or https URL and removes its trailing slash.
pub(super) fn parse(text: &str) -> Result<String, Option<String>> {
    let lower = text.to_ascii_lowercase();
    // The parser also takes `http:host` and drops line breaks, which nobody means.
    let written_out = lower.starts_with("http://") || lower.starts_with("https://");
    if !written_out || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(None);
    }
    let url = Url::parse(text).map_err(|_| None)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(None);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Some("leave out the user and password".into()));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}
