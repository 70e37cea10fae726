use std::net::IpAddr;

use crate::Channel;

/// A request for something on the documentation site, as a collector or a log line tells of it. Borrowed: a log has
/// millions of them.
#[derive(Debug, Clone)]
pub struct Hit<'a> {
    /// What was asked for: a path with or without query, or a whole address.
    pub target: &'a str,
    /// When, in seconds since 1970.
    pub at: i64,
    /// The user agent, empty if there was none.
    pub user_agent: &'a str,
    /// Where it was seen.
    pub channel: Channel,
    /// The method; none is GET.
    pub method: Option<&'a str>,
    /// The status of the answer; none is 200.
    pub status: Option<u16>,
    /// The `Accept` header.
    pub accept: Option<&'a str>,
    /// The reader's address. Never kept.
    pub ip: Option<IpAddr>,
    /// Whether the browser only fetched ahead (`Sec-Purpose` and the like).
    pub prefetch: bool,
    /// The sender's id of this event, by which a second delivery is known.
    pub id: Option<&'a str>,
    /// The headers of a Web Bot Auth signature.
    pub signature: Option<BotSignature<'a>>,
}

impl<'a> Hit<'a> {
    /// A plain GET answered with 200.
    pub fn new(channel: Channel, target: &'a str, user_agent: &'a str, at: i64) -> Self {
        Self {
            target,
            at,
            user_agent,
            channel,
            method: None,
            status: None,
            accept: None,
            ip: None,
            prefetch: false,
            id: None,
            signature: None,
        }
    }
}

/// What Web Bot Auth (RFC 9421 with `tag="web-bot-auth"`) puts on a request.
#[derive(Debug, Clone, Copy)]
pub struct BotSignature<'a> {
    /// `Signature`
    pub signature: &'a str,
    /// `Signature-Input`
    pub input: &'a str,
    /// `Signature-Agent`
    pub agent: Option<&'a str>,
    /// The authority that was asked: `docs.example.com`.
    pub authority: &'a str,
}
