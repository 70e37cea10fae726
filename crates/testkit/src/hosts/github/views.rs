//! GitHub's documents.

use copydesk_domain::{PullRequestState, Timestamp};
use serde_json::{Value, json};

use super::REST;
use crate::hosts::people::id_of;
use crate::hosts::state::{Pull, Repo, Rights};
use crate::hosts::talk::{Place, Remark};

/// An instant as GitHub writes it: to the second.
pub(super) fn instant(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.split('.').next().unwrap_or_default())
}

/// The id that GraphQL knows a pull request by.
pub(super) fn node(repo: &Repo, pull: &Pull) -> String {
    format!("PR_kwDO{}_{}", repo.id, pull.number)
}

pub(super) fn user(login: &str, origin: &str) -> Value {
    let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
    json!({
        "login": login, "id": id_of(login), "node_id": format!("U_kgDO{}", id_of(login)), "type": kind, "site_admin": false,
        "url": format!("{origin}{REST}/users/{login}"), "html_url": format!("{origin}/{login}"),
    })
}

pub(super) fn repo(repo: &Repo, origin: &str, rights: Rights) -> Value {
    let path = &repo.path;
    json!({
        "id": repo.id, "node_id": format!("R_kgDO{}", repo.id), "name": repo.name(), "full_name": path,
        "private": repo.private, "visibility": if repo.private { "private" } else { "public" },
        "owner": user(repo.owner(), origin),
        "html_url": format!("{origin}/{path}"), "url": format!("{origin}{REST}/repos/{path}"),
        "clone_url": format!("{origin}/{path}.git"), "fork": false, "archived": repo.archived, "disabled": false,
        "default_branch": repo.default_branch,
        "permissions": {
            "admin": rights.admin, "maintain": rights.admin, "push": rights.push, "triage": rights.push, "pull": rights.read,
        },
    })
}

pub(super) fn label(repo: &Repo, name: &str, origin: &str) -> Value {
    let id = repo.talk.label(name).map(|label| label.id);
    json!({
        "id": id, "node_id": format!("LA_kwDO{}", id.unwrap_or_default()), "name": name, "color": "ededed",
        "url": format!("{origin}{REST}/repos/{}/labels/{name}", repo.path), "default": false, "description": null,
    })
}

pub(super) fn labels(repo: &Repo, names: &[String], origin: &str) -> Value {
    names.iter().map(|name| label(repo, name, origin)).collect()
}

/// A pull request; `whole` for itself, else as lists have it.
pub(super) fn pull(repo: &Repo, pull: &Pull, origin: &str, whole: bool) -> Value {
    let (path, number) = (&repo.path, pull.number);
    let api = format!("{origin}{REST}/repos/{path}");
    let side = |branch: &str| {
        json!({
            "label": format!("{}:{branch}", repo.owner()), "ref": branch, "sha": repo.tip(branch),
            "user": user(repo.owner(), origin), "repo": self::repo(repo, origin, Rights::READ),
        })
    };
    let merged = pull.state == PullRequestState::Merged;
    let reviewers: Vec<Value> = pull.reviewers.iter().map(|login| user(login, origin)).collect();
    let said = repo.talk.said(Place::Pull(number));
    let (plain, at_lines): (Vec<&Remark>, Vec<&Remark>) = said.into_iter().partition(|remark| remark.is_plain());
    let mut value = json!({
        "id": 1_000_000 + repo.id * 100 + number, "node_id": node(repo, pull), "number": number,
        "url": format!("{api}/pulls/{number}"), "html_url": format!("{origin}/{path}/pull/{number}"),
        "issue_url": format!("{api}/issues/{number}"), "comments_url": format!("{api}/issues/{number}/comments"),
        "state": if pull.state == PullRequestState::Open { "open" } else { "closed" }, "locked": false,
        "title": pull.title, "body": if pull.body.is_empty() { Value::Null } else { json!(pull.body) },
        "user": user(&pull.author, origin), "draft": pull.draft,
        "created_at": instant(pull.created_at), "updated_at": instant(pull.updated_at),
        "closed_at": pull.closed_at.map(instant), "merged_at": pull.merged_at.map(instant),
        "merge_commit_sha": pull.merge_commit, "head": side(&pull.head), "base": side(&pull.base),
        "assignee": null, "assignees": [], "requested_reviewers": reviewers, "requested_teams": [],
        "labels": labels(repo, &pull.labels, origin),
        "milestone": null, "author_association": "COLLABORATOR", "auto_merge": null, "active_lock_reason": null,
    });
    if whole {
        // Lists do without these.
        let more = json!({
            "merged": merged, "mergeable": if merged { Value::Null } else { json!(true) },
            "mergeable_state": if merged { "unknown" } else { "clean" },
            "merged_by": if merged { user("octo-reviewer", origin) } else { Value::Null },
            "comments": plain.len(), "review_comments": at_lines.len(), "maintainer_can_modify": false, "commits": 1,
        });
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    value
}
