use std::process::ExitCode;

use copydesk_desk::Sender;
use copydesk_domain::{Project, dates};
use copydesk_views::Bucket;
use copydesk_views::store::{AgentViews, Loss, Question, Status, ViewStore};
use serde_json::{Value, json};

use super::care::{repair, restore, told, verify};
use super::{PageViewStore, open_views};
use crate::args::{Range, ViewsCommand, needed};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, printable};
use crate::{secrets, store};

/// `copydesk views …`
pub(crate) async fn run(command: ViewsCommand, config: &Config) -> Result<ExitCode, Failure> {
    let projects = store::open_ready(config).await?;
    match command {
        ViewsCommand::Top { project: id, range, limit, json } => {
            let project = store::project(&projects, &needed(id)?).await?;
            with_views(config, async |views| top(views, &project, &range, limit, json).await).await
        }
        ViewsCommand::Agents { project: id, range, path, json } => {
            let project = store::project(&projects, &needed(id)?).await?;
            with_views(config, async |views| agents(views, &project, &range, path.as_deref(), json).await).await
        }
        ViewsCommand::Drain { project: id, rotate, json } => {
            let project = store::project(&projects, &needed(id)?).await?;
            let secret = secrets::of_sender(config, projects, &project.id, Sender::Drain, &rotate).await?;
            drain(&project, &secret, config, json)
        }
        ViewsCommand::Status { project: Some(id), json } => {
            let project = store::project(&projects, &id).await?;
            with_views(config, async |views| status(views, &[project], json).await).await
        }
        ViewsCommand::Status { project: None, json } => {
            let all = projects.projects().await?;
            with_views(config, async |views| status(views, &all, json).await).await
        }
        ViewsCommand::Verify { json } => with_views(config, async |views| verify(views, json).await).await,
        ViewsCommand::Repair { accept, json } => {
            with_views(config, async |views| repair(views, accept, json).await).await
        }
        ViewsCommand::Restore { project: id } => {
            let project = store::project(&projects, &needed(id)?).await?;
            with_views(config, async |views| restore(views, &project).await).await
        }
    }
}

fn drain(project: &Project, secret: &str, config: &Config, as_json: bool) -> Result<ExitCode, Failure> {
    let address = |host: &str| format!("{}/drains/{}/{host}", config.public_url(), project.id);
    let hosts = ["vercel", "netlify", "cloudflare"];
    if as_json {
        let addresses: serde_json::Map<_, _> =
            hosts.iter().map(|host| ((*host).to_owned(), address(host).into())).collect();
        return output::json(&json!({ "addresses": addresses, "secret": secret }));
    }
    hosts.iter().for_each(|host| output::line(&format!("{host:<11} {}", address(host))));
    output::line(&format!("{:<11} {secret}", "secret"));
    Ok(ExitCode::SUCCESS)
}

async fn with_views(
    config: &Config,
    act: impl AsyncFnOnce(&PageViewStore) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    let views = open_views(config).await?;
    let done = act(&views).await;
    views.close().await;
    done
}

fn question(project: &Project, range: &Range) -> Result<Question, Failure> {
    let zone = dates::zone(&project.time_zone);
    let edge = |name, text: &Option<String>, instead| match text {
        Some(text) => dates::instant(name, text, &zone).map(Bucket::of),
        None => Ok(instead),
    };
    let from = edge("--from", &range.from, Bucket::MIN)?;
    let to = edge("--to", &range.to, Bucket::MAX)?;
    if from > to {
        return Err(Failure::usage("--from must not be after --to"));
    }
    Ok(Question { from, to, sources: project.views.sources })
}

async fn top(
    views: &PageViewStore,
    project: &Project,
    range: &Range,
    limit: usize,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let ranking = views.ranking(&project.id, question(project, range)?).await?;
    let (pages, more) = ranking.page(0, limit);
    let totals = ranking.totals();
    if as_json {
        let row =
            |path: &str, human: u64, ai: u64| json!({ "path": path, "human": human, "ai": ai, "total": human + ai });
        let rows = pages.iter().map(|page| row(&page.path, page.counts.human, page.counts.ai)).collect::<Vec<_>>();
        let totals = json!({ "human": totals.human, "ai": totals.ai, "total": totals.total() });
        return output::json(&json!({ "totals": totals, "views": rows, "hasMore": more }));
    }
    let cells = |path: &str, human: u64, ai: u64| {
        vec![(human + ai).to_string(), human.to_string(), ai.to_string(), printable(path)]
    };
    let mut rows = vec![cells("(all pages)", totals.human, totals.ai)];
    rows.extend(pages.iter().map(|page| cells(&page.path, page.counts.human, page.counts.ai)));
    output::table(&["total", "human", "ai", "path"], &rows);
    if more {
        output::line("(there are more; see --limit)");
    }
    Ok(ExitCode::SUCCESS)
}

async fn agents(
    views: &PageViewStore,
    project: &Project,
    range: &Range,
    path: Option<&str>,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    const PAGES_EACH: usize = 3;
    let agents = views.agents(&project.id, question(project, range)?, path, PAGES_EACH).await?;
    if as_json {
        return output::json(&Value::from(agents.iter().map(agent).collect::<Vec<_>>()));
    }
    let row = |agent: &AgentViews| {
        let verdict = &agent.verdict;
        let read =
            agent.most_read.iter().map(|(path, views)| format!("{} {views}", printable(path))).collect::<Vec<_>>();
        vec![
            agent.views.to_string(),
            verdict.class.as_str().to_owned(),
            verdict.agent.as_deref().map_or("-".to_owned(), printable),
            verdict.evidence.as_str().to_owned(),
            printable(&verdict.rule),
            read.join(", "),
        ]
    };
    output::table(
        &["views", "class", "agent", "evidence", "rule", "most read"],
        &agents.iter().map(row).collect::<Vec<_>>(),
    );
    Ok(ExitCode::SUCCESS)
}

fn agent(agent: &AgentViews) -> Value {
    let read = agent.most_read.iter().map(|(path, views)| json!({ "path": &**path, "views": views }));
    json!({
        "agent": agent.verdict.agent,
        "class": agent.verdict.class,
        "countsAs": agent.verdict.counts_as(),
        "evidence": agent.verdict.evidence,
        "rule": agent.verdict.rule,
        "views": agent.views,
        "pages": agent.pages,
        "mostRead": read.collect::<Vec<_>>(),
    })
}

async fn status(views: &PageViewStore, projects: &[Project], as_json: bool) -> Result<ExitCode, Failure> {
    let mut found = Vec::with_capacity(projects.len());
    let mut lost = Vec::new();
    for project in projects {
        let status = views.status(&project.id).await?;
        let losses = views.losses(Some(&project.id)).await?.list;
        lost.extend(losses.iter().filter(|loss| !lost.contains(*loss)).cloned().collect::<Vec<_>>());
        found.push((project, status, losses));
    }
    if as_json {
        return output::json(
            &found.iter().map(|(project, status, losses)| described(project, status, losses)).collect(),
        );
    }
    let day = |bucket: Option<Bucket>| bucket.map_or("-".to_owned(), |bucket| bucket.begins().to_string());
    let row = |(project, status, _): &(&Project, Status, Vec<Loss>)| {
        let bytes = output::bytes(status.bytes);
        vec![
            project.id.to_string(),
            status.views.to_string(),
            status.pages.to_string(),
            bytes,
            day(status.first),
            day(status.last),
        ]
    };
    output::table(
        &["project", "views of all kinds", "pages", "on disk", "first", "last"],
        &found.iter().map(row).collect::<Vec<_>>(),
    );
    lost.iter().for_each(|loss| output::line(&told(loss)));
    Ok(ExitCode::SUCCESS)
}

fn described(project: &Project, status: &Status, losses: &[Loss]) -> Value {
    let instant = |bucket: Option<Bucket>| bucket.map(|bucket| bucket.begins().to_string());
    json!({
        "project": project.id,
        "views": status.views,
        "pages": status.pages,
        "bytes": status.bytes,
        "first": instant(status.first),
        "last": instant(status.last),
        "scriptSince": instant(status.script_since),
        "serverSince": instant(status.server_since),
        "forgottenBefore": instant(status.floor),
        "restorableFrom": instant(status.restorable),
        "losses": losses,
    })
}
