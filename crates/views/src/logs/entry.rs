use std::borrow::Cow;
use std::net::IpAddr;

use crate::{Channel, Hit};

/// What a line of a log is.
#[derive(Debug, Clone, PartialEq)]
pub enum Line<'a> {
    /// A request.
    Request(Entry<'a>),
    /// Nothing, or a remark of whoever wrote the log.
    Aside,
    /// Not of the log's format.
    Unparsable,
}

/// What a line tells of a request. Borrowed from the line where nothing had to be decoded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry<'a> {
    /// What was asked for; empty if the request was none.
    pub target: Cow<'a, str>,
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
    /// Whether the browser only fetched ahead.
    pub prefetch: bool,
    /// The sender's id of this request.
    pub id: Option<Cow<'a, str>>,
    /// The host that was asked.
    pub host: Option<Cow<'a, str>>,
}

impl Entry<'_> {
    /// As the judge takes it.
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
            prefetch: self.prefetch,
            id: self.id.as_deref(),
            signature: None,
        }
    }
}
