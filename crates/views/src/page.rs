//! Which page a request is for. One page has one path, however it was asked for.

use std::sync::LazyLock;

/// What is counted on this page was of pages that were too many a day to be told apart.
pub const OTHER_PAGES: &str = "/(other)";

/// The longest path, in bytes.
pub const MAX_PATH: usize = 2048;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Page {
        /// Its path in the one form.
        path: String,
        /// Whether its Markdown form was asked for, or a text made for machines (`llms.txt`).
        markdown: bool,
    },
    /// A part of a page, or something else that is not one: an image, a script, a feed, a sitemap.
    Asset,
}

/// Why something names no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum PathError {
    /// Neither a path nor an address.
    #[error("the path must start with / (or be an http or https address)")]
    NotAPath,
    #[error("the path is longer than 2,048 bytes")]
    TooLong,
}

/// Endings of files that are no pages. Everything else is one: `/v1.2` and `/node.js-guide` too.
static ASSETS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "7z aac apk atom avi avif bin bmp br bz2 cjs css csv deb dmg doc docx eot epub exe flac gif gz heic ico iso jar \
     jpeg jpg js json jsonl jxl less m4a m4v map mjs mkv mov mp3 mp4 mpeg mpg msi ogg ogv otf pdf pkg png ppt pptx \
     psd rar rpm rss scss sqlite svg tar tgz tif tiff ts ttf txt wasm wav weba webm webmanifest webp woff woff2 xls \
     xlsx xml xz yaml yml zip zst"
        .split(' ')
        .collect()
});

/// Texts that a site writes for machines to read.
const FOR_MACHINES: [&str; 2] = ["llms.txt", "llms-full.txt"];

/// The page that `target`, a path or a whole address, is about.
pub fn target(target: &str) -> Result<Target, PathError> {
    let raw = raw_path(target)?;
    if raw.len() > MAX_PATH {
        return Err(PathError::TooLong);
    }
    let mut path = resolved(raw);
    let last = last_segment(&path);
    if FOR_MACHINES.contains(&last) {
        return sized(path, true);
    }
    if is_asset(last) || path.starts_with("/.well-known/") {
        return Ok(Target::Asset);
    }
    let markdown = plain(&mut path);
    sized(path, markdown)
}

/// The page that a browser shows at `target`. What is shown is a page, whatever its name: `/docs/next.js` too.
pub fn shown(target: &str) -> Result<(String, bool), PathError> {
    match self::target(target)? {
        Target::Page { path, markdown } => Ok((path, markdown)),
        Target::Asset => {
            let path = resolved(raw_path(target)?);
            if path.len() > MAX_PATH { Err(PathError::TooLong) } else { Ok((path, false)) }
        }
    }
}

fn sized(path: String, markdown: bool) -> Result<Target, PathError> {
    if path.len() > MAX_PATH { Err(PathError::TooLong) } else { Ok(Target::Page { path, markdown }) }
}

/// The path alone, without scheme, host, query and fragment.
fn raw_path(target: &str) -> Result<&str, PathError> {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let target = &target[..end];
    if target.starts_with('/') {
        return Ok(target);
    }
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let head = target.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then(|| &target[scheme.len()..])
    });
    match rest {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') => Ok(rest.find('/').map_or("/", |at| &rest[at..])),
        _ => Err(PathError::NotAPath),
    }
}

/// The host of a whole address, without the port, in small letters and without the dot that may end it.
pub fn host(target: &str) -> Option<String> {
    let host = authority(target).map(|authority| plain_host(&authority))?;
    (!host.is_empty()).then_some(host)
}

/// The host and the port of a whole address, as a `Host` header has them.
pub fn authority(target: &str) -> Option<String> {
    let (scheme, rest) = target.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    Some(authority.rsplit('@').next().unwrap_or(authority).to_ascii_lowercase())
}

/// The host of an authority (`Host` header): without the port, in small letters and without the dot that may end it.
pub fn plain_host(authority: &str) -> String {
    let host = if authority.starts_with('[') {
        authority.split_inclusive(']').next().unwrap_or(authority)
    } else {
        authority.split(':').next().unwrap_or(authority)
    };
    host.trim_end_matches('.').to_ascii_lowercase()
}

/// Percent-encoding in its normal form, no empty and no dot segments, no slash at the end.
fn resolved(raw: &str) -> String {
    let encoded = encoded(raw);
    let mut path = String::with_capacity(encoded.len());
    for segment in encoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => path.truncate(path.rfind('/').unwrap_or(0)),
            segment => {
                path.push('/');
                path.push_str(segment);
            }
        }
    }
    if path.is_empty() {
        path.push('/');
    }
    path
}

/// RFC 3986: what need not be encoded is not, the rest is in capital letters; what should have been encoded is.
fn encoded(raw: &str) -> String {
    let bytes = raw.as_bytes();
    let mut text = String::with_capacity(raw.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        let decoded = (byte == b'%').then(|| hex_pair(&bytes[at..])).flatten();
        if decoded.is_some() {
            at += 2;
        }
        match (decoded, byte) {
            (Some(byte), _) if is_unreserved(byte) => text.push(char::from(byte)),
            (None, byte) if is_unreserved(byte) || b"/!$&'()*+,;=:@".contains(&byte) => text.push(char::from(byte)),
            (Some(byte), _) | (None, byte) => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                text.push('%');
                text.push(char::from(HEX[usize::from(byte >> 4)]));
                text.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    text
}

/// The byte that two hexadecimal digits at the start of `text` stand for.
pub(crate) fn hex_pair(text: &[u8]) -> Option<u8> {
    let &[high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or("")
}

fn is_asset(segment: &str) -> bool {
    let Some((stem, ending)) = segment.rsplit_once('.') else { return false };
    if stem.is_empty() || ending.len() > 11 {
        return false;
    }
    let mut small = [0u8; 11];
    let small = &mut small[..ending.len()];
    small.copy_from_slice(ending.as_bytes());
    small.make_ascii_lowercase();
    std::str::from_utf8(small).is_ok_and(|ending| ASSETS.binary_search(&ending).is_ok())
}

/// Takes off what names a form of the page and not the page. Says whether that form was Markdown.
fn plain(path: &mut String) -> bool {
    let mut markdown = false;
    loop {
        let last = last_segment(path);
        let shorter = match last {
            "index.html" | "index.htm" | "index.md" | "index.mdx" => {
                markdown |= last.contains(".md");
                path.len() - last.len() - 1
            }
            _ => match last.rsplit_once('.') {
                Some((stem, ending @ ("md" | "mdx" | "html"))) if !stem.bytes().all(|byte| byte == b'.') => {
                    markdown |= ending != "html";
                    path.len() - ending.len() - 1
                }
                _ => return markdown,
            },
        };
        path.truncate(shorter);
        if path.is_empty() {
            path.push('/');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> String {
        match target(text) {
            Ok(Target::Page { path, .. }) => path,
            other => panic!("{text:?} is {other:?}"),
        }
    }

    #[test]
    fn a_page_has_one_path() {
        for text in [
            "/x",
            "/x/",
            "/x?utm=1",
            "/x.md",
            "/x.mdx",
            "/x.html",
            "/x/index.html",
            "/x/index.md",
            "/x#y",
            "//x",
            "/./x",
            "/y/../x",
            "/x//",
            "https://docs.example.com/x",
            "HTTP://docs.example.com:80/x/?a=/b#c",
            "/%78",
            "/x.html.md",
            "/x/?q=a.png",
        ] {
            assert_eq!(path(text), "/x", "{text:?}");
        }
        for text in
            ["/", "/?a", "/index.html", "/index.md", "https://docs.example.com", "https://docs.example.com?x", "/.."]
        {
            assert_eq!(path(text), "/", "{text:?}");
        }
    }

    #[test]
    fn what_differs_stays_apart() {
        assert_eq!(path("/X"), "/X");
        assert_eq!(path("/v1.2"), "/v1.2");
        assert_eq!(path("/index"), "/index");
        assert_eq!(path("/.html"), "/.html");
        assert_eq!(path("/a%2fb"), "/a%2Fb");
        assert_eq!(path("/文"), "/%E6%96%87");
        assert_eq!(path("/%e6%96%87"), "/%E6%96%87");
        assert_eq!(path("/a b"), "/a%20b");
        assert_eq!(path("/100%"), "/100%25");
        assert_eq!(path("/guide/node.js-on-x"), "/guide/node.js-on-x");
    }

    #[test]
    fn forms_for_machines_are_told_apart() {
        let markdown = |text| matches!(target(text), Ok(Target::Page { markdown: true, .. }));
        for text in ["/x.md", "/x.mdx", "/x/index.md", "/llms.txt", "/docs/llms-full.txt", "/x.html.md"] {
            assert!(markdown(text), "{text:?}");
        }
        for text in ["/x", "/x.html", "/md", "/.md"] {
            assert!(!markdown(text), "{text:?}");
        }
        assert_eq!(path("/docs/llms.txt?v=2"), "/docs/llms.txt");
    }

    #[test]
    fn parts_of_pages_are_no_pages() {
        for text in
            ["/logo.png", "/app.JS", "/robots.txt", "/sitemap.xml", "/feed.rss", "/.well-known/x", "/a/b.css?v=1"]
        {
            assert_eq!(target(text), Ok(Target::Asset), "{text:?}");
        }
    }

    #[test]
    fn whatever_is_shown_is_a_page() {
        let path = |text: &str| shown(text).map(|(path, _)| path);
        assert_eq!(path("/docs/next.js?x#y").as_deref(), Ok("/docs/next.js"));
        assert_eq!(path("https://a.b/guides/./vue.ts/").as_deref(), Ok("/guides/vue.ts"));
        assert_eq!(path("/logo.png").as_deref(), Ok("/logo.png"));
        assert_eq!(shown("/x/index.md"), Ok(("/x".to_owned(), true)), "and everything else as ever");
        assert_eq!(path("next.js"), Err(PathError::NotAPath));
        for (length, fits) in [(2044, true), (2045, false)] {
            assert_eq!(path(&format!("/{}.js", "x".repeat(length))).is_ok(), fits);
        }
        assert_eq!(path(&format!("/{}.js", "文".repeat(300))), Err(PathError::TooLong), "encoded");
    }

    #[test]
    fn what_names_no_page_is_refused() {
        for text in ["", "x", "ftp://a/b", "https://", "https:///x", "mailto:a@b"] {
            assert_eq!(target(text), Err(PathError::NotAPath), "{text:?}");
        }
        assert_eq!(target(&format!("/{}", "a".repeat(2048))), Err(PathError::TooLong));
        assert_eq!(target(&format!("/{}", "文".repeat(600))), Err(PathError::TooLong));
        assert!(target(&format!("/{}?{}", "a".repeat(2047), "b".repeat(9000))).is_ok());
    }

    #[test]
    fn hosts_are_read_without_port_and_user() {
        assert_eq!(host("https://u:p@Docs.Example.com:8443/x").as_deref(), Some("docs.example.com"));
        assert_eq!(host("http://[::1]:80/x").as_deref(), Some("[::1]"));
        assert_eq!(host("https://docs.example.com./x").as_deref(), Some("docs.example.com"));
        assert_eq!(host("https://docs.example.com.:443").as_deref(), Some("docs.example.com"));
        assert_eq!((host("/x"), host("https://./x")), (None, None));
    }

    #[test]
    fn endings_are_sorted_for_the_search() {
        assert!(ASSETS.is_sorted() && ASSETS.iter().all(|ending| ending.len() <= 11));
    }

    proptest! {
        #[test]
        fn the_one_form_is_stable(text in "/([a-z./%é?#]|%2[eEfF]|index\\.html|\\.md){0,20}") {
            if let Ok(Target::Page { path, .. }) = target(&text) {
                prop_assert!(path.starts_with('/') && path.is_ascii() && path.len() <= MAX_PATH);
                prop_assert!(path == "/" || !path.ends_with('/'));
                prop_assert!(!path.contains(['?', '#']) && !path.contains("//"));
                // A page named after an ending can look like an asset once it stands alone, but never like another page.
                if let Ok(Target::Page { path: again, .. }) = target(&path) {
                    prop_assert_eq!(again, path);
                }
            }
        }

        #[test]
        fn nothing_makes_it_fall_over(text in "\\PC{0,60}") {
            let _ = target(&text);
            let _ = host(&text);
        }
    }
}
