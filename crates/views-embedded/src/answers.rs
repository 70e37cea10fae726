//! Answers: what the segments, the tables that are being written and the table in memory add up to.

use std::collections::HashMap;
use std::sync::Arc;

use copydesk_views::Bucket;
use copydesk_views::store::parts::{COLUMNS, Part, Sums, Switches, figure};
use copydesk_views::store::{Counts, Question, Ranking, Sources};

use super::files::{Files, Paths};
use super::project::{Project, State};
use super::table::{Change, Table, add};
use crate::segment::{Gather, SegmentError};

/// Whether an answer can be made without waiting for the disk.
pub(super) fn is_ready(project: &Project) -> bool {
    project.state().files.as_ref().is_some_and(|files| files.known_paths().is_some())
}

/// About how many pages an answer has to do with, of a project whose files are open; none if they are not.
pub(super) fn pages(project: &Project) -> Option<usize> {
    let state = project.state();
    let in_tables: usize = state.tables().map(|table| table.paths.len()).sum();
    let in_files =
        |files: &Arc<Files>| files.parts.iter().map(|part| part.segment.info().paths as usize).sum::<usize>();
    state.files.as_ref().map(|files| in_tables + in_files(files))
}

impl State {
    pub(super) fn switches(&self) -> Switches {
        let (script_since, server_since) = self.since();
        Switches { floor: self.floor(), script_since, server_since }
    }
}

/// The open files of a project and its state at one moment; `look` sees both.
pub(super) fn at_one_moment<T>(
    project: &Project,
    mut look: impl FnMut(&Arc<Files>, &State) -> T,
) -> Result<(Arc<Files>, T), SegmentError> {
    loop {
        let files = project.open_files()?;
        files.paths()?;
        let state = project.state();
        if state.files.as_ref().is_some_and(|open| Arc::ptr_eq(open, &files)) {
            let seen = look(&files, &state);
            drop(state);
            return Ok((files, seen));
        }
    }
}

pub(super) fn ranking(project: &Project, question: Question) -> Result<Ranking, SegmentError> {
    let (files, seen) = at_one_moment(project, |files, state| {
        let parts = state.switches().parts(question);
        let paths = files.known_paths()?;
        let mut sum = ByPath::new(paths, !state.frozen.is_empty());
        sum.add_table(&state.table, &parts);
        Some((parts, state.frozen.clone(), sum.counts, sum.late, sum.late_places))
    })?;
    let paths = files.paths()?;
    let Some((parts, frozen, counts, late, late_places)) = seen else {
        return Ok(Ranking::default());
    };
    let mut sum = ByPath { paths, counts, late, late_places };
    for table in &frozen {
        sum.add_table(table, &parts);
    }
    for (place, file) in files.parts.iter().enumerate() {
        let places = paths.places.get(place).and_then(Option::as_deref);
        for part in &parts {
            let mut gather = Gathered { counts: &mut sum.counts, places };
            file.segment.between(part.from, part.to, part.columns, &mut gather)?;
        }
    }
    Ok(Ranking::from_counts(Arc::clone(&paths.list), sum.late, sum.counts))
}

/// Views by path: first those of the segments' list, then those that are only in tables.
struct ByPath<'a> {
    paths: &'a Paths,
    counts: Vec<Counts>,
    late: Vec<Arc<str>>,
    /// Where the late ones are; only kept where several tables may have the same.
    late_places: Option<HashMap<Arc<str>, u32>>,
}

impl<'a> ByPath<'a> {
    fn new(paths: &'a Paths, several: bool) -> Self {
        let counts = vec![Counts::default(); paths.list.len()];
        Self { paths, counts, late: Vec::new(), late_places: several.then(HashMap::new) }
    }

    fn add_table(&mut self, table: &Table, parts: &[Part]) {
        let places = table.places(self.paths);
        let mut own: Vec<u32> = Vec::new();
        for part in parts {
            table.between(part.from, part.to, |path, column, change| {
                if !part.columns[column] {
                    return;
                }
                let place = match places.get(path as usize) {
                    Some(place) if *place != u32::MAX => *place,
                    _ => self.late(table, path, &mut own),
                };
                if let Some(counts) = self.counts.get_mut(place as usize) {
                    let figure = figure(counts, column);
                    // What is taken away was told before as part of the whole.
                    *figure = match change {
                        Change::More(views) => *figure + views,
                        Change::Less(views) => figure.wrapping_sub(views),
                    };
                }
            });
        }
    }

    /// The place of a path that no segment has.
    fn late(&mut self, table: &Table, path: u32, own: &mut Vec<u32>) -> u32 {
        if own.is_empty() {
            own.resize(table.paths.len(), u32::MAX);
        }
        let (Some(place), Some(name)) = (own.get_mut(path as usize), table.paths.get(path as usize)) else {
            return u32::MAX;
        };
        if *place == u32::MAX {
            let next = self.counts.len() as u32;
            *place = match &mut self.late_places {
                Some(places) => *places.entry(Arc::clone(name)).or_insert(next),
                None => next,
            };
            if *place == next {
                self.late.push(Arc::clone(name));
                self.counts.push(Counts::default());
            }
        }
        *place
    }
}

/// Adds the views of a segment to those of all paths.
struct Gathered<'a> {
    counts: &'a mut [Counts],
    /// Where the segment's paths are among all; none if they are all.
    places: Option<&'a [u32]>,
}

impl Gather for Gathered<'_> {
    fn column(&mut self, column: usize, views: impl Iterator<Item = u64>) {
        let add = |counts: &mut Counts, views: u64| *figure(counts, column) += views;
        match self.places {
            None => self.counts.iter_mut().zip(views).for_each(|(counts, views)| add(counts, views)),
            Some(places) => {
                for (place, views) in places.iter().zip(views) {
                    if let Some(counts) = self.counts.get_mut(*place as usize) {
                        add(counts, views);
                    }
                }
            }
        }
    }
}

pub(super) fn series(
    project: &Project,
    path: Option<&str>,
    edges: &[Bucket],
    sources: Sources,
) -> Result<Vec<Counts>, SegmentError> {
    let (files, (parts, points, frozen, mut before)) = at_one_moment(project, |_, state| {
        let (parts, points) = state.switches().cut(edges, sources);
        let mut before = vec![[0; COLUMNS]; points.len()];
        add_before(&state.table, path, &points, &mut before);
        (parts, points, state.frozen.clone(), before)
    })?;
    frozen.iter().for_each(|table| add_before(table, path, &points, &mut before));
    for file in &files.parts {
        match path {
            Some(path) => {
                let sums = file.segment.path_before_each(path, &points)?;
                before.iter_mut().zip(&sums).for_each(|(before, sums)| add(before, sums));
            }
            None => {
                for (point, before) in points.iter().zip(&mut before) {
                    add(before, &file.segment.site_before(*point)?);
                }
            }
        }
    }
    let at = |point: Bucket| points.binary_search(&point).ok().and_then(|place| before.get(place)).copied();
    let counted = |parts: &Vec<Part>| {
        let mut counts = Counts::default();
        for part in parts {
            let (from, to) = (at(part.from).unwrap_or_default(), at(part.to).unwrap_or_default());
            let sums: Sums = std::array::from_fn(|column| to[column].wrapping_sub(from[column]));
            part.count(&mut counts, &sums);
        }
        counts
    };
    Ok(parts.iter().map(counted).collect())
}

/// Adds what a table has before each of these points, which ascend.
fn add_before(table: &Table, path: Option<&str>, points: &[Bucket], before: &mut [Sums]) {
    let mut gained = vec![[0; COLUMNS]; points.len()];
    match path {
        Some(path) => {
            for (bucket, column, views) in table.path_cells(path) {
                if let Some(gained) = gained.get_mut(points.partition_point(|point| *point <= bucket)) {
                    gained[column] += views;
                }
            }
        }
        None => {
            let mut from = Bucket::MIN;
            for (point, gained) in points.iter().zip(&mut gained) {
                *gained = table.site_between(from, *point);
                from = *point;
            }
        }
    }
    let mut so_far = [0; COLUMNS];
    for (gained, before) in gained.iter().zip(before) {
        add(&mut so_far, gained);
        add(before, &so_far);
    }
}
