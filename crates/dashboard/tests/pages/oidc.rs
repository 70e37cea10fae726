//! Getting in through a provider of OpenID Connect.

use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::people::oidc::{Oidc, OidcSettings};
use copydesk_desk::people::{INVITED, NewUsers, SignIn};
use copydesk_domain::{ProjectId, Role, User};
use copydesk_store::Entrance;
use copydesk_testkit::TestApp;
use copydesk_testkit::provider::{Algorithm, CLIENT_SECRET, Person, Provider, Trick};
use serde_json::json;

use crate::browser::{Browser, Shown};
use crate::stage::{PASSWORD, Stage};

behaviours! {
    somebody_is_let_in_and_known_again,
    nobody_new_is_let_in_unless_that_is_set,
    an_address_joins_only_if_the_provider_has_verified_it,
    an_invitation_is_taken_through_the_provider,
    a_link_for_somebody_joins_them_to_the_provider,
    every_way_to_sign_is_taken_and_new_keys_are_found,
    a_token_that_is_not_right_lets_nobody_in,
    an_answer_that_is_not_right_lets_nobody_in,
    a_sign_in_counts_once_in_its_own_browser_and_for_ten_minutes,
    who_turns_back_is_told_so,
    an_address_may_be_told_elsewhere,
    the_secret_is_shown_as_the_provider_wants_it,
    an_answer_may_say_whose_it_is,
    passwords_are_refused_where_the_provider_is_the_only_way,
    a_deed_that_hurts_leads_to_the_provider_again,
    an_old_sign_in_there_is_no_proof,
    one_server_ends_what_another_began,
    made_up_codes_wait,
    hostile_names_stay_names,
}

const ADDRESS: &str = "http://desk.example.test";

fn back() -> String {
    format!("{ADDRESS}/sign-in/oidc/back")
}

/// A provider, and a server that knows it. People reach the server under an address of its own, as behind a proxy.
struct Scene {
    provider: Provider,
    app: TestApp,
}

fn ways(settings: OidcSettings, vault: copydesk_store::Vault, new_users: NewUsers, oidc_only: bool) -> SignIn {
    SignIn { proxy: None, oidc: Some(Oidc::new(settings, vault).unwrap()), oidc_only, new_users }
}

impl Scene {
    async fn new(stage: &Stage, new_users: NewUsers) -> Self {
        let provider = Provider::start(stage.clock.clone()).await;
        Self::with(stage, provider, new_users, false).await
    }

    async fn with(stage: &Stage, provider: Provider, new_users: NewUsers, oidc_only: bool) -> Self {
        let settings = provider.settings(&back());
        let setup = TestApp::over(stage.database.clone()).clock(stage.clock.clone());
        let app = setup.ways(move |_, vault| ways(settings, vault, new_users, oidc_only)).start().await;
        Self { provider, app }
    }

    fn browser(&self) -> Browser {
        Browser::new(self.app.client().base())
    }

    /// Goes to the provider and comes back.
    async fn sign_in(&self, browser: &Browser, path: &str) -> Shown {
        browser.get(&through_provider(&browser.get(path).await.leads_to()).await).await
    }

    async fn user(&self, browser: &Browser) -> Option<User> {
        let visit = self.app.app().desk().people.visit(&browser.session()?, None).await.unwrap();
        visit.map(|visit| visit.user)
    }
}

/// Where the provider sends somebody whom we sent there: the path and the query of an address of ours.
async fn through_provider(address: &str) -> String {
    let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    let http = builder.tls_certs_only([]).build().unwrap();
    let answer = http.get(address).send().await.unwrap();
    let status = answer.status();
    let location = answer.headers().get("location").map(|value| value.to_str().unwrap().to_owned());
    let Some(location) = location else { panic!("{status}: {}", answer.text().await.unwrap()) };
    location.strip_prefix(ADDRESS).unwrap_or_else(|| panic!("led elsewhere: {location}")).to_owned()
}

fn ada() -> Person {
    Person::new("ada-1", "Ada@Example.com")
}

async fn somebody_is_let_in_and_known_again(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::WithoutProjects).await;
    scene.provider.signs_in(ada());
    let browser = scene.browser();
    browser.get("/sign-in?to=%2Fme").await.is(200).shows("/sign-in/oidc?to=%2Fme").shows("Sign in with 127.0.0.1");
    let away = browser.get("/sign-in/oidc?to=%2Fme").await;
    let note = away.headers["set-cookie"].to_str().unwrap();
    assert!(note.contains("HttpOnly") && note.contains("SameSite=Lax") && note.contains("Max-Age=600"), "{note}");
    assert_eq!(away.headers["cache-control"], "no-store, no-transform");
    let address = through_provider(&away.leads_to()).await;
    let arrived = browser.get(&address).await;
    assert_eq!(arrived.leads_to(), "/me");
    let cookies: Vec<_> = arrived.headers.get_all("set-cookie").iter().map(|it| it.to_str().unwrap()).collect();
    assert!(cookies.iter().any(|it| it.contains("-away-") && it.contains("Max-Age=0")), "{cookies:?}");
    let shown = browser.get("/me").await;
    shown.is(200).shows("ada@example.com").shows("through 127.0.0.1").shows("You have none").shows("Ada Lovelace");
    browser.get("/").await.is(200).shows("You are not a member of any project");
    browser.post("/sign-out", &[]).await.leads_to();
    assert_eq!(scene.user(&browser).await, None);
    // Under another address it is still she.
    scene.provider.signs_in(Person::new("ada-1", "lovelace@example.com"));
    assert_eq!(scene.sign_in(&browser, "/sign-in/oidc").await.leads_to(), "/");
    assert_eq!(scene.user(&browser).await.unwrap().email, "ada@example.com");
    assert_eq!(scene.app.store().users().await.unwrap().len(), 1);
    // Somebody who is in already is not sent away.
    assert_eq!(browser.get("/sign-in/oidc?to=%2Fme").await.leads_to(), "/me");
    assert_eq!(scene.provider.refused(), [""; 0]);
    for seen in scene.provider.seen() {
        let is_plain = !seen.contains("s3cret") && (seen.starts_with("/authorize?") || !seen.contains('?'));
        assert!(is_plain, "{seen}");
    }
}

async fn nobody_new_is_let_in_unless_that_is_set(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::Refused).await;
    scene.provider.signs_in(ada());
    let browser = scene.browser();
    let shown = scene.sign_in(&browser, "/sign-in/oidc").await;
    shown.is(403).shows("nobody has invited you").shows("Sign in with");
    assert_eq!(scene.user(&browser).await, None);
    assert!(!scene.app.store().has_users().await.unwrap());
    // The plain server, which knows no provider.
    stage.browser().get("/sign-in/oidc").await.is(404).shows("No provider");
    stage.browser().get("/sign-in/oidc/back?code=1&state=2").await.is(404).shows("No provider");
    stage.browser().get("/sign-in").await.is(200).hides("/sign-in/oidc");
}

async fn an_address_joins_only_if_the_provider_has_verified_it(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::WithoutProjects).await;
    let user = stage.user("ada@example.com", true).await;
    for verified in [json!(false), json!(null), json!("true"), json!(1)] {
        scene.provider.signs_in(Person { verified, ..ada() });
        let browser = scene.browser();
        scene.sign_in(&browser, "/sign-in/oidc").await.is(403).shows("Your address belongs to a user here");
        assert_eq!(scene.user(&browser).await, None);
    }
    scene.provider.signs_in(ada());
    let browser = scene.browser();
    scene.sign_in(&browser, "/sign-in/oidc").await.leads_to();
    assert_eq!(scene.user(&browser).await, Some(user));
    // An address that was given to somebody else there.
    scene.provider.signs_in(Person::new("heir", "ada@example.com"));
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.is(403).shows("Your address belongs to a user here");
    // Without an address nobody is made.
    scene.provider.signs_in(Person { email: None, ..Person::new("nameless", "") });
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.is(403).shows("did not tell your e-mail address");
    scene.provider.signs_in(Person::new("odd", "not an address"));
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.is(403).shows("did not tell your e-mail address");
}

async fn link(scene: &Scene, entrance: Entrance) -> String {
    let people = &scene.app.app().desk().people;
    let link = people.link(scene.app.store(), entrance, "for Ada", INVITED).await.unwrap().unwrap();
    link.token.expose().to_owned()
}

async fn an_invitation_is_taken_through_the_provider(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::Refused).await;
    let project = stage.project("Docs").await;
    let token = link(&scene, Entrance::Member(project.id.clone(), Role::Editor)).await;
    let (browser, way) = (scene.browser(), format!("/sign-in/oidc?to=%2Fjoin%2F{token}"));
    browser.get(&format!("/join/{token}")).await.is(200).shows(&way).shows("Continue with 127.0.0.1");
    // Also without a verified address: the link is the evidence.
    scene.provider.signs_in(ada().unverified());
    let joined = scene.sign_in(&browser, &way).await;
    assert_eq!(joined.leads_to(), format!("/p/{}", project.id));
    let user = scene.user(&browser).await.unwrap();
    assert_eq!(user.email, "ada@example.com");
    assert_eq!(stage.app.store().members(&project.id).await.unwrap()[0].role, Role::Editor);
    // It is used up.
    scene.provider.signs_in(Person::new("bob-1", "bob@example.com"));
    scene.sign_in(&scene.browser(), &way).await.is(403).shows("nobody has invited you");
    // Somebody who is known comes back to the link and takes it there.
    let token = link(&scene, Entrance::Administrator).await;
    scene.provider.signs_in(ada());
    let (browser, way) = (scene.browser(), format!("/sign-in/oidc?to=%2Fjoin%2F{token}"));
    assert_eq!(scene.sign_in(&browser, &way).await.leads_to(), format!("/join/{token}"));
    browser.post(&format!("/join/{token}"), &[]).await.leads_to();
    assert!(scene.user(&browser).await.unwrap().is_admin);
}

async fn a_link_for_somebody_joins_them_to_the_provider(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::Refused).await;
    let user = stage.user("ada@example.com", false).await;
    let token = link(&scene, Entrance::Again(user.id.clone())).await;
    scene.provider.signs_in(ada().unverified());
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.is(403);
    let browser = scene.browser();
    scene.sign_in(&browser, &format!("/sign-in/oidc?to=%2Fjoin%2F{token}")).await.leads_to();
    assert_eq!(scene.user(&browser).await, Some(user.clone()));
    let browser = scene.browser();
    scene.sign_in(&browser, "/sign-in/oidc").await.leads_to();
    assert_eq!(scene.user(&browser).await, Some(user));
}

async fn every_way_to_sign_is_taken_and_new_keys_are_found(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::WithoutProjects).await;
    scene.provider.signs_in(ada());
    let asked = |scene: &Scene| scene.provider.seen().iter().filter(|seen| *seen == "/keys").count();
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.leads_to();
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.leads_to();
    assert_eq!(asked(&scene), 1, "they are kept");
    for (at, algorithm) in [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256].into_iter().enumerate() {
        scene.provider.turns_to(algorithm, &format!("key {at}"));
        let browser = scene.browser();
        scene.sign_in(&browser, "/sign-in/oidc").await.leads_to();
        assert_eq!(scene.user(&browser).await.unwrap().email, "ada@example.com", "{algorithm:?}");
        assert_eq!(asked(&scene), 2 + at, "they are asked for once more");
    }
    // And for a key that nobody shows not again and again.
    scene.provider.plays(Some(Trick::UnknownKey));
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.is(502);
    assert_eq!(asked(&scene), 5);
}

/// Says that nobody was let in, and nothing of what the provider said.
fn is_refused(shown: &Shown, what: &str) {
    assert_eq!(shown.status.as_u16(), 502, "{what}: {}", shown.html);
    for leak in ["<b>", "s3cret", "eyJ", "invalid_", "nonce"] {
        assert!(!shown.html.contains(leak), "{what}: {leak} in {}", shown.html);
    }
    shown.shows("127.0.0.1").shows("Sign in with");
}

async fn a_token_that_is_not_right_lets_nobody_in(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::WithoutProjects).await;
    scene.provider.signs_in(ada());
    for trick in [
        Trick::OtherNonce,
        Trick::NoNonce,
        Trick::OtherAudience,
        Trick::SeveralAudiences,
        Trick::OtherParty,
        Trick::OtherIssuer,
        Trick::Expired,
        Trick::FromTheFuture,
        Trick::NoSubject,
        Trick::AlgNone,
        Trick::Hs256WithPublicKey,
        Trick::UnknownKey,
        Trick::AlgOfAnotherKey,
        Trick::Critical,
        Trick::NoIdToken,
    ] {
        scene.provider.plays(Some(trick));
        let browser = scene.browser();
        is_refused(&scene.sign_in(&browser, "/sign-in/oidc").await, &format!("{trick:?}"));
        assert_eq!(browser.session(), None, "{trick:?}");
    }
    // Signed by another key of the same name, of every kind.
    for algorithm in [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa] {
        scene.provider.turns_to(algorithm, &format!("{algorithm:?}"));
        scene.provider.plays(None);
        scene.provider.plays(Some(Trick::OtherSignature));
        is_refused(&scene.sign_in(&scene.browser(), "/sign-in/oidc").await, &format!("{algorithm:?}"));
        scene.provider.plays(Some(Trick::Hs256WithPublicKey));
        is_refused(&scene.sign_in(&scene.browser(), "/sign-in/oidc").await, &format!("{algorithm:?} as a secret"));
    }
    assert!(!scene.app.store().has_users().await.unwrap());
    // And without any of that she gets in, also if the clocks differ a little.
    for fine in [None, Some(Trick::Behind), Some(Trick::Ahead)] {
        scene.provider.plays(fine);
        scene.sign_in(&scene.browser(), "/sign-in/oidc").await.leads_to();
    }
}

async fn an_answer_that_is_not_right_lets_nobody_in(stage: Stage) {
    let provider = Provider::start(stage.clock.clone()).await;
    let settings = OidcSettings { patience: Duration::from_millis(500), ..provider.settings(&back()) };
    let setup = TestApp::over(stage.database.clone()).clock(stage.clock.clone());
    let app = setup.ways(move |_, vault| ways(settings, vault, NewUsers::WithoutProjects, false)).start().await;
    let scene = Scene { provider, app };
    scene.provider.signs_in(ada());
    scene.provider.plays(Some(Trick::OtherDiscovery));
    is_refused(&scene.browser().get("/sign-in/oidc").await, "another issuer");
    for trick in [Trick::Huge, Trick::Redirects, Trick::NotJson, Trick::ServerError, Trick::Slow] {
        scene.provider.plays(Some(trick));
        let browser = scene.browser();
        is_refused(&scene.sign_in(&browser, "/sign-in/oidc").await, &format!("{trick:?}"));
        assert_eq!(browser.session(), None, "{trick:?}");
    }
    assert!(!scene.app.store().has_users().await.unwrap());
}

async fn a_sign_in_counts_once_in_its_own_browser_and_for_ten_minutes(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::WithoutProjects).await;
    scene.provider.signs_in(ada());
    let (mine, other) = (scene.browser(), scene.browser());
    let address = through_provider(&mine.get("/sign-in/oidc").await.leads_to()).await;
    // Somebody is sent a link with a code that is not theirs, also in the middle of a sign-in of their own.
    other.get(&address).await.is(403).shows("begun in another browser");
    other.get("/sign-in/oidc").await.leads_to();
    other.get(&address).await.is(403).shows("begun in another browser");
    let (code, state) = address.split_once("&state=").unwrap();
    for wrong in [
        code.to_owned(),
        format!("{code}&state="),
        format!("{code}&state={}", "0".repeat(64)),
        format!("{code}&state={}0000", &state[..60]),
        format!("{code}&state={}", &state[..8]),
        "/sign-in/oidc/back".to_owned(),
        format!("/sign-in/oidc/back?state={state}"),
        format!("/sign-in/oidc/back?code=&state={state}"),
    ] {
        // Each with the note of the first one.
        let trying = mine.copy();
        trying.get(&wrong).await.is(403).shows("Begin it again");
        assert_eq!(trying.session(), None, "{wrong}");
    }
    assert_eq!(scene.provider.refused(), [""; 0], "the provider was not even asked");
    // Two tabs of one browser do not get into each other's way.
    let second = through_provider(&mine.get("/sign-in/oidc?to=%2Fme").await.leads_to()).await;
    let again = mine.copy();
    mine.get(&address).await.leads_to();
    mine.get(&address).await.is(403).shows("it is over already");
    assert_eq!(mine.get(&second).await.leads_to(), "/me");
    // With the note kept, it is the provider that knows.
    again.get(&address).await.is(403).shows("it is over already");
    assert_eq!(scene.provider.refused(), ["a code that was used already"]);
    let late = scene.browser();
    let address = through_provider(&late.get("/sign-in/oidc").await.leads_to()).await;
    stage.clock.advance(Duration::from_secs(600));
    late.get(&address).await.is(403).shows("more than ten minutes ago");
}

async fn who_turns_back_is_told_so(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::WithoutProjects).await;
    let browser = scene.browser();
    let shown = scene.sign_in(&browser, "/sign-in/oidc").await;
    shown.is(403).shows("you turned back there").hides("<script>\n").hides("%3Cscript").hides("access_denied");
    // Somebody else's words in a link are not ours.
    let away = browser.get("/sign-in/oidc").await.leads_to();
    let state = away.split("state=").nth(1).unwrap().split('&').next().unwrap();
    let shown =
        browser.get(&format!("/sign-in/oidc/back?state={state}&error=call+0900&error_description=call+0900")).await;
    shown.is(403).shows("The provider refused the sign-in").hides("0900");
}

async fn an_address_may_be_told_elsewhere(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::WithoutProjects).await;
    scene.provider.signs_in(ada());
    scene.provider.only_user_info();
    scene.provider.plays(Some(Trick::UserInfoOfSomebodyElse));
    is_refused(&scene.sign_in(&scene.browser(), "/sign-in/oidc").await, "of somebody else");
    scene.provider.plays(None);
    let browser = scene.browser();
    scene.sign_in(&browser, "/sign-in/oidc").await.leads_to();
    assert_eq!(scene.user(&browser).await.unwrap().email, "ada@example.com");
}

async fn the_secret_is_shown_as_the_provider_wants_it(stage: Stage) {
    let provider = Provider::start(stage.clock.clone()).await;
    provider.secret_in_the_form();
    let scene = Scene::with(&stage, provider, NewUsers::WithoutProjects, false).await;
    scene.provider.signs_in(ada());
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.leads_to();
    let provider = Provider::start(stage.clock.clone()).await;
    provider.without_secret();
    let scene = Scene::with(&stage, provider, NewUsers::WithoutProjects, false).await;
    scene.provider.signs_in(Person::new("bob-1", "bob@example.com"));
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.leads_to();
    // A wrong one lets nobody in, and is not shown to anybody.
    let provider = Provider::start(stage.clock.clone()).await;
    let settings =
        OidcSettings { client_secret: Some(format!("{CLIENT_SECRET}!").into()), ..provider.settings(&back()) };
    let setup = TestApp::over(stage.database.clone()).clock(stage.clock.clone());
    let app = setup.ways(move |_, vault| ways(settings, vault, NewUsers::WithoutProjects, false)).start().await;
    let scene = Scene { provider, app };
    scene.provider.signs_in(ada());
    is_refused(&scene.sign_in(&scene.browser(), "/sign-in/oidc").await, "a wrong secret");
    assert_eq!(scene.provider.refused(), ["a wrong secret"]);
}

async fn an_answer_may_say_whose_it_is(stage: Stage) {
    let provider = Provider::start(stage.clock.clone()).await;
    provider.names_itself();
    let scene = Scene::with(&stage, provider, NewUsers::WithoutProjects, false).await;
    scene.provider.signs_in(ada());
    scene.sign_in(&scene.browser(), "/sign-in/oidc").await.leads_to();
    scene.provider.plays(Some(Trick::OtherAnswerer));
    is_refused(&scene.sign_in(&scene.browser(), "/sign-in/oidc").await, "another provider");
    scene.provider.plays(None);
    let browser = scene.browser();
    let address = through_provider(&browser.get("/sign-in/oidc").await.leads_to()).await;
    is_refused(&browser.get(address.split("&iss=").next().unwrap()).await, "nobody's answer");
}

async fn passwords_are_refused_where_the_provider_is_the_only_way(stage: Stage) {
    let provider = Provider::start(stage.clock.clone()).await;
    let scene = Scene::with(&stage, provider, NewUsers::Refused, true).await;
    let user = stage.user("ada@example.com", false).await;
    let browser = scene.browser();
    browser.get("/sign-in").await.is(200).shows("Sign in with 127.0.0.1").hides("type=\"password\"");
    let form = [("email", "ada@example.com"), ("password", PASSWORD)];
    browser.post("/sign-in", &form).await.is(422).shows("Passwords are not accepted here");
    assert_eq!(browser.session(), None);
    // Nor is one taken from a link; but a link that names somebody still lets them in.
    let invitation = format!("/join/{}", link(&scene, Entrance::Administrator).await);
    browser.get(&invitation).await.is(200).hides("type=\"password\"").hides("<form method=\"post\" class=\"fields\">");
    let who = [("name", "Eve"), ("email", "eve@example.com"), ("password", PASSWORD)];
    browser.post(&invitation, &who).await.is(403).shows("Passwords are not accepted here");
    let again = format!("/join/{}", link(&scene, Entrance::Again(user.id.clone())).await);
    browser.get(&again).await.is(200).hides("type=\"password\"");
    browser.post(&again, &[("password", "some other four words")]).await.is(403);
    browser.post(&again, &[]).await.leads_to();
    assert_eq!(scene.user(&browser).await, Some(user));
    browser.get("/me").await.is(200).hides("type=\"password\"");
    let change = [("present", PASSWORD), ("password", "some other four words")];
    browser.post("/me/password", &change).await.is(422);
}

/// An owner of a project who came through the provider, and has no password.
async fn owner(stage: &Stage, scene: &Scene) -> (ProjectId, Browser) {
    let project = stage.project("Docs").await;
    let token = link(scene, Entrance::Member(project.id.clone(), Role::Owner)).await;
    scene.provider.signs_in(ada());
    let browser = scene.browser();
    scene.sign_in(&browser, &format!("/sign-in/oidc?to=%2Fjoin%2F{token}")).await.leads_to();
    (project.id.clone(), browser)
}

const KEY: [(&str, &str); 2] = [("name", "from the page"), ("scope", "read")];

async fn a_deed_that_hurts_leads_to_the_provider_again(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::Refused).await;
    let (project, browser) = owner(&stage, &scene).await;
    let keys = format!("/p/{project}/keys");
    browser.post(&keys, &KEY).await.is(200);
    stage.clock.advance(Duration::from_secs(16 * 60));
    let before = scene.app.store().keys(Some(&project)).await.unwrap().len();
    let asked = browser.post(&keys, &KEY).await;
    asked.is(403).shows("Confirm that it is you").shows("/sign-in/oidc?again=1&#38;to=%2F").hides("type=\"password\"");
    assert_eq!(scene.app.store().keys(Some(&project)).await.unwrap().len(), before);
    // No password that somebody makes up helps.
    browser.post(&keys, &[KEY[0], KEY[1], ("_password", PASSWORD)]).await.is(403).shows("Confirm that it is you");
    let again = format!("/sign-in/oidc?again=1&to={}", keys.replace('/', "%2F"));
    for (trick, words) in [
        (Trick::NotAskedAgain, "did not ask you who you are again"),
        (Trick::NoAuthTime, "does not say when you signed in"),
    ] {
        scene.provider.plays(Some(trick));
        scene.sign_in(&browser, &again).await.is(403).shows(words);
        browser.post(&keys, &KEY).await.is(403);
    }
    scene.provider.plays(None);
    scene.provider.signs_in(Person::new("bob-1", "bob@example.com"));
    scene.sign_in(&browser, &again).await.is(403).shows("as a different user");
    browser.post(&keys, &KEY).await.is(403);
    scene.provider.signs_in(ada());
    let sure = scene.sign_in(&browser, &again).await.leads_to();
    browser.get(&sure).await.is(200).shows("Now repeat your action").shows(&format!("href=\"{keys}\""));
    browser.post(&keys, &KEY).await.is(200);
    // What confirms one session confirms no other.
    stage.clock.advance(Duration::from_secs(16 * 60));
    let address = through_provider(&browser.get(&again).await.leads_to()).await;
    let other = scene.browser();
    scene.sign_in(&other, "/sign-in/oidc").await.leads_to();
    let mixed = browser.copy().with_session(&other.session().unwrap());
    mixed.get(&address).await.is(403);
}

async fn an_old_sign_in_there_is_no_proof(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::Refused).await;
    let (project, _) = owner(&stage, &scene).await;
    stage.clock.advance(Duration::from_secs(16 * 60));
    // The provider lets her in without asking, so a new session alone says nothing.
    let browser = scene.browser();
    scene.sign_in(&browser, "/sign-in/oidc").await.leads_to();
    browser.post(&format!("/p/{project}/keys"), &KEY).await.is(403).shows("Confirm that it is you");
    // Nor does taking another invitation.
    let token = link(&scene, Entrance::Administrator).await;
    browser.post(&format!("/join/{token}"), &[]).await.leads_to();
    browser.post(&format!("/p/{project}/keys"), &KEY).await.is(403).shows("Confirm that it is you");
}

async fn one_server_ends_what_another_began(stage: Stage) {
    let provider = Provider::start(stage.clock.clone()).await;
    let keys = Arc::new(tempfile::tempdir().unwrap());
    let mut servers = Vec::new();
    for folder in [keys.clone(), keys, Arc::new(tempfile::tempdir().unwrap())] {
        let settings = provider.settings(&back());
        let setup = TestApp::over(stage.database.clone()).clock(stage.clock.clone()).keys(folder);
        servers.push(setup.ways(|_, vault| ways(settings, vault, NewUsers::WithoutProjects, false)).start().await);
    }
    provider.signs_in(ada());
    let [one, two, stranger] = [0, 1, 2].map(|at: usize| Browser::new(servers[at].client().base()));
    let address = through_provider(&one.get("/sign-in/oidc?to=%2Fme").await.leads_to()).await;
    stranger.with_cookies_of(&one).get(&address).await.is(403).shows("Begin it again");
    let two = two.with_cookies_of(&one);
    assert_eq!(two.get(&address).await.leads_to(), "/me");
    two.get("/me").await.is(200).shows("ada@example.com");
    Browser::new(servers[0].client().base()).with_cookies_of(&two).get("/me").await.is(200);
}

async fn made_up_codes_wait(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::WithoutProjects).await;
    scene.provider.signs_in(ada());
    let browser = scene.browser();
    let made_up = async || {
        let away = browser.get("/sign-in/oidc").await.leads_to();
        let state = away.split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
        browser.get(&format!("/sign-in/oidc/back?code=made-up&state={state}")).await
    };
    for _ in 0..5 {
        made_up().await.is(403);
    }
    made_up().await.is(429).shows("Try again in 10 seconds");
    assert_eq!(scene.provider.refused().len(), 5);
    stage.clock.advance(Duration::from_secs(10));
    scene.sign_in(&browser, "/sign-in/oidc").await.leads_to();
}

async fn hostile_names_stay_names(stage: Stage) {
    let scene = Scene::new(&stage, NewUsers::WithoutProjects).await;
    let names = [
        (json!("<script>alert(1)</script>"), "&#60;script&#62;"),
        (json!(format!("{}\u{0}\u{202e}", "x".repeat(300))), "xxx"),
        (json!({ "an": "object" }), "ada"),
        (json!(""), "ada"),
    ];
    for (at, (name, shown)) in names.into_iter().enumerate() {
        let email = format!("ada{at}@example.com");
        scene.provider.signs_in(Person { name, ..Person::new(&format!("<b>{at}"), &email) });
        let browser = scene.browser();
        scene.sign_in(&browser, "/sign-in/oidc").await.leads_to();
        browser.get("/me").await.is(200).shows(shown).hides("<script>alert").shows(&email);
    }
}
