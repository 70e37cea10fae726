//! How the server stands, for administrators. What cannot be told is said to be unknown.

use askama::Template;
use axum::extract::{RawQuery, State};
use copydesk_desk::server::{disk_of, views_kept};
use copydesk_domain::Timestamp;

use super::deeds::{Deeds, Format, file};
use crate::access::{Needs, Table};
use crate::dash::Dash;
use crate::form::Form;
use crate::respond::{Oops, Reply, page};
use crate::shell::Shell;
use crate::who::SignedIn;
use crate::words;

pub(super) fn routes(table: Table) -> Table {
    let admin = Needs::Administrator;
    table.get(admin, "/server", show).get(admin, "/server/audit", audit).get(admin, "/server/audit.csv", csv).get(
        admin,
        "/server/audit.jsonl",
        json_lines,
    )
}

/// A list that readers are judged by: its name, what is in it, and its day with how old that is.
type List = (String, String, String);

#[derive(Template)]
#[template(path = "server.html")]
struct ServerPage {
    shell: Shell,
    /// Headings with lines of a label and what there is to say.
    groups: Vec<(&'static str, Vec<(&'static str, String)>)>,
    started_at: Timestamp,
    oldest_job: Option<Timestamp>,
    oldest_delivery: Option<Timestamp>,
    lists: Option<Vec<List>>,
    /// None: they could not be asked for.
    losses: Option<Vec<(Timestamp, String)>>,
}

async fn show(State(dash): State<Dash>, who: SignedIn) -> Reply {
    let (store, settings) = (&dash.desk().store, dash.settings());
    let (depth, state) = (store.queue_depth().await?, store.queue_state().await?);
    let backlog = store.delivery_backlog().await?;
    let (projects, people) = (store.projects().await?.len(), store.users().await?.len());
    let dormancy = store.dormancy().await?;
    let groups = vec![
        (
            "This process",
            vec![
                ("Version", settings.version.to_owned()),
                ("Address", settings.public_url.clone()),
                ("Workers", words::number(settings.workers as u64)),
                ("Outgoing work", dormancy.map_or_else(|| "on".to_owned(), |it| it.sentence())),
            ],
        ),
        (
            "Jobs",
            vec![
                ("Waiting", words::number(depth.waiting)),
                ("Running", words::number(depth.running)),
                ("Busy workers", format!("{} in all processes", words::number(state.busy_workers))),
                ("Idle workers", "not known: other processes do not report theirs".to_owned()),
            ],
        ),
        ("Webhooks", vec![("Waiting", words::many(backlog.waiting, "event or delivery", "events and deliveries"))]),
        (
            "Kept",
            vec![
                ("Database", store.kind().to_owned()),
                ("Projects", words::number(projects as u64)),
                ("People", words::number(people as u64)),
                ("Page views", kept(&dash).await),
                ("Disk of the data folder", disk(&dash)),
            ],
        ),
    ];
    page(&ServerPage {
        shell: Shell::outside(&dash, &who, "Server"),
        groups,
        started_at: dash.started_at(),
        oldest_job: state.oldest_waiting,
        oldest_delivery: backlog.oldest,
        lists: lists(&dash),
        losses: losses(&dash).await,
    })
}

async fn kept(dash: &Dash) -> String {
    let Some(views) = &dash.desk().views else { return "this process has none".to_owned() };
    match views_kept(views).await {
        Ok(kept) => format!(
            "{} of {}, {} on disk",
            words::many(kept.views, "view", "views"),
            words::many(kept.projects as u64, "project", "projects"),
            words::bytes(kept.bytes)
        ),
        Err(error) => format!("not known: {error}"),
    }
}

fn disk(dash: &Dash) -> String {
    let Some(folder) = &dash.settings().data_dir else { return "not known".to_owned() };
    match disk_of(folder) {
        Ok(disk) => format!("{} free of {}", words::bytes(disk.free), words::bytes(disk.size)),
        Err(error) => format!("not known: {error}"),
    }
}

fn lists(dash: &Dash) -> Option<Vec<List>> {
    let (views, now) = (dash.desk().views.as_ref()?, dash.desk().store.now());
    let summary = views.lists().summary();
    let dated = |date: Option<&str>| match date {
        Some(date) => format!("{date}{}", age(date, now)),
        None => "no date known".to_owned(),
    };
    let mut lists =
        vec![("Agents".to_owned(), words::many(summary.agents as u64, "agent", "agents"), dated(Some(&summary.date)))];
    for (all, one, more) in [(&summary.ranges, "range", "ranges"), (&summary.keys, "key", "keys")] {
        lists.extend(all.iter().map(|list| match list.size {
            Some(size) => (list.name.clone(), words::many(size as u64, one, more), dated(list.date.as_deref())),
            None => (list.name.clone(), "not fetched".to_owned(), "–".to_owned()),
        }));
    }
    Some(lists)
}

/// How old a list of that day is; nothing if that cannot be told.
fn age(date: &str, now: Timestamp) -> String {
    let day = date.get(..10).and_then(|day| day.parse::<jiff::civil::Date>().ok());
    let made = day.and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok());
    let Some(made) = made.map(|made| Timestamp::from_millis(made.timestamp().as_millisecond())) else {
        return String::new();
    };
    match now.since(made).as_secs() / (24 * 3600) {
        0 => ", today".to_owned(),
        days => format!(", {} old", words::many(days, "day", "days")),
    }
}

async fn losses(dash: &Dash) -> Option<Vec<(Timestamp, String)>> {
    let all = dash.desk().views.as_ref()?.readers().all_losses().await.ok()?;
    Some(
        all.into_iter()
            .map(|loss| {
                let whose = loss.project.as_deref().map_or_else(|| "any project".to_owned(), str::to_owned);
                (loss.found, format!("{whose}: {}", loss.sentence()))
            })
            .collect(),
    )
}

#[derive(Template)]
#[template(path = "server_audit.html")]
struct AuditPage {
    shell: Shell,
    deeds: Deeds,
}

async fn audit(State(dash): State<Dash>, who: SignedIn, RawQuery(query): RawQuery) -> Reply {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let deeds = Deeds::read(&dash, None, "/server/audit".to_owned(), &query).await?;
    page(&AuditPage { shell: Shell::outside(&dash, &who, "Audit log"), deeds })
}

async fn csv(State(dash): State<Dash>) -> Result<axum::response::Response, Oops> {
    file(&dash, None, Format::Csv).await
}

async fn json_lines(State(dash): State<Dash>) -> Result<axum::response::Response, Oops> {
    file(&dash, None, Format::JsonLines).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_an_age_if_they_have_a_day() {
        let now = Timestamp::from_millis(1_794_706_496_120); // 15 November 2026
        assert_eq!(age("2026-11-15", now), ", today");
        assert_eq!(age("2026-11-14", now), ", 1 day old");
        assert_eq!(age("2026-10-16T00:00:00Z", now), ", 30 days old");
        assert_eq!(age("some day", now), "");
    }
}
