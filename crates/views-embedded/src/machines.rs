//! What machines read: each kind of them with its pages, and the course of one.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::iter::Peekable;
use std::sync::Arc;
use std::vec;

use copydesk_views::store::parts::Part;
use copydesk_views::store::{AgentViews, Question, Sources};
use copydesk_views::{Bucket, Channel, Client, CountsAs, Verdict};

use super::answers::at_one_moment;
use super::files::Paths;
use super::project::Project;
use super::table::Table;
use crate::segment::{Segment, SegmentError};

/// The machines that read, most views first; of one page if it is named.
pub(super) fn agents(
    project: &Project,
    question: Question,
    path: Option<&str>,
    pages_each: usize,
) -> Result<Vec<AgentViews>, SegmentError> {
    let mut machines = Machines::default();
    let (files, seen) = at_one_moment(project, |files, state| {
        let parts = state.switches().parts(question);
        let paths = files.known_paths()?;
        machines = Machines::default();
        machines.add_table(&state.table, paths, &parts, path);
        Some((parts, state.frozen.clone()))
    })?;
    let Some((parts, frozen)) = seen else { return Ok(Vec::new()) };
    let paths = files.paths()?;
    frozen.iter().for_each(|table| machines.add_table(table, paths, &parts, path));
    for (file, places) in files.parts.iter().zip(&paths.places) {
        machines.add_segment(&file.segment, places.as_deref(), paths, &parts, path)?;
    }
    Ok(machines.finish(paths, pages_each))
}

/// A page, a kind of machine and its views. The page is a place in the list of paths, or behind it.
type Read = (u32, u32, u64);

/// What was read, as lists in the order of pages, so that nothing has to be looked up to add them up.
#[derive(Default)]
struct Machines {
    kinds: HashMap<Verdict, u32>,
    lists: Vec<Vec<Read>>,
    /// Pages that are in no segment.
    late: Vec<Arc<str>>,
    late_places: HashMap<Arc<str>, u32>,
}

impl Machines {
    /// The kind of each of these clients in a part of the time; none of those that do not count there.
    fn kinds(&mut self, clients: &[Arc<Client>], part: &Part) -> Vec<Option<u32>> {
        let kind = |client: &Arc<Client>| {
            let next = self.kinds.len() as u32;
            let known = self.kinds.get(&client.verdict).copied();
            counts(client, part)
                .then(|| known.unwrap_or_else(|| *self.kinds.entry(client.verdict.clone()).or_insert(next)))
        };
        clients.iter().map(kind).collect()
    }

    fn add_table(&mut self, table: &Table, paths: &Paths, parts: &[Part], path: Option<&str>) {
        let places = table.places(paths);
        let mut list = Vec::new();
        for part in parts {
            let kinds = self.kinds(&table.clients, part);
            for cell in table.cells_between(part.from, part.to) {
                let (Some(page), Some(Some(kind))) =
                    (table.paths.get(cell.path as usize), kinds.get(cell.client as usize))
                else {
                    continue;
                };
                if path.is_none_or(|path| **page == *path) {
                    let place = places.get(cell.path as usize).copied().filter(|place| *place != u32::MAX);
                    list.push((place.unwrap_or_else(|| self.late(page, paths)), *kind, cell.count));
                }
            }
        }
        self.lists.push(list);
    }

    /// The place of a page that no segment has.
    fn late(&mut self, page: &Arc<str>, paths: &Paths) -> u32 {
        if let Some(place) = self.late_places.get(page) {
            return *place;
        }
        let place = (paths.list.len() + self.late.len()) as u32;
        self.late.push(Arc::clone(page));
        self.late_places.insert(Arc::clone(page), place);
        place
    }

    fn add_segment(
        &mut self,
        segment: &Segment,
        places: Option<&[u32]>,
        paths: &Paths,
        parts: &[Part],
        path: Option<&str>,
    ) -> Result<(), SegmentError> {
        let clients = segment.clients()?;
        let wanted = path.map(|path| paths.find(path));
        for part in parts {
            let kinds = self.kinds(&clients, part);
            let read = |(page, client, views): (u32, u32, u64)| {
                let kind = (*kinds.get(client as usize)?)?;
                let page = places.map_or(Some(page), |places| places.get(page as usize).copied())?;
                wanted.is_none_or(|wanted| wanted == Some(page)).then_some((page, kind, views))
            };
            let list = segment.machines_between(part.from, part.to)?;
            self.lists.push(list.into_iter().filter_map(read).collect());
        }
        Ok(())
    }

    fn finish(mut self, paths: &Paths, pages_each: usize) -> Vec<AgentViews> {
        // Those of tables are in no order, and the lock that they were read under is long let go.
        self.lists.iter_mut().filter(|list| !list.is_sorted()).for_each(|list| list.sort_unstable());
        let name = |place: u32| {
            let late = (place as usize).checked_sub(paths.list.len());
            late.map_or_else(|| paths.list.get(place as usize), |late| self.late.get(late))
        };
        let mut sums: Vec<Sum> = self.kinds.iter().map(|_| Sum::default()).collect();
        let mut lists: Vec<Peekable<vec::IntoIter<Read>>> =
            self.lists.into_iter().map(|list| list.into_iter().peekable()).collect();
        let mut here: Vec<u32> = Vec::new();
        while let Some(page) = lists.iter_mut().filter_map(|list| list.peek().map(|read| read.0)).min() {
            for list in &mut lists {
                while let Some((_, kind, views)) = list.next_if(|read| read.0 == page) {
                    let Some(sum) = sums.get_mut(kind as usize) else { continue };
                    if sum.here == 0 {
                        here.push(kind);
                    }
                    sum.here += views;
                }
            }
            for kind in here.drain(..) {
                if let (Some(sum), Some(page)) = (sums.get_mut(kind as usize), name(page)) {
                    sum.turn(page, pages_each);
                }
            }
        }
        let agent = |(verdict, kind): (Verdict, u32)| {
            let sum = sums.get_mut(kind as usize).map(std::mem::take).unwrap_or_default();
            let most_read =
                sum.most_read.into_sorted_vec().into_iter().map(|Reverse((views, Reverse(page)))| (page, views));
            AgentViews { verdict, views: sum.views, pages: sum.pages, most_read: most_read.collect() }
        };
        let mut agents: Vec<AgentViews> = self.kinds.into_iter().map(agent).filter(|agent| agent.views > 0).collect();
        agents.sort_unstable_by(|one, other| other.views.cmp(&one.views).then_with(|| one.verdict.cmp(&other.verdict)));
        agents
    }
}

/// What a kind of machine read, added up page by page.
#[derive(Default)]
struct Sum {
    views: u64,
    pages: u64,
    /// Of the page that is being added up.
    here: u64,
    /// Those with the most views, the least of them on top.
    most_read: BinaryHeap<Reverse<(u64, Reverse<Arc<str>>)>>,
}

impl Sum {
    /// Goes on from a page to the next.
    fn turn(&mut self, page: &Arc<str>, pages_each: usize) {
        let here = std::mem::take(&mut self.here);
        self.views += here;
        self.pages += 1;
        let has_room = self.most_read.len() < pages_each;
        let is_more = |Reverse((views, Reverse(least))): &Reverse<(u64, Reverse<Arc<str>>)>| {
            (here, Reverse(page)) > (*views, Reverse(least))
        };
        if has_room || self.most_read.peek().is_some_and(is_more) {
            if !has_room {
                self.most_read.pop();
            }
            self.most_read.push(Reverse((here, Reverse(Arc::clone(page)))));
        }
    }
}

/// Whether a client is a machine that is counted in this part.
fn counts(client: &Client, part: &Part) -> bool {
    part.columns[2 + way(client)] && client.verdict.counts_as() != CountsAs::Human
}

/// 0 for what a script sends, 1 for what the server side does.
fn way(client: &Client) -> usize {
    usize::from(client.facts.channel != Channel::Script)
}

/// Views of one machine between each two neighbouring edges.
pub(super) fn course(
    project: &Project,
    agent: &str,
    edges: &[Bucket],
    sources: Sources,
) -> Result<Vec<u64>, SegmentError> {
    let its_way = |client: &Arc<Client>| {
        let is_its = client.verdict.counts_as() != CountsAs::Human && client.verdict.is_called(agent);
        is_its.then(|| way(client))
    };
    let add_table = |table: &Table, points: &[Bucket], before: &mut [[u64; 2]]| {
        let ways: Vec<Option<usize>> = table.clients.iter().map(its_way).collect();
        let Some(last) = points.last() else { return };
        let mut gained = vec![[0; 2]; points.len()];
        for cell in table.cells_between(Bucket::MIN, *last) {
            if let Some(Some(way)) = ways.get(cell.client as usize)
                && let Some(gained) = gained.get_mut(points.partition_point(|point| *point <= cell.bucket))
            {
                gained[*way] += cell.count;
            }
        }
        let mut so_far = [0; 2];
        for (gained, before) in gained.iter().zip(before) {
            for way in 0..2 {
                so_far[way] += gained[way];
                before[way] += so_far[way];
            }
        }
    };
    let (files, (parts, points, frozen, mut before)) = at_one_moment(project, |_, state| {
        let (parts, points) = state.switches().cut(edges, sources);
        let mut before = vec![[0; 2]; points.len()];
        add_table(&state.table, &points, &mut before);
        (parts, points, state.frozen.clone(), before)
    })?;
    frozen.iter().for_each(|table| add_table(table, &points, &mut before));
    for file in &files.parts {
        let ways: Vec<Option<usize>> = file.segment.clients()?.iter().map(its_way).collect();
        for (before, views) in before.iter_mut().zip(file.segment.machines_before_each(&ways, &points)?) {
            before.iter_mut().zip(views).for_each(|(before, views)| *before += views);
        }
    }
    let at = |point: Bucket| points.binary_search(&point).ok().and_then(|place| before.get(place)).copied();
    let counted = |part: &Part| {
        let (from, to) = (at(part.from).unwrap_or_default(), at(part.to).unwrap_or_default());
        (0..2).filter(|way| part.columns[2 + way]).map(|way| to[way].wrapping_sub(from[way])).sum::<u64>()
    };
    Ok(parts.iter().map(|parts| parts.iter().map(counted).sum()).collect())
}
