//! Page views as the server has them: where they are kept, by which list readers are judged, and what is remembered
//! between requests.

mod doubles;
mod first;
mod networks;
mod nonces;
mod proxies;
mod sites;
mod upkeep;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Clock, ProjectId};
use copydesk_views::classify::Classifier;
use copydesk_views::intake::{Judge, Left, Outcome, Refusal};
use copydesk_views::store::{ViewStore, ViewsError};
use copydesk_views::{Appended, Batch, Hit};

use crate::metrics::Metrics;
use crate::readers::Readers;

use networks::Networks;

pub use doubles::Doubles;
use first::Arrivals;
pub(crate) use first::tell_first_views;
use nonces::{Nonces, Spent};
pub use proxies::Proxies;
pub use sites::Site;
pub(crate) use upkeep::{Chores, forget_gone, forget_old};

/// Judges that wait for the next request at most; each remembers what it saw.
const JUDGES: usize = 4;

/// How often it is said that views came too late.
const EXPIRED_EVERY: Duration = Duration::from_secs(60);

/// Hits that are judged before others are let in between.
const AT_A_STRETCH: usize = 250;

pub struct Views {
    store: Arc<dyn ViewStore>,
    clock: Arc<dyn Clock>,
    lists: RwLock<Arc<Classifier>>,
    judges: Mutex<Vec<Judge>>,
    readers: Readers,
    pub doubles: Doubles,
    nonces: Nonces,
    networks: Networks,
    settings: ViewsSettings,
    metrics: Metrics,
    expired: ExpiredViews,
    arrivals: Arrivals,
}

/// Tells of views that came too late, once in a while and not for each of them.
#[derive(Default)]
struct ExpiredViews(Mutex<(Option<Duration>, u64)>);

impl ExpiredViews {
    fn say(&self, uptime: Duration, count: u64, project: &ProjectId) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.1 += count;
        if said.0.is_none_or(|last| uptime.saturating_sub(last) >= EXPIRED_EVERY) {
            tracing::warn!(
                project = project.as_str(),
                views = said.1,
                "page views older than they are kept were not counted"
            );
            *said = (Some(uptime), 0);
        }
    }
}

/// How page views are treated.
#[derive(Debug, Clone)]
pub struct ViewsSettings {
    /// Questions of a caller in a minute; 0 is off.
    pub per_minute: u32,
    /// Views that one network may tell of in a minute without a key; 0 is off.
    pub per_network: u32,
    /// A reader whose browser tells of the same page twice within this time has seen it once; zero is off.
    pub duplicate_window: Duration,
    /// Days that views are kept, unless the project says otherwise; 0: for ever.
    pub keep_days: u32,
    /// Who may say whom a request came from.
    pub proxies: Proxies,
    /// The host by which browsers reach the server: what they sign for it is made for this name.
    pub host: Option<String>,
    /// The folder of newer lists; what changes in it is used without a restart.
    pub lists: Option<PathBuf>,
}

/// What became of hits.
#[derive(Debug, Default)]
pub struct Taken {
    /// Views that are on disk now.
    pub counted: u64,
    /// Places of those that were there before, by their id.
    pub duplicates: Vec<usize>,
    /// How many are older than the project keeps views.
    pub expired: u64,
    /// How many are no views, by the reason.
    pub left: BTreeMap<Left, u64>,
    /// Places of those that cannot be right.
    pub refused: Vec<(usize, Refusal)>,
}

#[boxed]
impl Views {
    /// Page views kept in `store`, judged by `lists`.
    pub fn new(
        store: Arc<dyn ViewStore>,
        clock: Arc<dyn Clock>,
        lists: Arc<Classifier>,
        settings: ViewsSettings,
        metrics: Metrics,
    ) -> Self {
        let readers = Readers::new(store.clone(), clock.clone(), settings.per_minute);
        Self {
            store,
            clock,
            readers,
            lists: RwLock::new(lists),
            judges: Mutex::default(),
            doubles: Doubles::new(settings.duplicate_window),
            nonces: Nonces::default(),
            networks: Networks::new(settings.per_network),
            settings,
            metrics,
            expired: ExpiredViews::default(),
            arrivals: Arrivals::default(),
        }
    }

    pub fn store(&self) -> &Arc<dyn ViewStore> {
        &self.store
    }

    /// Who answers questions about them.
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    pub fn settings(&self) -> &ViewsSettings {
        &self.settings
    }

    /// The list that readers are judged by.
    pub fn lists(&self) -> Arc<Classifier> {
        self.lists.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Judges by another list from now on.
    pub(crate) fn set_lists(&self, lists: Arc<Classifier>) {
        *self.lists.write().unwrap_or_else(PoisonError::into_inner) = lists;
    }

    /// Judges hits and keeps those that are views. When it answers, they are on disk.
    pub async fn take(&self, project: &ProjectId, hits: &[Hit<'_>]) -> Result<Taken, ViewsError> {
        let mut taken = Taken::default();
        let (mut views, mut places) = (Vec::with_capacity(hits.len()), Vec::with_capacity(hits.len()));
        let now = self.clock.now();
        let mut judge = self.judge();
        let mut spent = Vec::new();
        for (place, hit) in hits.iter().enumerate() {
            // A large batch must not hold up the questions of others.
            if place % AT_A_STRETCH == AT_A_STRETCH - 1 {
                tokio::task::yield_now().await;
            }
            let signed_by = self.signed_by(hit, judge.classifier(), now.as_millis().div_euclid(1000), &mut spent);
            match judge.judge_signed(hit, signed_by, now) {
                Outcome::View(view) => {
                    views.push(view);
                    places.push(place);
                }
                Outcome::Left(left) => *taken.left.entry(left).or_default() += 1,
                Outcome::Refused(refusal) => taken.refused.push((place, refusal)),
            }
        }
        self.hand_back(judge);
        if !views.is_empty() {
            let appended = self.append(Batch { project: project.to_string(), views, ..Batch::default() }).await;
            let appended = appended.inspect_err(|_| self.nonces.give_back(&spent))?;
            taken.counted = appended.counted;
            if taken.counted > 0 {
                self.arrivals.note(project);
            }
            let place = |at: &u32| places.get(*at as usize).copied();
            taken.duplicates = appended.duplicates.iter().filter_map(place).collect();
            let kept = taken.counted + appended.duplicates.len() as u64;
            taken.expired = (places.len() as u64).saturating_sub(kept);
        }
        self.tell(project, &taken);
        Ok(taken)
    }

    /// Who has signed a hit. Nobody, if that was seen before: somebody shows again what another has signed.
    fn signed_by(&self, hit: &Hit<'_>, lists: &Classifier, now: i64, spent: &mut Vec<Spent>) -> Option<String> {
        let signed = lists.signed_by(hit.signature.as_deref()?, hit.at)?;
        match self.nonces.spend(&signed, hit.at, now) {
            Ok(once) => {
                spent.extend(once);
                Some(signed.operator)
            }
            Err(why) => {
                tracing::debug!(?why, "a valid signature does not count");
                None
            }
        }
    }

    /// On its own, so that a client who goes away does not leave it half done.
    async fn append(&self, batch: Batch) -> Result<Appended, ViewsError> {
        let store = self.store.clone();
        let appending = tokio::spawn(async move { store.append(batch).await });
        appending.await.unwrap_or_else(|error| Err(ViewsError::Unsure(format!("the append broke down: {error}"))))
    }

    /// Waits until views of a project were kept of which this process had kept none.
    pub(crate) async fn news(&self) {
        self.arrivals.news().await;
    }

    /// Lets a network tell of a view without a key, or says in how many seconds it may.
    pub fn admit(&self, reader: Option<IpAddr>) -> Result<(), u64> {
        self.networks.admit(reader, self.clock.now()).inspect_err(|_| self.metrics.views("limited", 1))
    }

    fn tell(&self, project: &ProjectId, taken: &Taken) {
        let metrics = &self.metrics;
        if taken.expired > 0 {
            metrics.views("expired", taken.expired);
            // A server whose clock was wrong, or a sender whose is: somebody should look.
            self.expired.say(self.clock.uptime(), taken.expired, project);
        }
        metrics.views("counted", taken.counted);
        metrics.views("duplicate", taken.duplicates.len() as u64);
        metrics.views("refused", taken.refused.len() as u64);
        taken.left.iter().for_each(|(left, count)| metrics.views(left.as_str(), *count));
    }

    fn judge(&self) -> Judge {
        let lists = self.lists();
        let mut judges = self.judges.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(judge) = judges.pop() {
            if Arc::ptr_eq(judge.classifier(), &lists) {
                return judge;
            }
        }
        Judge::new(lists)
    }

    fn hand_back(&self, judge: Judge) {
        let mut judges = self.judges.lock().unwrap_or_else(PoisonError::into_inner);
        if judges.len() < JUDGES {
            judges.push(judge);
        }
    }
}
