//! Reading jobs, one and many.

use std::collections::HashSet;

use copydesk_domain::Scope;
use copydesk_testkit::ProjectClient;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cancel_archive::one_of_each;
use crate::stage::Stage;

const UNKNOWN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

async fn head_is_get_without_the_body(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for path in [project.job_path(&id, ""), project.path("jobs"), "/healthz".to_owned(), "/readyz".to_owned()] {
        let get = project.client().get(&path).send().await.expect(200);
        let head = project.client().request(Method::HEAD, &path).send().await.expect(200);
        assert!(head.bytes.is_empty());
        assert_eq!(head.header("content-type"), get.header("content-type"));
        assert_eq!(head.number("content-length"), get.bytes.len() as u64);
    }
    project.client().request(Method::HEAD, &project.job_path(UNKNOWN, "")).send().await.expect(404);
}

/// The seven fields that clients of the interface know, each of its type, and null only where it may be.
async fn the_seven_fields_are_there_whatever_the_status(stage: &Stage) {
    let (project, jobs) = one_of_each(stage).await;
    let mut seen = project.list("").await.expect(200)["jobs"].as_array().unwrap().clone();
    assert_eq!(seen.len(), 4);
    for (status, id) in &jobs {
        let job = project.get(id).await.expect(200);
        assert_eq!(job["status"], *status);
        seen.push(job.json().clone());
    }
    for job in seen {
        for name in ["id", "status", "model", "createdAt"] {
            assert!(job[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {job}");
        }
        assert!(job["source"]["repository"].is_string(), "{job}");
        for (object, name) in [(&job["source"], "ref"), (&job, "prLink"), (&job, "archivedAt")] {
            let value = object.get(name).unwrap_or_else(|| panic!("{name} is missing: {job}"));
            assert!(value.is_null() || value.is_string(), "{name}: {job}");
        }
        assert_eq!(job["archivedAt"].is_string(), job["status"] == "archived");
        assert_eq!(job["outcome"].is_null(), job["status"] == "active");
    }
}

/// Nothing tells a job of somebody else from one that never was.
async fn another_projects_job_is_as_unknown_as_any(stage: &Stage) {
    let app = stage.app().await;
    let (mine, theirs) = (app.project("Mine").await, app.project("Theirs").await);
    let foreign = theirs.job().await;
    let all = mine.with_key(&app.key(None, Scope::Write, None).await);
    let ids = [&foreign, UNKNOWN, "nonsense", "%00", "%2F..%2F", "0", &foreign.to_uppercase(), &"a".repeat(3000)];
    for (rest, method) in [
        ("", Method::GET),
        ("/events", Method::GET),
        ("/message", Method::POST),
        ("/cancel", Method::POST),
        ("/archive", Method::POST),
    ] {
        let mut answers = HashSet::new();
        for id in ids {
            // A key for all projects does not make a job one of this project's.
            for project in [&mine, &all] {
                let call = project.client().request(method.clone(), &project.job_path(id, rest));
                let call = if rest == "/message" { call.json(&json!({ "prompt": "x" })) } else { call };
                let answer = call.send().await.refused(404, "job_not_found");
                let mut headers: Vec<_> = answer.headers.keys().map(|name| name.as_str().to_owned()).collect();
                headers.sort();
                answers.insert((answer.text(), headers));
            }
        }
        assert_eq!(answers.len(), 1, "{rest}: {answers:?}");
    }
    assert_eq!(theirs.get(&foreign).await.expect(200)["status"], "active", "and nothing happened to it");
}

/// Creates jobs and gives their ids, newest first.
async fn jobs(project: &ProjectClient, count: usize) -> Vec<Value> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.insert(0, json!(project.job().await));
    }
    ids
}

fn ids(page: &copydesk_testkit::Answer) -> Vec<Value> {
    page["jobs"].as_array().unwrap().iter().map(|job| job["id"].clone()).collect()
}

/// Reads the whole list page by page; fails if a page is not full and not the last.
async fn read_all(project: &ProjectClient, limit: usize, rest: &str) -> Vec<Value> {
    let (mut all, mut query) = (Vec::new(), format!("limit={limit}{rest}"));
    loop {
        let page = project.list(&query).await.expect(200);
        let found = ids(&page);
        assert!(found.len() <= limit);
        all.extend(found.clone());
        let Some(cursor) = page["nextCursor"].as_str() else { return all };
        assert_eq!(found.len(), limit, "only the last page may be short");
        query = format!("limit={limit}{rest}&cursor={cursor}");
    }
}

async fn list_is_empty_at_first_and_then_newest_first(stage: &Stage) {
    let project = stage.project().await;
    let empty = project.list("").await.expect(200);
    assert_eq!(empty.json(), &json!({ "jobs": [], "nextCursor": null }));
    // The clock stands still: jobs of one millisecond are in order too.
    let all = jobs(&project, 3).await;
    stage.advance(std::time::Duration::from_secs(1));
    let newest = project.create("x").await;
    let listed = project.list("").await.expect(200);
    assert_eq!(ids(&listed), [&[newest["id"].clone()][..], &all].concat());
    assert_eq!(&listed["jobs"][0], newest.json(), "a listed job is the whole job");
}

async fn list_holds_50_unless_told_and_100_at_the_most(stage: &Stage) {
    let project = stage.project().await;
    let all = jobs(&project, 101).await;
    let page = project.list("").await.expect(200);
    assert_eq!(ids(&page), all[..50]);
    let page = project.list("limit=100").await.expect(200);
    assert_eq!(ids(&page), all[..100]);
    let cursor = page["nextCursor"].as_str().unwrap();
    let page = project.list(&format!("cursor={cursor}")).await.expect(200);
    assert_eq!((ids(&page), &page["nextCursor"]), (all[100..].to_vec(), &Value::Null));
}

async fn paging_lists_every_job_once_whatever_the_limit(stage: &Stage) {
    let project = stage.project().await;
    let all = jobs(&project, 6).await;
    for limit in 1..=7 {
        assert_eq!(read_all(&project, limit, "").await, all, "limit {limit}");
    }
    let page = project.list("limit=6").await.expect(200);
    assert_eq!(page["nextCursor"], Value::Null, "a full page that is the last one says so");
}

async fn a_job_created_meanwhile_does_not_disturb_the_paging(stage: &Stage) {
    let project = stage.project().await;
    let all = jobs(&project, 4).await;
    let page = project.list("limit=2").await.expect(200);
    project.job().await;
    let rest = project.list(&format!("limit=2&cursor={}", page["nextCursor"].as_str().unwrap())).await.expect(200);
    assert_eq!([ids(&page), ids(&rest)].concat(), all);
}

async fn list_can_be_narrowed_to_a_status(stage: &Stage) {
    let project = stage.project().await;
    let all = jobs(&project, 7).await;
    for id in [&all[0], &all[3], &all[6]] {
        project.cancel(id.as_str().unwrap()).await.expect(200);
    }
    project.archive(all[5].as_str().unwrap()).await.expect(200);
    let pick = |places: &[usize]| places.iter().map(|at| all[*at].clone()).collect::<Vec<_>>();
    for limit in [1, 2, 3, 50] {
        assert_eq!(read_all(&project, limit, "&status=failed").await, pick(&[0, 3, 6]));
        assert_eq!(read_all(&project, limit, "&status=active").await, pick(&[1, 2, 4]));
        assert_eq!(read_all(&project, limit, "&status=archived").await, pick(&[5]));
        assert_eq!(read_all(&project, limit, "&status=completed").await, pick(&[]));
    }
}

async fn list_shows_only_the_projects_own_jobs(stage: &Stage) {
    let app = stage.app().await;
    let (mine, theirs) = (app.project("Mine").await, app.project("Theirs").await);
    let own = jobs(&mine, 2).await;
    jobs(&theirs, 2).await;
    assert_eq!(ids(&mine.list("").await.expect(200)), own);
    // A cursor of another project is a place in time like any other.
    let foreign = theirs.job().await;
    assert_eq!(ids(&mine.list(&format!("cursor={foreign}")).await.expect(200)), own);
}

async fn every_wrong_parameter_is_refused_and_named(stage: &Stage) {
    let project = stage.project().await;
    for limit in ["0", "101", "abc", "%2B1", "-1", "", "1.0", "1e1", "%201", "99999999999999999999", "0x10", "١"] {
        project.list(&format!("limit={limit}")).await.names(&["limit"]);
    }
    for status in ["", "Active", "done", "active,failed"] {
        project.list(&format!("status={status}")).await.names(&["status"]);
    }
    for cursor in ["", "x", "%00", "01890a5d-ac96-774b-bcce-b302099a805", "zz890a5d-ac96-774b-bcce-b302099a8057"] {
        project.list(&format!("cursor={cursor}")).await.names(&["cursor"]);
    }
    for (name, value) in [("limit", "5"), ("status", "active"), ("cursor", UNKNOWN)] {
        project.list(&format!("{name}={value}&{name}={value}")).await.names(&[name]);
    }
    project.list("limit=0&status=x&cursor=y").await.names(&["limit", "status", "cursor"]);
}

async fn unknown_parameters_are_ignored(stage: &Stage) {
    let project = stage.project().await;
    let all = jobs(&project, 2).await;
    for query in ["colour=blue", "offset=1&offset=2", "Limit=1", "&&=&%ff=%ff", "limit=2&page=7"] {
        assert_eq!(ids(&project.list(query).await.expect(200)), all, "{query}");
    }
}

behaviours!(
    head_is_get_without_the_body,
    the_seven_fields_are_there_whatever_the_status,
    another_projects_job_is_as_unknown_as_any,
    list_is_empty_at_first_and_then_newest_first,
    list_holds_50_unless_told_and_100_at_the_most,
    paging_lists_every_job_once_whatever_the_limit,
    a_job_created_meanwhile_does_not_disturb_the_paging,
    list_can_be_narrowed_to_a_status,
    list_shows_only_the_projects_own_jobs,
    every_wrong_parameter_is_refused_and_named,
    unknown_parameters_are_ignored,
);
