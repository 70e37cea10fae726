//! What GitHub sends of what people say.

use serde_json::{Value, json};

use super::{talk_views as talk, views};
use crate::hosts::hooks::Delivery;
use crate::hosts::news::{News, Telling};
use crate::hosts::state::{Hook, Repo, Rights};

pub(super) fn told(news: &News<'_>, to: &Telling<'_>) -> Delivery {
    let (repo, origin) = (to.repo, to.origin);
    let (event, mut body, sender) = match news {
        News::Comment { pull, remark } => {
            assert!(remark.is_plain(), "GitHub tells of comments at lines with their review");
            let issue = talk::pull_as_issue(repo, pull, origin);
            let body = json!({ "action": "created", "issue": issue, "comment": talk::comment(repo, remark, origin) });
            ("issue_comment", body, remark.comment.by.as_str())
        }
        News::IssueComment { issue, remark } => {
            let issue = talk::issue(repo, issue, origin);
            let body = json!({ "action": "created", "issue": issue, "comment": talk::comment(repo, remark, origin) });
            ("issue_comment", body, remark.comment.by.as_str())
        }
        News::Review { pull, review } => {
            let pull = views::pull(repo, pull, origin, false);
            let body = json!({
                "action": "submitted", "review": talk::review(repo, review, origin, true), "pull_request": pull,
            });
            ("pull_request_review", body, review.by.as_str())
        }
        News::Label { issue, label, by, added } => {
            let body = json!({
                "action": if *added { "labeled" } else { "unlabeled" }, "issue": talk::issue(repo, issue, origin),
                "label": views::label(repo, label, origin),
            });
            ("issues", body, by.as_str())
        }
        News::Relabel { .. } => panic!("GitHub tells of each label"),
    };
    body["repository"] = views::repo(repo, origin, Rights::READ);
    body["sender"] = views::user(sender, origin);
    send(event, &body, to.serial, repo, to.hook)
}

/// A message in GitHub's clothes, signed.
pub(super) fn send(event: &str, body: &Value, serial: u64, repo: &Repo, hook: &Hook) -> Delivery {
    let delivery = Delivery::new("GitHub-Hookshot/044aadd", body)
        .with("x-github-delivery", format!("72d3162e-cc78-11e3-81ab-{serial:012}"))
        .with("x-github-event", event)
        .with("x-github-hook-id", 292_430_182)
        .with("x-github-hook-installation-target-id", repo.id)
        .with("x-github-hook-installation-target-type", "repository");
    let (new, old) = (delivery.signature(hook), delivery.old_signature(hook));
    delivery.with("x-hub-signature", format!("sha1={old}")).with("x-hub-signature-256", format!("sha256={new}"))
}
