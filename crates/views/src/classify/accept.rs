/// Whether an `Accept` header asks for Markdown rather than HTML: `text/markdown` is named, is acceptable, and HTML is
/// not wanted more. A browser's `*/*` is no wish for Markdown.
pub(super) fn prefers_markdown(accept: &str) -> bool {
    // Almost every request of a browser ends here.
    if memchr::memchr2(b'm', b'M', accept.as_bytes()).is_none() {
        return false;
    }
    let mut markdown = None;
    let mut html = None;
    for (place, range) in accept.split(',').enumerate() {
        let mut parts = range.split(';');
        let kind = parts.next().unwrap_or_default().trim();
        // Between equals the one named first is meant: that is how agents write it.
        let wish = (parts.find_map(quality).unwrap_or(1000), usize::MAX - place);
        if kind.eq_ignore_ascii_case("text/markdown") || kind.eq_ignore_ascii_case("text/x-markdown") {
            markdown = markdown.max(Some(wish));
        } else if kind.eq_ignore_ascii_case("text/html") || kind.eq_ignore_ascii_case("application/xhtml+xml") {
            html = html.max(Some(wish));
        }
    }
    markdown.is_some_and(|wish| wish.0 > 0) && markdown > html
}

/// `q=0.8` as 800; a value that is none counts as 1, as servers take it.
fn quality(parameter: &str) -> Option<u32> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let value: f64 = value.trim().parse().unwrap_or(1.0);
    // The clamp keeps it within 0 and 1000; what is not a number becomes 0.
    Some((value.clamp(0.0, 1.0) * 1000.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::prefers_markdown;

    #[test]
    fn what_agents_and_browsers_send() {
        for yes in [
            "text/markdown",
            "text/markdown, text/html, */*",
            "text/markdown, text/plain;q=0.9, */*;q=0.8",
            "text/html;q=0.8, text/markdown",
            "text/html;q=0.8,text/markdown;q=0.9",
            "TEXT/MARKDOWN;charset=utf-8;q=1.0, text/html;q=0.9",
            "text/x-markdown",
        ] {
            assert!(prefers_markdown(yes), "{yes}");
        }
        for no in [
            "",
            "*/*",
            "text/*",
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
            "text/html, text/markdown",
            "text/html, text/markdown;q=0.9",
            "text/markdown;q=0, */*",
            "text/markdown;q=0",
            "text/markdown;q=0.4, application/xhtml+xml;q=0.5",
            "text/markdownish",
            "application/json;profile=\"text/markdown\"",
        ] {
            assert!(!prefers_markdown(no), "{no}");
        }
    }
}
