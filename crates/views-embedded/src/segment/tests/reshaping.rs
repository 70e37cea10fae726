//! Merges, the floor, other verdicts, and what a builder refuses.

use std::cell::Cell as Counter;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use copydesk_views::{Bucket, Channel, Class, Client, Evidence};
use proptest::prelude::*;

use super::super::{Builder, Segment, SegmentError, merge, write};
use super::model::{Model, client, clients, models, path_names, place};
use super::ranges::{check_range, check_whole, large};

/// Some clients become others: of another class, of another channel, or one that is there already.
fn relabelling(picks: &[(usize, usize)]) -> HashMap<Arc<Client>, Arc<Client>> {
    let from = clients();
    let mut to = clients();
    to.push(client("Nobody", Class::OtherBot, Evidence::BotShape, Channel::Script));
    to.push(client("Aa", Class::Human, Evidence::Browser, Channel::Server));
    let pick = |&(a, b): &(usize, usize)| (Arc::clone(&from[a % from.len()]), Arc::clone(&to[b % to.len()]));
    picks.iter().map(pick).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_merge_has_what_its_parts_had(
        parts in proptest::collection::vec(models(), 1..5),
        floor: Option<prop::sample::Index>,
        picks in proptest::collection::vec((0_usize..99, 0_usize..99), 0..5),
        ranges: Vec<(prop::sample::Index, prop::sample::Index)>,
    ) {
        let (folder, file) = place();
        let inputs: Vec<Arc<Segment>> = parts
            .iter()
            .enumerate()
            .map(|(number, part)| Arc::new(part.write(&folder.path().join(format!("part-{number}.seg")))))
            .collect();
        let mut all = Model(parts.into_iter().flat_map(|part| part.0).collect());
        let floor = floor.map_or(Bucket::MIN, |floor| *floor.get(&all.edges()));
        let relabel = relabelling(&picks);
        let info = merge(&inputs, floor, &relabel, &file, &|| false).unwrap();

        all.0.retain(|cell| cell.0 >= floor);
        for cell in &mut all.0 {
            cell.2 = relabel.get(&cell.2).map_or_else(|| Arc::clone(&cell.2), Arc::clone);
        }
        let Some(info) = info else {
            prop_assert!(all.0.is_empty() && !file.exists());
            return Ok(());
        };
        let segment = Segment::open(&file).unwrap();
        prop_assert_eq!(segment.info(), &info);
        check_whole(&segment, &all);
        let edges = all.edges();
        for (from, to) in ranges.iter().take(12) {
            check_range(&segment, &all, *from.get(&edges), *to.get(&edges));
        }
    }
}

#[test]
fn a_merge_stops_when_told_and_leaves_nothing() {
    let (folder, file) = place();
    let input = Arc::new(large().write(&folder.path().join("part.seg")));
    let asked = Counter::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 20
    };
    let floor = Bucket(input.info().first.0 + 1);
    let stopped = merge(&[input], floor, &HashMap::new(), &file, &stop);
    assert!(matches!(stopped, Err(SegmentError::Io(error)) if error.kind() == io::ErrorKind::Interrupted));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn nothing_makes_no_segment() {
    let (folder, file) = place();
    assert_eq!(write(&file, std::iter::empty()).unwrap(), None);
    let nothing = (Bucket(1), Arc::from("/"), Arc::clone(&clients()[0]), 0);
    assert_eq!(write(&file, [nothing].into_iter()).unwrap(), None);
    assert_eq!(merge(&[], Bucket::MIN, &HashMap::new(), &file, &|| false).unwrap(), None);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_builder_takes_only_what_is_in_order() {
    let (folder, file) = place();
    let (paths, mut clients) = (path_names(1), clients());
    clients.sort();
    let build = |paths: &[Arc<str>], pairs: Vec<(u32, u32)>| {
        Builder::create(&file, paths.to_vec(), clients.clone(), pairs).map_err(|error| error.kind())
    };
    let refused = Some(io::ErrorKind::InvalidInput);
    assert_eq!(build(&["/b".into(), "/a".into()], vec![(0, 0)]).err(), refused);
    assert_eq!(build(&paths, vec![(0, 1), (0, 0)]).err(), refused);
    assert_eq!(build(&paths, vec![(0, 0), (0, 0)]).err(), refused);
    assert_eq!(build(&paths, vec![(1, 0)]).err(), refused);
    assert_eq!(build(&paths, vec![(0, 99)]).err(), refused);
    assert_eq!(build(&paths, vec![(0, 0)]).unwrap().finish().map_err(|error| error.kind()).err(), refused);

    let mut builder = build(&paths, vec![(0, 0), (0, 1)]).unwrap();
    let push = |builder: &mut Builder, bucket, pair, count| {
        builder.push(Bucket(bucket), pair, count).map_err(|error| error.kind()).err()
    };
    assert_eq!(push(&mut builder, 7, 1, 5), None);
    assert_eq!(push(&mut builder, 7, 0, 1), refused);
    assert_eq!(push(&mut builder, 6, 1, 1), refused);
    assert_eq!(push(&mut builder, 8, 2, 1), refused);
    assert_eq!(push(&mut builder, u32::MAX, 0, 1), refused);
    assert_eq!(push(&mut builder, 7, 1, u64::MAX), refused);
    assert_eq!(push(&mut builder, 8, 0, u64::MAX), None);
    assert!(builder.finish().is_err(), "more views than there are numbers");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
