//! Admin keys: what is stored of them, what they open, and when they stop.

use copydesk_domain::{KeyRecord, ProjectId, Scope, Timestamp};
use copydesk_store::{Access, NewKey, Store};
use futures_util::future::join_all;

use crate::desk::{Desk, HOUR, MILLISECOND, SECOND};
use crate::raw;

behaviours! {
    a_key_reads_back_as_it_was_made,
    a_key_is_stored_only_as_its_digest,
    a_key_for_an_unknown_project_is_not_made,
    revoking_again_changes_nothing,
    a_revocation_is_seen_at_once_by_every_process,
    a_key_is_refused_from_the_instant_it_expires,
    access_gives_the_key_and_the_project_it_was_shown_for,
    access_of_an_unknown_key_is_none,
    last_used_only_moves_forward,
    keys_touched_at_the_same_instant_in_any_order_give_no_error,
    the_keys_of_a_project_include_those_for_all,
    a_key_takes_over_from_another_which_ends_later,
    a_key_that_opens_nothing_is_not_taken_over_from,
}

fn new_key(project: Option<&ProjectId>, name: &str) -> NewKey {
    NewKey { project_id: project.cloned(), name: name.to_owned(), scope: Scope::Write, expires_at: None }
}

async fn make(store: &Store, project: Option<&ProjectId>, name: &str) -> (KeyRecord, String) {
    let (record, key) = store.create_key(new_key(project, name)).await.unwrap().unwrap();
    (record, key.digest())
}

async fn access(store: &Store, digest: &str, project: &ProjectId) -> Option<Access> {
    store.access(digest.to_owned(), Some(project.clone())).await.unwrap()
}

async fn a_key_reads_back_as_it_was_made(desk: Desk) {
    let project = desk.project("Docs").await;
    for (scope, owner, expires_at) in
        [(Scope::Read, Some(&project), None), (Scope::Write, None, Some(desk.now().plus(HOUR)))]
    {
        let new = NewKey { project_id: owner.cloned(), name: "Schlüssel".to_owned(), scope, expires_at };
        let (record, key) = desk.store.create_key(new).await.unwrap().unwrap();
        let wanted = KeyRecord {
            id: record.id.clone(),
            project_id: owner.cloned(),
            name: "Schlüssel".to_owned(),
            scope,
            hint: key.hint(),
            created_at: desk.now(),
            expires_at,
            revoked_at: None,
            last_used_at: None,
        };
        assert_eq!(record, wanted);
        assert_eq!(access(&desk.store, &key.digest(), &project).await.unwrap().key, wanted);
    }
}

async fn a_key_is_stored_only_as_its_digest(desk: Desk) {
    let project = desk.project("Docs").await;
    let (_, key) = desk.store.create_key(new_key(Some(&project), "CI")).await.unwrap().unwrap();
    let stored = raw::everything(desk.db.address()).await;
    let holds = |text: &str| stored.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds(&key.digest()), "the search finds what is there");
    assert!(holds(&key.hint()));
    assert!(!holds(key.reveal()));
    // The hint shows four characters of the forty-six; no stretch of the others may be there.
    let secret = &key.reveal()["copydesk_".len() + 4..];
    assert!((0..=secret.len() - 8).all(|at| !holds(&secret[at..at + 8])));
}

async fn a_key_for_an_unknown_project_is_not_made(desk: Desk) {
    assert!(desk.store.create_key(new_key(Some(&"nobody".into()), "CI")).await.unwrap().is_none());
    assert_eq!(desk.store.keys(None).await.unwrap(), []);
}

async fn revoking_again_changes_nothing(desk: Desk) {
    let (kept, _) = make(&desk.store, None, "kept").await;
    let (record, _) = make(&desk.store, None, "lost").await;
    desk.advance(SECOND);
    let revoked = desk.store.revoke_key(&record.id).await.unwrap().unwrap();
    assert_eq!(revoked, KeyRecord { revoked_at: Some(desk.now()), ..record.clone() });
    desk.advance(SECOND);
    assert_eq!(desk.store.revoke_key(&record.id).await.unwrap(), Some(revoked.clone()));
    assert_eq!(desk.store.revoke_key("nobody").await.unwrap(), None);
    assert_eq!(desk.store.keys(None).await.unwrap(), [kept, revoked]);
}

async fn a_revocation_is_seen_at_once_by_every_process(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.beside().await);
    for _ in 0..20 {
        let (record, digest) = make(&desk.store, Some(&project), "CI").await;
        assert!(access(&other, &digest, &project).await.unwrap().key.is_valid_at(desk.now()));
        desk.store.revoke_key(&record.id).await.unwrap().unwrap();
        for store in [&other, &desk.store] {
            assert!(!access(store, &digest, &project).await.unwrap().key.is_valid_at(desk.now()));
        }
    }
}

async fn a_key_is_refused_from_the_instant_it_expires(desk: Desk) {
    let project = desk.project("Docs").await;
    let new = NewKey { expires_at: Some(desk.now().plus(HOUR)), ..new_key(Some(&project), "CI") };
    let (_, key) = desk.store.create_key(new).await.unwrap().unwrap();
    desk.advance(HOUR - MILLISECOND);
    assert!(access(&desk.store, &key.digest(), &project).await.unwrap().key.is_valid_at(desk.now()));
    desk.advance(MILLISECOND);
    assert!(!access(&desk.store, &key.digest(), &project).await.unwrap().key.is_valid_at(desk.now()));
}

async fn access_gives_the_key_and_the_project_it_was_shown_for(desk: Desk) {
    let (own, other) = (desk.project("Own").await, desk.project("Other").await);
    let (of_one, digest_of_one) = make(&desk.store, Some(&own), "one").await;
    let (of_all, digest_of_all) = make(&desk.store, None, "all").await;
    for (record, digest) in [(of_one, digest_of_one), (of_all, digest_of_all)] {
        for shown in [&own, &other] {
            let found = access(&desk.store, &digest, shown).await.unwrap();
            assert_eq!(found.key, record);
            assert_eq!(found.project, desk.store.project(shown).await.unwrap(), "whether or not the key opens it");
        }
        let found = access(&desk.store, &digest, &"nobody".into()).await.unwrap();
        assert_eq!((found.key, found.project), (record, None));
    }
}

async fn access_of_an_unknown_key_is_none(desk: Desk) {
    let project = desk.project("Docs").await;
    let (_, digest) = make(&desk.store, Some(&project), "CI").await;
    let mut wrong = digest.clone();
    let last = if wrong.pop() == Some('0') { '1' } else { '0' };
    wrong.push(last);
    assert!(access(&desk.store, &wrong, &project).await.is_none());
    assert!(access(&desk.store, "", &project).await.is_none());
    assert!(access(&desk.store, &digest, &project).await.is_some());
}

async fn last_used_only_moves_forward(desk: Desk) {
    let ((one, _), (other, _)) = (make(&desk.store, None, "one").await, make(&desk.store, None, "other").await);
    let at = |seconds: i64| Timestamp::from_millis(desk.now().as_millis() + seconds * 1000);
    let last_used = || async {
        let keys = desk.store.keys(None).await.unwrap();
        (keys[0].last_used_at, keys[1].last_used_at)
    };
    assert_eq!(last_used().await, (None, None));
    let touch = |used: Vec<(String, Timestamp)>| desk.store.touch_keys(used);
    touch(vec![(one.id.clone(), at(60)), ("nobody".to_owned(), at(60))]).await.unwrap();
    assert_eq!(last_used().await, (Some(at(60)), None));
    touch(vec![(one.id.clone(), at(30)), (other.id.clone(), at(30))]).await.unwrap();
    assert_eq!(last_used().await, (Some(at(60)), Some(at(30))));
    touch(vec![(one.id.clone(), at(90)), (one.id.clone(), at(70))]).await.unwrap();
    assert_eq!(last_used().await, (Some(at(90)), Some(at(30))));
}

async fn keys_touched_at_the_same_instant_in_any_order_give_no_error(desk: Desk) {
    let mut ids = Vec::new();
    for name in 0..30 {
        ids.push(make(&desk.store, None, &name.to_string()).await.0.id);
    }
    let stores = desk.several_beside(2).await;
    for round in 1..=10 {
        let at = desk.now().plus(SECOND * round);
        let touched = stores.iter().cloned().enumerate().map(|(turn, store)| {
            let mut ids = ids.clone();
            if turn == 1 {
                ids.reverse();
            }
            tokio::spawn(async move { store.touch_keys(ids.into_iter().map(|id| (id, at)).collect()).await })
        });
        for touched in join_all(touched).await {
            touched.unwrap().unwrap();
        }
        assert!(desk.store.keys(None).await.unwrap().iter().all(|key| key.last_used_at == Some(at)));
    }
}

async fn the_keys_of_a_project_include_those_for_all(desk: Desk) {
    let (own, other) = (desk.project("Own").await, desk.project("Other").await);
    for (project, name) in [(Some(&own), "1"), (None, "2"), (Some(&other), "3"), (Some(&own), "4"), (None, "5")] {
        make(&desk.store, project, name).await;
    }
    let names = |project: Option<&str>| {
        let (store, project) = (desk.store.clone(), project.map(ProjectId::from));
        async move { store.keys(project.as_ref()).await.unwrap().into_iter().map(|key| key.name).collect::<Vec<_>>() }
    };
    assert_eq!(names(None).await, ["1", "2", "3", "4", "5"], "oldest first");
    assert_eq!(names(Some("own")).await, ["1", "2", "4", "5"]);
    assert_eq!(names(Some("other")).await, ["2", "3", "5"]);
    assert_eq!(names(Some("nobody")).await, ["2", "5"]);
}

async fn a_key_takes_over_from_another_which_ends_later(desk: Desk) {
    let project = desk.project("Docs").await;
    let (old, old_digest) = make(&desk.store, Some(&project), "CI").await;
    let until = desk.now().plus(HOUR);
    let (new, key) = desk.store.rotate_key(&old.id, until, None).await.unwrap().unwrap();
    assert_eq!((&new.project_id, &*new.name, new.scope), (&old.project_id, "CI", Scope::Write));
    assert_ne!(new.id, old.id);
    assert!(access(&desk.store, &key.digest(), &project).await.unwrap().key.is_valid_at(until));
    let ends = access(&desk.store, &old_digest, &project).await.unwrap().key;
    assert_eq!(ends.expires_at, Some(until));
    assert!(ends.is_valid_at(desk.now()) && !ends.is_valid_at(until));
    // What would end earlier does, whoever takes over.
    let soon = NewKey { expires_at: Some(desk.now().plus(SECOND)), ..new_key(Some(&project), "soon") };
    let (soon, _) = desk.store.create_key(soon).await.unwrap().unwrap();
    desk.store.rotate_key(&soon.id, until, None).await.unwrap().unwrap();
    let keys = desk.store.keys(None).await.unwrap();
    assert_eq!(keys.iter().find(|key| key.id == soon.id).unwrap().expires_at, soon.expires_at);
    assert_eq!(keys.len(), 4);
}

async fn a_key_that_opens_nothing_is_not_taken_over_from(desk: Desk) {
    let (revoked, _) = make(&desk.store, None, "revoked").await;
    desk.store.revoke_key(&revoked.id).await.unwrap();
    let ended = NewKey { expires_at: Some(desk.now()), ..new_key(None, "ended") };
    let (ended, _) = desk.store.create_key(ended).await.unwrap().unwrap();
    for id in [&*revoked.id, &*ended.id, "nobody"] {
        assert!(desk.store.rotate_key(id, desk.now(), None).await.unwrap().is_none());
    }
    assert_eq!(desk.store.keys(None).await.unwrap().len(), 2);
}
