use copydesk_domain::{Source, Sources};
use copydesk_testkit::Who;
use serde_json::json;

use super::{Site, paths, rows, totals};
use crate::stage::Stage;

async fn a_site_without_views_has_none(stage: &Stage) {
    let site = Site::new(stage).await;
    let answer = site.get("").await.expect(200);
    assert_eq!(*answer.json(), json!({ "totals": { "human": 0, "ai": 0, "total": 0 }, "views": [], "hasMore": false }));
}

async fn people_and_ai_are_added_up_and_crawlers_are_in_neither(stage: &Stage) {
    let site = Site::new(stage).await;
    site.saw("/a", "2026-03-14T10:00:00Z", Who::Person, 3).await;
    site.saw("/a", "2026-03-14T11:00:00Z", Who::Assistant, 2).await;
    site.saw("/b", "2026-03-14T11:00:00Z", Who::Assistant, 4).await;
    site.saw("/c", "2026-03-14T11:00:00Z", Who::Crawler, 100).await;
    let answer = site.get("").await.expect(200);
    assert_eq!(totals(&answer), [3, 6, 9]);
    assert_eq!(rows(&answer), [("/a".to_owned(), 3, 2, 5), ("/b".to_owned(), 0, 4, 4)]);
}

async fn pages_are_in_the_order_of_their_total_and_then_of_their_bytes(stage: &Stage) {
    let site = Site::new(stage).await;
    for (path, views) in [("/b", 2), ("/B", 2), ("/a", 2), ("/ä", 2), ("/z", 5), ("/a/b", 2), ("/a-b", 1)] {
        site.saw(path, "2026-03-14T10:00:00Z", Who::Person, views).await;
    }
    assert_eq!(paths(&site.get("").await.expect(200)), ["/z", "/B", "/a", "/a/b", "/b", "/ä", "/a-b"]);
}

async fn projects_do_not_see_each_other(stage: &Stage) {
    let site = Site::new(stage).await;
    let other = site.app.project("Other").await;
    site.saw("/a", "2026-03-14T10:00:00Z", Who::Person, 1).await;
    let path = format!("/v1/analytics/{}/views", other.id);
    assert_eq!(totals(&other.client().get(&path).send().await.expect(200)), [0, 0, 0]);
    site.project.client().get(&path).send().await.refused(404, "project_not_found");
}

/// With both, people are counted by the script and machines by the server side.
async fn nobody_is_counted_twice(stage: &Stage) {
    let site = Site::new(stage).await;
    site.saw("/a", "2026-03-14T10:00:00Z", Who::PersonInLog, 5).await;
    assert_eq!(totals(&site.get("").await), [5, 0, 5], "only the server side tells of people");
    site.saw("/a", "2026-03-14T11:00:00Z", Who::Person, 3).await;
    site.saw("/a", "2026-03-14T11:00:00Z", Who::PersonInLog, 4).await;
    site.saw("/a", "2026-03-14T11:00:00Z", Who::Assistant, 2).await;
    site.saw("/a", "2026-03-14T11:00:00Z", Who::AssistantInBrowser, 1).await;
    assert_eq!(totals(&site.get("").await), [8, 2, 10], "the script took over at eleven");
    for (people, machines, expected) in [
        (Source::Script, Source::Server, [3, 2, 5]),
        (Source::Server, Source::Script, [9, 1, 10]),
        (Source::Both, Source::Both, [12, 3, 15]),
        (Source::Auto, Source::Both, [8, 3, 11]),
    ] {
        let project = site.app.store().project(&site.project.id).await.unwrap().unwrap();
        let views = copydesk_domain::ViewSettings { sources: Sources { people, machines }, ..project.views };
        let change = copydesk_store::ProjectChange { views: Some(views), ..Default::default() };
        site.app.store().update_project(&site.project.id, change).await.unwrap().unwrap();
        assert_eq!(totals(&site.get("").await), expected, "{people:?} {machines:?}");
    }
}

/// Anybody can call the script's address, with any tool.
async fn a_machine_that_runs_the_script_does_not_move_people_over_to_it(stage: &Stage) {
    let site = Site::new(stage).await;
    site.saw("/a", "2026-03-14T10:00:00Z", Who::PersonInLog, 5).await;
    site.saw("/a", "2026-03-14T10:00:00Z", Who::AssistantInBrowser, 2).await;
    assert_eq!(totals(&site.get("").await), [5, 2, 7], "nor does a person in a log move machines");
}

async fn rows_come_as_csv_too(stage: &Stage) {
    let site = Site::new(stage).await;
    site.saw("/a", "2026-03-14T10:00:00Z", Who::Person, 3).await;
    site.saw("/b,\"c\"", "2026-03-14T10:00:00Z", Who::Assistant, 2).await;
    let path = format!("/v1/analytics/{}/views?limit=1", &site.project.id);
    let ask = |path: &str| site.project.client().get(path).header("accept", "text/csv").send();
    let first = ask(&path).await.expect(200);
    assert_eq!(first.text(), "path,human,ai,total\r\n/a,3,0,3\r\n");
    assert_eq!(first.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let link = first.header("link").unwrap().to_owned();
    let next = link.strip_prefix('<').unwrap().split_once('>').unwrap().0;
    let second = ask(next).await.expect(200);
    assert_eq!(second.text(), "path,human,ai,total\r\n\"/b,\"\"c\"\"\",0,2,2\r\n");
    assert_eq!(second.header("link"), None);
}

behaviours!(
    a_site_without_views_has_none,
    people_and_ai_are_added_up_and_crawlers_are_in_neither,
    pages_are_in_the_order_of_their_total_and_then_of_their_bytes,
    projects_do_not_see_each_other,
    nobody_is_counted_twice,
    rows_come_as_csv_too,
    a_machine_that_runs_the_script_does_not_move_people_over_to_it,
);
