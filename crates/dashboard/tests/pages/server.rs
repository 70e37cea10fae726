//! People and the server, for administrators.

use std::time::Duration;

use copydesk_domain::{KeyRecord, Role};

use crate::stage::{PASSWORD, Stage};

behaviours! {
    administrators_are_made_unmade_and_removed,
    administrators_come_by_links,
    somebody_comes_in_again_by_a_link,
    the_server_tells_what_it_knows,
    the_audit_log_of_all_is_exported,
    keys_for_all_projects_are_for_administrators,
    a_key_takes_over_and_the_old_one_ends_when_it_was_said,
}

async fn administrators_are_made_unmade_and_removed(stage: Stage) {
    let admin = stage.admin().await;
    let ada = stage.user("ada@example.com", false).await;
    let hers = stage.browser_of(&ada).await;
    admin.get("/people").await.is(200).shows("ada@example.com").shows("admin@example.com");
    hers.get("/people").await.is(404);
    let to = |id: &str, rest: &str| format!("/people/{id}/{rest}");
    admin.post(&to(&ada.id, "administrator"), &[("is", "perhaps")]).await.is(422);
    admin.post_and_follow(&to(&ada.id, "administrator"), &[("is", "yes")]).await.is(200).shows("Saved.");
    hers.get("/people").await.is(200);
    let me = stage.app.store().users().await.unwrap().into_iter().find(|it| it.email == "admin@example.com").unwrap();
    hers.post_and_follow(&to(&me.id, "administrator"), &[("is", "no")]).await.is(200);
    admin.get("/people").await.is(404);
    // The last one stays.
    hers.post(&to(&ada.id, "administrator"), &[("is", "no")]).await.is(409).shows("last administrator");
    hers.post(&to(&ada.id, "remove"), &[]).await.is(409).shows("last administrator");
    hers.get(&to(&me.id, "remove")).await.is(200).shows("Remove admin@example.com?");
    hers.post_and_follow(&to(&me.id, "remove"), &[]).await.is(200).shows("signed out everywhere");
    admin.get("/me").await.leads_to();
    // So does the last owner of a project.
    let project = stage.project("Docs").await;
    let owner = stage.user("owner@example.com", false).await;
    stage.app.store().set_member(&project.id, &owner.id, Role::Owner).await.unwrap();
    hers.post(&to(&owner.id, "remove"), &[]).await.is(409).shows("last owner");
}

async fn administrators_come_by_links(stage: Stage) {
    let admin = stage.admin().await;
    admin.post("/people/invite", &[("note", " ")]).await.is(422).shows("Is needed");
    admin.post("/people/invite", &[("note", "a\nb")]).await.is(422);
    let made = admin.post("/people/invite", &[("note", "Bob <b>")]).await;
    let link = made.is(200).hides("Bob <b>").text_of("link");
    assert_eq!(made.headers["cache-control"], "no-store, no-transform");
    admin.get("/people").await.is(200).hides(&link).shows("Withdraw");
    let join = link.strip_prefix(stage.app.client().base()).unwrap();
    let bob = stage.browser();
    bob.post(join, &[("name", "Bob"), ("email", "bob@example.com"), ("password", PASSWORD)]).await.leads_to();
    bob.get("/people").await.is(200);
    let link = admin.post("/people/invite", &[("note", "Eve")]).await.text_of("link");
    let invitation = stage.app.store().invitations(None).await.unwrap().remove(0);
    let withdraw = format!("/people/invitations/{}/withdraw", invitation.id);
    admin.post_and_follow(&withdraw, &[]).await.is(200).shows("withdrawn");
    stage.browser().get(link.strip_prefix(stage.app.client().base()).unwrap()).await.is(404);
}

async fn somebody_comes_in_again_by_a_link(stage: Stage) {
    let admin = stage.admin().await;
    let ada = stage.user("ada@example.com", false).await;
    let link = admin.post(&format!("/people/{}/link", ada.id), &[]).await.is(200).text_of("link");
    admin.get("/people").await.hides(&link);
    let join = link.strip_prefix(stage.app.client().base()).unwrap().to_owned();
    let browser = stage.browser();
    browser.post(&join, &[("password", "some other four words")]).await.leads_to();
    browser.get("/me").await.is(200).shows("ada@example.com");
}

async fn the_server_tells_what_it_knows(stage: Stage) {
    let project = stage.project("Docs").await;
    project.create("Fix the typos").await;
    let admin = stage.admin().await;
    let kind = stage.app.store().kind();
    let shown = admin.get("/server").await;
    shown.is(200).shows("0.0.0").shows(kind).shows("none waits").shows("agents").shows("Nothing is known to be lost");
    shown.shows("<dt>Disk of the data folder</dt><dd>not known</dd>");
}

async fn the_audit_log_of_all_is_exported(stage: Stage) {
    let project = stage.project("Docs").await;
    let admin = stage.admin().await;
    admin.get("/server/audit").await.is(200).shows("made the project").shows(&project.id);
    let lines = admin.get("/server/audit.jsonl").await;
    assert_eq!(lines.headers["content-type"], "application/x-ndjson");
    assert!(lines.is(200).html.lines().count() >= 3);
    admin.get("/server/audit.csv").await.is(200).shows("project.create");
    let owner = stage.member(&project.id, Role::Owner).await;
    owner.get("/server/audit.csv").await.is(404);
}

async fn keys(stage: &Stage, project: &copydesk_domain::ProjectId) -> Vec<KeyRecord> {
    stage.app.store().keys(Some(project)).await.unwrap()
}

async fn a_key_takes_over_and_the_old_one_ends_when_it_was_said(stage: Stage) {
    let project = stage.project("Docs").await;
    let owner = stage.member(&project.id, Role::Owner).await;
    let page = format!("/p/{}/keys", project.id);
    let old = owner.post(&page, &[("name", "C<I"), ("scope", "write"), ("expires", "30d")]).await.text_of("key");
    let record = keys(&stage, &project.id).await.into_iter().find(|key| key.name == "C<I").unwrap();
    let rotate = format!("{page}/{}/rotate", record.id);
    owner.get(&rotate).await.is(200).shows("30 days").hides("C<I");
    owner.post(&rotate, &[("overlap", "for ever")]).await.is(422).shows("Must be one of the choices");
    stage.clock.advance(Duration::from_secs(60));
    let made = owner.post(&rotate, &[("overlap", "1h")]).await;
    let new = made.is(200).shows("The old one is refused from").text_of("key");
    assert_eq!(made.headers["cache-control"], "no-store, no-transform");
    let jobs = project.path("jobs");
    let status = async |key: &str| stage.app.client().with_key(key).get(&jobs).send().await.status;
    assert_eq!((status(&old).await, status(&new).await), (200, 200));
    stage.clock.advance(Duration::from_secs(3600));
    assert_eq!((status(&old).await, status(&new).await), (401, 200));
    // The same name, scope and length of life; and what has ended is not taken over from.
    let all = keys(&stage, &project.id).await;
    let taken = all.iter().find(|key| key.name == "C<I" && key.id != record.id).unwrap();
    assert_eq!(taken.scope, record.scope);
    assert_eq!(taken.expires_at.unwrap().since(taken.created_at), Duration::from_secs(30 * 24 * 3600));
    stage.browser_confirmed(&owner, &page).await;
    owner.get(&rotate).await.is(404);
    owner.post(&rotate, &[("overlap", "now")]).await.is(404);
    let other = stage.project("Other").await;
    owner.get(&format!("{page}/{}/rotate", other.key.id)).await.is(404);
}

async fn keys_for_all_projects_are_for_administrators(stage: Stage) {
    let project = stage.project("Docs").await;
    let (admin, owner) = (stage.admin().await, stage.member(&project.id, Role::Owner).await);
    admin.post("/server/keys", &[("name", ""), ("scope", "admin")]).await.is(422).shows("Is needed");
    admin.post("/server/keys", &[("name", "x"), ("scope", "king")]).await.is(422).shows("Must be read, write or admin");
    let made = admin.post("/server/keys", &[("name", "T<f"), ("scope", "admin"), ("expires", "90d")]).await;
    let key = made.is(200).hides("T<f").text_of("key");
    assert_eq!(made.headers["cache-control"], "no-store, no-transform");
    let status = async |key: &str| stage.app.client().with_key(key).get("/v1/admin/projects").send().await.status;
    assert_eq!(status(&key).await, 200);
    // An owner makes none, whatever the form says.
    let keys_page = format!("/p/{}/keys", project.id);
    owner.post(&keys_page, &[("name", "x"), ("scope", "admin"), ("expires", "")]).await.is(422);
    owner.post("/server/keys", &[("name", "x"), ("scope", "admin")]).await.is(404);
    assert_eq!(status(&project.key.secret).await, 403);
    let record = keys(&stage, &project.id).await.into_iter().find(|key| key.name == "T<f").unwrap();
    let revoke = format!("/server/keys/{}/revoke", record.id);
    owner.post(&revoke, &[]).await.is(404);
    admin.get(&revoke).await.is(200).shows("is refused");
    admin.post_and_follow(&revoke, &[]).await.is(200).shows("revoked");
    assert_eq!(status(&key).await, 401);
    admin.post(&format!("/server/keys/{}/revoke", project.key.id), &[]).await.is(404);
}
