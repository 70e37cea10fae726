//! Projects: their ids, their fields, and what goes with them.

use std::collections::BTreeSet;
use std::path::Path;

use copydesk_domain::{
    Comments, Dollars, HostKind, HostSettings, OnFindings, Outcome, Project, ProjectId, Repository, Scope,
    ViewSettings, Window, WritePaths,
};
use copydesk_store::{Admission, DeedFilter, NewKey, NewProject, ProjectChange, StoreError};
use futures_util::future::join_all;

use crate::desk::{Desk, LEASE, OFF, SECOND, heartbeat, key, new_job, new_project, render};
use crate::raw;

behaviours! {
    a_project_reads_back_as_it_was_made,
    a_domain_belongs_to_one_project,
    an_id_comes_from_the_name,
    an_id_that_was_asked_for_and_is_taken_is_refused,
    a_taken_id_that_was_derived_gets_a_suffix,
    projects_made_at_the_same_instant_get_ids_of_their_own,
    an_id_asked_for_at_the_same_instant_goes_to_one,
    each_field_is_changed_alone,
    a_limit_goes_back_to_the_default,
    the_audit_log_names_what_became_different,
    changes_made_at_the_same_instant_are_all_kept,
    an_unknown_project_is_neither_read_nor_changed_nor_deleted,
    projects_are_listed_by_id,
    deleting_a_project_takes_everything_of_it_and_nothing_else,
    the_worker_of_a_deleted_project_has_lost_its_lease,
    a_project_made_anew_under_a_deleted_id_starts_empty,
}

async fn a_project_reads_back_as_it_was_made(desk: Desk) {
    let new = NewProject {
        id: Some(ProjectId::parse("handbook").unwrap()),
        name: "Händbuch \"2\"".to_owned(),
        repository: Repository::parse("git@example.com:acme/docs.git", Path::new("/")).unwrap(),
        base_ref: "trunk".to_owned(),
        docs_paths: vec!["docs".to_owned(), "site/content".to_owned()],
        write_paths: WritePaths { allow: vec!["data/*.json".to_owned()], deny: vec!["docs/legal".to_owned()] },
        time_zone: "Europe/Berlin".to_owned(),
        jobs_per_hour: Some(0),
        max_running: Some(7),
        time_limit_seconds: Some(u32::MAX),
        job_cost: Some(Dollars::rounded(1_000_000.0)),
        on_findings: OnFindings::Fail,
        views: ViewSettings {
            domains: vec!["docs.example.com".to_owned()],
            keep_days: Some(400),
            ..ViewSettings::default()
        },
        host: HostSettings {
            kind: Some(HostKind::Forgejo),
            api_url: Some("https://git.example.com/api/v1".to_owned()),
            ca_file: Some("/etc/ca.pem".to_owned()),
            accept_any_certificate: true,
            comments: Comments::All,
            mention: Some("docs-bot".to_owned()),
            job_label: Some("docs".to_owned()),
            labels: vec!["by copydesk".to_owned()],
            reviewers: vec!["ada".to_owned()],
        },
    };
    let wanted = Project {
        id: "handbook".into(),
        name: new.name.clone(),
        repository: new.repository.clone(),
        base_ref: new.base_ref.clone(),
        docs_paths: new.docs_paths.clone(),
        write_paths: new.write_paths.clone(),
        time_zone: new.time_zone.clone(),
        jobs_per_hour: Some(0),
        max_running: Some(7),
        time_limit_seconds: Some(u32::MAX),
        job_cost: Some(Dollars::rounded(1_000_000.0)),
        on_findings: OnFindings::Fail,
        views: new.views.clone(),
        host: new.host.clone(),
        created_at: desk.now(),
        updated_at: desk.now(),
    };
    assert_eq!(desk.store.create_project(new).await.unwrap(), Some(wanted.clone()));
    assert_eq!(desk.store.project(&"handbook".into()).await.unwrap(), Some(wanted));
}

async fn a_domain_belongs_to_one_project(desk: Desk) {
    let views = |domains: &[&str]| ViewSettings {
        domains: domains.iter().map(|it| (*it).to_owned()).collect(),
        ..ViewSettings::default()
    };
    let asked = |name: &str, domains| NewProject { views: views(domains), ..new_project(name) };
    let first = desk.store.create_project(asked("First", &["a.example", "b.example"])).await.unwrap().unwrap();
    let error = desk.store.create_project(asked("Second", &["c.example", "b.example"])).await.unwrap_err();
    assert!(matches!(&error, StoreError::DomainTaken(domain) if domain == "b.example"), "{error}");
    assert_eq!(desk.store.project(&"second".into()).await.unwrap(), None, "all or nothing");

    assert_eq!(desk.store.project_of_domain("b.example").await.unwrap().map(|it| it.id), Some(first.id.clone()));
    let change = ProjectChange { views: Some(views(&["b.example"])), ..ProjectChange::default() };
    desk.store.update_project(&first.id, change).await.unwrap().unwrap();
    assert_eq!(desk.store.project_of_domain("a.example").await.unwrap(), None);
    let second = desk.store.create_project(asked("Second", &["a.example"])).await.unwrap().unwrap();
    assert_eq!(desk.store.project_of_domain("a.example").await.unwrap(), Some(second));
    desk.store.delete_project(&first.id).await.unwrap();
    assert_eq!(desk.store.project_of_domain("b.example").await.unwrap(), None);
}

async fn an_id_comes_from_the_name(desk: Desk) {
    assert_eq!(desk.project("Acme Docs (v2)!").await, "acme-docs-v2".into());
    assert_eq!(desk.project("文档").await, "project".into());
}

async fn an_id_that_was_asked_for_and_is_taken_is_refused(desk: Desk) {
    let asked = |name: &str| NewProject { id: Some(ProjectId::parse("docs").unwrap()), ..new_project(name) };
    let first = desk.store.create_project(asked("First")).await.unwrap().unwrap();
    assert_eq!(desk.store.create_project(asked("Second")).await.unwrap(), None);
    assert_eq!(desk.store.projects().await.unwrap(), [first]);
}

async fn a_taken_id_that_was_derived_gets_a_suffix(desk: Desk) {
    let long = "a".repeat(80);
    for name in ["Docs", &long] {
        let ids = [desk.project(name).await, desk.project(name).await, desk.project(name).await];
        assert_eq!(BTreeSet::from(ids.clone()).len(), 3, "{ids:?}");
        for id in &ids[1..] {
            assert!(id.starts_with(&format!("{}-", ids[0])), "{id}");
            assert!(ProjectId::parse(id).is_ok(), "{id}");
        }
    }
}

async fn projects_made_at_the_same_instant_get_ids_of_their_own(desk: Desk) {
    let other = desk.beside().await;
    let made = (0..20).map(|at| {
        let store = if at % 2 == 0 { desk.store.clone() } else { other.clone() };
        tokio::spawn(async move { store.create_project(new_project("Docs")).await.unwrap().unwrap().id })
    });
    let ids: BTreeSet<_> = join_all(made).await.into_iter().map(|id| id.unwrap()).collect();
    assert_eq!(ids.len(), 20);
    assert_eq!(desk.store.projects().await.unwrap().len(), 20);
}

async fn an_id_asked_for_at_the_same_instant_goes_to_one(desk: Desk) {
    let other = desk.beside().await;
    let made = (0..10).map(|at| {
        let store = if at % 2 == 0 { desk.store.clone() } else { other.clone() };
        let new = NewProject { id: Some(ProjectId::parse("docs").unwrap()), ..new_project("Docs") };
        tokio::spawn(async move { store.create_project(new).await.unwrap() })
    });
    let made = join_all(made).await.into_iter().filter(|project| project.as_ref().unwrap().is_some()).count();
    assert_eq!(made, 1);
}

async fn each_field_is_changed_alone(desk: Desk) {
    type Step = (fn(&mut ProjectChange), fn(&mut Project));
    let steps: [Step; 13] = [
        (|_| {}, |_| {}),
        (|change| change.name = Some("New".to_owned()), |project| project.name = "New".to_owned()),
        (
            |change| change.repository = Some(Repository::from_stored("https://example.com/new.git".to_owned())),
            |project| project.repository = Repository::from_stored("https://example.com/new.git".to_owned()),
        ),
        (|change| change.base_ref = Some("next".to_owned()), |project| project.base_ref = "next".to_owned()),
        (|change| change.docs_paths = Some(vec![".".to_owned()]), |project| project.docs_paths = vec![".".to_owned()]),
        (
            |change| change.write_paths = Some(WritePaths { allow: vec!["x".to_owned()], deny: vec![] }),
            |project| project.write_paths.allow = vec!["x".to_owned()],
        ),
        (
            |change| change.time_zone = Some("Asia/Tokyo".to_owned()),
            |project| project.time_zone = "Asia/Tokyo".to_owned(),
        ),
        (|change| change.jobs_per_hour = Some(Some(5)), |project| project.jobs_per_hour = Some(5)),
        (|change| change.max_running = Some(Some(6)), |project| project.max_running = Some(6)),
        (|change| change.time_limit_seconds = Some(Some(7)), |project| project.time_limit_seconds = Some(7)),
        (
            |change| change.job_cost = Some(Some(Dollars::rounded(0.000_001))),
            |project| project.job_cost = Some(Dollars::from_millionths(1)),
        ),
        (|change| change.on_findings = Some(OnFindings::Fail), |project| project.on_findings = OnFindings::Fail),
        (
            |change| change.host = Some(HostSettings { kind: Some(HostKind::Gitlab), ..HostSettings::default() }),
            |project| project.host.kind = Some(HostKind::Gitlab),
        ),
    ];
    let id = desk.project("Docs").await;
    let mut wanted = desk.store.project(&id).await.unwrap().unwrap();
    for (ask, expect) in steps {
        desk.advance(SECOND);
        let mut change = ProjectChange::default();
        ask(&mut change);
        expect(&mut wanted);
        wanted.updated_at = desk.now();
        assert_eq!(desk.store.update_project(&id, change).await.unwrap(), Some(wanted.clone()));
        assert_eq!(desk.store.project(&id).await.unwrap(), Some(wanted.clone()));
    }
}

async fn a_limit_goes_back_to_the_default(desk: Desk) {
    let new = NewProject {
        jobs_per_hour: Some(1),
        max_running: Some(2),
        time_limit_seconds: Some(3),
        job_cost: Some(Dollars::rounded(4.5)),
        ..new_project("Docs")
    };
    let id = desk.store.create_project(new).await.unwrap().unwrap().id;
    let limits = |project: Project| (project.jobs_per_hour, project.max_running, project.time_limit_seconds);
    let back = [
        (ProjectChange { jobs_per_hour: Some(None), ..ProjectChange::default() }, (None, Some(2), Some(3))),
        (ProjectChange { max_running: Some(None), ..ProjectChange::default() }, (None, None, Some(3))),
        (ProjectChange { time_limit_seconds: Some(None), ..ProjectChange::default() }, (None, None, None)),
    ];
    for (change, wanted) in back {
        desk.store.update_project(&id, change).await.unwrap().unwrap();
        let project = desk.store.project(&id).await.unwrap().unwrap();
        assert_eq!(project.job_cost, Some(Dollars::rounded(4.5)), "it is left alone");
        assert_eq!(limits(project), wanted);
    }
    let change = ProjectChange { job_cost: Some(None), ..ProjectChange::default() };
    assert_eq!(desk.store.update_project(&id, change).await.unwrap().unwrap().job_cost, None);
    assert_eq!(desk.store.project(&id).await.unwrap().unwrap().job_cost, None);
}

async fn changes_made_at_the_same_instant_are_all_kept(desk: Desk) {
    let (id, other) = (desk.project("Docs").await, desk.beside().await);
    for round in 0..10 {
        let name = ProjectChange { name: Some(format!("Docs {round}")), ..ProjectChange::default() };
        let limit = ProjectChange { max_running: Some(Some(round)), ..ProjectChange::default() };
        let (one, two) = tokio::join!(desk.store.update_project(&id, name), other.update_project(&id, limit));
        assert!(one.unwrap().is_some() && two.unwrap().is_some());
        let project = desk.store.project(&id).await.unwrap().unwrap();
        assert_eq!((project.name, project.max_running), (format!("Docs {round}"), Some(round)));
    }
}

async fn an_unknown_project_is_neither_read_nor_changed_nor_deleted(desk: Desk) {
    desk.project("Docs").await;
    let change = ProjectChange { name: Some("New".to_owned()), ..ProjectChange::default() };
    assert_eq!(desk.store.project(&"nobody".into()).await.unwrap(), None);
    assert_eq!(desk.store.update_project(&"nobody".into(), change).await.unwrap(), None);
    assert!(!desk.store.delete_project(&"nobody".into()).await.unwrap());
    assert_eq!(desk.store.projects().await.unwrap()[0].name, "Docs");
}

async fn projects_are_listed_by_id(desk: Desk) {
    for name in ["b", "a-b", "a", "ab", "a1"] {
        desk.project(name).await;
    }
    let projects = desk.store.projects().await.unwrap();
    let ids: Vec<_> = projects.iter().map(|project| project.id.as_str()).collect();
    assert_eq!(ids, ["a", "a-b", "a1", "ab", "b"], "by bytes, on every database and in every locale");
}

const OF_PROJECTS: [&str; 10] = [
    "projects",
    "admin_keys",
    "jobs",
    "messages",
    "events",
    "idempotency",
    "outbox",
    "webhook_endpoints",
    "secrets",
    "webhook_deliveries",
];

async fn rows(desk: &Desk) -> Vec<i64> {
    let mut counts = Vec::new();
    for table in OF_PROJECTS {
        counts.push(raw::number(desk.db.address(), &format!("SELECT count(*) FROM {table}")).await);
    }
    counts
}

/// A key, a waiting job with its idempotency key, a job that is held, a finished and an archived one.
async fn fill(desk: &Desk, project: &ProjectId) -> copydesk_store::Claimed {
    let new = NewKey { project_id: Some(project.clone()), name: "CI".to_owned(), scope: Scope::Read, expires_at: None };
    desk.store.create_key(new).await.unwrap().unwrap();
    let hook = crate::webhooks::hook(desk, project).await;
    desk.store.take_test(&hook, |_| "{}".to_owned(), LEASE).await.unwrap().unwrap();
    desk.ended(project, Outcome::NoChanges).await;
    let archived = desk.ended(project, Outcome::Error).await;
    desk.store.archive_job(project, &archived).await.unwrap().unwrap();
    let held = desk.create(project).await;
    let claimed = desk.claim("worker").await;
    assert_eq!(claimed.job.id, held);
    desk.message(project, &held).await;
    let waiting = NewKey { project_id: None, name: "all".to_owned(), scope: Scope::Write, expires_at: None };
    desk.store.create_key(waiting).await.unwrap().unwrap();
    let mut later = new_job(project);
    later.model = "later".to_owned();
    desk.store.create_job(later, OFF, key("once", "a"), render).await.unwrap();
    claimed
}

async fn deleting_a_project_takes_everything_of_it_and_nothing_else(desk: Desk) {
    let (kept, lost) = (desk.project("Kept").await, desk.project("Lost").await);
    let kept_claim = fill(&desk, &kept).await;
    let before = rows(&desk).await;
    fill(&desk, &lost).await;
    assert!(rows(&desk).await.iter().zip(&before).skip(1).all(|(now, then)| now > then), "each table has rows to lose");
    assert!(desk.store.delete_project(&lost).await.unwrap());
    let mut wanted = before;
    wanted[0] -= 1;
    // The key that `fill` makes for all projects belongs to neither of them.
    wanted[1] += 1;
    assert_eq!(rows(&desk).await, wanted);
    assert_eq!(desk.store.project(&lost).await.unwrap(), None);
    assert!(desk.jobs(&lost).await.is_empty());
    assert!(heartbeat(&desk.store, &kept_claim.lease, LEASE).await.is_ok());
}

async fn the_worker_of_a_deleted_project_has_lost_its_lease(desk: Desk) {
    let project = desk.project("Docs").await;
    desk.create(&project).await;
    let claimed = desk.claim("worker").await;
    assert!(desk.store.delete_project(&project).await.unwrap());
    crate::fencing::assert_lost(&desk, &claimed).await;
}

async fn a_project_made_anew_under_a_deleted_id_starts_empty(desk: Desk) {
    let project = desk.project("Docs").await;
    let create = || desk.store.create_job(new_job(&"docs".into()), Window::hourly(1), key("once", "a"), render);
    let Admission::Done { job_id: first, .. } = create().await.unwrap() else { panic!("admitted") };
    desk.store.delete_project(&project).await.unwrap();
    assert_eq!(create().await.unwrap(), Admission::NotFound);
    assert_eq!(desk.project("Docs").await, project);
    let Admission::Done { job_id: second, replayed, .. } = create().await.unwrap() else { panic!("not limited") };
    assert!(!replayed && first != second);
    assert_eq!(desk.jobs(&project).await.len(), 1);
}

async fn the_audit_log_names_what_became_different(desk: Desk) {
    let id = desk.project("Docs").await;
    let old = desk.store.project(&id).await.unwrap().unwrap();
    let same =
        ProjectChange { views: Some(old.views.clone()), host: Some(old.host.clone()), ..ProjectChange::default() };
    desk.store.update_project(&id, same.clone()).await.unwrap().unwrap();
    let name = Some("Handbook".to_owned());
    desk.store.update_project(&id, ProjectChange { name, ..same }).await.unwrap().unwrap();
    let deeds = desk.store.deeds(DeedFilter { limit: 10, ..DeedFilter::default() }).await.unwrap();
    let told: Vec<_> = deeds.iter().map(|deed| (deed.action.as_str(), deed.detail.as_str())).collect();
    assert_eq!(told[0], ("project.change", "name"));
    assert_eq!(told[1].0, "project.create", "what stays as it is, is no deed");
}
