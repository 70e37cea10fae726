//! Who is signed in. What a browser shows is kept as a digest only, as keys are.

use copydesk_boxed::boxed;
use copydesk_domain::{Project, ProjectId, Role, Timestamp, User, new_id};

use crate::conn::{Conn, FromRow, Result, Row, values};
use crate::database::Store;
use crate::{browsers, deeds, people, projects};

const COLUMNS: &str = "s.id, s.user_id, s.way, s.client, s.created_at, s.seen_at, s.confirmed_at, s.expires_at";

/// Somebody's stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: String,
    pub user_id: String,
    /// How they came in.
    pub way: String,
    /// The browser in words.
    pub client: String,
    pub created_at: Timestamp,
    /// When it was last used, to ten minutes.
    pub seen_at: Timestamp,
    /// When they last showed that it is they.
    pub confirmed_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A session to begin.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub digest: String,
    pub user_id: String,
    pub way: &'static str,
    pub client: String,
    /// When they last showed that it is they; none: just now.
    pub confirmed_at: Option<Timestamp>,
    pub expires_at: Timestamp,
}

/// A session that was found, whose it is, and what they see of the project that the address names.
#[derive(Debug, Clone)]
pub struct Visit {
    pub session: Session,
    pub user: User,
    /// The project, if there is one of that id and they have a place in it: an administrator has one everywhere.
    pub project: Option<(Project, Role)>,
}

#[boxed]
impl Store {
    /// Begins a session. Whoever signs in is the one who does it.
    pub async fn begin_session(&self, new: NewSession) -> Result<Session> {
        self.write(move |c| Box::pin(begin(c, new))).await
    }

    /// The session of that digest if it has not ended, with the project of that id, in one look.
    pub async fn visit(&self, digest: &str, project_id: Option<&ProjectId>) -> Result<Option<Visit>> {
        let values = values![project_id.map(|id| id.as_str()), digest, self.now()];
        let sql = format!(
            "SELECT {COLUMNS}, {}, m.role, {} FROM sessions s JOIN users u ON u.id = s.user_id \
             LEFT JOIN projects p ON p.id = $1 LEFT JOIN memberships m ON m.user_id = u.id AND m.project_id = p.id \
             WHERE s.digest = $2 AND s.expires_at > $3",
            people::COLUMNS,
            projects::COLUMNS
        );
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }

    /// Whether a session goes on and whoever has it has a place in the project.
    pub async fn stays(&self, id: &str, project_id: &ProjectId) -> Result<bool> {
        let values = values![project_id, id, self.now()];
        let sql = "SELECT 1 FROM sessions s JOIN users u ON u.id = s.user_id JOIN projects p ON p.id = $1 \
                   LEFT JOIN memberships m ON m.user_id = u.id AND m.project_id = p.id \
                   WHERE s.id = $2 AND s.expires_at > $3 AND (u.is_admin = 1 OR m.role IS NOT NULL)";
        self.read(move |c| Box::pin(async move { c.exists(sql, values).await })).await
    }

    /// Notes that a session is in use, and until when it goes on.
    pub async fn touch_session(&self, id: &str, expires_at: Timestamp) -> Result<()> {
        let values = values![self.now(), expires_at, id];
        let sql = "UPDATE sessions SET seen_at = $1, expires_at = $2 WHERE id = $3";
        self.write(move |c| Box::pin(async move { c.run(sql, values).await.map(drop) })).await
    }

    /// Notes that whoever has the session has shown again that it is they.
    pub async fn confirm_session(&self, id: &str) -> Result<()> {
        let values = values![self.now(), id];
        let sql = "UPDATE sessions SET confirmed_at = $1 WHERE id = $2";
        self.write(move |c| Box::pin(async move { c.run(sql, values).await.map(drop) })).await
    }

    /// A user's sessions that have not ended, the one used last first.
    pub async fn sessions(&self, user_id: &str) -> Result<Vec<Session>> {
        let values = values![user_id, self.now()];
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions s WHERE s.user_id = $1 AND s.expires_at > $2 ORDER BY s.seen_at DESC, s.id"
        );
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// Ends a session of that user. Says whether there was one.
    pub async fn end_session(&self, user_id: &str, id: &str) -> Result<bool> {
        let values = values![user_id, id];
        let sql = "DELETE FROM sessions WHERE user_id = $1 AND id = $2";
        self.write(move |c| Box::pin(async move { Ok(c.run(sql, values).await? > 0) })).await
    }

    /// Ends all sessions of a user and says how many there were.
    pub async fn end_sessions(&self, user_id: &str) -> Result<u64> {
        let user_id = user_id.to_owned();
        self.write(move |c| {
            Box::pin(async move {
                let ended = c.run("DELETE FROM sessions WHERE user_id = $1", values![&user_id]).await?;
                browsers::forget(c, &user_id).await?;
                if let Some(user) = people::get(c, &user_id).await? {
                    deeds::record(c, "session.end_all", None, &user.email, &ended.to_string()).await?;
                }
                Ok(ended)
            })
        })
        .await
    }
}

pub(crate) async fn begin(c: &mut dyn Conn, new: NewSession) -> Result<Session> {
    let now = c.now();
    let session = Session {
        id: new_id(now),
        user_id: new.user_id,
        way: new.way.to_owned(),
        client: new.client,
        created_at: now,
        seen_at: now,
        confirmed_at: new.confirmed_at.map_or(now, |at| at.min(now)),
        expires_at: new.expires_at,
    };
    c.run(
        "INSERT INTO sessions (id, digest, user_id, way, client, created_at, seen_at, confirmed_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8)",
        values![
            &session.id,
            new.digest,
            &session.user_id,
            &session.way,
            &session.client,
            now,
            session.confirmed_at,
            session.expires_at,
        ],
    )
    .await?;
    if let Some(user) = people::get(c, &session.user_id).await? {
        c.set_actor(copydesk_domain::Actor::user(&user).into());
        deeds::record(c, "session.begin", None, &user.email, &format!("{}, {}", session.way, session.client)).await?;
    }
    Ok(session)
}

pub(crate) async fn forget(c: &mut dyn Conn, now: Timestamp) -> Result<u64> {
    c.run("DELETE FROM sessions WHERE expires_at <= $1", values![now]).await
}

impl FromRow for Session {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            id: row.next()?,
            user_id: row.next()?,
            way: row.next()?,
            client: row.next()?,
            created_at: row.next()?,
            seen_at: row.next()?,
            confirmed_at: row.next()?,
            expires_at: row.next()?,
        })
    }
}

impl FromRow for Visit {
    fn from_row(row: &mut Row) -> Result<Self> {
        let (session, user) = (Session::from_row(row)?, User::from_row(row)?);
        let role: Option<Role> = row.next()?;
        let role = if user.is_admin { Some(Role::Owner) } else { role };
        let project = match role {
            Some(role) if !row.next_is_null() => Some((Project::from_row(row)?, role)),
            _ => None,
        };
        Ok(Self { session, user, project })
    }
}
