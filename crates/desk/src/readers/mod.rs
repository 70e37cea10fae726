//! Who read what: rankings, series and agents of a range of time, for every face that shows them.

mod frozen;
mod limiter;
mod losses;
mod period;
mod range;
mod series;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Clock, Project, Standing, Window};
use copydesk_views::store::{AgentViews, Counts, Loss, PageViews, Status, ViewStore, ViewsError};
use copydesk_views::{Class, CountsAs};

use frozen::{Frozen, FrozenKey};
use limiter::Limiter;

pub use period::{Period, Preset};
pub use range::{Range, page_path};
pub use series::{AgentSeries, ReadError, Series, SeriesPoint};

/// Who asks. Whoever pages through an order, or has used up their requests, does so for themselves only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallerId(String);

impl CallerId {
    /// Whoever has the key of this digest.
    pub fn of_key(digest: &str) -> Self {
        Self(format!("key {digest}"))
    }

    /// The user of this id, whatever browser they look with.
    pub fn of_user(id: &str) -> Self {
        Self(format!("user {id}"))
    }
}

/// Answers questions about page views.
pub struct Readers {
    store: Arc<dyn ViewStore>,
    clock: Arc<dyn Clock>,
    frozen: Frozen,
    limiter: Limiter,
}

/// A page of the pages of a site, most views first.
pub struct RankedPages {
    /// Of the whole site, over the whole range.
    pub totals: Counts,
    /// How many pages were read at all.
    pub read: usize,
    pub pages: Vec<PageViews>,
    pub has_more: bool,
    /// Why the figures are not to be relied on, if they are not.
    pub losses: Vec<Loss>,
}

/// A site and some of its pages.
pub struct Counted {
    pub totals: Counts,
    /// How many pages were read at all.
    pub read: usize,
    pub pages: Vec<Counts>,
    /// Why the figures are not to be relied on, if they are not.
    pub losses: Vec<Loss>,
}

/// The machines that read, most views first.
pub struct Agents {
    /// Views by kind of machine, over the whole range.
    pub classes: Vec<(Class, CountsAs, u64)>,
    pub agents: Vec<AgentViews>,
    pub has_more: bool,
    /// Why the figures are not to be relied on, if they are not.
    pub losses: Vec<Loss>,
}

#[boxed]
impl Readers {
    pub(crate) fn new(store: Arc<dyn ViewStore>, clock: Arc<dyn Clock>, per_minute: u32) -> Self {
        let limiter = Limiter::new(Window { limit: per_minute, period: Duration::from_secs(60) });
        Self { store, clock, frozen: Frozen::default(), limiter }
    }

    /// Lets a request through if the caller has not made too many, and says where they stand, if there is a limit.
    pub fn admit(&self, caller: &CallerId) -> Result<Option<Standing>, Standing> {
        self.limiter.admit(caller, self.clock.now()).transpose()
    }

    /// The pages behind the first `offset`. Their order is made anew for the first of them, and then the same for those
    /// behind it.
    pub async fn ranking(
        &self,
        caller: &CallerId,
        project: &Project,
        range: Range,
        offset: usize,
        limit: usize,
    ) -> Result<RankedPages, ViewsError> {
        let question = range.question(project);
        let key = FrozenKey { project: project.id.clone(), caller: caller.clone(), question };
        let frozen = if offset > 0 { self.frozen.find(&key) } else { None };
        let (ranking, losses) = match frozen {
            Some(ranking) => (ranking, Vec::new()),
            None => self.with_losses(project, question, |store| store.ranking(&project.id, question)).await?,
        };
        let (totals, read, (pages, has_more)) = (ranking.totals(), ranking.len(), ranking.page(offset, limit));
        // An order in which something is missing is not gone on with: the next page must say so too.
        if has_more && losses.is_empty() {
            self.frozen.keep(key, ranking);
        }
        Ok(RankedPages { totals, read, pages, has_more, losses })
    }

    /// The site as a whole and some of its pages, in the order in which they are asked for.
    pub async fn counts(&self, project: &Project, range: Range, paths: &[&str]) -> Result<Counted, ViewsError> {
        let question = range.question(project);
        let asked = self.with_losses(project, question, |store| store.ranking(&project.id, question));
        let (ranking, losses) = asked.await?;
        Ok(Counted { totals: ranking.totals(), read: ranking.len(), pages: ranking.counts_of(paths), losses })
    }

    /// What there is of a project.
    pub async fn status(&self, project: &Project) -> Result<Status, ViewsError> {
        self.store.status(&project.id).await
    }

    /// The machines behind the first `offset`, of the site or of one page, each with the pages it read most.
    pub async fn agents(
        &self,
        project: &Project,
        range: Range,
        path: Option<&str>,
        pages_each: usize,
        offset: usize,
        limit: usize,
    ) -> Result<Agents, ViewsError> {
        let question = range.question(project);
        let asked = self.with_losses(project, question, |store| store.agents(&project.id, question, path, pages_each));
        let (agents, losses) = asked.await?;
        let (classes, has_more) = (classes(&agents), agents.len() > offset.saturating_add(limit));
        Ok(Agents { classes, agents: agents.into_iter().skip(offset).take(limit).collect(), has_more, losses })
    }
}

fn classes(agents: &[AgentViews]) -> Vec<(Class, CountsAs, u64)> {
    let mut classes = BTreeMap::new();
    for agent in agents {
        *classes.entry((agent.verdict.class, agent.verdict.counts_as())).or_insert(0) += agent.views;
    }
    classes.into_iter().map(|((class, counts_as), views)| (class, counts_as, views)).collect()
}
