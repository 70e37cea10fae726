//! GitHub's documents of what people say.

use copydesk_domain::PullRequestState;
use serde_json::{Value, json};

use super::REST;
use super::views::{instant, labels, node, user};
use crate::hosts::people::Access;
use crate::hosts::state::{Pull, Repo};
use crate::hosts::talk::{Issue, Place, Remark, Review};

/// How somebody stands to a repository. It says less than it seems: who may only read is a collaborator too.
fn association(repo: &Repo, login: &str) -> &'static str {
    let access = repo.members.iter().find(|(there, _)| there.eq_ignore_ascii_case(login));
    match access.map(|(_, access)| *access) {
        Some(Access::Read | Access::Write | Access::Admin) => "COLLABORATOR",
        Some(Access::None) | None => "NONE",
    }
}

fn some(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}

pub(super) fn issue(repo: &Repo, issue: &Issue, origin: &str) -> Value {
    let (path, number) = (&repo.path, issue.number);
    let api = format!("{origin}{REST}/repos/{path}");
    json!({
        "id": 2_000_000 + repo.id * 100 + number, "node_id": format!("I_kwDO{}_{number}", repo.id), "number": number,
        "url": format!("{api}/issues/{number}"), "repository_url": api,
        "comments_url": format!("{api}/issues/{number}/comments"),
        "labels_url": format!("{api}/issues/{number}/labels{{/name}}"),
        "html_url": format!("{origin}/{path}/issues/{number}"), "title": issue.title, "body": some(&issue.body),
        "user": user(&issue.author, origin), "labels": labels(repo, &issue.labels, origin),
        "state": if issue.closed_at.is_some() { "closed" } else { "open" },
        "state_reason": issue.closed_at.map(|_| "completed"), "locked": false, "active_lock_reason": null,
        "assignee": null, "assignees": [], "milestone": null,
        "comments": repo.talk.said(Place::Issue(number)).len(),
        "author_association": association(repo, &issue.author), "created_at": instant(issue.created_at),
        "updated_at": instant(issue.updated_at), "closed_at": issue.closed_at.map(instant),
    })
}

/// A pull request as the issue that it is too.
pub(super) fn pull_as_issue(repo: &Repo, pull: &Pull, origin: &str) -> Value {
    let (path, number) = (&repo.path, pull.number);
    let api = format!("{origin}{REST}/repos/{path}");
    let html = format!("{origin}/{path}/pull/{number}");
    let said = repo.talk.said(Place::Pull(number));
    json!({
        "id": 2_000_000 + repo.id * 100 + number, "node_id": node(repo, pull), "number": number,
        "url": format!("{api}/issues/{number}"), "repository_url": api,
        "comments_url": format!("{api}/issues/{number}/comments"),
        "labels_url": format!("{api}/issues/{number}/labels{{/name}}"), "html_url": html,
        "title": pull.title, "body": some(&pull.body), "user": user(&pull.author, origin),
        "labels": labels(repo, &pull.labels, origin), "draft": pull.draft,
        "state": if pull.state == PullRequestState::Open { "open" } else { "closed" }, "state_reason": null,
        "locked": false, "active_lock_reason": null, "assignee": null, "assignees": [], "milestone": null,
        "comments": said.iter().filter(|remark| remark.is_plain()).count(),
        "author_association": association(repo, &pull.author), "created_at": instant(pull.created_at),
        "updated_at": instant(pull.updated_at), "closed_at": pull.closed_at.map(instant),
        "pull_request": {
            "url": format!("{api}/pulls/{number}"), "html_url": html, "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"), "merged_at": pull.merged_at.map(instant),
        },
    })
}

/// A comment in the conversation of an issue or pull request.
pub(super) fn comment(repo: &Repo, remark: &Remark, origin: &str) -> Value {
    let (path, id, number) = (&repo.path, remark.comment.id, remark.place.number());
    let api = format!("{origin}{REST}/repos/{path}");
    let folder = if matches!(remark.place, Place::Pull(_)) { "pull" } else { "issues" };
    json!({
        "id": id, "node_id": format!("IC_kwDO{id}"), "url": format!("{api}/issues/comments/{id}"),
        "html_url": format!("{origin}/{path}/{folder}/{number}#issuecomment-{id}"),
        "issue_url": format!("{api}/issues/{number}"), "user": user(&remark.comment.by, origin),
        "author_association": association(repo, &remark.comment.by), "body": remark.comment.body,
        "created_at": instant(remark.created_at), "updated_at": instant(remark.updated_at),
        "performed_via_github_app": null,
    })
}

/// A review; webhooks write its state in small letters.
pub(super) fn review(repo: &Repo, review: &Review, origin: &str, small: bool) -> Value {
    let (path, id, number) = (&repo.path, review.id, review.pull);
    let html = format!("{origin}/{path}/pull/{number}#pullrequestreview-{id}");
    let pull = format!("{origin}{REST}/repos/{path}/pulls/{number}");
    json!({
        "id": id, "node_id": format!("PRR_kwDO{id}"), "user": user(&review.by, origin),
        // Webhooks have null for nothing, too.
        "body": if small { some(&review.body) } else { json!(review.body) },
        "state": if small { "commented" } else { "COMMENTED" }, "html_url": html, "pull_request_url": pull,
        "author_association": association(repo, &review.by), "submitted_at": instant(review.created_at),
        "commit_id": review.commit,
        "_links": { "html": { "href": html }, "pull_request": { "href": pull } },
    })
}

/// A comment at a line, which belongs to a review.
pub(super) fn review_comment(repo: &Repo, remark: &Remark, commit: Option<&str>, origin: &str) -> Value {
    let (path, id, number) = (&repo.path, remark.comment.id, remark.place.number());
    let api = format!("{origin}{REST}/repos/{path}/pulls");
    let html = format!("{origin}/{path}/pull/{number}#discussion_r{id}");
    let position = remark.hunk.as_ref().map(|hunk| hunk.position);
    json!({
        "id": id, "node_id": format!("PRRC_kwDO{id}"), "pull_request_review_id": remark.review,
        "url": format!("{api}/comments/{id}"), "html_url": html, "pull_request_url": format!("{api}/{number}"),
        "diff_hunk": remark.hunk.as_ref().map_or("", |hunk| &hunk.text), "path": remark.comment.file,
        "position": position, "original_position": position, "line": remark.comment.line,
        "original_line": remark.comment.line, "side": "RIGHT", "start_line": null, "original_start_line": null,
        "start_side": null, "commit_id": commit, "original_commit_id": commit, "user": user(&remark.comment.by, origin),
        "author_association": association(repo, &remark.comment.by), "body": remark.comment.body,
        "created_at": instant(remark.created_at), "updated_at": instant(remark.updated_at),
        "_links": {
            "self": { "href": format!("{api}/comments/{id}") }, "html": { "href": html },
            "pull_request": { "href": format!("{api}/{number}") },
        },
    })
}
