use copydesk_domain::{Timestamp, Usage};
use serde_json::json;

use super::super::engine::ended_by;
use super::*;

const MS: u64 = 1_000_000;

fn job(id: &str, status: Status) -> Job {
    let now = Timestamp::from_millis(0);
    Job {
        id: id.into(),
        project_id: "p".into(),
        status,
        repository: String::new(),
        base_ref: String::new(),
        branch: None,
        model: String::new(),
        draft: false,
        open_pull_request: true,
        client_reference: None,
        max_cost: None,
        changes: None,
        made_by: None,
        pr_link: None,
        pull_request: None,
        pull_checked_at: None,
        outcome: None,
        message: None,
        title: None,
        usage: Usage::default(),
        checks: Vec::new(),
        cancel_requested: false,
        run: 1,
        run_message: 1,
        created_at: now,
        updated_at: now,
        archived_at: None,
    }
}

fn events(of: &[(&str, serde_json::Value)]) -> Vec<Event> {
    let mut events = Vec::new();
    for (at, (kind, data)) in of.iter().enumerate() {
        let number = u32::try_from(at + 1).unwrap();
        events.push(Event {
            number,
            kind: (*kind).to_owned(),
            data: data.clone(),
            created_at: Timestamp::from_millis(0),
        });
    }
    events
}

fn line(mark: Mark, attempt: i64, pid: u32, at: u64) -> JournalLine {
    JournalLine { mark, job: "a".to_owned(), attempt, pid, at: at * MS, claimed: (at - 2) * MS }
}

fn life(pid: u32, born: u64, died: u64) -> Life {
    Life { pid, born: born * MS, died: Some(died * MS), stops: Vec::new() }
}

/// One job whose first attempt was killed after 100 ms and whose second one ended it.
fn good() -> Evidence {
    let first = json!({ "attempt": 1 });
    let second = json!({ "attempt": 2 });
    let history = [
        ("created", json!({})),
        ("claimed", first),
        ("retrying", json!({})),
        ("claimed", second),
        ("completed", json!({ "message": ended_by(2) })),
    ];
    Evidence {
        created: vec!["a".to_owned()],
        jobs: vec![(job("a", Status::Completed), events(&history))],
        journal: vec![line(Mark::Begin, 1, 10, 50), line(Mark::Begin, 2, 11, 2000), line(Mark::End, 2, 11, 2100)],
        lives: vec![life(10, 10, 150), life(11, 160, 3000)],
        stalls: Vec::new(),
        kills: 1,
    }
}

fn said(evidence: &Evidence) -> String {
    verify(evidence).violations.join("; ")
}

#[test]
fn a_good_run_passes() {
    let found = verify(&good());
    assert_eq!(found, Findings { attempts: 2, most: 2, cut_short: 1, ..Findings::default() });
}

#[test]
fn attempts_at_the_same_time_are_seen() {
    let mut evidence = good();
    evidence.journal[1] = line(Mark::Begin, 2, 11, 140);
    evidence.lives[1].born = 100 * MS;
    assert!(said(&evidence).contains("attempts 1 and 2 ran at the same time for 10 ms"));
}

#[test]
fn an_attempt_that_was_held_still_may_last_into_the_next() {
    let mut evidence = good();
    evidence.lives[0] = Life { stops: vec![(60 * MS, 2500 * MS)], ..life(10, 10, 3000) };
    evidence.journal.push(line(Mark::LetGo, 1, 10, 2501));
    // Something else has to be killed for the run to count.
    evidence.journal.push(JournalLine { job: "b".to_owned(), ..line(Mark::Begin, 1, 11, 2900) });
    let found = verify(&evidence);
    assert_eq!((found.violations, found.stops, found.fenced), (Vec::new(), 1, 1));
    // The same without the stop, and with one that was over before the claim.
    evidence.lives[0].stops.clear();
    assert!(said(&evidence).contains("attempts 1 and 2 ran at the same time"));
    evidence.lives[0].stops.push((20 * MS, 40 * MS));
    assert!(said(&evidence).contains("attempts 1 and 2 ran at the same time"));
}

#[test]
fn leases_that_are_not_kept_are_seen() {
    let mut evidence = good();
    evidence.journal[2].mark = Mark::LetGo;
    assert!(said(&evidence).contains("1 attempts lost their lease though nothing was done to them"));
    // A machine that stood still before the claim is no excuse, one that did so after it is.
    evidence.stalls.push((1000 * MS, 1900 * MS));
    assert_eq!((verify(&evidence).starved, verify(&evidence).stalled), (1, 0));
    evidence.stalls.push((1900 * MS, 2050 * MS));
    assert_eq!((verify(&evidence).starved, verify(&evidence).stalled), (0, 1));
    assert_eq!(said(&evidence), "");
}

#[test]
fn jobs_that_did_not_come_through_are_seen() {
    let mut evidence = good();
    evidence.created.push("b".to_owned());
    assert!(said(&evidence).contains("job b: is gone"));
    let mut evidence = good();
    evidence.jobs[0].0.status = Status::Active;
    evidence.jobs[0].1.pop();
    assert!(said(&evidence).contains("job a: is active"));
    assert!(said(&evidence).contains("was completed 0 times"));
    let mut evidence = good();
    evidence.jobs.push((job("c", Status::Completed), Vec::new()));
    assert!(said(&evidence).contains("1 jobs were created and 2 are there"));
}

#[test]
fn a_run_that_proves_nothing_fails() {
    let mut evidence = good();
    evidence.kills = 0;
    assert!(said(&evidence).contains("nothing was killed"));
    let mut evidence = good();
    evidence.journal.push(line(Mark::LetGo, 1, 10, 60));
    assert!(said(&evidence).contains("no kill met a running job"));
    let mut evidence = good();
    evidence.lives.remove(0);
    assert!(said(&evidence).contains("by a process that nobody started"));
}
