//! How long a look-up takes. Not a test: run it in --release with
//! `AGENTS=FILE cargo test --release -p copydesk-views --lib speed -- --ignored --nocapture`.

use std::time::Duration;

use crate::classify::{Classifier, Probe};

#[test]
#[ignore = "measures"]
fn speed() {
    let file = std::env::var_os("AGENTS").expect("AGENTS names a file with one user agent a line");
    let text = std::fs::read_to_string(file).unwrap();
    let agents: Vec<&str> = text.lines().collect();
    let classifier = Classifier::builtin();
    let rounds = 2_000_000 / agents.len() + 1;
    let mut machines = 0_usize;
    let began = spent();
    for _ in 0..rounds {
        for agent in &agents {
            let (_, verdict) = classifier.judge(&Probe::of(agent));
            machines += usize::from(verdict.agent.is_some());
        }
    }
    let both = (spent() - began).as_nanos() / (rounds * agents.len()) as u128;
    let facts: Vec<_> = agents.iter().map(|agent| classifier.facts(&Probe::of(agent))).collect();
    let began = spent();
    for _ in 0..rounds {
        for facts in &facts {
            machines += usize::from(classifier.verdict_on_reduced(facts).agent.is_some());
        }
    }
    let verdict = (spent() - began).as_nanos() / (rounds * agents.len()) as u128;
    println!("{} user agents: {both} ns a look-up, {verdict} ns of it the verdict ({machines})", agents.len());
}

/// The time of this thread alone: others may be busy.
fn spent() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}
