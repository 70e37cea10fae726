//! Every page of the repository: who reads it, and what the checks say of it.

use askama::Template;
use axum::extract::{RawQuery, State};
use copydesk_desk::readers::{Period, Preset};
use copydesk_domain::{Role, dates};
use copydesk_store::{Health, PageHealth};
use copydesk_views::store::Counts;

use super::checked::{Badge, Checked, reasons};
use super::views::{readers, sentences};
use super::{EDITOR, VIEWER};
use crate::access::Table;
use crate::chart;
use crate::dash::Dash;
use crate::form::Form;
use crate::respond::{Oops, Reply, page, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words::{self, number, part};

/// Pages that are listed at a time.
const AT_ONCE: usize = 50;

pub(super) fn routes(table: Table) -> Table {
    table.get(VIEWER, "/p/{project}/pages", show).post(EDITOR, "/p/{project}/pages/fix", fix)
}

/// Which pages are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    All,
    AiFails,
    Nobody,
    NoAi,
}

impl Choice {
    const ALL: [Self; 4] = [Self::All, Self::AiFails, Self::Nobody, Self::NoAi];

    fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::AiFails => "ai-fails",
            Self::Nobody => "nobody",
            Self::NoAi => "no-ai",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::AiFails => "AI reads, checks fail",
            Self::Nobody => "Nobody reads",
            Self::NoAi => "No AI reads",
        }
    }

    /// Whether a page is one of them. What is not known of a page is not held against it.
    fn has(self, page: &PageHealth, counts: Option<Counts>) -> bool {
        match self {
            Self::All => true,
            Self::AiFails => page.found > 0 && counts.is_some_and(|counts| counts.ai > 0),
            Self::Nobody => counts.is_some_and(|counts| counts.total() == 0),
            Self::NoAi => counts.is_some_and(|counts| counts.ai == 0),
        }
    }
}

/// By what the pages are in order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Readers,
    Ai,
    Findings,
    File,
}

impl Order {
    const ALL: [(Self, &str, &str); 4] = [
        (Self::Readers, "readers", "most readers"),
        (Self::Ai, "ai", "most AI"),
        (Self::Findings, "findings", "most findings"),
        (Self::File, "file", "file"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(order, ..)| *order == self).map_or("", |(_, name, _)| name)
    }
}

struct PageRow {
    file: String,
    title: String,
    /// Its address on the site with the page of its views; none if it is not known.
    page: Option<(String, String)>,
    bar: askama::filters::Safe<String>,
    people: String,
    ai: String,
    badge: Badge,
    /// Whether there is something to put right.
    can_fix: bool,
}

#[derive(Template)]
#[template(path = "pages.html")]
struct PagesPage {
    shell: Shell,
    project_id: String,
    is_editor: bool,
    health: Option<Health>,
    not_judged: String,
    choice: Choice,
    order: Order,
    wanted: String,
    /// Views of the site of which no page of the repository is known to be the page, as a hint that addresses are wrong.
    is_elsewhere: bool,
    /// Pages of which nobody knows where they are on the site.
    unknown: usize,
    count: usize,
    all: usize,
    rows: Vec<PageRow>,
    stretch: String,
    earlier: Option<String>,
    later: Option<String>,
    losses: Vec<String>,
    said: Option<&'static str>,
}

impl PagesPage {
    /// A commit as people name it.
    fn short<'a>(&self, commit: &'a str) -> &'a str {
        commit.get(..10).unwrap_or(commit)
    }

    fn choices(&self) -> Vec<(String, &'static str, bool)> {
        let link = |choice: Choice| (self.link(choice, self.order, 0), choice.words(), choice == self.choice);
        Choice::ALL.into_iter().map(link).collect()
    }

    fn orders(&self) -> Vec<(String, &'static str, bool)> {
        let link = |(order, _, words): (Order, &'static str, &'static str)| {
            (self.link(self.choice, order, 0), words, order == self.order)
        };
        Order::ALL.into_iter().map(link).collect()
    }

    fn link(&self, choice: Choice, order: Order, offset: usize) -> String {
        address(&self.project_id, choice, order, &self.wanted, offset)
    }
}

fn address(project_id: &str, choice: Choice, order: Order, wanted: &str, offset: usize) -> String {
    let mut address = format!("/p/{project_id}/pages?show={}&sort={}", choice.as_str(), order.name());
    if !wanted.is_empty() {
        address.push_str(&format!("&q={}", part(wanted)));
    }
    if offset > 0 {
        address.push_str(&format!("&offset={offset}"));
    }
    address
}

async fn show(State(dash): State<Dash>, who: InProject, RawQuery(query): RawQuery) -> Reply {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    page(&pages(&dash, &who, &query, None).await?)
}

async fn pages(dash: &Dash, who: &InProject, query: &Form, said: Option<&'static str>) -> Result<PagesPage, Oops> {
    let (store, project) = (&dash.desk().store, &who.project);
    let choice = Choice::ALL.into_iter().find(|it| it.as_str() == query.text("show")).unwrap_or(Choice::All);
    let order = Order::ALL.into_iter().find(|(_, name, _)| *name == query.text("sort"));
    let order = order.map_or(Order::Readers, |(order, ..)| order);
    let wanted = query.text("q").to_owned();
    let offset: usize = query.text("offset").parse().unwrap_or(0);
    let health = store.health(&project.id).await?;
    let known = store.page_health(&project.id).await?;
    let zone = dates::zone(&project.time_zone);
    let period = Period::until_now(Preset::Month, store.now(), &zone);
    let paths: Vec<&str> = known.iter().map(|page| page.page.as_deref().unwrap_or_default()).collect();
    let counted = readers(dash)?.counts(project, period.range(&zone), &paths).await?;
    let mut pages: Vec<(&PageHealth, Option<Counts>)> =
        known.iter().zip(&counted.pages).map(|(page, counts)| (page, page.page.is_some().then_some(*counts))).collect();
    let total = |counts: &Option<Counts>| counts.map_or(0, Counts::total);
    let is_elsewhere = counted.totals.total() > 0 && !pages.is_empty() && pages.iter().all(|(_, it)| total(it) == 0);
    if is_elsewhere {
        // The site has its pages at other addresses than the repository says: that nobody reads them is not known.
        pages.iter_mut().for_each(|(_, counts)| *counts = None);
    }
    let small = wanted.to_lowercase();
    let is_wanted = |page: &PageHealth| {
        let address = page.page.as_deref().unwrap_or_default();
        small.is_empty() || [&page.file, &page.title, address].iter().any(|text| text.to_lowercase().contains(&small))
    };
    let all = pages.len();
    pages.retain(|(page, counts)| choice.has(page, *counts) && is_wanted(page));
    let unknown = known.iter().filter(|page| page.page.is_none()).count();
    match order {
        Order::Readers => pages.sort_by_key(|(_, counts)| std::cmp::Reverse(total(counts))),
        Order::Ai => pages.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.map_or(0, |counts| counts.ai))),
        Order::Findings => pages.sort_by_key(|(page, _)| std::cmp::Reverse(page.found)),
        Order::File => {}
    }
    let checked = Checked::new(dash, who, health.as_ref());
    let most = pages.iter().map(|(_, counts)| total(counts)).max().unwrap_or(0);
    let row = |(page, counts): &(&PageHealth, Option<Counts>)| PageRow {
        file: page.file.clone(),
        title: page.title.clone(),
        page: page.page.clone().map(|address| {
            let link = who.path(&format!("/views?path={}", part(&address)));
            (address, link)
        }),
        bar: chart::bar(counts.map_or(0, |counts| counts.human), counts.map_or(0, |counts| counts.ai), most),
        people: counts.map_or_else(|| "?".to_owned(), |counts| number(counts.human)),
        ai: counts.map_or_else(|| "?".to_owned(), |counts| number(counts.ai)),
        badge: checked.badge(Some(page)),
        can_fix: page.found > 0,
    };
    let rows: Vec<PageRow> = pages.iter().skip(offset).take(AT_ONCE).map(row).collect();
    let last = offset.saturating_add(rows.len());
    let at = |offset| address(&project.id, choice, order, &wanted, offset);
    Ok(PagesPage {
        shell: Shell::inside(dash, who, "/pages", "Pages"),
        project_id: project.id.to_string(),
        is_editor: who.role.covers(Role::Editor),
        not_judged: health.as_ref().map(|health| reasons(&health.not_judged)).unwrap_or_default(),
        health,
        is_elsewhere,
        unknown,
        count: pages.len(),
        all,
        stretch: format!("{}–{} of {}", number(offset as u64 + 1), number(last as u64), number(pages.len() as u64)),
        earlier: (offset > 0).then(|| at(offset.saturating_sub(AT_ONCE))),
        later: (last < pages.len()).then(|| at(last)),
        rows,
        losses: sentences(&[&counted.losses]),
        said,
        choice,
        order,
        wanted,
    })
}

/// Leads to a new job that is filled in, to be looked at before it is sent.
async fn fix(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let ticked = form.all("file");
    let found = dash.desk().store.pages_with_findings(&who.project.id).await?;
    let pages: Vec<PageHealth> = found.into_iter().filter(|page| ticked.contains(&page.file)).collect();
    if pages.is_empty() {
        let said = match ticked.is_empty() {
            true => "Select the pages to fix.",
            false => "The checks find nothing in these pages any more.",
        };
        return unfit(&self::pages(&dash, &who, &form, Some(said)).await?);
    }
    to(&Checked::new(&dash, &who, None).fix(&pages))
}
