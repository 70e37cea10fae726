use std::borrow::Cow;
use std::net::IpAddr;

use crate::{Channel, Hit};

/// A request as a log, a drain or a server tells of it. Borrowed from the text where nothing had to be decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request<'a> {
    /// What was asked for; empty if the request was none.
    pub target: Cow<'a, str>,
    /// The host that was asked, where the sender says so.
    pub host: Option<Cow<'a, str>>,
    /// When, in seconds since 1970.
    pub at: i64,
    /// The user agent, empty if there was none.
    pub user_agent: Cow<'a, str>,
    /// The method.
    pub method: Option<Cow<'a, str>>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// The `Accept` header.
    pub accept: Option<Cow<'a, str>>,
    /// The reader's address.
    pub ip: Option<IpAddr>,
    /// Whether the browser said that it only fetches ahead.
    pub prefetch: bool,
    /// The sender's id of this request.
    pub id: Option<Cow<'a, str>>,
}

impl Request<'_> {
    /// As a hit from the server side.
    pub fn hit(&self) -> Hit<'_> {
        Hit {
            target: &self.target,
            at: self.at,
            user_agent: &self.user_agent,
            channel: Channel::Server,
            method: self.method.as_deref(),
            status: self.status,
            accept: self.accept.as_deref(),
            ip: self.ip,
            prefetch: self.prefetch || is_app_data(&self.target),
            id: self.id.as_deref(),
            signature: None,
        }
    }

    /// The same, borrowed from nothing.
    pub fn into_owned<'b>(self) -> Request<'b> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Request {
            target: owned(self.target),
            host: self.host.map(owned),
            at: self.at,
            user_agent: owned(self.user_agent),
            method: self.method.map(owned),
            status: self.status,
            accept: self.accept.map(owned),
            ip: self.ip,
            prefetch: self.prefetch,
            id: self.id.map(owned),
        }
    }
}

/// Whether it is the data with which a Next.js application shows a page, and not the page: mostly it is fetched ahead, for
/// every link in sight, and what it was fetched for cannot be told from the address.
fn is_app_data(target: &str) -> bool {
    let query = memchr::memchr(b'?', target.as_bytes()).map_or("", |at| &target[at + 1..]);
    query.split('&').any(|pair| pair.starts_with("_rsc="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_an_application_is_no_page() {
        assert!(is_app_data("/x?_rsc=1"));
        assert!(is_app_data("/x?a=1&_rsc=abc"));
        assert!(!is_app_data("/x?a_rsc=1"));
        assert!(!is_app_data("/_rsc="));
        assert!(!is_app_data("/x?"));
    }
}
