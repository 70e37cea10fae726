//! Every question, for every range.

use std::collections::BTreeMap;
use std::sync::Arc;

use copydesk_views::{Bucket, Channel, Class, Client, Evidence};
use proptest::prelude::*;

use super::super::{Segment, Sums, column};
use super::model::{Model, between, cells_of, client, models, path_names, place, row};

fn machines(segment: &Segment, from: Bucket, to: Bucket) -> BTreeMap<(Arc<str>, Arc<Client>), u64> {
    let (paths, clients) = (segment.paths().unwrap(), segment.clients().unwrap());
    let mut views = BTreeMap::new();
    for (path, client, count) in segment.machines_between(from, to).unwrap() {
        let key = (Arc::clone(&paths[path as usize]), Arc::clone(&clients[client as usize]));
        assert_eq!(views.insert(key, count), None, "each pair once");
    }
    views
}

/// Holds a segment's answers for a range against the model's.
pub(super) fn check_range(segment: &Segment, model: &Model, from: Bucket, to: Bucket) {
    let paths = segment.paths().unwrap();
    let table = between(segment, from, to).unwrap();
    let mut expected: BTreeMap<&str, Sums> = BTreeMap::new();
    for (bucket, path, client, count) in &model.0 {
        if let Some(column) = column(client)
            && from <= *bucket
            && *bucket < to
        {
            expected.entry(path).or_default()[column] += count;
        }
    }
    for (place, path) in paths.iter().enumerate() {
        assert_eq!(row(&table, place), expected.get(&**path).copied().unwrap_or_default(), "{path} {from:?} {to:?}");
    }
    assert_eq!(machines(segment, from, to), model.machines_between(from, to), "{from:?} {to:?}");
}

pub(super) fn check_whole(segment: &Segment, model: &Model) {
    assert_eq!(**segment.paths().unwrap(), model.paths());
    assert_eq!(cells_of(segment), model.cells());
    let totals = segment.clients().unwrap().iter().cloned().zip(segment.client_totals().unwrap()).collect();
    assert_eq!(model.clients(), totals);
    let info = segment.info();
    assert_eq!(Some(info.first), model.0.iter().map(|cell| cell.0).min());
    assert_eq!(Some(info.last), model.0.iter().map(|cell| cell.0).max());
    assert_eq!(info.views, model.0.iter().map(|cell| cell.3).sum::<u64>());
    assert_eq!(info.cells, model.cells().len() as u64);
    assert_eq!((info.paths as usize, info.clients as usize), (model.paths().len(), model.clients().len()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_answer_is_that_of_the_list(model in models(), picks: Vec<(u16, u16)>, forget: bool) {
        let (_folder, file) = place();
        let mut segment = model.write(&file);
        check_whole(&segment, &model);
        let edges = model.edges();
        let at = |pick: u16| edges[usize::from(pick) % edges.len()];
        let ends = [(Bucket::MIN, Bucket::MAX), (segment.info().first, segment.info().last)];
        for (from, to) in picks.iter().take(24).map(|&(a, b)| (at(a), at(b))).chain(ends) {
            check_range(&segment, &model, from, to);
            if forget {
                segment = Segment::open(&file).unwrap();
            }
        }
        for &edge in edges.iter().step_by(1 + edges.len() / 50) {
            prop_assert_eq!(segment.site_before(edge).unwrap(), model.site_before(edge));
        }
    }

    #[test]
    fn the_course_of_a_path_is_that_of_the_list(model in models(), pick: u16, warm: bool, back: bool) {
        let (_folder, file) = place();
        let segment = model.write(&file);
        let paths = model.paths();
        let path = &*paths[usize::from(pick) % paths.len()];
        let mut edges = model.edges();
        edges = edges.iter().copied().step_by(1 + edges.len() / 40).collect();
        if warm {
            for &edge in edges.iter().take(5) {
                between(&segment, edge, Bucket::MAX).unwrap();
            }
        }
        if back {
            edges.reverse();
        }
        let expected: Vec<Sums> = edges.iter().map(|&edge| model.path_between(path, Bucket::MIN, edge)).collect();
        prop_assert_eq!(segment.path_before_each(path, &edges).unwrap(), expected.clone());
        for (&edge, expected) in edges.iter().zip(expected) {
            prop_assert_eq!(segment.path_before_each(path, &[edge]).unwrap(), [expected]);
        }
        prop_assert_eq!(segment.path_before_each("/nowhere", &[Bucket::MAX]).unwrap(), [Sums::default()]);
    }
}

/// Enough cells that there are several groups and checkpoints of both kinds, at the edges of days and elsewhere.
pub(super) fn large() -> Model {
    let paths = path_names(150);
    let human = client("Firefox", Class::Human, Evidence::Browser, Channel::Script);
    let agents: Vec<Arc<Client>> = (0..20)
        .map(|number| client(&format!("Agent-{number}"), Class::Assistant, Evidence::Token, Channel::Server))
        .collect();
    let mut cells = Vec::new();
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for number in 0..120_000_u64 {
        let bucket = Bucket(1_800_000 + (number / 150) as u32);
        let path = &paths[(random(150) * random(150) / 150) as usize];
        let client = if random(3) == 0 { &agents[random(20) as usize] } else { &human };
        cells.push((bucket, Arc::clone(path), Arc::clone(client), 1 + random(6)));
    }
    Model(cells)
}

#[test]
fn checkpoints_and_cells_go_together() {
    let (_folder, file) = place();
    let model = large();
    let segment = model.write(&file);
    check_whole(&segment, &model);
    let (first, last) = (segment.info().first, segment.info().last);
    for (from, to) in [(0, 800), (1, 799), (96, 192), (95, 193), (10, 11), (100, 104), (333, 700), (500, 501)] {
        check_range(&segment, &model, Bucket(first.0 + from), Bucket(first.0 + to));
        check_range(&segment, &model, Bucket(first.0 / 96 * 96 + from), Bucket(last.0 + 1));
    }
    let edges: Vec<Bucket> = (first.0 - 1..last.0 + 3).step_by(7).map(Bucket).collect();
    let mut course: BTreeMap<Bucket, Sums> = edges.iter().map(|&edge| (edge, Sums::default())).collect();
    for (bucket, _, client, count) in model.0.iter().filter(|cell| &*cell.1 == "/guide/2/page-9") {
        let column = column(client).unwrap();
        course.range_mut(Bucket(bucket.0 + 1)..).for_each(|(_, sums)| sums[column] += count);
    }
    let found = segment.path_before_each("/guide/2/page-9", &edges).unwrap();
    assert_eq!(found, course.into_values().collect::<Vec<_>>());
}

#[test]
fn what_is_loaded_is_told_and_bounded() {
    let (_folder, file) = place();
    let model = large();
    let segment = model.write(&file);
    let empty = segment.memory();
    assert!(empty < 2000, "{empty}");
    let first = segment.info().first;
    between(&segment, Bucket(first.0 + 96), Bucket(first.0 + 500)).unwrap();
    let some = segment.memory();
    assert!(some > empty + 2 * 150 * 4, "{some}");
    for odd in 0..700 {
        between(&segment, Bucket(first.0 + odd), Bucket::MAX).unwrap();
    }
    assert!(segment.memory() < some + 20 * 150 * 4 * 2 + 400_000, "{}", segment.memory());
}
