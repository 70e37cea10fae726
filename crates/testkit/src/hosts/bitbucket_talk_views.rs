//! Bitbucket's documents of what people say, and what it sends of it.

use serde_json::{Value, json};

use super::bitbucket_views::{self as views, instant, user};
use super::hooks::Delivery;
use super::news::{News, Telling};
use super::state::{Hook, Repo};
use super::talk::{Issue, Place, Remark};

fn content(text: &str) -> Value {
    json!({ "type": "rendered", "raw": text, "markup": "markdown", "html": "" })
}

pub(super) fn comment(repo: &Repo, remark: &Remark, origin: &str) -> Value {
    let (path, id, number) = (&repo.path, remark.comment.id, remark.place.number());
    let (kind, folder, page) = match remark.place {
        Place::Pull(_) => ("pullrequest_comment", "pullrequests", "pull-requests"),
        Place::Issue(_) => ("issue_comment", "issues", "issues"),
    };
    let mut value = json!({
        "type": kind, "id": id, "created_on": instant(remark.created_at), "updated_on": instant(remark.updated_at),
        "content": content(&remark.comment.body), "user": user(&remark.comment.by, origin),
        "links": {
            "self": { "href": format!("{origin}/2.0/repositories/{path}/{folder}/{number}/comments/{id}") },
            "html": { "href": format!("{origin}/{path}/{page}/{number}/_/diff#comment-{id}") },
        },
    });
    if let Place::Pull(number) = remark.place {
        let title = repo.pull(number).map(|pull| pull.title.clone());
        value["deleted"] = json!(remark.deleted);
        value["pending"] = json!(false);
        value["pullrequest"] = json!({ "type": "pullrequest", "id": number, "title": title });
    }
    if !remark.is_plain() {
        // `to` is the line of the new file, `from` that of the old.
        value["inline"] = json!({ "path": remark.comment.file, "from": null, "to": remark.comment.line });
    }
    value
}

pub(super) fn issue(repo: &Repo, issue: &Issue, origin: &str) -> Value {
    let (path, number) = (&repo.path, issue.number);
    json!({
        "type": "issue", "id": number, "title": issue.title, "content": content(&issue.body),
        "reporter": user(&issue.author, origin), "assignee": null, "kind": "bug", "priority": "major",
        "state": if issue.closed_at.is_some() { "closed" } else { "new" }, "component": null, "milestone": null,
        "version": null, "votes": 0, "watches": 1, "repository": views::repo(repo, origin),
        "created_on": instant(issue.created_at), "updated_on": instant(issue.updated_at), "edited_on": null,
        "links": {
            "self": { "href": format!("{origin}/2.0/repositories/{path}/issues/{number}") },
            "html": { "href": format!("{origin}/{path}/issues/{number}") },
        },
    })
}

pub(super) fn told(news: &News<'_>, to: &Telling<'_>) -> Delivery {
    let (repo, origin) = (to.repo, to.origin);
    let (event, mut body, actor) = match news {
        News::Comment { pull, remark } => {
            let body = json!({
                "pullrequest": views::pull(repo, pull, origin), "comment": comment(repo, remark, origin),
            });
            ("pullrequest:comment_created", body, &remark.comment.by)
        }
        News::IssueComment { issue, remark } => {
            let issue = self::issue(repo, issue, origin);
            let body = json!({ "issue": issue, "comment": comment(repo, remark, origin) });
            ("issue:comment_created", body, &remark.comment.by)
        }
        News::Review { .. } | News::Label { .. } | News::Relabel { .. } => {
            panic!("Bitbucket knows neither reviews nor labels")
        }
    };
    body["repository"] = views::repo(repo, origin);
    body["actor"] = user(actor, origin);
    send(event, &body, to.serial, repo, to.hook)
}

/// A message in Bitbucket's clothes, signed.
pub(super) fn send(event: &str, body: &Value, serial: u64, repo: &Repo, hook: &Hook) -> Delivery {
    let delivery = Delivery::new("Bitbucket-Webhooks/2.0", body)
        .with("x-event-key", event)
        .with("x-attempt-number", 1)
        .with("x-hook-uuid", format!("{{b9a4c3d2-0000-4000-8000-{:012}}}", repo.id))
        .with("x-request-uuid", format!("7a1f5e90-0000-4000-8000-{serial:012}"));
    let signature = delivery.signature(hook);
    delivery.with("x-hub-signature", format!("sha256={signature}"))
}
