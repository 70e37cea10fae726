//! Getting in by the word of a proxy in front.

use std::time::Duration;

use copydesk_desk::people::{INVITED, NewUsers, SignIn, TrustedProxy};
use copydesk_domain::{Role, User};
use copydesk_store::Entrance;
use copydesk_testkit::TestApp;
use reqwest::Method;

use crate::browser::{Browser, Shown};
use crate::stage::Stage;

behaviours! {
    whom_the_proxy_names_is_in,
    nobody_else_is_believed,
    the_header_decides_and_without_it_the_session_ends,
    somebody_new_is_told_what_to_do_or_made,
    signing_out_says_who_signs_in_again,
    an_invitation_is_taken_by_whom_the_proxy_names,
    what_is_no_address_names_nobody,
    the_proxy_is_the_proof_for_what_hurts,
    a_header_does_not_help_requests_from_elsewhere,
}

/// A server behind a proxy on this machine.
async fn behind(stage: &Stage, networks: &'static str, new_users: NewUsers) -> TestApp {
    let proxy = TrustedProxy {
        header: "Remote-Email".to_owned(),
        networks: networks.split(',').map(|text| text.parse().unwrap()).collect(),
    };
    let ways = SignIn { proxy: Some(proxy), oidc: None, oidc_only: false, new_users };
    let setup = TestApp::over(stage.database.clone()).clock(stage.clock.clone());
    setup.ways(move |_, _| ways).start().await
}

const HERE: &str = "127.0.0.0/8,::1/128";

fn browser(app: &TestApp) -> Browser {
    Browser::new(app.client().base())
}

async fn get_as(browser: &Browser, path: &str, email: &str) -> Shown {
    browser.send(browser.request(Method::GET, path).header("remote-email", email)).await
}

async fn post_as(browser: &Browser, path: &str, fields: &[(&str, &str)], email: &str) -> Shown {
    let form = browser.form(path, fields).header("sec-fetch-site", "same-origin");
    browser.send(form.header("remote-email", email)).await
}

async fn sessions(app: &TestApp, user: &User) -> usize {
    app.store().sessions(&user.id).await.unwrap().len()
}

async fn whom_the_proxy_names_is_in(stage: Stage) {
    let app = behind(&stage, HERE, NewUsers::Refused).await;
    let user = stage.user("ada@example.com", false).await;
    let browser = browser(&app);
    let first = get_as(&browser, "/me", " Ada@Example.com").await;
    first.is(200).shows("ada@example.com").shows("through the proxy");
    let cookie = first.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    for _ in 0..3 {
        let next = get_as(&browser, "/me", "ada@example.com").await;
        next.is(200);
        assert!(!next.headers.contains_key("set-cookie"));
    }
    assert_eq!(sessions(&app, &user).await, 1);
    // What a page is made of begins nothing, also without the cookie.
    let fresh = Browser::new(app.client().base());
    get_as(&fresh, "/assets/0/app.css", "ada@example.com").await;
    get_as(&fresh, "/sign-in", "ada@example.com").await.is(200);
    assert_eq!((sessions(&app, &user).await, fresh.session()), (1, None));
}

async fn nobody_else_is_believed(stage: Stage) {
    stage.user("ada@example.com", true).await;
    let app = behind(&stage, "10.0.0.0/8,192.0.2.7/32", NewUsers::WithoutProjects).await;
    let browser = browser(&app);
    let request = || browser.request(Method::GET, "/me").header("remote-email", "ada@example.com");
    for forwarded in [None, Some("10.0.0.1"), Some("192.0.2.7, 10.0.0.1")] {
        let request = forwarded.map_or_else(request, |from| {
            request()
                .header("x-forwarded-for", from)
                .header("x-real-ip", "10.0.0.1")
                .header("forwarded", "for=10.0.0.1")
        });
        assert_eq!(browser.send(request).await.leads_to(), "/sign-in?to=%2Fme");
        assert_eq!(browser.session(), None);
    }
    // Nor where no header was set up, whoever asks.
    let plain = stage.browser();
    assert_eq!(get_as(&plain, "/me", "ada@example.com").await.leads_to(), "/sign-in?to=%2Fme");
    assert_eq!(stage.app.store().users().await.unwrap().len(), 1);
}

async fn the_header_decides_and_without_it_the_session_ends(stage: Stage) {
    let app = behind(&stage, HERE, NewUsers::Refused).await;
    let (ada, bob) = (stage.user("ada@example.com", true).await, stage.user("bob@example.com", false).await);
    let browser = browser(&app);
    get_as(&browser, "/me", "ada@example.com").await.is(200).shows("ada@example.com");
    let old = browser.session().unwrap();
    get_as(&browser, "/me", "bob@example.com").await.is(200).shows("bob@example.com").hides("ada@example.com");
    assert_eq!((sessions(&app, &ada).await, sessions(&app, &bob).await), (0, 1));
    // Nobody goes on with the old one.
    stage.browser().with_session(&old).get("/me").await.leads_to();
    let gone = browser.get("/me").await;
    assert_eq!(gone.leads_to(), "/sign-in?to=%2Fme");
    assert_eq!((browser.session(), sessions(&app, &bob).await), (None, 0));
    // Somebody who signed in by themselves stays, with or without the same name in the header.
    let own = browser.with_session(&stage.browser_of(&ada).await.session().unwrap());
    get_as(&own, "/me", "ada@example.com").await.is(200);
    own.get("/me").await.is(200).shows("ada@example.com");
    assert_eq!(sessions(&app, &ada).await, 1);
    // But the proxy's word for somebody else is stronger, also if that is nobody here.
    get_as(&own, "/me", "eve@example.com").await.leads_to();
    assert_eq!((own.session(), sessions(&app, &ada).await), (None, 0));
}

async fn somebody_new_is_told_what_to_do_or_made(stage: Stage) {
    let closed = behind(&stage, HERE, NewUsers::Refused).await;
    let project = stage.project("Docs").await;
    let stranger = browser(&closed);
    assert_eq!(get_as(&stranger, "/", "eve@example.com").await.leads_to(), "/sign-in?to=%2F");
    let told = get_as(&stranger, "/sign-in", "eve@example.com").await;
    told.is(200).shows("eve@example.com").shows("not a user here yet").hides("Continue as");
    assert!(!closed.store().has_users().await.unwrap());
    let open = behind(&stage, HERE, NewUsers::WithoutProjects).await;
    let newcomer = browser(&open);
    get_as(&newcomer, "/", "eve@example.com").await.is(200).shows("You are not a member of any project").hides("Docs");
    get_as(&newcomer, &format!("/p/{}/keys", project.id), "eve@example.com").await.is(404);
    let users = open.store().users().await.unwrap();
    assert_eq!((users.len(), users[0].is_admin, users[0].name.as_str()), (1, false, "eve"));
    // Now that she is there she gets in everywhere.
    get_as(&browser(&closed), "/", "eve@example.com").await.is(200);
}

async fn signing_out_says_who_signs_in_again(stage: Stage) {
    let app = behind(&stage, HERE, NewUsers::Refused).await;
    let user = stage.user("ada@example.com", false).await;
    let browser = browser(&app);
    get_as(&browser, "/me", "ada@example.com").await.is(200);
    let out = post_as(&browser, "/sign-out", &[], "ada@example.com").await;
    assert_eq!(out.leads_to(), "/sign-in");
    assert_eq!((browser.session(), sessions(&app, &user).await), (None, 0));
    let shown = get_as(&browser, "/sign-in", "ada@example.com").await;
    shown.is(200).shows("signs you in again").shows("Continue as ada@example.com");
    assert_eq!(browser.session(), None);
}

async fn an_invitation_is_taken_by_whom_the_proxy_names(stage: Stage) {
    let app = behind(&stage, HERE, NewUsers::Refused).await;
    let project = stage.project("Docs").await;
    let entrance = Entrance::Member(project.id.clone(), Role::Editor);
    let people = &app.app().desk().people;
    let link = people.link(app.store(), entrance, "for Ada", INVITED).await.unwrap().unwrap();
    let (join, browser) = (format!("/join/{}", link.token.expose()), browser(&app));
    let shown = get_as(&browser, &join, "ada@example.com").await;
    shown.is(200).shows("ada@example.com").hides("type=\"password\"").hides("name=\"email\"");
    // Whatever else is in the form.
    let joined = post_as(&browser, &join, &[("email", "eve@example.com")], "ada@example.com").await;
    assert_eq!(joined.leads_to(), format!("/p/{}", project.id));
    let users = app.store().users().await.unwrap();
    assert_eq!((users.len(), users[0].email.as_str()), (1, "ada@example.com"));
    assert_eq!(app.store().members(&project.id).await.unwrap()[0].role, Role::Editor);
    // Such a session ends with the header too.
    browser.get("/me").await.leads_to();
}

async fn what_is_no_address_names_nobody(stage: Stage) {
    let app = behind(&stage, HERE, NewUsers::WithoutProjects).await;
    stage.user("ada@example.com", true).await;
    let browser = browser(&app);
    for said in ["ada", "ada@example.com, eve@example.com", "<script>alert(1)</script>", "@", "ada@example.com;eve"] {
        let is_one = said == "ada@example.com;eve";
        let shown = get_as(&browser, "/sign-in", said).await;
        shown.is(200).hides("<script>alert");
        if !is_one {
            assert_eq!(get_as(&browser, "/me", said).await.leads_to(), "/sign-in?to=%2Fme", "{said}");
            shown.shows("sign_in.proxy_header");
        }
    }
    // Two headers: one of them may be somebody's own.
    let twice = browser.request(Method::GET, "/me").header("remote-email", "ada@example.com");
    browser.send(twice.header("remote-email", "eve@example.com")).await.leads_to();
    let bytes = reqwest::header::HeaderValue::from_bytes(b"ada@example.com\xff").unwrap();
    browser.send(browser.request(Method::GET, "/me").header("remote-email", bytes)).await.leads_to();
    get_as(&browser, "/me", "").await.leads_to();
    assert_eq!(browser.session(), None);
    assert_eq!(app.store().users().await.unwrap().len(), 1);
}

async fn the_proxy_is_the_proof_for_what_hurts(stage: Stage) {
    let app = behind(&stage, HERE, NewUsers::WithoutProjects).await;
    let (project, browser) = (stage.project("Docs").await, browser(&app));
    get_as(&browser, "/me", "ada@example.com").await.is(200);
    let user = app.store().user_at("ada@example.com").await.unwrap().unwrap().0;
    app.store().set_member(&project.id, &user.id, Role::Owner).await.unwrap().unwrap();
    stage.clock.advance(Duration::from_secs(16 * 60));
    let (keys, form) = (format!("/p/{}/keys", project.id), [("name", "x"), ("scope", "read")]);
    post_as(&browser, &keys, &form, "ada@example.com").await.is(200);
    // A session of another way asks as ever; without a password and a provider there is nothing to ask for.
    let own = stage.browser_of(&user).await;
    stage.clock.advance(Duration::from_secs(16 * 60));
    own.post(&keys, &form).await.is(403).shows("copydesk user link");
}

async fn a_header_does_not_help_requests_from_elsewhere(stage: Stage) {
    let app = behind(&stage, HERE, NewUsers::Refused).await;
    stage.user("ada@example.com", true).await;
    let browser = browser(&app);
    for site in ["cross-site", "same-site", "none"] {
        let form = browser.form("/me/name", &[("name", "Eve")]).header("sec-fetch-site", site);
        browser
            .send(form.header("remote-email", "ada@example.com"))
            .await
            .is(403)
            .shows("did not come from a Copydesk page");
    }
    assert_eq!(app.store().user_at("ada@example.com").await.unwrap().unwrap().0.name, "Ada Lovelace");
}
