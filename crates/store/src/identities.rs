//! Who somebody is at a provider of sign-ins.

use copydesk_boxed::boxed;
use copydesk_domain::{Actor, User};

use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::deeds;
use crate::people::{self, NewUser};

/// Somebody as a provider knows them. Its word for them never changes and never stands for somebody else, which an e-mail
/// address does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub issuer: String,
    pub subject: String,
}

/// What else a provider says of somebody.
#[derive(Debug, Clone)]
pub struct Introduction {
    pub identity: Identity,
    /// As a user to make of them, without a password; none if the provider told no address.
    pub newcomer: Option<NewUser>,
    /// Whether the address was seen to be theirs.
    pub is_verified: bool,
    /// Whether they become a user if they are none.
    pub may_be_made: bool,
}

/// Whom an introduction was found to be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognised {
    User(User),
    /// Nobody who is here.
    Nobody,
    /// Their address belongs to a user, but nothing says that they are this user.
    AddressTaken,
}

#[boxed]
impl Store {
    /// The user whom a provider introduces: by its own word for them, else by an address that it has verified, else made
    /// anew if that may be.
    pub async fn recognise(&self, introduction: Introduction) -> Result<Recognised> {
        self.write(move |c| Box::pin(recognise(c, introduction))).await
    }

    /// The user who is known to a provider as that.
    pub async fn user_known_as(&self, identity: &Identity) -> Result<Option<User>> {
        let identity = identity.clone();
        self.read(move |c| Box::pin(async move { known_as(c, &identity).await })).await
    }
}

async fn known_as(c: &mut dyn Conn, identity: &Identity) -> Result<Option<User>> {
    let sql = format!(
        "SELECT {} FROM identities i JOIN users u ON u.id = i.user_id WHERE i.issuer = $1 AND i.subject = $2",
        people::COLUMNS
    );
    c.row(sql, values![&identity.issuer, &identity.subject]).await
}

async fn recognise(c: &mut dyn Conn, introduction: Introduction) -> Result<Recognised> {
    let Introduction { identity, newcomer, is_verified, may_be_made } = introduction;
    if let Some(user) = known_as(c, &identity).await? {
        return Ok(Recognised::User(user));
    }
    let Some(new) = newcomer else { return Ok(Recognised::Nobody) };
    let sql = format!("SELECT {} FROM users u WHERE u.email = $1", people::COLUMNS);
    let at_address: Option<User> = c.row(sql, values![&new.email]).await?;
    let user = match at_address {
        // The provider gave the address of somebody whom it knows to somebody else.
        Some(user) if !is_verified || is_known_otherwise(c, &identity, &user).await? => {
            return Ok(Recognised::AddressTaken);
        }
        Some(user) => user,
        None if !may_be_made => return Ok(Recognised::Nobody),
        None => match people::create(c, NewUser { password: None, is_admin: false, ..new }).await? {
            Some(user) => user,
            // Made by somebody who came at the same time: by them, or by somebody else.
            None => return Ok(known_as(c, &identity).await?.map_or(Recognised::AddressTaken, Recognised::User)),
        },
    };
    c.set_actor(Actor::user(&user).into());
    add(c, &identity, &user).await?;
    // Of two who came at once under the same identity, both are whom the first one was found to be.
    Ok(known_as(c, &identity).await?.map_or(Recognised::Nobody, Recognised::User))
}

async fn is_known_otherwise(c: &mut dyn Conn, identity: &Identity, user: &User) -> Result<bool> {
    let sql = "SELECT 1 FROM identities WHERE user_id = $1 AND issuer = $2 AND subject <> $3";
    c.exists(sql, values![&user.id, &identity.issuer, &identity.subject]).await
}

/// Lets an identity stand for a user; one that stands for somebody already goes on doing so.
pub(crate) async fn add(c: &mut dyn Conn, identity: &Identity, user: &User) -> Result<()> {
    let added = c
        .run(
            "INSERT INTO identities (issuer, subject, user_id) VALUES ($1, $2, $3) ON CONFLICT (issuer, subject) DO NOTHING",
            values![&identity.issuer, &identity.subject, &user.id],
        )
        .await?;
    if added > 0 {
        deeds::record(c, "identity.add", None, &user.email, &identity.issuer).await?;
    }
    Ok(())
}
