use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use copydesk_domain::ProjectId;
use copydesk_views::classify::Classifier;
use copydesk_views::store::ViewStore;
use copydesk_views::{Class, Client, Verdict};
use serde_json::{Value, json};

use super::{PageViewStore, lists, open_views};
use crate::args::ReclassifyFlags;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, printable};
use crate::store;

/// What the present list makes of a project's history.
struct Difference {
    project: ProjectId,
    /// Views by class, as they are and as they would be.
    before: BTreeMap<Class, u64>,
    after: BTreeMap<Class, u64>,
    /// Readers with another verdict than before, those with most views first.
    changes: Vec<(Arc<Client>, Verdict, u64)>,
}

/// `copydesk reclassify`: judges all of the history by the present list; shows the difference first.
pub(crate) async fn reclassify(flags: ReclassifyFlags, config: &Config) -> Result<ExitCode, Failure> {
    let projects = store::open_ready(config).await?;
    let lists = lists(config)?;
    let ids = match &flags.project {
        Some(id) => vec![store::project(&projects, id).await?.id],
        None => projects.projects().await?.into_iter().map(|project| project.id).collect(),
    };
    let views = open_views(config).await?;
    let done = judge_again(&views, &lists, &ids, &flags).await;
    views.close().await;
    done
}

async fn judge_again(
    views: &PageViewStore,
    lists: &Classifier,
    ids: &[ProjectId],
    flags: &ReclassifyFlags,
) -> Result<ExitCode, Failure> {
    let mut differences = Vec::new();
    for id in ids {
        let difference = difference(id, views.clients(id).await?, lists);
        if !difference.changes.is_empty() {
            differences.push(difference);
        }
    }
    if !flags.json {
        differences.iter().for_each(show);
    }
    let apply = !differences.is_empty() && (flags.yes || (!flags.json && agreed()));
    if apply {
        for difference in &differences {
            let changes = difference.changes.iter().map(|(client, verdict, _)| (client.clone(), verdict.clone()));
            views.relabel(&difference.project, changes.collect()).await?;
        }
    }
    if flags.json {
        let found = differences.iter().map(described).collect::<Vec<_>>();
        return output::json(&json!({ "applied": apply, "projects": found }));
    }
    output::line(match (differences.is_empty(), apply) {
        (true, _) => "The history matches the current list.",
        (false, true) => "Done.",
        (false, false) => "Nothing was changed. `copydesk reclassify --yes` applies it.",
    });
    Ok(ExitCode::SUCCESS)
}

fn difference(project: &ProjectId, clients: Vec<(Arc<Client>, u64)>, lists: &Classifier) -> Difference {
    let mut found =
        Difference { project: project.clone(), before: BTreeMap::new(), after: BTreeMap::new(), changes: Vec::new() };
    for (client, views) in clients {
        let verdict = if client.is_others() { client.verdict.clone() } else { lists.verdict(&client.facts) };
        *found.before.entry(client.verdict.class).or_default() += views;
        *found.after.entry(verdict.class).or_default() += views;
        if verdict != client.verdict {
            found.changes.push((client, verdict, views));
        }
    }
    found.changes.sort_by(|one, other| other.2.cmp(&one.2).then_with(|| one.0.cmp(&other.0)));
    found
}

fn show(difference: &Difference) {
    output::line(&format!("{}:", difference.project));
    let count = |of: &BTreeMap<Class, u64>, class| of.get(&class).copied().unwrap_or(0);
    let classes = Class::ALL
        .into_iter()
        .filter(|class| difference.before.contains_key(class) || difference.after.contains_key(class));
    let rows: Vec<_> = classes
        .map(|class| {
            let (before, after) = (count(&difference.before, class), count(&difference.after, class));
            vec![class.as_str().to_owned(), before.to_string(), after.to_string(), sign(before, after)]
        })
        .collect();
    output::table(&["class", "now", "then", "difference"], &rows);
    output::line("");
    let named = |verdict: &Verdict| match &verdict.agent {
        Some(agent) => format!("{} ({}, {})", verdict.class.as_str(), printable(agent), verdict.evidence.as_str()),
        None => format!("{} ({})", verdict.class.as_str(), verdict.evidence.as_str()),
    };
    const SHOWN: usize = 20;
    let row = |(client, verdict, views): &(Arc<Client>, Verdict, u64)| {
        vec![views.to_string(), named(&client.verdict), named(verdict), printable(&client.facts.user_agent)]
    };
    let rows: Vec<_> = difference.changes.iter().take(SHOWN).map(row).collect();
    output::table(&["views", "now", "then", "user agent"], &rows);
    if difference.changes.len() > SHOWN {
        let more = (difference.changes.len() - SHOWN) as u64;
        output::line(&format!("(and {} of readers)", output::counted(more, "more kind")));
    }
    output::line("");
}

fn sign(before: u64, after: u64) -> String {
    match before.cmp(&after) {
        std::cmp::Ordering::Less => format!("+{}", after - before),
        std::cmp::Ordering::Equal => "0".to_owned(),
        std::cmp::Ordering::Greater => format!("-{}", before - after),
    }
}

fn described(difference: &Difference) -> Value {
    let changes = difference.changes.iter().map(|(client, verdict, views)| {
        json!({ "userAgent": client.facts.user_agent, "views": views, "now": client.verdict, "then": verdict })
    });
    json!({
        "project": difference.project,
        "now": difference.before,
        "then": difference.after,
        "changes": changes.collect::<Vec<_>>(),
    })
}

/// Asks at a terminal; elsewhere nobody could answer, and nothing is changed.
fn agreed() -> bool {
    let answer = output::asked("Apply this to the history? [y/N] ");
    answer.is_ok_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
}
