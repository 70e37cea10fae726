//! Links that lead somebody into a project.

use axum::extract::{Path, State};
use copydesk_desk::people::INVITED;
use copydesk_domain::{Invalid, Role};
use copydesk_store::Entrance;

use super::members::members;
use super::{Frame, OWNER};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::Form;
use crate::pages::links::{checked_note, join_address};
use crate::respond::plain;
use crate::respond::{Oops, Reply, page, secret, to, unfit};
use crate::who::InProject;

pub(super) fn routes(table: Table) -> Table {
    table.post_surely(OWNER, "/p/{project}/settings/members/invite", invite).post_surely(
        OWNER,
        "/p/{project}/settings/members/invitations/{id}/withdraw",
        withdraw,
    )
}

async fn invite(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let wanted = checked_note(&form).and_then(|note| {
        let role = Role::parse(form.text("as"));
        Ok((note, role.ok_or_else(|| Invalid::new("as", "must be viewer, editor or owner"))?))
    });
    match wanted {
        Ok((note, role)) => {
            let entrance = Entrance::Member(who.project.id.clone(), role);
            let made = dash.desk().people.link(&who.store(&dash), entrance, &note, INVITED).await?;
            let link = made.ok_or(Oops::NotFound)?;
            let address = join_address(&dash, &link);
            let mut template = members(&dash, &who, Frame::new(&who, "members")).await?;
            template.link = Some((link.invitation, address));
            page(&template).map(secret)
        }
        Err(invalid) => {
            let mut template = members(&dash, &who, Frame::new(&who, "members").wrong(invalid)).await?;
            (template.note, template.role) = (form.text("note").to_owned(), form.text("as").to_owned());
            unfit(&template)
        }
    }
}

async fn withdraw(State(dash): State<Dash>, who: InProject, Path((_, id)): Path<(String, String)>) -> Reply {
    if !who.store(&dash).withdraw(Some(&who.project.id), plain(&id)?).await? {
        return Err(Oops::NotFound);
    }
    to(&who.path("/settings/members?said=withdrawn"))
}
