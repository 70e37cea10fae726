//! Cells as a list that is looked through for every question, and how lists are made up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copydesk_views::{Bucket, Channel, Class, Client, CountsAs, Evidence, Facts, Network, Verdict};
use proptest::prelude::*;

use super::super::{COLUMNS, Gather, Segment, SegmentError, Sums, column, write};

/// A client that is known by its name.
pub(super) fn client(name: &str, class: Class, evidence: Evidence, channel: Channel) -> Arc<Client> {
    Arc::new(Client {
        facts: Facts {
            user_agent: name.to_owned(),
            markdown: class == Class::MarkdownFetch,
            network: Network::Unknown,
            signed_by: None,
            channel,
        },
        verdict: Verdict { class, agent: Some(name.to_owned()), evidence, rule: format!("token:{name}") },
    })
}

/// Clients of every column, and some of none.
pub(super) fn clients() -> Vec<Arc<Client>> {
    use Channel::{Script, Server};
    vec![
        client("Firefox", Class::Human, Evidence::Browser, Script),
        client("Chrome", Class::Human, Evidence::Browser, Script),
        client("Safari", Class::Human, Evidence::Browser, Server),
        client("ChatGPT-User", Class::Assistant, Evidence::Network, Server),
        client("ChatGPT-User", Class::Assistant, Evidence::Spoofed, Server),
        client("Claude-User", Class::Assistant, Evidence::Token, Script),
        client("Claude-Code", Class::CodingAgent, Evidence::Token, Server),
        client("GPTBot", Class::TrainingCrawler, Evidence::Token, Server),
        client("curl", Class::Library, Evidence::Library, Server),
    ]
}

pub(super) type Cell = (Bucket, Arc<str>, Arc<Client>, u64);

/// The naive model.
#[derive(Debug, Clone, Default)]
pub(super) struct Model(pub(super) Vec<Cell>);

impl Model {
    pub(super) fn path_between(&self, path: &str, from: Bucket, to: Bucket) -> Sums {
        self.sums(|cell| &*cell.1 == path && from <= cell.0 && cell.0 < to)
    }

    pub(super) fn site_before(&self, to: Bucket) -> Sums {
        self.sums(|cell| cell.0 < to)
    }

    pub(super) fn machines_between(&self, from: Bucket, to: Bucket) -> BTreeMap<(Arc<str>, Arc<Client>), u64> {
        let mut views = BTreeMap::new();
        let machines = self.0.iter().filter(|cell| cell.2.verdict.counts_as() != CountsAs::Human);
        for (_, path, client, count) in machines.filter(|cell| from <= cell.0 && cell.0 < to) {
            *views.entry((Arc::clone(path), Arc::clone(client))).or_default() += count;
        }
        views
    }

    pub(super) fn cells(&self) -> BTreeMap<(Bucket, Arc<str>, Arc<Client>), u64> {
        let mut cells = BTreeMap::new();
        for (bucket, path, client, count) in &self.0 {
            *cells.entry((*bucket, Arc::clone(path), Arc::clone(client))).or_default() += count;
        }
        cells
    }

    pub(super) fn clients(&self) -> BTreeMap<Arc<Client>, u64> {
        let mut totals = BTreeMap::new();
        self.0.iter().for_each(|(_, _, client, count)| *totals.entry(Arc::clone(client)).or_default() += count);
        totals
    }

    pub(super) fn paths(&self) -> Vec<Arc<str>> {
        let mut paths: Vec<Arc<str>> = self.0.iter().map(|cell| Arc::clone(&cell.1)).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Buckets at which an answer may change, and some beside and beyond them.
    pub(super) fn edges(&self) -> Vec<Bucket> {
        let near = self.0.iter().flat_map(|cell| [cell.0, Bucket(cell.0.0 + 1), Bucket(cell.0.0 / 96 * 96)]);
        let mut edges: Vec<Bucket> = near.chain([Bucket::MIN, Bucket::MAX]).collect();
        edges.sort();
        edges.dedup();
        edges
    }

    pub(super) fn write(&self, file: &Path) -> Segment {
        let info = write(file, self.0.iter().cloned()).unwrap().expect("there are cells");
        let segment = Segment::open(file).unwrap();
        assert_eq!(*segment.info(), info);
        segment
    }

    fn sums(&self, is_in: impl Fn(&Cell) -> bool) -> Sums {
        let mut sums = [0; COLUMNS];
        for cell in self.0.iter().filter(|cell| is_in(cell)) {
            if let Some(column) = column(&cell.2) {
                sums[column] += cell.3;
            }
        }
        sums
    }
}

/// Views of each path, in columns. A column that is empty is all zero.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) columns: [Vec<u64>; COLUMNS],
}

impl Gather for Table {
    fn column(&mut self, column: usize, views: impl Iterator<Item = u64>) {
        self.columns[column] = views.collect();
    }
}

/// Views of each path in all columns.
pub(super) fn between(segment: &Segment, from: Bucket, to: Bucket) -> Result<Table, SegmentError> {
    let mut table = Table::default();
    segment.between(from, to, [true; COLUMNS], &mut table)?;
    Ok(table)
}

/// The figures of a path in a table.
pub(super) fn row(table: &Table, path: usize) -> Sums {
    std::array::from_fn(|column| table.columns[column].get(path).copied().unwrap_or(0))
}

/// What a segment has, in the form of [`Model::cells`].
pub(super) fn cells_of(segment: &Segment) -> BTreeMap<(Bucket, Arc<str>, Arc<Client>), u64> {
    let (paths, clients, pairs) = (segment.paths().unwrap(), segment.clients().unwrap(), segment.pairs().unwrap());
    let mut last = None;
    let mut cells = BTreeMap::new();
    for cell in segment.cells().unwrap() {
        let (bucket, pair, count) = cell.unwrap();
        assert!(last < Some((bucket, pair)), "cells are in order");
        last = Some((bucket, pair));
        let (path, client) = pairs.all()[pair as usize];
        let key = (bucket, Arc::clone(&paths[path as usize]), Arc::clone(&clients[client as usize]));
        assert_eq!(cells.insert(key, count), None);
    }
    cells
}

/// Which paths, clients, buckets and counts cells are made of.
fn cells(paths: usize, buckets: u32, most: u64, length: usize) -> impl Strategy<Value = Vec<Cell>> {
    let (names, clients) = (path_names(paths), clients());
    let cell = (0..buckets, 0..paths, 0..clients.len(), 1..=most);
    let cell = cell.prop_map(move |(bucket, path, client, count)| {
        (Bucket(1_800_000 + bucket), Arc::clone(&names[path]), Arc::clone(&clients[client]), count)
    });
    proptest::collection::vec(cell, 1..length)
}

pub(super) fn path_names(count: usize) -> Vec<Arc<str>> {
    let name = |number: usize| match number {
        0 => "/".to_owned(),
        1 => "/é/ü".to_owned(),
        _ => format!("/guide/{}/page-{number}", number % 7),
    };
    (0..count).map(|number| name(number).into()).collect()
}

/// Lists of cells: few and many, close together and far apart, of small and of very large counts, of some clients only.
pub(super) fn models() -> impl Strategy<Value = Model> {
    let any_cells = prop_oneof![
        cells(1, 3, 2, 3),
        cells(5, 400, 9, 60),
        cells(4, 30_000, 9, 60),
        cells(3, 500, u64::from(u32::MAX) / 2, 60),
        cells(2500, 20, 5, 60),
        cells(7, 300, 3, 3000),
    ];
    (any_cells, any::<u16>()).prop_map(|(mut cells, kept)| {
        let all = clients();
        // Leaving clients out leaves columns out.
        let is_kept = |cell: &Cell| all.iter().position(|other| *other == cell.2).is_some_and(|at| kept >> at & 1 == 1);
        if cells.iter().any(is_kept) {
            cells.retain(is_kept);
        }
        Model(cells)
    })
}

/// A folder that goes away, and a file in it.
pub(super) fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("1.seg");
    (folder, file)
}
