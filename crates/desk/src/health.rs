//! What the checks say of the pages of each project, looked at again when its base branch has moved.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use copydesk_agent::{WorkspaceFiles, seated};
use copydesk_boxed::boxed;
use copydesk_checks::{Finding, PageReport, Report, SiteSettings, Until, check_pages};
use copydesk_domain::{NotJudged, Project};
use copydesk_forge::{CommitId, ForgeError};
use copydesk_store::{PageHealth, Store, StoreError};
use copydesk_views::page::{self, Target};
use futures_util::future::BoxFuture;

use crate::docs_job::Workshop;
use crate::stop::Stop;

/// How long a project is left alone after somebody has looked at it.
const PAUSE: Duration = Duration::from_secs(600);
/// How often it is asked which projects are to be looked at.
const EVERY: Duration = Duration::from_secs(20);
/// How long one look may take.
const TIME: Duration = Duration::from_secs(300);
/// Pages that are kept of a repository, and findings of a page.
const MOST_PAGES: usize = 20_000;
const MOST_FINDINGS: usize = 20;
/// Reasons that are kept for what could not be judged.
const MOST_REASONS: usize = 5;
/// How long a prompt may become, in bytes.
const MOST_PROMPT: usize = 3000;
/// A longer message is cut.
const MOST_LETTERS: usize = 400;

/// Looks at the pages of all projects, one project at a time, until the process stops.
/// Boxed, so that this crate compiles it once, and not every program that starts it.
pub fn watch_pages(store: Store, workshop: Arc<Workshop>, stop: Stop) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut pause = Duration::from_secs(2);
        while tokio::time::timeout(pause, stop.asked()).await.is_err() {
            tokio::select! {
                () = look_at_all(&store, &workshop) => {}
                () = stop.asked() => {}
            }
            pause = EVERY;
        }
    })
}

async fn look_at_all(store: &Store, workshop: &Arc<Workshop>) {
    let projects = match store.projects().await {
        Ok(projects) => projects,
        Err(error) => return tracing::warn!(%error, "cannot tell which pages are to be checked"),
    };
    for project in projects {
        let looked = match store.begin_health(&project.id, PAUSE).await {
            Ok(true) => look_at(store, workshop, &project).await,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = looked {
            tracing::warn!(%error, project = project.id.as_str(), "the findings of pages cannot be stored");
        }
    }
}

/// Looks at the pages of a project, unless they were judged as they are now. Why it could not be done is kept beside what
/// is known.
#[boxed]
pub async fn look_at(store: &Store, workshop: &Arc<Workshop>, project: &Project) -> Result<(), StoreError> {
    let known = store.health(&project.id).await?.and_then(|health| health.checked);
    // What counts as documentation may have been set anew.
    let known = known.filter(|(_, at)| *at >= project.updated_at).map(|(commit, _)| commit);
    let judged = match tokio::time::timeout(TIME, judge(workshop, project, known.as_deref())).await {
        Ok(judged) => judged,
        Err(_) => Err(format!("it took longer than {} minutes", TIME.as_secs() / 60)),
    };
    match judged {
        Ok(None) => store.note_health(project, None).await,
        Ok(Some(Judged { commit, report, pages })) => {
            let not_judged = report.tally.kinds().into_iter().flat_map(|(kind, count)| {
                count.reasons().into_iter().map(move |it| NotJudged { reason: format!("{kind}: {}", it.reason), ..it })
            });
            let (not_judged, kept) = (most(not_judged.collect()), kept(report.findings, pages, &project.docs_paths));
            let (kept, more) = bounded(kept);
            store.record_health(project, &commit.to_string(), not_judged, kept).await?;
            let more = more.map(|all| format!("the repository has {all} pages, of which {MOST_PAGES} are kept"));
            store.note_health(project, more.as_deref()).await
        }
        Err(problem) => {
            tracing::info!(project = project.id.as_str(), problem, "the pages of a project could not be checked");
            let problem: String = problem.chars().take(MOST_LETTERS).collect();
            store.note_health(project, Some(&problem)).await
        }
    }
}

struct Judged {
    commit: CommitId,
    report: Report,
    pages: Vec<PageReport>,
}

/// What the checks say of the base branch; none if it is where it was.
async fn judge(workshop: &Arc<Workshop>, project: &Project, known: Option<&str>) -> Result<Option<Judged>, String> {
    let told = |error: ForgeError| error.message;
    let connection = workshop.connect(project).await.map_err(told)?;
    let remote = connection.remote().await.map_err(told)?;
    let mirror = workshop.forge.mirror(&remote).await.map_err(told)?;
    let commit = mirror.fetch(&project.base_ref).await.map_err(told)?;
    if known == Some(commit.to_string().as_str()) {
        return Ok(None);
    }
    let tree = mirror.tree(&commit).map_err(told)?;
    let settings = SiteSettings::new(&project.docs_paths);
    let checked = seated(move |is_enough| {
        let files = WorkspaceFiles::Base(&*tree);
        check_pages(&Until::new(&files, is_enough), &settings)
    });
    let checked = checked.await.unwrap_or_else(|_| Err(io::Error::other("the docs checks crashed")));
    let (report, pages) = checked.map_err(|error| error.to_string())?;
    Ok(Some(Judged { commit, report, pages }))
}

/// The pages as they are kept, those that stand in no page last: a finding in a navigation file is one of that file.
fn kept(findings: Vec<Finding>, pages: Vec<PageReport>, docs_paths: &[String]) -> Vec<PageHealth> {
    let mut of_file: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        of_file.entry(finding.path.clone()).or_default().push(finding);
    }
    let mut kept: Vec<PageHealth> = Vec::with_capacity(pages.len());
    for page in pages {
        let findings = of_file.remove(&page.path).unwrap_or_default();
        let reasons = page.not_judged.into_iter().map(|(reason, count)| NotJudged { reason, count });
        kept.push(PageHealth {
            title: page.title.unwrap_or_else(|| below(&page.path, docs_paths).to_owned()),
            page: page.address.as_deref().and_then(address),
            not_judged: most(reasons.collect()),
            ..health(page.path, &findings)
        });
    }
    kept.extend(of_file.into_iter().map(|(file, findings)| health(file, &findings)));
    kept
}

fn health(file: String, findings: &[Finding]) -> PageHealth {
    let first = findings.iter().take(MOST_FINDINGS).map(|finding| {
        let mut summary = finding.summary();
        summary.message = summary.message.chars().take(MOST_LETTERS).collect();
        summary
    });
    let found = u32::try_from(findings.len()).unwrap_or(u32::MAX);
    PageHealth { page: None, title: file.clone(), found, findings: first.collect(), not_judged: Vec::new(), file }
}

fn below<'p>(path: &'p str, docs_paths: &[String]) -> &'p str {
    let rest = docs_paths.iter().filter_map(|folder| path.strip_prefix(folder.as_str())?.strip_prefix('/'));
    rest.min_by_key(|rest| rest.len()).unwrap_or(path)
}

/// The address of a page as its views have it; none if no view can be of it.
fn address(on_site: &str) -> Option<String> {
    // What a folder shows is not named.
    let bare = match on_site.rsplit_once('/') {
        Some((folder, "index")) => folder,
        None if on_site == "index" => "",
        _ => on_site,
    };
    let path = bare.replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    match page::target(&format!("/{path}")) {
        Ok(Target::Page { path, .. }) => Some(path),
        Ok(Target::Asset) | Err(_) => None,
    }
}

/// The most frequent reasons.
fn most(mut reasons: Vec<NotJudged>) -> Vec<NotJudged> {
    reasons.sort_by_key(|it| std::cmp::Reverse(it.count));
    let rest: u64 = reasons.iter().skip(MOST_REASONS).map(|it| it.count).sum();
    reasons.truncate(MOST_REASONS);
    if rest > 0 {
        reasons.push(NotJudged { reason: "other reasons".to_owned(), count: rest });
    }
    reasons
}

/// So many pages at most, those with findings first; and how many there are if that is more.
fn bounded(mut pages: Vec<PageHealth>) -> (Vec<PageHealth>, Option<usize>) {
    let all = pages.len();
    if all <= MOST_PAGES {
        return (pages, None);
    }
    pages.sort_by_key(|page| page.found == 0);
    pages.truncate(MOST_PAGES);
    (pages, Some(all))
}

/// A prompt that asks for what was found in these pages to be put right, for somebody to look at before it is sent. It
/// fits into an address.
pub fn fix_prompt(pages: &[PageHealth], model: &str) -> String {
    let files = || pages.iter().map(|page| page.file.as_str());
    if model == "builtin" {
        // What it can do without a model, in words that it knows.
        return cut(&["Repair the broken links and anchors in ", ""], files(), ", ");
    }
    let findings = pages.iter().flat_map(|page| {
        let lines = page.findings.iter().map(|it| format!("- {}:{}: {}", it.path, it.line, it.message));
        let more = (page.found as usize).saturating_sub(page.findings.len());
        lines.chain((more > 0).then(|| format!("- {}: {more} more of this kind", page.file))).collect::<Vec<_>>()
    });
    let head = "Put right what the docs checks found, and change nothing else:\n";
    cut(&[head, "\n- and what else the checks find in these pages"], findings.collect::<Vec<_>>().iter(), "\n")
}

/// As many of the parts as fit, between a head and what is said if not all do.
fn cut<T: AsRef<str>>(around: &[&str; 2], parts: impl Iterator<Item = T>, between: &str) -> String {
    let mut text = around[0].to_owned();
    for (at, part) in parts.enumerate() {
        let part = part.as_ref();
        if text.len() + part.len() > MOST_PROMPT && at > 0 {
            text.push_str(around[1]);
            break;
        }
        text.push_str(if at > 0 { between } else { "" });
        text.extend(part.chars().take(MOST_PROMPT / 4));
    }
    text
}

#[cfg(test)]
mod tests {
    use copydesk_domain::FindingSummary;

    use super::*;

    #[test]
    fn pages_have_the_addresses_of_their_views() {
        for (on_site, wanted) in [
            ("", Some("/")),
            ("index", Some("/")),
            ("guides/index", Some("/guides")),
            ("guides/index.html", Some("/guides")),
            ("guides/start", Some("/guides/start")),
            ("guides/start.html", Some("/guides/start")),
            ("guides/", Some("/guides")),
            ("v1.2/é ?", Some("/v1.2/%C3%A9%20%3F")),
            ("reindex", Some("/reindex")),
            ("logo.png", None),
        ] {
            assert_eq!(address(on_site).as_deref(), wanted, "{on_site:?}");
        }
    }

    #[test]
    fn a_prompt_names_what_was_found_and_stays_short() {
        let page = |n: usize| {
            let finding = |line| FindingSummary {
                path: format!("docs/{n}.md"),
                line,
                column: 1,
                message: "`x` leads nowhere".to_owned(),
                warning: false,
            };
            PageHealth { found: 3, findings: vec![finding(1), finding(2)], ..health(format!("docs/{n}.md"), &[]) }
        };
        assert_eq!(
            fix_prompt(&[page(1), page(2)], "builtin"),
            "Repair the broken links and anchors in docs/1.md, docs/2.md"
        );
        let prompt = fix_prompt(&[page(1)], "some-model");
        assert!(prompt.ends_with(
            "- docs/1.md:1: `x` leads nowhere\n- docs/1.md:2: `x` leads nowhere\n- docs/1.md: 1 more of this kind"
        ));
        let many: Vec<PageHealth> = (0..5000).map(page).collect();
        for model in ["builtin", "some-model"] {
            assert!(fix_prompt(&many, model).len() < MOST_PROMPT + 100);
        }
    }

    #[test]
    fn only_so_much_is_kept() {
        let page = |n: usize| PageHealth { found: u32::from(n == MOST_PAGES), ..health(n.to_string(), &[]) };
        let (pages, more) = bounded((0..=MOST_PAGES).map(page).collect());
        assert_eq!((pages.len(), more, pages[0].found), (MOST_PAGES, Some(MOST_PAGES + 1), 1));
        let reason = |count: u64| NotJudged { reason: count.to_string(), count };
        let kept = most((1..=8).map(reason).collect());
        assert_eq!(kept.iter().map(|it| it.count).collect::<Vec<_>>(), [8, 7, 6, 5, 4, 6]);
    }
}
