//! Redirects that the host of a site makes, by files that the site gives to it.

use copydesk_values::{Value, json, toml};

use super::generator::Rule;
use crate::files::text_of;
use crate::{Files, paths};

/// What `_redirects` among the public files, `netlify.toml` and `vercel.json` redirect.
pub(super) fn redirects(files: &dyn Files, folder: &str, public: &str) -> Vec<Rule> {
    let path = paths::normalise(folder, &paths::join(public, "_redirects"));
    let mut rules = listed(&path.and_then(|path| text_of(files, &path)).unwrap_or_default());
    for root in [folder, ""] {
        let text = |name: &str| text_of(files, &paths::join(root, name)).unwrap_or_default();
        let netlify = toml(&text("netlify.toml")).ok().map(|value| (value, "from", "to"));
        let vercel = json(&text("vercel.json")).ok().map(|value| (value, "source", "destination"));
        for (value, from, to) in [netlify, vercel].into_iter().flatten() {
            for redirect in value.get("redirects").map(Value::items).unwrap_or_default() {
                let text = |name: &str| redirect.get(name).and_then(Value::text);
                rules.extend(text(from).zip(text(to)).and_then(|(source, destination)| rule(source, destination)));
            }
        }
    }
    rules
}

/// What a file of lines such as `/from /to 301` redirects.
pub(super) fn listed(text: &str) -> Vec<Rule> {
    let mut rules = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        match words.as_slice() {
            // A page that says that there is none.
            [_, _, "404" | "410", ..] => {}
            [source, destination, ..] => rules.extend(rule(source, destination)),
            _ => {}
        }
    }
    rules
}

/// None for what is for every address: it says nothing about any.
fn rule(source: &str, destination: &str) -> Option<Rule> {
    let is_for_some = source.starts_with('/') && !matches!(source, "/*" | "/:path*" | "/(.*)");
    is_for_some.then(|| Rule { source: source.to_owned(), destination: destination.to_owned(), place: None })
}
