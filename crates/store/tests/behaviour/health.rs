//! What the checks say of pages.

use std::path::Path;

use copydesk_domain::{FindingSummary, NotJudged, Repository};
use copydesk_store::{PageHealth, ProjectChange};
use futures_util::future::join_all;

use crate::desk::{Desk, SECOND};

behaviours! {
    one_looks_at_a_time_and_not_too_often,
    what_is_known_of_another_repository_is_forgotten,
    pages_are_replaced_as_a_whole,
    a_look_that_came_to_nothing_leaves_what_is_known,
    pages_go_with_their_project,
}

fn page(file: &str, page: Option<&str>, findings: u32) -> PageHealth {
    let finding = |line| FindingSummary {
        path: file.to_owned(),
        line,
        column: 1,
        message: "`x\0` leads nowhere".to_owned(),
        warning: false,
    };
    PageHealth {
        file: file.to_owned(),
        page: page.map(str::to_owned),
        title: format!("Title of {file}"),
        found: findings,
        findings: (1..=findings).map(finding).collect(),
        not_judged: vec![NotJudged { reason: "a template fills it in".to_owned(), count: 2 }],
    }
}

async fn one_looks_at_a_time_and_not_too_often(desk: Desk) {
    let project = desk.project("Docs").await;
    let pause = SECOND * 600;
    let asked = join_all((0..8).map(|_| desk.store.begin_health(&project, pause))).await;
    assert_eq!(asked.into_iter().filter(|asks| *asks.as_ref().unwrap()).count(), 1);
    desk.advance(pause - SECOND);
    assert!(!desk.store.begin_health(&project, pause).await.unwrap());
    desk.advance(SECOND);
    assert!(desk.store.begin_health(&project, pause).await.unwrap());
    assert!(!desk.store.begin_health(&"nobody".into(), pause).await.unwrap());
    let health = desk.store.health(&project).await.unwrap().unwrap();
    assert_eq!((health.tried_at, health.checked, health.problem), (desk.now(), None, None));
}

async fn what_is_known_of_another_repository_is_forgotten(desk: Desk) {
    let project = desk.project("Docs").await;
    let looked = desk.store.project(&project).await.unwrap().unwrap();
    desk.store.record_health(&looked, "c1", Vec::new(), vec![page("a.md", None, 1)]).await.unwrap();
    desk.store.note_health(&looked, Some("it cannot be reached.")).await.unwrap();
    assert_eq!(desk.store.health(&project).await.unwrap().unwrap().problem.as_deref(), Some("it cannot be reached"));
    let change = |repository: &str| {
        let repository = Repository::parse(repository, Path::new("/")).unwrap();
        ProjectChange { repository: Some(repository), ..ProjectChange::default() }
    };
    for (repository, is_known) in
        [("https://example.com/acme/docs.git", true), ("https://example.com/acme/other", false)]
    {
        desk.store.update_project(&project, change(repository)).await.unwrap();
        assert_eq!(desk.store.health(&project).await.unwrap().is_some(), is_known, "{repository}");
        assert_eq!(desk.store.page_health(&project).await.unwrap().len(), usize::from(is_known), "{repository}");
    }
    // Who was still looking at the old one comes too late.
    desk.advance(SECOND);
    assert!(desk.store.begin_health(&project, SECOND).await.unwrap());
    assert!(!desk.store.record_health(&looked, "c2", Vec::new(), vec![page("a.md", None, 1)]).await.unwrap());
    desk.store.note_health(&looked, Some("it is away")).await.unwrap();
    let health = desk.store.health(&project).await.unwrap().unwrap();
    assert_eq!((health.checked, health.problem), (None, None));
    assert_eq!(desk.store.page_health(&project).await.unwrap(), []);
}

async fn pages_are_replaced_as_a_whole(desk: Desk) {
    let (project, other) = (desk.project("Docs").await, desk.project("Other").await);
    assert_eq!(desk.store.health(&project).await.unwrap(), None);
    let many: Vec<PageHealth> = (0..250).map(|n| page(&format!("{n:03}.md"), Some(&format!("/{n}")), n % 3)).collect();
    for id in [&project, &other] {
        let looked = desk.store.project(id).await.unwrap().unwrap();
        assert!(desk.store.record_health(&looked, "c1", Vec::new(), many.clone()).await.unwrap());
    }
    let known = desk.store.page_health(&project).await.unwrap();
    let plain = |text: &str| text.replace('\0', "\u{fffd}");
    assert_eq!(known.len(), 250);
    assert_eq!(known[2].findings.len(), 2);
    assert!(plain(&known[2].findings[0].message).ends_with("leads nowhere"));
    assert_eq!(known[2].not_judged, many[2].not_judged);
    let reasons = vec![NotJudged { reason: "it leads outside the repository".to_owned(), count: 4 }];
    desk.advance(SECOND);
    let two = vec![page("a.md", Some("/a"), 1), page("b.md", None, 0)];
    let looked = desk.store.project(&project).await.unwrap().unwrap();
    assert!(desk.store.record_health(&looked, "c2", reasons.clone(), two).await.unwrap());
    let files = |pages: Vec<PageHealth>| pages.into_iter().map(|page| page.file).collect::<Vec<_>>();
    assert_eq!(files(desk.store.page_health(&project).await.unwrap()), ["a.md", "b.md"]);
    assert_eq!(files(desk.store.pages_with_findings(&project).await.unwrap()), ["a.md"]);
    assert_eq!(files(desk.store.page_health_at(&project, &["/b", "/a", "/1"]).await.unwrap()), ["a.md"]);
    assert_eq!(desk.store.page_health_at(&project, &[]).await.unwrap(), []);
    for (text, wanted) in [("B.MD", &["b.md"][..]), ("title of", &["a.md", "b.md"]), ("/a", &["a.md"]), ("%", &[])] {
        assert_eq!(files(desk.store.find_pages(&project, text, 10).await.unwrap()), wanted, "{text:?}");
    }
    assert_eq!(desk.store.find_pages(&project, "", 1).await.unwrap().len(), 1);
    let health = desk.store.health(&project).await.unwrap().unwrap();
    assert_eq!((health.checked, health.not_judged), (Some(("c2".to_owned(), desk.now())), reasons));
    assert_eq!(desk.store.page_health(&other).await.unwrap().len(), 250, "each its own");
}

async fn a_look_that_came_to_nothing_leaves_what_is_known(desk: Desk) {
    let project = desk.project("Docs").await;
    let looked = desk.store.project(&project).await.unwrap().unwrap();
    desk.store.record_health(&looked, "c1", Vec::new(), vec![page("a.md", None, 0)]).await.unwrap();
    desk.store.note_health(&looked, Some("the repository cannot be reached")).await.unwrap();
    let health = desk.store.health(&project).await.unwrap().unwrap();
    assert_eq!(health.problem.as_deref(), Some("the repository cannot be reached"));
    assert!(health.checked.is_some() && desk.store.page_health(&project).await.unwrap().len() == 1);
    desk.store.note_health(&looked, None).await.unwrap();
    assert_eq!(desk.store.health(&project).await.unwrap().unwrap().problem, None);
}

async fn pages_go_with_their_project(desk: Desk) {
    let project = desk.project("Docs").await;
    let looked = desk.store.project(&project).await.unwrap().unwrap();
    desk.store.record_health(&looked, "c1", Vec::new(), vec![page("a.md", None, 0)]).await.unwrap();
    desk.store.delete_project(&project).await.unwrap();
    assert_eq!(desk.store.health(&project).await.unwrap(), None);
    assert_eq!(desk.store.page_health(&project).await.unwrap(), []);
    assert!(!desk.store.record_health(&looked, "c2", Vec::new(), Vec::new()).await.unwrap());
}
