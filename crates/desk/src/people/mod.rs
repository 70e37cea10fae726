//! People: getting in, staying in, and what they may do. Who somebody is to the machine, the caller knows.

mod attempts;
mod browser;
pub mod oidc;
mod password;
mod proxy;
mod ways;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Actor, Invalid, ProjectId, SecretText, Timestamp, User, email, hex, person_name, random_secret};
use copydesk_store::{
    Entrance, Guest, Invitation, NewInvitation, NewSession, NewUser, Session, Store, StoreError, Taken, Visit,
};

pub use proxy::{Peer, Through, TrustedProxy};
pub use ways::{NewUsers, Proof, Returned, SignIn};

use attempts::{Attempts, Origin};
use password::{Hasher, Whose};

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

/// How long a session goes on without being used.
const IDLE: Duration = Duration::from_secs(30 * DAY);
/// How long it goes on at the most.
const LONGEST: Duration = Duration::from_secs(90 * DAY);
/// How often it is written down that a session is in use.
const SEEN: Duration = Duration::from_secs(10 * MINUTE);
/// How long a link lets somebody in.
pub const INVITED: Duration = Duration::from_secs(7 * DAY);
/// How long after they last showed that it is they somebody may do what hurts.
const SURE: Duration = Duration::from_secs(15 * MINUTE);

/// Lets people in. Cheap to clone.
#[derive(Clone)]
pub struct People {
    store: Store,
    hasher: Hasher,
    attempts: Attempts,
    ways: Arc<SignIn>,
}

/// Where a request comes from.
#[derive(Debug, Clone, Default)]
pub struct Visitor {
    pub address: Option<IpAddr>,
    /// What the browser calls itself.
    pub user_agent: String,
    /// What it was given when somebody signed in in it before.
    pub browser: Option<String>,
}

/// Somebody who has just come in, and what their browser shows from now on.
#[derive(Debug)]
pub struct Arrived {
    pub user: User,
    pub token: SecretText,
    /// What the browser is known by from now on, whoever is signed in; none if it is known already, or was not asked for a
    /// password.
    pub browser: Option<SecretText>,
}

/// A link that lets somebody in, and what is known of it.
#[derive(Debug)]
pub struct Link {
    pub token: SecretText,
    pub invitation: Invitation,
}

/// Who somebody new is, as they say.
#[derive(Debug, Clone)]
pub struct Newcomer {
    pub email: String,
    pub name: String,
    pub password: SecretText,
}

/// Why somebody is not in.
#[derive(Debug, thiserror::Error)]
pub enum NotIn {
    /// The same words for every reason, so that nothing is learned by trying.
    #[error("The address or the password is wrong.")]
    Wrong,
    #[error("There were too many wrong tries from where you are. Try again in {0} seconds.")]
    TooMany(u64),
    #[error("Too many people sign in at the moment. Try again in a few seconds.")]
    Busy,
    #[error("This link was used, was withdrawn or has expired. Ask for a new one.")]
    Gone,
    #[error("{} things are wrong", .0.len())]
    Invalid(Vec<Invalid>),
    #[error("Passwords are not accepted here. Sign in through {0}.")]
    NoPasswords(String),
    #[error(transparent)]
    Provider(#[from] oidc::Failed),
    /// Whom the provider named is nobody here.
    #[error("{0}")]
    Unknown(&'static str),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Invalid> for NotIn {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(vec![invalid])
    }
}

#[boxed]
impl People {
    pub fn new(store: Store) -> Self {
        Self { store, hasher: Hasher::new(), attempts: Attempts::default(), ways: Arc::default() }
    }

    /// Also lets in those for whom others vouch.
    pub fn letting_in(mut self, ways: SignIn) -> Self {
        self.ways = Arc::new(ways);
        self
    }

    /// By whom people are let in beside by their passwords.
    pub fn ways(&self) -> &SignIn {
        &self.ways
    }

    /// A link for the first administrator, if nobody can sign in yet.
    pub async fn first_link(&self) -> Result<Option<Link>, StoreError> {
        if self.store.has_users().await? {
            return Ok(None);
        }
        self.link(&self.store, Entrance::Administrator, "the first administrator", INVITED).await
    }

    /// A link that lets somebody in once. None if there is no such project or user.
    pub async fn link(
        &self,
        by: &Store,
        entrance: Entrance,
        note: &str,
        lasts: Duration,
    ) -> Result<Option<Link>, StoreError> {
        let (token, digest) = fresh_token();
        let new = NewInvitation { digest, entrance, note: note.to_owned(), expires_at: by.now().plus(lasts) };
        Ok(by.invite(new).await?.map(|invitation| Link { token, invitation }))
    }

    /// What a link leads to, and whom it is for if it names somebody.
    pub async fn look_at(&self, token: &str) -> Result<Option<(Invitation, Option<User>)>, StoreError> {
        let Some(digest) = digest(token) else { return Ok(None) };
        let Some(invitation) = self.store.invitation(&digest).await? else { return Ok(None) };
        let user = match &invitation.entrance {
            Entrance::Again(user_id) => self.store.user(user_id).await?,
            _ => None,
        };
        Ok(Some((invitation, user)))
    }

    /// Somebody new takes an invitation.
    pub async fn join(&self, token: &str, newcomer: Newcomer, visitor: &Visitor) -> Result<Arrived, NotIn> {
        self.with_passwords()?;
        let digest = digest(token).ok_or(NotIn::Gone)?;
        let new = self.checked(newcomer).await?;
        self.take(&digest, Guest::New(new), "link", None, visitor).await
    }

    /// Somebody who is signed in takes an invitation.
    pub async fn join_as(&self, token: &str, visit: &Visit, visitor: &Visitor) -> Result<Arrived, NotIn> {
        let digest = digest(token).ok_or(NotIn::Gone)?;
        // Whoever has a link has not shown by it that they are the one who signed in.
        let (way, confirmed_at) = (way_of(&visit.session), Some(visit.session.confirmed_at));
        self.take(&digest, Guest::Known(visit.user.id.clone()), way, confirmed_at, visitor).await
    }

    /// Whom a link names comes in again, with another password unless that is empty.
    pub async fn come_back(&self, token: &str, new_password: &SecretText, visitor: &Visitor) -> Result<Arrived, NotIn> {
        let found = self.look_at(token).await?;
        let (Some((_, Some(user))), Some(digest)) = (found, digest(token)) else { return Err(NotIn::Gone) };
        let hash = match new_password.expose() {
            "" => None,
            text => {
                self.with_passwords()?;
                copydesk_domain::password(text, &user.email)?;
                Some(self.hasher.hash(new_password, Whose::Stranger).await.ok_or(NotIn::Busy)?)
            }
        };
        self.take(&digest, Guest::Named(hash), "link", None, visitor).await
    }

    async fn take(
        &self,
        link: &str,
        guest: Guest,
        way: &'static str,
        confirmed_at: Option<Timestamp>,
        visitor: &Visitor,
    ) -> Result<Arrived, NotIn> {
        let (token, session) = self.new_session(String::new(), way, confirmed_at, visitor);
        match self.store.take_invitation(link, guest, session).await? {
            Taken::In(user, _) => Ok(Arrived { user: *user, token, browser: None }),
            Taken::Gone => Err(NotIn::Gone),
            Taken::EmailTaken => {
                let message = "belongs to somebody who is here already; sign in first, then open the link again";
                Err(Invalid::new("email", message).into())
            }
        }
    }

    /// Makes a user without an invitation. None if there is one with that address.
    pub async fn add(&self, by: &Store, newcomer: Newcomer, is_admin: bool) -> Result<Option<User>, NotIn> {
        let new = NewUser { is_admin, ..self.checked(newcomer).await? };
        Ok(by.create_user(new).await?)
    }

    /// Everything that is wrong with what somebody says of themselves, at once.
    async fn checked(&self, newcomer: Newcomer) -> Result<NewUser, NotIn> {
        let (address, name) = (email(&newcomer.email), person_name(&newcomer.name));
        let shown = address.as_deref().unwrap_or_default();
        let good = copydesk_domain::password(newcomer.password.expose(), shown);
        match (address, name, good) {
            (Ok(email), Ok(name), Ok(())) => {
                let password = Some(self.hasher.hash(&newcomer.password, Whose::Stranger).await.ok_or(NotIn::Busy)?);
                Ok(NewUser { email, name, password, is_admin: false })
            }
            (address, name, good) => {
                Err(NotIn::Invalid([address.err(), name.err(), good.err()].into_iter().flatten().collect()))
            }
        }
    }

    /// Lets somebody in who knows an address and its password. Wrong tries cost time, but lock nobody out: who comes from
    /// another network is not asked to wait for them.
    pub async fn sign_in(&self, address: &str, password: &SecretText, visitor: &Visitor) -> Result<Arrived, NotIn> {
        self.with_passwords()?;
        let address = email(address).unwrap_or_default();
        let browser = visitor.browser.as_deref().and_then(digest);
        let known = match browser {
            Some(digest) if self.store.knows_browser(&address, &digest).await? => Some(digest),
            _ => None,
        };
        // Others may guess from the same network, which is nothing to a browser that is known; it has tries of its own.
        let (tried, from) = match &known {
            Some(digest) => (format!("browser {digest}"), Origin::Own),
            None => (address.clone(), Origin::Network(visitor.address)),
        };
        let whose = if known.is_some() { Whose::Known } else { Whose::Stranger };
        if whose == Whose::Stranger && self.hasher.is_full() {
            return Err(NotIn::Busy);
        }
        let attempt = self.attempts.begin(&tried, from, self.store.now()).map_err(NotIn::TooMany)?;
        let found = self.store.user_at(&address).await?;
        let hash = found.as_ref().and_then(|(_, hash)| hash.as_deref());
        // Somebody who is not there costs as much time as somebody who is.
        let Some(is_right) = self.hasher.verify(password, hash, whose).await else {
            attempt.was_none();
            return Err(NotIn::Busy);
        };
        let Some((user, _)) = found.filter(|_| is_right) else { return Err(NotIn::Wrong) };
        attempt.was_right();
        let mut arrived = self.admit(user, "password", visitor).await?;
        let (token, digest) = fresh_token();
        self.store.remember_browser(&arrived.user.id, known.as_ref().unwrap_or(&digest)).await?;
        arrived.browser = known.is_none().then_some(token);
        Ok(arrived)
    }

    /// Lets somebody in who has been recognised by other means.
    pub async fn admit(&self, user: User, way: &'static str, visitor: &Visitor) -> Result<Arrived, NotIn> {
        self.admit_since(user, way, None, visitor).await
    }

    /// The same for somebody who has shown that it is they at another time than now.
    async fn admit_since(
        &self,
        user: User,
        way: &'static str,
        confirmed_at: Option<Timestamp>,
        visitor: &Visitor,
    ) -> Result<Arrived, NotIn> {
        let (token, session) = self.new_session(user.id.clone(), way, confirmed_at, visitor);
        self.store.begin_session(session).await?;
        Ok(Arrived { user, token, browser: None })
    }

    fn new_session(
        &self,
        user_id: String,
        way: &'static str,
        confirmed_at: Option<Timestamp>,
        visitor: &Visitor,
    ) -> (SecretText, NewSession) {
        let (token, digest) = fresh_token();
        let client = browser::in_words(&visitor.user_agent);
        let expires_at = self.store.now().plus(IDLE);
        (token, NewSession { digest, user_id, way, client, confirmed_at, expires_at })
    }

    /// Whose a browser's token is, with the project that the address names if they have a place in it. Asked anew for every
    /// request, so that signing out anywhere holds from the next one on.
    pub async fn visit(&self, token: &str, project_id: Option<&ProjectId>) -> Result<Option<Visit>, StoreError> {
        let Some(digest) = digest(token) else { return Ok(None) };
        let Some(visit) = self.store.visit(&digest, project_id).await? else { return Ok(None) };
        let (now, session) = (self.store.now(), &visit.session);
        if now >= session.seen_at.plus(SEEN) {
            let until = now.plus(IDLE).min(session.created_at.plus(LONGEST));
            self.store.touch_session(&session.id, until).await?;
        }
        Ok(Some(visit))
    }

    /// Whether somebody is still signed in and still has a place in the project, for those who watch a page for long.
    pub async fn stays(&self, session_id: &str, project_id: &ProjectId) -> Result<bool, StoreError> {
        self.store.stays(session_id, project_id).await
    }

    /// Whether whoever has this session has shown lately enough that it is they, to do what hurts.
    pub fn is_sure_of(&self, visit: &Visit) -> bool {
        self.store.now() < visit.session.confirmed_at.plus(SURE)
    }

    /// Somebody who is signed in shows again that it is they.
    pub async fn confirm(&self, visit: &Visit, password: &SecretText) -> Result<(), NotIn> {
        self.check_password(visit, password).await?;
        Ok(self.store.confirm_session(&visit.session.id).await?)
    }

    /// Whether it is the password of whoever is signed in. Wrong ones make this session wait, and no other.
    async fn check_password(&self, visit: &Visit, password: &SecretText) -> Result<(), NotIn> {
        self.with_passwords()?;
        let tried = format!("session {}", visit.session.id);
        let attempt = self.attempts.begin(&tried, Origin::Own, self.store.now()).map_err(NotIn::TooMany)?;
        let hash = self.store.user_at(&visit.user.email).await?.and_then(|(_, hash)| hash);
        match self.hasher.verify(password, hash.as_deref(), Whose::Known).await {
            Some(true) => attempt.was_right(),
            Some(false) => return Err(NotIn::Wrong),
            None => {
                attempt.was_none();
                return Err(NotIn::Busy);
            }
        }
        Ok(())
    }

    /// Another password for somebody who knows the present one. All of their other sessions end.
    pub async fn change_password(
        &self,
        visit: &Visit,
        present: &SecretText,
        new: &SecretText,
        visitor: &Visitor,
    ) -> Result<(), NotIn> {
        copydesk_domain::password(new.expose(), &visit.user.email)?;
        self.check_password(visit, present).await?;
        let hash = self.hasher.hash(new, Whose::Known).await.ok_or(NotIn::Busy)?;
        let by = self.store.by(Actor::user(&visit.user));
        let browser = visitor.browser.as_deref().and_then(digest);
        let known = match &browser {
            Some(digest) => self.store.knows_browser(&visit.user.email, digest).await?,
            None => false,
        };
        by.set_password(&visit.user.id, &hash, Some(&visit.session.id)).await?;
        // All others are forgotten, but this is the one that they sit at.
        if let Some(digest) = browser.filter(|_| known) {
            self.store.remember_browser(&visit.user.id, &digest).await?;
        }
        Ok(())
    }

    /// Another password for somebody, by an operator who need not know the present one. False: there is no such user.
    pub async fn set_password(&self, by: &Store, address: &str, new: &SecretText) -> Result<bool, NotIn> {
        let address = email(address)?;
        copydesk_domain::password(new.expose(), &address)?;
        let Some((user, _)) = self.store.user_at(&address).await? else { return Ok(false) };
        let hash = self.hasher.hash(new, Whose::Known).await.ok_or(NotIn::Busy)?;
        Ok(by.set_password(&user.id, &hash, None).await?.is_some())
    }

    /// A link that lets a user in again. None if there is no such user.
    pub async fn link_again(&self, by: &Store, address: &str, lasts: Duration) -> Result<Option<Link>, NotIn> {
        let Some((user, _)) = self.store.user_at(&email(address)?).await? else { return Ok(None) };
        Ok(self.link(by, Entrance::Again(user.id), "comes in again", lasts).await?)
    }
}

/// By which of the ways a session was begun.
fn way_of(session: &Session) -> &'static str {
    ["password", "proxy", "oidc"].into_iter().find(|way| session.way == *way).unwrap_or("link")
}

/// A token that nobody can guess, and what is kept of it.
fn fresh_token() -> (SecretText, String) {
    let token = hex(&random_secret());
    let digest = sha256(&token);
    (token.into(), digest)
}

/// What is kept of a token; none if it cannot be one.
fn digest(token: &str) -> Option<String> {
    let is_one = token.len() == 64 && token.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    is_one.then(|| sha256(token))
}

fn sha256(text: &str) -> String {
    hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes()).as_ref())
}
