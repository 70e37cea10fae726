//! How fast a ledger takes events in, whatever becomes of them behind it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use copydesk_domain::{Clock, SystemClock};

use crate::bench::events::Maker;
use crate::bench::sample::Sample;
use crate::bench::senders::send;
use crate::figures::{millis, thousands};
use crate::process::Installation;

/// Events in a batch, and connections that send them.
const BATCH: usize = 1000;
const SENDERS: usize = 4;
/// Different batches.
const BATCHES: usize = 64;
const WARM_UP: Duration = Duration::from_secs(2);
const TIME: Duration = Duration::from_secs(20);

/// Sends batches to a server that has the sample already, without ids and with, and prints how many events a second were
/// acknowledged.
pub(super) async fn measure(installation: &Installation<'_>, sample: &Sample, project: &str) {
    let key = installation.key();
    let (server, _) = installation.serve().await;
    let now = SystemClock.now().as_millis() / 1000;
    let maker = Maker { sample, project, key: &key, now };
    let ids = Arc::new(AtomicU64::new(0));
    for (name, with_ids) in [("without ids", false), ("with ids", true)] {
        let ready = maker.requests(BATCHES, BATCH, with_ids);
        send(server.address, ready.clone(), SENDERS, None, WARM_UP, ids.clone()).await;
        let (sent, accepted) = send(server.address, ready, SENDERS, None, TIME, ids.clone()).await;
        println!(
            "taken in from {SENDERS} senders in batches of {}, {name}: {} events/s; requests p50 {}, p99 {}",
            thousands(BATCH as u64),
            thousands((accepted as f64 / sent.time.as_secs_f64()) as u64),
            millis(sent.latencies.within(0.5)),
            millis(sent.latencies.within(0.99)),
        );
    }
}
