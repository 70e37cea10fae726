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
    /// The method, where it is known.
    pub method: Option<Cow<'a, str>>,
    /// The path and the query as they were asked for, where they are known.
    pub target: Option<Cow<'a, str>>,
}

impl<'a> BotSignature<'a> {
    /// What somebody tells of a request: a signature only with what it was made over, and the host that was asked.
    pub fn told(
        signature: Option<Cow<'a, str>>,
        input: Option<Cow<'a, str>>,
        agent: Option<Cow<'a, str>>,
        authority: Option<Cow<'a, str>>,
    ) -> Option<Self> {
        // Who has no way to leave a field out sends it empty.
        let some = |text: &Cow<'_, str>| !text.is_empty();
        Some(Self {
            signature: signature.filter(some)?,
            input: input.filter(some)?,
            agent: agent.filter(some),
            // Signers leave out the port that everybody means.
            authority: authority.map(without_usual_port)?,
            method: None,
            target: None,
        })
    }

    /// The host that was asked, as projects name their domains.
    pub fn host(&self) -> String {
        crate::page::plain_host(&self.authority)
    }

    /// The same, of a request with this method (none is GET) for this path or address.
    pub fn asked(self, method: Option<&str>, target: &str) -> Self {
        // What is behind a path or a query is not the scheme of an address.
        let address = target.split_once("://").filter(|(scheme, _)| !scheme.contains(['/', '?']));
        let path = match address {
            Some((_, rest)) => rest.find(['/', '?']).map_or("/", |at| &rest[at..]),
            None => target,
        };
        let path = if path.starts_with('?') { format!("/{path}") } else { path.to_owned() };
        let method = method.unwrap_or("GET").to_owned();
        Self { method: Some(method.into()), target: Some(path.into()), ..self }
    }
}

impl BotSignature<'_> {
    fn into_owned<'b>(self) -> BotSignature<'b> {
        BotSignature {
            signature: owned(self.signature),
            input: owned(self.input),
            agent: self.agent.map(owned),
            authority: owned(self.authority),
            method: self.method.map(owned),
            target: self.target.map(owned),
        }
    }
}

fn without_usual_port(authority: Cow<'_, str>) -> Cow<'_, str> {
    match authority.strip_suffix(":443").or_else(|| authority.strip_suffix(":80")) {
        Some(host) => Cow::Owned(host.to_owned()),
        None => authority,
    }
}

fn owned<'b>(text: Cow<'_, str>) -> Cow<'b, str> {
    Cow::Owned(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_that_was_asked_for_is_found_in_an_address_and_left_as_it_is_elsewhere() {
        for (target, path) in [
            ("/guide", "/guide"),
            ("https://docs.example.com", "/"),
            ("https://docs.example.com?q=1", "/?q=1"),
            ("https://docs.example.com/a?from=https://example.com/b", "/a?from=https://example.com/b"),
            ("/login?next=https://docs.example.com/guide", "/login?next=https://docs.example.com/guide"),
            ("?next=https://docs.example.com/guide", "/?next=https://docs.example.com/guide"),
        ] {
            let told = BotSignature::told(Some("s".into()), Some("i".into()), None, Some("docs.example.com".into()));
            assert_eq!(told.unwrap().asked(None, target).target.as_deref(), Some(path), "{target}");
        }
    }
}
