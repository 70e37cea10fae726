//! Idempotency: a request that comes twice is done once.

use std::collections::BTreeSet;
use std::time::Duration;

use copydesk_domain::{JobId, Outcome, ProjectId, Prompt, Refusal, Status, Window};
use copydesk_store::{Admission, Idempotency, Store};
use futures_util::future::join_all;

use crate::desk::{Desk, HOUR, MILLISECOND, OFF, SECOND, key, new_job, render};

behaviours! {
    the_same_request_again_gives_the_first_answer_and_no_second_job,
    the_first_answer_is_given_even_when_the_job_has_moved_on,
    the_same_key_with_another_body_is_refused,
    a_request_without_a_key_is_always_done,
    a_key_is_remembered_for_a_day_to_the_millisecond,
    an_expired_key_serves_another_body,
    a_key_belongs_to_one_project,
    a_message_sent_again_is_added_once,
    a_message_to_an_archived_job_sent_again_is_answered_as_before,
    creations_and_messages_share_the_keys,
    what_was_refused_is_not_remembered,
    requests_at_the_same_instant_with_one_key_make_one_job,
    messages_at_the_same_instant_with_one_key_add_one,
    bodies_at_the_same_instant_with_one_key_give_one_job_and_refusals,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn create(store: &Store, project: &ProjectId, idempotency: Option<Idempotency>) -> Admission {
    store.create_job(new_job(project), OFF, idempotency, render).await.unwrap()
}

async fn message(store: &Store, project: &ProjectId, job: &JobId, idempotency: Option<Idempotency>) -> Admission {
    let prompt = Prompt::parse("More.").unwrap();
    store.message_job(project, job, prompt, OFF, idempotency, render).await.unwrap()
}

/// The job, the answer, and whether it was given before.
fn parts(admission: Admission) -> (JobId, String, bool) {
    match admission {
        Admission::Done { job_id, answer, replayed, .. } => (job_id, answer, replayed),
        other => panic!("not admitted: {other:?}"),
    }
}

async fn the_same_request_again_gives_the_first_answer_and_no_second_job(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.beside().await);
    let (job, answer, replayed) = parts(create(&desk.store, &project, key("once", "a")).await);
    assert!(!replayed);
    desk.advance(SECOND);
    for store in [&desk.store, &other] {
        assert_eq!(parts(create(store, &project, key("once", "a")).await), (job.clone(), answer.clone(), true));
    }
    assert_eq!(desk.jobs(&project).await.len(), 1);
    assert_eq!(desk.kinds(&job).await, ["created"]);
}

async fn the_first_answer_is_given_even_when_the_job_has_moved_on(desk: Desk) {
    let project = desk.project("Docs").await;
    let (job, answer, _) = parts(create(&desk.store, &project, key("once", "a")).await);
    desk.store.archive_job(&project, &job).await.unwrap();
    assert_eq!(parts(create(&desk.store, &project, key("once", "a")).await), (job, answer, true));
}

async fn the_same_key_with_another_body_is_refused(desk: Desk) {
    let project = desk.project("Docs").await;
    create(&desk.store, &project, key("once", "a")).await;
    assert_eq!(create(&desk.store, &project, key("once", "b")).await, Admission::KeyReused);
    assert_eq!(desk.jobs(&project).await.len(), 1);
    assert!(parts(create(&desk.store, &project, key("once", "a")).await).2, "the first body is still known");
    assert!(!parts(create(&desk.store, &project, key("Once", "b")).await).2, "keys differ by case");
}

async fn a_request_without_a_key_is_always_done(desk: Desk) {
    let project = desk.project("Docs").await;
    for _ in 0..3 {
        assert!(!parts(create(&desk.store, &project, None).await).2);
    }
    assert_eq!(desk.jobs(&project).await.len(), 3);
}

async fn a_key_is_remembered_for_a_day_to_the_millisecond(desk: Desk) {
    let project = desk.project("Docs").await;
    let (first, ..) = parts(create(&desk.store, &project, key("once", "a")).await);
    desk.advance(DAY - MILLISECOND);
    assert_eq!(desk.store.purge().await.unwrap(), 0, "what is still needed is not thrown away");
    assert!(parts(create(&desk.store, &project, key("once", "a")).await).2, "a replay does not prolong it either");
    desk.advance(MILLISECOND);
    let (second, _, replayed) = parts(create(&desk.store, &project, key("once", "a")).await);
    assert!(!replayed && first != second);
    desk.advance(DAY - MILLISECOND);
    assert_eq!(parts(create(&desk.store, &project, key("once", "a")).await).0, second, "and is remembered anew");
}

async fn an_expired_key_serves_another_body(desk: Desk) {
    let project = desk.project("Docs").await;
    create(&desk.store, &project, key("once", "a")).await;
    desk.advance(DAY);
    assert!(!parts(create(&desk.store, &project, key("once", "b")).await).2);
    assert_eq!(create(&desk.store, &project, key("once", "a")).await, Admission::KeyReused);
}

async fn a_key_belongs_to_one_project(desk: Desk) {
    for name in ["b", "a", "c"] {
        let project = desk.project(name).await;
        let (job, _, replayed) = parts(create(&desk.store, &project, key("once", name)).await);
        assert!(!replayed);
        assert_eq!(desk.jobs(&project).await[0].id, job);
    }
}

async fn a_message_sent_again_is_added_once(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.ended(&project, Outcome::NoChanges).await;
    let (_, answer, replayed) = parts(message(&desk.store, &project, &job, key("once", "a")).await);
    assert!(!replayed);
    let claimed = desk.claim("worker").await;
    desk.finish(&claimed).await;
    assert_eq!(parts(message(&desk.store, &project, &job, key("once", "a")).await), (job.clone(), answer, true));
    assert_eq!(desk.store.messages(&job).await.unwrap().len(), 2);
    assert_eq!(desk.job(&project, &job).await.status, Status::Completed, "the replay starts no turn");
}

async fn a_message_to_an_archived_job_sent_again_is_answered_as_before(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.create(&project).await;
    let first = parts(message(&desk.store, &project, &job, key("once", "a")).await);
    desk.store.archive_job(&project, &job).await.unwrap();
    let again = parts(message(&desk.store, &project, &job, key("once", "a")).await);
    assert_eq!((again.0, again.1, again.2), (first.0, first.1, true));
    let new = message(&desk.store, &project, &job, key("twice", "a")).await;
    assert_eq!(new, Admission::Refused(Refusal(Status::Archived)));
}

async fn creations_and_messages_share_the_keys(desk: Desk) {
    let project = desk.project("Docs").await;
    let (job, ..) = parts(create(&desk.store, &project, key("once", "create")).await);
    let asked = message(&desk.store, &project, &job, key("once", "message")).await;
    assert_eq!(asked, Admission::KeyReused);
    assert_eq!(desk.store.messages(&job).await.unwrap().len(), 1);
}

async fn what_was_refused_is_not_remembered(desk: Desk) {
    let project = desk.project("Docs").await;
    let limited =
        |fingerprint| desk.store.create_job(new_job(&project), Window::hourly(1), key("once", fingerprint), render);
    let (job, ..) = parts(create(&desk.store, &project, None).await);
    assert!(matches!(limited("a").await.unwrap(), Admission::Limited(_)));
    assert_eq!(message(&desk.store, &project, &"nobody".into(), key("lost", "a")).await, Admission::NotFound);
    desk.advance(HOUR);
    assert!(!parts(limited("b").await.unwrap()).2, "even for another body the key is free");
    assert!(!parts(message(&desk.store, &project, &job, key("lost", "b")).await).2);
}

/// The same thing from two processes, sixteen times each, at once.
async fn at_once<F>(desk: &Desk, ask: impl Fn(Store, usize) -> F) -> Vec<Admission>
where
    F: Future<Output = Admission> + Send + 'static,
{
    let other = desk.beside().await;
    let asked = (0..32).map(|at| {
        let store = if at % 2 == 0 { desk.store.clone() } else { other.clone() };
        tokio::spawn(ask(store, at))
    });
    join_all(asked.collect::<Vec<_>>()).await.into_iter().map(|admission| admission.unwrap()).collect()
}

fn one_was_done_and_all_say_so(admissions: Vec<Admission>) {
    assert_eq!(admissions.len(), 32);
    let all: Vec<_> = admissions.into_iter().map(parts).collect();
    assert_eq!(all.iter().filter(|(.., replayed)| !replayed).count(), 1);
    assert_eq!(all.iter().map(|(job, answer, _)| (job, answer)).collect::<BTreeSet<_>>().len(), 1);
}

async fn requests_at_the_same_instant_with_one_key_make_one_job(desk: Desk) {
    for round in ["one", "two", "three"] {
        let project = desk.project(round).await;
        let admissions = at_once(&desk, |store, _| {
            let project = project.clone();
            async move { create(&store, &project, key("once", "a")).await }
        });
        one_was_done_and_all_say_so(admissions.await);
        assert_eq!(desk.jobs(&project).await.len(), 1);
    }
}

async fn messages_at_the_same_instant_with_one_key_add_one(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.ended(&project, Outcome::NoChanges).await;
    let admissions = at_once(&desk, |store, _| {
        let (project, job) = (project.clone(), job.clone());
        async move { message(&store, &project, &job, key("once", "a")).await }
    });
    one_was_done_and_all_say_so(admissions.await);
    assert_eq!(desk.store.messages(&job).await.unwrap().len(), 2);
    assert_eq!(desk.job(&project, &job).await.run, 2);
}

async fn bodies_at_the_same_instant_with_one_key_give_one_job_and_refusals(desk: Desk) {
    let project = desk.project("Docs").await;
    let admissions = at_once(&desk, |store, at| {
        let project = project.clone();
        async move { create(&store, &project, key("once", &format!("body {at}"))).await }
    });
    let (done, refused): (Vec<_>, Vec<_>) =
        admissions.await.into_iter().partition(|admission| matches!(admission, Admission::Done { .. }));
    assert_eq!((done.len(), refused.len()), (1, 31));
    assert!(refused.iter().all(|admission| *admission == Admission::KeyReused));
    assert_eq!(desk.jobs(&project).await.len(), 1);
}
