//! How page views come in: what counts, how long they are kept, and what to put where.

use askama::Template;
use axum::extract::{RawQuery, State};
use copydesk_desk::projects::{ProjectDraft, ViewsDraft};
use copydesk_desk::{OLD_SECRET_TAKEN, Sender};
use copydesk_domain::{Actor, Invalid, Project, Source, Timestamp};

use super::{Frame, OWNER, lines_or_none, save, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, Values, asked};
use crate::respond::{Oops, Reply, page, secret, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

pub(super) fn routes(table: Table) -> Table {
    table
        .get(OWNER, "/p/{project}/settings/collection", show)
        .post(OWNER, "/p/{project}/settings/collection", change)
        .get(OWNER, "/p/{project}/settings/collection/first", first)
        .post_surely(OWNER, "/p/{project}/settings/collection/drain", rotate)
}

/// What people and machines can be counted from: the word, what it means for people, and for machines.
const SOURCES: [(Source, &str, &str); 4] = [
    (Source::Auto, "the script, once it has told of somebody", "the server side, once it has told of one"),
    (Source::Script, "the script alone", "the script alone"),
    (Source::Server, "the server side alone", "the server side alone"),
    (Source::Both, "both, added up", "both, added up"),
];

/// Whether views have come in, as a part of a page that asks again by itself.
#[derive(Template)]
#[template(path = "first_view.html")]
pub(crate) struct FirstView {
    pub(crate) src: String,
    /// None: it is not known.
    pub(crate) state: Option<Received>,
}

pub(crate) struct Received {
    pub(crate) views: u64,
    pub(crate) first: Option<Timestamp>,
    pub(crate) last: Option<Timestamp>,
    pub(crate) by_script: bool,
    pub(crate) by_server: bool,
}

impl FirstView {
    pub(crate) async fn of(dash: &Dash, project: &Project) -> Self {
        let src = format!("/p/{}/settings/collection/first", project.id);
        let Some(views) = &dash.desk().views else { return Self { src, state: None } };
        let state = match views.store().status(&project.id).await {
            Ok(status) => Some(Received {
                views: status.views,
                first: status.first.map(|first| first.begins()),
                last: status.last.map(|last| last.begins()),
                by_script: status.script_since.is_some(),
                by_server: status.server_since.is_some(),
            }),
            Err(error) => {
                tracing::warn!(%error, "the view store does not say what it has");
                None
            }
        };
        Self { src, state }
    }
}

/// What to put where, ready to be copied.
pub(crate) struct Snippets {
    pub(crate) project_id: String,
    pub(crate) url: String,
    /// A host of the site, for examples.
    pub(crate) host: String,
}

impl Snippets {
    pub(crate) fn of(dash: &Dash, project: &Project) -> Self {
        let host = project.views.domains.first().cloned().unwrap_or_else(|| "docs.example.com".to_owned());
        Self { project_id: project.id.to_string(), url: dash.settings().public_url.clone(), host }
    }
}

#[derive(Template)]
#[template(path = "settings/collection.html")]
struct CollectionPage {
    shell: Shell,
    frame: Frame,
    values: Values,
    first: FirstView,
    snippets: Snippets,
    /// How long views are kept where the project says nothing, in words.
    keep_default: String,
    drain_since: Option<Timestamp>,
    /// The secret that was just made, the only time it can be seen.
    drain_secret: Option<String>,
}

impl CollectionPage {
    fn people(&self) -> [(&'static str, &'static str); 4] {
        SOURCES.map(|(source, people, _)| (source.as_str(), people))
    }

    fn machines(&self) -> [(&'static str, &'static str); 4] {
        SOURCES.map(|(source, _, machines)| (source.as_str(), machines))
    }
}

async fn collection(dash: &Dash, who: &InProject, frame: Frame, typed: Option<&Form>) -> Result<CollectionPage, Oops> {
    let project = &who.project;
    let now = vec![
        ("domain", project.views.domains.join("\n")),
        ("people_from", project.views.sources.people.as_str().to_owned()),
        ("machines_from", project.views.sources.machines.as_str().to_owned()),
        ("keep_views", project.views.keep_days.map(|days| days.to_string()).unwrap_or_default()),
    ];
    let keep_default = match dash.desk().views.as_ref().map(|views| views.settings().keep_days) {
        Some(0) => "for ever".to_owned(),
        Some(days) => words::many(days, "day", "days"),
        None => "not known".to_owned(),
    };
    Ok(CollectionPage {
        shell: shell(dash, who, "Collection"),
        frame,
        values: Values::new(now, typed),
        first: FirstView::of(dash, project).await,
        snippets: Snippets::of(dash, project),
        keep_default,
        drain_since: dash.desk().senders.since(&project.id, Sender::Drain).await?,
        drain_secret: None,
    })
}

async fn show(State(dash): State<Dash>, who: InProject, query: RawQuery) -> Reply {
    page(&collection(&dash, &who, Frame::new(&who, "collection").said(&asked(query)), None).await?)
}

async fn first(State(dash): State<Dash>, who: InProject) -> Reply {
    page(&FirstView::of(&dash, &who.project).await)
}

fn source(form: &Form, name: &'static str) -> Result<Source, Invalid> {
    let named = SOURCES.iter().find(|(source, ..)| source.as_str() == form.text(name));
    named.map(|(source, ..)| *source).ok_or_else(|| Invalid::new(name, "must be one of the choices"))
}

async fn change(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let sources = source(&form, "people_from").and_then(|people| Ok((people, source(&form, "machines_from")?)));
    let saved = match sources {
        Ok((people, machines)) => {
            let views = ViewsDraft {
                domains: lines_or_none(&form, "domain"),
                people_from: Some(people),
                machines_from: Some(machines),
                keep: Some(form.given("keep_views").unwrap_or_else(|| "default".to_owned())),
            };
            save(&dash, &who, ProjectDraft { views, ..ProjectDraft::default() }).await?
        }
        Err(invalid) => Err(invalid),
    };
    match saved {
        Ok(()) => to(&who.path("/settings/collection?said=saved")),
        Err(invalid) => {
            let frame = Frame::new(&who, "collection").wrong(invalid);
            unfit(&collection(&dash, &who, frame, Some(&form)).await?)
        }
    }
}

async fn rotate(State(dash): State<Dash>, who: InProject) -> Reply {
    let senders = dash.desk().senders.by(Actor::user(&who.user));
    let made = senders.rotate(&who.project.id, Sender::Drain, OLD_SECRET_TAKEN).await?;
    let drain_secret = Some(made.ok_or(Oops::NotFound)?);
    let template = collection(&dash, &who, Frame::new(&who, "collection"), None).await?;
    page(&CollectionPage { drain_secret, ..template }).map(secret)
}
