//! How many pages and kinds of readers a project has on one day. Anybody can make more without end; beyond a bound they
//! are counted together, under one name, so that figures stay exact and what is kept stays small.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use crate::page::OTHER_PAGES;
use crate::{Bucket, Client};

/// Pages and readers that are remembered, of all days and projects together: about 50 MB.
const REMEMBERED: usize = 2_000_000;

/// The bounds of a project and day; 0 is none.
#[derive(Debug, Clone, Copy)]
pub struct CrowdBounds {
    pub pages: usize,
    pub readers: usize,
}

/// What was seen on each day, as digests under a secret that is drawn at every start. After a start a day begins anew.
pub struct Crowd {
    bounds: CrowdBounds,
    secret: RandomState,
    seen: Mutex<Seen>,
}

/// A view whose page, or reader, or both, are to be counted under the name for many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// Which of the views it is.
    pub place: usize,
    pub page: bool,
    pub reader: bool,
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
    pub fn new(bounds: CrowdBounds) -> Self {
        Self { bounds, secret: RandomState::new(), seen: Mutex::default() }
    }

    /// The views (quarter hour, place of the page, place of the reader) that are beyond the bounds of their days.
    pub fn too_many(
        &self,
        project: &Arc<str>,
        paths: &[Arc<str>],
        clients: &[Arc<Client>],
        views: impl Iterator<Item = (Bucket, u32, u32)>,
    ) -> Vec<TooMany> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut pages, mut readers) = (vec![None; paths.len()], vec![None; clients.len()]);
        let mut too_many = Vec::new();
        for (place, (bucket, path, client)) in views.enumerate() {
            let day = bucket.0 / Bucket::A_DAY;
            let (Some(page), Some(reader)) = (pages.get_mut(path as usize), readers.get_mut(client as usize)) else {
                continue;
            };
            // Most views of a batch are of one day, and then a page of it is looked for once.
            let page_fits = fitting(page, day, || {
                let path = &*paths[path as usize];
                path == OTHER_PAGES || self.fits(&mut seen, project, day, Kind::Page, self.secret.hash_one(path))
            });
            let reader_fits = fitting(reader, day, || {
                let client = &clients[client as usize];
                let digest = self.secret.hash_one(client);
                client.is_others() || self.fits(&mut seen, project, day, Kind::Reader, digest)
            });
            if !page_fits || !reader_fits {
                too_many.push(TooMany { place, page: !page_fits, reader: !reader_fits });
            }
        }
        seen.forget_old();
        too_many
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
