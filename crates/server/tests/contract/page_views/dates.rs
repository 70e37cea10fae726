use copydesk_testkit::Who;

use super::{Site, totals};
use crate::stage::Stage;

async fn a_range_has_its_beginning_and_not_its_end(stage: &Stage) {
    let site = Site::new(stage).await;
    for (day, views) in [("13", 1), ("14", 10), ("15", 100)] {
        site.saw("/a", &format!("2026-03-{day}T00:00:00Z"), Who::Person, views).await;
    }
    for (query, views) in [
        ("?dateFrom=2026-03-14", 110),
        ("?dateTo=2026-03-14", 1),
        ("?dateFrom=2026-03-14&dateTo=2026-03-15", 10),
        ("?dateFrom=2026-03-13&dateTo=2026-03-16", 111),
        ("?dateFrom=2026-03-14T00:00:00Z&dateTo=2026-03-15T00:00:00Z", 10),
        ("?dateFrom=2026-03-14T01:00:00%2B01:00&dateTo=2026-03-15T00:00:00Z", 10),
        ("?dateFrom=2026-03-14T00:15:00Z&dateTo=2026-03-15T00:00:00Z", 0),
        ("?dateFrom=2026-03-14T00:14:59Z&dateTo=2026-03-15T00:14:59Z", 10),
        ("?dateFrom=2026-03-14&dateTo=2026-03-14", 0),
        ("?dateFrom=2030-01-01", 0),
        ("?dateFrom=0001-01-01&dateTo=9999-12-31", 111),
        ("?dateTo=9999-12-31T23:59:59.999Z", 111),
        ("?dateTo=9999-12-31T23:59:59-12:00", 111),
        ("?dateFrom=9999-12-31T23:59:59%2B12:00", 0),
    ] {
        let answer = site.get(query).await.expect(200);
        assert_eq!(totals(&answer)[2], views, "{query}");
        assert_eq!(answer["hasMore"], false, "{query}");
        assert_eq!(answer["views"].as_array().unwrap().len(), usize::from(views > 0), "{query}");
    }
}

/// Kathmandu is 5:45 ahead, so its midnight is 18:15 in UTC.
async fn a_date_is_a_midnight_of_the_projects_zone(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project_with("Docs", |new| new.time_zone = "Asia/Kathmandu".to_owned()).await;
    let site = Site { app, project };
    site.saw("/a", "2026-03-13T18:14:59Z", Who::Person, 1).await;
    site.saw("/a", "2026-03-13T18:15:00Z", Who::Person, 10).await;
    site.saw("/a", "2026-03-14T18:14:59Z", Who::Person, 100).await;
    site.saw("/a", "2026-03-14T18:15:00Z", Who::Person, 1000).await;
    assert_eq!(totals(&site.get("?dateFrom=2026-03-14&dateTo=2026-03-15").await)[2], 110);
    assert_eq!(totals(&site.get("?dateFrom=2026-03-14T00:00:00&dateTo=2026-03-15T00:00:00").await)[2], 110);
    assert_eq!(totals(&site.get("?dateFrom=2026-03-14T00:00:00Z&dateTo=2026-03-15T00:00:00Z").await)[2], 1100);
}

/// On 29 March 2026 Berlin had 23 hours.
async fn a_day_is_as_long_as_the_zone_has_it(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project_with("Docs", |new| new.time_zone = "Europe/Berlin".to_owned()).await;
    let site = Site { app, project };
    site.saw("/a", "2026-03-28T22:59:00Z", Who::Person, 1).await;
    site.saw("/a", "2026-03-28T23:00:00Z", Who::Person, 10).await;
    site.saw("/a", "2026-03-29T21:59:00Z", Who::Person, 100).await;
    site.saw("/a", "2026-03-29T22:00:00Z", Who::Person, 1000).await;
    assert_eq!(totals(&site.get("?dateFrom=2026-03-29&dateTo=2026-03-30").await)[2], 110);
}

behaviours!(
    a_range_has_its_beginning_and_not_its_end,
    a_date_is_a_midnight_of_the_projects_zone,
    a_day_is_as_long_as_the_zone_has_it,
);
