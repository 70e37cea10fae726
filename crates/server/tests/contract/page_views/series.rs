use copydesk_testkit::{Answer, Who};
use serde_json::Value;

use super::{Site, totals};
use crate::stage::Stage;

/// `start total` of each point.
fn points(answer: &Answer) -> Vec<String> {
    let point = |point: &Value| format!("{} {}", point["start"].as_str().unwrap(), point["total"]);
    answer["series"].as_array().unwrap().iter().map(point).collect()
}

async fn views_by_hour_day_week_and_month(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project_with("Docs", |new| new.time_zone = "Europe/Berlin".to_owned()).await;
    let site = Site { app, project };
    site.saw("/a", "2026-03-28T23:00:00Z", Who::Person, 1).await;
    site.saw("/b", "2026-03-29T01:00:00Z", Who::Person, 10).await;
    site.saw("/a", "2026-03-29T22:00:00Z", Who::Assistant, 100).await;
    let range = "dateFrom=2026-03-28&dateTo=2026-04-01";
    let days = site.get(&format!("/series?{range}")).await.expect(200);
    assert_eq!(
        points(&days),
        [
            "2026-03-28T00:00:00+01:00 0",
            "2026-03-29T00:00:00+01:00 11",
            "2026-03-30T00:00:00+02:00 100",
            "2026-03-31T00:00:00+02:00 0"
        ]
    );
    assert_eq!(totals(&days), [11, 100, 111]);
    assert_eq!((&days["interval"], &days["timeZone"]), (&"day".into(), &"Europe/Berlin".into()));
    let page = site.get(&format!("/series?{range}&path=/a/index.html&interval=week")).await.expect(200);
    assert_eq!(points(&page), ["2026-03-28T00:00:00+01:00 1", "2026-03-30T00:00:00+02:00 100"]);
    let months = site.get(&format!("/series?{range}&interval=month")).await.expect(200);
    assert_eq!(points(&months), ["2026-03-28T00:00:00+01:00 111"]);
    let hours = site.get("/series?dateFrom=2026-03-29&dateTo=2026-03-30&interval=hour").await.expect(200);
    let hours = points(&hours);
    assert_eq!(hours.len(), 23, "the clocks went forward");
    assert_eq!(hours[1..3], ["2026-03-29T01:00:00+01:00 0", "2026-03-29T03:00:00+02:00 10"]);
}

async fn without_dates_it_goes_from_the_first_view_to_now(stage: &Stage) {
    let site = Site::new(stage).await;
    assert_eq!(points(&site.get("/series").await.expect(200)).len(), 0, "there is no first view");
    site.saw("/a", "2026-03-13T10:00:00Z", Who::Person, 1).await;
    let series = site.get("/series").await.expect(200);
    assert_eq!(
        points(&series),
        ["2026-03-13T00:00:00+00:00 1", "2026-03-14T00:00:00+00:00 0", "2026-03-15T00:00:00+00:00 0"]
    );
}

/// A clock may run ahead by minutes, and a history may be long.
async fn without_dates_nothing_is_left_out(stage: &Stage) {
    let site = Site::new(stage).await;
    site.saw("/a", "2026-03-15T12:15:00Z", Who::Person, 1).await;
    assert_eq!(totals(&site.get("/series").await.expect(200))[2], 1);
    site.saw("/a", "2000-01-01T00:00:00Z", Who::Person, 1).await;
    let long = site.get("/series").await.expect(200);
    assert_eq!((&long["interval"], totals(&long)[2]), (&"week".into(), 2));
    site.get("/series?interval=day").await.refused(400, "invalid_request").names(&["interval"]);
}

async fn what_is_wrong_is_named(stage: &Stage) {
    let site = Site::new(stage).await;
    for (query, field) in [
        ("interval=year", "interval"),
        ("interval=", "interval"),
        ("interval=day&interval=day", "interval"),
        ("path=a", "path"),
        ("path=/logo.png", "path"),
        ("dateFrom=2026-03-02&dateTo=2026-03-01", "dateFrom"),
    ] {
        site.get(&format!("/series?{query}")).await.refused(400, "invalid_request").names(&[field]);
    }
    site.get("/series?dateFrom=2020-01-01&dateTo=2026-01-01&interval=hour").await.refused(400, "invalid_request");
}

behaviours!(
    views_by_hour_day_week_and_month,
    without_dates_it_goes_from_the_first_view_to_now,
    without_dates_nothing_is_left_out,
    what_is_wrong_is_named,
);
