//! Sign-in by a proxy in front, which says in a header who somebody is.

use std::net::IpAddr;

use copydesk_boxed::boxed;
use copydesk_domain::{ProjectId, SecretText, email};
use copydesk_store::Visit;
use ipnet::IpNet;

use super::{NotIn, People, Visitor};

/// The other end of the connection that a request came on, whoever it was forwarded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// A proxy that knows who somebody is.
#[derive(Debug, Clone)]
pub struct TrustedProxy {
    /// The header in which it names their e-mail address.
    pub header: String,
    /// Where it may be. Nobody else's word is taken: anybody can write a header.
    pub networks: Vec<IpNet>,
}

impl TrustedProxy {
    fn trusts(&self, peer: Option<Peer>) -> bool {
        let Some(Peer(address)) = peer else { return false };
        self.networks.iter().any(|network| network.contains(&address.to_canonical()))
    }
}

/// Who somebody is, after the proxy was asked.
#[derive(Debug, Default)]
pub struct Through {
    pub visit: Option<Visit>,
    /// What their browser shows from now on, if it is something new.
    pub token: Option<SecretText>,
    /// Whether what their browser shows is nothing any more.
    pub is_over: bool,
    /// The address that the proxy vouches for.
    pub vouched: Option<String>,
    /// What it said that is no address.
    pub unclear: bool,
}

#[boxed]
impl People {
    /// What the proxy's header makes of a visit: `values` are those of the header. `begins` says whether a session may begin
    /// with this request.
    pub async fn through_proxy(
        &self,
        visit: Option<Visit>,
        peer: Option<Peer>,
        values: &[&str],
        project_id: Option<&ProjectId>,
        begins: bool,
        visitor: &Visitor,
    ) -> Result<Through, NotIn> {
        let said: &[&str] = match &self.ways.proxy {
            Some(proxy) if proxy.trusts(peer) => values,
            _ => &[],
        };
        // Of two values nobody can tell which one the proxy wrote.
        let vouched = match said {
            [one] => email(one).ok(),
            _ => None,
        };
        let unclear = vouched.is_none() && said.iter().any(|value| !value.trim().is_empty());
        let Some(address) = vouched else {
            return match visit {
                Some(visit) if visit.session.way == "proxy" || unclear => {
                    self.store.end_session(&visit.user.id, &visit.session.id).await?;
                    Ok(Through { is_over: true, unclear, ..Through::default() })
                }
                visit => Ok(Through { visit, unclear, ..Through::default() }),
            };
        };
        let vouched = Some(address.clone());
        let is_over = match visit {
            Some(visit) if visit.user.email == address => {
                return Ok(Through { visit: Some(visit), vouched, ..Through::default() });
            }
            Some(other) => {
                self.store.end_session(&other.user.id, &other.session.id).await?;
                true
            }
            None => false,
        };
        let user = if begins { self.at_address(&address).await? } else { None };
        let Some(user) = user else { return Ok(Through { is_over, vouched, ..Through::default() }) };
        let arrived = self.admit(user, "proxy", visitor).await?;
        let visit = self.visit(arrived.token.expose(), project_id).await?;
        Ok(Through { visit, token: Some(arrived.token), is_over: false, vouched, unclear: false })
    }
}
