//! What is in memory of a project: the views that are in the log and not yet in a segment.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_views::store::parts::{COLUMNS, Sums, column};
use copydesk_views::{Bucket, Channel, Client, Mark, Stretch};

use super::files::Paths;
use super::record::Entry;

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) paths: Vec<Arc<str>>,
    path_places: HashMap<Arc<str>, u32>,
    pub(super) clients: Vec<Arc<Client>>,
    client_places: HashMap<Arc<Client>, u32>,
    columns: Vec<Option<usize>>,
    cells: Vec<Cell>,
    cell_places: HashMap<(u32, u32, u32), u32, BuildHasherDefault<Mixed>>,
    /// By quarter hour: its cells, and what they add up to.
    buckets: BTreeMap<u32, Quarter>,
    totals: Vec<Sums>,
    /// When ids arrived.
    pub(super) ids: Ids,
    /// In the order of their arrival.
    pub(super) marks: Vec<Mark>,
    /// Lines of logs, in the order of their arrival.
    pub(super) lines: Vec<Stretch>,
    pub(super) script_since: Option<Bucket>,
    pub(super) server_since: Option<Bucket>,
    /// The records that it is made of; none if there are none.
    pub(super) records: Option<(u64, u64)>,
    /// What these take of the log.
    pub(super) logged: u64,
    bytes: usize,
    placed: Mutex<Placed>,
}

/// Where paths are in a list of paths.
#[derive(Debug, Default)]
struct Placed {
    generation: u64,
    places: Arc<Vec<u32>>,
}

/// Ids and when they arrived, in seconds since 1970. In many small maps, because a large one that grows holds up
/// everybody for as long as it takes to move a million of them.
#[derive(Debug, Default)]
pub(super) struct Ids(Vec<HashMap<u128, u32>>);

impl Ids {
    const MAPS: usize = 64;

    /// Returns about how many bytes more it takes.
    fn insert(&mut self, id: u128, arrived: u32) -> usize {
        let mut bytes = 48;
        if self.0.is_empty() {
            self.0.resize_with(Self::MAPS, HashMap::new);
            bytes += Self::MAPS * size_of::<HashMap<u128, u32>>();
        }
        self.0[(id % Self::MAPS as u128) as usize].insert(id, arrived);
        bytes
    }

    /// When an id arrived.
    pub(super) fn get(&self, id: u128) -> Option<u32> {
        self.0.get((id % Self::MAPS as u128) as usize)?.get(&id).copied()
    }

    /// All of them, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u128, u32)> {
        self.0.iter().flatten().map(|(id, arrived)| (*id, *arrived))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) bucket: Bucket,
    pub(super) path: u32,
    pub(super) client: u32,
    pub(super) count: u64,
}

#[derive(Debug, Default)]
struct Quarter {
    cells: Vec<u32>,
    sums: Sums,
}

impl Table {
    /// Counts the views of a record, which takes so many bytes of the log.
    pub(super) fn apply(&mut self, record: u64, entry: &Entry, logged: u64) {
        // A page or reader of the record that no view is left of must not come in.
        let (mut paths, mut clients) = (vec![u32::MAX; entry.paths.len()], vec![u32::MAX; entry.clients.len()]);
        for view in &entry.views {
            let (Some(path), Some(client)) = (paths.get_mut(view.path as usize), clients.get_mut(view.client as usize))
            else {
                continue;
            };
            if *path == u32::MAX {
                *path = self.path(&entry.paths[view.path as usize]);
            }
            if *client == u32::MAX {
                *client = self.client(&entry.clients[view.client as usize]);
            }
            self.add(view.bucket, *path, *client, u64::from(view.count));
            if let Some(id) = view.id {
                self.bytes += self.ids.insert(id, entry.arrived);
            }
        }
        if let Some(mark) = &entry.mark {
            self.bytes += 200 + mark.log.len() + mark.digest.len() * 2;
            self.marks.push(mark.clone());
        }
        for stretch in &entry.lines {
            self.bytes += 100 + stretch.prints.len() * 2;
            stretch.clone().join(&mut self.lines);
        }
        self.records = Some((self.records.map_or(record, |(first, _)| first), record));
        self.logged += logged;
    }

    fn path(&mut self, path: &Arc<str>) -> u32 {
        if let Some(place) = self.path_places.get(path) {
            return *place;
        }
        let place = u32::try_from(self.paths.len()).unwrap_or(u32::MAX);
        self.paths.push(Arc::clone(path));
        self.path_places.insert(Arc::clone(path), place);
        self.totals.push([0; COLUMNS]);
        self.bytes += path.len() + 120;
        place
    }

    fn client(&mut self, client: &Arc<Client>) -> u32 {
        if let Some(place) = self.client_places.get(client) {
            return *place;
        }
        let place = u32::try_from(self.clients.len()).unwrap_or(u32::MAX);
        self.clients.push(Arc::clone(client));
        self.client_places.insert(Arc::clone(client), place);
        self.columns.push(column(client));
        self.bytes += client.facts.user_agent.len() + client.verdict.rule.len() + 320;
        place
    }

    fn add(&mut self, bucket: Bucket, path: u32, client: u32, count: u64) {
        let since = match self.clients.get(client as usize).and_then(|client| client.opens()) {
            Some(Channel::Script) => Some(&mut self.script_since),
            Some(Channel::Server) => Some(&mut self.server_since),
            None => None,
        };
        if let Some(since) = since {
            *since = Some(since.map_or(bucket, |since| since.min(bucket)));
        }
        let next = u32::try_from(self.cells.len()).unwrap_or(u32::MAX);
        let place = *self.cell_places.entry((bucket.0, path, client)).or_insert(next);
        let quarter = self.buckets.entry(bucket.0).or_insert_with(|| {
            self.bytes += 120;
            Quarter::default()
        });
        if place == next {
            self.cells.push(Cell { bucket, path, client, count: 0 });
            quarter.cells.push(place);
            self.bytes += 64;
        }
        if let Some(cell) = self.cells.get_mut(place as usize) {
            cell.count += count;
        }
        if let Some(column) = self.columns.get(client as usize).copied().flatten() {
            quarter.sums[column] += count;
            self.totals[path as usize][column] += count;
        }
    }

    /// Whether no record went into it.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_none()
    }

    pub(super) fn cell_count(&self) -> usize {
        self.cells.len()
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        // A little for the table itself, so that thousands of small ones are seen.
        if self.is_empty() { 0 } else { self.bytes + 1024 }
    }

    /// Where its paths are in a list; [`u32::MAX`] for those that are not. Looked up once each.
    pub(super) fn places(&self, paths: &Paths) -> Arc<Vec<u32>> {
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        if placed.generation != paths.generation {
            *placed = Placed { generation: paths.generation, places: Arc::default() };
        }
        if placed.places.len() < self.paths.len() {
            let known = placed.places.len();
            let places = Arc::make_mut(&mut placed.places);
            places.extend(self.paths[known..].iter().map(|path| paths.find(path).unwrap_or(u32::MAX)));
        }
        Arc::clone(&placed.places)
    }

    pub(super) fn place_of(&self, path: &str) -> Option<u32> {
        self.path_places.get(path).copied()
    }

    /// All cells from a quarter hour on, in no order.
    pub(super) fn cells_from(&self, floor: Bucket) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.bucket >= floor)
    }

    /// The cells between two quarter hours.
    pub(super) fn cells_between(&self, from: Bucket, to: Bucket) -> impl Iterator<Item = &Cell> {
        let quarters = (from < to).then(|| self.buckets.range(from.0..to.0));
        let places = quarters.into_iter().flatten().flat_map(|(_, quarter)| &quarter.cells);
        places.filter_map(|place| self.cells.get(*place as usize))
    }

    /// Tells what each path has between two quarter hours; a path may come several times, and some of what comes is to be
    /// taken away again: what is outside is often less than what is inside.
    pub(super) fn between(&self, from: Bucket, to: Bucket, mut tell: impl FnMut(u32, usize, Change)) {
        if from >= to {
            return;
        }
        let inside = self.buckets.range(from.0..to.0).take(self.buckets.len() / 2 + 1).count();
        if inside * 2 <= self.buckets.len() {
            return self.tell(self.cells_between(from, to), |path, column, count| {
                tell(path, column, Change::More(count));
            });
        }
        for (path, sums) in self.totals.iter().enumerate() {
            for (column, sum) in sums.iter().enumerate().filter(|(_, sum)| **sum > 0) {
                tell(path as u32, column, Change::More(*sum));
            }
        }
        let outside = self.cells_between(Bucket::MIN, from).chain(self.cells_between(to, Bucket::MAX));
        self.tell(outside, |path, column, count| tell(path, column, Change::Less(count)));
    }

    fn tell<'a>(&self, cells: impl Iterator<Item = &'a Cell>, mut tell: impl FnMut(u32, usize, u64)) {
        for cell in cells {
            if let Some(column) = self.columns.get(cell.client as usize).copied().flatten() {
                tell(cell.path, column, cell.count);
            }
        }
    }

    /// What the site has between two quarter hours.
    pub(super) fn site_between(&self, from: Bucket, to: Bucket) -> Sums {
        let mut sums = [0; COLUMNS];
        if from < to {
            for (_, quarter) in self.buckets.range(from.0..to.0) {
                add(&mut sums, &quarter.sums);
            }
        }
        sums
    }

    /// What a path has in each quarter hour, in no order.
    pub(super) fn path_cells(&self, path: &str) -> Vec<(Bucket, usize, u64)> {
        let Some(path) = self.place_of(path) else { return Vec::new() };
        let of_path = self.cells.iter().filter(|cell| cell.path == path);
        let counted = |cell: &Cell| {
            let column = self.columns.get(cell.client as usize).copied().flatten()?;
            Some((cell.bucket, column, cell.count))
        };
        of_path.filter_map(counted).collect()
    }
}

/// More, or less after all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    More(u64),
    Less(u64),
}

pub(super) fn add(sums: &mut Sums, more: &Sums) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// A quick hash for numbers that nobody outside chooses: a multiplication and a fold for each.
#[derive(Default)]
pub(super) struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, value: u32) {
        let product = u128::from(self.0 ^ u64::from(value)) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(0x2545_f491_4f6c_dd1d);
    }
}
