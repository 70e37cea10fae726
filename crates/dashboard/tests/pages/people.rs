//! Getting in, staying in and going out.

use std::time::Duration;

use copydesk_desk::people::INVITED;
use copydesk_domain::Role;
use copydesk_store::Entrance;

use crate::browser::Browser;
use crate::stage::{PASSWORD, Stage};

behaviours! {
    the_first_link_makes_an_administrator_once,
    an_invitation_leads_into_its_project,
    a_password_lets_in_and_signing_out_ends_it,
    wrong_passwords_wait_but_lock_nobody_out,
    a_browser_that_is_known_does_not_wait_for_those_who_guess,
    nobody_is_led_elsewhere,
    a_link_gives_another_password,
    a_link_lets_in_with_the_present_password_kept,
    another_password_ends_the_other_sessions,
    sessions_can_be_ended_one_by_one_and_all,
}

const WHO: [(&str, &str); 3] = [("name", "Ada"), ("email", "ada@example.com"), ("password", PASSWORD)];

async fn link(stage: &Stage, entrance: Entrance) -> String {
    let people = &stage.app.app().desk().people;
    let link = people.link(stage.app.store(), entrance, "for Ada", INVITED).await.unwrap().unwrap();
    format!("/join/{}", link.token.expose())
}

async fn the_first_link_makes_an_administrator_once(stage: Stage) {
    let people = &stage.app.app().desk().people;
    let first = people.first_link().await.unwrap().unwrap();
    let join = format!("/join/{}", first.token.expose());
    let browser = stage.browser();
    assert_eq!(browser.get("/").await.leads_to(), "/sign-in?to=%2F");
    browser.get("/sign-in").await.is(200).shows("Nobody can sign in yet");
    let shown = browser.get(&join).await;
    shown.is(200).shows("first administrator");
    assert_eq!(shown.headers["cache-control"], "no-store, no-transform");
    let weak = [("name", ""), ("email", "ada"), ("password", "short")];
    let refused = browser.post(&join, &weak).await;
    refused.is(422).shows("Must be an e-mail address").shows("Must have at least 10").hides("value=\"short\"");
    assert_eq!(browser.post(&join, &WHO).await.leads_to(), "/");
    browser.get("/").await.is(200).shows("Projects").shows("New project");
    stage.browser().get(&join).await.is(404).shows("This link was used");
    stage.browser().post(&join, &[("name", "Eve"), ("email", "eve@example.com"), ("password", PASSWORD)]).await.is(404);
    assert!(people.first_link().await.unwrap().is_none());
    assert_eq!(stage.app.store().users().await.unwrap().len(), 1);
}

async fn an_invitation_leads_into_its_project(stage: Stage) {
    let (project, other) = (stage.project("Docs").await, stage.project("Other").await);
    let join = link(&stage, Entrance::Member(project.id.clone(), Role::Viewer)).await;
    let browser = stage.browser();
    browser.get(&join).await.is(200).shows("Docs").shows("viewer");
    assert_eq!(browser.post(&join, &WHO).await.leads_to(), format!("/p/{}", project.id));
    browser.get("/").await.is(200).shows("Docs").hides("Other").hides("New project");
    browser.get(&format!("/p/{}/keys", other.id)).await.is(404);
    // Somebody who is here takes another one without a password.
    let join = link(&stage, Entrance::Member(other.id.clone(), Role::Owner)).await;
    browser.get(&join).await.is(200).shows("ada@example.com").hides("type=\"password\"");
    browser.post(&join, &[]).await.leads_to();
    browser.get(&format!("/p/{}/keys", other.id)).await.is(200);
}

async fn sign_in(browser: &Browser, password: &str) -> u16 {
    browser.post("/sign-in", &[("email", "ada@example.com"), ("password", password)]).await.status.as_u16()
}

async fn a_password_lets_in_and_signing_out_ends_it(stage: Stage) {
    stage.user("ada@example.com", false).await;
    let browser = stage.browser();
    let shown = browser.post("/sign-in", &[("email", " Ada@Example.com"), ("password", PASSWORD), ("to", "/me")]).await;
    assert_eq!(shown.leads_to(), "/me");
    let cookie = shown.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && !cookie.contains("Secure"), "{cookie}");
    let before = browser.clone().session().unwrap();
    browser.get("/me").await.is(200).shows("ada@example.com");
    let out = browser.post("/sign-out", &[]).await;
    assert_eq!(out.leads_to(), "/sign-in");
    assert_eq!(out.headers["clear-site-data"], "\"cache\"");
    assert_eq!(browser.session(), None);
    stage.browser().with_session(&before).get("/me").await.leads_to();
    // What is not a session, and what is too old.
    for token in ["", "x", &"0".repeat(64), &"z".repeat(64)] {
        stage.browser().with_session(token).get("/me").await.leads_to();
    }
    assert_eq!(sign_in(&browser, PASSWORD).await, 303);
    stage.clock.advance(Duration::from_secs(30 * 24 * 3600));
    browser.get("/me").await.leads_to();
}

async fn wrong_passwords_wait_but_lock_nobody_out(stage: Stage) {
    stage.user("ada@example.com", false).await;
    let (thief, owner) = (stage.browser(), stage.browser());
    assert_eq!(sign_in(&owner, PASSWORD).await, 303);
    for _ in 0..5 {
        assert_eq!(sign_in(&thief, "not this one").await, 422);
    }
    let waiting = thief.post("/sign-in", &[("email", "ada@example.com"), ("password", PASSWORD)]).await;
    waiting.is(429).shows("Try again in 10 seconds");
    assert_eq!(waiting.headers["retry-after"], "10");
    owner.get("/me").await.is(200);
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    let elsewhere = thief.form("/sign-in", &fields).header("sec-fetch-site", "same-origin");
    assert_eq!(thief.send(elsewhere.header("x-forwarded-for", "198.51.100.7")).await.status.as_u16(), 303);
    // Somebody who is not there is told the same.
    let nobody = stage.browser().post("/sign-in", &[("email", "eve@example.com"), ("password", PASSWORD)]).await;
    nobody.is(422).shows("The address or the password is wrong");
}

async fn a_browser_that_is_known_does_not_wait_for_those_who_guess(stage: Stage) {
    let ada = stage.user("ada@example.com", false).await;
    let (thief, owner) = (stage.browser(), stage.browser());
    assert_eq!(sign_in(&owner, PASSWORD).await, 303);
    owner.post("/sign-out", &[]).await.leads_to();
    for _ in 0..5 {
        assert_eq!(sign_in(&thief, "not this one").await, 422);
    }
    assert_eq!(sign_in(&thief, PASSWORD).await, 429);
    assert_eq!(sign_in(&stage.browser(), PASSWORD).await, 429, "nor does anybody else of this network");
    assert_eq!(sign_in(&owner, PASSWORD).await, 303, "whose browser is known");
    // It is known for one account only, and has as many tries as anybody.
    stage.user("bob@example.com", false).await;
    let bob = [("email", "bob@example.com"), ("password", "not this one")];
    owner.post("/sign-out", &[]).await.leads_to();
    for _ in 0..5 {
        assert_eq!(owner.post("/sign-in", &bob).await.status.as_u16(), 422);
        assert_eq!(sign_in(&owner, "not this one").await, 422);
    }
    assert_eq!(owner.post("/sign-in", &bob).await.status.as_u16(), 429);
    assert_eq!(sign_in(&owner, PASSWORD).await, 429);
    // Whoever ends all sessions does not trust their browsers any more.
    stage.clock.advance(Duration::from_secs(20));
    assert_eq!(sign_in(&owner, PASSWORD).await, 303);
    stage.app.store().end_sessions(&ada.id).await.unwrap();
    for _ in 0..6 {
        sign_in(&thief, "not this one").await;
    }
    assert_eq!(sign_in(&owner, PASSWORD).await, 429);
}

async fn nobody_is_led_elsewhere(stage: Stage) {
    let admin = stage.admin().await;
    for wanted in ["https://evil.example", "//evil.example", "/%5Cevil.example", "javascript:alert(1)"] {
        assert_eq!(admin.get(&format!("/sign-in?to={wanted}")).await.leads_to(), "/");
    }
    assert_eq!(admin.get("/sign-in?to=%2Fme").await.leads_to(), "/me");
}

async fn a_link_gives_another_password(stage: Stage) {
    let ada = stage.user("ada@example.com", false).await;
    let old = stage.browser_of(&ada).await;
    let join = link(&stage, Entrance::Again(ada.id.clone())).await;
    let browser = stage.browser();
    browser.get(&join).await.is(200).shows("ada@example.com");
    browser.post(&join, &[("password", "weak")]).await.is(422);
    old.get("/me").await.is(200);
    browser.post(&join, &[("password", "some other four words")]).await.leads_to();
    browser.get("/me").await.is(200);
    old.get("/me").await.leads_to();
    assert_eq!(sign_in(&stage.browser(), PASSWORD).await, 422);
    assert_eq!(sign_in(&stage.browser(), "some other four words").await, 303);
}

async fn a_link_lets_in_with_the_present_password_kept(stage: Stage) {
    let ada = stage.user("ada@example.com", false).await;
    let (old, browser) = (stage.browser_of(&ada).await, stage.browser());
    let join = link(&stage, Entrance::Again(ada.id.clone())).await;
    browser.post(&join, &[("password", "")]).await.leads_to();
    browser.get("/me").await.is(200);
    old.get("/me").await.is(200);
    stage.browser().post(&join, &[("password", "")]).await.is(404);
    assert_eq!(sign_in(&stage.browser(), PASSWORD).await, 303);
}

async fn another_password_ends_the_other_sessions(stage: Stage) {
    let ada = stage.user("ada@example.com", false).await;
    let (here, there) = (stage.browser_of(&ada).await, stage.browser_of(&ada).await);
    let form = |present: &'static str, new: &'static str| [("present", present), ("password", new)];
    here.post("/me/password", &form("wrong", "some other four words")).await.is(422).shows("Is not yours");
    here.post("/me/password", &form(PASSWORD, "short")).await.is(422).shows("Must have at least");
    let changed = here.post_and_follow("/me/password", &form(PASSWORD, "some other four words")).await;
    changed.is(200).shows("Your password is changed");
    there.get("/me").await.leads_to();
}

async fn sessions_can_be_ended_one_by_one_and_all(stage: Stage) {
    let (ada, bob) = (stage.user("ada@example.com", false).await, stage.user("bob@example.com", false).await);
    let (here, there, third) =
        (stage.browser_of(&ada).await, stage.browser_of(&ada).await, stage.browser_of(&ada).await);
    let his = stage.browser_of(&bob).await;
    let sessions = stage.app.store().sessions(&bob.id).await.unwrap();
    here.post(&format!("/me/sessions/{}/end", sessions[0].id), &[]).await.leads_to();
    his.get("/me").await.is(200);
    let hers = stage.app.store().sessions(&ada.id).await.unwrap();
    assert_eq!(hers.len(), 3);
    here.post("/me/sessions/end", &[]).await.leads_to();
    for browser in [&here, &there, &third] {
        browser.get("/me").await.leads_to();
    }
}
