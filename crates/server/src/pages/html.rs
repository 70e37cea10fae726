use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};
use copydesk_domain::visible;

/// Text that comes from elsewhere, safe inside an element and inside a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A page. Nothing in it is run and nothing is loaded from anywhere, whatever the text says.
pub(super) fn page(title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"robots\" content=\"noindex\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title)
    );
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (headers, html).into_response()
}

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#d0d7de;--dim:#57606a;--add:#dafbe1;--del:#ffebe9;--hunk:#ddf4ff}\
@media(prefers-color-scheme:dark){:root{--line:#3d444d;--dim:#9198a1;--add:#12361f;--del:#4b1a1d;--hunk:#15304d}}\
body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem;margin:0 0 .25rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}\
.meta{color:var(--dim);margin:0 0 1.5rem}.state{border:1px solid var(--line);border-radius:1rem;padding:.1rem .6rem}\
pre{border:1px solid var(--line);border-radius:.4rem;padding:.75rem;overflow-x:auto;font:13px/1.45 ui-monospace,monospace}\
.text{border:1px solid var(--line);border-radius:.4rem;padding:0 1rem;overflow-wrap:anywhere}\
blockquote{margin:1rem 0;padding-left:1rem;border-left:3px solid var(--line)}code{font:.9em ui-monospace,monospace}pre.diff span{display:block;min-width:max-content}\
.a{background:var(--add)}.d{background:var(--del)}.h{background:var(--hunk)}.f{font-weight:600}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        assert_eq!(escape("a\u{202e}b"), "a&lt;U+202E&gt;b");
        assert_eq!(escape("<a href=\"x\" b='y'>&"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
    }
}
