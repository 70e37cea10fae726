//! What a job has changed, as it is shown.

use copydesk_domain::Role;
use copydesk_testkit::{GitRepo, TestEditor};
use reqwest::Method;

use crate::browser::Browser;
use crate::jobs::site;
use crate::stage::Stage;

behaviours! {
    a_change_is_read_line_by_line_or_side_by_side,
    the_last_view_is_remembered,
    a_large_change_stays_light,
}

/// A browser of an editor, and the address of a job of theirs that has ended.
async fn ended(stage: &Stage, repo: &GitRepo, prompt: &str) -> (Browser, String) {
    let project = stage.project_on(repo).await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let id = project.create(prompt).await["id"].as_str().unwrap().to_owned();
    project.until(&id, "completed").await;
    (editor, format!("/p/{}/jobs/{id}", project.id))
}

const PROMPT: &str = "docs/guide.md = # Guide\\n\\n## Install\\n\\nAs usual, sign in to Acme Sky first.\\n\n\
    docs/items.csv = title: Guide\\nitems:\\n  - one\\n    - two\\n\ndocs/new.md = # New\\n";

async fn a_change_is_read_line_by_line_or_side_by_side(stage: Stage) {
    let stage = stage.working(TestEditor::writing()).await;
    let repo = site();
    let (browser, job) = ended(&stage, &repo, PROMPT).await;
    let read = browser.get(&format!("{job}/changes")).await;
    read.is(200)
        .shows("3 files")
        .shows("sign in to Acme <del>Cloud</del><ins>Sky</ins> first")
        .shows("<h3><ins>New</ins></h3>");
    // What is no page is shown as lines.
    read.shows("<table class=\"diff\">")
        .shows("aria-current=\"true\">Read")
        .shows("Against")
        .shows("/diff\">as a patch");
    let lines = browser.get(&format!("{job}/changes?view=unified")).await;
    lines.is(200).shows("Acme <del>Cloud</del> first").shows("Acme <ins>Sky</ins> first").shows("- two");
    browser.get(&format!("{job}/changes?view=side")).await.is(200).shows("class=\"diff side\"");
    let bare = browser.get(&format!("{job}/changes?view=unified&space=ignore")).await;
    bare.is(200).shows("Only white space is different.").shows("Show white space");
    let file = browser.get(&format!("{job}/changes/2?view=unified")).await;
    file.is(200).shows("<h1 class=\"mono\">docs/items.csv</h1>").shows("All files of the change");
    let body = browser.get(&format!("{job}/changes/2?view=unified&only=body")).await;
    body.is(200).hides("<html");
    assert!(body.html.starts_with("<table class=\"diff\">"), "{}", body.html);
    for odd in ["0", "4", "x", "-1", "99999999999999999999"] {
        browser.get(&format!("{job}/changes/{odd}")).await.is(404);
    }
    let patch = browser.get(&format!("{job}/diff")).await;
    patch.is(200).shows("--- a/docs/guide.md\n+++ b/docs/guide.md\n");
    assert_eq!(patch.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(patch.headers["x-content-type-options"], "nosniff");
}

async fn the_last_view_is_remembered(stage: Stage) {
    let stage = stage.working(TestEditor::writing()).await;
    let repo = site();
    let (browser, job) = ended(&stage, &repo, PROMPT).await;
    browser.get(&format!("{job}/changes?view=side")).await.is(200);
    browser
        .get(&format!("{job}/changes"))
        .await
        .is(200)
        .shows("class=\"diff side\"")
        .shows("aria-current=\"true\">Side by side");
    browser.get(&format!("{job}/changes?view=odd")).await.is(200).shows("class=\"diff side\"");
}

/// How many bytes of a page go over the line.
async fn weight(browser: &Browser, path: &str) -> usize {
    let answer = browser.request(Method::GET, path).header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(answer.headers().get("content-encoding").unwrap(), "gzip");
    answer.bytes().await.unwrap().len()
}

async fn a_large_change_stays_light(stage: Stage) {
    let editor = TestEditor::new("much", |workspace, _| {
        for file in 0..100 {
            let lines = (0..100).map(|line| format!("{}\n\n", prose(file * 100 + line)));
            let text: String = lines.collect();
            workspace.write(&format!("docs/page-{file:03}.md"), text).unwrap();
        }
        Ok(("Write much".to_owned(), "I wrote much.".to_owned()))
    });
    let stage = stage
        .another(|setup| setup.editors(1, vec![std::sync::Arc::new(editor)]).limits(|limits| limits.lines = 30_000));
    let stage = stage.await;
    let repo = site();
    let (browser, job) = ended(&stage, &repo, "Write.").await;
    for view in ["read", "unified", "side"] {
        let page = format!("{job}/changes?view={view}");
        let bytes = weight(&browser, &page).await;
        assert!(bytes < 40_000, "{view} is {bytes} bytes");
        let shown = browser.get(&page).await;
        assert_eq!(shown.html.matches("<details class=\"file\"").count(), 100);
        assert!(shown.html.matches("data-src=").count() > 80, "{}", shown.html.matches("data-src=").count());
    }
    let last = browser.get(&format!("{job}/changes/100?view=read&only=body")).await;
    last.is(200).shows("<ins>");
}

/// Words that are not the same again and again, so that they weigh what words weigh.
fn prose(seed: usize) -> String {
    const WORDS: [&str; 16] = [
        "install",
        "the",
        "server",
        "with",
        "your",
        "account",
        "then",
        "open",
        "settings",
        "and",
        "choose",
        "a",
        "region",
        "before",
        "deploying",
        "again",
    ];
    let mut state = seed as u64 + 1;
    let words = (0..11).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 60) as usize]
    });
    words.collect::<Vec<_>>().join(" ")
}
