//! Who has a place in a project, and with which role.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use copydesk_domain::{Invalid, Member, Role};
use copydesk_store::{Entrance, Indispensable, Invitation};

use super::{Frame, OWNER, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, asked};
use crate::pages::ask::AskPage;
use crate::respond::plain;
use crate::respond::{Oops, Reply, page, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

pub(super) fn routes(table: Table) -> Table {
    table
        .get(OWNER, "/p/{project}/settings/members", show)
        .post_surely(OWNER, "/p/{project}/settings/members/{user}/role", set_role)
        .get(OWNER, "/p/{project}/settings/members/{user}/remove", ask)
        .post_surely(OWNER, "/p/{project}/settings/members/{user}/remove", remove)
}

#[derive(Template)]
#[template(path = "settings/members.html")]
pub(super) struct MembersPage {
    shell: Shell,
    frame: Frame,
    members: Vec<Member>,
    invitations: Vec<Invitation>,
    /// Who looks.
    me: String,
    /// The link that was just made, the only time it can be seen.
    pub(super) link: Option<(Invitation, String)>,
    pub(super) note: String,
    pub(super) role: String,
}

impl MembersPage {
    fn roles(&self) -> [(&'static str, &'static str); 3] {
        [
            ("viewer", "viewer: sees everything"),
            ("editor", "editor: also makes jobs"),
            ("owner", "owner: also has keys and settings"),
        ]
    }

    fn entrance(&self, invitation: &Invitation) -> &'static str {
        match &invitation.entrance {
            Entrance::Member(_, role) => role.as_str(),
            _ => "",
        }
    }
}

pub(super) async fn members(dash: &Dash, who: &InProject, frame: Frame) -> Result<MembersPage, Oops> {
    let store = &dash.desk().store;
    Ok(MembersPage {
        shell: shell(dash, who, "Members"),
        frame,
        members: store.members(&who.project.id).await?,
        invitations: store.invitations(Some(&who.project.id)).await?,
        me: who.user.id.clone(),
        link: None,
        note: String::new(),
        role: "editor".to_owned(),
    })
}

async fn show(State(dash): State<Dash>, who: InProject, query: RawQuery) -> Reply {
    page(&members(&dash, &who, Frame::new(&who, "members").said(&asked(query))).await?)
}

async fn found(dash: &Dash, who: &InProject, user: &str) -> Result<Member, Oops> {
    let members = dash.desk().store.members(&who.project.id).await?;
    members.into_iter().find(|member| member.user.id == user).ok_or(Oops::NotFound)
}

type Named = Path<(String, String)>;

async fn set_role(State(dash): State<Dash>, who: InProject, Path((_, user)): Named, form: Form) -> Reply {
    let member = found(&dash, &who, plain(&user)?).await?;
    let Some(role) = Role::parse(form.text("role")) else {
        return refused(&dash, &who, Invalid::new("role", "must be viewer, editor or owner")).await;
    };
    match who.store(&dash).set_member(&who.project.id, &member.user.id, role).await {
        Ok(Some(_)) => led_on(&who, &member, role.covers(Role::Owner)),
        Ok(None) => Err(Oops::NotFound),
        Err(error) => kept(&dash, &who, error).await,
    }
}

async fn ask(State(dash): State<Dash>, who: InProject, Path((_, user)): Named) -> Reply {
    let member = found(&dash, &who, plain(&user)?).await?;
    page(&AskPage {
        shell: shell(&dash, &who, "Remove a member"),
        question: format!("Remove {} from the project?", member.user.email),
        words: "They lose access at once. What they did stays, and so do the keys they created: revoke the ones \
                they know."
            .to_owned(),
        action: who.path(&format!("/settings/members/{}/remove", member.user.id)),
        deed: "Remove them",
        keep: "Keep them",
        back: who.path("/settings/members"),
    })
}

async fn remove(State(dash): State<Dash>, who: InProject, Path((_, user)): Named) -> Reply {
    let member = found(&dash, &who, plain(&user)?).await?;
    match who.store(&dash).remove_member(&who.project.id, &member.user.id).await {
        Ok(_) => led_on(&who, &member, false),
        Err(error) => kept(&dash, &who, error).await,
    }
}

/// Back to the members, or home for somebody who has just shut the door behind themselves.
fn led_on(who: &InProject, member: &Member, is_owner: bool) -> Reply {
    let is_out = member.user.id == who.user.id && !is_owner && !who.user.is_admin;
    to(&if is_out { "/".to_owned() } else { who.path("/settings/members?said=saved") })
}

async fn kept(dash: &Dash, who: &InProject, error: Indispensable) -> Reply {
    match error {
        Indispensable::Store(error) => Err(error.into()),
        refusal => refused(dash, who, Invalid::new("role", format!("was not taken away: {refusal}"))).await,
    }
}

async fn refused(dash: &Dash, who: &InProject, invalid: Invalid) -> Reply {
    unfit(&members(dash, who, Frame::new(who, "members").wrong(invalid)).await?)
}
