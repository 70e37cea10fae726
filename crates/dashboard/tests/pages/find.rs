//! What the palette finds.

use copydesk_domain::Role;
use copydesk_testkit::GitRepo;

use crate::stage::Stage;

behaviours! {
    jobs_and_pages_are_found,
}

async fn jobs_and_pages_are_found(stage: Stage) {
    let repo = GitRepo::new([("docs/guide.md", "# The \\<guide>\n"), ("docs/README.md", "# Guides of old\n")]);
    let project = stage.project_on(&repo).await;
    let other = stage.project("Other").await;
    stage.app.look_at_pages(&project.id).await;
    let id = project.create("Rewrite the guide <now>").await["id"].as_str().unwrap().to_owned();
    other.create("Rewrite the guide of others").await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    let find = format!("/p/{}/find?q=", project.id);
    let found = viewer.get(&format!("{find}GUIDE")).await;
    found.is(200).shows("role=\"option\" data-found").shows(&format!("/jobs/{id}")).shows("&#60;now&#62;");
    found.shows("/views?path=%2Fguide").shows("The &#60;guide&#62;").shows("/pages?q=docs%2FREADME.md");
    found.hides("of others").hides("<html").hides("<now>");
    for nothing in ["", "%20", "zebra", "%00", "%FF", "%25"] {
        viewer.get(&format!("{find}{nothing}")).await.is(200).hides("role=\"option\"");
    }
    viewer.get(&format!("{find}{}", "x".repeat(5000))).await.is(200);
    viewer.get(&format!("/p/{}/find", project.id)).await.is(200);
}
