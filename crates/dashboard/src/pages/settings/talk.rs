//! How the project works together with the people at its code host: what its pull requests get, and what asks for work.

use askama::Template;
use axum::extract::{RawQuery, State};
use copydesk_desk::projects::{HostDraft, ProjectDraft, TalkDraft};
use copydesk_domain::{Comments, Invalid};
use copydesk_store::{AskState, Asked};

use super::{Frame, OWNER, lines_or_none, save, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, Values, asked};
use crate::respond::{Oops, Reply, page, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

/// How much of what was asked for is shown.
const SHOWN: u32 = 25;

pub(super) fn routes(table: Table) -> Table {
    table.get(OWNER, "/p/{project}/settings/talk", show).post(OWNER, "/p/{project}/settings/talk", change)
}

#[derive(Template)]
#[template(path = "settings/talk.html")]
struct TalkPage {
    shell: Shell,
    frame: Frame,
    values: Values,
    asks: Vec<Asked>,
}

impl TalkPage {
    fn choices(&self) -> [(&'static str, &'static str); 3] {
        [("mentions", "those that mention it"), ("all", "all"), ("off", "none")]
    }

    /// How an ask stands: the look of its badge, and the word.
    fn standing(&self, ask: &Asked) -> (&'static str, &'static str) {
        match ask.state {
            AskState::Heard => ("run", "waits"),
            AskState::Granted => ("run", "is worked on"),
            AskState::Refused => ("", "left alone"),
            AskState::Answered => ("ok", "answered"),
        }
    }
}

async fn talk(dash: &Dash, who: &InProject, frame: Frame, typed: Option<&Form>) -> Result<TalkPage, Oops> {
    let host = &who.project.host;
    let now = vec![
        ("label", host.labels.join("\n")),
        ("reviewer", host.reviewers.join("\n")),
        ("comments", host.comments.as_str().to_owned()),
        ("mention", host.mention.clone().unwrap_or_default()),
        ("job_label", host.job_label.clone().unwrap_or_default()),
    ];
    let asks = dash.desk().store.asks(&who.project.id, SHOWN).await?;
    Ok(TalkPage { shell: shell(dash, who, "Pull requests"), frame, values: Values::new(now, typed), asks })
}

async fn show(State(dash): State<Dash>, who: InProject, query: RawQuery) -> Reply {
    page(&talk(&dash, &who, Frame::new(&who, "talk").said(&asked(query)), None).await?)
}

async fn change(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let comments = Comments::parse(form.text("comments"));
    let or = |name: &str, word: &str| {
        let typed = form.text(name);
        Some(if typed.is_empty() { word.to_owned() } else { typed.to_owned() })
    };
    let talked = TalkDraft {
        comments,
        mention: or("mention", "default"),
        job_label: or("job_label", "none"),
        labels: lines_or_none(&form, "label"),
        reviewers: lines_or_none(&form, "reviewer"),
    };
    let host = HostDraft { talk: talked, ..HostDraft::default() };
    let saved = match comments {
        Some(_) => save(&dash, &who, ProjectDraft { host, ..ProjectDraft::default() }).await?,
        None => Err(Invalid::new("comments", "must be one of the three")),
    };
    match saved {
        Ok(()) => to(&who.path("/settings/talk?said=saved")),
        Err(invalid) => unfit(&talk(&dash, &who, Frame::new(&who, "talk").wrong(invalid), Some(&form)).await?),
    }
}
