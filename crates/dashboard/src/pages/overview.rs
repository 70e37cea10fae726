//! What needs somebody in a project, who reads it, what was done last; and the first steps of a new one.

use askama::Template;
use axum::extract::State;
use copydesk_desk::attention::{Item, days_since};
use copydesk_desk::readers::{Period, Preset};
use copydesk_domain::dates::{self, Interval};
use copydesk_domain::{HostKind, Role, Timestamp};
use copydesk_store::{Health, JobFilter};
use copydesk_views::store::{Counts, ViewsError};

use super::VIEWER;
use super::checked::Checked;
use super::named::{Named, named, stands};
use super::views::{Figure, chart_of, figures, readers, sentences};
use crate::access::Table;
use crate::chart::Chart;
use crate::dash::Dash;
use crate::respond::{Oops, Reply, page};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words::{self, many, number, part};

/// Jobs that are listed.
const JOBS: u32 = 6;

pub(super) fn routes(table: Table) -> Table {
    table.get(VIEWER, "/p/{project}", show)
}

/// Something to look at, with one button.
struct Todo {
    look: &'static str,
    word: &'static str,
    what: String,
    more: String,
    button: &'static str,
    link: String,
}

/// A step of a new project.
struct Step {
    is_done: bool,
    name: &'static str,
    /// How it stands, in a sentence.
    said: String,
    /// Where it is done, and what the button says.
    link: Option<(String, &'static str)>,
    /// What to copy for it.
    code: Option<String>,
}

/// Views of the last 30 days.
struct Readership {
    figures: Vec<Figure>,
    chart: Chart,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    project_id: String,
    name: String,
    is_editor: bool,
    todos: Vec<Todo>,
    steps: Vec<Step>,
    /// Whether the page asks again by itself whether a step is done.
    is_waiting: bool,
    readership: Option<Readership>,
    jobs: Vec<Named>,
    /// What to do when there is nothing to do: words, button, where it leads.
    next: (String, &'static str, String),
}

async fn show(State(dash): State<Dash>, who: InProject) -> Reply {
    let (store, project) = (&dash.desk().store, &who.project);
    let items = dash.desk().attention(project, who.role).await?;
    let jobs = store.jobs(&project.id, JobFilter { limit: JOBS, ..JobFilter::default() }).await?;
    let health = store.health(&project.id).await?;
    let has_views = match readers(&dash)?.status(project).await {
        Ok(status) => Some(status.first.is_some()),
        // Told among what needs somebody.
        Err(_) => None,
    };
    let steps = steps(&dash, &who, health.as_ref(), !jobs.is_empty(), has_views).await?;
    let todos = todos(&dash, &who, items, !steps.is_empty()).await?;
    let readership = match has_views {
        Some(true) => readership(&dash, &who).await?,
        _ => None,
    };
    page(&OverviewPage {
        shell: Shell::inside(&dash, &who, "", "Overview"),
        project_id: project.id.to_string(),
        name: project.name.clone(),
        is_editor: who.role.covers(Role::Editor),
        todos,
        is_waiting: has_views == Some(false),
        steps,
        readership,
        jobs: named(store, jobs).await?,
        next: next(&who, health.as_ref()),
    })
}

/// The last 30 days; none if the views cannot be told at the moment, which is said elsewhere.
async fn readership(dash: &Dash, who: &InProject) -> Result<Option<Readership>, Oops> {
    let (readers, project, zone) = (readers(dash)?, &who.project, dates::zone(&who.project.time_zone));
    let period = Period::until_now(Preset::Month, dash.desk().store.now(), &zone);
    let asked = async {
        let before = readers.counts(project, period.before().range(&zone), &[]).await?;
        let series = readers.series(project, period.range(&zone), Some(Interval::Day), None).await;
        Ok::<_, ViewsError>((before, series))
    };
    let Ok((before, Ok(series))) = asked.await else { return Ok(None) };
    let Counts { human, ai } = series.totals;
    let about = format!("Views a day: {} by people and {} by AI in 30 days", number(human), number(ai));
    let chart = Chart { is_small: true, ..chart_of(&series.points, series.interval, about) };
    let figures = figures(series.totals, before.totals).into_iter().take(2).collect();
    Ok(Some(Readership { figures, chart }))
}

async fn todos(dash: &Dash, who: &InProject, items: Vec<Item>, is_new: bool) -> Result<Vec<Todo>, Oops> {
    let (store, now) = (&dash.desk().store, dash.desk().store.now());
    let is_local = who.project.host.kind_of(&who.project.repository) == HostKind::Local;
    let mut todos = Vec::new();
    for item in items {
        match item {
            Item::ReadPages(read) => {
                let names: Vec<&str> = read.first.iter().map(|(_, page, ..)| page.as_str()).collect();
                let files: Vec<String> = read.first.iter().map(|(file, ..)| file.clone()).collect();
                let mut pages = store.pages_with_findings(&who.project.id).await?;
                pages.retain(|page| files.contains(&page.file));
                let (button, link) = match who.role.covers(Role::Editor) {
                    true => ("Fix with a job", Checked::new(dash, who, None).fix(&pages)),
                    false => ("Look", who.path("/pages?show=ai-fails")),
                };
                todos.push(Todo {
                    look: "warn",
                    word: "look",
                    what: match read.pages {
                        1 => "A page that AI reads has findings".to_owned(),
                        pages => format!("{} pages that AI reads have findings", number(pages as u64)),
                    },
                    more: format!(
                        "{} · {} by AI in {} days",
                        names.join(", "),
                        many(read.ai, "view", "views"),
                        read.days
                    ),
                    button,
                    link,
                });
            }
            Item::FailedJobs(jobs, more) => {
                for job in named(store, jobs).await? {
                    let said = job.job.message.clone().unwrap_or_else(|| job.standing.to_owned());
                    let link = who.path(&format!("/jobs/{}", part(&job.job.id)));
                    let (look, what) = match stands(&job.job) {
                        true => ("warn", format!("A follow-up to job “{}” failed", job.name)),
                        false => ("bad", format!("Job “{}” failed", job.name)),
                    };
                    todos.push(todo(look, "failed", what, said, "Look", link));
                }
                todos.extend(others(more, "more failed job", "more failed jobs", who.path("/jobs?status=failed")));
            }
            Item::OpenPulls(jobs, more) => {
                for job in named(store, jobs).await? {
                    let days = days_since(job.job.updated_at, now);
                    let number = job.job.pull_request.as_ref().map_or(0, |pull| pull.number);
                    let link = match is_local {
                        true => who.path(&format!("/pulls/{number}")),
                        false => who.path(&format!("/jobs/{}", part(&job.job.id))),
                    };
                    let (look, what) = match days {
                        0 | 1 => ("", "A pull request is ready for review".to_owned()),
                        days => ("warn", format!("A pull request has been waiting for {}", many(days, "day", "days"))),
                    };
                    todos.push(todo(look, "look", what, format!("#{number} {}", job.name), "Review", link));
                }
                todos.extend(others(more, "more pull request", "more pull requests", who.path("/pulls")));
            }
            Item::Webhook(webhook) => {
                let what = match webhook.paused_at {
                    Some(_) => format!("The webhook to {} is paused", host(&webhook.url)),
                    None => format!("The webhook to {} fails", host(&webhook.url)),
                };
                let since = webhook.paused_at.or(webhook.failing_since).map(|at| days_since(at, now)).unwrap_or(0);
                let since =
                    if since == 0 { "since today".to_owned() } else { format!("since {}", many(since, "day", "days")) };
                let more = webhook.paused_why.unwrap_or(since);
                todos.push(todo("warn", "look", what, more, "Look", who.path("/settings/webhooks")));
            }
            Item::EndingKey(key) => {
                let what = format!("The key “{}” ends {}", key.name, ends(key.expires_at, now));
                let more = format!("{} · make another one before", key.hint);
                todos.push(todo("warn", "look", what, more, "Keys", who.path("/keys")));
            }
            Item::Dormant(why) => {
                let what = "Nothing goes out of this copy".to_owned();
                todos.push(todo("warn", "dormant", what, why, "Jobs", who.path("/jobs")));
            }
            // A new project is told so among its steps.
            Item::Unchecked(_) if is_new => {}
            Item::Unchecked(problem) => {
                let what = "The pages could not be checked".to_owned();
                todos.push(todo("warn", "look", what, problem, "Look", who.path("/pages")));
            }
            Item::Losses(losses) => {
                let more = sentences(&[&losses]).join(" · ");
                let what = "The page view figures are incomplete".to_owned();
                todos.push(todo("bad", "lost", what, more, "Look", who.path("/views")));
            }
            Item::NoViews(why) => {
                let what = "The page views are not available at the moment".to_owned();
                todos.push(todo("bad", "down", what, why, "Try again", who.path("/views")));
            }
        }
    }
    Ok(todos)
}

fn todo(
    look: &'static str,
    word: &'static str,
    what: String,
    more: String,
    button: &'static str,
    link: String,
) -> Todo {
    let more = match more.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &more[..end]),
        None => more,
    };
    Todo { look, word, what, more, button, link }
}

fn others(more: usize, one: &str, several: &str, link: String) -> Option<Todo> {
    let what = format!("and {}", many(more as u64, one, several));
    (more > 0).then(|| todo("warn", "look", what, String::new(), "Look", link))
}

fn host(url: &str) -> String {
    url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| url.to_owned())
}

fn ends(at: Option<Timestamp>, now: Timestamp) -> String {
    match at.map_or(0, |at| days_since(now, at)) {
        0 => "within a day".to_owned(),
        days => format!("in {}", many(days, "day", "days")),
    }
}

/// The steps of a project, as long as one is left.
async fn steps(
    dash: &Dash,
    who: &InProject,
    health: Option<&Health>,
    has_jobs: bool,
    has_views: Option<bool>,
) -> Result<Vec<Step>, Oops> {
    let (project, url) = (&who.project, &dash.settings().public_url);
    let keys = dash.desk().store.keys(Some(&project.id)).await?;
    let now = dash.desk().store.now();
    let has_key = keys.iter().any(|key| key.is_valid_at(now));
    let is_owner = who.role.covers(Role::Owner);
    let (is_connected, connection) = match health {
        Some(Health { problem: Some(problem), checked: None, .. }) => (false, format!("It cannot be read: {problem}.")),
        Some(Health { checked: Some(_), .. }) => {
            (true, format!("{} can be read.", project.repository.public_address()))
        }
        _ if has_jobs => (true, project.repository.public_address().to_owned()),
        _ => (false, "It is checked within a minute.".to_owned()),
    };
    let curl = format!(
        "curl {url}/v2/agent/{}/job \\\n  -H \"Authorization: Bearer $COPYDESK_KEY\" -H \"Content-Type: application/json\" \\\n  -d '{{\"prompt\": \"Fix the typos\"}}'",
        project.id
    );
    let snippet = format!("<script defer data-project=\"{}\" src=\"{url}/js/view.js\"></script>", project.id);
    let link = |may: bool, rest: &str, words| may.then(|| (who.path(rest), words));
    let steps = vec![
        Step {
            is_done: is_connected,
            name: "Connect the repository",
            said: connection,
            link: link(is_owner && !is_connected, "/settings/repository", "Settings"),
            code: None,
        },
        Step {
            is_done: has_key,
            name: "Make a key",
            said: "Programs show it to make jobs and to read views.".to_owned(),
            link: link(is_owner && !has_key, "/keys", "Make a key"),
            code: None,
        },
        Step {
            is_done: has_jobs,
            name: "Make the first job",
            said: "Describe the change here, or let a program create the job:".to_owned(),
            link: link(who.role.covers(Role::Editor) && !has_jobs, "/jobs/new", "New job"),
            code: (!has_jobs).then_some(curl),
        },
        Step {
            is_done: has_views == Some(true),
            name: "See the first view",
            said: match has_views {
                Some(true) => "Views arrive.".to_owned(),
                _ => "Put this line into the head of your pages. Waiting for the first view …".to_owned(),
            },
            link: None,
            code: (has_views != Some(true)).then_some(snippet),
        },
    ];
    Ok(if steps.iter().all(|step| step.is_done) { Vec::new() } else { steps })
}

/// What is useful when nothing needs anybody.
fn next(who: &InProject, health: Option<&Health>) -> (String, &'static str, String) {
    match (health.is_some_and(|health| health.checked.is_some()), who.role.covers(Role::Editor)) {
        (true, _) => {
            let words = "See which pages nobody reads: they may be hard to find, or not needed.".to_owned();
            (words, "Pages nobody reads", who.path("/pages?show=nobody"))
        }
        (false, true) => ("Let the agent do what you put off.".to_owned(), "New job", who.path("/jobs/new")),
        (false, false) => ("See who reads the documentation.".to_owned(), "Views", who.path("/views")),
    }
}
