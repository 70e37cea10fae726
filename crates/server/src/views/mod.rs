//! Page views as the server has them: where they are kept, by which list readers are judged, and what is remembered
//! between requests.

mod doubles;
mod frozen;
mod limiter;
mod proxies;
mod sites;
mod upkeep;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use aws_lc_rs::hmac;
use copydesk_domain::{Clock, Window};
use copydesk_views::classify::Classifier;
use copydesk_views::intake::{Judge, Left, Outcome, Refusal};
use copydesk_views::store::{ViewStore, ViewsError};
use copydesk_views::{Batch, Hit};

use crate::Metrics;
use crate::edge::no_way_back;
use crate::hex::hex;

pub(crate) use doubles::Doubles;
pub(crate) use frozen::{Frozen, FrozenKey};
pub(crate) use limiter::Limiter;
pub use proxies::{Network, Proxies};
pub(crate) use sites::{Site, Sites};
pub(crate) use upkeep::{Chores, forget_old};

/// Judges that wait for the next request at most; each remembers what it saw.
const JUDGES: usize = 4;

/// Hits that are judged before others have their turn.
const AT_A_STRETCH: usize = 250;

/// Page views.
pub struct Views {
    store: Arc<dyn ViewStore>,
    clock: Arc<dyn Clock>,
    lists: RwLock<Arc<Classifier>>,
    judges: Mutex<Vec<Judge>>,
    pub(crate) frozen: Frozen,
    pub(crate) limiter: Limiter,
    pub(crate) doubles: Doubles,
    pub(crate) sites: Sites,
    settings: ViewsSettings,
    metrics: OnceLock<Metrics>,
}

/// How page views are treated.
#[derive(Clone)]
pub struct ViewsSettings {
    /// Analytics requests of a key in a minute; 0 is off.
    pub per_minute: u32,
    /// A reader whose browser tells of the same page twice within this time has seen it once; zero is off.
    pub duplicate_window: Duration,
    /// Days that views are kept, unless the project says otherwise; 0: for ever.
    pub keep_days: u32,
    /// What the secrets of projects are made from; see [`Self::drain_secret`] and [`Self::hook_secret`].
    pub secret: [u8; 32],
    /// Who may say whom a request came from.
    pub proxies: Proxies,
    /// The folder of newer lists; what changes in it is used without a restart.
    pub lists: Option<PathBuf>,
}

impl ViewsSettings {
    /// The secret of a project's log drains: hex(HMAC-SHA256(secret, "drain:" + project)).
    pub fn drain_secret(&self, project: &str) -> String {
        drain_secret(&self.secret, project)
    }

    /// The secret of the webhooks that a project's code host sends, made likewise.
    pub fn hook_secret(&self, project: &str) -> String {
        hook_secret(&self.secret, project)
    }
}

/// The secret of a project's log drains, made from that of the installation.
pub fn drain_secret(secret: &[u8; 32], project: &str) -> String {
    derived(secret, "drain", project)
}

/// The secret of the webhooks that a project's code host sends, made from that of the installation.
pub fn hook_secret(secret: &[u8; 32], project: &str) -> String {
    derived(secret, "hook", project)
}

fn derived(secret: &[u8; 32], purpose: &str, project: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let tag = hmac::sign(&key, format!("{purpose}:{project}").as_bytes());
    hex(tag.as_ref())
}

impl fmt::Debug for ViewsSettings {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewsSettings")
            .field("per_minute", &self.per_minute)
            .field("duplicate_window", &self.duplicate_window)
            .field("keep_days", &self.keep_days)
            .field("proxies", &self.proxies)
            .finish_non_exhaustive()
    }
}

/// What became of hits.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Views that are on disk now.
    pub(crate) counted: u64,
    /// Places of those that were there before, by their id.
    pub(crate) duplicates: Vec<usize>,
    /// How many are no views, by the reason.
    pub(crate) left: BTreeMap<Left, u64>,
    /// Places of those that cannot be right.
    pub(crate) refused: Vec<(usize, Refusal)>,
}

impl Views {
    /// Page views kept in `store`, judged by `lists`.
    pub fn new(
        store: Arc<dyn ViewStore>,
        clock: Arc<dyn Clock>,
        lists: Arc<Classifier>,
        settings: ViewsSettings,
    ) -> Self {
        Self {
            store,
            clock,
            lists: RwLock::new(lists),
            judges: Mutex::default(),
            frozen: Frozen::default(),
            limiter: Limiter::new(Window { limit: settings.per_minute, period: Duration::from_secs(60) }),
            doubles: Doubles::new(settings.duplicate_window),
            sites: Sites::default(),
            settings,
            metrics: OnceLock::new(),
        }
    }

    /// Counts what it is told of there. Once.
    pub(crate) fn count_in(&self, metrics: Metrics) {
        let _ = self.metrics.set(metrics);
    }

    /// Where they are kept.
    pub fn store(&self) -> &Arc<dyn ViewStore> {
        &self.store
    }

    /// How they are treated.
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
    pub(crate) async fn take(&self, project: &str, hits: &[Hit<'_>]) -> Result<Taken, ViewsError> {
        let mut taken = Taken::default();
        let (mut views, mut places) = (Vec::with_capacity(hits.len()), Vec::with_capacity(hits.len()));
        let now = self.clock.now();
        let mut judge = self.judge();
        for (place, hit) in hits.iter().enumerate() {
            // A large batch must not hold up the questions of others.
            if place % AT_A_STRETCH == AT_A_STRETCH - 1 {
                tokio::task::yield_now().await;
            }
            match judge.judge(hit, now) {
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
            no_way_back();
            let appended = self.store.append(Batch { project: project.to_owned(), views, mark: None }).await?;
            taken.counted = appended.counted;
            let place = |at: &u32| places.get(*at as usize).copied();
            taken.duplicates = appended.duplicates.iter().filter_map(place).collect();
        }
        self.tell(&taken);
        Ok(taken)
    }

    fn tell(&self, taken: &Taken) {
        let Some(metrics) = self.metrics.get() else { return };
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
