//! Links that let somebody in once.

use copydesk_boxed::boxed;
use copydesk_domain::{Actor, ProjectId, Role, Timestamp, User, new_id};

use crate::conn::{Conn, FromRow, Result, Row, plain_text, values};
use crate::database::Store;
use crate::error::StoreError;
use crate::identities::{self, Identity};
use crate::people::{self, NewUser};
use crate::sessions::{NewSession, Session};
use crate::{browsers, deeds, sessions};

const COLUMNS: &str = "i.id, i.project_id, i.role, i.user_id, i.note, i.made_by, i.created_at, i.expires_at";

/// What an invitation leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entrance {
    /// Becomes an administrator.
    Administrator,
    /// Gets a place in a project.
    Member(ProjectId, Role),
    /// Comes in again as a user that there is, and may take another password.
    Again(String),
}

/// An open invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    pub id: String,
    pub entrance: Entrance,
    /// For whom it is, as its maker says.
    pub note: String,
    pub made_by: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// An invitation to create.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    pub digest: String,
    pub entrance: Entrance,
    pub note: String,
    pub expires_at: Timestamp,
}

/// Who takes an invitation.
#[derive(Debug, Clone)]
pub enum Guest {
    /// Somebody new.
    New(NewUser),
    /// Somebody who is signed in already.
    Known(String),
    /// Somebody whom a provider of sign-ins knows: new, or the one whom the invitation names.
    Introduced(NewUser, Identity),
    /// Whom the invitation names, with the hash of their new password if they take one.
    Named(Option<String>),
}

/// What came of taking one.
#[derive(Debug, Clone)]
pub enum Taken {
    In(Box<User>, Box<Session>),
    /// It is gone: taken, withdrawn or too old.
    Gone,
    /// There is a user with that address.
    EmailTaken,
}

#[boxed]
impl Store {
    /// Makes an invitation. None if there is no such project or user.
    pub async fn invite(&self, new: NewInvitation) -> Result<Option<Invitation>> {
        self.write(move |c| Box::pin(invite(c, new))).await
    }

    /// The invitation of that digest if it can still be taken.
    pub async fn invitation(&self, digest: &str) -> Result<Option<Invitation>> {
        let values = values![digest, self.now()];
        self.read(move |c| Box::pin(c.row(by_digest(), values))).await
    }

    /// The invitations into a project that nobody has taken, oldest first; without a project, those of administrators.
    pub async fn invitations(&self, project_id: Option<&ProjectId>) -> Result<Vec<Invitation>> {
        let (mut values, condition) = match project_id {
            Some(id) => (values![id], "i.project_id = $1 AND i.expires_at > $2"),
            None => (values![], "i.project_id IS NULL AND i.user_id IS NULL AND i.expires_at > $1"),
        };
        values.extend(values![self.now()]);
        let sql = format!("SELECT {COLUMNS} FROM invitations i WHERE {condition} ORDER BY i.id");
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// Withdraws an invitation into that project, or of administrators. Says whether there was one.
    pub async fn withdraw(&self, project_id: Option<&ProjectId>, id: &str) -> Result<bool> {
        let (project_id, id) = (project_id.cloned(), id.to_owned());
        self.write(move |c| Box::pin(withdraw(c, project_id, id))).await
    }

    /// Takes an invitation, in one step with the session that begins with it: it lets nobody else in.
    pub async fn take_invitation(&self, digest: &str, guest: Guest, session: NewSession) -> Result<Taken> {
        let digest = digest.to_owned();
        self.write(move |c| Box::pin(take(c, digest, guest, session))).await
    }
}

fn by_digest() -> String {
    format!("SELECT {COLUMNS} FROM invitations i WHERE i.digest = $1 AND i.expires_at > $2")
}

async fn invite(c: &mut dyn Conn, new: NewInvitation) -> Result<Option<Invitation>> {
    let (now, made_by) = (c.now(), c.actor().name.clone());
    let (project_id, role, user_id) = match &new.entrance {
        Entrance::Administrator => (None, None, None),
        Entrance::Member(project_id, role) => (Some(project_id.clone()), Some(*role), None),
        Entrance::Again(user_id) => (None, None, Some(user_id.clone())),
    };
    if let Some(project_id) = &project_id
        && !c.hold("projects", project_id).await?
    {
        return Ok(None);
    }
    let mut target = role.map_or("administrator", Role::as_str).to_owned();
    if let Some(user_id) = &user_id {
        let Some(user) = people::get(c, user_id).await? else { return Ok(None) };
        // One way in at a time.
        c.run("DELETE FROM invitations WHERE user_id = $1", values![user_id]).await?;
        target = user.email;
    }
    let invitation = Invitation {
        id: new_id(now),
        entrance: new.entrance,
        note: plain_text(&new.note),
        made_by,
        created_at: now,
        expires_at: new.expires_at,
    };
    c.run(
        "INSERT INTO invitations (id, digest, project_id, role, user_id, note, made_by, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        values![
            &invitation.id,
            new.digest,
            project_id.as_deref(),
            role.map(Role::as_str),
            user_id,
            &invitation.note,
            &invitation.made_by,
            now,
            invitation.expires_at,
        ],
    )
    .await?;
    deeds::record(c, "invitation.create", project_id.as_ref(), &target, &invitation.note).await?;
    Ok(Some(invitation))
}

async fn withdraw(c: &mut dyn Conn, project_id: Option<ProjectId>, id: String) -> Result<bool> {
    let sql = "DELETE FROM invitations WHERE id = $1 AND COALESCE(project_id, '') = $2";
    let place = project_id.as_ref().map_or("", |id| id.as_str());
    let withdrawn = c.run(sql, values![&id, place]).await? > 0;
    if withdrawn {
        deeds::record(c, "invitation.withdraw", project_id.as_ref(), &id, "").await?;
    }
    Ok(withdrawn)
}

async fn take(c: &mut dyn Conn, digest: String, guest: Guest, mut session: NewSession) -> Result<Taken> {
    let now = c.now();
    // Of two who take it at once, the second waits here and finds that it is gone.
    let held: Option<Invitation> = c.row_held(&by_digest(), values![&digest, now]).await?;
    let Some(invitation) = held else { return Ok(Taken::Gone) };
    let user = match (&invitation.entrance, guest) {
        (Entrance::Again(user_id), Guest::Named(password)) => {
            if let Some(password) = password {
                c.run("UPDATE users SET password = $1 WHERE id = $2", values![password, user_id]).await?;
                c.run("DELETE FROM sessions WHERE user_id = $1", values![user_id]).await?;
                browsers::forget(c, user_id).await?;
            }
            people::get(c, user_id).await?
        }
        (Entrance::Administrator | Entrance::Member(..), Guest::New(mut new)) => {
            new.is_admin = invitation.entrance == Entrance::Administrator;
            let Some(user) = people::create(c, new).await? else { return Ok(Taken::EmailTaken) };
            Some(user)
        }
        (Entrance::Administrator | Entrance::Member(..), Guest::Introduced(mut new, identity)) => {
            new.is_admin = invitation.entrance == Entrance::Administrator;
            let Some(user) = people::create(c, new).await? else { return Ok(Taken::EmailTaken) };
            identities::add(c, &identity, &user).await?;
            Some(user)
        }
        (Entrance::Again(user_id), Guest::Introduced(_, identity)) => {
            let user = people::get(c, user_id).await?;
            if let Some(user) = &user {
                identities::add(c, &identity, user).await?;
            }
            user
        }
        (Entrance::Administrator, Guest::Known(user_id)) => {
            c.run("UPDATE users SET is_admin = 1 WHERE id = $1", values![&user_id]).await?;
            people::get(c, &user_id).await?
        }
        (Entrance::Member(..), Guest::Known(user_id)) => people::get(c, &user_id).await?,
        _ => None,
    };
    let Some(user) = user else { return Ok(Taken::Gone) };
    c.run("DELETE FROM invitations WHERE id = $1", values![&invitation.id]).await?;
    c.set_actor(Actor::user(&user).into());
    let project_id = match &invitation.entrance {
        Entrance::Member(project_id, role) => {
            join_upwards(c, project_id, &user, *role, now).await?;
            Some(project_id)
        }
        _ => None,
    };
    deeds::record(c, "invitation.take", project_id, &user.email, &invitation.note).await?;
    session.user_id.clone_from(&user.id);
    let session = sessions::begin(c, session).await?;
    Ok(Taken::In(Box::new(user), Box::new(session)))
}

/// An invitation takes nothing from somebody who has more already.
async fn join_upwards(c: &mut dyn Conn, project_id: &ProjectId, user: &User, role: Role, now: Timestamp) -> Result<()> {
    let sql = "SELECT role FROM memberships WHERE project_id = $1 AND user_id = $2";
    let has: Option<Role> = c.row(sql, values![project_id, &user.id]).await?;
    if has.is_some_and(|has| has.covers(role)) { Ok(()) } else { people::join(c, project_id, user, role, now).await }
}

pub(crate) async fn forget(c: &mut dyn Conn, now: Timestamp) -> Result<u64> {
    c.run("DELETE FROM invitations WHERE expires_at <= $1", values![now]).await
}

impl FromRow for Invitation {
    fn from_row(row: &mut Row) -> Result<Self> {
        let id = row.next()?;
        let (project_id, role, user_id): (Option<ProjectId>, Option<Role>, Option<String>) =
            (row.next()?, row.next()?, row.next()?);
        let entrance = match (project_id, role, user_id) {
            (Some(project_id), Some(role), None) => Entrance::Member(project_id, role),
            (None, None, Some(user_id)) => Entrance::Again(user_id),
            (None, None, None) => Entrance::Administrator,
            _ => return Err(StoreError::Unreadable("an invitation".to_owned())),
        };
        Ok(Self {
            id,
            entrance,
            note: row.next()?,
            made_by: row.next()?,
            created_at: row.next()?,
            expires_at: row.next()?,
        })
    }
}
