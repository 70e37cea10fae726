//! What findings of the docs checks lead to, and what jobs may write.

use askama::Template;
use axum::extract::{RawQuery, State};
use copydesk_desk::projects::{ProjectDraft, WritePathsDraft};
use copydesk_domain::{Invalid, OnFindings};

use super::{Frame, OWNER, lines_or_none, save, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, Values, asked};
use crate::respond::{Reply, page, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;

pub(super) fn routes(table: Table) -> Table {
    table.get(OWNER, "/p/{project}/settings/checks", show).post(OWNER, "/p/{project}/settings/checks", change)
}

#[derive(Template)]
#[template(path = "settings/checks.html")]
struct ChecksPage {
    shell: Shell,
    frame: Frame,
    values: Values,
    docs_paths: Vec<String>,
}

fn checks(dash: &Dash, who: &InProject, frame: Frame, typed: Option<&Form>) -> ChecksPage {
    let project = &who.project;
    let now = vec![
        ("on_findings", project.on_findings.as_str().to_owned()),
        ("allow", project.write_paths.allow.join("\n")),
        ("deny", project.write_paths.deny.join("\n")),
    ];
    ChecksPage {
        shell: shell(dash, who, "Checks"),
        frame,
        values: Values::new(now, typed),
        docs_paths: project.docs_paths.clone(),
    }
}

async fn show(State(dash): State<Dash>, who: InProject, query: RawQuery) -> Reply {
    page(&checks(&dash, &who, Frame::new(&who, "checks").said(&asked(query)), None))
}

async fn change(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let on_findings = OnFindings::parse(form.text("on_findings"));
    let draft = ProjectDraft {
        on_findings,
        write_paths: WritePathsDraft { allow: lines_or_none(&form, "allow"), deny: lines_or_none(&form, "deny") },
        ..ProjectDraft::default()
    };
    let saved = match on_findings {
        Some(_) => save(&dash, &who, draft).await?,
        None => Err(Invalid::new("on_findings", "must be one of the two")),
    };
    match saved {
        Ok(()) => to(&who.path("/settings/checks?said=saved")),
        Err(invalid) => unfit(&checks(&dash, &who, Frame::new(&who, "checks").wrong(invalid), Some(&form))),
    }
}
