//! How far a job has come: rounds, edits and answers, kept for whoever takes it over.

use copydesk_domain::{CheckSummary, ProjectId, Usage};
use copydesk_store::{Answer, Claimed, Edit, Finished, LeaseError, NewEvent, Round, RoundSources, Step, Verdict};
use serde_json::json;

use crate::desk::{CANCELLED, Desk, LEASE, LOST, SECOND, opened, terms};

behaviours! {
    a_round_reads_back_as_far_as_it_came,
    an_edit_survives_any_text,
    the_branch_shows_once_it_is_pushed,
    the_link_is_kept_but_not_shown_while_the_job_runs,
    the_diff_is_that_of_the_last_change,
    a_push_takes_along_what_it_builds_upon,
    a_cancellation_drops_what_has_not_gone_out,
    an_answer_is_kept_and_paid_once,
    a_cost_is_known_only_if_all_of_it_is,
    an_archived_job_needs_its_answers_no_more,
    nothing_is_recorded_after_a_cancellation,
    nothing_is_recorded_by_a_worker_that_lost_the_job,
    the_same_round_is_not_begun_twice,
    rounds_go_with_their_project,
}

fn round(number: u32) -> Round {
    Round {
        number,
        run: 1,
        first_message: 1,
        base_commit: "b".repeat(40),
        parent_commit: "p".repeat(40),
        edit: None,
        branch: None,
        commit: None,
        pushed: false,
        dropped: false,
        merged: None,
        sources: RoundSources::default(),
    }
}

fn edit(desk: &Desk) -> Edit {
    Edit {
        title: "Fix three links".to_owned(),
        summary: "I fixed them.".to_owned(),
        not_done: Vec::new(),
        taken_through: 1,
        verdict: Verdict::Good,
        checks: vec![CheckSummary { check: "links".to_owned(), ran: true, ..CheckSummary::default() }],
        changes: b"[]".to_vec(),
        diff: b"--- a\n+++ b\n".to_vec(),
        made_at: desk.now(),
    }
}

async fn begun(desk: &Desk) -> (ProjectId, Claimed) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    (project, desk.claim("w").await)
}

async fn advance(desk: &Desk, claimed: &Claimed, step: Step) -> Result<(), LeaseError> {
    desk.store.advance(&claimed.lease, Some(step), Vec::new()).await
}

fn edited(edit: Edit, commit: Option<(&str, &str)>) -> Step {
    let commit = commit.map(|(branch, id)| (branch.to_owned(), id.to_owned()));
    Step::Edited { round: 1, edit: Box::new(edit), commit }
}

async fn a_round_reads_back_as_far_as_it_came(desk: Desk) {
    let (_, claimed) = begun(&desk).await;
    let id = &claimed.job.id;
    assert_eq!(desk.store.rounds(id).await.unwrap(), []);
    let mut expected = round(1);
    advance(&desk, &claimed, Step::Prepared(expected.clone())).await.unwrap();
    assert_eq!(desk.store.rounds(id).await.unwrap(), [expected.clone()]);

    let told = vec![NewEvent::new("plan", json!({ "items": 2 }))];
    let step = edited(edit(&desk), Some(("copydesk/x", "c1")));
    desk.store.advance(&claimed.lease, Some(step), told).await.unwrap();
    expected.edit = Some(edit(&desk));
    (expected.branch, expected.commit) = (Some("copydesk/x".to_owned()), Some("c1".to_owned()));
    assert_eq!(desk.store.rounds(id).await.unwrap(), [expected.clone()]);

    advance(&desk, &claimed, Step::Pushed { round: 1 }).await.unwrap();
    expected.pushed = true;
    assert_eq!(desk.store.rounds(id).await.unwrap(), [expected]);
    advance(&desk, &claimed, Step::Opened { pull: opened("http://x/1") }).await.unwrap();
    let kinds = desk.kinds(id).await;
    assert_eq!(kinds, ["created", "claimed", "prepared", "plan", "edited", "committed", "pushed", "opened"]);
}

async fn an_edit_survives_any_text(desk: Desk) {
    let (_, claimed) = begun(&desk).await;
    advance(&desk, &claimed, Step::Prepared(round(1))).await.unwrap();
    let odd = Edit {
        title: "a\0b".to_owned(),
        summary: "ü\u{1f600}".to_owned(),
        changes: vec![0, 255, 10],
        diff: vec![0xff, 0],
        ..edit(&desk)
    };
    advance(&desk, &claimed, edited(odd.clone(), None)).await.unwrap();
    let kept = desk.store.rounds(&claimed.job.id).await.unwrap().remove(0).edit.unwrap();
    assert_eq!(kept, Edit { title: "a\u{fffd}b".to_owned(), ..odd });
}

async fn the_branch_shows_once_it_is_pushed(desk: Desk) {
    let (project, claimed) = begun(&desk).await;
    advance(&desk, &claimed, Step::Prepared(round(1))).await.unwrap();
    advance(&desk, &claimed, edited(edit(&desk), Some(("copydesk/x", "c1")))).await.unwrap();
    assert_eq!(desk.job(&project, &claimed.job.id).await.branch, None);
    advance(&desk, &claimed, Step::Pushed { round: 1 }).await.unwrap();
    assert_eq!(desk.job(&project, &claimed.job.id).await.branch.as_deref(), Some("copydesk/x"));
}

async fn the_link_is_kept_but_not_shown_while_the_job_runs(desk: Desk) {
    let (project, claimed) = begun(&desk).await;
    advance(&desk, &claimed, Step::Opened { pull: opened("http://x/1") }).await.unwrap();
    let job = desk.job(&project, &claimed.job.id).await;
    assert_eq!((job.pr_link.as_deref(), job.visible_pr_link()), (Some("http://x/1"), None));
    desk.finish(&claimed).await;
    assert_eq!(desk.job(&project, &claimed.job.id).await.visible_pr_link(), Some("http://x/1"));
}

async fn the_diff_is_that_of_the_last_change(desk: Desk) {
    let (_, claimed) = begun(&desk).await;
    let id = &claimed.job.id;
    for (number, verdict, made, shown) in [
        (1, Verdict::Good, "one", "one"),
        (2, Verdict::Refused, "two", "two"),
        (3, Verdict::Unchanged, "", "one"),
        (4, Verdict::Draft, "four", "four"),
    ] {
        advance(&desk, &claimed, Step::Prepared(round(number))).await.unwrap();
        let edit = Edit { verdict, diff: made.as_bytes().to_vec(), ..edit(&desk) };
        let has_commit = matches!(verdict, Verdict::Good | Verdict::Draft);
        let commit = has_commit.then(|| ("copydesk/x".to_owned(), format!("c{number}")));
        advance(&desk, &claimed, Step::Edited { round: number, edit: Box::new(edit), commit }).await.unwrap();
        let diff = desk.store.diff(id).await.unwrap().unwrap();
        assert_eq!(String::from_utf8(diff).unwrap(), shown, "after round {number}");
    }
}

async fn a_push_takes_along_what_it_builds_upon(desk: Desk) {
    let (_, claimed) = begun(&desk).await;
    let id = &claimed.job.id;
    for number in 1..=3 {
        advance(&desk, &claimed, Step::Prepared(round(number))).await.unwrap();
        let commit = Some(("copydesk/x".to_owned(), format!("c{number}")));
        let step = Step::Edited { round: number, edit: Box::new(edit(&desk)), commit };
        advance(&desk, &claimed, step).await.unwrap();
    }
    advance(&desk, &claimed, Step::Pushed { round: 2 }).await.unwrap();
    let pushed: Vec<_> = desk.store.rounds(id).await.unwrap().iter().map(|round| round.pushed).collect();
    assert_eq!(pushed, [true, true, false]);
    advance(&desk, &claimed, Step::PreparedAgain(round(4))).await.unwrap();
    let dropped: Vec<_> = desk.store.rounds(id).await.unwrap().iter().map(|round| round.dropped).collect();
    assert_eq!(dropped, [false, false, true, false], "what has gone out stays");
}

async fn a_cancellation_drops_what_has_not_gone_out(desk: Desk) {
    let (project, claimed) = begun(&desk).await;
    let id = &claimed.job.id;
    advance(&desk, &claimed, Step::Prepared(round(1))).await.unwrap();
    advance(&desk, &claimed, edited(edit(&desk), Some(("copydesk/x", "c1")))).await.unwrap();
    desk.store.cancel_job(&project, id).await.unwrap().unwrap();
    assert_eq!(desk.store.finish(&claimed.lease, crate::desk::done(&claimed)).await, Ok(Finished::Cancelled));
    let rounds = desk.store.rounds(id).await.unwrap();
    assert!(rounds[0].dropped && !rounds[0].is_kept());
    assert_eq!(desk.store.diff(id).await.unwrap(), None);
}

fn answer(said: &[u8], cost_usd: Option<f64>) -> Answer {
    let usage = Usage { input_tokens: 10, cached_input_tokens: 7, output_tokens: 5, model_calls: 1, cost_usd };
    Answer { round: 1, seen_through: 1, said: said.to_vec(), usage }
}

async fn an_answer_is_kept_and_paid_once(desk: Desk) {
    let (project, claimed) = begun(&desk).await;
    let answers = [answer(b"{\"a\":1}", Some(0.5)), Answer { round: 2, ..answer(&[0, 255], Some(0.25)) }];
    for answer in &answers {
        let told = vec![NewEvent::new("model_call", json!({}))];
        desk.store.record_answer(&claimed.lease, answer.clone(), told).await.unwrap();
    }
    assert_eq!(desk.store.answers(&claimed.job.id).await.unwrap(), answers);
    let usage = desk.job(&project, &claimed.job.id).await.usage;
    assert_eq!(
        usage,
        Usage { input_tokens: 20, cached_input_tokens: 14, output_tokens: 10, model_calls: 2, cost_usd: Some(0.75) }
    );
    assert_eq!(desk.kinds(&claimed.job.id).await, ["created", "claimed", "model_call", "model_call"]);
    desk.finish(&claimed).await;
    assert_eq!(desk.job(&project, &claimed.job.id).await.usage, usage, "the end takes nothing away");
}

async fn a_cost_is_known_only_if_all_of_it_is(desk: Desk) {
    let (project, claimed) = begun(&desk).await;
    for (cost, known) in [(Some(0.5), Some(0.5)), (None, None), (Some(0.5), None)] {
        desk.store.record_answer(&claimed.lease, answer(b"{}", cost), Vec::new()).await.unwrap();
        assert_eq!(desk.job(&project, &claimed.job.id).await.usage.cost_usd, known);
    }
}

async fn an_archived_job_needs_its_answers_no_more(desk: Desk) {
    let (project, claimed) = begun(&desk).await;
    desk.store.record_answer(&claimed.lease, answer(b"{}", None), Vec::new()).await.unwrap();
    desk.finish(&claimed).await;
    assert_eq!(desk.store.answers(&claimed.job.id).await.unwrap().len(), 1);
    desk.store.archive_job(&project, &claimed.job.id).await.unwrap().unwrap();
    assert_eq!(desk.store.answers(&claimed.job.id).await.unwrap(), []);
}

async fn nothing_is_recorded_after_a_cancellation(desk: Desk) {
    let (project, claimed) = begun(&desk).await;
    let id = &claimed.job.id;
    desk.store.cancel_job(&project, id).await.unwrap().unwrap();
    for step in [Step::Prepared(round(1)), Step::Opened { pull: opened("http://x/1") }] {
        assert_eq!(advance(&desk, &claimed, step).await, Err(CANCELLED));
    }
    let kept = desk.store.record_answer(&claimed.lease, answer(b"{}", None), Vec::new()).await;
    assert_eq!(kept, Err(CANCELLED));
    assert_eq!(desk.store.rounds(id).await.unwrap(), []);
    assert_eq!(desk.store.answers(id).await.unwrap(), []);
    assert_eq!(desk.job(&project, id).await.pr_link, None);
}

async fn nothing_is_recorded_by_a_worker_that_lost_the_job(desk: Desk) {
    let (_, claimed) = begun(&desk).await;
    desk.advance(LEASE + SECOND);
    desk.store.reap(&terms(), || 0.0).await.unwrap();
    desk.advance(SECOND);
    let other = desk.claim("other").await;
    assert_eq!(advance(&desk, &claimed, Step::Prepared(round(1))).await, Err(LOST));
    let kept = desk.store.record_answer(&claimed.lease, answer(b"{}", None), Vec::new()).await;
    assert_eq!(kept, Err(LOST));
    advance(&desk, &other, Step::Prepared(round(1))).await.unwrap();
}

async fn the_same_round_is_not_begun_twice(desk: Desk) {
    let (_, claimed) = begun(&desk).await;
    advance(&desk, &claimed, Step::Prepared(round(1))).await.unwrap();
    assert!(desk.store.advance(&claimed.lease, Some(Step::Prepared(round(1))), Vec::new()).await.is_err());
    assert_eq!(desk.store.rounds(&claimed.job.id).await.unwrap().len(), 1);
}

async fn rounds_go_with_their_project(desk: Desk) {
    let (project, claimed) = begun(&desk).await;
    advance(&desk, &claimed, Step::Prepared(round(1))).await.unwrap();
    advance(&desk, &claimed, edited(edit(&desk), None)).await.unwrap();
    desk.store.record_answer(&claimed.lease, answer(b"{}", None), Vec::new()).await.unwrap();
    assert!(desk.store.delete_project(&project).await.unwrap());
    assert_eq!(desk.store.rounds(&claimed.job.id).await.unwrap(), []);
    assert_eq!(desk.store.diff(&claimed.job.id).await.unwrap(), None);
}
