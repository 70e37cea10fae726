//! GitLab's documents of what people say, and what it sends of it.

use copydesk_domain::Timestamp;
use serde_json::{Value, json};

use super::gitlab_views::{self as views, user};
use super::hooks::Delivery;
use super::news::{News, Telling};
use super::people::id_of;
use super::state::{Hook, Pull, Repo};
use super::talk::{Issue, Place, Remark};

fn number_of(repo: &Repo, issue: &Issue) -> u64 {
    800_000 + repo.id * 100 + issue.number
}

/// Where in the difference a note stands.
fn position(repo: &Repo, remark: &Remark) -> Value {
    let Place::Pull(number) = remark.place else { return Value::Null };
    let pull = repo.pull(number).unwrap();
    let (base, head) = (repo.tip(&pull.base), repo.tip(&pull.head));
    json!({
        "base_sha": base, "start_sha": base, "head_sha": head, "old_path": remark.comment.file,
        "new_path": remark.comment.file, "position_type": "text", "old_line": null, "new_line": remark.comment.line,
        "line_range": null,
    })
}

pub(super) fn note(repo: &Repo, remark: &Remark, origin: &str) -> Value {
    let (kind, id) = match remark.place {
        Place::Pull(number) => ("MergeRequest", 900_000 + repo.id * 100 + number),
        Place::Issue(number) => ("Issue", 800_000 + repo.id * 100 + number),
    };
    let mut value = json!({
        "id": remark.comment.id, "type": if remark.is_plain() { Value::Null } else { json!("DiffNote") },
        "body": remark.comment.body, "attachment": null, "author": user(&remark.comment.by, origin),
        "created_at": remark.created_at, "updated_at": remark.updated_at, "system": false,
        "noteable_id": id, "noteable_type": kind, "noteable_iid": remark.place.number(), "project_id": repo.id,
        "resolvable": !remark.is_plain(), "confidential": false, "internal": false, "imported": false,
        "imported_from": "none", "commands_changes": {},
    });
    if !remark.is_plain() {
        value["position"] = position(repo, remark);
        value["resolved"] = json!(false);
    }
    value
}

pub(super) fn issue(repo: &Repo, issue: &Issue, origin: &str) -> Value {
    let (path, number) = (&repo.path, issue.number);
    let closed = issue.closed_at.is_some();
    json!({
        "id": number_of(repo, issue), "iid": number, "project_id": repo.id, "title": issue.title,
        "description": issue.body, "state": if closed { "closed" } else { "opened" },
        "created_at": issue.created_at, "updated_at": issue.updated_at, "closed_at": issue.closed_at,
        "closed_by": if closed { user("gl-reviewer", origin) } else { Value::Null }, "labels": issue.labels,
        "milestone": null, "assignees": [], "assignee": null, "author": user(&issue.author, origin), "type": "ISSUE",
        "issue_type": "issue", "confidential": false, "discussion_locked": null, "due_date": null,
        "user_notes_count": repo.talk.said(Place::Issue(number)).len(), "upvotes": 0, "downvotes": 0,
        "references": { "short": format!("#{number}"), "relative": format!("#{number}"), "full": format!("{path}#{number}") },
        "web_url": format!("{origin}/{path}/-/issues/{number}"),
    })
}

pub(super) fn told(news: &News<'_>, to: &Telling<'_>) -> Delivery {
    let (repo, origin) = (to.repo, to.origin);
    let (event, mut body, by) = match news {
        News::Comment { pull, remark } => {
            let mut body = note_event(repo, remark, origin);
            body["merge_request"] = merge_request(repo, pull, origin);
            ("Note Hook", body, remark.comment.by.as_str())
        }
        News::IssueComment { issue, remark } => {
            let mut body = note_event(repo, remark, origin);
            body["issue"] = issue_part(repo, issue, origin);
            ("Note Hook", body, remark.comment.by.as_str())
        }
        News::Label { issue, label, by, added } => {
            ("Issue Hook", label_event(repo, issue, label, *added, by, origin), by.as_str())
        }
        News::Relabel { .. } => panic!("GitLab tells of each label"),
        News::Review { .. } => panic!("GitLab has no reviews of its own, only notes"),
    };
    body["user"] = json!({
        "id": id_of(by), "name": by, "username": by, "avatar_url": null, "email": "[REDACTED]",
    });
    body["project"] = views::hook_project(repo, origin);
    body["repository"] = views::hook_repository(repo, origin);
    send(event, &body, to.serial, repo, to.hook, origin)
}

/// A message in GitLab's clothes. It shows the secret instead of signing.
pub(super) fn send(event: &str, body: &Value, serial: u64, repo: &Repo, hook: &Hook, origin: &str) -> Delivery {
    Delivery::new("GitLab/17.11.0", body)
        .with("x-gitlab-event", event)
        .with("x-gitlab-instance", origin)
        .with("x-gitlab-webhook-uuid", format!("13792a34-cac6-4fda-95a8-{:012}", repo.id))
        .with("x-gitlab-event-uuid", format!("1f2a3b4c-5d6e-4f70-8192-{serial:012}"))
        .with("idempotency-key", format!("f5e57ebe-2c48-4a5e-a7c0-{serial:012}"))
        .with("x-gitlab-token", &hook.secret)
}

/// Instants are written otherwise than elsewhere.
fn instant(at: Timestamp) -> String {
    views::hook_instant(at)
}

fn note_event(repo: &Repo, remark: &Remark, origin: &str) -> Value {
    let (kind, id, folder) = match remark.place {
        Place::Pull(number) => ("MergeRequest", 900_000 + repo.id * 100 + number, "merge_requests"),
        Place::Issue(number) => ("Issue", 800_000 + repo.id * 100 + number, "issues"),
    };
    let (note, number) = (&remark.comment, remark.place.number());
    json!({
        "object_kind": "note", "event_type": "note", "project_id": repo.id,
        "object_attributes": {
            "id": note.id, "note": note.body, "description": note.body, "noteable_type": kind, "noteable_id": id,
            "author_id": id_of(&note.by), "project_id": repo.id, "attachment": null, "line_code": null,
            "commit_id": "", "system": false, "st_diff": null, "action": "create", "internal": false,
            "type": if remark.is_plain() { Value::Null } else { json!("DiffNote") },
            "position": if remark.is_plain() { Value::Null } else { position(repo, remark) },
            "discussion_id": format!("{:040x}", note.id), "resolved_at": null, "resolved_by_id": null,
            "created_at": instant(remark.created_at), "updated_at": instant(remark.updated_at),
            "url": format!("{origin}/{}/-/{folder}/{number}#note_{}", repo.path, note.id),
        },
    })
}

fn merge_request(repo: &Repo, pull: &Pull, origin: &str) -> Value {
    let number = pull.number;
    json!({
        "id": 900_000 + repo.id * 100 + number, "iid": number, "title": pull.title, "description": pull.body,
        "state": views::state(pull), "author_id": id_of(&pull.author), "draft": pull.draft,
        "work_in_progress": pull.draft, "source_branch": pull.head, "target_branch": pull.base,
        "source_project_id": repo.id, "target_project_id": repo.id, "labels": hook_labels(repo, &pull.labels),
        "last_commit": { "id": repo.tip(&pull.head) }, "detailed_merge_status": "mergeable",
        "created_at": instant(pull.created_at), "updated_at": instant(pull.updated_at),
        "url": format!("{origin}/{}/-/merge_requests/{number}", repo.path),
    })
}

fn issue_part(repo: &Repo, issue: &Issue, origin: &str) -> Value {
    let number = issue.number;
    json!({
        "id": number_of(repo, issue), "iid": number, "title": issue.title, "description": issue.body,
        "state": if issue.closed_at.is_some() { "closed" } else { "opened" }, "author_id": id_of(&issue.author),
        "project_id": repo.id, "confidential": false, "assignee_ids": [], "labels": hook_labels(repo, &issue.labels),
        "created_at": instant(issue.created_at), "updated_at": instant(issue.updated_at), "type": "Issue",
        "url": format!("{origin}/{}/-/issues/{number}", repo.path),
    })
}

/// Labels as messages have them: whole, while the interface only names them.
fn hook_labels(repo: &Repo, names: &[String]) -> Vec<Value> {
    let view = |name: &String| {
        json!({
            "id": repo.talk.label(name).map(|label| label.id), "title": name, "color": "#6699cc",
            "project_id": repo.id, "template": false, "description": null, "type": "ProjectLabel", "group_id": null,
        })
    };
    names.iter().map(view).collect()
}

fn label_event(repo: &Repo, issue: &Issue, label: &str, added: bool, by: &str, origin: &str) -> Value {
    let mut before: Vec<String> =
        issue.labels.iter().filter(|there| !there.eq_ignore_ascii_case(label)).cloned().collect();
    if !added {
        before.push(label.to_owned());
    }
    let mut attributes = issue_part(repo, issue, origin);
    attributes["action"] = json!("update");
    attributes["updated_by_id"] = json!(id_of(by));
    let now = hook_labels(repo, &issue.labels);
    json!({
        "object_kind": "issue", "event_type": "issue", "object_attributes": attributes, "labels": now,
        "changes": { "labels": { "previous": hook_labels(repo, &before), "current": now } },
    })
}
