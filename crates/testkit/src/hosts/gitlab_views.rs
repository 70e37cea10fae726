//! GitLab's documents.

use copydesk_domain::{PullRequestState, Timestamp};
use serde_json::{Value, json};

use super::people::id_of;
use super::state::{Pull, Repo, Rights};
use super::talk::Place;

/// What GitLab takes for a draft, whatever the case.
pub(super) fn is_draft(title: &str) -> bool {
    let title = title.to_ascii_lowercase();
    ["draft:", "[draft]", "(draft)"].iter().any(|prefix| title.starts_with(prefix))
}

/// Its word for where a merge request stands.
pub(super) fn state(pull: &Pull) -> &'static str {
    match pull.state {
        PullRequestState::Open => "opened",
        PullRequestState::Merged => "merged",
        PullRequestState::Closed => "closed",
    }
}

pub(super) fn user(login: &str, origin: &str) -> Value {
    json!({
        "id": id_of(login), "username": login, "name": login, "state": "active", "locked": false, "avatar_url": null,
        "web_url": format!("{origin}/{login}"),
    })
}

pub(super) fn project(repo: &Repo, origin: &str, rights: Rights) -> Value {
    let path = &repo.path;
    let level = match rights {
        Rights { admin: true, .. } => 40,
        Rights { push: true, .. } => 30,
        _ => 20,
    };
    json!({
        "id": repo.id, "name": repo.name(), "path": repo.name(), "path_with_namespace": path,
        "name_with_namespace": path.replace('/', " / "), "default_branch": repo.default_branch,
        "visibility": if repo.private { "private" } else { "public" }, "archived": repo.archived,
        "web_url": format!("{origin}/{path}"), "http_url_to_repo": format!("{origin}/{path}.git"),
        "namespace": { "id": 77, "path": repo.owner(), "full_path": repo.owner(), "kind": "group" },
        "merge_requests_enabled": repo.takes_pulls,
        "merge_requests_access_level": if repo.takes_pulls { "enabled" } else { "disabled" }, "empty_repo": false,
        "permissions": { "project_access": { "access_level": level, "notification_level": 3 }, "group_access": null },
    })
}

pub(super) fn merge_request(repo: &Repo, pull: &Pull, origin: &str) -> Value {
    let (path, number) = (&repo.path, pull.number);
    let by = |done: bool| if done { user("gl-reviewer", origin) } else { Value::Null };
    let merged = pull.state == PullRequestState::Merged;
    let closed = pull.state == PullRequestState::Closed;
    let reviewers: Vec<Value> = pull.reviewers.iter().map(|login| user(login, origin)).collect();
    json!({
        "id": 900_000 + repo.id * 100 + number, "iid": number, "project_id": repo.id,
        "title": pull.title, "description": pull.body, "state": state(pull),
        "created_at": pull.created_at, "updated_at": pull.updated_at,
        "merged_by": by(merged), "merge_user": by(merged), "merged_at": pull.merged_at,
        "closed_by": by(closed), "closed_at": pull.closed_at.filter(|_| closed),
        "source_branch": pull.head, "target_branch": pull.base,
        "source_project_id": repo.id, "target_project_id": repo.id,
        "author": user(&pull.author, origin), "assignees": [], "assignee": null, "reviewers": reviewers,
        "labels": pull.labels,
        "draft": pull.draft, "work_in_progress": pull.draft, "milestone": null, "sha": repo.tip(&pull.head),
        "merge_commit_sha": pull.merge_commit, "squash_commit_sha": null, "squash": false,
        "merge_status": "can_be_merged", "detailed_merge_status": "mergeable", "has_conflicts": false,
        "user_notes_count": repo.talk.said(Place::Pull(number)).len(), "discussion_locked": null, "should_remove_source_branch": null,
        "references": { "short": format!("!{number}"), "relative": format!("!{number}"), "full": format!("{path}!{number}") },
        "web_url": format!("{origin}/{path}/-/merge_requests/{number}"),
    })
}

/// An instant in a message, which writes it otherwise than the interface.
pub(super) fn hook_instant(at: Timestamp) -> String {
    format!("{} UTC", at.to_string().replace('T', " ").split('.').next().unwrap_or_default())
}

/// The project in a message.
pub(super) fn hook_project(repo: &Repo, origin: &str) -> Value {
    let web = format!("{origin}/{}", repo.path);
    json!({
        "id": repo.id, "name": repo.name(), "path_with_namespace": repo.path, "default_branch": repo.default_branch,
        "web_url": web, "git_http_url": format!("{web}.git"), "namespace": repo.owner(),
        "visibility_level": if repo.private { 0 } else { 20 },
    })
}

/// The same once more, as older receivers know it.
pub(super) fn hook_repository(repo: &Repo, origin: &str) -> Value {
    let web = format!("{origin}/{}", repo.path);
    json!({ "name": repo.name(), "url": format!("{web}.git"), "homepage": web })
}

/// What GitLab tells of a merge request that was merged or closed.
pub(super) fn event(repo: &Repo, pull: &Pull, origin: &str) -> Value {
    let number = pull.number;
    let action = match pull.state {
        PullRequestState::Open => "open",
        PullRequestState::Merged => "merge",
        PullRequestState::Closed => "close",
    };
    json!({
        "object_kind": "merge_request", "event_type": "merge_request",
        "user": { "id": 4102, "name": "Reviewer", "username": "gl-reviewer", "email": "[REDACTED]" },
        "project": hook_project(repo, origin),
        "object_attributes": {
            "id": 900_000 + repo.id * 100 + number, "iid": number, "title": pull.title, "description": pull.body,
            "state": state(pull), "action": action, "draft": pull.draft, "work_in_progress": pull.draft,
            "source_branch": pull.head, "target_branch": pull.base, "source_project_id": repo.id,
            "target_project_id": repo.id, "merge_commit_sha": pull.merge_commit,
            "created_at": hook_instant(pull.created_at), "updated_at": hook_instant(pull.updated_at),
            "url": format!("{origin}/{}/-/merge_requests/{number}", repo.path),
            "last_commit": { "id": repo.tip(&pull.head) },
        },
        "labels": [], "changes": {}, "repository": hook_repository(repo, origin),
    })
}
