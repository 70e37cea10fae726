//! How many pages and kinds of readers a project has on one day. Anybody can make more without end; beyond a bound they
//! are counted together, under one name, so that figures stay exact and what is kept stays small.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_views::Bucket;
use copydesk_views::page::OTHER_PAGES;

use super::record::Entry;

/// Pages and readers that are remembered, of all days and projects together: about 50 MB.
const REMEMBERED: usize = 2_000_000;

/// The bounds of a project and day; 0 is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct CrowdBounds {
    pub(super) pages: usize,
    pub(super) readers: usize,
}

/// What was seen on each day, as digests under a secret that is drawn at every start. After a start a day begins anew.
pub(super) struct Crowd {
    bounds: CrowdBounds,
    secret: RandomState,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    days: HashMap<(Arc<str>, u32), Day>,
    remembered: usize,
    tick: u64,
}

#[derive(Default)]
struct Day {
    pages: HashSet<u64>,
    readers: HashSet<u64>,
    used: u64,
    is_told: bool,
}

impl Day {
    fn len(&self) -> usize {
        self.pages.len() + self.readers.len()
    }
}

impl Crowd {
    pub(super) fn new(bounds: CrowdBounds) -> Self {
        Self { bounds, secret: RandomState::new(), seen: Mutex::default() }
    }

    /// The entry with its pages and readers within the bounds of their days.
    pub(super) fn bounded(&self, entry: Entry) -> Entry {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut pages, mut readers) = (vec![None; entry.paths.len()], vec![None; entry.clients.len()]);
        let mut too_many: Vec<(usize, bool, bool)> = Vec::new();
        for (place, view) in entry.views.iter().enumerate() {
            let day = view.bucket.0 / Bucket::A_DAY;
            let (Some(page), Some(reader)) = (pages.get_mut(view.path as usize), readers.get_mut(view.client as usize))
            else {
                continue;
            };
            // Most views of a batch are of one day, and then a page of it is looked for once.
            let page_fits = fitting(page, day, || {
                let path = &*entry.paths[view.path as usize];
                path == OTHER_PAGES || self.fits(&mut seen, &entry.project, day, Kind::Page, self.secret.hash_one(path))
            });
            let reader_fits = fitting(reader, day, || {
                let client = &entry.clients[view.client as usize];
                let digest = self.secret.hash_one(client);
                client.is_others() || self.fits(&mut seen, &entry.project, day, Kind::Reader, digest)
            });
            if !page_fits || !reader_fits {
                too_many.push((place, page_fits, reader_fits));
            }
        }
        seen.forget_old();
        drop(seen);
        if too_many.is_empty() { entry } else { together(entry, &too_many) }
    }

    fn fits(&self, seen: &mut Seen, project: &Arc<str>, day: u32, kind: Kind, digest: u64) -> bool {
        seen.tick += 1;
        let tick = seen.tick;
        let today = seen.days.entry((Arc::clone(project), day)).or_default();
        today.used = tick;
        let (set, most) = match kind {
            Kind::Page => (&mut today.pages, self.bounds.pages),
            Kind::Reader => (&mut today.readers, self.bounds.readers),
        };
        if most == 0 || set.contains(&digest) {
            return true;
        }
        if set.len() < most {
            set.insert(digest);
            seen.remembered += 1;
            return true;
        }
        if !std::mem::replace(&mut today.is_told, true) {
            tracing::warn!(%project, most, ?kind, "too many a day; the rest of this day is counted under one name");
        }
        false
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Page,
    Reader,
}

impl Seen {
    fn forget_old(&mut self) {
        while self.remembered > REMEMBERED {
            let oldest = self.days.iter().min_by_key(|(_, day)| day.used).map(|(key, _)| key.clone());
            let Some(day) = oldest.and_then(|key| self.days.remove(&key)) else { return };
            self.remembered -= day.len();
        }
    }
}

/// What was found for a day, or is found now.
fn fitting(known: &mut Option<(u32, bool)>, day: u32, find: impl FnOnce() -> bool) -> bool {
    match *known {
        Some((of, fits)) if of == day => fits,
        _ => known.insert((day, find())).1,
    }
}

/// The entry with these views under the names for many.
fn together(entry: Entry, too_many: &[(usize, bool, bool)]) -> Entry {
    let arrived = entry.arrived;
    let mut batch = entry.into_batch();
    let pages: Arc<str> = OTHER_PAGES.into();
    let mut others = HashMap::new();
    for (place, page_fits, reader_fits) in too_many {
        let Some(view) = batch.views.get_mut(*place) else { continue };
        if !page_fits {
            view.path = Arc::clone(&pages);
        }
        if !reader_fits {
            let other = view.client.among_others();
            view.client = Arc::clone(others.entry(other.clone()).or_insert_with(|| Arc::new(other)));
        }
    }
    Entry::new(batch, arrived)
}
