//! Who can sign in, and who has a place in which project.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_desk::people::INVITED;
use copydesk_domain::{Member, Role, Timestamp, User};
use copydesk_store::{Entrance, Indispensable, Invitation};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Named, no_project};
use crate::api::parts::workshop;
use crate::app::App;
use crate::auth::Administrator;
use crate::body::{self, RequestBody};
use crate::problem::{ErrorBody, Problem};

/// All users, by address
#[derive(Serialize, ToSchema)]
pub(super) struct UserList {
    users: Vec<User>,
}

/// A member of a project
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Member)]
pub(super) struct MemberView {
    user_id: String,
    email: String,
    name: String,
    role: Role,
    /// When they became a member.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
}

impl From<Member> for MemberView {
    fn from(member: Member) -> Self {
        let User { id, email, name, .. } = member.user;
        Self { user_id: id, email, name, role: member.role, since: member.since }
    }
}

/// The members of a project, by address
#[derive(Serialize, ToSchema)]
pub(super) struct MemberList {
    members: Vec<MemberView>,
}

/// A role to give
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetMember {
    role: Role,
}

/// An open invitation
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Invitation)]
pub(super) struct InvitationView {
    id: String,
    role: Role,
    /// For whom it is, as its maker says.
    note: String,
    made_by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// The link, which works once; shown only now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, format = "uri")]
    link: Option<String>,
}

impl InvitationView {
    /// None if it leads into no project.
    fn new(invitation: Invitation, link: Option<String>) -> Option<Self> {
        let Entrance::Member(_, role) = invitation.entrance else { return None };
        let Invitation { id, note, made_by, created_at, expires_at, .. } = invitation;
        Some(Self { id, role, note, made_by, created_at, expires_at, link })
    }
}

/// The invitations to a project, oldest first
#[derive(Serialize, ToSchema)]
pub(super) struct InvitationList {
    invitations: Vec<InvitationView>,
}

/// An invitation to create
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateInvitation {
    role: Role,
    /// Who it is for, as a reminder. At most 200 characters, no control characters.
    #[schema(max_length = 200, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$")]
    note: Option<String>,
}

/// List all users
#[utoipa::path(get, path = "/v1/admin/users", tag = "Administration", operation_id = "listUsers",
    responses((status = 200, description = "All users, by address", body = UserList)))]
pub(super) async fn list_users(State(app): State<App>, _: Administrator) -> Result<Response, Problem> {
    Ok(axum::Json(UserList { users: app.store().users().await? }).into_response())
}

/// List the members of a project
#[utoipa::path(get, path = "/v1/admin/projects/{projectId}/members", tag = "Administration",
    operation_id = "listMembers",
    params(("projectId" = String, Path, description = "The project")),
    responses((status = 200, description = "The members, by address", body = MemberList)))]
pub(super) async fn list_members(State(app): State<App>, _: Administrator, at: Named) -> Result<Response, Problem> {
    let project = at.project(&app).await?;
    let members = app.store().members(&project.id).await?.into_iter().map(MemberView::from).collect();
    Ok(axum::Json(MemberList { members }).into_response())
}

fn no_user() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "user_not_found", "There is no such user.")
}

fn kept(error: Indispensable) -> Problem {
    let code = match &error {
        Indispensable::LastAdmin => "last_administrator",
        Indispensable::LastOwner => "last_owner",
        Indispensable::Store(_) => "internal",
    };
    match error {
        Indispensable::Store(error) => error.into(),
        error => Problem::new(StatusCode::CONFLICT, code, format!("Nothing was changed: {error}.")),
    }
}

/// Set a member's role in a project
#[utoipa::path(put, path = "/v1/admin/projects/{projectId}/members/{userId}", tag = "Administration",
    operation_id = "setMember",
    params(("projectId" = String, Path, description = "The project"),
        ("userId" = String, Path, description = "The user")),
    request_body(content = SetMember, content_type = "application/json"),
    responses((status = 200, description = "The member", body = MemberView),
        (status = 409, description = "This is the last owner", body = ErrorBody),
        (status = 413, description = "The body has more than 1 MiB", body = ErrorBody),
        (status = 415, description = "The body is not JSON", body = ErrorBody)))]
pub(super) async fn set_member(
    State(app): State<App>,
    who: Administrator,
    at: Named,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let bytes = body::read(&app, &headers, body).await?;
    let SetMember { role } = body::parse(&bytes)?;
    let project = at.project(&app).await?;
    let member = who.store(&app).set_member(&project.id, &at.user, role).await.map_err(kept)?;
    Ok(axum::Json(MemberView::from(member.ok_or_else(no_user)?)).into_response())
}

/// Remove a member from a project
///
/// Again does nothing.
#[utoipa::path(delete, path = "/v1/admin/projects/{projectId}/members/{userId}", tag = "Administration",
    operation_id = "removeMember",
    params(("projectId" = String, Path, description = "The project"),
        ("userId" = String, Path, description = "The user")),
    responses((status = 204, description = "They are not a member"),
        (status = 409, description = "This is the last owner", body = ErrorBody)))]
pub(super) async fn remove_member(State(app): State<App>, who: Administrator, at: Named) -> Result<Response, Problem> {
    let project = at.project(&app).await?;
    who.store(&app).remove_member(&project.id, &at.user).await.map_err(kept)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// List the open invitations to a project
#[utoipa::path(get, path = "/v1/admin/projects/{projectId}/invitations", tag = "Administration",
    operation_id = "listInvitations",
    params(("projectId" = String, Path, description = "The project")),
    responses((status = 200, description = "The invitations, oldest first", body = InvitationList)))]
pub(super) async fn list_invitations(State(app): State<App>, _: Administrator, at: Named) -> Result<Response, Problem> {
    let project = at.project(&app).await?;
    let all = app.store().invitations(Some(&project.id)).await?;
    let invitations = all.into_iter().filter_map(|invitation| InvitationView::new(invitation, None)).collect();
    Ok(axum::Json(InvitationList { invitations }).into_response())
}

/// Invite someone to a project
///
/// The `link` of the answer is shown only now. The link works once, within seven days.
#[utoipa::path(post, path = "/v1/admin/projects/{projectId}/invitations", tag = "Administration",
    operation_id = "createInvitation",
    params(("projectId" = String, Path, description = "The project")),
    request_body(content = CreateInvitation, content_type = "application/json"),
    responses((status = 201, description = "The invitation with its link", body = InvitationView),
        (status = 413, description = "The body has more than 1 MiB", body = ErrorBody),
        (status = 415, description = "The body is not JSON", body = ErrorBody)))]
pub(super) async fn create_invitation(
    State(app): State<App>,
    who: Administrator,
    at: Named,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let bytes = body::read(&app, &headers, body).await?;
    let CreateInvitation { role, note } = body::parse(&bytes)?;
    let note = note.unwrap_or_default();
    if note.chars().count() > 200 || note.chars().any(char::is_control) {
        return Err(Problem::invalid("note", "must have at most 200 characters and no control characters"));
    }
    let project = at.project(&app).await?;
    let entrance = Entrance::Member(project.id, role);
    let made = app.desk().people.link(&who.store(&app), entrance, &note, INVITED).await?.ok_or_else(no_project)?;
    let link = format!("{}/join/{}", workshop(&app)?.public_url, made.token.expose());
    let view = InvitationView::new(made.invitation, Some(link)).ok_or_else(no_project)?;
    Ok((StatusCode::CREATED, axum::Json(view)).into_response())
}

/// Withdraw an invitation
///
/// Again does nothing.
#[utoipa::path(delete, path = "/v1/admin/projects/{projectId}/invitations/{invitationId}", tag = "Administration",
    operation_id = "deleteInvitation",
    params(("projectId" = String, Path, description = "The project"),
        ("invitationId" = String, Path, description = "The invitation")),
    responses((status = 204, description = "The invitation is withdrawn; its link no longer works")))]
pub(super) async fn delete_invitation(
    State(app): State<App>,
    who: Administrator,
    at: Named,
) -> Result<Response, Problem> {
    let project = at.project(&app).await?;
    who.store(&app).withdraw(Some(&project.id), &at.invitation).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
