//! The words of a segment: its paths, its clients, and which client read which path.

use std::sync::Arc;

use copydesk_views::Client;

use super::codec::{Input, put_varint};
use super::{column, is_machine};

/// Each path: how much of the one before it begins it, and the rest.
pub(super) fn encode_paths(paths: &[Arc<str>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut before: &[u8] = &[];
    for path in paths {
        let path = path.as_bytes();
        let shared = before.iter().zip(path).take_while(|(a, b)| a == b).count();
        put_varint(&mut out, shared as u64);
        put_varint(&mut out, (path.len() - shared) as u64);
        out.extend_from_slice(&path[shared..]);
        before = path;
    }
    out
}

pub(super) fn decode_paths(bytes: &[u8], expected: u32) -> Option<Vec<Arc<str>>> {
    let mut input = Input(bytes);
    let mut paths: Vec<Arc<str>> = Vec::with_capacity(bytes.len().min(expected as usize));
    let mut path = Vec::new();
    while !input.is_empty() {
        let shared = usize::try_from(input.varint()?).ok()?;
        let length = usize::try_from(input.varint()?).ok()?;
        if shared > path.len() {
            return None;
        }
        path.truncate(shared);
        path.extend_from_slice(input.take(length)?);
        paths.push(Arc::from(str::from_utf8(&path).ok()?));
    }
    (paths.len() == expected as usize && paths.is_sorted_by(|a, b| a < b)).then_some(paths)
}

pub(super) fn encode_clients(clients: &[Arc<Client>]) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&clients.iter().map(AsRef::as_ref).collect::<Vec<&Client>>())
}

pub(super) fn decode_clients(bytes: &[u8], expected: u32) -> Option<Vec<Arc<Client>>> {
    let clients: Vec<Client> = serde_json::from_slice(bytes).ok()?;
    let sound = clients.len() == expected as usize && clients.is_sorted_by(|a, b| a < b);
    sound.then(|| clients.into_iter().map(Arc::new).collect())
}

/// Which client read which path: what cells count. A cell's pair is a place in here. First come those of people, then
/// those of machines, each sorted by path and client.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pairs {
    all: Vec<(u32, u32)>,
    people: u32,
}

impl Pairs {
    /// Sorts `pairs`, which are sorted by path and client, people first; and tells the new place of each.
    pub(super) fn arrange(pairs: &[(u32, u32)], clients: &[Arc<Client>]) -> (Self, Vec<u32>) {
        let machine: Vec<bool> = clients.iter().map(|client| is_machine(client)).collect();
        let is_machine = |&&(_, client): &&(u32, u32)| machine[client as usize];
        let people = pairs.iter().filter(|pair| !is_machine(pair)).count() as u32;
        let (mut person, mut other) = (0, people);
        let place = |pair: &(u32, u32)| {
            let next = if is_machine(&pair) { &mut other } else { &mut person };
            *next += 1;
            *next - 1
        };
        let places = pairs.iter().map(place).collect();
        let mut all = Vec::with_capacity(pairs.len());
        all.extend(pairs.iter().filter(|pair| !is_machine(pair)));
        all.extend(pairs.iter().filter(is_machine));
        (Self { all, people }, places)
    }

    /// Path and client of every pair.
    pub(crate) fn all(&self) -> &[(u32, u32)] {
        &self.all
    }

    pub(super) fn people(&self) -> u32 {
        self.people
    }

    pub(super) fn machines(&self) -> &[(u32, u32)] {
        &self.all[self.people as usize..]
    }

    /// The places of a path's pairs, among people and among machines; the latter counted from the first machine.
    pub(super) fn of_path(&self, path: u32) -> [std::ops::Range<u32>; 2] {
        let (people, machines) = self.all.split_at(self.people as usize);
        [people, machines].map(|pairs| {
            let begin = pairs.partition_point(|pair| pair.0 < path);
            let end = pairs.partition_point(|pair| pair.0 <= path);
            begin as u32..end as u32
        })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for pairs in [&self.all[..self.people as usize], self.machines()] {
            let mut before = (0, 0);
            for &(path, client) in pairs {
                // Another path: the step, then the client. The same path: 0, then the step of the client.
                put_varint(&mut out, u64::from(path - before.0));
                put_varint(&mut out, u64::from(if path == before.0 { client - before.1 } else { client }));
                before = (path, client);
            }
        }
        out
    }

    /// Reads pairs of these many people and machines, paths and clients.
    pub(super) fn decode(bytes: &[u8], people: u32, machines: u32, paths: u32, clients: u32) -> Option<Self> {
        let expected = people as usize + machines as usize;
        if expected > bytes.len() {
            return None;
        }
        let mut input = Input(bytes);
        let mut all = Vec::with_capacity(expected);
        for count in [people, machines] {
            let mut before = (0_u32, 0_u32);
            for _ in 0..count {
                let (step, client) = (input.varint32()?, input.varint32()?);
                let path = before.0.checked_add(step)?;
                let client = if step == 0 { before.1.checked_add(client)? } else { client };
                if path >= paths || client >= clients {
                    return None;
                }
                before = (path, client);
                all.push(before);
            }
        }
        input.is_empty().then_some(Self { all, people })
    }
}

/// Where the figures of each client go in a table of columns, as the place of path 0; beyond all for those that are in
/// no column.
pub(super) fn bases(clients: &[Arc<Client>], columns: super::format::Columns, paths: usize) -> Vec<usize> {
    let place = |client: &Arc<Client>| column(client).and_then(|column| columns.place(column));
    clients.iter().map(|client| place(client).map_or(usize::MAX / 2, |place| place * paths)).collect()
}
