//! The page where keys are made.

use std::time::Duration;

use copydesk_domain::Role;

use crate::stage::{PASSWORD, Stage};

behaviours! {
    a_key_that_was_made_works_until_it_is_revoked,
    a_key_is_shown_once,
    every_form_that_shows_a_secret_is_taken_once,
    what_is_wrong_is_said_beside_the_field,
    a_deed_that_hurts_asks_for_the_password_again,
    keys_of_other_projects_cannot_be_revoked,
}

async fn a_key_that_was_made_works_until_it_is_revoked(stage: Stage) {
    let project = stage.project("Docs").await;
    let owner = stage.member(&project.id, Role::Owner).await;
    let keys = format!("/p/{}/keys", project.id);
    let made = owner.post(&keys, &[("name", "CI"), ("scope", "write"), ("expires", "90d")]).await;
    let key = made.is(200).text_of("key");
    assert!(made.text_of("curl").contains(&key) && made.text_of("curl").contains("/v2/agent/"));
    let client = stage.app.client().with_key(&key);
    let jobs = project.path("jobs");
    assert_eq!(client.get(&jobs).send().await.status, 200);
    let record =
        stage.app.store().keys(Some(&project.id)).await.unwrap().into_iter().find(|key| key.name == "CI").unwrap();
    owner.get(&format!("{keys}/{}/revoke", record.id)).await.is(200).shows("The next request with");
    owner.post_and_follow(&format!("{keys}/{}/revoke", record.id), &[]).await.is(200).shows("revoked");
    assert_eq!(client.get(&jobs).send().await.status, 401);
}

async fn a_key_is_shown_once(stage: Stage) {
    let project = stage.project("Docs").await;
    let owner = stage.member(&project.id, Role::Owner).await;
    let keys = format!("/p/{}/keys", project.id);
    let empty = owner.get(&keys).await.html;
    let mark = empty.split("name=\"_mark\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let form = [("name", "CI"), ("scope", "read"), ("expires", ""), ("_mark", &*mark)];
    let made = owner.post(&keys, &form).await;
    let key = made.text_of("key");
    // The page is loaded again, which sends the form again.
    owner.post(&keys, &form).await.is(409).shows("sent before").hides("copydesk_");
    assert_eq!(stage.app.store().keys(Some(&project.id)).await.unwrap().len(), 2);
    assert_eq!(made.headers["cache-control"], "no-store, no-transform");
    assert!(made.text_of("curl").contains("/v1/analytics/"), "what a key that may only read can do");
    owner.get(&keys).await.is(200).hides(&key).shows("CI");
}

async fn every_form_that_shows_a_secret_is_taken_once(stage: Stage) {
    let project = stage.project("Docs").await;
    let admin = stage.admin().await;
    let key = stage.app.store().keys(Some(&project.id)).await.unwrap().remove(0);
    let of_project = format!("/p/{}", project.id);
    let key = format!("{of_project}/keys/{}/rotate", key.id);
    let hook = [("url", "https://example.com/hook"), ("event", "job.completed")];
    for (page, action, fields) in [
        (key.clone(), key, vec![("overlap", "1d")]),
        ("/server/keys".to_owned(), "/server/keys".to_owned(), vec![("name", "Terraform"), ("scope", "admin")]),
        ("/people".to_owned(), "/people/invite".to_owned(), vec![("note", "for Bob")]),
        (
            format!("{of_project}/settings/members"),
            format!("{of_project}/settings/members/invite"),
            vec![("note", "for Eve"), ("as", "viewer")],
        ),
        (format!("{of_project}/settings/webhooks"), format!("{of_project}/settings/webhooks"), hook.to_vec()),
        (format!("{of_project}/settings/collection"), format!("{of_project}/settings/collection/drain"), Vec::new()),
        (format!("{of_project}/settings/repository"), format!("{of_project}/settings/repository/hook"), Vec::new()),
    ] {
        let shown = admin.get(&page).await.is(200).html.clone();
        let form = shown.split(&format!("action=\"{action}\"")).nth(1).unwrap_or_else(|| panic!("no form on {page}"));
        let form = form.split("</form>").next().unwrap();
        let mark = form.split("name=\"_mark\" value=\"").nth(1).unwrap_or_else(|| panic!("{action} has no mark"));
        let fields = [&fields[..], &[("_mark", mark.split('"').next().unwrap())]].concat();
        admin.post(&action, &fields).await.is(200);
        admin.post(&action, &fields).await.is(409).shows("sent before");
    }
}

async fn what_is_wrong_is_said_beside_the_field(stage: Stage) {
    let project = stage.project("Docs").await;
    let owner = stage.member(&project.id, Role::Owner).await;
    let keys = format!("/p/{}/keys", project.id);
    let refused = owner.post(&keys, &[("name", " "), ("scope", "write")]).await;
    refused.is(422).shows("Is needed, so that you know later").shows("aria-invalid=\"true\"");
    owner.post(&keys, &[("name", "x"), ("scope", "everything")]).await.is(422);
    owner.post(&keys, &[("name", "<b>x"), ("scope", "write"), ("expires", "soon")]).await.is(422).hides("<b>x");
    assert_eq!(stage.app.store().keys(Some(&project.id)).await.unwrap().len(), 1, "the one that the project came with");
}

async fn a_deed_that_hurts_asks_for_the_password_again(stage: Stage) {
    let project = stage.project("Docs").await;
    let owner = stage.member(&project.id, Role::Owner).await;
    let keys = format!("/p/{}/keys", project.id);
    let form = [("name", "C<I"), ("scope", "write"), ("expires", "")];
    stage.clock.advance(Duration::from_secs(15 * 60));
    let asked = owner.post(&keys, &form).await;
    asked.is(403).shows("Your password again").shows("name=\"name\" value=\"C&#60;I\"");
    let with = |password: &'static str| [&form[..], &[("_password", password)]].concat();
    owner.post(&keys, &with("wrong")).await.is(403).shows("Is not yours").hides("value=\"wrong\"");
    assert_eq!(stage.app.store().keys(Some(&project.id)).await.unwrap().len(), 1);
    owner.post(&keys, &with(PASSWORD)).await.is(200).shows("shown only once");
    owner.post(&keys, &form).await.is(200).shows("shown only once");
}

async fn keys_of_other_projects_cannot_be_revoked(stage: Stage) {
    let (project, other) = (stage.project("Docs").await, stage.project("Other").await);
    let owner = stage.member(&project.id, Role::Owner).await;
    owner.post(&format!("/p/{}/keys/{}/revoke", project.id, other.key.id), &[]).await.is(404);
    owner.get(&format!("/p/{}/keys/{}/revoke", project.id, other.key.id)).await.is(404);
    let all = stage.app.key(None, copydesk_domain::Scope::Write, None).await;
    owner.post(&format!("/p/{}/keys/{}/revoke", project.id, all.id), &[]).await.is(404);
    assert_eq!(stage.app.client().with_key(&all.secret).get(&project.path("jobs")).send().await.status, 200);
}
