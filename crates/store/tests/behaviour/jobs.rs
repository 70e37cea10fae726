//! Jobs as clients see them: created, read, listed.

use std::collections::BTreeSet;

use copydesk_domain::{
    ChangeRange, Dollars, Job, JobId, MAX_PROMPT_BYTES, Message, Outcome, ProjectId, Prompt, PullRequest,
    PullRequestState, Status, Usage,
};
use copydesk_store::{Admission, JobFilter, NewJob, PullFilter};

use crate::desk::{Desk, OFF, SECOND, admitted, new_job, opened, render};

behaviours! {
    a_new_job_reads_back_as_it_was_asked_for,
    a_job_for_an_unknown_project_is_not_made,
    a_job_is_seen_by_its_own_project_only,
    a_job_is_changed_by_its_own_project_only,
    a_project_that_does_not_exist_has_no_jobs,
    jobs_are_listed_newest_first,
    a_status_filter_lists_those_and_no_others,
    paging_lists_every_job_exactly_once_whatever_the_page_size,
    paging_with_a_filter_lists_every_match_exactly_once,
    jobs_made_while_paging_do_not_disturb_it,
    lists_are_filtered_by_model_text_and_pull_request,
    lists_tell_how_jobs_begin_and_who_has_them,
    a_prompt_of_any_characters_survives,
    a_prompt_of_the_greatest_length_survives,
}

async fn a_new_job_reads_back_as_it_was_asked_for(desk: Desk) {
    let project = desk.project("Docs").await;
    let budget = Some(Dollars::rounded(0.25));
    let range = ChangeRange { source: "sdk".to_owned(), from: "v1.4".to_owned(), to: Some("v1.5".to_owned()) };
    for (draft, open_pull_request, client_reference, max_cost, changes) in
        [(true, false, Some("ticket 7 \"ü\"".to_owned()), budget, Some(range)), (false, true, None, None, None)]
    {
        let new = NewJob {
            project_id: project.clone(),
            repository: "https://example.com/acme/docs".to_owned(),
            base_ref: "release/2".to_owned(),
            model: "claude-x".to_owned(),
            draft,
            open_pull_request,
            client_reference: client_reference.clone(),
            max_cost,
            changes: changes.clone(),
            prompt: Prompt::parse("Explain it.").unwrap(),
        };
        let Admission::Done { job_id, answer, replayed, standing } =
            desk.store.create_job(new, OFF, None, render).await.unwrap()
        else {
            panic!("admitted")
        };
        let wanted = Job {
            id: job_id.clone(),
            project_id: project.clone(),
            status: Status::Active,
            repository: "https://example.com/acme/docs".to_owned(),
            base_ref: "release/2".to_owned(),
            branch: None,
            model: "claude-x".to_owned(),
            draft,
            open_pull_request,
            client_reference,
            max_cost,
            made_by: None,
            changes,
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
            created_at: desk.now(),
            updated_at: desk.now(),
            archived_at: None,
        };
        assert_eq!(desk.job(&project, &job_id).await, wanted);
        assert_eq!((answer, replayed, standing), (render(&wanted), false, None));
        let first = Message { number: 1, prompt: "Explain it.".to_owned(), created_at: desk.now() };
        assert_eq!(desk.store.messages(&job_id).await.unwrap(), [first]);
    }
}

async fn a_job_for_an_unknown_project_is_not_made(desk: Desk) {
    let project = desk.project("Docs").await;
    let asked = desk.store.create_job(new_job(&"nobody".into()), OFF, None, render).await.unwrap();
    assert_eq!(asked, Admission::NotFound);
    assert!(desk.jobs(&"nobody".into()).await.is_empty() && desk.jobs(&project).await.is_empty());
}

async fn a_job_is_seen_by_its_own_project_only(desk: Desk) {
    let (own, other) = (desk.project("Own").await, desk.project("Other").await);
    let id = desk.create(&own).await;
    assert!(desk.store.job(&own, &id).await.unwrap().is_some());
    assert_eq!(desk.store.job(&other, &id).await.unwrap(), None);
    assert_eq!(desk.store.job(&"nobody".into(), &id).await.unwrap(), None);
    assert_eq!(desk.store.job(&own, &"nobody".into()).await.unwrap(), None);
    assert!(desk.jobs(&other).await.is_empty());
}

async fn a_job_is_changed_by_its_own_project_only(desk: Desk) {
    let (own, other) = (desk.project("Own").await, desk.project("Other").await);
    let id = desk.create(&own).await;
    let before = desk.job(&own, &id).await;
    desk.advance(SECOND);
    for (project, job) in [(&other, &id), (&"nobody".into(), &id), (&own, &"nobody".into())] {
        assert_eq!(desk.message(project, job).await, Admission::NotFound);
        assert_eq!(desk.store.cancel_job(project, job).await.unwrap(), None);
        assert_eq!(desk.store.archive_job(project, job).await.unwrap(), None);
    }
    assert_eq!(desk.job(&own, &id).await, before);
    assert_eq!(desk.store.messages(&id).await.unwrap().len(), 1);
    assert_eq!(desk.kinds(&id).await, ["created"]);
}

async fn a_project_that_does_not_exist_has_no_jobs(desk: Desk) {
    assert!(desk.jobs(&"nobody".into()).await.is_empty());
    assert!(desk.store.messages(&"nobody".into()).await.unwrap().is_empty());
    assert!(desk.store.events(&"nobody".into(), 0, 10).await.unwrap().is_empty());
}

/// Jobs made three to the millisecond, newest first.
async fn some_jobs(desk: &Desk, project: &ProjectId, count: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    for at in 0..count {
        if at % 3 == 0 {
            desk.advance(std::time::Duration::from_millis(1));
        }
        ids.push(desk.create(project).await);
    }
    ids.reverse();
    ids
}

async fn page(desk: &Desk, project: &ProjectId, filter: JobFilter) -> Vec<JobId> {
    desk.store.jobs(project, filter).await.unwrap().into_iter().map(|job| job.id).collect()
}

/// Reads page after page as a client does, until one is not full.
async fn read_through(desk: &Desk, project: &ProjectId, status: Option<Status>, limit: u32) -> Vec<JobId> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let ids = page(desk, project, JobFilter { status, before: before.take(), limit, ..JobFilter::default() }).await;
        let full = ids.len() == limit as usize;
        assert!(ids.len() <= limit as usize);
        before = ids.last().cloned();
        all.extend(ids);
        assert!(all.len() <= 1000, "the pages come to no end");
        if !full {
            return all;
        }
    }
}

async fn jobs_are_listed_newest_first(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.project("Other").await);
    let mut wanted = some_jobs(&desk, &project, 5).await;
    some_jobs(&desk, &other, 2).await;
    wanted.splice(0..0, some_jobs(&desk, &project, 2).await);
    assert_eq!(page(&desk, &project, JobFilter { limit: 50, ..JobFilter::default() }).await, wanted);
    assert_eq!(page(&desk, &project, JobFilter { limit: 3, ..JobFilter::default() }).await, wanted[..3]);
}

async fn a_status_filter_lists_those_and_no_others(desk: Desk) {
    let project = desk.project("Docs").await;
    let completed = desk.ended(&project, Outcome::PrCreated).await;
    let failed = desk.ended(&project, Outcome::Error).await;
    let archived = desk.ended(&project, Outcome::NoChanges).await;
    desk.store.archive_job(&project, &archived).await.unwrap();
    let active = desk.create(&project).await;
    let wanted = [
        (Status::Active, active),
        (Status::Completed, completed),
        (Status::Failed, failed),
        (Status::Archived, archived),
    ];
    for (status, id) in wanted {
        let filter = JobFilter { status: Some(status), limit: 50, ..JobFilter::default() };
        assert_eq!(page(&desk, &project, filter).await, [id], "{status:?}");
    }
}

async fn paging_lists_every_job_exactly_once_whatever_the_page_size(desk: Desk) {
    let project = desk.project("Docs").await;
    let wanted = some_jobs(&desk, &project, 23).await;
    for limit in 1..=25 {
        assert_eq!(read_through(&desk, &project, None, limit).await, wanted, "{limit} a page");
    }
}

async fn paging_with_a_filter_lists_every_match_exactly_once(desk: Desk) {
    let project = desk.project("Docs").await;
    let all = some_jobs(&desk, &project, 20).await;
    let cancelled: Vec<_> = all.iter().step_by(3).cloned().collect();
    for id in &cancelled {
        desk.store.cancel_job(&project, id).await.unwrap().unwrap();
    }
    let active: Vec<_> = all.iter().filter(|id| !cancelled.contains(id)).cloned().collect();
    for limit in [1, 2, 3, 6, 7, 8, 13, 50] {
        assert_eq!(read_through(&desk, &project, Some(Status::Failed), limit).await, cancelled, "{limit} a page");
        assert_eq!(read_through(&desk, &project, Some(Status::Active), limit).await, active, "{limit} a page");
    }
}

async fn jobs_made_while_paging_do_not_disturb_it(desk: Desk) {
    let project = desk.project("Docs").await;
    let wanted = some_jobs(&desk, &project, 12).await;
    let (mut all, mut before) = (Vec::new(), None);
    while all.len() < wanted.len() {
        let ids = page(&desk, &project, JobFilter { before, limit: 5, ..JobFilter::default() }).await;
        before = ids.last().cloned();
        all.extend(ids);
        some_jobs(&desk, &project, 4).await;
    }
    assert_eq!(all, wanted);
}

async fn prompts_survive(desk: Desk, prompts: &[String]) {
    let project = desk.project("Docs").await;
    let mut seen = BTreeSet::new();
    for text in prompts {
        let prompt = Prompt::parse(text).unwrap();
        let new = NewJob { prompt: prompt.clone(), ..new_job(&project) };
        let id = admitted(&desk.store.create_job(new, OFF, None, render).await.unwrap()).to_owned();
        desk.store.message_job(&project, &id, prompt, OFF, None, render).await.unwrap();
        let read: Vec<_> = desk.store.messages(&id).await.unwrap().into_iter().map(|it| it.prompt).collect();
        assert_eq!(read, [text.clone(), text.clone()]);
        let claimed = desk.claim("worker").await;
        assert!(claimed.messages.iter().all(|message| message.prompt == *text), "the worker has it too");
        seen.insert(id);
    }
    assert_eq!(seen.len(), prompts.len());
}

async fn a_prompt_of_any_characters_survives(desk: Desk) {
    let odd = ["a\0b", "\u{1}\u{7f}\u{feff}x", "Grüße, 世界 🦀", "'; DROP TABLE jobs; --", "\\x00 $1 ? :a @b {int}"];
    prompts_survive(desk, &odd.map(str::to_owned)).await;
}

async fn a_prompt_of_the_greatest_length_survives(desk: Desk) {
    let long = ["x".repeat(MAX_PROMPT_BYTES), "ä".repeat(MAX_PROMPT_BYTES / 2), "\0".repeat(MAX_PROMPT_BYTES)];
    prompts_survive(desk, &long).await;
}

async fn lists_are_filtered_by_model_text_and_pull_request(desk: Desk) {
    let project = desk.project("Docs").await;
    let mut made = Vec::new();
    for (model, prompt) in
        [("m-1", "Rename Acme CLOUD"), ("m-2", "Fix 100 % of \\000 it_s typos"), ("m-1", "a\0b Überall")]
    {
        let new = NewJob { model: model.to_owned(), prompt: Prompt::parse(prompt).unwrap(), ..new_job(&project) };
        made.push(admitted(&desk.store.create_job(new, OFF, None, render).await.unwrap()).clone());
        desk.advance(SECOND);
    }
    let found = async |filter: JobFilter| {
        let jobs = desk.store.jobs(&project, JobFilter { limit: 50, ..filter }).await.unwrap();
        jobs.iter().map(|job| made.iter().position(|id| *id == job.id).unwrap()).collect::<Vec<_>>()
    };
    let of_model = |model: &str| JobFilter { model: Some(model.to_owned()), ..JobFilter::default() };
    assert_eq!((found(of_model("m-1")).await, found(of_model("m")).await), (vec![2, 0], vec![]));
    let with = |text: &str| JobFilter { text: Some(text.to_owned()), ..JobFilter::default() };
    for (text, wanted) in [
        ("acme cloud", vec![0]),
        ("0 % of", vec![1]),
        ("\\000", vec![1]),
        ("%", vec![1]),
        ("_", vec![1]),
        ("erall", vec![2]),
        ("nowhere", vec![]),
        ("\0nothing", vec![]),
    ] {
        assert_eq!(found(with(text)).await, wanted, "{text:?}");
    }
    let both = JobFilter { model: Some("m-1".to_owned()), before: Some(made[2].clone()), ..with("e") };
    assert_eq!(found(both).await, [0]);
    let pulls = |filter| JobFilter { pulls: Some(filter), ..JobFilter::default() };
    assert_eq!(found(pulls(PullFilter::Any)).await, Vec::<usize>::new());
    let merged = PullRequest { state: PullRequestState::Merged, merged_at: Some(desk.now()), ..opened("http://x/7") };
    desk.store.record_pull(&made[1], &merged).await.unwrap();
    desk.store.record_pull(&made[2], &opened("http://x/8")).await.unwrap();
    assert_eq!(found(pulls(PullFilter::Any)).await, [2, 1]);
    assert_eq!(found(pulls(PullFilter::In(PullRequestState::Merged))).await, [1]);
    assert_eq!(found(pulls(PullFilter::In(PullRequestState::Open))).await, [2]);
}

async fn lists_tell_how_jobs_begin_and_who_has_them(desk: Desk) {
    let project = desk.project("Docs").await;
    let long = "ä".repeat(500);
    let new = NewJob { prompt: Prompt::parse(&long).unwrap(), ..new_job(&project) };
    let first = admitted(&desk.store.create_job(new, OFF, None, render).await.unwrap()).clone();
    desk.advance(SECOND);
    let second = desk.create(&project).await;
    desk.message(&project, &second).await;
    desk.claim("w").await;
    let mut briefs = desk.store.briefs(&[first.clone(), second.clone(), "nobody".into()]).await.unwrap();
    briefs.sort_by(|a, b| a.job_id.cmp(&b.job_id));
    let [one, two] = briefs.as_slice() else { panic!("{briefs:?}") };
    assert_eq!((&one.job_id, one.is_held, &two.job_id, two.is_held), (&first, true, &second, false));
    assert!(long.starts_with(&one.prompt) && one.prompt.len() > 300, "cut between characters: {}", one.prompt);
    assert_eq!(desk.store.briefs(&[]).await.unwrap(), []);
}
