//! Where spans go and under which name, by our settings and the standard variables.

use std::ffi::OsString;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::config::Config;
use crate::failure::Failure;

const USUAL: &str = "http://127.0.0.1:4318";

pub(super) struct Settings {
    pub(super) address: Url,
    /// What the collector wants to see, such as a key.
    pub(super) headers: HeaderMap,
    /// What is said of this process.
    pub(super) resource: Vec<(String, String)>,
}

impl Settings {
    pub(super) fn read(config: &Config, environment: &[(OsString, OsString)]) -> Result<Self, Failure> {
        let variable = |name: &str| {
            let found = environment.iter().find(|(key, _)| key.to_str() == Some(name));
            found.and_then(|(_, value)| value.to_str()).filter(|value| !value.trim().is_empty()).map(str::to_owned)
        };
        let whole = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let base = config.otlp.endpoint.clone().or_else(|| match whole {
            Some(_) => None,
            None => Some(variable("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_else(|| USUAL.to_owned())),
        });
        let address = match (base, whole) {
            (Some(base), _) => format!("{}/v1/traces", base.trim_end_matches('/').trim_end_matches("/v1/traces")),
            (None, whole) => whole.unwrap_or_default(),
        };
        // What was given is not shown: it may hold a key.
        let wrong = |what: &str| Failure::usage(format!("{what} for the collector of traces cannot be used"));
        let address = Url::parse(&address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let mut resource = vec![
            ("service.name".to_owned(), "copydesk".to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let said = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        resource.extend(pairs(&said).ok_or_else(|| wrong("OTEL_RESOURCE_ATTRIBUTES"))?);
        resource.extend(variable("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name)));
        // Each name once; what comes last holds.
        let mut seen = std::collections::HashSet::new();
        resource.reverse();
        resource.retain(|(name, _)| seen.insert(name.clone()));
        let mut headers = HeaderMap::new();
        for name in ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"] {
            for (key, value) in pairs(&variable(name).unwrap_or_default()).ok_or_else(|| wrong(name))? {
                let key = HeaderName::try_from(key).map_err(|_| wrong(name))?;
                let mut value = HeaderValue::try_from(value).map_err(|_| wrong(name))?;
                value.set_sensitive(true);
                headers.insert(key, value);
            }
        }
        Ok(Self { address: address.ok_or_else(|| wrong("the address"))?, headers, resource })
    }
}

/// Reads `a=b,c=d`, in which values may be percent-encoded. None if something is no pair.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8().ok()?;
        (!name.trim().is_empty()).then(|| (name.trim().to_owned(), value.into_owned()))
    };
    text.split(',').filter(|part| !part.trim().is_empty()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_pairs_are_read_as_the_standard_writes_them() {
        let read = |text| pairs(text).map(|pairs| pairs.iter().map(|(a, b)| format!("{a}:{b}")).collect::<Vec<_>>());
        assert_eq!(read("a=b, c=d%20e ,").unwrap(), ["a:b", "c:d e"]);
        assert_eq!(read("api-key=x==").unwrap(), ["api-key:x=="]);
        assert!(read("").unwrap().is_empty() && read("a").is_none() && read("=b").is_none());
    }
}
