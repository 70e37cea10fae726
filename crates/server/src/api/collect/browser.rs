//! What a browser's request says about its reader, and keeping a view that it tells of.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::header::{HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use copydesk_desk::views::Site;
use copydesk_views::intake::Refusal;
use copydesk_views::page;
use copydesk_views::{BotSignature, Channel, Hit};

use crate::api::parts::views;
use crate::app::App;
use crate::beside::address;
use crate::edge::TimeLimit;
use crate::problem::Problem;

/// The reader at the other end. Nothing of it is kept but what the verdict needs; see the page about privacy.
pub(super) struct Browser {
    ip: Option<IpAddr>,
    user_agent: String,
    prefetch: bool,
    signature: Option<Box<BotSignature<'static>>>,
    limit: TimeLimit,
}

/// What became of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It is counted and on disk, or it is none.
    Taken,
    /// It cannot be right.
    Refused(Refusal),
}

impl FromRequestParts<App> for Browser {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let ip = address(app, parts);
        let text =
            |name: &str| parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let user_agent = text(USER_AGENT.as_str()).unwrap_or_default();
        let (prefetch, signature) = (is_prefetch(&parts.headers), signature(parts));
        let limit = TimeLimit::from_request_parts(parts, app).await?;
        Ok(Self { ip, user_agent, prefetch, signature, limit })
    }
}

/// Whether the browser only fetches ahead: the standard's header and those that came before it.
fn is_prefetch(headers: &HeaderMap) -> bool {
    ["sec-purpose", "purpose", "x-purpose", "x-moz"].iter().any(|name| {
        let value = headers.get(*name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        ["prefetch", "prerender", "preview"].iter().any(|word| value.to_ascii_lowercase().contains(word))
    })
}

/// A Web Bot Auth signature, if the request carries one.
fn signature(parts: &Parts) -> Option<Box<BotSignature<'static>>> {
    let text =
        |name: &str| parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned().into());
    let host = text(HOST.as_str());
    let signature = BotSignature::told(text("signature"), text("signature-input"), text("signature-agent"), host)?;
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    Some(Box::new(signature.asked(Some(parts.method.as_str()), target)))
}

impl Browser {
    /// Whether it only fetches ahead.
    pub(super) fn is_prefetch(&self) -> bool {
        self.prefetch
    }

    /// Lets it tell of a view, unless its network has told of too many.
    pub(super) fn admitted(&self, app: &App) -> Result<(), Problem> {
        views(app)?.admit(self.ip).map_err(|seconds| {
            let error = format!("Too many page views come from this network; try again in {seconds} seconds.");
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", error)
                .with_header(RETRY_AFTER, HeaderValue::from(seconds))
        })
    }

    /// Keeps a view of `target` for a site, unless it is none or the browser has told of it a moment ago.
    pub(super) async fn tell(&self, app: &App, site: &Site, target: &str) -> Result<Told, Problem> {
        let page = match page::shown(target) {
            Ok((path, _)) if !self.prefetch => path,
            Ok(_) => return Ok(Told::Taken),
            Err(error) => return Ok(Told::Refused(Refusal::Path(error))),
        };
        let (views, now) = (views(app)?, app.store().now());
        let place = format!("{} {page}", site.project);
        if views.doubles.seen(self.ip, &self.user_agent, &place, now) {
            return Ok(Told::Taken);
        }
        let mut hit = Hit::new(Channel::Script, target, &self.user_agent, now.as_millis().div_euclid(1000));
        hit.ip = self.ip;
        // The browser signed what it sent to us: to our own name, or to one of the site's that leads here.
        let own = &views.settings().host;
        let is_ours = |host: String| site.is_asked_at(&host) || own.as_ref() == Some(&host);
        hit.signature = self.signature.clone().filter(|signature| is_ours(signature.host()));
        self.limit.lift();
        let taken = views.take(&site.project, &[hit]).await;
        let taken = taken.inspect_err(|_| views.doubles.forget(self.ip, &self.user_agent))?;
        Ok(match taken.refused.first() {
            Some((_, refusal)) => Told::Refused(*refusal),
            None => Told::Taken,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetching_ahead_is_told_by_many_headers() {
        let given = |name: &'static str, value: &'static str| {
            is_prefetch(&HeaderMap::from_iter([(axum::http::HeaderName::from_static(name), value.parse().unwrap())]))
        };
        assert!(given("sec-purpose", "prefetch") && given("sec-purpose", "prefetch;prerender"));
        assert!(given("purpose", "prefetch") && given("x-moz", "Prefetch") && given("x-purpose", "preview"));
        assert!(!given("sec-purpose", "") && !given("accept", "prefetch"));
    }
}
