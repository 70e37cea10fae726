//! Addresses that are programs.

use percent_encoding::percent_decode_str;

use crate::references::decoded;

/// Whether a browser that follows an address runs something: a script, or a page that the address holds.
pub(super) fn runs(address: &str) -> bool {
    // Browsers drop what nobody sees before and in the scheme.
    let plain: String = decoded(address).chars().filter(|c| !c.is_control() && !c.is_whitespace()).take(200).collect();
    let plain = percent_decode_str(&plain).decode_utf8_lossy().to_ascii_lowercase();
    let Some((scheme, rest)) = plain.split_once(':') else { return false };
    match scheme {
        "javascript" | "vbscript" | "livescript" => true,
        "data" => {
            let kind = rest.split([',', ';']).next().unwrap_or_default();
            matches!(kind, "text/html" | "application/xhtml+xml" | "text/xml" | "application/xml" | "text/javascript")
        }
        _ => false,
    }
}

/// Whether the texts of an expression, one after the other, are or hold such an address.
pub(super) fn runs_in(texts: &[String]) -> bool {
    let joined: String = texts.concat().chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let lower = joined.to_ascii_lowercase();
    texts.iter().any(|text| runs(text))
        || ["javascript:", "vbscript:", "data:text/html"].iter().any(|scheme| lower.contains(scheme))
}

/// The host of an address, if it names one, as browsers read it: strokes may lean either way, and be missing.
pub(super) fn host(address: &str) -> Option<String> {
    let plain: String = address.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let plain = plain.replace('\\', "/");
    let rest = match plain.split_once(':') {
        Some((scheme, rest)) if scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) => rest,
        _ => plain.strip_prefix("//")?,
    };
    let host = rest.trim_start_matches('/').split(['/', '?', '#']).next()?.rsplit('@').next()?;
    Some(host.split(':').next().unwrap_or(host).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_in_addresses_are_seen_however_they_are_written() {
        for address in [
            "javascript:alert(1)",
            " JaVaScript:alert(1)",
            "java\tscript:alert(1)",
            "java\nscript:x",
            "javascript&colon;x",
            "&#106;avascript:x",
            "&#x6A;avascript:x",
            "&#0000106avascript:x",
            "javascript&#58;x",
            "java&Tab;script:x",
            "%6aavascript:x",
            "vbscript:x",
            "data:text/html,<script>",
            "DATA:text/html;base64,PHNjcmlwdD4=",
            "\u{1}javascript:x",
        ] {
            assert!(runs(address), "{address:?}");
        }
        for address in
            ["/javascript", "https://x/javascript:y", "#javascript:", "mailto:a@b", "data:image/png;base64,x", "a?b&c"]
        {
            assert!(!runs(address), "{address:?}");
        }
    }
}
