//! The documents of Forgejo and Gitea.

use copydesk_domain::{PullRequestState, Timestamp};
use jiff::tz::{Offset, TimeZone};
use serde_json::{Map, Value, json};

use super::people::{Team, id_of};
use super::state::{Pull, Repo, Rights};
use super::talk::{Label, Place};

/// What they take for a draft, whatever the case.
pub(super) fn is_draft(title: &str) -> bool {
    let title = title.to_ascii_lowercase();
    title.starts_with("wip:") || title.starts_with("[wip]")
}

/// An instant as they write it: in the time zone of the server, which is seldom UTC.
pub(super) fn instant(at: Timestamp) -> String {
    let zone = TimeZone::fixed(Offset::constant(1));
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap().to_zoned(zone);
    at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

pub(super) fn user(login: &str, origin: &str) -> Value {
    json!({
        "id": id_of(login), "login": login, "login_name": "", "full_name": "", "username": login, "active": false,
        "email": format!("{login}@noreply.forgejo.example"), "html_url": format!("{origin}/{login}"),
    })
}

pub(super) fn repo(repo: &Repo, origin: &str, rights: Rights) -> Value {
    let path = &repo.path;
    json!({
        "id": repo.id, "owner": user(repo.owner(), origin), "name": repo.name(), "full_name": path,
        "empty": false, "private": repo.private, "fork": false, "archived": repo.archived, "mirror": false,
        "url": format!("{origin}/api/v1/repos/{path}"), "html_url": format!("{origin}/{path}"),
        "clone_url": format!("{origin}/{path}.git"), "default_branch": repo.default_branch,
        "has_pull_requests": repo.takes_pulls,
        "permissions": { "admin": rights.admin, "push": rights.push, "pull": rights.read },
    })
}

pub(super) fn team(name: &str, team: &Team) -> Value {
    let (access, units) = (team.access.word(), ["repo.code", "repo.issues", "repo.pulls"]);
    let map: Map<String, Value> = units.iter().map(|&unit| (unit.to_owned(), json!(access))).collect();
    json!({
        "id": id_of(name), "name": name, "description": "", "organization": null, "includes_all_repositories": false,
        "permission": access, "units": units, "units_map": map, "can_create_org_repo": false,
    })
}

pub(super) fn label(repo: &Repo, label: &Label, origin: &str) -> Value {
    json!({
        "id": label.id, "name": label.name, "exclusive": false, "is_archived": false, "color": "00aabb",
        "description": "", "url": format!("{origin}/api/v1/repos/{}/labels/{}", repo.path, label.id),
    })
}

pub(super) fn labels(repo: &Repo, names: &[String], origin: &str) -> Value {
    names.iter().filter_map(|name| repo.talk.label(name)).map(|there| label(repo, there, origin)).collect()
}

pub(super) fn pull(repo: &Repo, pull: &Pull, origin: &str) -> Value {
    let (path, number) = (&repo.path, pull.number);
    let html = format!("{origin}/{path}/pulls/{number}");
    let side = |branch: &str| {
        // Of a branch that is gone, the label stays.
        let there = repo.tip(branch).map_or_else(|| format!("refs/pull/{number}/head"), |_| branch.to_owned());
        json!({
            "label": branch, "ref": there, "sha": repo.tip(branch), "repo_id": repo.id,
            "repo": self::repo(repo, origin, Rights::READ),
        })
    };
    let merged = pull.state == PullRequestState::Merged;
    let plain = repo.talk.said(Place::Pull(number)).iter().filter(|remark| remark.is_plain()).count();
    // None at all are null, as Go writes what is not there.
    let reviewers: Option<Vec<Value>> =
        (!pull.reviewers.is_empty()).then(|| pull.reviewers.iter().map(|login| user(login, origin)).collect());
    json!({
        "id": 500 + number, "url": html, "number": number, "user": user(&pull.author, origin),
        "title": pull.title, "body": pull.body, "labels": labels(repo, &pull.labels, origin), "milestone": null, "assignee": null, "assignees": null,
        "requested_reviewers": reviewers, "state": if pull.state == PullRequestState::Open { "open" } else { "closed" },
        "draft": pull.draft, "is_locked": false, "comments": plain, "html_url": html,
        "diff_url": format!("{html}.diff"), "patch_url": format!("{html}.patch"), "mergeable": !merged,
        "merged": merged, "merged_at": pull.merged_at.map(instant), "merge_commit_sha": pull.merge_commit,
        "merged_by": if merged { user("forge-reviewer", origin) } else { Value::Null },
        "allow_maintainer_edit": false, "base": side(&pull.base), "head": side(&pull.head), "due_date": null,
        "created_at": instant(pull.created_at), "updated_at": instant(pull.updated_at),
        "closed_at": pull.closed_at.map(instant), "pin_order": 0,
    })
}
