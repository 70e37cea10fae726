//! The pages of the repository.

use copydesk_domain::Role;
use copydesk_testkit::{GitEntry, GitRepo, Who};

use crate::stage::Stage;

behaviours! {
    pages_are_joined_with_readers_and_findings,
    pages_at_other_addresses_are_not_said_to_have_no_readers,
    pages_that_are_ticked_become_the_prompt_of_a_job,
    what_could_not_be_judged_is_said,
    pages_are_judged_again_when_the_branch_has_moved,
    hostile_names_stay_text,
}

const NOW: &str = "2026-03-15T10:00:00Z";

fn site() -> GitRepo {
    GitRepo::new([
        ("docs/index.md", "# Welcome\n\nSee the [guide](guide.md).\n"),
        ("docs/guide.md", "# The guide\n\n[a](gone.md) and [b](lost.md)\n"),
        ("docs/alone.md", "---\ntitle: Alone\n---\n"),
        ("docs/README.md", "# For code hosts\n"),
    ])
}

async fn pages_are_joined_with_readers_and_findings(stage: Stage) {
    let repo = site();
    let project = stage.project_on(&repo).await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    let pages = format!("/p/{}/pages", project.id);
    viewer.get(&pages).await.is(200).shows("Not checked yet");
    stage.app.look_at_pages(&project.id).await;
    stage.saw(&project, "/guide", NOW, Who::Assistant, 31).await;
    stage.saw(&project, "/", NOW, Who::Person, 8).await;
    let all = viewer.get(&pages).await;
    all.is(200).shows("4 pages").shows("The guide").shows("2 findings").shows("no findings").shows("Alone");
    all.shows("its address is unknown").hides("Fix").hides("type=\"checkbox\"");
    let order = |shown: &crate::browser::Shown| {
        let place = |name: &str| shown.html.find(&format!(">{name}<")).unwrap_or(usize::MAX);
        let mut names = ["The guide", "Welcome", "Alone"];
        names.sort_by_key(|name| place(name));
        names
    };
    assert_eq!(order(&all), ["The guide", "Welcome", "Alone"]);
    assert_eq!(order(&viewer.get(&format!("{pages}?sort=file")).await), ["Alone", "The guide", "Welcome"]);
    viewer.get(&format!("{pages}?show=ai-fails")).await.shows("The guide").hides("Welcome");
    viewer.get(&format!("{pages}?show=nobody")).await.shows("Alone").hides("The guide").hides("For code hosts");
    viewer.get(&format!("{pages}?show=no-ai")).await.shows("Alone").shows("Welcome").hides("The guide");
    viewer.get(&format!("{pages}?q=GUI")).await.shows("The guide").hides("Welcome");
    // The page of views says the same.
    let views = viewer.get(&format!("/p/{}/views?path=/guide", project.id)).await;
    views.shows("docs/guide.md").shows("2 findings").shows("`gone.md` leads nowhere");
    viewer.get(&format!("/p/{}/views", project.id)).await.shows("2 findings").shows("no findings").hides(">Fix</a>");
    viewer.get(&format!("/p/{}", project.id)).await.shows("A page that AI reads has findings").shows("31 views by AI");
}

async fn pages_at_other_addresses_are_not_said_to_have_no_readers(stage: Stage) {
    let repo = site();
    let project = stage.project_on(&repo).await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    stage.app.look_at_pages(&project.id).await;
    stage.saw(&project, "/docs/guide", NOW, Who::Person, 5).await;
    let pages = format!("/p/{}/pages", project.id);
    viewer.get(&pages).await.is(200).shows("The guide").shows(">?<");
    viewer.get(&format!("{pages}?show=nobody")).await.hides("The guide").hides("Alone");
}

async fn pages_that_are_ticked_become_the_prompt_of_a_job(stage: Stage) {
    let repo = site();
    let project = stage.project_on(&repo).await;
    stage.app.look_at_pages(&project.id).await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    let pages = format!("/p/{}/pages", project.id);
    editor
        .get(&pages)
        .await
        .shows("Fix these with a job")
        .shows("value=\"docs/guide.md\"")
        .hides("value=\"docs/alone.md\"");
    let fix = format!("{pages}/fix");
    let to = editor.post(&fix, &[("file", "docs/guide.md"), ("file", "docs/none.md")]).await.leads_to();
    assert_eq!(
        to,
        format!(
            "/p/{}/jobs/new?prompt=Repair%20the%20broken%20links%20and%20anchors%20in%20docs%2Fguide.md",
            project.id
        )
    );
    editor.post(&fix, &[]).await.is(422).shows("Select the pages to fix");
    editor.post(&fix, &[("file", "docs/alone.md")]).await.is(422).shows("The checks find nothing");
    viewer.post(&fix, &[("file", "docs/guide.md")]).await.is(403);
}

async fn what_could_not_be_judged_is_said(stage: Stage) {
    let gone = stage.project("Docs").await;
    let viewer = stage.member(&gone.id, Role::Viewer).await;
    stage.app.look_at_pages(&gone.id).await;
    let pages = viewer.get(&format!("/p/{}/pages", gone.id)).await;
    pages.is(200).shows("could not be read the last time").shows("Not checked yet").hides("no findings");
    let repo = GitRepo::new([
        ("docs/a.md", "[x]({{ somewhere }}) and [y](../../out.md)\n"),
        ("docs/b.md", "# B\n"),
        ("copydesk-checks.toml", ""),
    ]);
    let project = stage.project_on(&repo).await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    stage.app.look_at_pages(&project.id).await;
    let shown = viewer.get(&format!("/p/{}/pages?q=a.md", project.id)).await;
    shown.shows("not judged").shows("Not everything could be checked").hides("no findings");
    viewer.get(&format!("/p/{}/pages?q=b.md", project.id)).await.shows("no findings");
}

async fn pages_are_judged_again_when_the_branch_has_moved(stage: Stage) {
    let repo = site();
    let project = stage.project_on(&repo).await;
    stage.app.look_at_pages(&project.id).await;
    let commit = async || stage.app.store().health(&project.id).await.unwrap().unwrap().checked.unwrap();
    let first = commit().await;
    stage.clock.advance(std::time::Duration::from_secs(600));
    stage.app.look_at_pages(&project.id).await;
    assert_eq!(commit().await, first, "nothing has changed");
    let repaired = GitEntry::File(b"# The guide\n".to_vec());
    repo.commit("main", "Repair", [("docs/guide.md".to_owned(), repaired)]);
    stage.app.look_at_pages(&project.id).await;
    assert!(commit().await.0 != first.0 && commit().await.1 > first.1);
    assert_eq!(stage.app.store().pages_with_findings(&project.id).await.unwrap(), []);
}

async fn hostile_names_stay_text(stage: Stage) {
    let repo = GitRepo::new([
        ("docs/<b>\"x.md", "# <script>alert(1)</script>\u{202e} `<b>`\n\n[<i>](<b>gone.md)\n"),
        ("docs/x.md", "---\ntitle: \"<img src=x onerror=alert(1)>\"\n---\n[a](\"><b>.md)\n"),
    ]);
    let project = stage.project_on(&repo).await;
    stage.app.look_at_pages(&project.id).await;
    let editor = stage.member(&project.id, Role::Editor).await;
    for page in ["/pages", "/pages?q=<b>", "", "/views?path=/x", "/find?q=<b>", "/find?q=img"] {
        let shown = editor.get(&format!("/p/{}{page}", project.id)).await;
        shown.is(200).hides("<b>").hides("<img").hides("<script>alert").hides("\u{202e}");
    }
}
