//! What `mkdocs.yml` says, key by key.

use copydesk_values::Value;

use crate::page::{Case, IdRule};
use crate::paths;
use crate::site::glob::Glob;

/// The posts of a blog.
#[derive(Debug)]
pub(super) struct Posts {
    pub(super) folder: String,
    /// Their folder of addresses, in which `~` stands for what only the post tells; none if that is not known.
    pub(super) served: Option<String>,
}

/// The plugins with their settings, whether they are a list or a map.
pub(super) fn plugins(config: &Value) -> Vec<(String, Option<Value>)> {
    let Some(plugins) = config.get("plugins") else { return Vec::new() };
    let mut found = Vec::new();
    for item in plugins.items() {
        found.extend(item.written().map(|name| (name.to_owned(), None)));
        found.extend(item.entries().iter().map(|(key, value)| (key.name.clone(), Some(value.clone()))));
    }
    found.extend(plugins.entries().iter().map(|(key, value)| (key.name.clone(), Some(value.clone()))));
    found
}

/// The entries of a map that are texts.
pub(super) fn texts(map: Option<&Value>) -> Vec<(String, String)> {
    let entries = map.map(Value::entries).unwrap_or_default().iter();
    entries.filter_map(|(key, value)| Some((key.name.clone(), value.text()?.to_owned()))).collect()
}

/// Where the posts of a blog are; `option` gives the settings of the plugin.
pub(super) fn posts<'o>(option: &dyn Fn(&str) -> Option<&'o Value>) -> Posts {
    let text = |name: &str, default: &'static str| option(name).and_then(Value::text).unwrap_or(default).to_owned();
    let blog = text("blog_dir", "blog");
    let blog = if blog == "." { String::new() } else { blog };
    let folder = text("post_dir", "{blog}/posts").replace("{blog}", &blog);
    let date: Vec<&str> = vec!["~"; text("post_url_date_format", "yyyy/MM/dd").split('/').count()];
    let address = text("post_url_format", "{date}/{slug}").replace("{date}", &date.join("/"));
    let address = address.replace("{slug}", "~").replace("{file}", "~");
    let served = (!address.contains('{')).then(|| paths::join(&blog, &address));
    Posts { folder: folder.trim_matches('/').to_owned(), served }
}

pub(super) fn base_of(url: &str) -> String {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    after.split_once('/').map_or("", |(_, path)| path).trim_matches('/').to_owned()
}

pub(super) fn excluded(config: &Value) -> Vec<Glob> {
    let written = config.get("exclude_docs").and_then(Value::text).unwrap_or_default();
    let rule = |line: &str| {
        let line = line.trim();
        let is_rule = !line.is_empty() && !line.starts_with(['#', '!']);
        is_rule.then(|| match line.strip_prefix('/') {
            Some(rooted) => format!("{}{}", rooted, if line.ends_with('/') { "**" } else { "" }),
            None => format!("**/{line}{}", if line.ends_with('/') { "**" } else { "" }),
        })
    };
    written.lines().filter_map(rule).map(|pattern| Glob::new(&pattern)).collect()
}

/// The settings of an extension of Markdown: none if it is not named, empty if it has none.
pub(super) fn extension<'c>(config: &'c Value, name: &str) -> Option<Option<&'c Value>> {
    let extensions = config.get("markdown_extensions")?;
    if let Some(settings) = extensions.get(name) {
        return Some(Some(settings));
    }
    extensions.items().iter().find_map(|item| match item.get(name) {
        Some(settings) => Some(Some(settings)),
        None => (item.written() == Some(name)).then_some(None),
    })
}

/// How headings get their ids: by the settings of the extension `toc`.
pub(super) fn ids(config: &Value) -> IdRule {
    let toc = extension(config, "toc").flatten();
    let separator = toc.and_then(|toc| toc.get("separator")).and_then(Value::text).unwrap_or("-").to_owned();
    match toc.and_then(|toc| toc.get("slugify")) {
        Some(slugify) => slugified(slugify, separator),
        None => IdRule::Python { separator, unicode: false },
    }
}

/// How tabs get ids, and whether with that of the heading above before it.
pub(super) fn tab_ids(config: &Value) -> Option<(IdRule, bool)> {
    let settings = extension(config, "pymdownx.tabbed").flatten()?;
    let combined = settings.get("combine_header_slug").and_then(Value::truth).unwrap_or(false);
    Some((slugified(settings.get("slugify")?, "-".to_owned()), combined))
}

/// The rule of a function that makes ids.
pub(super) fn slugified(slugify: &Value, separator: String) -> IdRule {
    let tag = slugify.tag.as_deref().unwrap_or_default();
    let python = |unicode| IdRule::Python { separator: separator.clone(), unicode };
    if tag.ends_with("pymdownx.slugs.slugify") {
        let case = slugify.at(&["kwds", "case"]).and_then(Value::text);
        let case = if matches!(case, Some("lower" | "lower-ascii" | "fold")) { Case::Lower } else { Case::Kept };
        return IdRule::Pymdown { separator, case };
    }
    match tag.rsplit(':').next().unwrap_or_default() {
        "pymdownx.slugs.uslugify" => IdRule::Pymdown { separator, case: Case::Lower },
        "pymdownx.slugs.uslugify_cased" => IdRule::Pymdown { separator, case: Case::Kept },
        "markdown.extensions.toc.slugify_unicode" => python(true),
        "markdown.extensions.toc.slugify" => python(false),
        _ => IdRule::Unknown,
    }
}
