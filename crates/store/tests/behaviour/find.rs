//! Jobs by what they are about.

use copydesk_domain::{JobId, ProjectId, Prompt};
use copydesk_store::{Edit, NewJob, Round, RoundSources, Step, Verdict};

use crate::desk::{Desk, OFF, admitted, new_job, opened, render};

behaviours! {
    jobs_are_found_by_their_words,
    jobs_are_found_by_the_files_they_changed,
    pull_requests_that_are_open_are_found,
}

async fn made(desk: &Desk, project: &ProjectId, prompt: &str) -> JobId {
    let new = NewJob { prompt: Prompt::parse(prompt).unwrap(), ..new_job(project) };
    admitted(&desk.store.create_job(new, OFF, None, render).await.unwrap()).to_owned()
}

async fn jobs_are_found_by_their_words(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.project("Other").await);
    let typos = made(&desk, &project, "Fix the TYPOS in 100% of _the_ pages").await;
    let nul = made(&desk, &project, "a\0b typos").await;
    made(&desk, &other, "Fix the typos").await;
    let ids = async |text: &str| {
        let jobs = desk.store.find_jobs(&project, text, 10).await.unwrap();
        jobs.into_iter().map(|job| job.id).collect::<Vec<_>>()
    };
    assert!(ids("typos").await.contains(&typos) && !ids("links").await.contains(&nul));
    assert_eq!(ids("100%").await, std::slice::from_ref(&typos));
    assert_eq!(ids("_the_").await, std::slice::from_ref(&typos), "no character means another");
    assert!(ids("%").await.contains(&typos) && ids("100_").await.is_empty());
    assert!(ids("\0").await.is_empty() || ids("\0").await == [nul]);
    assert_eq!(desk.store.find_jobs(&project, "", 1).await.unwrap().len(), 1, "so many at most");
}

async fn jobs_are_found_by_the_files_they_changed(desk: Desk) {
    let project = desk.project("Docs").await;
    let id = desk.create(&project).await;
    let claimed = desk.claim("w").await;
    let round = Round {
        number: 1,
        run: 1,
        first_message: 1,
        base_commit: "b".to_owned(),
        parent_commit: "b".to_owned(),
        merged: None,
        sources: RoundSources::default(),
        edit: None,
        branch: None,
        commit: None,
        pushed: false,
        dropped: false,
    };
    desk.store.advance(&claimed.lease, Some(Step::Prepared(round)), Vec::new()).await.unwrap();
    let diff = "diff --git a/docs/a.md b/docs/a.md\n--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1 +1 @@\n-a\n+docs/b.md\n";
    let edit = Edit {
        title: "A".to_owned(),
        summary: "Done.".to_owned(),
        not_done: Vec::new(),
        taken_through: 1,
        verdict: Verdict::Good,
        checks: Vec::new(),
        changes: Vec::new(),
        diff: diff.as_bytes().to_vec(),
        made_at: desk.now(),
    };
    let step = Step::Edited { round: 1, edit: Box::new(edit), commit: Some(("x".to_owned(), "c".to_owned())) };
    desk.store.advance(&claimed.lease, Some(step), Vec::new()).await.unwrap();
    let changed = async |file: &str| desk.store.jobs_that_changed(&project, file, 10).await.unwrap();
    assert_eq!(changed("docs/a.md").await.into_iter().map(|job| job.id).collect::<Vec<_>>(), [id]);
    for other in ["docs/b.md", "docs/a", "a.md", ""] {
        assert!(changed(other).await.is_empty(), "{other:?}");
    }
    assert!(desk.store.jobs_that_changed(&"other".into(), "docs/a.md", 10).await.unwrap().is_empty());
}

async fn pull_requests_that_are_open_are_found(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    let claimed = desk.claim("w").await;
    desk.store.advance(&claimed.lease, Some(Step::Opened { pull: opened("http://x/7") }), Vec::new()).await.unwrap();
    desk.finish(&claimed).await;
    let open = async |project: &ProjectId| desk.store.open_pulls(project, 10).await.unwrap().len();
    assert_eq!((open(&project).await, open(&"other".into()).await), (1, 0));
    let merged = copydesk_domain::PullRequest {
        state: copydesk_domain::PullRequestState::Merged,
        merged_at: Some(desk.now()),
        ..opened("http://x/7")
    };
    desk.store.record_pull(&claimed.job.id, &merged).await.unwrap();
    assert_eq!(open(&project).await, 0);
}
