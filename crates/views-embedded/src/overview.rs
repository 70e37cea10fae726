//! Answers that are asked for now and then: which readers there are, what a project has.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::sync::Arc;

use copydesk_views::store::{Status, ViewsError};
use copydesk_views::{Bucket, Client, CountedLines, Mark, Stretch};

use super::answers::at_one_moment;
use super::lines;
use super::manifest::{add_mark, lines_file};
use super::project::Project;
use super::shared::{Shared, unavailable};
use super::table::Table;
use crate::segment::{Segment, SegmentError};

pub(super) fn clients(project: &Project) -> Result<Vec<(Arc<Client>, u64)>, SegmentError> {
    let add_table = |table: &Table, floor: Bucket, totals: &mut HashMap<Arc<Client>, u64>| {
        for cell in table.cells_from(floor) {
            if let Some(client) = table.clients.get(cell.client as usize) {
                *totals.entry(Arc::clone(client)).or_default() += cell.count;
            }
        }
    };
    let (files, (floor, frozen, mut totals)) = at_one_moment(project, |_, state| {
        let mut totals = HashMap::new();
        add_table(&state.table, state.floor(), &mut totals);
        (state.floor(), state.frozen.clone(), totals)
    })?;
    frozen.iter().for_each(|table| add_table(table, floor, &mut totals));
    for file in &files.parts {
        let views = client_views(&file.segment, floor)?;
        for (client, views) in file.segment.clients()?.iter().zip(views).filter(|(_, views)| *views > 0) {
            *totals.entry(Arc::clone(client)).or_default() += views;
        }
    }
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    Ok(totals)
}

fn client_views(segment: &Segment, floor: Bucket) -> Result<Vec<u64>, SegmentError> {
    if segment.info().first >= floor {
        return segment.client_totals();
    }
    let (mut views, pairs) = (vec![0; segment.clients()?.len()], segment.pairs()?);
    for cell in segment.cells()? {
        let (bucket, pair, count) = cell?;
        let client = pairs.all().get(pair as usize).map(|(_, client)| *client as usize);
        if let Some(views) = client.filter(|_| bucket >= floor).and_then(|client| views.get_mut(client)) {
            *views += count;
        }
    }
    Ok(views)
}

pub(super) fn status(project: &Project) -> Result<Status, SegmentError> {
    let (files, (mut sum, frozen, manifest)) = at_one_moment(project, |_, state| {
        let mut sum = Sum::new(state.floor());
        sum.add_table(&state.table);
        sum.status.bytes = state.tables().map(|table| table.logged).sum();
        (sum.status.script_since, sum.status.server_since) = state.since();
        (sum, state.frozen.clone(), Arc::clone(&state.manifest))
    })?;
    frozen.iter().for_each(|table| sum.add_table(table));
    for file in &files.parts {
        sum.add_segment(&file.segment)?;
    }
    let Sum { mut status, pages, .. } = sum;
    status.pages = pages.len() as u64;
    status.bytes += manifest.bytes() + fs::metadata(lines_file(&project.folder)).map_or(0, |lines| lines.len());
    status.floor = manifest.floor;
    status.restorable = manifest.moves.first().map(|oldest| oldest.from);
    Ok(status)
}

struct Sum {
    floor: Bucket,
    status: Status,
    pages: HashSet<Arc<str>>,
}

impl Sum {
    fn new(floor: Bucket) -> Self {
        Self { floor, status: Status::default(), pages: HashSet::new() }
    }

    fn add_table(&mut self, table: &Table) {
        let mut seen = vec![false; table.paths.len()];
        for cell in table.cells_from(self.floor) {
            self.add(cell.bucket, cell.bucket, cell.count);
            if let Some(seen) = seen.get_mut(cell.path as usize) {
                *seen = true;
            }
        }
        let pages = table.paths.iter().zip(seen).filter(|(_, seen)| *seen);
        self.pages.extend(pages.map(|(path, _)| Arc::clone(path)));
    }

    fn add(&mut self, first: Bucket, last: Bucket, views: u64) {
        self.status.views += views;
        self.status.first = Some(self.status.first.map_or(first, |known| known.min(first)));
        self.status.last = Some(self.status.last.map_or(last, |known| known.max(last)));
    }

    fn add_segment(&mut self, segment: &Segment) -> Result<(), SegmentError> {
        let info = segment.info();
        if info.last < self.floor {
            return Ok(());
        }
        let paths = segment.paths()?;
        if info.first >= self.floor {
            self.add(info.first, info.last, info.views);
            self.pages.extend(paths.iter().cloned());
            return Ok(());
        }
        // Partly forgotten and not yet written anew: its cells tell.
        let (pairs, mut seen) = (segment.pairs()?, vec![false; paths.len()]);
        for cell in segment.cells()? {
            let (bucket, pair, count) = cell?;
            if bucket >= self.floor {
                self.add(bucket, bucket, count);
                let path = pairs.all().get(pair as usize).and_then(|(path, _)| seen.get_mut(*path as usize));
                path.into_iter().for_each(|seen| *seen = true);
            }
        }
        self.pages.extend(paths.iter().zip(seen).filter(|(_, seen)| *seen).map(|(path, _)| Arc::clone(path)));
        Ok(())
    }
}

/// The marks of logs that begin like this one, or were followed at this place.
pub(super) fn marks(project: &Project, log: &str) -> Vec<Mark> {
    let state = project.state();
    let asked = |mark: &&Mark| mark.log == log || mark.followed.as_ref().is_some_and(|followed| followed.place == log);
    let mut marks: Vec<Mark> = state.manifest.marks.iter().filter(asked).cloned().collect();
    for mark in state.tables().flat_map(|table| &table.marks).filter(asked) {
        add_mark(&mut marks, mark);
    }
    marks
}

/// The lines of logs that were counted.
pub(super) fn counted_lines(project: &Project) -> io::Result<CountedLines> {
    let (manifest, in_memory) = {
        let state = project.state();
        let in_memory: Vec<Stretch> = state.tables().flat_map(|table| table.lines.clone()).collect();
        (Arc::clone(&state.manifest), in_memory)
    };
    lines::all(&project.folder, &manifest, in_memory)
}

pub(super) fn projects(shared: &Shared) -> Result<Vec<String>, ViewsError> {
    let mut ids: HashSet<String> = shared.on_disk().map_err(|error| unavailable(&error))?.into_iter().collect();
    ids.extend(shared.in_memory().iter().map(|project| project.id.to_string()));
    let mut with_views = Vec::new();
    for id in ids {
        // A damaged one has views as well; whoever asks for them is told.
        if shared.has_views(&id).unwrap_or(true) {
            with_views.push(id);
        }
    }
    with_views.sort_unstable();
    Ok(with_views)
}
