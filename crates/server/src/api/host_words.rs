//! What a delivery of a code host is about, read from the words of each. None of it is believed beyond that: it only says
//! where to look.

use copydesk_desk::asks::Told;
use copydesk_domain::Person;
use serde_json::Value;

/// Which pull request something has happened to.
pub(super) fn pull(delivery: &Value) -> Option<u64> {
    let gitlab = (text(delivery, "/object_kind") == Some("merge_request")).then_some("/object_attributes/iid");
    // GitHub, Forgejo and Gitea; GitLab; Bitbucket.
    let places = [Some("/pull_request/number"), gitlab, Some("/pullrequest/id")];
    places.into_iter().flatten().find_map(|place| number(delivery, place))
}

/// What may ask for something.
pub(super) fn told(delivery: &Value) -> Option<Told> {
    match text(delivery, "/object_kind") {
        Some("note") => gitlab_note(delivery),
        Some("issue") => gitlab_labels(delivery),
        Some(_) => None,
        None => review(delivery).or_else(|| comment(delivery)).or_else(|| labels(delivery)),
    }
}

/// GitHub, Forgejo and Gitea, and Bitbucket.
fn comment(delivery: &Value) -> Option<Told> {
    let id = number(delivery, "/comment/id")?;
    if let Some(pull) = number(delivery, "/pullrequest/id") {
        let text = text(delivery, "/comment/content/raw")?.to_owned();
        return Some(Told::Comment { pull, id, text });
    }
    let is_on_pull = delivery.pointer("/issue/pull_request").is_some_and(Value::is_object)
        || delivery.pointer("/is_pull") == Some(&Value::Bool(true));
    let is_new = matches!(text(delivery, "/action"), Some("created" | "edited"));
    let pull = number(delivery, "/issue/number").filter(|_| is_on_pull && is_new)?;
    Some(Told::Comment { pull, id, text: text(delivery, "/comment/body")?.to_owned() })
}

/// GitHub, Forgejo and Gitea. What is said of a line is part of a review, which GitHub names; the others do not.
fn review(delivery: &Value) -> Option<Told> {
    let pull = number(delivery, "/pull_request/number")?;
    let id = number(delivery, "/review/id").or_else(|| number(delivery, "/comment/pull_request_review_id"));
    match text(delivery, "/action") {
        Some("submitted" | "edited" | "created") => id.map(|id| Told::Review { pull, id: Some(id) }),
        Some("reviewed") => Some(Told::Review { pull, id: None }),
        _ => None,
    }
}

/// GitHub, Forgejo and Gitea.
fn labels(delivery: &Value) -> Option<Told> {
    let issue = number(delivery, "/issue/number")?;
    let is_pull = delivery.pointer("/issue/pull_request").is_some_and(Value::is_object);
    if is_pull || delivery.get("comment").is_some() {
        return None;
    }
    let there = names(delivery.pointer("/issue/labels"), "name");
    let (now, changed) = match text(delivery, "/action") {
        Some("labeled" | "unlabeled") => (there, Some(vec![text(delivery, "/label/name")?.to_owned()])),
        Some("opened") => (there.clone(), Some(there)),
        // Those of a replaced set are missing.
        Some("label_updated") => (there, None),
        // Those that it had before are shown.
        Some("label_cleared") => (Vec::new(), None),
        _ => return None,
    };
    let login = text(delivery, "/sender/login")?.to_owned();
    let by = Person { id: login.clone(), name: login };
    let (title, text) = (said(delivery, "/issue/title"), said(delivery, "/issue/body"));
    Some(Told::Labels { issue, now, changed, by, title, text })
}

fn gitlab_note(delivery: &Value) -> Option<Told> {
    let (id, pull) = (number(delivery, "/object_attributes/id")?, number(delivery, "/merge_request/iid")?);
    let is_on_pull = text(delivery, "/object_attributes/noteable_type") == Some("MergeRequest");
    let text = text(delivery, "/object_attributes/note")?.to_owned();
    is_on_pull.then_some(Told::Comment { pull, id, text })
}

fn gitlab_labels(delivery: &Value) -> Option<Told> {
    let issue = number(delivery, "/object_attributes/iid")?;
    let changed = match text(delivery, "/object_attributes/action") {
        // With those that it has got so.
        Some("open") => Some(names(delivery.get("labels"), "title")),
        Some("update") => {
            let [before, after] = ["previous", "current"]
                .map(|side| names(delivery.pointer(&format!("/changes/labels/{side}")), "title"));
            let differ = |some: &[String], others: &[String]| {
                some.iter().filter(|one| !others.contains(one)).cloned().collect::<Vec<_>>()
            };
            Some([differ(&before, &after), differ(&after, &before)].concat())
        }
        _ => return None,
    };
    let (id, name) = (number(delivery, "/user/id")?, text(delivery, "/user/username")?.to_owned());
    let now = names(delivery.get("labels"), "title");
    let [title, text] = ["title", "description"].map(|field| said(delivery, &format!("/object_attributes/{field}")));
    Some(Told::Labels { issue, now, changed, by: Person { id: id.to_string(), name }, title, text })
}

fn names(list: Option<&Value>, field: &str) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.get(field)?.as_str()).map(str::to_owned).collect()
}

fn said(delivery: &Value, place: &str) -> String {
    text(delivery, place).unwrap_or_default().to_owned()
}

fn number(delivery: &Value, place: &str) -> Option<u64> {
    delivery.pointer(place)?.as_u64()
}

fn text<'d>(delivery: &'d Value, place: &str) -> Option<&'d str> {
    delivery.pointer(place)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_host_names_its_pull_request() {
        assert_eq!(
            pull(&json!({"action": "closed", "number": 3, "pull_request": {"number": 3, "merged": true}})),
            Some(3)
        );
        assert_eq!(pull(&json!({"object_kind": "merge_request", "object_attributes": {"iid": 4, "id": 99}})), Some(4));
        assert_eq!(pull(&json!({"object_kind": "push", "object_attributes": {"iid": 4}})), None);
        assert_eq!(pull(&json!({"pullrequest": {"id": 5}})), Some(5));
        assert_eq!(pull(&json!({"zen": "Keep it simple."})), None);
    }

    #[test]
    fn each_host_tells_of_comments_in_its_own_words() {
        let on = |pull, id| Some(Told::Comment { pull, id, text: "Hi".to_owned() });
        let github = json!({"action": "created", "issue": {"number": 3, "pull_request": {"url": "x"}}, "comment": {"id": 8, "body": "Hi"}});
        assert_eq!(told(&github), on(3, 8));
        let gitea = json!({"action": "edited", "is_pull": true, "issue": {"number": 3, "pull_request": null}, "comment": {"id": 8, "body": "Hi"}});
        assert_eq!(told(&gitea), on(3, 8));
        let gitlab = json!({"object_kind": "note", "object_attributes": {"id": 8, "note": "Hi", "noteable_type": "MergeRequest"}, "merge_request": {"iid": 3}});
        assert_eq!(told(&gitlab), on(3, 8));
        let bitbucket = json!({"pullrequest": {"id": 3}, "comment": {"id": 8, "content": {"raw": "Hi"}}});
        assert_eq!(told(&bitbucket), on(3, 8));
        for nothing in [
            json!({"action": "created", "issue": {"number": 3}, "comment": {"id": 8, "body": "Hi"}}),
            json!({"action": "deleted", "issue": {"number": 3, "pull_request": {}}, "comment": {"id": 8, "body": "Hi"}}),
            json!({"object_kind": "note", "object_attributes": {"id": 8, "note": "Hi", "noteable_type": "Issue"}, "issue": {"iid": 3}}),
            json!({"object_kind": "note", "object_attributes": "x"}),
            json!({"comment": {"id": "8"}, "pullrequest": {"id": 3}}),
            json!([]),
            json!(null),
        ] {
            assert_eq!(told(&nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_review_is_named_or_looked_for() {
        let review = |id| Some(Told::Review { pull: 3, id });
        let handed_in = json!({"action": "submitted", "review": {"id": 8}, "pull_request": {"number": 3}});
        assert_eq!(told(&handed_in), review(Some(8)));
        let on_a_line = json!({"action": "created", "comment": {"id": 9, "pull_request_review_id": 8}, "pull_request": {"number": 3}});
        assert_eq!(told(&on_a_line), review(Some(8)));
        let gitea = json!({"action": "reviewed", "review": {"type": "pull_request_review_comment", "content": "x"}, "pull_request": {"number": 3}});
        assert_eq!(told(&gitea), review(None));
        assert_eq!(told(&json!({"action": "closed", "pull_request": {"number": 3}})), None);
    }

    #[test]
    fn labels_are_told_with_whoever_has_put_them_there() {
        let by = |id: &str| Person { id: id.to_owned(), name: "ada".to_owned() };
        let labels = |now: &[&str], changed: Option<&[&str]>, id| {
            let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
            let (title, text) = ("Say two".to_owned(), String::new());
            Some(Told::Labels { issue: 3, now: own(now), changed: changed.map(own), by: by(id), title, text })
        };
        let github = json!({"action": "labeled", "label": {"name": "docs"}, "issue": {"number": 3, "title": "Say two", "labels": [{"name": "docs"}, {"name": "bug"}]}, "sender": {"login": "ada"}});
        assert_eq!(told(&github), labels(&["docs", "bug"], Some(&["docs"]), "ada"));
        let gitea = json!({"action": "label_updated", "issue": {"number": 3, "title": "Say two", "labels": [{"name": "docs"}]}, "sender": {"login": "ada"}});
        assert_eq!(told(&gitea), labels(&["docs"], None, "ada"));
        let cleared = json!({"action": "label_cleared", "issue": {"number": 3, "title": "Say two", "labels": [{"name": "docs"}]}, "sender": {"login": "ada"}});
        assert_eq!(told(&cleared), labels(&[], None, "ada"));
        let opened = json!({"action": "opened", "issue": {"number": 3, "title": "Say two", "labels": [{"name": "docs"}]}, "sender": {"login": "ada"}});
        assert_eq!(told(&opened), labels(&["docs"], Some(&["docs"]), "ada"));
        let gitlab = json!({"object_kind": "issue", "user": {"id": 7, "username": "ada"}, "labels": [{"title": "docs"}],
            "object_attributes": {"iid": 3, "action": "update", "title": "Say two", "description": null},
            "changes": {"labels": {"previous": [{"title": "bug"}], "current": [{"title": "docs"}]}}});
        assert_eq!(told(&gitlab), labels(&["docs"], Some(&["bug", "docs"]), "7"));
        for nothing in [
            json!({"action": "assigned", "issue": {"number": 3, "title": "Say two", "labels": [{"name": "docs"}]}, "sender": {"login": "ada"}}),
            json!({"action": "labeled", "label": {"name": "docs"}, "issue": {"number": 3, "pull_request": {}}, "sender": {"login": "ada"}}),
            json!({"action": "labeled", "label": {"name": "docs"}, "issue": {"number": 3}}),
        ] {
            assert_eq!(told(&nothing), None, "{nothing}");
        }
    }
}
