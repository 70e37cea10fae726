//! Every line is in exactly one figure, whatever the mixture.

use proptest::prelude::*;

use super::super::testing::{AT, ListStore, line, run_bytes};

#[derive(Debug, Clone, Copy)]
enum Kind {
    Page,
    Asset,
    Missing,
    Post,
    Greeting,
    Future,
    Old,
    NoPath,
    LongPath,
    Blank,
    Noise,
    LongLine,
    Bytes,
}

fn kind() -> impl Strategy<Value = Kind> {
    use Kind::{Asset, Blank, Bytes, Future, Greeting, LongLine, LongPath, Missing, NoPath, Noise, Old, Page, Post};
    let plain = prop::sample::select(vec![
        Page, Page, Page, Asset, Missing, Post, Greeting, Future, Old, NoPath, LongPath, Blank, Noise, Bytes,
    ]);
    prop_oneof![60 => plain, 1 => Just(LongLine)]
}

fn written(kind: Kind, number: i64) -> Vec<u8> {
    let page = line(&format!("/p{}", number % 5), number);
    match kind {
        Kind::Page => page.into_bytes(),
        Kind::Asset => line("/a.css", number).into_bytes(),
        Kind::Missing => page.replace("\" 200 ", "\" 404 ").into_bytes(),
        Kind::Post => page.replace("GET", "POST").into_bytes(),
        Kind::Greeting => page.replace("GET ", "\\x16\\x03").replace("\" 200 ", "\" 400 ").into_bytes(),
        Kind::Future => line("/a", 90_000 + number).into_bytes(),
        Kind::Old => line("/a", -AT + number).into_bytes(),
        Kind::NoPath => line("a", number).into_bytes(),
        Kind::LongPath => line(&format!("/{}", "a".repeat(3000)), number).into_bytes(),
        Kind::Blank => b" \n".to_vec(),
        Kind::Noise => format!("noise {number}\n").into_bytes(),
        Kind::LongLine => line(&format!("/a?{}", "b".repeat(70_000)), number).into_bytes(),
        Kind::Bytes => b"\xff\x00\x1b[2J\n".to_vec(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_figures_add_up(kinds in prop::collection::vec(kind(), 1..400), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
        let mut log = line("/first", 0).into_bytes();
        let mut starts = Vec::new();
        for (number, kind) in kinds.iter().enumerate() {
            starts.push(log.len());
            log.extend(written(*kind, number as i64));
        }
        let count = |wanted: fn(&Kind) -> bool| kinds.iter().filter(|kind| wanted(kind)).count() as u64;
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| starts[cut.index(starts.len())]).collect();
        cuts.sort_unstable();
        cuts.push(log.len());
        let store = ListStore::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut sum = super::super::Tally::default();
        for cut in cuts {
            let report = runtime.block_on(run_bytes(&store, &log[..cut]));
            prop_assert_eq!(&report.error, &None);
            sum.add(&report.tally);
            sum.lines -= report.tally.duplicates;
        }
        prop_assert_eq!(sum.lines, kinds.len() as u64 + 1);
        prop_assert_eq!(sum.human(), 1 + count(|kind| matches!(kind, Kind::Page)));
        prop_assert_eq!(store.total(), sum.human());
        prop_assert_eq!(sum.assets, count(|kind| matches!(kind, Kind::Asset)));
        prop_assert_eq!(sum.errors, count(|kind| matches!(kind, Kind::Missing | Kind::Greeting)));
        prop_assert_eq!(sum.methods, count(|kind| matches!(kind, Kind::Post)));
        let refused = |reason: &str| sum.refused.get(reason).copied().unwrap_or(0);
        prop_assert_eq!(refused("future"), count(|kind| matches!(kind, Kind::Future)));
        prop_assert_eq!(refused("too_old"), count(|kind| matches!(kind, Kind::Old)));
        prop_assert_eq!(refused("invalid_path"), count(|kind| matches!(kind, Kind::NoPath)));
        prop_assert_eq!(refused("path_too_long"), count(|kind| matches!(kind, Kind::LongPath)));
        prop_assert_eq!(sum.blank, count(|kind| matches!(kind, Kind::Blank)));
        prop_assert_eq!(sum.unparsable, count(|kind| matches!(kind, Kind::Noise | Kind::LongLine | Kind::Bytes)));
    }

    #[test]
    fn nothing_makes_it_fall_over(log in prop::collection::vec(any::<u8>(), 0..2000), known: bool) {
        let log = if known { [line("/a", 0).as_bytes(), &log].concat() } else { log };
        let store = ListStore::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run_bytes(&store, &log));
    }
}
