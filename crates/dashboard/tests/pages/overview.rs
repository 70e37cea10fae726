//! What a project shows first.

use std::time::Duration;

use copydesk_domain::{Outcome, PullRequest, PullRequestState, Role, Scope};
use copydesk_store::{Finish, NewEndpoint, QueueTerms, Step};
use copydesk_testkit::Who;

use crate::stage::Stage;

behaviours! {
    a_new_project_shows_its_steps,
    nothing_needs_anybody_when_all_is_well,
    what_needs_somebody_is_told_with_a_button,
    keys_and_webhooks_are_for_owners,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

fn terms() -> QueueTerms {
    QueueTerms { lease: DAY, running_per_project: 0, job_time: DAY, queue_time: 30 * DAY, attempts: 3, host_wait: DAY }
}

async fn a_new_project_shows_its_steps(stage: Stage) {
    let project = stage.project("<i>Docs").await;
    let (owner, viewer) = (stage.member(&project.id, Role::Owner).await, stage.member(&project.id, Role::Viewer).await);
    let at = format!("/p/{}", project.id);
    let shown = owner.get(&at).await;
    shown.is(200).shows("What is left to do").shows("/jobs/new").shows("curl ").shows("/js/view.js").hides("<i>Docs");
    shown.shows("every=\"5\"").hides("Nothing needs you").shows("&#60;script defer data-project=&#34;");
    viewer.get(&at).await.is(200).shows("What is left to do").hides("/jobs/new").hides("/settings/repository");
    stage.app.look_at_pages(&project.id).await;
    owner.get(&at).await.shows("It cannot be read").shows("/settings/repository");
    stage.saw(&project, "/a", "2026-03-15T10:00:00Z", Who::Person, 3).await;
    owner.get(&at).await.shows("Views arrive").hides("every=").shows("Views, last 30 days");
}

async fn nothing_needs_anybody_when_all_is_well(stage: Stage) {
    let repo = copydesk_testkit::GitRepo::new([("docs/index.md", "# Welcome\n")]);
    let project = stage.project_on(&repo).await;
    let editor = stage.member(&project.id, Role::Editor).await;
    stage.app.look_at_pages(&project.id).await;
    stage.saw(&project, "/", "2026-03-15T10:00:00Z", Who::Person, 3).await;
    project.create("Fix the <b>typos</b>.").await;
    let shown = editor.get(&format!("/p/{}", project.id)).await;
    shown.is(200).shows("Nothing needs you.").shows("/pages?show=nobody").hides("What is left to do");
    shown.shows("Fix the &#60;b&#62;typos").shows(">waiting<").hides("<b>typos");
}

async fn what_needs_somebody_is_told_with_a_button(stage: Stage) {
    let project = stage.project("Docs").await;
    let editor = stage.member(&project.id, Role::Editor).await;
    let store = stage.app.store();
    let at = format!("/p/{}", project.id);
    let mut ids = Vec::new();
    for (prompt, outcome) in
        [("Break <it>", Outcome::Error), ("Stop it", Outcome::Cancelled), ("Open it", Outcome::NoChanges)]
    {
        let id = project.create(prompt).await["id"].as_str().unwrap().to_owned();
        let claimed = store.claim("w", &["builtin".to_owned()], &terms(), 1, &[]).await.unwrap().remove(0);
        if prompt == "Open it" {
            let pull = PullRequest {
                number: 41,
                url: "https://example.com/41".to_owned(),
                state: PullRequestState::Open,
                draft: false,
                merged_at: None,
            };
            store.advance(&claimed.lease, Some(Step::Opened { pull }), Vec::new()).await.unwrap();
        }
        let finish = Finish::new(outcome, "The <editor> broke down.", 1);
        store.finish(&claimed.lease, finish).await.unwrap();
        ids.push(id);
    }
    let shown = editor.get(&at).await;
    shown
        .is(200)
        .shows("What needs you")
        .shows("Job “Break &#60;it&#62;” failed")
        .shows("The &#60;editor&#62; broke down.");
    shown.shows(&format!("{at}/jobs/{}", ids[0])).hides("“Stop it” failed").shows("A pull request is ready for review");
    stage.clock.advance(3 * DAY);
    let shown = editor.get(&at).await;
    shown
        .shows("A pull request has been waiting for 3 days")
        .shows("#41 Open it")
        .shows(&format!("{at}/jobs/{}", ids[2]));
    stage.clock.advance(5 * DAY);
    editor.get(&at).await.hides("“Break &#60;it&#62;” failed");
    for left in [0, 0, 0, 1, 2] {
        project.create("Break it again").await;
        let claimed = store.claim("w", &["builtin".to_owned()], &terms(), 1, &[]).await.unwrap().remove(0);
        store.finish(&claimed.lease, Finish::new(Outcome::Error, "It broke down.", 1)).await.unwrap();
        let (one, more) = ("and 1 more failed job<", "and 2 more failed jobs<");
        let shown = editor.get(&at).await;
        match left {
            0 => shown.hides("more failed job"),
            1 => shown.shows(one),
            _ => shown.shows(more),
        };
    }
}

async fn keys_and_webhooks_are_for_owners(stage: Stage) {
    let project = stage.project("Docs").await;
    let (owner, editor) = (stage.member(&project.id, Role::Owner).await, stage.member(&project.id, Role::Editor).await);
    let store = stage.app.store();
    let soon = store.now().plus(3 * DAY);
    stage.app.key(Some(&project.id), Scope::Read, Some(soon)).await;
    let new = NewEndpoint {
        project_id: project.id.clone(),
        url: "https://chat.example/hook?<b>".to_owned(),
        events: Vec::new(),
        description: String::new(),
        secret: b"secret".to_vec(),
    };
    store.add_webhook(&stage.app.vault(), new).await.unwrap();
    let webhook = store.webhooks(Some(&project.id)).await.unwrap().remove(0);
    let at = format!("/p/{}", project.id);
    owner.get(&at).await.shows("ends in 3 days").hides("chat.example");
    store.pause_webhook(&webhook.id, "it answered <503>").await.unwrap();
    let shown = owner.get(&at).await;
    shown.shows("The webhook to chat.example is paused").shows("it answered &#60;503&#62;").shows("/settings/webhooks");
    editor.get(&at).await.hides("ends in 3 days").hides("chat.example");
}
