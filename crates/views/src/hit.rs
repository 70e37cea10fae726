use std::borrow::Cow;
use std::net::IpAddr;

use crate::Channel;

/// A request for something on the documentation site, as a browser, a server, a drain or a log tells of it. Borrowed
/// from the text where nothing had to be decoded: a log has millions of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hit<'a> {
    /// What was asked for: a path with or without query, or a whole address; empty if the request was none.
    pub target: Cow<'a, str>,
    /// The host that was asked, where the sender says so.
    pub host: Option<Cow<'a, str>>,
    /// When, in seconds since 1970.
    pub at: i64,
    /// The user agent, empty if there was none.
    pub user_agent: Cow<'a, str>,
    /// Where it was seen.
    pub channel: Channel,
    /// The method; none is GET.
    pub method: Option<Cow<'a, str>>,
    /// The status of the answer; none is 200.
    pub status: Option<u16>,
    pub accept: Option<Cow<'a, str>>,
    /// The reader's address. Never kept.
    pub ip: Option<IpAddr>,
    /// Whether the browser only fetched ahead (`Sec-Purpose` and the like).
    pub prefetch: bool,
    /// The sender's id of this event, by which a second delivery is known.
    pub id: Option<Cow<'a, str>>,
    /// The headers of a Web Bot Auth signature; in a box, because hardly any request has one.
    pub signature: Option<Box<BotSignature<'a>>>,
}

impl<'a> Hit<'a> {
    /// A plain GET answered with 200.
    pub fn new(channel: Channel, target: &'a str, user_agent: &'a str, at: i64) -> Self {
        Self { target: target.into(), at, user_agent: user_agent.into(), channel, ..Self::default() }
    }

    /// The same, borrowed from nothing.
    pub fn into_owned<'b>(self) -> Hit<'b> {
        Hit {
            target: owned(self.target),
            host: self.host.map(owned),
            at: self.at,
            user_agent: owned(self.user_agent),
            channel: self.channel,
            method: self.method.map(owned),
            status: self.status,
            accept: self.accept.map(owned),
            ip: self.ip,
            prefetch: self.prefetch,
            id: self.id.map(owned),
            signature: self.signature.map(|signature| Box::new(signature.into_owned())),
        }
    }
}

/// What Web Bot Auth (RFC 9421 with `tag="web-bot-auth"`) puts on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotSignature<'a> {
    /// `Signature`
    pub signature: Cow<'a, str>,
    /// `Signature-Input`
    pub input: Cow<'a, str>,
    /// `Signature-Agent`
    pub agent: Option<Cow<'a, str>>,
    /// The authority that was asked: `docs.example.com`.
    pub authority: Cow<'a, str>,
}

impl BotSignature<'_> {
    fn into_owned<'b>(self) -> BotSignature<'b> {
        BotSignature {
            signature: owned(self.signature),
            input: owned(self.input),
            agent: self.agent.map(owned),
            authority: owned(self.authority),
        }
    }
}

fn owned<'b>(text: Cow<'_, str>) -> Cow<'b, str> {
    Cow::Owned(text.into_owned())
}
