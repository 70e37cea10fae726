//! A new project, in three steps.

use copydesk_domain::Role;
use copydesk_testkit::GitRepo;

use crate::browser::Shown;
use crate::stage::Stage;

behaviours! {
    three_steps_make_a_project,
    nothing_is_made_of_what_is_wrong,
    the_kind_of_a_host_is_asked_for_where_nobody_can_tell,
    a_token_is_kept_and_not_shown,
    the_steps_are_for_those_who_may,
}

const FIELDS: [(&str, &str); 6] = [
    ("name", "Acme Docs"),
    ("repository", "https://github.com/acme/docs"),
    ("base_ref", "main"),
    ("docs_path", "docs\nsite"),
    ("time_zone", "Europe/Berlin"),
    ("domain", "docs.example.com"),
];

async fn post(stage: &Stage, change: &[(&'static str, &'static str)]) -> Shown {
    let fields = FIELDS.iter().filter(|(name, _)| !change.iter().any(|(other, _)| other == name));
    let fields: Vec<_> = fields.chain(change).copied().collect();
    stage.admin_again().await.post("/new", &fields).await
}

async fn three_steps_make_a_project(stage: Stage) {
    let admin = stage.admin_again().await;
    admin.get("/new").await.is(200).shows("Make the project").shows("value=\"UTC\"");
    let repo = GitRepo::new([("docs/index.md", "# Docs\n")]);
    repo.git(&["branch", "-m", "main", "trunk"]);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    let fields = [
        ("name", "Acme Docs"),
        ("repository", repo.path().to_str().unwrap()),
        ("base_ref", ""),
        ("docs_path", "docs"),
        ("time_zone", "Europe/Berlin"),
        ("domain", "docs.example.com"),
    ];
    let test = admin.post("/new", &fields).await.leads_to();
    assert_eq!(test, "/new/acme-docs/test");
    // The branch was asked from the repository.
    admin.get(&test).await.is(200).shows("trunk").shows("Test the connection").shows("asks for none");
    admin.post(&test, &[]).await.is(200).shows("A job can run.").shows("/new/acme-docs/collection");
    let last = admin.get("/new/acme-docs/collection").await;
    last.is(200)
        .shows("data-project=\"acme-docs\"")
        .shows("waiting for the first view")
        .shows("/drains/acme-docs/vercel");
    let project = stage.app.store().project(&"acme-docs".into()).await.unwrap().unwrap();
    assert_eq!((&*project.base_ref, &*project.time_zone), ("trunk", "Europe/Berlin"));
    assert_eq!(project.views.domains, ["docs.example.com"]);
}

async fn nothing_is_made_of_what_is_wrong(stage: Stage) {
    for (change, said) in [
        (vec![("name", " ")], "Is needed."),
        (vec![("repository", "")], "Is needed."),
        (vec![("repository", "acme/docs")], "Must be an address such as"),
        (vec![("repository", "ext::sh -c id")], "Is neither an address nor a path"),
        (vec![("base_ref", "a..b")], "Must be a branch name"),
        (vec![("docs_path", "../x")], "Must be a folder inside"),
        (vec![("time_zone", "Mars")], "Must be an IANA"),
        (vec![("id", "Not An Id")], "Must be 1 to 64"),
        (vec![("host", "svn")], "Must be one of the listed kinds"),
        (vec![("domain", "https://x")], "Must be a host such as"),
        (vec![("host_api_url", "nowhere")], "Must be an https or http address"),
        (vec![("token", "pla\nnted")], "Holds control characters"),
        (vec![("token", "planted"), ("username", "a b")], "without blanks and colons"),
    ] {
        let shown = post(&stage, &change).await;
        shown.is(422).shows(said).shows("Nothing was created yet").hides("planted");
        if !change.iter().any(|(name, _)| *name == "name") {
            shown.shows("value=\"Acme Docs\"");
        }
    }
    assert_eq!(stage.app.store().projects().await.unwrap(), []);
    post(&stage, &[("name", "<script>alert(1)</script>"), ("time_zone", "")]).await.is(422).hides("<script>alert");
    post(&stage, &[("id", "taken")]).await.leads_to();
    post(&stage, &[("id", "taken"), ("domain", "")]).await.is(422).shows("taken is taken");
    post(&stage, &[("id", "other")]).await.is(422).shows("belongs to another project");
}

async fn the_kind_of_a_host_is_asked_for_where_nobody_can_tell(stage: Stage) {
    let untold = ("repository", "https://code.example.com/acme/docs");
    post(&stage, &[untold]).await.is(422).shows("Must be chosen");
    post(&stage, &[untold, ("host", "git")]).await.leads_to();
    let all = stage.app.store().projects().await.unwrap();
    assert_eq!(all[0].host.kind.unwrap().as_str(), "git");
}

async fn a_token_is_kept_and_not_shown(stage: Stage) {
    let next = post(&stage, &[("token", "planted-token")]).await.leads_to();
    let admin = stage.admin_again().await;
    admin.get(&next).await.is(200).shows("there is one").hides("planted");
    let credentials = &stage.app.app().desk().jobs.workshop().unwrap().credentials;
    assert_eq!(credentials.known(&"acme-docs".into()).await.unwrap().source.unwrap().title(), "token");
    // Another one is set here, and leads back here.
    let fields = [("kind", "token"), ("token", "another"), ("back", "new")];
    assert_eq!(admin.post("/p/acme-docs/settings/repository/credential", &fields).await.leads_to(), next);
}

async fn the_steps_are_for_those_who_may(stage: Stage) {
    let project = stage.project("Docs").await;
    let (owner, editor) = (stage.member(&project.id, Role::Owner).await, stage.member(&project.id, Role::Editor).await);
    owner.get("/new").await.is(404);
    owner.post("/new", &FIELDS).await.is(404);
    owner.get("/new/docs/test").await.is(200);
    editor.get("/new/docs/test").await.is(403);
    owner.get("/new/nobody/test").await.is(404);
}
