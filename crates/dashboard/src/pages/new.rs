//! A new project in three steps: its repository, whether it works, and who tells of its readers.

use std::path::Path as FilePath;

use askama::Template;
use axum::extract::State;
use copydesk_desk::projects::{self, HostDraft, NotSaved, ProjectDraft, ViewsDraft};
use copydesk_domain::{Actor, HostKind, HostSettings, Invalid, Project, ProjectId};
use copydesk_store::StoreError;

use super::OWNER;
use super::settings::{
    CredentialState, FirstView, HOSTS, Snippets, credential_draft, credential_state, keep_credential, reach,
    streamed_test, taken,
};
use crate::access::{Needs, Table};
use crate::dash::Dash;
use crate::form::{Form, Values, Wrong, lines};
use crate::respond::{Oops, Reply, page, to, unfit};
use crate::shell::Shell;
use crate::who::{InProject, SignedIn};

pub(super) fn routes(table: Table) -> Table {
    table
        .get(Needs::Administrator, "/new", show)
        .post(Needs::Administrator, "/new", make)
        .get(OWNER, "/new/{project}/test", test)
        .post(OWNER, "/new/{project}/test", run_test)
        .get(OWNER, "/new/{project}/collection", collection)
}

const STEPS: [&str; 3] = ["Repository", "Test", "Collection"];

/// The steps, which everybody sees: their names and whether they are done, now, or to come.
fn steps(at: usize) -> Vec<(&'static str, &'static str)> {
    let state = |step: usize| match step.cmp(&at) {
        std::cmp::Ordering::Less => "done",
        std::cmp::Ordering::Equal => "now",
        std::cmp::Ordering::Greater => "later",
    };
    STEPS.into_iter().enumerate().map(|(step, name)| (name, state(step))).collect()
}

#[derive(Template)]
#[template(path = "new.html")]
struct NewPage {
    shell: Shell,
    steps: Vec<(&'static str, &'static str)>,
    values: Values,
    wrong: Wrong,
}

impl NewPage {
    fn hosts(&self) -> [HostKind; 5] {
        HOSTS
    }
}

fn new(dash: &Dash, who: &SignedIn, typed: Option<&Form>, wrong: Wrong) -> NewPage {
    let empty = ["name", "id", "repository", "base_ref", "host", "host_api_url", "username", "domain"];
    let mut now: Vec<_> = empty.map(|name| (name, String::new())).into();
    now.push(("docs_path", "docs".to_owned()));
    now.push(("time_zone", "UTC".to_owned()));
    NewPage { shell: Shell::outside(dash, who, "New project"), steps: steps(0), values: Values::new(now, typed), wrong }
}

async fn show(State(dash): State<Dash>, who: SignedIn) -> Reply {
    page(&new(&dash, &who, None, Wrong::default()))
}

async fn make(State(dash): State<Dash>, who: SignedIn, form: Form) -> Reply {
    match made(&dash, &who, &form).await? {
        Ok(project) => to(&format!("/new/{}/test", project.id)),
        Err(invalid) => unfit(&new(&dash, &who, Some(&form), invalid.into())),
    }
}

fn drafted(form: &Form) -> Result<ProjectDraft, Invalid> {
    for (name, words) in [
        ("name", "is needed"),
        ("repository", "is needed"),
        ("docs_path", "is needed: a folder, or a dot for the whole repository"),
        ("time_zone", "is needed"),
    ] {
        if form.text(name).is_empty() {
            return Err(Invalid::new(name, words));
        }
    }
    let kind = match form.text("host") {
        "" => None,
        word => match HostKind::parse(word).filter(|kind| *kind != HostKind::Local) {
            Some(kind) => Some(kind),
            None => return Err(Invalid::new("host", "must be one of the listed kinds")),
        },
    };
    Ok(ProjectDraft {
        name: Some(form.text("name").to_owned()),
        repository: Some(form.text("repository").to_owned()),
        base_ref: form.given("base_ref"),
        docs_paths: lines(form, "docs_path"),
        time_zone: form.given("time_zone"),
        views: ViewsDraft { domains: lines(form, "domain"), ..ViewsDraft::default() },
        host: HostDraft { kind: Some(kind), api_url: form.given("host_api_url"), ..HostDraft::default() },
        ..ProjectDraft::default()
    })
}

async fn made(dash: &Dash, who: &SignedIn, form: &Form) -> Result<Result<Project, Invalid>, Oops> {
    let draft = match drafted(form) {
        Ok(draft) => draft,
        Err(invalid) => return Ok(Err(invalid)),
    };
    if let Err(invalid) = reach(who.user.is_admin).check(&draft).await {
        return Ok(Err(invalid));
    }
    let id = form.given("id").map(|id| ProjectId::parse(&id)).transpose();
    let credential = form.given("token").map(|_| credential_draft(form, "token"));
    let secret = credential.clone().map(|draft| draft.check()).transpose();
    let checked = draft.check(None, FilePath::new("/"));
    let (id, secret, checked) = match (id, secret, checked) {
        (Ok(id), Ok(secret), Ok(checked)) => (id, secret, checked),
        (Err(invalid), ..) | (_, Err(invalid), _) | (.., Err(invalid)) => return Ok(Err(invalid)),
    };
    let host = checked.change.host.clone().unwrap_or_else(HostSettings::default);
    if let Some(repository) = &checked.change.repository
        && host.untold(repository).is_some()
    {
        let words = "must be chosen: the address of the repository does not tell which kind of code host it is";
        return Ok(Err(Invalid::new("host", words)));
    }
    match projects::create(&who.store(dash), id, checked, secret).await {
        Ok((project, _)) => {
            if let Some(credential) = credential
                && let Err(invalid) = keep_credential(dash, Actor::user(&who.user), &project, credential).await?
            {
                // The project is there; the next page says that it has no credential.
                tracing::info!(project = project.id.as_str(), "a credential was not stored: {}", invalid.message);
            }
            Ok(Ok(project))
        }
        Err(NotSaved::Invalid(invalid)) => Ok(Err(invalid)),
        Err(NotSaved::Taken(id)) => {
            Ok(Err(Invalid::new("id", format!("{id} is taken; choose another, or leave it empty"))))
        }
        Err(NotSaved::Store(StoreError::DomainTaken(domain))) => Ok(Err(taken(&domain))),
        Err(NotSaved::Store(error)) => Err(error.into()),
    }
}

#[derive(Template)]
#[template(path = "new_test.html")]
struct TestPage {
    shell: Shell,
    steps: Vec<(&'static str, &'static str)>,
    project: Project,
    kind: &'static str,
    credential: CredentialState,
    is_testing: bool,
}

async fn test_page(dash: &Dash, who: &InProject, is_testing: bool) -> Result<TestPage, Oops> {
    let project = who.project.clone();
    Ok(TestPage {
        shell: Shell::inside(dash, who, "", "Test the connection"),
        steps: steps(1),
        kind: project.host.kind_of(&project.repository).title(),
        credential: credential_state(dash, &project, "new").await?,
        project,
        is_testing,
    })
}

async fn test(State(dash): State<Dash>, who: InProject) -> Reply {
    page(&test_page(&dash, &who, false).await?)
}

async fn run_test(State(dash): State<Dash>, who: InProject) -> Reply {
    streamed_test(&dash, &who.project, &test_page(&dash, &who, true).await?)
}

#[derive(Template)]
#[template(path = "new_collection.html")]
struct CollectionPage {
    shell: Shell,
    steps: Vec<(&'static str, &'static str)>,
    first: FirstView,
    snippets: Snippets,
}

async fn collection(State(dash): State<Dash>, who: InProject) -> Reply {
    page(&CollectionPage {
        shell: Shell::inside(&dash, &who, "", "Collection"),
        steps: steps(2),
        first: FirstView::of(&dash, &who.project).await,
        snippets: Snippets::of(&dash, &who.project),
    })
}
