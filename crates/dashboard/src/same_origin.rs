use axum::http::header::{HOST, HeaderMap, ORIGIN};
use url::{Origin, Url};

/// Whether a request that changes something was made by a page of ours. Browsers say so in `Sec-Fetch-Site`; those that
/// reach us without TLS do not, and then `Origin` has to be ours. Without evidence it was not.
pub(crate) fn is_same_origin(headers: &HeaderMap, ours: Option<&Origin>) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    match (sites.next(), sites.next()) {
        (Some(site), None) => return site.as_bytes() == b"same-origin",
        (None, _) => {}
        _ => return false,
    }
    let mut origins = headers.get_all(ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else { return false };
    let Some(origin) = origin.to_str().ok().and_then(|text| Url::parse(text).ok()) else { return false };
    if Some(&origin.origin()) == ours {
        return true;
    }
    // Reached by another name than the configured one: then it is the one that was asked.
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let shown = origin.host_str().map(|host| match origin.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    });
    matches!(origin.scheme(), "http" | "https") && host.is_some() && shown.as_deref() == host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_evidence_counts() {
        let ours = Url::parse("https://desk.example.com").unwrap().origin();
        let asked = |headers: &[(&'static str, &str)]| {
            let map = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            is_same_origin(&HeaderMap::from_iter(map), Some(&ours))
        };
        for (headers, wanted) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (&[("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")], true),
            (&[("sec-fetch-site", "same-site"), ("origin", "https://desk.example.com")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "")], false),
            (&[], false),
            (&[("origin", "https://desk.example.com")], true),
            (&[("origin", "https://desk.example.com:444")], false),
            (&[("origin", "http://desk.example.com")], false),
            (&[("origin", "null")], false),
            (&[("origin", "http://10.0.0.1:4400"), ("host", "10.0.0.1:4400")], true),
            (&[("origin", "http://10.0.0.1:4400"), ("host", "10.0.0.2:4400")], false),
            (&[("origin", "ftp://10.0.0.1:4400"), ("host", "10.0.0.1:4400")], false),
            (&[("origin", "https://evil.example"), ("host", "desk.example.com")], false),
            (&[("referer", "https://desk.example.com/")], false),
        ] {
            assert_eq!(asked(headers), wanted, "{headers:?}");
        }
    }
}
