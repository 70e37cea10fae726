//! The pull request of a repository that no code host looks after.

use std::fmt::Write;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use copydesk_domain::visible;
use copydesk_store::LocalPull;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::html::{escape, page};
use crate::app::App;
use crate::problem::{ErrorBody, Problem};

/// Look at a pull request
///
/// A page for people, for repositories that no code host looks after. Whoever has the link may read it, as with a link
/// that is shared on purpose: it cannot be guessed. It ends when the job is archived or its link is revoked.
#[utoipa::path(get, path = "/pull/{token}", tag = "Pull requests", operation_id = "pullRequestPage", security(()),
    params(("token" = String, Path, description = "The last part of a job's `prLink`")),
    responses((status = 200, description = "The page", body = String, content_type = "text/html"),
        (status = 404, description = "There is no such pull request", body = ErrorBody)))]
pub(crate) async fn pull_request(
    State(app): State<App>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(token) = path.map_err(|_| Problem::route_not_found())?;
    let well_formed = token.len() == 32 && token.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let found = if well_formed { app.store().local_pull_at(&token).await? } else { None };
    let pull = found.ok_or_else(Problem::route_not_found)?;
    let diff = app.store().published_diff(&pull.job_id).await?.unwrap_or_default();
    let body = body(&pull, &String::from_utf8_lossy(&diff));
    Ok(page(&format!("{} · pull request #{}", pull.title, pull.number), &body))
}

fn body(pull: &LocalPull, diff: &str) -> String {
    let (head, base) = (escape(&pull.head), escape(&pull.base));
    let state = if pull.draft { "draft" } else { "open" };
    let mut out = format!(
        "<h1>{} <span class=\"meta\">#{}</span></h1>\n<p class=\"meta\"><span class=\"state\">{state}</span> \
         <code>{head}</code> into <code>{base}</code> · project {} · opened {}</p>\n",
        escape(&pull.title),
        pull.number,
        escape(&pull.project_id),
        escape(&pull.created_at.to_string()),
    );
    let _ = writeln!(out, "<div class=\"text\">{}</div>", markdown(&pull.body));
    let _ = writeln!(
        out,
        "<h2>Merge</h2>\n<p>In the repository:</p>\n<pre>git checkout {base}\ngit merge --no-ff {head}</pre>"
    );
    let _ = write!(out, "<h2>Changes</h2>\n<pre class=\"diff\">");
    for line in diff.lines() {
        let _ = match class(line) {
            "" => write!(out, "<span>{}</span>", escape(line)),
            class => write!(out, "<span class=\"{class}\">{}</span>", escape(line)),
        };
    }
    out.push_str("</pre>\n");
    out
}

/// Markdown as HTML, of which nothing but text, code, lists and links to web pages is left.
fn markdown(text: &str) -> String {
    let (mut link, text) = (false, visible(text));
    let events =
        Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).map(|event| match event {
            Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
            Event::Start(Tag::Link { dest_url, link_type, title, id }) => {
                link = ["https://", "http://"].iter().any(|scheme| dest_url.starts_with(scheme));
                if link { Event::Start(Tag::Link { dest_url, link_type, title, id }) } else { Event::Text("".into()) }
            }
            Event::End(TagEnd::Link) if !link => Event::Text("".into()),
            Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => Event::Text("".into()),
            Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => Event::Text("".into()),
            event => event,
        });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    html
}

fn class(line: &str) -> &'static str {
    match line.as_bytes() {
        [b'd', b'i', b'f', b'f', b' ', ..] | [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => "f",
        [b'@', b'@', ..] => "h",
        [b'+', ..] => "a",
        [b'-', ..] => "d",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_cannot_do_anything() {
        let html = markdown(
            "<script>x</script>\n\na <img src=x onerror=y> ![i](http://x/i.png) [j](javascript:x) [d](data:x) <b>c</b>\n",
        );
        for bad in ["<script", "<img", "javascript:", "data:x", "<b>", "<a"] {
            assert!(!html.contains(bad), "{html}");
        }
        let good = markdown("[a](https://example.com/?a=\"b) and `c`");
        assert!(good.contains("<a href=\"https://example.com/?a=%22b\">a</a>"), "{good}");
        assert!(good.contains("<code>c</code>"), "{good}");
    }
}
