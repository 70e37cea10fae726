//! The pages about readers. The clock stands at noon of 15 March 2026.

use copydesk_domain::{Role, Timestamp};
use copydesk_testkit::{ProjectClient, Who};
use copydesk_views::Bucket;
use copydesk_views::store::{Loss, Lost};

use crate::browser::{Browser, Shown};
use crate::stage::Stage;

behaviours! {
    figures_are_those_of_the_interface,
    two_hundred_questions_by_chance_have_one_answer_each,
    periods_are_days_of_the_projects_zone,
    a_figure_is_held_against_the_period_before,
    dates_that_are_none_are_said_beside_their_fields,
    one_page_has_its_course_its_agents_and_its_rule,
    the_table_for_spreadsheets_has_every_page,
    machines_are_told_with_their_evidence,
    what_is_lost_is_said,
    hostile_pages_and_queries_stay_text,
    pages_are_paged_through,
}

const NOW: &str = "2026-03-15T10:00:00Z";

async fn begin(stage: &Stage) -> (ProjectClient, Browser, String) {
    let project = stage.project("Docs").await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    let views = format!("/p/{}/views", project.id);
    (project, viewer, views)
}

/// The figures at the top, in order.
fn figures(shown: &Shown) -> Vec<String> {
    let stats = shown.html.split("class=\"stats\"").nth(1).unwrap().split("</dl>").next().unwrap();
    let figure = |part: &str| {
        let text = part.split("</dd>").next().unwrap().replace("</small>", "");
        text.split("<small").flat_map(|it| it.split('>').next_back()).map(str::trim).collect::<Vec<_>>().join(" ")
    };
    stats.split("<dd>").skip(1).map(figure).collect()
}

async fn figures_are_those_of_the_interface(stage: Stage) {
    let (project, viewer, views) = begin(&stage).await;
    let days = ["2026-02-01", "2026-02-27", "2026-03-01", "2026-03-09", "2026-03-14", "2026-03-15"];
    for (at, day) in days.into_iter().enumerate() {
        for (n, (path, who)) in
            [("/a", Who::PersonInLog), ("/a", Who::Assistant), ("/b", Who::Assistant), ("/c", Who::Crawler)]
                .into_iter()
                .enumerate()
        {
            let count = u32::try_from(at * 7 + n * 3 + 1).unwrap();
            stage.saw(&project, path, &format!("{day}T08:00:00Z"), who, count).await;
        }
    }
    for (query, dates) in [
        ("range=today", "dateFrom=2026-03-15&dateTo=2026-03-16"),
        ("range=7d", "dateFrom=2026-03-09&dateTo=2026-03-16"),
        ("range=30d", "dateFrom=2026-02-14&dateTo=2026-03-16"),
        ("range=12m", "dateFrom=2025-03-16&dateTo=2026-03-16"),
        ("from=2026-02-27&to=2026-03-01", "dateFrom=2026-02-27&dateTo=2026-03-02"),
    ] {
        let shown = viewer.get(&format!("{views}?{query}")).await;
        let api = format!("/v1/analytics/{}/views?{dates}", project.id);
        let answer = project.client().get(&api).send().await.expect(200);
        let wanted = ["human", "ai", "total"].map(|name| answer["totals"][name].to_string());
        let seen: Vec<String> =
            figures(shown.is(200)).iter().map(|it| it.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(seen[..3], wanted, "{query}");
        assert_eq!(seen[3], answer["views"].as_array().unwrap().len().to_string());
        shown.shows(&format!("?{}", dates.replace('&', "&#38;")));
        let csv = viewer.get(&format!("{views}.csv?{query}")).await;
        for row in answer["views"].as_array().unwrap() {
            let line = ["path", "human", "ai", "total"].map(|name| row[name].to_string().replace('"', "")).join(",");
            assert!(csv.html.contains(&line), "{line} in {}", csv.html);
        }
    }
}

/// Numbers by chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// On the page, in the table for spreadsheets and of the interface: for all pages, or for one.
async fn two_hundred_questions_by_chance_have_one_answer_each(stage: Stage) {
    const READERS: [Who; 4] = [Who::Person, Who::PersonInLog, Who::Assistant, Who::Crawler];
    let mut chance = Chance(2026);
    let admin = stage.admin().await;
    for zone in ["UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia"] {
        let project = stage.app.project_with("Docs", |new| new.time_zone = zone.to_owned()).await;
        let first: jiff::Timestamp = "2025-10-01T00:00:00Z".parse().unwrap();
        for _ in 0..150 {
            let at = first + jiff::SignedDuration::from_mins(chance.below(165 * 24 * 4) as i64 * 15);
            let (path, who) = (format!("/page-{}", chance.below(7)), READERS[chance.below(4)]);
            stage.saw(&project, &path, &at.to_string(), who, 1 + chance.below(900) as u32).await;
        }
        for _ in 0..50 {
            let day = |number: usize| jiff::civil::date(2025, 9, 20) + jiff::Span::new().days(number as i64);
            let (from, days) = (chance.below(170), chance.below(60));
            let (from, last, end) = (day(from), day(from + days), day(from + days + 1));
            let api = format!("/v1/analytics/{}/views?dateFrom={from}&dateTo={end}&limit=100", project.id);
            let api = project.client().get(&api).send().await.expect(200);
            let rows = api["views"].as_array().unwrap();
            let numbers = |of: &serde_json::Value| ["human", "ai", "total"].map(|name| of[name].as_u64().unwrap());
            let one = (chance.below(3) == 0).then(|| format!("/page-{}", chance.below(7)));
            let wanted = match &one {
                Some(path) => rows.iter().find(|row| row["path"] == **path).map_or([0; 3], numbers),
                None => numbers(&api["totals"]),
            };
            let path = one.as_ref().map(|path| format!("&path={path}")).unwrap_or_default();
            let question = format!("from={from}&to={last}{path}");
            let page = admin.get(&format!("/p/{}/views?{question}", project.id)).await;
            let seen: Vec<u64> = figures(page.is(200))[..3]
                .iter()
                .map(|it| it.split(' ').next().unwrap().replace(',', "").parse().unwrap())
                .collect();
            assert_eq!(seen, wanted, "the page for {question} in {zone}");
            let csv = admin.get(&format!("/p/{}/views.csv?{question}", project.id)).await;
            let mut sums = [0; 3];
            for line in csv.is(200).html.lines().skip(1) {
                let cells: Vec<&str> = line.split(',').collect();
                let cells: [u64; 3] = [1, 2, 3].map(|at| cells[at].parse().unwrap());
                sums.iter_mut().zip(cells).for_each(|(sum, cell)| *sum += cell);
            }
            assert_eq!(sums, wanted, "the table for {question} in {zone}");
            if one.is_none() {
                assert_eq!(csv.html.lines().count(), rows.len() + 1, "{question} in {zone}");
            }
        }
    }
}

async fn periods_are_days_of_the_projects_zone(stage: Stage) {
    // It is the 16th there from 11:00 of the 15th on.
    let project = stage.app.project_with("Docs", |new| new.time_zone = "Pacific/Auckland".to_owned()).await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    stage.saw(&project, "/a", "2026-03-15T10:45:00Z", Who::Person, 3).await;
    stage.saw(&project, "/a", "2026-03-15T11:00:00Z", Who::Person, 5).await;
    let views = format!("/p/{}/views", project.id);
    let shown = viewer.get(&format!("{views}?range=today")).await;
    assert_eq!(figures(&shown)[0], "5 +67 %");
    shown.shows("16 Mar 2026 in Pacific/Auckland, compared with 15 Mar 2026").hides("The period after");
    let before = viewer.get(&format!("{views}?from=2026-03-15&to=2026-03-15")).await;
    assert_eq!(figures(&before)[0], "3 –");
    before.shows("The period after").shows("from=2026-03-16&#38;to=2026-03-16");
}

async fn a_figure_is_held_against_the_period_before(stage: Stage) {
    let (project, viewer, views) = begin(&stage).await;
    stage.saw(&project, "/a", "2026-03-05T10:00:00Z", Who::Person, 100).await;
    stage.saw(&project, "/a", NOW, Who::Person, 112).await;
    stage.saw(&project, "/new", NOW, Who::Assistant, 2).await;
    let shown = viewer.get(&format!("{views}?range=7d")).await;
    assert_eq!(figures(&shown), ["112 +12 %", "2 –", "114 +14 %", "2 +100 %"]);
    shown.shows("<title>Sun 15 Mar 2026: 112 people, 2 AI</title>").shows("Show as a table");
    shown.shows("9 Mar – 15 Mar 2026").shows("2 Mar – 8 Mar 2026");
}

async fn dates_that_are_none_are_said_beside_their_fields(stage: Stage) {
    let (_, viewer, views) = begin(&stage).await;
    let wrong = viewer.get(&format!("{views}?from=<b>&to=2026-03-01")).await;
    wrong.is(422).shows("Must be a date such as").shows("value=\"&#60;b&#62;\"").hides("<b>");
    viewer.get(&format!("{views}?from=2026-03-02&to=2026-03-01")).await.is(422).shows("Must not be after");
    viewer.get(&format!("{views}.csv?from=x&to=y")).await.is(422);
    viewer.get(&format!("{views}?path=/logo.png")).await.is(422).shows("Is not that of a page");
    for odd in ["range=ever", "by=century", "offset=-1", "offset=99999999999999999999", "range=&from=&to="] {
        viewer.get(&format!("{views}?{odd}")).await.is(200);
    }
    // Nothing was read yet: that is said, and not shown as figures of a broken page.
    viewer.get(&views).await.is(200).shows("No views yet");
}

async fn one_page_has_its_course_its_agents_and_its_rule(stage: Stage) {
    let (project, viewer, views) = begin(&stage).await;
    stage.saw(&project, "/a%20b", NOW, Who::Assistant, 3).await;
    stage.saw(&project, "/other", NOW, Who::Person, 9).await;
    let shown = viewer.get(&format!("{views}?path=/a%20b/")).await;
    assert_eq!(figures(shown.is(200)), ["0 –", "3 –", "3 –"]);
    shown.shows("/a%20b").shows("token:ChatGPT-User").shows("Jobs that touched it").hides("/other");
    shown.shows("views/series?dateFrom=2026-02-14&#38;dateTo=2026-03-16&#38;interval=day&#38;path=%2Fa%2520b");
    let csv = viewer.get(&format!("{views}.csv?path=/a%20b&range=today")).await;
    assert!(csv.html.starts_with("start,people,ai,together\r\n2026-03-15T00:00:00+00:00,0,0,0\r\n"), "{}", csv.html);
    assert!(csv.html.contains("2026-03-15T10:00:00+00:00,0,3,3"));
    viewer.get(&format!("{views}?path=/nowhere")).await.is(200).shows("No AI has read");
}

async fn the_table_for_spreadsheets_has_every_page(stage: Stage) {
    let (project, viewer, views) = begin(&stage).await;
    for n in 0..60 {
        stage.saw(&project, &format!("/page-{n:02}"), NOW, Who::Person, 1).await;
    }
    stage.saw(&project, "/a,b", NOW, Who::Person, 2).await;
    let csv = viewer.get(&format!("{views}.csv")).await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8; header=present");
    let name = format!("attachment; filename=\"views-{}-2026-02-14-2026-03-15.csv\"", project.id);
    assert_eq!(csv.headers["content-disposition"], name.as_str());
    assert_eq!(csv.html.lines().count(), 62);
    assert!(csv.html.starts_with("page,people,ai,together\r\n\"/a,b\",2,0,2\r\n/page-00,1,0,1\r\n"), "{}", csv.html);
}

async fn machines_are_told_with_their_evidence(stage: Stage) {
    let (project, viewer, views) = begin(&stage).await;
    stage.saw(&project, "/a", NOW, Who::Assistant, 3).await;
    stage.saw(&project, "/b", "2026-03-10T10:00:00Z", Who::Assistant, 2).await;
    stage.saw(&project, "/a", NOW, Who::Crawler, 1234).await;
    let shown = viewer.get(&views).await;
    shown.shows("ChatGPT-User").shows("<small>assistant").shows(">name</span>");
    shown.shows("1,234 other requests").shows("/views/machines?range=30d").hides("GPTBot");
    let machines = viewer.get(&format!("{views}/machines?range=30d")).await;
    machines.is(200).shows("GPTBot").shows("token:GPTBot").shows("1,234").hides("ChatGPT-User");
    let agent = viewer.get(&format!("{views}/agents/ChatGPT-User?range=7d")).await;
    agent
        .is(200)
        .shows("token:ChatGPT-User")
        .shows("Anybody can write it there")
        .shows("/views?range=7d&#38;path=%2Fb");
    assert_eq!(figures(&agent), ["5"]);
    agent.shows("<title>Tue 10 Mar 2026: 2</title>").shows("<title>Sun 15 Mar 2026: 3</title>");
    viewer.get(&format!("{views}/agents/ChatGPT-User?range=today")).await.is(200);
    let quiet = viewer.get(&format!("{views}/agents/ChatGPT-User?from=2025-01-01&to=2025-01-02")).await;
    quiet.is(200).shows("It read nothing in this period");
    viewer.get(&format!("{views}/agents/Nobody")).await.is(404);
}

async fn what_is_lost_is_said(stage: Stage) {
    let (project, viewer, views) = begin(&stage).await;
    stage.saw(&project, "/a", NOW, Who::Person, 3).await;
    let at = |text: &str| Bucket::of(Timestamp::from_millis(text.parse::<i64>().unwrap() * 1000));
    stage.app.views().lose(Loss {
        project: Some(project.id.to_string()),
        of: Lost::Views,
        file: "x".to_owned(),
        what: "a segment <i>cannot be read".to_owned(),
        found: Timestamp::from_millis(0),
        // 10 to 11 March 2026.
        from: at("1773100800"),
        to: at("1773187200"),
        views: Some(7),
    });
    let shown = viewer.get(&views).await;
    shown.shows("These figures are incomplete").shows("a segment &#60;i&#62;cannot be read; from 2026-03-10");
    let csv = viewer.get(&format!("{views}.csv")).await;
    assert!(csv.headers["views-incomplete"].to_str().unwrap().contains("7 views"));
    viewer.get(&format!("{views}?range=today")).await.is(200).hides("cannot be read; from 2026-03-12");
    viewer.get(&format!("/p/{}", project.id)).await.shows("The page view figures are incomplete");
    // The figures of one day have all of it, but what they are compared with may not.
    viewer.get(&format!("{views}?from=2026-03-14&to=2026-03-15")).await.hides("not complete");
}

async fn hostile_pages_and_queries_stay_text(stage: Stage) {
    let (project, viewer, views) = begin(&stage).await;
    stage.saw(&project, "/%3Cscript%3E\u{202e}\"'<b>", NOW, Who::Person, 3).await;
    let shown = viewer.get(&views).await;
    shown.is(200).hides("<b>").hides("\u{202e}").shows("&#60;U+202E&#62;");
    let hostile = "path=/%3Cscript%3Ealert(1)%3C/script%3E%22%27";
    viewer.get(&format!("{views}?{hostile}")).await.is(200).hides("<script>alert").hides("%22%27\" ");
    viewer.get(&format!("{views}/agents/%3Cb%3E%22")).await.is(404).hides("<b>");
    viewer.get(&format!("{views}?by=%3Cb%3E&range=%22%3E%3Cb%3E")).await.is(200).hides("<b>");
}

async fn pages_are_paged_through(stage: Stage) {
    let (project, viewer, views) = begin(&stage).await;
    for n in 0..30_u32 {
        stage.saw(&project, &format!("/page-{n:02}"), NOW, Who::Person, 100 - n).await;
    }
    let first = viewer.get(&views).await;
    first
        .shows(">/page-24<")
        .hides(">/page-25<")
        .shows("1–25 of 30")
        .shows("offset=25")
        .hides("rel=\"prev\" href=\"/p/docs/views?range=30d&#38;offset");
    stage.saw(&project, "/page-29", NOW, Who::Person, 500).await;
    let second = viewer.get(&format!("{views}?range=30d&offset=25")).await;
    second.shows(">/page-25<").shows(">/page-29<").hides(">/page-24<").shows("26–30 of 30");
    viewer.get(&format!("{views}?offset=1000")).await.is(200).shows("beyond what came before");
}
