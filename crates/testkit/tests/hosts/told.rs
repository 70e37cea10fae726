use aws_lc_rs::hmac;
use copydesk_domain::HostKind;
use copydesk_testkit::hosts::Delivery;
use serde_json::{Value, json};

use super::{KINDS, host, host_with_pull};

fn header<'a>(delivery: &'a Delivery, name: &str) -> &'a str {
    delivery.headers.iter().find(|(there, _)| there == name).map_or("", |(_, value)| value)
}

/// What a delivery says, after its signature was looked at.
fn read(kind: HostKind, delivery: &Delivery) -> Value {
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"planted");
    let tag = hmac::sign(&key, delivery.body.as_bytes());
    let digits: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let (name, proof) = match kind {
        HostKind::Github => ("x-hub-signature-256", format!("sha256={digits}")),
        HostKind::Gitlab => ("x-gitlab-token", "planted".to_owned()),
        HostKind::Forgejo => ("x-forgejo-signature", digits),
        _ => ("x-hub-signature", format!("sha256={digits}")),
    };
    assert_eq!(header(delivery, name), proof, "{kind:?}");
    serde_json::from_str(&delivery.body).unwrap()
}

/// The event, and what sets a message apart from others.
fn names(kind: HostKind, delivery: &Delivery) -> (String, String) {
    let (event, id) = match kind {
        HostKind::Github => ("x-github-event", "x-github-delivery"),
        HostKind::Gitlab => ("x-gitlab-event", "x-gitlab-event-uuid"),
        HostKind::Forgejo => ("x-gitea-event", "x-forgejo-delivery"),
        _ => ("x-event-key", "x-request-uuid"),
    };
    (header(delivery, event).to_owned(), header(delivery, id).to_owned())
}

#[tokio::test]
async fn comments_on_pull_requests_are_told() {
    for kind in KINDS {
        let (host, _) = host_with_pull(kind).await;
        let id = host.comment("acme/docs", 1, "mona", "Shorter, please.");
        let delivery = host.comment_delivery("acme/docs", 1, id, "planted");
        let body = read(kind, &delivery);
        let (event, name) = names(kind, &delivery);
        let again = host.comment_delivery("acme/docs", 1, id, "planted");
        assert_ne!(name, names(kind, &again).1, "{kind:?}");
        let note = &body["object_attributes"];
        let (expected, told) = match kind {
            HostKind::Github => (
                "issue_comment",
                body["action"] == "created"
                    && body["issue"]["pull_request"].is_object()
                    && body["comment"]["id"] == id
                    && body["sender"]["login"] == "mona",
            ),
            HostKind::Gitlab => (
                "Note Hook",
                note["noteable_type"] == "MergeRequest"
                    && note["id"] == id
                    && body["merge_request"]["iid"] == 1
                    && body["user"]["username"] == "mona",
            ),
            HostKind::Forgejo => (
                "issue_comment",
                body["is_pull"] == true
                    && body["comment"]["id"] == id
                    && body["sender"]["login"] == "mona"
                    && header(&delivery, "x-forgejo-event-type") == "pull_request_comment",
            ),
            _ => (
                "pullrequest:comment_created",
                body["comment"]["id"] == id && body["pullrequest"]["id"] == 1 && body["actor"]["nickname"] == "mona",
            ),
        };
        assert_eq!(event, expected, "{kind:?}");
        assert!(told, "{kind:?} {body:#}");
    }
}

#[tokio::test]
async fn reviews_are_told() {
    for kind in KINDS {
        let (host, _) = host_with_pull(kind).await;
        let id = host.review("acme/docs", 1, "mona", "Nearly.", &[("more.md", 1, "Say less.")]);
        let delivery = host.review_delivery("acme/docs", 1, id, "planted");
        let body = read(kind, &delivery);
        let (expected, told) = match kind {
            HostKind::Github => {
                ("pull_request_review", body["action"] == "submitted" && body["review"]["state"] == "commented")
            }
            // The event has another name than its kind, and no id.
            HostKind::Forgejo => (
                "pull_request_comment",
                body["action"] == "reviewed"
                    && body["review"] == json!({ "type": "pull_request_review_comment", "content": "Nearly." })
                    && header(&delivery, "x-gitea-event-type") == "pull_request_review_comment",
            ),
            HostKind::Gitlab => ("Note Hook", body["object_attributes"]["position"]["new_line"] == 1),
            _ => ("pullrequest:comment_created", body["comment"]["inline"]["to"] == 1),
        };
        assert_eq!(names(kind, &delivery).0, expected, "{kind:?}");
        assert!(told, "{kind:?} {body:#}");
    }
}

#[tokio::test]
async fn labels_are_told_where_there_are_any() {
    for kind in [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo] {
        let (host, _) = host(kind).await;
        let issue = host.issue("acme/docs", "mona", "It is wrong", "");
        host.label("acme/docs", issue, "old");
        host.label("acme/docs", issue, "docs");
        let added = host.label_delivery("acme/docs", issue, "docs", "hubot", true, "planted");
        host.unlabel("acme/docs", issue, "docs");
        let removed = host.label_delivery("acme/docs", issue, "docs", "hubot", false, "planted");
        let titles = |list: &Value| -> Vec<String> {
            let name = |label: &Value| label["name"].as_str().or(label["title"].as_str()).unwrap().to_owned();
            list.as_array().unwrap().iter().map(name).collect()
        };
        for (delivery, is_added) in [(added, true), (removed, false)] {
            let body = read(kind, &delivery);
            let now: Vec<&str> = if is_added { vec!["old", "docs"] } else { vec!["old"] };
            let (expected, told, worn) = match kind {
                HostKind::Github => (
                    "issues",
                    body["action"] == if is_added { "labeled" } else { "unlabeled" }
                        && body["label"]["name"] == "docs"
                        && body["sender"]["login"] == "hubot",
                    titles(&body["issue"]["labels"]),
                ),
                HostKind::Gitlab => {
                    let changes = &body["changes"]["labels"];
                    let before = if is_added { vec!["old"] } else { vec!["old", "docs"] };
                    (
                        "Issue Hook",
                        titles(&changes["previous"]) == before
                            && titles(&changes["current"]) == now
                            && body["object_attributes"]["action"] == "update"
                            && body["user"]["username"] == "hubot",
                        titles(&body["labels"]),
                    )
                }
                _ => (
                    "issues",
                    body["action"] == "label_updated"
                        && header(&delivery, "x-gitea-event-type") == "issue_label"
                        && body["label"].is_null()
                        && body["sender"]["login"] == "hubot",
                    titles(&body["issue"]["labels"]),
                ),
            };
            assert_eq!(names(kind, &delivery).0, expected, "{kind:?}");
            assert!(told, "{kind:?} {body:#}");
            assert_eq!(worn, now, "{kind:?}");
        }
    }
}

#[tokio::test]
#[should_panic(expected = "Bitbucket's issues have no labels")]
async fn bitbucket_has_no_labels() {
    let (host, _) = host(HostKind::Bitbucket).await;
    let issue = host.issue("acme/docs", "mona", "It is wrong", "");
    host.label("acme/docs", issue, "docs");
}

#[tokio::test]
async fn comments_on_issues_are_told_apart() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        let issue = host.issue("acme/docs", "mona", "It is wrong", "");
        let delivery = host.issue_comment_delivery("acme/docs", issue, "hubot", "Where?", "planted");
        let body = read(kind, &delivery);
        let (expected, plain) = match kind {
            HostKind::Github => ("issue_comment", body["issue"]["pull_request"].is_null()),
            HostKind::Gitlab => ("Note Hook", body["object_attributes"]["noteable_type"] == "Issue"),
            HostKind::Forgejo => ("issue_comment", body["is_pull"] == false),
            _ => ("issue:comment_created", body["pullrequest"].is_null() && body["issue"]["id"] == issue),
        };
        assert_eq!(names(kind, &delivery).0, expected, "{kind:?}");
        assert!(plain, "{kind:?} {body:#}");
        assert_eq!(host.issue_comments("acme/docs", issue)[0].by, "hubot", "{kind:?}");
    }
}
