//! Page views on their way from one place to another: what is said of a move in each place, and the pieces that travel.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::ViewsError;
use super::floor::FloorState;
use crate::{Bucket, Client, Mark, Stretch};

/// How far a move is, as one of the two places has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveState {
    /// Views are copied from here, and all is as ever.
    Copying,
    /// Nothing is counted or changed here any more.
    Closed,
    /// All views are at the other place.
    Moved,
    /// Views come in here, and nobody else uses the place.
    Arriving,
    /// All views have come.
    Arrived,
}

/// What a place has written down of a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveNote {
    pub state: MoveState,
    /// The same in both places, and made anew for every move.
    pub move_id: String,
    /// Which place it was written in, so that it means nothing in a copy.
    pub here: String,
    /// The other place, in words.
    pub there: String,
    /// The move that has brought the views here before this one.
    pub came_by: Option<String>,
}

impl MoveNote {
    /// Whether the place may neither count nor change anything.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, MoveState::Closed | MoveState::Moved)
    }

    /// What keeps everybody from using the place, if something does.
    pub fn obstacle(&self) -> Option<ViewsError> {
        let there = &self.there;
        match self.state {
            MoveState::Moved => Some(ViewsError::Moved(format!(
                "the page views were moved from here to {there}; set views.store, and database_url if need be, to that place"
            ))),
            MoveState::Arriving => Some(ViewsError::Moved(format!(
                "`copydesk move` of page views from {there} has not ended yet; run it again, and it goes on"
            ))),
            _ => None,
        }
    }
}

/// What is said to whoever counts or changes something in a place that is being left.
pub fn closed() -> ViewsError {
    ViewsError::Moved(
        "The page views are moving to another place, or have moved: nothing is counted here any more".to_owned(),
    )
}

/// The pages and readers of a project, each once; cells name them by their places.
#[derive(Debug, Default)]
pub struct Names {
    pub paths: Vec<Arc<str>>,
    pub clients: Vec<Arc<Client>>,
    hashes: (Vec<u64>, Vec<u64>),
}

impl Names {
    pub fn new(paths: Vec<Arc<str>>, clients: Vec<Arc<Client>>) -> Result<Self, ViewsError> {
        let of_paths = paths.iter().map(|path| xxh3_64(path.as_bytes())).collect();
        let of_client = |client: &Arc<Client>| serde_json::to_vec(client).map(|text| xxh3_64(&text));
        let of_clients = clients.iter().map(of_client).collect::<Result<_, _>>();
        let unwritable = |error: serde_json::Error| ViewsError::Unavailable(error.to_string());
        Ok(Self { paths, clients, hashes: (of_paths, of_clients.map_err(unwritable)?) })
    }
}

/// Views of a page by a kind of reader in a quarter hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub bucket: Bucket,
    pub path: u32,
    pub client: u32,
    pub count: u64,
}

/// All cells of a day, in order and each once.
#[derive(Debug)]
pub struct Day {
    /// Since 1970, UTC.
    pub day: u32,
    pub cells: Vec<Cell>,
    pub views: u64,
    /// The same for the same views, whoever counts them and in whatever order they come.
    pub digest: u128,
}

impl Day {
    pub fn new(day: u32, mut cells: Vec<Cell>, names: &Names) -> Self {
        cells.sort_unstable();
        cells.dedup_by(|next, cell| {
            let is_same = (next.bucket, next.path, next.client) == (cell.bucket, cell.path, cell.client);
            if is_same {
                cell.count += next.count;
            }
            is_same
        });
        let (mut digest, mut views) = (0_u128, 0);
        for cell in &cells {
            let hash = |hashes: &[u64], at: u32| hashes.get(at as usize).copied().unwrap_or(0).to_le_bytes();
            let mut bytes = [0; 28];
            bytes[..4].copy_from_slice(&cell.bucket.0.to_le_bytes());
            bytes[4..12].copy_from_slice(&hash(&names.hashes.0, cell.path));
            bytes[12..20].copy_from_slice(&hash(&names.hashes.1, cell.client));
            bytes[20..].copy_from_slice(&cell.count.to_le_bytes());
            digest = digest.wrapping_add(xxh3_128(&bytes));
            views += cell.count;
        }
        Self { day, cells, views, digest }
    }
}

/// What a project has beside what is counted.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub script_since: Option<Bucket>,
    pub server_since: Option<Bucket>,
    pub floor: FloorState,
    /// In the order in which they were written.
    pub marks: Vec<Mark>,
    /// Lines of logs that were counted, in that order.
    pub lines: Vec<Stretch>,
}

/// What travels. The pieces of a project come one after the other: its names, its days in order, its ids, the rest.
#[derive(Debug)]
pub enum Piece {
    Project {
        name: String,
        names: Arc<Names>,
    },
    Day(Day),
    /// Ids of events and when they arrived, in seconds since 1970.
    Ids(Vec<(u128, u32)>),
    /// The project is complete.
    About(About),
    /// There are no more projects.
    End,
}
