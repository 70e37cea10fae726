//! Plausible's events, as its scripts and plugins send them.

use serde::Deserialize;

use super::item::Mistake;
use super::text::Text;
use crate::page;

/// Sites that one event may name at most.
pub const MAX_SITES: usize = 10;

/// The name of the events that are views.
pub const PAGEVIEW: &str = "pageview";

/// What is read of an event; the rest (referrer, screen width, properties, …) is neither needed nor kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlausibleEvent {
    /// `pageview`, or an event of the site's own.
    pub name: String,
    pub url: String,
    /// Its host, in small letters and without a port.
    pub host: String,
    /// The sites it is for, in small letters; what the event says, or else the host of the page.
    pub sites: Vec<String>,
}

impl PlausibleEvent {
    /// Whether it tells of a view.
    pub fn is_view(&self) -> bool {
        self.name == PAGEVIEW
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    n: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    u: Option<Text<'a>>,
    #[serde(borrow)]
    url: Option<Text<'a>>,
    #[serde(borrow)]
    d: Option<Text<'a>>,
    #[serde(borrow)]
    domain: Option<Text<'a>>,
}

pub fn read(body: &[u8]) -> Result<PlausibleEvent, Mistake> {
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Mistake { code: "invalid_json", error: "an event is a JSON object".to_owned() });
    }
    let wire: Wire<'_> = serde_json::from_slice(body).map_err(|error| Mistake::json(&error))?;
    let given = |short: Option<Text<'_>>, long: Option<Text<'_>>, what: &str| {
        let text = short.or(long).map(|text| text.0.into_owned());
        text.filter(|text| !text.is_empty()).ok_or_else(|| Mistake::event(format!("an event needs {what}")))
    };
    let name = given(wire.n, wire.name, "a name (n)")?;
    let url = given(wire.u, wire.url, "the address of the page (u)")?;
    let host = page::host(&url).ok_or_else(|| Mistake::event("the address (u) must be an http or https address"))?;
    let sites = match wire.d.or(wire.domain) {
        Some(list) => sites(&list.0)?,
        None => vec![host.clone()],
    };
    Ok(PlausibleEvent { name, url, host, sites })
}

/// `a.example.com, b.example.com`, each once.
fn sites(list: &str) -> Result<Vec<String>, Mistake> {
    let mut sites = Vec::new();
    for site in list
        .split(',')
        .map(|site| site.trim().trim_end_matches('.').to_ascii_lowercase())
        .filter(|site| !site.is_empty())
    {
        if !sites.contains(&site) {
            sites.push(site);
        }
        if sites.len() > MAX_SITES {
            return Err(Mistake::event(format!("an event may be for {MAX_SITES} sites at most")));
        }
    }
    if sites.is_empty() { Err(Mistake::event("the domain (d) names no site")) } else { Ok(sites) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read() {
        let short = read(br#"{"n":"pageview","u":"https://Docs.Example.com:8443/x?a#b","d":"Docs.example.com","r":null,"w":1,"h":0,"v":36,"p":{"a":[1]}}"#).unwrap();
        assert_eq!(
            (short.host.as_str(), short.sites.as_slice()),
            ("docs.example.com", &["docs.example.com".to_owned()][..])
        );
        assert!(short.is_view());
        let long = read(br#"{"name":"Sign up","url":"https://a.b/","domain":"a.b, c.d ,a.b.,","props":"{}"}"#).unwrap();
        assert!(!long.is_view());
        assert_eq!(long.sites, ["a.b", "c.d"]);
        assert_eq!(read(br#"{"n":"pageview","u":"http://a.b"}"#).unwrap().sites, ["a.b"], "the host of the page");
    }

    #[test]
    fn what_is_missing_is_named() {
        for (body, words) in [
            ("", "object"),
            ("[]", "object"),
            ("{", "EOF"),
            (r#"{"u":"https://a/","d":"a"}"#, "name"),
            (r#"{"n":"","u":"https://a/","d":"a"}"#, "name"),
            (r#"{"n":"pageview","d":"a"}"#, "address"),
            (r#"{"n":"pageview","u":"/x","d":"a"}"#, "http"),
            (r#"{"n":"pageview","u":"data:text/html,x","d":"a"}"#, "http"),
            (r#"{"n":"pageview","u":"https://a/","d":" , "}"#, "names no site"),
            (r#"{"n":"pageview","u":"https://a/","d":"a,b,c,d,e,f,g,h,i,j,k"}"#, "at most"),
            (r#"{"n":1,"u":"https://a/","d":"a"}"#, "expected a string"),
        ] {
            let mistake = read(body.as_bytes()).unwrap_err();
            assert!(mistake.error.contains(words), "{body}: {mistake}");
        }
    }
}
