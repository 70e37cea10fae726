//! Bitbucket's documents.

use copydesk_domain::{PullRequestState, Timestamp};
use serde_json::{Value, json};

use super::people::{account_of, uuid_of};
use super::state::{Pull, Repo};
use super::talk::Place;

/// An instant as Bitbucket writes it.
pub(super) fn instant(at: Timestamp) -> String {
    at.to_string().replace('Z', "000+00:00")
}

/// Its word for where a pull request stands.
pub(super) fn state(pull: &Pull) -> &'static str {
    match pull.state {
        PullRequestState::Open => "OPEN",
        PullRequestState::Merged => "MERGED",
        PullRequestState::Closed => "DECLINED",
    }
}

pub(super) fn user(login: &str, origin: &str) -> Value {
    json!({
        "type": "user", "display_name": login, "nickname": login, "account_id": account_of(login),
        "uuid": uuid_of(login),
        "links": { "html": { "href": format!("{origin}/{login}/") } },
    })
}

pub(super) fn repo(repo: &Repo, origin: &str) -> Value {
    let path = &repo.path;
    json!({
        "type": "repository", "uuid": format!("{{00000000-0000-4000-8000-{:012}}}", repo.id), "full_name": path,
        "name": repo.name(), "slug": repo.name(), "scm": "git", "is_private": repo.private,
        "mainbranch": { "type": "branch", "name": repo.default_branch },
        "workspace": { "type": "workspace", "slug": repo.owner() },
        "links": {
            "self": { "href": format!("{origin}/2.0/repositories/{path}") }, "html": { "href": format!("{origin}/{path}") },
            "clone": [{ "name": "https", "href": format!("{origin}/{path}.git") }],
        },
    })
}

pub(super) fn pull(repo: &Repo, pull: &Pull, origin: &str) -> Value {
    let (path, number) = (&repo.path, pull.number);
    let api = format!("{origin}/2.0/repositories/{path}/pullrequests/{number}");
    let side = |branch: &str| {
        // Short, unlike everywhere else.
        let hash = repo.tip(branch).map(|id| id[..12].to_owned());
        json!({
            "branch": { "name": branch }, "commit": { "type": "commit", "hash": hash },
            "repository": {
                "type": "repository", "full_name": path, "name": repo.name(),
                "uuid": format!("{{00000000-0000-4000-8000-{:012}}}", repo.id),
            },
        })
    };
    let closed = pull.state != PullRequestState::Open;
    let comments = repo.talk.said(Place::Pull(number)).iter().filter(|remark| !remark.deleted).count();
    let reviewers: Vec<Value> = pull.reviewers.iter().map(|login| user(login, origin)).collect();
    let participant = |login: &String| {
        json!({
            "type": "participant", "user": user(login, origin), "role": "REVIEWER", "approved": false, "state": null,
        })
    };
    let participants: Vec<Value> = pull.reviewers.iter().map(participant).collect();
    json!({
        "type": "pullrequest", "id": number, "title": pull.title, "description": pull.body,
        "summary": { "type": "rendered", "raw": pull.body, "markup": "markdown", "html": "" },
        "state": state(pull), "draft": pull.draft, "author": user(&pull.author, origin),
        "source": side(&pull.head), "destination": side(&pull.base),
        "merge_commit": pull.merge_commit.as_ref().map(|id| json!({ "type": "commit", "hash": id[..12] })),
        "closed_by": if closed { user("bb-reviewer", origin) } else { Value::Null }, "reason": "",
        "close_source_branch": false, "comment_count": comments, "task_count": 0,
        "reviewers": reviewers, "participants": participants,
        "created_on": instant(pull.created_at), "updated_on": instant(pull.updated_at),
        "links": {
            "self": { "href": api }, "html": { "href": format!("{origin}/{path}/pull-requests/{number}") },
            "decline": { "href": format!("{api}/decline") }, "merge": { "href": format!("{api}/merge") },
        },
    })
}
