//! Others who vouch for people: a provider of sign-ins, and a proxy in front.

use copydesk_boxed::boxed;
use copydesk_domain::User;
use copydesk_store::{Entrance, Guest, Introduction, NewUser, Recognised, StoreError, Visit};

use super::attempts::Origin;
use super::oidc::{Failed, Introduced, Leaving, Oidc, Returning, Wish};
use super::proxy::TrustedProxy;
use super::{Arrived, NotIn, People, Visitor, digest};

/// By whom people are let in beside by their passwords.
#[derive(Default)]
pub struct SignIn {
    pub proxy: Option<TrustedProxy>,
    pub oidc: Option<Oidc>,
    /// Whether the provider is the only one, and passwords are not taken.
    pub oidc_only: bool,
    pub new_users: NewUsers,
}

/// What becomes of somebody for whom others vouch and who is no user yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NewUsers {
    /// Nobody without an invitation.
    #[default]
    Refused,
    /// They become a user who sees no project until somebody gives them a place.
    WithoutProjects,
}

/// How somebody can show again that it is they.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    Password,
    /// Through the provider of that name.
    Provider(String),
    /// There is nothing that they could show.
    Nothing,
}

/// What came of it when somebody came back from the provider.
#[derive(Debug)]
pub enum Returned {
    /// They are in; where to go now is in the wish.
    In(Arrived, Wish),
    /// They took the invitation to this.
    Joined(Arrived, Entrance),
    /// They have shown again that it is they.
    Confirmed(Wish),
}

const NOBODY: &str = "You are signed in there, but nobody has invited you here yet. Ask an owner of a project or an \
    administrator for a link, and open it.";
const NO_ADDRESS: &str = "The provider did not tell your e-mail address, without which you cannot become a user here. \
    Ask an administrator to let it pass on the address (scope email).";
const ADDRESS_TAKEN: &str = "Your address belongs to a user here, but the provider does not say that it has checked the \
    address, or knew that user by another account. Ask an administrator for a link made with `copydesk user link`, and sign \
    in from there.";
const SOMEBODY_ELSE: &str = "You signed in there as a different user. Nothing was changed.";
const NOT_AGAIN: &str = "The provider did not ask you who you are again, so it is not clear that it was you. Nothing was \
    changed. Sign out there and here, sign in again, and then repeat what you were about to do.";
const NOT_TOLD: &str = "The provider does not say when you signed in there, so it is not clear that it was you just now. \
    Nothing was changed. Sign out here, sign in again, and repeat what you were about to do within 15 minutes.";

#[boxed]
impl People {
    /// Refuses what needs a password where none are taken.
    pub(super) fn with_passwords(&self) -> Result<(), NotIn> {
        match &self.ways.oidc {
            Some(oidc) if self.ways.oidc_only => Err(NotIn::NoPasswords(oidc.name())),
            _ => Ok(()),
        }
    }

    /// Whether somebody who knows a password gets in.
    pub fn takes_passwords(&self) -> bool {
        self.with_passwords().is_ok()
    }

    /// The name of the provider if there is one.
    pub fn provider(&self) -> Option<String> {
        self.ways.oidc.as_ref().map(Oidc::name)
    }

    /// How somebody can show again that it is they.
    pub async fn proof_of(&self, user: &User) -> Result<Proof, StoreError> {
        if self.takes_passwords() && self.has_password(user).await? {
            return Ok(Proof::Password);
        }
        Ok(self.provider().map_or(Proof::Nothing, Proof::Provider))
    }

    pub async fn has_password(&self, user: &User) -> Result<bool, StoreError> {
        Ok(self.store.user_at(&user.email).await?.is_some_and(|(_, hash)| hash.is_some()))
    }

    /// Sends somebody to the provider.
    pub async fn leave(&self, wish: Wish) -> Result<Leaving, NotIn> {
        let oidc = self.ways.oidc.as_ref().ok_or(NotIn::Unknown("No provider of sign-ins is set up here."))?;
        Ok(oidc.begin(wish, self.store.now()).await?)
    }

    /// Takes in somebody who comes back from the provider. `visit` is who they are here already.
    pub async fn returned(
        &self,
        returning: &Returning,
        note: Option<&str>,
        visit: Option<&Visit>,
        visitor: &Visitor,
    ) -> Result<Returned, NotIn> {
        let oidc = self.ways.oidc.as_ref().ok_or(NotIn::Unknown("No provider of sign-ins is set up here."))?;
        let now = self.store.now();
        oidc.expects(returning, note, now)?;
        // Codes that somebody makes up cost the provider something.
        let attempt = self.attempts.begin("oidc", Origin::Network(visitor.address), now).map_err(NotIn::TooMany)?;
        let finished = oidc.finish(returning, note, now).await;
        if !matches!(finished, Err(Failed::Stale)) {
            attempt.was_right();
        }
        let introduced = finished?;
        match &introduced.wish.confirms {
            Some(session_id) => {
                let visit = visit.filter(|visit| visit.session.id == *session_id).ok_or(Failed::Stale)?;
                self.confirmed_by(&introduced, visit).await?;
                Ok(Returned::Confirmed(introduced.wish))
            }
            None => self.welcome(introduced, visitor).await,
        }
    }

    async fn confirmed_by(&self, introduced: &Introduced, visit: &Visit) -> Result<(), NotIn> {
        let known = self.store.user_known_as(&introduced.identity).await?;
        if known.is_none_or(|user| user.id != visit.user.id) {
            return Err(NotIn::Unknown(SOMEBODY_ELSE));
        }
        match introduced.is_fresh() {
            Some(true) => Ok(self.store.confirm_session(&visit.session.id).await?),
            Some(false) => Err(NotIn::Unknown(NOT_AGAIN)),
            None => Err(NotIn::Unknown(NOT_TOLD)),
        }
    }

    async fn welcome(&self, introduced: Introduced, visitor: &Visitor) -> Result<Returned, NotIn> {
        let Introduced { wish, identity, newcomer, is_verified, signed_in_at, .. } = introduced;
        let link = wish.link.as_deref().unwrap_or_default();
        let invitation = self.look_at(link).await?.map(|(invitation, _)| invitation);
        let introduction = Introduction {
            identity: identity.clone(),
            newcomer: newcomer.clone(),
            is_verified,
            // With an invitation they are made when they take it.
            may_be_made: self.ways.new_users == NewUsers::WithoutProjects && invitation.is_none(),
        };
        let recognised = self.store.recognise(introduction).await?;
        if let Recognised::User(user) = recognised {
            let arrived = self.admit_since(user, "oidc", signed_in_at, visitor).await?;
            return Ok(Returned::In(arrived, wish));
        }
        let joins = |entrance: &Entrance| matches!(entrance, Entrance::Again(_)) || recognised == Recognised::Nobody;
        match (invitation.filter(|invitation| joins(&invitation.entrance)), newcomer, digest(link)) {
            (Some(invitation), Some(new), Some(digest)) => {
                let guest = Guest::Introduced(new, identity);
                let arrived = self.take(&digest, guest, "oidc", signed_in_at, visitor).await?;
                Ok(Returned::Joined(arrived, invitation.entrance))
            }
            (_, None, _) => Err(NotIn::Unknown(NO_ADDRESS)),
            _ if recognised == Recognised::AddressTaken => Err(NotIn::Unknown(ADDRESS_TAKEN)),
            _ => Err(NotIn::Unknown(NOBODY)),
        }
    }

    /// Somebody whose address the proxy vouches for takes an invitation.
    pub async fn join_by_proxy(&self, token: &str, address: &str, visitor: &Visitor) -> Result<Arrived, NotIn> {
        let digest = digest(token).ok_or(NotIn::Gone)?;
        self.take(&digest, Guest::New(vouched_for(address)), "proxy", None, visitor).await
    }

    /// The user of an address that the proxy vouches for, made if that may be.
    pub(super) async fn at_address(&self, address: &str) -> Result<Option<User>, StoreError> {
        if let Some((user, _)) = self.store.user_at(address).await? {
            return Ok(Some(user));
        }
        if self.ways.new_users == NewUsers::Refused {
            return Ok(None);
        }
        // Made by another request at the same time: then it is that one.
        match self.store.create_user(vouched_for(address)).await? {
            Some(user) => Ok(Some(user)),
            None => Ok(self.store.user_at(address).await?.map(|(user, _)| user)),
        }
    }
}

/// Somebody as a proxy knows them.
fn vouched_for(address: &str) -> NewUser {
    let name = super::oidc::name(None, address);
    NewUser { email: address.to_owned(), name, password: None, is_admin: false }
}
