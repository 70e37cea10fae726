//! Users and their places in projects.

use copydesk_boxed::boxed;
use copydesk_domain::{Actor, Member, Project, ProjectId, Role, Timestamp, User, new_id};

use crate::conn::{Conn, FromRow, Result, Row, values};
use crate::database::Store;
use crate::error::StoreError;
use crate::{browsers, deeds, projects};

pub(crate) const COLUMNS: &str = "u.id, u.email, u.name, u.is_admin, u.created_at";

/// A user to make.
#[derive(Debug, Clone)]
pub struct NewUser {
    pub email: String,
    pub name: String,
    /// The hash of the password; none for those who come in by other ways only.
    pub password: Option<String>,
    pub is_admin: bool,
}

/// Why nobody was removed, or no role taken away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Indispensable {
    /// Nobody would be left who can let others in.
    #[error("this is the last administrator; appoint another one first")]
    LastAdmin,
    #[error("this is the last owner of the project; appoint another one first")]
    LastOwner,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[boxed]
impl Store {
    /// Makes a user. None if there is one with that address.
    pub async fn create_user(&self, new: NewUser) -> Result<Option<User>> {
        self.write(move |c| Box::pin(async move { create(c, new).await })).await
    }

    /// Everybody, by their address.
    pub async fn users(&self) -> Result<Vec<User>> {
        self.read(|c| Box::pin(c.rows(format!("SELECT {COLUMNS} FROM users u ORDER BY u.email"), vec![]))).await
    }

    pub async fn user(&self, id: &str) -> Result<Option<User>> {
        let id = id.to_owned();
        self.read(move |c| Box::pin(async move { get(c, &id).await })).await
    }

    /// The user with that address, and the hash of their password if they have one.
    pub async fn user_at(&self, email: &str) -> Result<Option<(User, Option<String>)>> {
        let values = values![email];
        let sql = format!("SELECT {COLUMNS}, u.password FROM users u WHERE u.email = $1");
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }

    /// Whether anybody can sign in at all.
    pub async fn has_users(&self) -> Result<bool> {
        self.read(|c| Box::pin(c.exists("SELECT 1 FROM users LIMIT 1", vec![]))).await
    }

    /// Gives a user another name. None if there is no such user.
    pub async fn rename_user(&self, id: &str, name: &str) -> Result<Option<User>> {
        let (id, name) = (id.to_owned(), name.to_owned());
        self.write(move |c| {
            Box::pin(async move {
                c.run("UPDATE users SET name = $1 WHERE id = $2", values![&name, &id]).await?;
                changed(c, "user.rename", &id).await
            })
        })
        .await
    }

    /// Gives a user another password and ends all of their sessions but the one of `kept`. None if there is no such user.
    pub async fn set_password(&self, id: &str, hash: &str, kept: Option<&str>) -> Result<Option<User>> {
        let (id, hash, kept) = (id.to_owned(), hash.to_owned(), kept.unwrap_or_default().to_owned());
        self.write(move |c| {
            Box::pin(async move {
                c.run("UPDATE users SET password = $1 WHERE id = $2", values![&hash, &id]).await?;
                // Whoever knew the old one is out, and so is whoever has an old link.
                c.run("DELETE FROM sessions WHERE user_id = $1 AND id <> $2", values![&id, &kept]).await?;
                browsers::forget(c, &id).await?;
                c.run("DELETE FROM invitations WHERE user_id = $1", values![&id]).await?;
                changed(c, "user.password", &id).await
            })
        })
        .await
    }

    /// Makes somebody an administrator, or takes that from them. None if there is no such user.
    pub async fn set_admin(&self, id: &str, is_admin: bool) -> Result<Option<User>, Indispensable> {
        let id = id.to_owned();
        self.write(move |c| Box::pin(set_admin(c, id, is_admin))).await
    }

    /// Removes a user, their sessions and their places. False if there is no such user.
    pub async fn remove_user(&self, id: &str) -> Result<bool, Indispensable> {
        let id = id.to_owned();
        self.write(move |c| Box::pin(remove(c, id))).await
    }

    /// Those who have a place in a project, by their address.
    pub async fn members(&self, project_id: &ProjectId) -> Result<Vec<Member>> {
        let values = values![project_id];
        let sql = format!(
            "SELECT {COLUMNS}, m.role, m.created_at FROM memberships m JOIN users u ON u.id = m.user_id \
             WHERE m.project_id = $1 ORDER BY u.email"
        );
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// Gives a user a place in a project, or another role there. None if there is no such user or project.
    pub async fn set_member(
        &self,
        project_id: &ProjectId,
        user_id: &str,
        role: Role,
    ) -> Result<Option<Member>, Indispensable> {
        let (project_id, user_id) = (project_id.clone(), user_id.to_owned());
        self.write(move |c| Box::pin(set_member(c, project_id, user_id, role))).await
    }

    /// Takes a user's place in a project. False if they have none.
    pub async fn remove_member(&self, project_id: &ProjectId, user_id: &str) -> Result<bool, Indispensable> {
        let (project_id, user_id) = (project_id.clone(), user_id.to_owned());
        self.write(move |c| Box::pin(remove_member(c, project_id, user_id))).await
    }

    /// The projects that a user sees, by name, each with their role there: for an administrator all, as an owner.
    pub async fn projects_of(&self, user: &User) -> Result<Vec<(Project, Role)>> {
        if user.is_admin {
            let mut projects = self.projects().await?;
            projects.sort_by_key(|project| project.name.to_lowercase());
            return Ok(projects.into_iter().map(|project| (project, Role::Owner)).collect());
        }
        let values = values![&user.id];
        let sql = format!(
            "SELECT {}, m.role FROM projects p JOIN memberships m ON m.project_id = p.id WHERE m.user_id = $1 \
             ORDER BY lower(p.name), p.id",
            projects::COLUMNS
        );
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }
}

pub(crate) async fn get(c: &mut dyn Conn, id: &str) -> Result<Option<User>> {
    c.row(format!("SELECT {COLUMNS} FROM users u WHERE u.id = $1"), values![id]).await
}

/// Makes a user, who is the one that does it where nobody else does: somebody who takes an invitation. None if there is one
/// with that address.
pub(crate) async fn create(c: &mut dyn Conn, new: NewUser) -> Result<Option<User>> {
    let now = c.now();
    let user = User { id: new_id(now), email: new.email, name: new.name, is_admin: new.is_admin, created_at: now };
    let inserted = c
        .run(
            "INSERT INTO users (id, email, name, password, is_admin, created_at) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (email) DO NOTHING",
            values![&user.id, &user.email, &user.name, new.password, user.is_admin, now],
        )
        .await?;
    if inserted == 0 {
        return Ok(None);
    }
    if c.actor().kind == copydesk_domain::ActorKind::Program {
        c.set_actor(Actor::user(&user).into());
    }
    let detail = if user.is_admin { "administrator" } else { "" };
    deeds::record(c, "user.create", None, &user.email, detail).await?;
    Ok(Some(user))
}

async fn changed(c: &mut dyn Conn, action: &'static str, id: &str) -> Result<Option<User>> {
    let user = get(c, id).await?;
    if let Some(user) = &user {
        deeds::record(c, action, None, &user.email, "").await?;
    }
    Ok(user)
}

async fn set_admin(c: &mut dyn Conn, id: String, is_admin: bool) -> Result<Option<User>, Indispensable> {
    hold_admins(c).await?;
    let Some(user) = get(c, &id).await? else { return Ok(None) };
    if user.is_admin && !is_admin {
        stay_one_admin(c, &id).await?;
    }
    c.run("UPDATE users SET is_admin = $1 WHERE id = $2", values![is_admin, &id]).await?;
    let action = if is_admin { "user.make_administrator" } else { "user.unmake_administrator" };
    Ok(changed(c, action, &id).await?)
}

async fn remove(c: &mut dyn Conn, id: String) -> Result<bool, Indispensable> {
    hold_admins(c).await?;
    let Some(user) = get(c, &id).await? else { return Ok(false) };
    if user.is_admin {
        stay_one_admin(c, &id).await?;
    }
    let owned: Vec<ProjectId> =
        c.rows("SELECT project_id FROM memberships WHERE user_id = $1 AND role = 'owner'", values![&id]).await?;
    for project_id in owned {
        c.hold("projects", &project_id).await?;
        stay_one_owner(c, &project_id, &id).await?;
    }
    deeds::record(c, "user.remove", None, &user.email, "").await?;
    c.run("DELETE FROM users WHERE id = $1", values![id]).await?;
    Ok(true)
}

/// Two who remove each other at once must not both succeed.
async fn hold_admins(c: &mut dyn Conn) -> Result<()> {
    let mut hold = String::from("SELECT id FROM users WHERE is_admin = 1 ORDER BY id");
    if c.dialect() == crate::conn::Dialect::Postgres {
        hold.push_str(" FOR UPDATE");
    }
    c.rows::<String>(hold, vec![]).await.map(drop)
}

async fn stay_one_admin(c: &mut dyn Conn, id: &str) -> Result<(), Indispensable> {
    let others = c.exists("SELECT 1 FROM users WHERE is_admin = 1 AND id <> $1", values![id]).await?;
    if others { Ok(()) } else { Err(Indispensable::LastAdmin) }
}

/// Administrators own everything, but a project whose members have no owner has nobody who looks after it.
async fn stay_one_owner(c: &mut dyn Conn, project_id: &ProjectId, user_id: &str) -> Result<(), Indispensable> {
    let sql = "SELECT 1 FROM memberships WHERE project_id = $1 AND role = 'owner' AND user_id <> $2";
    if c.exists(sql, values![project_id, user_id]).await? { Ok(()) } else { Err(Indispensable::LastOwner) }
}

async fn role_of(c: &mut dyn Conn, project_id: &ProjectId, user_id: &str) -> Result<Option<Role>> {
    let sql = "SELECT role FROM memberships WHERE project_id = $1 AND user_id = $2";
    c.row(sql, values![project_id, user_id]).await
}

async fn set_member(
    c: &mut dyn Conn,
    project_id: ProjectId,
    user_id: String,
    role: Role,
) -> Result<Option<Member>, Indispensable> {
    if !c.hold("projects", &project_id).await? {
        return Ok(None);
    }
    let Some(user) = get(c, &user_id).await? else { return Ok(None) };
    if role_of(c, &project_id, &user_id).await? == Some(Role::Owner) && role != Role::Owner {
        stay_one_owner(c, &project_id, &user_id).await?;
    }
    let now = c.now();
    join(c, &project_id, &user, role, now).await?;
    let since = "SELECT created_at FROM memberships WHERE project_id = $1 AND user_id = $2";
    let since = c.only_row(since, values![&project_id, &user_id]).await?;
    Ok(Some(Member { user, role, since }))
}

/// Gives a place; nobody is asked whether somebody else has to keep theirs.
pub(crate) async fn join(
    c: &mut dyn Conn,
    project_id: &ProjectId,
    user: &User,
    role: Role,
    now: Timestamp,
) -> Result<()> {
    c.run(
        "INSERT INTO memberships (user_id, project_id, role, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (user_id, project_id) DO UPDATE SET role = excluded.role",
        values![&user.id, project_id, role.as_str(), now],
    )
    .await?;
    deeds::record(c, "member.set", Some(project_id), &user.email, role.as_str()).await
}

async fn remove_member(c: &mut dyn Conn, project_id: ProjectId, user_id: String) -> Result<bool, Indispensable> {
    if !c.hold("projects", &project_id).await? {
        return Ok(false);
    }
    let (Some(role), Some(user)) = (role_of(c, &project_id, &user_id).await?, get(c, &user_id).await?) else {
        return Ok(false);
    };
    if role == Role::Owner {
        stay_one_owner(c, &project_id, &user_id).await?;
    }
    let sql = "DELETE FROM memberships WHERE project_id = $1 AND user_id = $2";
    c.run(sql, values![&project_id, &user_id]).await?;
    deeds::record(c, "member.remove", Some(&project_id), &user.email, role.as_str()).await?;
    Ok(true)
}

impl FromRow for User {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            id: row.next()?,
            email: row.next()?,
            name: row.next()?,
            is_admin: row.next()?,
            created_at: row.next()?,
        })
    }
}

impl FromRow for Member {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self { user: User::from_row(row)?, role: row.next()?, since: row.next()? })
    }
}
