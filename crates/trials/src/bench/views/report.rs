//! Whether all engines agree, and the table of what they took for it.

use super::ours::Ours;
use super::peers::Peer;
use super::questions::RANGES;
use crate::bench::sample::Sample;
use crate::figures::{Latencies, millis, thousands};
use crate::process::megabytes;

/// Fails unless every engine gave the same figures.
pub(super) fn compare(ours: &Ours, peers: &[Peer]) {
    for peer in peers {
        for ((days, mine), theirs) in RANGES.iter().zip(&ours.figures).zip(&peer.ranges) {
            assert_eq!(mine, &theirs.figures(), "{} and copydesk differ about {days} days", peer.name);
        }
    }
}

pub(super) fn report(sample: &Sample, ours: &Ours, peers: &[Peer]) {
    let views = sample.views as f64;
    println!(
        "copydesk, over HTTP: {} in {:.1} s ({} views/s); {:.2} bytes a view on disk; memory {}, at most {}; start to \
         first answer: median {}, worst {}",
        ours.way,
        ours.writing.as_secs_f64(),
        thousands((views / ours.writing.as_secs_f64()) as u64),
        ours.bytes as f64 / views,
        megabytes(ours.resident),
        megabytes(ours.peak),
        millis(ours.starts.within(0.5)),
        millis(ours.starts.within(1.0)),
    );
    for peer in peers {
        println!(
            "{} {}, in its own process, without HTTP: loaded in {:.1} s, daily rollup of {} rows built in {:.1} s; \
             {:.2} bytes a view on disk; memory at most {}",
            peer.name,
            peer.version,
            peer.load_seconds,
            thousands(peer.rollup_rows),
            peer.rollup_seconds,
            peer.rollup_bytes as f64 / views,
            megabytes(peer.peak_memory),
        );
    }
    table(ours, peers);
    let median = |range: usize| ours.times[range].new.within(0.5).as_secs_f64();
    let last = RANGES.len() - 1;
    println!("365 days take {:.2} times as long as 7 (aim: at most 1.5)", median(last) / median(0));
    let fastest = peers.iter().map(|peer| peer.ranges[last].seconds).min_by(f64::total_cmp);
    if let Some(fastest) = fastest {
        println!(
            "the faster of the others takes {:.0} times as long for 365 days (aim: at least 50)",
            fastest / median(last)
        );
        println!("all engines gave the same figures");
    }
}

fn table(ours: &Ours, peers: &[Peer]) {
    print!("{:<10}{:>24}{:>24}{:>24}", "p50 / p99", "copydesk", "same question again", "days anywhere");
    peers.iter().for_each(|peer| print!("{:>14}", peer.name));
    println!();
    for (range, days) in RANGES.iter().enumerate() {
        let times = &ours.times[range];
        print!(
            "{:<10}{:>24}{:>24}{:>24}",
            format!("{days} days"),
            both(&times.new),
            both(&times.again),
            both(&times.anywhere)
        );
        peers.iter().for_each(|peer| print!("{:>11.2} ms", peer.ranges[range].seconds * 1000.0));
        println!();
    }
}

fn both(times: &Latencies) -> String {
    let [median, most] = [0.5, 0.99].map(|part| times.within(part).as_secs_f64() * 1000.0);
    format!("{median:.3} / {most:.3} ms")
}
