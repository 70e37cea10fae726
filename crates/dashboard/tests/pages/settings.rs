//! The settings of a project: what is saved, what is refused beside its field, and what is shown once.

use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::projects::Ability;
use copydesk_desk::{ModelFact, ModelTrial};
use copydesk_domain::{Ask, Comments, Dollars, HostKind, HostSettings, OnFindings, Project, ProjectId, Role, Source};
use copydesk_store::DeedFilter;
use copydesk_testkit::{GitRepo, ProjectClient, Receiver};
use futures_util::future::BoxFuture;

use crate::browser::Browser;
use crate::stage::Stage;

behaviours! {
    each_subject_saves_its_own,
    what_is_asked_for_at_the_code_host_is_listed,
    what_is_wrong_stays_in_the_form_and_is_said_beside_it,
    hostile_text_is_only_text_in_every_field,
    owners_lead_the_server_nowhere_inside,
    a_credential_is_set_and_never_shown,
    a_connection_is_tested_line_by_line,
    a_model_is_tried_out,
    a_limit_without_a_price_is_said_not_to_hold,
    secrets_of_senders_are_shown_once,
    a_view_is_waited_for,
    webhooks_live_from_their_making_to_their_removal,
    members_come_by_links_and_the_last_owner_stays,
    the_audit_log_is_paged_and_exported,
    a_project_ends_only_by_its_id,
}

const HOSTILE: &str = "\"><script>alert(1)</script>\u{202e}x";

fn page(project: &ProjectClient, rest: &str) -> String {
    format!("/p/{}/settings/{rest}", project.id)
}

async fn saved(stage: &Stage, id: &ProjectId) -> Project {
    stage.app.store().project(id).await.unwrap().unwrap()
}

async fn owned(stage: &Stage) -> (ProjectClient, Browser) {
    let project = stage.project("Docs").await;
    let owner = stage.member(&project.id, Role::Owner).await;
    (project, owner)
}

const REPOSITORY: [(&str, &str); 5] = [
    ("repository", "https://example.com/acme/docs.git"),
    ("base_ref", "trunk"),
    ("docs_path", "docs\r\nsite/content\r\n"),
    ("host", "gitlab"),
    ("host_api_url", ""),
];

async fn each_subject_saves_its_own(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    assert_eq!(owner.get(&format!("/p/{}/settings", project.id)).await.leads_to(), page(&project, "general"));
    let save = async |subject: &str, fields: &[(&str, &str)]| {
        owner.post_and_follow(&page(&project, subject), fields).await.is(200).shows("Saved.");
    };
    save("general", &[("name", "Handbook"), ("time_zone", "Europe/Berlin")]).await;
    save("repository", &REPOSITORY).await;
    save("model", &[("jobs_per_hour", "12"), ("max_running", "0"), ("time_limit", "45m"), ("job_cost", "0.5")]).await;
    save("checks", &[("on_findings", "fail"), ("allow", "docs/data/*.json"), ("deny", "docs/legal")]).await;
    let talk = [
        ("label", "docs\r\nby copydesk"),
        ("reviewer", "ada"),
        ("comments", "all"),
        ("mention", "@docs-bot"),
        ("job_label", "docs wanted"),
    ];
    save("talk", &talk).await;
    let views =
        [("domain", "docs.example.com"), ("people_from", "both"), ("machines_from", "server"), ("keep_views", "90")];
    save("collection", &views).await;
    let it = saved(&stage, &project.id).await;
    assert_eq!((&*it.name, &*it.time_zone, &*it.base_ref), ("Handbook", "Europe/Berlin", "trunk"));
    assert_eq!((it.docs_paths.len(), it.host.kind), (2, Some(HostKind::Gitlab)));
    assert_eq!((it.jobs_per_hour, it.max_running, it.time_limit_seconds), (Some(12), Some(0), Some(2700)));
    assert_eq!(it.job_cost.map(|it| it.to_string()).as_deref(), Some("0.50"));
    assert_eq!((it.on_findings, &*it.write_paths.allow[0]), (OnFindings::Fail, "docs/data/*.json"));
    assert_eq!((it.views.sources.people, it.views.keep_days), (Source::Both, Some(90)));
    assert_eq!(
        (it.host.labels, it.host.reviewers.len(), it.host.comments),
        (vec!["docs".to_owned(), "by copydesk".to_owned()], 1, Comments::All)
    );
    assert_eq!((it.host.mention.as_deref(), it.host.job_label.as_deref()), (Some("docs-bot"), Some("docs wanted")));
    // What is left empty goes back to what holds for all.
    save("talk", &[("label", ""), ("reviewer", ""), ("comments", "mentions"), ("mention", ""), ("job_label", "")])
        .await;
    save("model", &[("jobs_per_hour", ""), ("max_running", ""), ("time_limit", "")]).await;
    save("checks", &[("on_findings", "draft"), ("allow", ""), ("deny", "")]).await;
    let it = saved(&stage, &project.id).await;
    assert_eq!((it.jobs_per_hour, it.time_limit_seconds, it.write_paths.deny.len()), (None, None, 0));
    assert_eq!(it.job_cost, None);
    assert_eq!(it.host, HostSettings { kind: Some(HostKind::Gitlab), ..HostSettings::default() });
    assert_eq!(it.views.domains, ["docs.example.com"], "what other forms have is left alone");
    for (subject, text) in [("general", "Handbook"), ("repository", "trunk"), ("collection", "docs.example.com")] {
        owner.get(&page(&project, subject)).await.is(200).shows(text);
    }
}

async fn what_is_asked_for_at_the_code_host_is_listed(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let at = page(&project, "talk");
    owner.get(&at).await.is(200).shows("Nothing yet.");
    let store = stage.app.store();
    assert!(store.hear(&project.id, vec![Ask::Comment { pull: 7, id: 12 }]).await.unwrap());
    let asked = store.ask(&project.id, "comment 12").await.unwrap().unwrap();
    store.refuse_ask(&asked, &format!("{HOSTILE} may not write")).await.unwrap();
    owner
        .get(&at)
        .await
        .is(200)
        .shows("Comment 12 on #7")
        .shows("left alone")
        .shows("may not write")
        .hides("<script>alert");
}

async fn what_is_wrong_stays_in_the_form_and_is_said_beside_it(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let with = |field: &'static str, value: &'static str| {
        REPOSITORY.map(|(name, old)| if name == field { (name, value) } else { (name, old) })
    };
    let before = saved(&stage, &project.id).await;
    for (subject, fields, said, kept) in [
        ("general", vec![("name", " "), ("time_zone", "UTC")], "Must have 1 to 200", "value=\"UTC\""),
        ("general", vec![("name", "x"), ("time_zone", "Mars/Olympus")], "Must be an IANA", "Mars/Olympus"),
        ("repository", with("base_ref", "a..b").to_vec(), "Must be a branch name", "a..b"),
        ("repository", with("docs_path", "").to_vec(), "Is needed: a folder", "trunk"),
        ("repository", with("docs_path", "../x").to_vec(), "Must be a folder inside", "../x"),
        ("repository", with("host", "svn").to_vec(), "Must be one of the listed kinds", "trunk"),
        ("repository", with("host", "local").to_vec(), "Must be one of the listed kinds", "trunk"),
        ("model", vec![("jobs_per_hour", "many")], "Must be a whole number", "value=\"many\""),
        ("model", vec![("time_limit", "8d")], "Must be from 1s to 7d", "value=\"8d\""),
        ("model", vec![("job_cost", "0")], "Must be more than 0", "value=\"0\""),
        ("checks", vec![("on_findings", "draft"), ("allow", "/etc")], "Must be a path inside", "/etc"),
        ("checks", vec![("on_findings", "perhaps")], "Must be one of the two", "Checks"),
        ("talk", vec![("comments", "some")], "Must be one of the three", "Labels"),
        ("talk", vec![("comments", "all"), ("label", "a,b")], "Must have 1 to 100", "a,b"),
        ("talk", vec![("comments", "all"), ("mention", "a b")], "Must be a name such as", "value=\"a b\""),
        ("collection", vec![("people_from", "auto"), ("machines_from", "x")], "Must be one of the choices", "Hosts"),
        (
            "collection",
            vec![("domain", "https://a.b"), ("people_from", "auto"), ("machines_from", "auto")],
            "Must be a host such as",
            "https://a.b",
        ),
    ] {
        let refused = owner.post(&page(&project, subject), &fields).await;
        refused.is(422).shows(said).shows(kept).shows("This was not saved");
    }
    assert_eq!(saved(&stage, &project.id).await, before);
    // A host belongs to one project.
    let other = stage.project("Other").await;
    let theirs = stage.member(&other.id, Role::Owner).await;
    let views =
        [("domain", "docs.example.com"), ("people_from", "auto"), ("machines_from", "auto"), ("keep_views", "")];
    theirs.post(&page(&other, "collection"), &views).await.leads_to();
    owner.post(&page(&project, "collection"), &views).await.is(422).shows("belongs to another project");
}

async fn hostile_text_is_only_text_in_every_field(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let names: [(&str, &[&str]); 10] = [
        ("talk", &["label", "reviewer", "comments", "mention", "job_label"]),
        ("general", &["name", "time_zone"]),
        ("repository", &["repository", "base_ref", "docs_path", "host", "host_api_url"]),
        ("repository/credential", &["kind", "token", "username", "private_key", "app_id"]),
        ("model", &["jobs_per_hour", "max_running", "time_limit", "job_cost"]),
        ("checks", &["on_findings", "allow", "deny"]),
        ("collection", &["domain", "people_from", "machines_from", "keep_views"]),
        ("webhooks", &["url", "description", "event"]),
        ("members/invite", &["note", "as"]),
        ("danger/delete", &["typed"]),
    ];
    for (subject, fields) in names {
        let fields: Vec<_> = fields.iter().map(|name| (*name, HOSTILE)).collect();
        let shown = owner.post(&page(&project, subject), &fields).await;
        assert!(shown.status == 422 || shown.status == 200, "{subject}: {}", shown.status);
        shown.hides("<script>alert").hides("\u{202e}");
        shown.hides(&format!("<textarea id=\"f-ssh-key\" name=\"private_key\">{HOSTILE}"));
    }
    // As a name that was taken, everywhere it is shown.
    let name = HOSTILE.replace('\u{202e}', "");
    owner.post(&page(&project, "general"), &[("name", HOSTILE), ("time_zone", "UTC")]).await;
    for subject in
        ["general", "repository", "talk", "model", "checks", "collection", "webhooks", "members", "audit", "danger"]
    {
        owner.get(&page(&project, subject)).await.is(200).hides(&name).hides("<script>alert");
    }
    for query in [HOSTILE, "said=%3Cscript%3E", "before=%00", "said=saved&said=x"] {
        let shown = owner.get(&page(&project, &format!("general?{}", query.replace('"', "%22")))).await;
        shown.is(200).hides("<script>alert");
    }
    for path in ["webhooks/%00", "webhooks/%ff", "members/%00/remove", "audit?before=%00"] {
        let status = owner.get(&page(&project, path)).await.status.as_u16();
        assert!((400..500).contains(&status), "{path}: {status}");
    }
}

async fn owners_lead_the_server_nowhere_inside(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let admin = stage.admin().await;
    let with = |field: &'static str, value: &str| -> Vec<(&'static str, String)> {
        let mut all: Vec<_> = REPOSITORY.map(|(name, old)| (name, old.to_owned())).to_vec();
        all.retain(|(name, _)| *name != field);
        all.push((field, value.to_owned()));
        all
    };
    let post = async |browser: &Browser, fields: &[(&'static str, String)]| {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        browser.post(&page(&project, "repository"), &fields).await
    };
    for inside in [
        "/srv/docs",
        "file:///etc",
        "http://example.com/docs",
        "https://127.0.0.1/docs",
        "https://[::1]/docs",
        "ssh://git@10.0.0.1/docs",
        "https://169.254.169.254/docs",
        "https://localhost/docs",
    ] {
        let refused = post(&owner, &with("repository", inside)).await;
        refused.is(422).shows("aria-invalid=\"true\"");
    }
    post(&owner, &with("host_api_url", "https://192.168.0.1/api")).await.is(422).shows("private network");
    // A file of the server is not even asked for.
    owner.get(&page(&project, "repository")).await.hides("host_ca_file");
    post(&owner, &with("host_ca_file", "/etc/passwd")).await.leads_to();
    assert_eq!(saved(&stage, &project.id).await.host.ca_file, None);
    post(&owner, &with("repository", "https://140.82.121.3/acme/docs")).await.leads_to();
    // Whoever owns the machine may; what they named, others may keep.
    let repo = GitRepo::new([("docs/index.md", "# Docs\n")]);
    let path = repo.path().to_str().unwrap().to_owned();
    post(&admin, &with("repository", &path)).await.leads_to();
    let kept = saved(&stage, &project.id).await.repository.clone_address().to_owned();
    assert!(kept.starts_with("file://"), "{kept}");
    post(&owner, &with("repository", &kept)).await.leads_to();
    post(&owner, &with("repository", &format!("{kept}/../x"))).await.is(422);
}

async fn a_credential_is_set_and_never_shown(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let (credential, settings) = (page(&project, "repository/credential"), page(&project, "repository"));
    owner.get(&settings).await.is(200).shows("Without one");
    for (fields, said) in [
        (vec![("kind", "token"), ("token", "")], "Is needed."),
        (vec![("kind", "token"), ("token", "pla\nnted")], "Holds control characters"),
        (vec![("kind", "ssh_key"), ("private_key", "planted")], "Is not a private key"),
        (vec![("kind", "github_app"), ("private_key", "planted")], "Is needed."),
        (vec![("kind", "password")], "must be token, ssh_key or github_app"),
    ] {
        owner.post(&credential, &fields).await.is(422).shows(said).hides("planted");
    }
    let token = [("kind", "token"), ("token", " planted-token "), ("username", "deploy")];
    owner.post_and_follow(&credential, &token).await.is(200).shows("The credential is stored").hides("planted");
    let known = stage.app.app().desk().jobs.workshop().unwrap().credentials.known(&project.id).await.unwrap();
    assert_eq!(known.source.unwrap().title(), "user name and password");
    owner.get(&settings).await.shows("User name and password").shows("Remove it").hides("planted");
    let deeds = stage.app.store().deeds(DeedFilter { limit: 1, ..DeedFilter::default() }).await.unwrap();
    assert_eq!((&*deeds[0].action, &*deeds[0].target), ("secret.set", "user name and password"));
    let asked = format!("{credential}/remove");
    owner.get(&asked).await.is(200).shows("Remove the credential?");
    owner.post_and_follow(&asked, &[]).await.is(200).shows("Revoke it at the code host too");
    owner.get(&settings).await.shows("Without one");
    // After a while, whoever sits there has to show that it is they.
    stage.clock.advance(Duration::from_secs(15 * 60));
    owner.post(&credential, &token).await.is(403).shows("Your password again");
    owner.get(&settings).await.shows("Without one");
}

async fn a_connection_is_tested_line_by_line(stage: Stage) {
    let admin = stage.admin().await;
    let repo = GitRepo::new([("docs/index.md", "# Docs\n")]);
    let fields =
        [("name", "Local"), ("repository", repo.path().to_str().unwrap()), ("docs_path", "docs"), ("time_zone", "UTC")];
    let step = admin.post("/new", &fields).await.leads_to();
    assert_eq!(step, "/new/local/test");
    let shown = admin.post("/p/local/settings/repository/test", &[]).await;
    shown.is(200).shows("Git may push a branch").shows("A job can run.").shows("badge good").hides("<!--");
    assert!(shown.html.trim_end().ends_with("</html>"), "the page is whole");
    admin.post(&step, &[]).await.is(200).shows("A job can run.").shows("Test again");
    let broken = [("repository", "/no/such/folder"), ("base_ref", "main"), ("docs_path", "docs")];
    admin.post("/p/local/settings/repository", &broken).await.leads_to();
    let shown = admin.post("/p/local/settings/repository/test", &[]).await;
    shown.is(200).shows("A job would fail").shows("badge bad").hides("A job can run.");
}

struct Talker;

impl ModelTrial for Talker {
    fn name(&self) -> &str {
        "talker-1"
    }

    fn try_out<'a>(&'a self, _: &'a ProjectId) -> BoxFuture<'a, Vec<ModelFact>> {
        let fact = |name, what: &str, ability| ModelFact { name, what: what.to_owned(), ability };
        let facts = vec![
            fact("answers", "it answers", Ability::Yes),
            fact("tools", "it calls tools", Ability::No(HOSTILE.to_owned())),
        ];
        Box::pin(async move { facts })
    }
}

async fn a_limit_without_a_price_is_said_not_to_hold(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    for (is_priced, cost, on_server) in [(false, None, "no limit"), (true, Some(2.0), "2.00 US dollars")] {
        let there = stage.another(|setup| {
            setup.rules(|rules| {
                rules.models.push("gpt-x".to_owned());
                rules.default_model = "gpt-x".to_owned();
                rules.priced_models.extend(is_priced.then(|| "gpt-x".to_owned()));
                rules.job_cost = cost.map(Dollars::rounded);
            })
        });
        let there = there.await;
        let owner = there.browser().with_cookies_of(&owner);
        let (settings, new) = (page(&project, "model"), format!("/p/{}/jobs/new", project.id));
        owner.post_and_follow(&settings, &[("job_cost", "")]).await.is(200).hides("does not hold");
        let saved = owner.post_and_follow(&settings, &[("job_cost", "0.5")]).await;
        saved.is(200).shows("value=\"0.50\"").shows(&format!("On this server: {on_server}."));
        let form = owner.get(&new).await;
        if is_priced {
            saved.hides("does not hold");
            form.is(200).shows("A prompt may cost $0.500 at the most.");
        } else {
            saved.shows("does not hold for jobs of gpt-x");
            form.is(200).hides("A prompt may cost");
            owner.post(&new, &[("prompt", "x"), ("maxCost", "1")]).await.is(422).shows("the price of gpt-x");
        }
        there.app.stop().await;
    }
}

async fn a_model_is_tried_out(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    owner.get(&page(&project, "model")).await.is(200).shows("No language model is configured");
    owner.post(&page(&project, "model/try"), &[]).await.is(409);
    let with_model = stage.another(|setup| setup.model(Arc::new(Talker))).await;
    let owner = with_model.browser().with_cookies_of(&owner);
    owner.get(&page(&project, "model")).await.is(200).shows("talker-1").shows("Try it now");
    let tried = owner.post(&page(&project, "model/try"), &[]).await;
    for _ in 0..9 {
        owner.post(&page(&project, "model/try"), &[]).await.is(200);
    }
    owner.post(&page(&project, "model/try"), &[]).await.is(429).shows("wait a while");
    tried.is(200).shows("It answers").shows("It calls tools").shows("alert(1)").hides("<script>alert");
}

async fn secrets_of_senders_are_shown_once(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    for (deed, subject, id) in
        [("collection/drain", "collection", "drain-secret"), ("repository/hook", "repository", "hook-secret")]
    {
        owner.get(&page(&project, subject)).await.is(200).shows("Create a secret");
        let made = owner.post(&page(&project, deed), &[]).await;
        let secret = made.is(200).text_of(id);
        assert_eq!(made.headers["cache-control"], "no-store, no-transform");
        let taken = if id == "drain-secret" {
            stage.app.drain_secret(&project.id).await
        } else {
            stage.app.hook_secret(&project.id).await
        };
        assert_eq!(secret, taken);
        owner.get(&page(&project, subject)).await.hides(&secret).shows("Create a new secret");
        let deeds = stage.app.store().deeds(DeedFilter { limit: 1, ..DeedFilter::default() }).await.unwrap();
        assert_eq!((&*deeds[0].action, deeds[0].actor_kind.as_str()), ("secret.replace", "user"));
    }
}

async fn a_view_is_waited_for(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let first = page(&project, "collection/first");
    owner.get(&first).await.is(200).shows("<live-part").shows("waiting for the first view");
    let body = serde_json::json!([{ "path": "/guides", "userAgent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" }]);
    let sent = project.client().post(&format!("/v1/analytics/{}/events", project.id)).json(&body).send().await;
    sent.expect(200);
    owner.get(&first).await.is(200).shows("views come in").shows("1 view so far").hides("<live-part");
    owner.get(&format!("/new/{}/collection", project.id)).await.is(200).shows("views come in").shows("/js/view.js");
}

async fn webhooks_live_from_their_making_to_their_removal(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let receiver = Receiver::start().await;
    let list = page(&project, "webhooks");
    owner.get(&list).await.is(200).shows("There is none yet");
    for (url, said) in [("ftp://x", "Must be an https address"), ("http://10.0.0.1/", "leads where it may not")] {
        owner.post(&list, &[("url", url)]).await.is(422).shows(said).shows(url);
    }
    let fields =
        [("url", &*receiver.url()), ("description", "chat <b>"), ("event", "job.created"), ("event", "job.failed")];
    let made = owner.post(&list, &fields).await;
    let secret = made.is(200).text_of("secret");
    assert!(secret.starts_with("whsec_"));
    assert_eq!(made.headers["cache-control"], "no-store, no-transform");
    owner
        .get(&list)
        .await
        .is(200)
        .hides(&secret)
        .hides("chat <b>")
        .shows("job.created, job.failed")
        .shows("not used yet");
    let hook = stage.app.store().webhooks(Some(&project.id)).await.unwrap().remove(0);
    let at = |rest: &str| page(&project, &format!("webhooks/{}{rest}", hook.id));
    owner.post_and_follow(&at("/test"), &[]).await.is(200).shows("webhook.test").shows("delivered");
    assert_eq!(receiver.received().len(), 1);
    let delivery =
        stage.app.store().deliveries(&hook.id, copydesk_store::DeliveryFilter { limit: 1, ..Default::default() });
    let delivery = delivery.await.unwrap().remove(0);
    owner
        .post_and_follow(&at(&format!("/deliveries/{}/redeliver", delivery.id)), &[])
        .await
        .is(200)
        .shows("on its way");
    receiver.expect(2).await;
    owner.get(&at("?failed=true")).await.is(200).shows("None has failed");
    owner.post_and_follow(&at("/pause"), &[]).await.is(200).shows("paused it.").shows("Resume");
    owner.post_and_follow(&at("/resume"), &[]).await.is(200).shows("Pause");
    let other = owner.post(&at("/rotate"), &[]).await.is(200).text_of("secret");
    assert_ne!(other, secret);
    // Those of other projects are not there.
    let theirs = stage.project("Other").await;
    let stranger = stage.member(&theirs.id, Role::Owner).await;
    for rest in ["", "/remove"] {
        stranger.get(&page(&theirs, &format!("webhooks/{}{rest}", hook.id))).await.is(404);
    }
    for rest in ["/pause", "/test", "/rotate", "/remove", &format!("/deliveries/{}/redeliver", delivery.id)] {
        stranger.post(&page(&theirs, &format!("webhooks/{}{rest}", hook.id)), &[]).await.is(404);
    }
    owner.get(&at("/remove")).await.is(200).shows("Remove the webhook?");
    owner.post_and_follow(&at("/remove"), &[]).await.is(200).shows("Removed.").shows("There is none yet");
}

async fn members_come_by_links_and_the_last_owner_stays(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let members = page(&project, "members");
    owner.post(&page(&project, "members/invite"), &[("note", ""), ("as", "editor")]).await.is(422).shows("Is needed");
    owner.post(&page(&project, "members/invite"), &[("note", "x"), ("as", "king")]).await.is(422);
    let made = owner.post(&page(&project, "members/invite"), &[("note", "Bob <b>"), ("as", "viewer")]).await;
    let link = made.is(200).text_of("link");
    assert_eq!(made.headers["cache-control"], "no-store, no-transform");
    let listed = owner.get(&members).await;
    listed.is(200).hides(&link).hides("Bob <b>").shows("Withdraw");
    let join = link.strip_prefix(stage.app.client().base()).unwrap();
    let bob = stage.browser();
    let who = [("name", "Bob"), ("email", "bob@example.com"), ("password", crate::stage::PASSWORD)];
    assert_eq!(bob.post(join, &who).await.leads_to(), format!("/p/{}", project.id));
    owner.get(&members).await.is(200).shows("bob@example.com").hides("Withdraw");
    // One that is withdrawn leads nowhere.
    let link = owner.post(&page(&project, "members/invite"), &[("note", "Eve"), ("as", "owner")]).await.text_of("link");
    let invitation = stage.app.store().invitations(Some(&project.id)).await.unwrap().remove(0);
    let withdraw = page(&project, &format!("members/invitations/{}/withdraw", invitation.id));
    owner.post_and_follow(&withdraw, &[]).await.is(200).shows("withdrawn");
    owner.post(&withdraw, &[]).await.is(404);
    stage.browser().get(link.strip_prefix(stage.app.client().base()).unwrap()).await.is(404);
    // Roles, and the last owner.
    let all = stage.app.store().members(&project.id).await.unwrap();
    let id = |email: &str| all.iter().find(|it| it.user.email.contains(email)).unwrap().user.id.clone();
    let (boss, second) = (id("owner-of"), id("bob"));
    let role = |user: &str| page(&project, &format!("members/{user}/role"));
    owner.post(&role(&boss), &[("role", "viewer")]).await.is(422).shows("last owner");
    owner.post(&page(&project, &format!("members/{boss}/remove")), &[]).await.is(422).shows("last owner");
    owner.post(&role(&second), &[("role", "king")]).await.is(422);
    owner.post(&role(&second), &[("role", "owner")]).await.leads_to();
    bob.get(&members).await.is(200);
    // Whoever takes their own place away is led out.
    assert_eq!(owner.post(&role(&boss), &[("role", "viewer")]).await.leads_to(), "/");
    owner.get(&members).await.is(403);
    bob.get(&page(&project, &format!("members/{boss}/remove"))).await.is(200).shows("Remove owner-of");
    bob.post(&page(&project, &format!("members/{boss}/remove")), &[]).await.leads_to();
    owner.get(&format!("/p/{}/settings/general", project.id)).await.is(404);
}

async fn the_audit_log_is_paged_and_exported(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let other = stage.project("Other").await;
    for n in 0..60 {
        let name = format!("=cmd {n}, \"x\"");
        owner.post(&page(&project, "general"), &[("name", &name), ("time_zone", "UTC")]).await.leads_to();
    }
    let first = owner.get(&page(&project, "audit")).await;
    first.is(200).shows("changed the project").shows("<strong>=cmd 59,").hides("<strong>=cmd 5,").hides(&other.id);
    let older = first.html.split("href=\"").find(|part| part.contains("?before=")).unwrap().split('"').next().unwrap();
    owner
        .get(older)
        .await
        .is(200)
        .shows("<strong>=cmd 5,")
        .shows("made the project")
        .shows("Newest")
        .hides("<strong>=cmd 59,");
    let csv = owner.get(&page(&project, "audit.csv")).await;
    csv.is(200);
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert!(csv.headers["content-disposition"].to_str().unwrap().contains("audit-docs.csv"));
    let lines: Vec<_> = csv.html.lines().collect();
    assert_eq!(lines[0], "time,project,by,actor,action,target,detail");
    assert!(lines[1].ends_with("\"project.change\",\"'=cmd 59, \"\"x\"\"\",\"name\""), "{}", lines[1]);
    let jsonl = owner.get(&page(&project, "audit.jsonl")).await;
    let deeds: Vec<serde_json::Value> = jsonl.html.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(deeds.len() + 1, lines.len());
    assert!(deeds.iter().all(|deed| deed["projectId"] == *project.id));
    assert_eq!(deeds[0]["actorName"], format!("owner-of-{}@example.com", project.id));
    // Packed, it comes to its end as well.
    for kind in ["audit.csv", "audit.jsonl"] {
        let request = owner.request(reqwest::Method::GET, &page(&project, kind)).header("accept-encoding", "gzip");
        let packed = request.send().await.unwrap();
        assert_eq!(packed.headers().get("content-encoding").unwrap(), "gzip");
        assert!(packed.bytes().await.unwrap().len() > 200);
    }
}

async fn a_project_ends_only_by_its_id(stage: Stage) {
    let (project, owner) = owned(&stage).await;
    let body = serde_json::json!([{ "path": "/guides" }]);
    project.client().post(&format!("/v1/analytics/{}/events", project.id)).json(&body).send().await.expect(200);
    let delete = page(&project, "danger/delete");
    owner.get(&page(&project, "danger")).await.is(200).shows("all of its page views");
    for typed in ["", "Docs", "DOCS", "docs "] {
        let shown = owner.post(&delete, &[("typed", typed)]).await;
        if typed != "docs " {
            shown.is(422).shows("the id of the project");
        }
    }
    assert!(stage.app.store().project(&project.id).await.unwrap().is_none(), "space around it is nothing");
    owner.get(&page(&project, "danger")).await.is(404);
    assert!(stage.app.views().all(&project.id).await == 0);
}
