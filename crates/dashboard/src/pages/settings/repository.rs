//! Where a project's documentation lives, how its code host is reached, and whether it works.

use askama::Template;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::IntoResponse;
use copydesk_desk::projects::{Ability, HostDraft, ProjectDraft, Trial, Tried, trials_as_they_come};
use copydesk_desk::{OLD_SECRET_TAKEN, Sender};
use copydesk_domain::{Actor, HostKind, Invalid, Project, Timestamp};
use futures_util::StreamExt;
use futures_util::stream::{once, unfold};

use super::credential::{CredentialState, credential_state};
use super::{Frame, OWNER, save, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, Values, asked, lines};
use crate::respond::{Oops, Reply, page, secret, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

/// The kinds of code hosts that can be named.
pub(crate) const HOSTS: [HostKind; 5] =
    [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket, HostKind::Git];

pub(super) fn routes(table: Table) -> Table {
    table
        .get(OWNER, "/p/{project}/settings/repository", show)
        // Whoever leads the server to another host shows it the credential.
        .post_surely(OWNER, "/p/{project}/settings/repository", change)
        .post(OWNER, "/p/{project}/settings/repository/test", test)
        .post_surely(OWNER, "/p/{project}/settings/repository/hook", rotate_hook)
}

#[derive(Template)]
#[template(path = "settings/repository.html")]
pub(super) struct RepositoryPage {
    shell: Shell,
    frame: Frame,
    values: Values,
    /// What the kind of the host is now, in words.
    kind: String,
    is_admin: bool,
    credential: CredentialState,
    hook_address: String,
    hook_since: Option<Timestamp>,
    /// The secret of the hook that was just made, the only time it can be seen.
    hook_secret: Option<String>,
    /// Whether the lines of a test are to come.
    is_testing: bool,
}

impl RepositoryPage {
    /// The same with what is wrong with a credential of that kind.
    pub(super) fn say_wrong(&mut self, wrong: Invalid, kind: String) {
        (self.credential.wrong, self.credential.kind) = (Some(wrong), kind);
    }

    fn hosts(&self) -> [HostKind; 5] {
        HOSTS
    }
}

fn values(project: &Project, typed: Option<&Form>) -> Values {
    let host = &project.host;
    let now = vec![
        ("repository", project.repository.clone_address().to_owned()),
        ("base_ref", project.base_ref.clone()),
        ("docs_path", project.docs_paths.join("\n")),
        ("host", host.kind.map_or("", HostKind::as_str).to_owned()),
        ("host_api_url", host.api_url.clone().unwrap_or_default()),
        ("host_ca_file", host.ca_file.clone().unwrap_or_default()),
        ("accept_any_certificate", if host.accept_any_certificate { "yes" } else { "" }.to_owned()),
    ];
    Values::new(now, typed)
}

pub(super) async fn repository(
    dash: &Dash,
    who: &InProject,
    frame: Frame,
    typed: Option<&Form>,
) -> Result<RepositoryPage, Oops> {
    let project = &who.project;
    let told = if project.host.kind.is_none() { ", told by its address" } else { "" };
    Ok(RepositoryPage {
        shell: shell(dash, who, "Repository"),
        frame,
        values: values(project, typed),
        kind: format!("{}{told}", project.host.kind_of(&project.repository).title()),
        is_admin: who.user.is_admin,
        credential: credential_state(dash, project, "").await?,
        hook_address: format!("{}/hooks/{}", dash.settings().public_url, project.id),
        hook_since: dash.desk().senders.since(&project.id, Sender::Hook).await?,
        hook_secret: None,
        is_testing: false,
    })
}

async fn show(State(dash): State<Dash>, who: InProject, query: RawQuery) -> Reply {
    page(&repository(&dash, &who, Frame::new(&who, "repository").said(&asked(query)), None).await?)
}

/// A field that was filled in anew; what stays as it is need not hold to today's rules.
fn changed(form: &Form, name: &str, now: &str, empty: &str) -> Option<String> {
    let typed = form.text(name);
    (typed != now).then(|| if typed.is_empty() { empty.to_owned() } else { typed.to_owned() })
}

async fn change(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let now = values(&who.project, None);
    let docs_paths = lines(&form, "docs_path");
    let kind = Some(form.text("host")).filter(|word| !word.is_empty()).map(HostKind::parse);
    let draft = ProjectDraft {
        repository: changed(&form, "repository", now.of("repository"), ""),
        base_ref: Some(form.text("base_ref").to_owned()),
        host: HostDraft {
            kind: Some(kind.flatten()),
            api_url: changed(&form, "host_api_url", now.of("host_api_url"), "default"),
            // Of those who may not name one, nothing was asked.
            ca_file: changed(&form, "host_ca_file", now.of("host_ca_file"), "none").filter(|_| who.user.is_admin),
            accept_any_certificate: Some(form.is_ticked("accept_any_certificate")),
            ..HostDraft::default()
        },
        docs_paths: docs_paths.clone(),
        ..ProjectDraft::default()
    };
    let saved = if docs_paths.is_empty() {
        Err(Invalid::new("docs_path", "is needed: a folder, or a dot for the whole repository"))
    } else if matches!(kind, Some(None | Some(HostKind::Local))) {
        Err(Invalid::new("host", "must be one of the listed kinds"))
    } else {
        save(&dash, &who, draft).await?
    };
    match saved {
        Ok(()) => to(&who.path("/settings/repository?said=saved")),
        Err(invalid) => {
            let frame = Frame::new(&who, "repository").wrong(invalid);
            unfit(&repository(&dash, &who, frame, Some(&form)).await?)
        }
    }
}

async fn rotate_hook(State(dash): State<Dash>, who: InProject) -> Reply {
    let senders = dash.desk().senders.by(Actor::user(&who.user));
    let made = senders.rotate(&who.project.id, Sender::Hook, OLD_SECRET_TAKEN).await?;
    let hook_secret = Some(made.ok_or(Oops::NotFound)?);
    let template = repository(&dash, &who, Frame::new(&who, "repository"), None).await?;
    page(&RepositoryPage { hook_secret, ..template }).map(secret)
}

async fn test(State(dash): State<Dash>, who: InProject) -> Reply {
    let template = repository(&dash, &who, Frame::new(&who, "repository"), None).await?;
    streamed_test(&dash, &who.project, &RepositoryPage { is_testing: true, ..template })
}

#[derive(Template)]
#[template(path = "trial.html")]
struct TrialLine {
    look: &'static str,
    mark: &'static str,
    what: String,
    why: String,
}

#[derive(Template)]
#[template(path = "verdict.html")]
struct VerdictLine {
    /// None: it broke off.
    works: Option<bool>,
    opens_none: bool,
}

/// A page with a connection test in it, of which each line is sent as soon as it is known. Browsers show it so, with scripts
/// or without.
pub(crate) fn streamed_test(dash: &Dash, project: &Project, template: &impl Template) -> Reply {
    let Some(workshop) = dash.desk().jobs.workshop().cloned() else {
        return Err(Oops::refused(StatusCode::SERVICE_UNAVAILABLE, "This process cannot reach repositories."));
    };
    let html = template.render()?;
    // Text of others cannot hold these: every < of it is escaped.
    let parts = html.split_once("<!--lines-->").and_then(|(head, rest)| {
        let (middle, end) = rest.split_once("<!--verdict-->")?;
        Some((head.to_owned(), middle.to_owned(), end.to_owned()))
    });
    let (head, middle, end) = parts.ok_or_else(|| Oops::Broken("a page without a place for a test".to_owned()))?;
    let opens_none = project.host.untold(&project.repository).is_some();
    let told = trials_as_they_come(workshop, project.clone(), dash.desk().jobs.rules());
    let lines = unfold((told, false), move |(mut told, is_over)| {
        let middle = middle.clone();
        async move {
            if is_over {
                return None;
            }
            match told.recv().await {
                Some(Tried::One(trial)) => Some((line(&trial), (told, false))),
                Some(Tried::All { works }) => Some((verdict(&middle, Some(works), opens_none), (told, true))),
                None => Some((verdict(&middle, None, opens_none), (told, true))),
            }
        }
    });
    let all = once(async { Ok(head) }).chain(lines).chain(once(async { Ok(end) }));
    // Packed it would come in one piece.
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_ENCODING, "identity")];
    Ok((headers, Body::from_stream(all)).into_response())
}

/// What was tried, as a line of a list.
pub(super) fn line(trial: &Trial) -> Result<String, askama::Error> {
    let (look, mark, why) = match &trial.ability {
        Ability::Yes => ("good", "yes", ""),
        Ability::No(why) => ("bad", "no", why.as_str()),
        Ability::Unknown(why) => ("warn", "not known", why.as_str()),
    };
    let (what, why) = (words::capital(&trial.what), why.to_owned());
    TrialLine { look, mark, what, why }.render()
}

fn verdict(middle: &str, works: Option<bool>, opens_none: bool) -> Result<String, askama::Error> {
    Ok(format!("{middle}{}", VerdictLine { works, opens_none }.render()?))
}
