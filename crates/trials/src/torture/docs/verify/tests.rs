use copydesk_domain::{Job, PullRequest, PullRequestState, Usage};
use copydesk_store::{Edit, Event, RoundSources, Verdict};
use serde_json::{Value, json};

use super::super::seen::{SeenCall, SeenPull, branch_prefix};
use super::super::story::base;
use super::*;

const ID: &str = "019a8f00-0000-7000-8000-0123456789ab";

fn story() -> Story {
    Story::followed_model("t", false)
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn branch_name() -> String {
    format!("{}mark-the-pages-t", branch_prefix(ID))
}

fn link() -> String {
    "http://copydesk.example/pull/secret".to_owned()
}

fn job() -> Job {
    Job {
        id: ID.into(),
        project_id: "p".into(),
        status: Status::Completed,
        repository: String::new(),
        base_ref: "main".to_owned(),
        branch: Some(branch_name()),
        model: String::new(),
        draft: false,
        open_pull_request: true,
        client_reference: None,
        max_cost: None,
        changes: None,
        made_by: None,
        pr_link: Some(link()),
        pull_request: Some(PullRequest {
            number: 7,
            url: link(),
            state: PullRequestState::Open,
            draft: false,
            merged_at: None,
        }),
        pull_checked_at: None,
        outcome: Some(Outcome::PrCreated),
        message: None,
        title: None,
        usage: Usage { model_calls: 6, ..Usage::default() },
        checks: Vec::new(),
        cancel_requested: false,
        run: 2,
        run_message: 2,
        created_at: at(0),
        updated_at: at(0),
        archived_at: None,
    }
}

fn round(number: u32, commit: &str) -> Round {
    let edit = Edit {
        title: String::new(),
        summary: String::new(),
        not_done: Vec::new(),
        taken_through: number,
        verdict: Verdict::Good,
        checks: Vec::new(),
        changes: Vec::new(),
        diff: Vec::new(),
        made_at: at(0),
    };
    Round {
        number,
        run: number,
        first_message: number,
        base_commit: "base".to_owned(),
        parent_commit: "base".to_owned(),
        edit: Some(edit),
        branch: Some(branch_name()),
        commit: Some(commit.to_owned()),
        pushed: true,
        dropped: false,
        merged: None,
        sources: RoundSources::default(),
    }
}

fn events(of: &[(&str, Value)]) -> Vec<Event> {
    let event = |(at_place, (kind, data)): (usize, &(&str, Value))| Event {
        number: u32::try_from(at_place + 1).unwrap(),
        kind: (*kind).to_owned(),
        data: data.clone(),
        created_at: at(0),
    };
    of.iter().enumerate().map(event).collect()
}

/// Two rounds; the first attempt was killed while the model thought about its third answer, the second right after the
/// pull request was open.
fn good() -> Seen {
    let round_of = |number: u32| json!({ "round": number });
    let told = |kind: &'static str| (kind, json!({ "prLink": link() }));
    let history = [
        ("created", json!({})),
        ("claimed", json!({ "attempt": 1 })),
        ("prepared", round_of(1)),
        ("model_call", json!({})),
        ("retrying", json!({})),
        ("claimed", json!({ "attempt": 2 })),
        ("edited", round_of(1)),
        ("committed", round_of(1)),
        ("pushed", round_of(1)),
        told("opened"),
        ("retrying", json!({})),
        ("claimed", json!({ "attempt": 3 })),
        told("updated"),
        ("completed", json!({})),
        ("message", json!({})),
        ("claimed", json!({ "attempt": 4 })),
        ("prepared", round_of(2)),
        ("edited", round_of(2)),
        ("committed", round_of(2)),
        ("pushed", round_of(2)),
        told("updated"),
        ("completed", json!({})),
    ];
    // Asked at 100, 200, …, answered 50 later; the third at 250 as well, in vain.
    let mut calls: Vec<SeenCall> =
        (0..6).map(|position| SeenCall { position, received_at: at(100 + 100 * position as i64) }).collect();
    calls.push(SeenCall { position: 2, received_at: at(260) });
    Seen {
        job: job(),
        events: events(&history),
        rounds: vec![round(1, "c1"), round(2, "c2")],
        answers: (0..6).map(|position| at(150 + 100 * position)).collect(),
        calls,
        branches: vec![SeenBranch {
            name: branch_name(),
            commits: vec!["c2".to_owned(), "c1".to_owned()],
            files: story().files_after(&base(), 6),
        }],
        pulls: vec![SeenPull { number: 7, head: branch_name(), url: link() }],
    }
}

fn said(change: impl FnOnce(&mut Seen)) -> String {
    let mut seen = good();
    change(&mut seen);
    verify(&story(), &base(), &seen).join("; ")
}

#[test]
fn a_job_that_came_through_passes() {
    assert_eq!(said(|_| {}), "");
    assert_eq!((attempts(&good()), wasted_calls(&good())), (4, 1));
}

#[test]
fn a_job_that_did_not_come_through_is_seen() {
    let active = said(|seen| {
        seen.job.status = Status::Active;
        seen.events.pop();
    });
    assert!(active.contains("is active"), "{active}");
    assert!(said(|seen| seen.job.outcome = Some(Outcome::NoChanges)).contains("it should be completed, PrCreated"));
    assert!(said(|seen| seen.job.status = Status::Failed).contains("its events say completed"));
}

#[test]
fn a_second_branch_or_pull_request_is_seen() {
    let second = said(|seen| {
        let name = format!("{}again", branch_prefix(ID));
        seen.branches.push(SeenBranch { name, ..seen.branches[0].clone() });
    });
    assert!(second.contains("has 2 branches instead of 1"), "{second}");
    assert!(said(|seen| seen.branches.clear()).contains("has 0 branches instead of 1"));
    assert!(said(|seen| seen.pulls.push(seen.pulls[0].clone())).contains("has 2 pull requests instead of 1"));
    assert!(said(|seen| seen.pulls.clear()).contains("has 0 pull requests instead of 1"));
    assert!(said(|seen| seen.job.pr_link = None).contains("links to None"));
    assert!(said(|seen| seen.pulls[0].number = 8).contains("shows Some(PullRequest { number: 7"));
    assert!(said(|seen| seen.job.pull_request = None).contains("shows None"));
    assert!(said(|seen| seen.pulls[0].head = "main".to_owned()).contains("its pull request is from Some(\"main\")"));
    let other = said(|seen| seen.events[9].data = json!({ "prLink": "elsewhere" }));
    assert!(other.contains("1 of its events tell of another pull request"), "{other}");
}

#[test]
fn a_lost_and_a_repeated_edit_are_seen() {
    let lost = said(|seen| seen.branches[0].files = story().files_after(&base(), 4));
    assert!(lost.contains("docs/guide.md is"), "{lost}");
    let twice = said(|seen| {
        let text = seen.branches[0].files.get_mut("docs/guide.md").unwrap();
        *text = text.replace("Marks: ", "Marks: c-t ");
    });
    assert!(twice.contains("docs/guide.md is Some(\"# Guide\\n\\nMarks: c-t c-t a-t "), "{twice}");
    assert!(said(|seen| drop(seen.branches[0].files.remove("README.md"))).contains("README.md is None"));
    let extra = said(|seen| drop(seen.branches[0].files.insert("docs/x.md".to_owned(), String::new())));
    assert!(extra.contains("docs/x.md is Some(\"\") and should be None"), "{extra}");
}

#[test]
fn commits_that_are_not_those_of_the_rounds_are_seen() {
    let more = said(|seen| seen.branches[0].commits.insert(0, "c3".to_owned()));
    assert!(more.contains("its branch has the commits [\"c3\", \"c2\", \"c1\"]"), "{more}");
    assert!(said(|seen| drop(seen.branches[0].commits.remove(0))).contains("its branch has the commits"));
    assert!(said(|seen| seen.rounds[1].pushed = false).contains("does not know that its last commit is pushed"));
    assert!(said(|seen| seen.job.branch = None).contains("says that its branch is None"));
}

#[test]
fn a_call_for_an_answer_that_was_recorded_is_seen() {
    let again = said(|seen| seen.calls.push(SeenCall { position: 1, received_at: at(251) }));
    assert!(again.contains("the model was asked for answer 2 after it was recorded"), "{again}");
    assert_eq!(said(|seen| seen.calls.push(SeenCall { position: 1, received_at: at(250) })), "");
}

#[test]
fn answers_that_do_not_fit_the_calls_are_seen() {
    let many = said(|seen| (0..3).for_each(|_| seen.calls.push(SeenCall { position: 0, received_at: at(101) })));
    assert!(many.contains("4 calls of the model were in vain in 4 attempts"), "{many}");
    assert!(said(|seen| seen.calls.retain(|call| call.position != 4)).contains("answer 5 is there, but nobody asked"));
    assert!(said(|seen| seen.answers.truncate(5)).contains("has 5 answers, which should be [6]"));
    assert!(said(|seen| seen.job.usage.model_calls = 7).contains("counts 7 calls of the model and has 6 answers"));
}

#[test]
fn steps_out_of_order_are_seen() {
    let twice = said(|seen| seen.events[9] = Event { number: 10, ..seen.events[8].clone() });
    assert!(twice.contains("event 10: pushed of round 1 out of order"), "{twice}");
    let early = said(|seen| seen.events[7].kind = "opened".to_owned());
    assert!(early.contains("event 8: opened before the push of round 1"), "{early}");
    assert!(said(|seen| drop(seen.rounds.pop())).contains("has 1 rounds"));
    assert!(said(|seen| seen.rounds[1].edit = None).contains("the last should be edited"));
    let skipped = said(|seen| seen.events[16].data = json!({ "round": 3 }));
    assert!(skipped.contains("event 17: prepared of round 3 out of order"), "{skipped}");
}

#[test]
fn a_step_by_nobody_is_seen() {
    let nobody = said(|seen| seen.events[5].kind = "tool_call".to_owned());
    assert!(nobody.contains("\"tool_call\" by attempt Some(1) when None held it"), "{nobody}");
}

#[test]
fn a_job_that_changes_nothing_has_nothing() {
    let story = Story::idle_builtin("t");
    let mut seen = good();
    let wrong = verify(&story, &base(), &seen).join("; ");
    assert!(wrong.contains("has changed something") && wrong.contains("has 1 branches instead of 0"), "{wrong}");
    assert!(wrong.contains("has 1 pull requests instead of 0"), "{wrong}");
    let history = [
        ("created", json!({})),
        ("claimed", json!({ "attempt": 1 })),
        ("prepared", json!({ "round": 1 })),
        ("unchanged", json!({ "round": 1 })),
        ("completed", json!({})),
    ];
    let mut only = round(1, "");
    (only.commit, only.branch, only.pushed) = (None, None, false);
    seen.job = Job {
        outcome: Some(Outcome::NoChanges),
        pr_link: None,
        pull_request: None,
        branch: None,
        usage: Usage::default(),
        ..seen.job
    };
    seen.events = events(&history);
    seen.rounds = vec![only];
    (seen.answers, seen.calls, seen.branches, seen.pulls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    assert_eq!(verify(&story, &base(), &seen), Vec::<String>::new());
}
