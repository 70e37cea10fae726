//! Ways that several generators have in common.

use copydesk_values::Value;

use super::generator::{Asked, Reason, Way};
use crate::paths;

/// Endings of files that scripts take in without naming them.
const SCRIPTS: [&str; 10] = ["mdx", "md", "jsx", "tsx", "js", "ts", "mjs", "json", "vue", "astro"];

pub(crate) fn outside() -> Reason {
    Reason::new("it leads outside the site")
}

pub(crate) fn alias() -> Reason {
    Reason::new("it is taken in by an alias")
}

/// A path from a folder as browsers read it: nothing is above the root.
pub(crate) fn clamped(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// An import: beside the page, or from the root where that means something.
pub(crate) fn script_import(asked: &Asked<'_>, root: &str) -> Vec<Way> {
    let starts: Vec<String> = if asked.path.starts_with('.') {
        paths::normalise(paths::folder(asked.page), asked.path).into_iter().collect()
    } else if let Some(rooted) = asked.path.strip_prefix('/') {
        paths::normalise(root, rooted).into_iter().collect()
    } else if is_package(asked.path) {
        return vec![Way::Package];
    } else {
        return vec![Way::Untold(alias())];
    };
    let mut ways: Vec<Way> = starts.iter().cloned().map(Way::File).collect();
    for start in &starts {
        for ending in SCRIPTS {
            ways.push(Way::File(format!("{start}.{ending}")));
            ways.push(Way::File(paths::join(start, &format!("index.{ending}"))));
        }
    }
    ways
}

/// An import that may go by an alias of the project: `@components/*` stands for `src/components/*`.
pub(crate) fn aliased_import(asked: &Asked<'_>, root: &str, aliases: &[(String, String)]) -> Vec<Way> {
    let mut found = Vec::new();
    for (name, stands_for) in aliases {
        let place = match (name.strip_suffix('*'), stands_for.strip_suffix('*')) {
            (Some(name), Some(stands_for)) => asked.path.strip_prefix(name).map(|rest| format!("{stands_for}{rest}")),
            _ => (asked.path == name).then(|| stands_for.clone()),
        };
        if let Some(place) = place {
            found.extend(script_import(&Asked { path: &format!("/{place}"), ..*asked }, ""));
        }
    }
    if found.is_empty() { script_import(asked, root) } else { found }
}

/// The aliases that `tsconfig.json` gives, as paths of the repository; `folder` is the one that it is in.
pub(crate) fn aliases(folder: &str, config: &Value) -> Vec<(String, String)> {
    let options = config.get("compilerOptions");
    let base = options.and_then(|options| options.get("baseUrl")).and_then(Value::text).unwrap_or(".");
    let entries = options.and_then(|options| options.get("paths")).map(Value::entries).unwrap_or_default();
    let all = entries.iter().flat_map(|(key, places)| places.items().iter().map(move |place| (&key.name, place)));
    all.filter_map(|(name, place)| {
        let folder = paths::normalise(folder, base)?;
        Some((name.clone(), paths::normalise(&folder, place.text()?)?))
    })
    .collect()
}

/// `name` and `@scope/name` are packages; `@/x` and `~/x` are aliases of the project's own.
fn is_package(path: &str) -> bool {
    let name = path.strip_prefix('@').unwrap_or(path);
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// The path of a page without its ending, and whether it stands for its folder.
pub(crate) fn bare<'p>(below: &'p str, indexes: &[&str]) -> (&'p str, bool) {
    let bare = [".mdx", ".md", ".markdown"].iter().find_map(|ending| below.strip_suffix(ending)).unwrap_or(below);
    let name = paths::file_name(bare);
    if indexes.contains(&name) { (paths::folder(bare), true) } else { (bare, false) }
}
