//! The documents of Forgejo and Gitea of what people say, and what they send of it.

use copydesk_domain::PullRequestState;
use serde_json::{Value, json};

use super::forgejo_views::{self as views, instant, labels, user};
use super::hooks::Delivery;
use super::news::{News, Telling};
use super::state::{Hook, Pull, Repo, Rights};
use super::talk::{Issue, Place, Remark, Review};

fn html(repo: &Repo, place: Place, origin: &str) -> String {
    let folder = if matches!(place, Place::Pull(_)) { "pulls" } else { "issues" };
    format!("{origin}/{}/{folder}/{}", repo.path, place.number())
}

fn meta(repo: &Repo) -> Value {
    json!({ "id": repo.id, "name": repo.name(), "owner": repo.owner(), "full_name": repo.path })
}

pub(super) fn issue(repo: &Repo, issue: &Issue, origin: &str) -> Value {
    let (path, number) = (&repo.path, issue.number);
    json!({
        "id": 700 + number, "url": format!("{origin}/api/v1/repos/{path}/issues/{number}"),
        "html_url": html(repo, Place::Issue(number), origin), "number": number, "user": user(&issue.author, origin),
        "original_author": "", "original_author_id": 0, "title": issue.title, "body": issue.body, "ref": "",
        "assets": [], "labels": labels(repo, &issue.labels, origin), "milestone": null, "assignee": null,
        "assignees": null, "state": if issue.closed_at.is_some() { "closed" } else { "open" }, "is_locked": false,
        "comments": repo.talk.said(Place::Issue(number)).len(), "created_at": instant(issue.created_at),
        "updated_at": instant(issue.updated_at), "closed_at": issue.closed_at.map(instant), "due_date": null,
        "pull_request": null, "repository": meta(repo), "pin_order": 0,
    })
}

/// A pull request as the issue that it is too.
pub(super) fn pull_as_issue(repo: &Repo, pull: &Pull, origin: &str) -> Value {
    let (path, number) = (&repo.path, pull.number);
    let page = html(repo, Place::Pull(number), origin);
    let plain = repo.talk.said(Place::Pull(number)).iter().filter(|remark| remark.is_plain()).count();
    json!({
        "id": 500 + number, "url": format!("{origin}/api/v1/repos/{path}/issues/{number}"), "html_url": page,
        "number": number, "user": user(&pull.author, origin), "original_author": "", "original_author_id": 0,
        "title": pull.title, "body": pull.body, "ref": "", "assets": [],
        "labels": labels(repo, &pull.labels, origin), "milestone": null, "assignee": null, "assignees": null,
        "state": if pull.state == PullRequestState::Open { "open" } else { "closed" }, "is_locked": false,
        "comments": plain, "created_at": instant(pull.created_at), "updated_at": instant(pull.updated_at),
        "closed_at": pull.closed_at.map(instant), "due_date": null,
        "pull_request": {
            "merged": pull.state == PullRequestState::Merged, "merged_at": pull.merged_at.map(instant),
            "draft": pull.draft, "html_url": page,
        },
        "repository": meta(repo), "pin_order": 0,
    })
}

/// A comment in the conversation. It leads to the issue or to the pull request, never to both.
pub(super) fn comment(repo: &Repo, remark: &Remark, origin: &str) -> Value {
    let page = html(repo, remark.place, origin);
    let is_pull = matches!(remark.place, Place::Pull(_));
    let of = |is: bool| if is { page.as_str() } else { "" };
    json!({
        "id": remark.comment.id, "html_url": format!("{page}#issuecomment-{}", remark.comment.id),
        "pull_request_url": of(is_pull), "issue_url": of(!is_pull), "user": user(&remark.comment.by, origin),
        "original_author": "", "original_author_id": 0, "body": remark.comment.body, "assets": [],
        "created_at": instant(remark.created_at), "updated_at": instant(remark.updated_at),
    })
}

pub(super) fn review(repo: &Repo, review: &Review, origin: &str) -> Value {
    let page = html(repo, Place::Pull(review.pull), origin);
    let comments = repo.talk.remarks.iter().filter(|remark| remark.review == Some(review.id)).count();
    json!({
        "id": review.id, "user": user(&review.by, origin), "team": null,
        "state": if review.requested { "REQUEST_REVIEW" } else { "COMMENT" }, "body": review.body,
        "commit_id": if review.requested { "" } else { review.commit.as_deref().unwrap_or_default() },
        "stale": false, "official": false, "dismissed": false, "comments_count": comments,
        "submitted_at": instant(review.created_at), "updated_at": instant(review.created_at),
        "html_url": format!("{page}#issuecomment-{}", review.id), "pull_request_url": page,
    })
}

/// A comment at a line. What is called a position is the line of the new file, and the original one that of the old.
pub(super) fn review_comment(repo: &Repo, remark: &Remark, review: &Review, origin: &str) -> Value {
    let page = html(repo, remark.place, origin);
    json!({
        "id": remark.comment.id, "body": remark.comment.body, "user": user(&remark.comment.by, origin),
        "resolver": null, "pull_request_review_id": review.id, "created_at": instant(remark.created_at),
        "updated_at": instant(remark.updated_at), "path": remark.comment.file, "commit_id": review.commit,
        "original_commit_id": "", "diff_hunk": remark.hunk.as_ref().map_or("", |hunk| &hunk.text),
        "position": remark.comment.line.unwrap_or_default(), "original_position": 0,
        "html_url": format!("{page}#issuecomment-{}", remark.comment.id), "pull_request_url": page,
    })
}

pub(super) fn told(news: &News<'_>, to: &Telling<'_>) -> Delivery {
    let (repo, origin) = (to.repo, to.origin);
    let (event, kind, mut body, sender) = match news {
        News::Comment { pull, remark } => {
            let is_first = |first: &&Remark| first.review == remark.review && !first.is_plain();
            let is_reply = repo.talk.remarks.iter().find(is_first).is_some_and(|it| it.comment.id != remark.comment.id);
            assert!(remark.is_plain() || is_reply, "comments at lines are told with their review");
            let body = json!({
                "action": "created", "issue": pull_as_issue(repo, pull, origin), "is_pull": true,
                "pull_request": views::pull(repo, pull, origin), "comment": comment(repo, remark, origin),
            });
            ("issue_comment", "pull_request_comment", body, remark.comment.by.as_str())
        }
        News::IssueComment { issue, remark } => {
            let issue = self::issue(repo, issue, origin);
            let comment = comment(repo, remark, origin);
            let body = json!({ "action": "created", "issue": issue, "comment": comment, "is_pull": false });
            ("issue_comment", "issue_comment", body, remark.comment.by.as_str())
        }
        News::Review { pull, review } => {
            // The review has no id here; whoever wants its comments must look for it.
            let body = json!({
                "action": "reviewed", "number": pull.number, "pull_request": views::pull(repo, pull, origin),
                "requested_reviewer": user(&review.by, origin), "commit_id": "",
                "review": { "type": "pull_request_review_comment", "content": review.body },
            });
            ("pull_request_comment", "pull_request_review_comment", body, review.by.as_str())
        }
        News::Label { issue, by, .. } => {
            // Nor is it said which label it was, or whether it came or went.
            let issue = self::issue(repo, issue, origin);
            let body = json!({ "action": "label_updated", "number": issue["number"], "issue": issue, "commit_id": "" });
            ("issues", "issue_label", body, by.as_str())
        }
        News::Relabel { issue, shown, by, cleared } => {
            let mut issue = self::issue(repo, issue, origin);
            issue["labels"] = labels(repo, shown, origin);
            let action = if *cleared { "label_cleared" } else { "label_updated" };
            let body = json!({ "action": action, "number": issue["number"], "issue": issue, "commit_id": "" });
            ("issues", "issue_label", body, by.as_str())
        }
    };
    body["repository"] = views::repo(repo, origin, Rights::READ);
    body["sender"] = user(sender, origin);
    send((event, kind), &body, to.serial, to.hook)
}

/// A message in Forgejo's clothes, signed; the event, and what kind of it.
pub(super) fn send((event, kind): (&str, &str), body: &Value, serial: u64, hook: &Hook) -> Delivery {
    let id = format!("8ab6f9d0-3d1e-4b8c-9c3b-{serial:012}");
    let mut delivery = Delivery::new("Go-http-client/1.1", body);
    let (new, old) = (delivery.signature(hook), delivery.old_signature(hook));
    for family in ["x-forgejo", "x-gitea", "x-gogs"] {
        delivery = delivery
            .with(&format!("{family}-delivery"), &id)
            .with(&format!("{family}-event"), event)
            .with(&format!("{family}-event-type"), kind)
            .with(&format!("{family}-signature"), &new);
    }
    delivery
        .with("x-github-delivery", &id)
        .with("x-github-event", event)
        .with("x-github-event-type", kind)
        .with("x-hub-signature", format!("sha1={old}"))
        .with("x-hub-signature-256", format!("sha256={new}"))
}
