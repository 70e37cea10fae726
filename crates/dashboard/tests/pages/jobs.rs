//! Jobs: listed, made, watched, and what can be done with them.

use std::time::Duration;

use copydesk_domain::{JobId, Role};
use copydesk_testkit::{GitRepo, TestEditor, eventually};
use reqwest::Method;
use serde_json::json;

use crate::browser::{Browser, Shown};
use crate::stage::Stage;

behaviours! {
    jobs_are_listed_filtered_and_paged,
    a_form_makes_one_job_however_often_it_is_sent,
    what_is_wrong_is_said_beside_the_field,
    a_limit_is_said_in_words,
    a_form_begins_with_what_is_known,
    a_range_of_commits_is_taken_and_kept,
    a_job_is_told_step_by_step_and_its_pull_request_opened,
    a_message_a_cancellation_and_an_archive_are_done_from_the_page,
    viewers_see_no_deeds,
    whatever_is_written_in_a_job_is_only_text,
    steps_arrive_as_they_happen_and_none_twice,
    a_stream_ends_with_the_session,
    jobs_of_other_projects_are_not_there,
}

/// A site without faults.
pub fn site() -> GitRepo {
    GitRepo::new([
        ("docs/index.md", "# Welcome\n\nSee the [guide](guide.md).\n"),
        ("docs/guide.md", "# Guide\n\n## Install\n\nAs usual, sign in to Acme Cloud first.\n"),
        ("docs/items.csv", "title: Guide\nitems:\n  - one\n  - two\n"),
    ])
}

/// The value of a hidden field.
fn hidden(shown: &Shown, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let from = shown.html.find(&start).unwrap_or_else(|| panic!("no {name} in {}", shown.html)) + start.len();
    shown.html[from..].split('"').next().unwrap().to_owned()
}

async fn jobs_are_listed_filtered_and_paged(stage: Stage) {
    let project = stage.project("Docs").await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    let list = format!("/p/{}/jobs", project.id);
    viewer.get(&list).await.is(200).shows("No job yet").hides("Make the first one");
    for n in 0..60 {
        let body = json!({ "prompt": format!("Job number {n}\nand more <b>"), "model": if n == 3 { "noop" } else { "builtin" } });
        project.try_create(body).await.expect(201);
        stage.clock.advance(Duration::from_millis(5));
    }
    let first = viewer.get(&list).await;
    first.is(200).shows(">Job number 59</a>").shows(">Job number 10</a>").hides(">Job number 9</a>").hides("and more");
    first.shows("<span class=\"badge live\">waiting</span>").shows("a test");
    let older =
        first.html.split("href=\"").find(|part| part.contains("rel=\"next\"")).unwrap().split('"').next().unwrap();
    let older = older.replace("&#38;", "&");
    viewer.get(&older).await.is(200).shows(">Job number 9</a>").hides(">Job number 10</a>").hides("rel=\"next\"");
    viewer.get(&format!("{list}?model=noop")).await.is(200).shows(">Job number 3</a>").hides(">Job number 4</a>");
    viewer.get(&format!("{list}?q=NUMBER+17")).await.is(200).shows(">Job number 17</a>").hides(">Job number 1</a>");
    viewer
        .get(&format!("{list}?q=%3Cscript%3E"))
        .await
        .is(200)
        .shows("No job matches")
        .shows("value=\"&#60;script&#62;\"");
    viewer.get(&format!("{list}?status=failed")).await.is(200).shows("No job matches");
    viewer.get(&format!("{list}?status=active&q=number+17")).await.is(200).shows(">Job number 17</a>");
    viewer.get(&format!("{list}?status=odd&cursor=odd")).await.is(200);
}

async fn a_form_makes_one_job_however_often_it_is_sent(stage: Stage) {
    let project = stage.project("Docs").await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let form = format!("/p/{}/jobs/new", project.id);
    let shown = editor.get(&form).await;
    let mark = hidden(&shown, "mark");
    let fields = [
        ("mark", mark.as_str()),
        ("prompt", "Fix\r\nit"),
        ("model", "noop"),
        ("baseRef", "next"),
        ("draft", "1"),
        ("maxCost", "0.25"),
    ];
    let first = editor.post(&form, &fields).await.leads_to();
    assert_eq!(editor.post(&form, &fields).await.leads_to(), first, "sent twice");
    let mut changed = fields;
    changed[1].1 = "Fix something else";
    assert_ne!(editor.post(&form, &changed).await.leads_to(), first, "changed with the back button");
    let id = JobId::from(first.rsplit('/').next().unwrap());
    let job = stage.app.store().job(&project.id, &id).await.unwrap().unwrap();
    assert_eq!(
        (job.model.as_str(), job.base_ref.as_str(), job.draft, job.open_pull_request),
        ("noop", "next", true, false)
    );
    assert_eq!(job.max_cost.map(|it| it.amount()), Some(0.25));
    assert_eq!(job.made_by.as_deref(), Some(&*format!("editor-of-{}@example.com", project.id)));
    assert_eq!(stage.app.store().messages(&id).await.unwrap()[0].prompt, "Fix\nit");
    editor.get(&first).await.is(200).shows("Fix").shows("by editor-of-").shows("Created");
}

async fn what_is_wrong_is_said_beside_the_field(stage: Stage) {
    let project = stage.project("Docs").await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let form = format!("/p/{}/jobs/new", project.id);
    let shown = editor.post(&form, &[("prompt", "  "), ("model", "<b>odd"), ("baseRef", "a..b")]).await;
    shown.is(422).shows("id=\"w-prompt\"").shows("id=\"w-model\"").shows("id=\"w-baseRef\"").shows("value=\"a..b\"");
    shown.shows("Is needed: describe the change").hides("<b>odd");
    for wrong in ["0", "much", "-1", "inf"] {
        let shown = editor.post(&form, &[("prompt", "x"), ("maxCost", wrong)]).await;
        shown.is(422).shows("id=\"w-maxCost\"").shows("Must be more than 0").shows(&format!("value=\"{wrong}\""));
    }
    let long = "x".repeat(70_000);
    editor.post(&form, &[("prompt", &long)]).await.is(422).shows("id=\"w-prompt\"").shows(&long);
}

async fn a_limit_is_said_in_words(stage: Stage) {
    let project = stage.app.project_with("Docs", |new| new.jobs_per_hour = Some(1)).await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let form = format!("/p/{}/jobs/new", project.id);
    let job = editor.post(&form, &[("prompt", "One")]).await.leads_to();
    let shown = editor.post(&form, &[("prompt", "Two")]).await;
    shown
        .is(429)
        .shows("has reached its limit of 1 job and messages an hour")
        .shows("in 60 minutes")
        .shows("Two</textarea>");
    assert_eq!(shown.headers["retry-after"], "3600");
    let shown = editor.post(&format!("{job}/message"), &[("prompt", "Three")]).await;
    shown.is(429).shows("its limit of 1 job").shows("Three</textarea>");
}

async fn a_form_begins_with_what_is_known(stage: Stage) {
    let project = stage.project("Docs").await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let form = format!("/p/{}/jobs/new", project.id);
    editor.get(&form).await.is(200).shows("value=\"main\"").shows("<option selected>builtin</option>");
    let shown = editor.get(&format!("{form}?prompt=Repair%20%3C%2Ftextarea%3E&page=%2Fguide")).await;
    shown.is(200).shows("Repair &#60;/textarea&#62;\n\nIt is about the page /guide.</textarea>");
    let body = json!({ "prompt": "Once more", "model": "noop", "baseRef": "next", "openPullRequest": false,
        "maxCost": 0.25 });
    let id = project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned();
    let again = editor.get(&format!("{form}?again={id}")).await;
    again.is(200).shows("Once more</textarea>").shows("<option selected>noop</option>").shows("value=\"next\"");
    again.shows("value=\"0.25\"");
    assert!(!again.html.contains("name=\"open\" value=\"1\" checked"));
    editor.get(&format!("{form}?again=nobody")).await.is(404);
    editor.get(&form).await.hides("name=\"changes\"");
}

async fn a_range_of_commits_is_taken_and_kept(stage: Stage) {
    let project = stage.project("Docs").await;
    stage.app.add_source(&project.id, "sdk", "https://example.com/acme/sdk", None).await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let form = format!("/p/{}/jobs/new", project.id);
    editor.get(&form).await.is(200).shows("name=\"changes\"");
    for (range, said) in [("v1..v2", "such as sdk:v1.4..v1.5"), ("api:v1..v2", "code source"), ("sdk:a b", "a tag")] {
        let shown = editor.post(&form, &[("prompt", "Document it"), ("model", "gate"), ("changes", range)]).await;
        shown.is(422).shows(said).shows(&format!("value=\"{range}\""));
    }
    let job = editor
        .post(&form, &[("prompt", "Document it"), ("model", "gate"), ("changes", "sdk:v1.4..v1.5")])
        .await
        .leads_to();
    editor.get(&job).await.is(200).shows("<dt>About</dt><dd><code>sdk:v1.4..v1.5</code>");
    let id = job.rsplit('/').next().unwrap();
    editor.get(&format!("{form}?again={id}")).await.is(200).shows("value=\"sdk:v1.4..v1.5\"");
}

async fn a_job_is_told_step_by_step_and_its_pull_request_opened(stage: Stage) {
    let stage = stage.working(TestEditor::writing()).await;
    let (repo, prompt) = (site(), "docs/new.md = # New\\n\\n[Broken](gone.md)\\n");
    let project = stage.project_on(&repo).await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let job = editor.post(&format!("/p/{}/jobs/new", project.id), &[("prompt", prompt)]).await.leads_to();
    let id = job.rsplit('/').next().unwrap();
    project.until(id, "completed").await;
    let shown = editor.get(&job).await;
    for part in
        ["Created", "Taken by a worker", "Prepared", "Edited", "Committed", "Completed", "I wrote it.", "changes ready"]
    {
        shown.shows(part);
    }
    shown.shows("Open the pull request</button>").hides("<live-job src=").hides(">Cancel<").shows("again=");
    editor.get(&format!("{job}/checks")).await.is(200).shows("1 new finding").shows("docs/new.md:3").shows("gone.md");
    editor.get(&format!("{job}/talk")).await.is(200).shows("docs/new.md = # New").shows("I wrote it.");
    let opened = editor.post_and_follow(&format!("{job}/pull-request"), &[]).await;
    opened.is(200).shows("Look at the pull request #1").shows("<span class=\"badge warn\">draft</span>");
    opened.shows(&format!("/p/{}/pulls/1", project.id)).hides("Open the pull request</button>");
    assert_eq!(editor.post(&format!("{job}/pull-request"), &[]).await.leads_to(), job, "again is the same");
}

async fn a_message_a_cancellation_and_an_archive_are_done_from_the_page(stage: Stage) {
    let project = stage.project("Docs").await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let job = format!("/p/{}/jobs/{}", project.id, project.job().await);
    let mark = hidden(editor.get(&job).await.is(200), "mark");
    let message = [("mark", mark.as_str()), ("prompt", "And <i>this</i> too")];
    for _ in 0..2 {
        assert_eq!(editor.post(&format!("{job}/message"), &message).await.leads_to(), job);
    }
    let shown = editor.get(&job).await;
    assert_eq!(
        shown.html.matches("Follow-up</strong> <span class=\"dim\">And &#60;i&#62;this").count(),
        1,
        "{}",
        shown.html
    );
    editor.post(&format!("{job}/message"), &[("prompt", " ")]).await.is(422).shows("Is needed: say what to do next");
    editor.get(&format!("{job}/talk")).await.is(200).shows("And &#60;i&#62;this&#60;/i&#62; too");
    editor.get(&job).await.shows(">Cancel<");
    let cancelled = editor.post_and_follow(&format!("{job}/cancel"), &[]).await;
    cancelled
        .is(200)
        .shows("<span class=\"badge \">cancelled</span>")
        .shows("The job was cancelled.")
        .hides(">Cancel<");
    assert_eq!(editor.post(&format!("{job}/cancel"), &[]).await.leads_to(), job, "it has ended, which its page says");
    editor.get(&format!("{job}/archive")).await.is(200).shows("This cannot be undone");
    let archived = editor.post_and_follow(&format!("{job}/archive"), &[]).await;
    archived.is(200).shows("<span class=\"badge \">archived</span>").hides("Send</button>");
    editor.post(&format!("{job}/message"), &[("prompt", "More")]).await.is(409).shows("which is final");
    editor.get(&format!("{job}/changes")).await.is(200).shows("The job has changed nothing.");
    editor.get(&format!("{job}/checks")).await.is(200).shows("nothing that could be checked");
}

async fn viewers_see_no_deeds(stage: Stage) {
    let project = stage.project("Docs").await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    let job = format!("/p/{}/jobs/{}", project.id, project.job().await);
    let shown = viewer.get(&job).await;
    shown.is(200).hides("<form method=\"post\" action=\"/p/").hides(">Cancel<").shows("<live-job src=");
    viewer.get(&format!("/p/{}/jobs/new", project.id)).await.is(403);
    viewer.post(&format!("{job}/message"), &[("prompt", "x")]).await.is(403);
}

async fn whatever_is_written_in_a_job_is_only_text(stage: Stage) {
    const BAD: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}";
    let editor = TestEditor::new("sly", |workspace, _| {
        workspace
            .write("docs/new.md", format!("# A\n\n{BAD}\n\n[x](javascript:alert(3))\n\n[y](\"><script>)\n"))
            .unwrap();
        workspace.write("docs/items.csv", format!("title: {BAD}\n")).unwrap();
        Ok((BAD.to_owned(), format!("I did it. {BAD} [z](javascript:x)")))
    });
    let stage = stage.working(editor).await;
    let repo = site();
    let project = stage.project_on(&repo).await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let id = project.create(BAD).await["id"].as_str().unwrap().to_owned();
    project.until(&id, "completed").await;
    let job = format!("/p/{}/jobs/{id}", project.id);
    let link = stage.app.store().job(&project.id, &id.as_str().into()).await.unwrap().unwrap().pr_link.unwrap();
    let link = link[link.find("/pull/").unwrap()..].to_owned();
    let list = format!("/p/{}/jobs", project.id);
    let mut pages =
        vec![list, job.clone(), link, format!("/p/{}/pulls", project.id), format!("/p/{}/pulls/1", project.id)];
    pages.extend(
        [
            "/changes?view=read",
            "/changes?view=unified",
            "/changes?view=side",
            "/changes/1",
            "/changes/2",
            "/checks",
            "/talk",
        ]
        .map(|end| format!("{job}{end}")),
    );
    pages.push(format!("/p/{}/jobs/new?again={id}", project.id));
    for page in pages {
        let shown = editor.get(&page).await;
        shown
            .is(200)
            .hides("<img")
            .hides("<script>")
            .hides("javascript:alert(3)\"")
            .hides("href=\"javascript")
            .hides("\u{202e}");
        assert_eq!(shown.html.matches("<script").count(), 1, "{page}: {}", shown.html);
        assert!(shown.html.contains("U+202E") || page.ends_with("/checks"), "{page}: {}", shown.html);
    }
}

/// What a stream has sent so far, until it holds `end`.
async fn streamed(browser: &Browser, path: &str, last: Option<&str>, end: &str) -> String {
    let mut request = browser.request(Method::GET, path);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let mut answer = request.send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    let read = async {
        while let Some(chunk) = answer.chunk().await.unwrap() {
            text.push_str(&String::from_utf8_lossy(&chunk));
            if text.contains(end) {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), read).await.unwrap_or_else(|_| panic!("{end:?} did not come"));
    text
}

async fn steps_arrive_as_they_happen_and_none_twice(stage: Stage) {
    let (editor, gate) = TestEditor::writing().gated();
    let stage = stage.working(editor).await;
    let repo = site();
    let project = stage.project_on(&repo).await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    let id = project.create("docs/new.md = # New\\r\\n").await["id"].as_str().unwrap().to_owned();
    let live = format!("/p/{}/jobs/{id}/live", project.id);
    let begun = streamed(&viewer, &format!("{live}?after=0"), None, "Prepared").await;
    assert!(begun.contains("event: step") && begun.contains("id=\"e1\"") && begun.contains("Created"), "{begun}");
    assert!(begun.contains("event: part") || begun.contains("Prepared"), "{begun}");
    eventually("the page shows what the stream has", async || {
        viewer.get(&format!("/p/{}/jobs/{id}", project.id)).await.html.contains("id=\"e3\"").then_some(())
    })
    .await;
    gate.open();
    project.until(&id, "completed").await;
    // What the browser says it has seen counts more than what the address says.
    let rest = streamed(&viewer, &format!("{live}?after=0"), Some("3"), "event: end\ndata: over").await;
    assert!(!rest.contains("id=\"e3\"") && rest.contains("id=\"e4\"") && rest.contains("Completed"), "{rest}");
    assert!(
        rest.contains("id=\"facts\"") && rest.contains("id=\"state\"") && rest.contains("id=\"outcome\""),
        "{rest}"
    );
    assert!(rest.contains("Look at the pull request"), "{rest}");
    let ids: Vec<&str> = rest.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    let over = streamed(&viewer, &format!("{live}?after={}", ids.last().unwrap()), None, "event: end").await;
    assert!(!over.contains("event: step"), "{over}");
    for odd in ["?after=x", "?after=-1", "?after=99999999999"] {
        streamed(&viewer, &format!("{live}{odd}"), Some("odd"), "event: end").await;
    }
}

async fn a_stream_ends_with_the_session(stage: Stage) {
    let project = stage.project("Docs").await;
    let user = stage.user("somebody@example.com", false).await;
    let store = stage.app.store();
    store.set_member(&project.id, &user.id, Role::Viewer).await.unwrap().unwrap();
    let browser = stage.browser_of(&user).await;
    let id = project.job().await;
    let live = format!("/p/{}/jobs/{id}/live", project.id);
    let mut answer = browser.request(Method::GET, &live).send().await.unwrap();
    assert!(String::from_utf8_lossy(&answer.chunk().await.unwrap().unwrap()).contains("Created"));
    store.end_sessions(&user.id).await.unwrap();
    project.message(&id, "A secret meant for others").await.expect(200);
    let mut rest = String::new();
    let end = async {
        while let Some(chunk) = answer.chunk().await.unwrap() {
            rest.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    tokio::time::timeout(Duration::from_secs(30), end).await.expect("it ends");
    assert!(!rest.contains("secret") && !rest.contains("event: end"), "{rest}");
    assert!(browser.get(&live).await.leads_to().starts_with("/sign-in"));
}

async fn jobs_of_other_projects_are_not_there(stage: Stage) {
    let (mine, other) = (stage.project("Docs").await, stage.project("Other").await);
    let editor = stage.member(&mine.id, Role::Editor).await;
    let id = other.job().await;
    for end in ["", "/live", "/changes", "/changes/1", "/diff", "/checks", "/talk", "/archive"] {
        editor.get(&format!("/p/{}/jobs/{id}{end}", mine.id)).await.is(404);
    }
    for deed in ["message", "cancel", "archive", "pull-request"] {
        editor.post(&format!("/p/{}/jobs/{id}/{deed}", mine.id), &[("prompt", "x")]).await.is(404);
    }
    let job = stage.app.store().job(&other.id, &id.as_str().into()).await.unwrap().unwrap();
    assert_eq!(job.status, copydesk_domain::Status::Active);
}
