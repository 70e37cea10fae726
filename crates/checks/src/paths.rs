//! Paths inside a tree of files: relative, separated by `/`.

/// The extension in lower case; empty if there is none.
pub(crate) fn extension(path: &str) -> String {
    let name = file_name(path);
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_ascii_lowercase(),
        _ => String::new(),
    }
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The last part of a path without its extension.
pub fn stem(path: &str) -> &str {
    let name = file_name(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// The folder a path is in; empty for the root.
pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path below a folder.
pub fn join(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// Whether a path is a folder or below it. Everything is below the root.
pub fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// A path from a folder that it is below; empty for the folder itself.
pub(crate) fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    if folder.is_empty() {
        return Some(path);
    }
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// A folder as a user may write it, in its plain form: `.` and `./docs/` become the root and `docs`.
pub(crate) fn plain_folder(written: &str) -> String {
    normalise("", written.trim_matches('/')).unwrap_or_default()
}

/// The path that `relative` means in `folder`; none if it leaves the tree.
pub fn normalise(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a path is that of an image or a film.
pub(crate) fn is_image(path: &str) -> bool {
    const EXTENSIONS: [&str; 14] =
        ["png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "bmp", "apng", "mp4", "webm", "mov", "tiff"];
    EXTENSIONS.contains(&extension(path).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_stay_in_the_tree() {
        assert_eq!(normalise("docs/guides", "../api/./x.md").as_deref(), Some("docs/api/x.md"));
        assert_eq!(normalise("docs", "../../x"), None);
        assert_eq!(plain_folder("./docs/"), "docs");
        assert_eq!(plain_folder("."), "");
    }

    #[test]
    fn a_dotfile_has_no_extension() {
        assert_eq!((extension(".env"), stem(".env")), (String::new(), ".env"));
        assert_eq!((extension("a/b.MDX").as_str(), stem("a/b.MDX")), ("mdx", "b"));
    }

    #[test]
    fn below_means_whole_names() {
        assert!(is_below("docs/a.md", "docs") && is_below("x", ""));
        assert!(!is_below("docs2/a.md", "docs"));
    }
}
