//! The rate limit of a project: exact in every process, sliding to the millisecond.

use std::time::Duration;

use copydesk_domain::{JobId, ProjectId, Prompt, Standing, Window};
use copydesk_store::{Admission, Store};
use futures_util::future::join_all;

use crate::desk::{Desk, HOUR, MILLISECOND, OFF, SECOND, admitted, key, new_job, render};

behaviours! {
    exactly_the_limit_of_creations_at_the_same_instant_passes,
    creations_and_messages_count_together,
    creations_and_messages_at_the_same_instant_count_together,
    replays_do_not_count,
    a_replay_passes_when_the_limit_is_used_up,
    what_is_refused_does_not_count,
    the_window_slides_to_the_millisecond,
    the_standing_counts_down_and_says_when_there_is_room,
    a_limit_that_was_lowered_says_when_there_is_room,
    a_limit_of_zero_is_off,
    each_project_has_its_own_limit,
    archived_jobs_still_count,
}

async fn create(store: &Store, project: &ProjectId, limit: u32) -> Admission {
    store.create_job(new_job(project), Window::hourly(limit), None, render).await.unwrap()
}

async fn message(store: &Store, project: &ProjectId, job: &JobId, limit: u32) -> Admission {
    let prompt = Prompt::parse("More.").unwrap();
    store.message_job(project, job, prompt, Window::hourly(limit), None, render).await.unwrap()
}

fn standing(admission: &Admission) -> Standing {
    match admission {
        Admission::Done { standing: Some(standing), .. } | Admission::Limited(standing) => *standing,
        other => panic!("no standing: {other:?}"),
    }
}

fn passed(admission: &Admission) -> bool {
    match admission {
        Admission::Done { .. } => true,
        Admission::Limited(_) => false,
        other => panic!("neither done nor limited: {other:?}"),
    }
}

async fn exactly_the_limit_of_creations_at_the_same_instant_passes(desk: Desk) {
    let other = desk.beside().await;
    for limit in [1, 7, 49] {
        let project = desk.project(&format!("of {limit}")).await;
        let asked = (0..50).map(|at| {
            let (store, project) = (if at % 2 == 0 { desk.store.clone() } else { other.clone() }, project.clone());
            tokio::spawn(async move { create(&store, &project, limit).await })
        });
        let admissions: Vec<_> = join_all(asked).await.into_iter().map(|asked| asked.unwrap()).collect();
        assert_eq!(admissions.iter().filter(|asked| passed(asked)).count(), limit as usize);
        assert_eq!(desk.jobs(&project).await.len(), limit as usize);
        let mut remaining: Vec<_> =
            admissions.iter().filter(|asked| passed(asked)).map(|asked| standing(asked).remaining).collect();
        remaining.sort_unstable();
        assert_eq!(remaining, (0..limit).collect::<Vec<_>>(), "each was told its own place");
    }
}

async fn creations_and_messages_count_together(desk: Desk) {
    let project = desk.project("Docs").await;
    let first = create(&desk.store, &project, 3).await;
    let job = admitted(&first);
    assert_eq!(standing(&message(&desk.store, &project, job, 3).await).remaining, 1);
    assert_eq!(standing(&create(&desk.store, &project, 3).await).remaining, 0);
    assert!(!passed(&create(&desk.store, &project, 3).await));
    assert!(!passed(&message(&desk.store, &project, job, 3).await));
    assert_eq!(desk.store.messages(job).await.unwrap().len(), 2);
    assert_eq!(desk.jobs(&project).await.len(), 2);
}

async fn creations_and_messages_at_the_same_instant_count_together(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.beside().await);
    let job = desk.create(&project).await;
    let asked = (0..40).map(|at| {
        let store = if at % 4 < 2 { desk.store.clone() } else { other.clone() };
        let (project, job) = (project.clone(), job.clone());
        tokio::spawn(async move {
            if at % 2 == 0 { create(&store, &project, 11).await } else { message(&store, &project, &job, 11).await }
        })
    });
    let passing = join_all(asked).await.into_iter().filter(|asked| passed(asked.as_ref().unwrap())).count();
    assert_eq!(passing, 10);
    let jobs = desk.jobs(&project).await.len();
    assert_eq!(jobs - 1 + desk.store.messages(&job).await.unwrap().len(), 11);
}

async fn replays_do_not_count(desk: Desk) {
    let project = desk.project("Docs").await;
    let ask = || desk.store.create_job(new_job(&project), Window::hourly(2), key("once", "a"), render);
    for _ in 0..5 {
        assert_eq!(standing(&ask().await.unwrap()).remaining, 1);
    }
    assert!(passed(&create(&desk.store, &project, 2).await));
    assert!(!passed(&create(&desk.store, &project, 2).await));
}

async fn a_replay_passes_when_the_limit_is_used_up(desk: Desk) {
    let project = desk.project("Docs").await;
    let ask = || desk.store.create_job(new_job(&project), Window::hourly(1), key("once", "a"), render);
    let first = ask().await.unwrap();
    assert!(!passed(&create(&desk.store, &project, 1).await));
    let again = ask().await.unwrap();
    assert_eq!(admitted(&again), admitted(&first));
    assert_eq!(standing(&again), Standing { limit: 1, remaining: 0, reset_seconds: 3600 });
}

async fn what_is_refused_does_not_count(desk: Desk) {
    let project = desk.project("Docs").await;
    let archived = desk.create(&project).await;
    desk.store.archive_job(&project, &archived).await.unwrap();
    let reuse = |body| desk.store.create_job(new_job(&project), Window::hourly(3), key("once", body), render);
    assert_eq!(standing(&reuse("a").await.unwrap()).remaining, 1);
    for _ in 0..5 {
        assert!(matches!(message(&desk.store, &project, &archived, 3).await, Admission::Refused(_)));
        assert_eq!(message(&desk.store, &project, &"nobody".into(), 3).await, Admission::NotFound);
        assert_eq!(reuse("b").await.unwrap(), Admission::KeyReused);
    }
    assert_eq!(standing(&create(&desk.store, &project, 3).await).remaining, 0);
    for _ in 0..5 {
        assert!(!passed(&create(&desk.store, &project, 3).await));
    }
    desk.advance(HOUR);
    assert_eq!(standing(&create(&desk.store, &project, 3).await).remaining, 2, "the limited ones left no trace");
}

async fn the_window_slides_to_the_millisecond(desk: Desk) {
    let project = desk.project("Docs").await;
    assert!(passed(&create(&desk.store, &project, 2).await));
    desk.advance(MILLISECOND);
    assert!(passed(&create(&desk.store, &project, 2).await));
    desk.advance(HOUR - MILLISECOND - MILLISECOND);
    assert!(!passed(&create(&desk.store, &project, 2).await), "the first still counts");
    desk.advance(MILLISECOND);
    assert!(passed(&create(&desk.store, &project, 2).await), "the first no longer counts");
    assert!(!passed(&create(&desk.store, &project, 2).await), "the second still does");
    desk.advance(MILLISECOND);
    assert!(passed(&create(&desk.store, &project, 2).await));
    assert!(!passed(&create(&desk.store, &project, 2).await));
}

async fn the_standing_counts_down_and_says_when_there_is_room(desk: Desk) {
    let project = desk.project("Docs").await;
    let expect = |remaining, reset_seconds| Standing { limit: 3, remaining, reset_seconds };
    assert_eq!(standing(&create(&desk.store, &project, 3).await), expect(2, 3600));
    desk.advance(SECOND * 10);
    assert_eq!(standing(&create(&desk.store, &project, 3).await), expect(1, 3590));
    desk.advance(MILLISECOND);
    assert_eq!(standing(&create(&desk.store, &project, 3).await), expect(0, 3590), "rounded up");
    let limited = create(&desk.store, &project, 3).await;
    assert_eq!(limited, Admission::Limited(expect(0, 3590)));
    desk.advance(SECOND * 3590);
    assert_eq!(standing(&create(&desk.store, &project, 3).await), expect(0, 10), "waiting so long was enough");
}

async fn a_limit_that_was_lowered_says_when_there_is_room(desk: Desk) {
    let project = desk.project("Docs").await;
    for _ in 0..5 {
        assert!(passed(&create(&desk.store, &project, 5).await));
        desk.advance(SECOND * 10);
    }
    let limited = create(&desk.store, &project, 2).await;
    assert!(!passed(&limited));
    let wait = standing(&limited).reset_seconds;
    desk.advance(Duration::from_secs(wait - 1));
    assert!(!passed(&create(&desk.store, &project, 2).await), "less would not do");
    desk.advance(SECOND);
    assert!(passed(&create(&desk.store, &project, 2).await));
}

async fn a_limit_of_zero_is_off(desk: Desk) {
    let project = desk.project("Docs").await;
    for _ in 0..30 {
        let asked = desk.store.create_job(new_job(&project), OFF, None, render).await.unwrap();
        assert!(matches!(asked, Admission::Done { standing: None, .. }));
        let asked = message(&desk.store, &project, admitted(&asked), 0).await;
        assert!(matches!(asked, Admission::Done { standing: None, .. }));
    }
    let limited = create(&desk.store, &project, 60).await;
    assert!(!passed(&limited), "they count once there is a limit");
}

async fn each_project_has_its_own_limit(desk: Desk) {
    let (one, other) = (desk.project("One").await, desk.project("Other").await);
    assert!(passed(&create(&desk.store, &one, 1).await));
    assert!(!passed(&create(&desk.store, &one, 1).await));
    assert!(passed(&create(&desk.store, &other, 1).await));
}

async fn archived_jobs_still_count(desk: Desk) {
    let project = desk.project("Docs").await;
    let first = create(&desk.store, &project, 1).await;
    desk.store.archive_job(&project, admitted(&first)).await.unwrap();
    assert!(!passed(&create(&desk.store, &project, 1).await));
}
