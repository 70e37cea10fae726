//! Who may see and do what, from the routes as they are served: a new one is tried here by itself.

use copydesk_dashboard::{Needs, Row, rows};
use copydesk_domain::Role;
use reqwest::Method;

use crate::browser::{Browser, Shown};
use crate::stage::Stage;

behaviours! {
    every_route_is_for_whom_it_says,
    what_changes_something_must_come_from_our_own_pages,
    every_page_says_what_may_be_done_on_it,
    unknown_addresses_are_pages_under_ours_and_json_elsewhere,
}

/// An address of a row: of the project, and of things that do not exist.
fn address(row: &Row, project: &str) -> String {
    let parts = row.path.split('/').map(|part| match part {
        "{project}" => project,
        part if part.starts_with('{') => "0",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

async fn ask(browser: &Browser, row: &Row, address: &str) -> Shown {
    match row.method {
        Method::GET => browser.get(address).await,
        _ => browser.post(address, &[]).await,
    }
}

/// Whether it was let through: whatever the page then said to fields that are missing and things that are not there.
fn is_refused(shown: &Shown) -> bool {
    let to_sign_in = shown.status == 303 && shown.leads_to().starts_with("/sign-in?to=");
    to_sign_in || (shown.status == 403 && shown.html.contains("Your role does not allow that")) || is_not_found(shown)
}

fn is_not_found(shown: &Shown) -> bool {
    shown.status == 404 && shown.html.contains("you are not a member of the project")
}

async fn every_route_is_for_whom_it_says(stage: Stage) {
    let project = stage.project("Docs").await;
    let other = stage.project("Other").await;
    let rows = rows();
    assert!(rows.len() > 15, "there are routes to try");
    for (at, row) in rows.iter().enumerate() {
        // Each by people of its own: some of what is tried ends a session.
        let address = address(row, &project.id);
        let project_of = |n: usize| format!("{n}-{at}");
        let make = async |role: Option<Role>, of: &copydesk_domain::ProjectId, name: &str| {
            let user = stage.user(&format!("{name}{}@example.com", project_of(at)), false).await;
            if let Some(role) = role {
                stage.app.store().set_member(of, &user.id, role).await.unwrap();
            }
            stage.browser_of(&user).await
        };
        let admin = stage.user(&format!("admin{at}@example.com"), true).await;
        let people = [
            ("anonymous", stage.browser(), None, false),
            ("viewer", make(Some(Role::Viewer), &project.id, "v").await, Some(Role::Viewer), false),
            ("editor", make(Some(Role::Editor), &project.id, "e").await, Some(Role::Editor), false),
            ("owner", make(Some(Role::Owner), &project.id, "o").await, Some(Role::Owner), false),
            ("of another project", make(Some(Role::Owner), &other.id, "x").await, None, false),
            ("administrator", stage.browser_of(&admin).await, Some(Role::Owner), true),
        ];
        for (name, browser, role, is_admin) in people {
            let is_anonymous = name == "anonymous";
            let may = match row.needs {
                Needs::Nothing => true,
                Needs::SignedIn => !is_anonymous,
                Needs::Member(wanted) => role.is_some_and(|role| role.covers(wanted)),
                Needs::Administrator => is_admin,
            };
            let shown = ask(&browser, row, &address).await;
            let what = format!("{} {} by {name}: {} {}", row.method, row.path, shown.status, shown.html);
            assert!(shown.status.as_u16() < 500, "{what}");
            if may {
                // Things of the address that do not exist may be missed, but nobody is sent away.
                let is_missing = row.path.contains("{") && is_not_found(&shown) && address.contains("/0");
                assert!(!is_refused(&shown) || is_missing || row.path == "/sign-in", "{what}");
            } else {
                assert!(is_refused(&shown), "{what}");
            }
        }
    }
}

async fn what_changes_something_must_come_from_our_own_pages(stage: Stage) {
    let project = stage.project("Docs").await;
    let owner = stage.member(&project.id, Role::Owner).await;
    let elsewhere: [&[(&str, &str)]; 6] = [
        &[],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
    ];
    for row in rows().iter().filter(|row| row.method != Method::GET) {
        for headers in elsewhere {
            let mut request = owner.form(&address(row, &project.id), &[("name", "x"), ("scope", "write")]);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let shown = owner.send(request).await;
            shown.is(403).shows("This request did not come from a Copydesk page");
        }
    }
    owner.get("/me").await.is(200);
    assert_eq!(stage.app.store().keys(Some(&project.id)).await.unwrap().len(), 1);
}

async fn every_page_says_what_may_be_done_on_it(stage: Stage) {
    let project = stage.project("Docs").await;
    let owner = stage.member(&project.id, Role::Owner).await;
    for row in rows().iter().filter(|row| row.method == Method::GET) {
        let shown = owner.get(&address(row, &project.id)).await;
        let policy = shown.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("require-trusted-types-for 'script'"));
        assert_eq!(shown.headers["x-content-type-options"], "nosniff");
        assert_eq!(shown.headers["referrer-policy"], "same-origin");
        assert!(!shown.html.contains("style=\"") && !shown.html.contains(" onclick="), "{}", row.path);
    }
}

async fn unknown_addresses_are_pages_under_ours_and_json_elsewhere(stage: Stage) {
    let admin = stage.admin().await;
    for ours in ["/p/nobody/nothing", "/p/nobody/keys", "/assets/0/app.css", "/me/nothing"] {
        let shown = admin.get(ours).await;
        shown.is(404).shows("There is nothing here");
        assert!(shown.headers.contains_key("content-security-policy"));
    }
    let shown = admin.get("/nothing").await;
    shown.is(404).shows("\"not_found\"");
    // Somebody who looks with a browser is told in words, but not by what is for programs.
    let look = async |path: &str| {
        admin.send(admin.request(Method::GET, path).header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")).await
    };
    look("/nothing").await.is(404).shows("There is nothing here");
    look("/v2/nothing").await.is(404).shows("\"not_found\"");
}
