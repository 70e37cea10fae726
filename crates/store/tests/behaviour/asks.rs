//! What people ask for at code hosts.

use std::time::Duration;

use copydesk_domain::{Actor, Ask, JobId, Person, ProjectId, Prompt, Window};
use copydesk_store::{Admission, AskState, Asked, Grant, Store};
use futures_util::future::join_all;

use crate::desk::{Desk, HOUR, MILLISECOND, OFF, SECOND, new_job, render};

behaviours! {
    what_is_told_twice_is_there_once,
    one_looks_at_a_time,
    of_many_who_grant_one_does,
    what_is_granted_stays_so_however_often_it_is_told,
    what_was_refused_is_looked_at_again_when_it_is_told_again,
    what_is_told_while_somebody_looks_is_looked_at_again,
    it_is_due_again_when_its_job_has_ended,
    a_follow_up_is_the_message_it_was_granted_as,
    a_limit_that_is_reached_grants_nothing,
    too_much_at_once_is_refused,
    comments_are_forgotten_after_long_and_labels_are_not,
    asks_go_with_their_project,
    what_is_released_is_answered_and_can_be_asked_for_again,
    what_may_have_been_there_before_is_not_looked_at_again,
}

const HOLD: Duration = Duration::from_secs(60);

fn comment(id: u64) -> Ask {
    Ask::Comment { pull: 7, id }
}

fn label(issue: u64, by: &str) -> Ask {
    Ask::Labelled { issue, by: Person { id: by.to_owned(), name: by.to_owned() }, said: None }
}

async fn hear(desk: &Desk, project: &ProjectId, ask: Ask) {
    assert!(desk.store.hear(project, vec![ask]).await.unwrap());
}

async fn take(desk: &Desk) -> Option<Asked> {
    desk.store.take_ask(HOLD).await.unwrap()
}

async fn grant(store: &Store, asked: &Asked) -> Option<Admission> {
    let new = Grant::Job(new_job(&asked.project_id));
    store.by(Actor::host("ada")).grant_ask(asked, new, OFF, render).await.unwrap()
}

async fn state(desk: &Desk, project: &ProjectId, ask: &Ask) -> Asked {
    desk.store.ask(project, &ask.key()).await.unwrap().unwrap()
}

async fn what_is_told_twice_is_there_once(desk: Desk) {
    let project = desk.project("Docs").await;
    for _ in 0..3 {
        hear(&desk, &project, comment(1)).await;
    }
    let asked = take(&desk).await.unwrap();
    assert_eq!((asked.ask.clone(), asked.state, asked.tries), (comment(1), AskState::Heard, 1));
    assert_eq!(take(&desk).await, None);
    assert_eq!(desk.store.asks(&project, 10).await.unwrap().len(), 1);
}

async fn one_looks_at_a_time(desk: Desk) {
    let project = desk.project("Docs").await;
    for id in 0..8 {
        hear(&desk, &project, comment(id)).await;
    }
    let stores = desk.several_beside(4).await;
    let taken = join_all(stores.iter().flat_map(|store| (0..4).map(|_| store.take_ask(HOLD)))).await;
    let mut keys: Vec<String> = taken.into_iter().filter_map(|taken| taken.unwrap()).map(|asked| asked.key).collect();
    keys.sort();
    let all = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), all, "none was taken twice");
    while let Some(asked) = take(&desk).await {
        keys.push(asked.key);
    }
    assert_eq!(keys.len(), 8);
    desk.advance(HOLD);
    assert!(take(&desk).await.is_some(), "whoever looked has died");
}

async fn of_many_who_grant_one_does(desk: Desk) {
    let project = desk.project("Docs").await;
    hear(&desk, &project, label(3, "ada")).await;
    let asked = take(&desk).await.unwrap();
    let stores = desk.several_beside(4).await;
    let granted = join_all(stores.iter().map(|store| grant(store, &asked))).await;
    assert_eq!(granted.iter().flatten().count(), 1, "{granted:?}");
    let jobs = desk.jobs(&project).await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].made_by.as_deref(), Some("ada at the code host"));
    let now = state(&desk, &project, &asked.ask).await;
    assert_eq!((now.state, now.job_id.as_ref(), now.message), (AskState::Granted, Some(&jobs[0].id), Some(1)));
    assert_eq!(desk.store.ask_of_job(&jobs[0].id).await.unwrap().unwrap().key, asked.key);
}

async fn what_is_granted_stays_so_however_often_it_is_told(desk: Desk) {
    let project = desk.project("Docs").await;
    hear(&desk, &project, label(3, "ada")).await;
    let asked = take(&desk).await.unwrap();
    grant(&desk.store, &asked).await.unwrap();
    desk.advance(HOUR);
    hear(&desk, &project, label(3, "eve")).await;
    assert_eq!(take(&desk).await, None, "its job still runs");
    assert_eq!(grant(&desk.store, &asked).await, None);
    // Whoever was slow must not undo it.
    desk.store.refuse_ask(&asked, "too late").await.unwrap();
    desk.store.forget_ask(&Asked { heard_at: desk.now(), ..asked.clone() }).await.unwrap();
    assert_eq!(state(&desk, &project, &asked.ask).await.state, AskState::Granted);
    // Only who has looked at it as it is now can forget it.
    desk.store.forget_ask(&state(&desk, &project, &asked.ask).await).await.unwrap();
    assert_eq!(desk.store.ask(&project, &asked.key).await.unwrap(), None);
}

async fn what_was_refused_is_looked_at_again_when_it_is_told_again(desk: Desk) {
    let project = desk.project("Docs").await;
    hear(&desk, &project, label(3, "eve")).await;
    let asked = take(&desk).await.unwrap();
    desk.store.refuse_ask(&asked, &format!("eve may not\0{}", "x".repeat(1000))).await.unwrap();
    let refused = state(&desk, &project, &asked.ask).await;
    assert_eq!(refused.state, AskState::Refused);
    assert!(refused.note.unwrap().starts_with("eve may not\u{fffd}x"));
    desk.advance(HOUR);
    assert_eq!(take(&desk).await, None);
    hear(&desk, &project, label(3, "ada")).await;
    assert_eq!(take(&desk).await.unwrap().ask, label(3, "ada"));
}

async fn what_is_told_while_somebody_looks_is_looked_at_again(desk: Desk) {
    let project = desk.project("Docs").await;
    hear(&desk, &project, label(3, "eve")).await;
    let asked = take(&desk).await.unwrap();
    // In the same millisecond.
    hear(&desk, &project, label(3, "ada")).await;
    assert_eq!(take(&desk).await, None, "somebody is looking");
    desk.store.refuse_ask(&asked, "eve may not").await.unwrap();
    let again = take(&desk).await.unwrap();
    assert_eq!((again.ask.clone(), again.state), (label(3, "ada"), AskState::Heard));
    let nudge = Ask::Reviews { pull: 7 };
    hear(&desk, &project, nudge.clone()).await;
    let first = take(&desk).await.unwrap();
    desk.advance(MILLISECOND);
    hear(&desk, &project, nudge.clone()).await;
    desk.store.forget_ask(&first).await.unwrap();
    let second = take(&desk).await.unwrap();
    desk.store.forget_ask(&second).await.unwrap();
    assert_eq!(desk.store.ask(&project, &nudge.key()).await.unwrap(), None);
}

async fn it_is_due_again_when_its_job_has_ended(desk: Desk) {
    let project = desk.project("Docs").await;
    hear(&desk, &project, label(3, "ada")).await;
    grant(&desk.store, &take(&desk).await.unwrap()).await.unwrap();
    assert_eq!(take(&desk).await, None);
    let claimed = desk.claim("w").await;
    desk.finish(&claimed).await;
    let asked = take(&desk).await.unwrap();
    assert_eq!(asked.state, AskState::Granted);
    desk.store.put_off_ask(&asked, desk.now().plus(SECOND), "the host is away").await.unwrap();
    assert_eq!(take(&desk).await, None);
    desk.advance(SECOND);
    let asked = take(&desk).await.unwrap();
    assert_eq!((asked.note.as_deref(), asked.tries), (Some("the host is away"), 2));
    desk.store.end_ask(&asked, None).await.unwrap();
    desk.advance(HOUR);
    assert_eq!(take(&desk).await, None);
    assert_eq!(state(&desk, &project, &asked.ask).await.state, AskState::Answered);
}

async fn a_follow_up_is_the_message_it_was_granted_as(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.create(&project).await;
    let claimed = desk.claim("w").await;
    desk.finish(&claimed).await;
    hear(&desk, &project, comment(1)).await;
    let asked = take(&desk).await.unwrap();
    let follow_up = |job: &JobId| Grant::FollowUp(job.clone(), Prompt::parse("More.").unwrap());
    let done = desk.store.grant_ask(&asked, follow_up(&job), OFF, render).await.unwrap();
    assert!(matches!(done, Some(Admission::Done { .. })), "{done:?}");
    assert_eq!(state(&desk, &project, &asked.ask).await.message, Some(2));
    assert_eq!(desk.store.messages(&job).await.unwrap().len(), 2);
    assert_eq!(desk.store.ask_of_job(&job).await.unwrap(), None, "the job was made by somebody else");
    desk.store.archive_job(&project, &job).await.unwrap();
    hear(&desk, &project, comment(2)).await;
    let asked = desk.store.asks(&project, 10).await.unwrap().into_iter().find(|it| it.key == comment(2).key()).unwrap();
    let done = desk.store.grant_ask(&asked, follow_up(&job), OFF, render).await.unwrap();
    assert!(matches!(done, Some(Admission::Refused(_))), "{done:?}");
    assert_eq!(state(&desk, &project, &asked.ask).await.state, AskState::Heard, "nothing was granted");
}

async fn a_limit_that_is_reached_grants_nothing(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    hear(&desk, &project, label(3, "ada")).await;
    let asked = take(&desk).await.unwrap();
    let one_an_hour = Window::hourly(1);
    let done = desk.store.grant_ask(&asked, Grant::Job(new_job(&project)), one_an_hour, render).await.unwrap();
    assert!(matches!(done, Some(Admission::Limited(_))), "{done:?}");
    assert_eq!(desk.jobs(&project).await.len(), 1);
    desk.advance(HOUR);
    let asked = take(&desk).await.unwrap();
    let done = desk.store.grant_ask(&asked, Grant::Job(new_job(&project)), one_an_hour, render).await.unwrap();
    assert!(matches!(done, Some(Admission::Done { .. })), "{done:?}");
}

async fn too_much_at_once_is_refused(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.project("Other").await);
    assert!(desk.store.hear(&project, (0..1000).map(comment).collect()).await.unwrap());
    assert!(!desk.store.hear(&project, vec![comment(1000)]).await.unwrap());
    assert_eq!(desk.store.ask(&project, &comment(1000).key()).await.unwrap(), None);
    hear(&desk, &other, comment(1000)).await;
    desk.store.refuse_ask(&take(&desk).await.unwrap(), "no").await.unwrap();
    hear(&desk, &project, comment(1000)).await;
}

async fn comments_are_forgotten_after_long_and_labels_are_not(desk: Desk) {
    let project = desk.project("Docs").await;
    for ask in [comment(1), label(3, "ada"), label(4, "eve")] {
        hear(&desk, &project, ask).await;
        let asked = take(&desk).await.unwrap();
        if asked.ask == label(4, "eve") {
            desk.store.refuse_ask(&asked, "no").await.unwrap();
        } else {
            grant(&desk.store, &asked).await.unwrap();
            let claimed = desk.claim("w").await;
            desk.finish(&claimed).await;
            desk.store.end_ask(&asked, None).await.unwrap();
        }
    }
    hear(&desk, &project, comment(2)).await;
    desk.advance(HOUR * 24 * 179);
    desk.store.purge().await.unwrap();
    assert_eq!(desk.store.asks(&project, 10).await.unwrap().len(), 4);
    desk.advance(HOUR * 24 * 2);
    desk.store.purge().await.unwrap();
    let mut kept: Vec<String> = desk.store.asks(&project, 10).await.unwrap().into_iter().map(|it| it.key).collect();
    kept.sort();
    assert_eq!(kept, [comment(2).key(), label(3, "ada").key()], "what waits, and what its issue may still have");
}

async fn asks_go_with_their_project(desk: Desk) {
    let project = desk.project("Docs").await;
    hear(&desk, &project, label(3, "ada")).await;
    let asked = take(&desk).await.unwrap();
    grant(&desk.store, &asked).await.unwrap();
    assert!(desk.store.delete_project(&project).await.unwrap());
    assert_eq!(desk.store.ask(&project, &asked.key).await.unwrap(), None);
    assert_eq!(grant(&desk.store, &asked).await, None);
}

async fn what_is_released_is_answered_and_can_be_asked_for_again(desk: Desk) {
    let project = desk.project("Docs").await;
    hear(&desk, &project, label(3, "ada")).await;
    grant(&desk.store, &take(&desk).await.unwrap()).await.unwrap();
    let first = state(&desk, &project, &label(3, "ada")).await;
    desk.store.release_ask(&first).await.unwrap();
    hear(&desk, &project, label(3, "ada")).await;
    grant(&desk.store, &take(&desk).await.unwrap()).await.unwrap();
    assert_eq!(desk.jobs(&project).await.len(), 2);
    for _ in 0..2 {
        let claimed = desk.claim("w").await;
        desk.finish(&claimed).await;
        let asked = take(&desk).await.unwrap();
        assert_eq!(asked.job_id.as_ref(), Some(&claimed.job.id));
        desk.store.end_ask(&asked, None).await.unwrap();
    }
    desk.store.release_ask(&state(&desk, &project, &label(3, "ada")).await).await.unwrap();
    assert_eq!(desk.store.ask(&project, &label(3, "ada").key()).await.unwrap(), None, "it was answered");
}

async fn what_may_have_been_there_before_is_not_looked_at_again(desk: Desk) {
    let project = desk.project("Docs").await;
    assert!(desk.store.hear_new(&project, vec![label(3, "eve")]).await.unwrap());
    desk.store.refuse_ask(&take(&desk).await.unwrap(), "eve may not").await.unwrap();
    assert!(desk.store.hear_new(&project, vec![label(3, "ada"), label(4, "ada")]).await.unwrap());
    assert_eq!(take(&desk).await.unwrap().ask, label(4, "ada"));
    assert_eq!(take(&desk).await, None);
}
