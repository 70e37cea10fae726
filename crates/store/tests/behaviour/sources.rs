//! Further repositories that agents may read: kept with their project, sealed as it is, and recorded with each round.

use std::path::Path;

use copydesk_domain::{CodeSource, HostKind, HostSettings, MAX_CODE_SOURCES, ProjectId, Repository};
use copydesk_store::{
    DeedFilter, NamedCommit, NewSource, RangeAt, Round, RoundSources, SecretName, SourceAdded, SourceAt, SourceState,
    Step, Vault,
};
use futures_util::future::join_all;
use tempfile::TempDir;

use crate::desk::Desk;
use crate::raw;

behaviours! {
    a_source_reads_back_as_it_was_added,
    a_name_is_taken_once_in_a_project,
    a_project_has_so_many_sources_and_no_more,
    a_credential_of_a_source_is_sealed_and_goes_with_it,
    sources_go_with_their_project,
    who_added_and_removed_is_written_down,
    a_round_knows_where_the_sources_were,
}

fn safe() -> (TempDir, Vault) {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().join("credentials.key"));
    (folder, vault)
}

fn source(project: &ProjectId, name: &str) -> NewSource {
    NewSource {
        project_id: project.clone(),
        name: name.to_owned(),
        repository: Repository::parse("https://git.example.com/acme/sdk.git", Path::new("/")).unwrap(),
        branch: None,
        host: HostSettings::default(),
        secret: None,
    }
}

async fn add(desk: &Desk, vault: &Vault, new: NewSource) -> CodeSource {
    match desk.store.add_source(vault, new).await.unwrap() {
        SourceAdded::Done(source) => *source,
        other => panic!("not added: {other:?}"),
    }
}

async fn names(desk: &Desk, project: &ProjectId) -> Vec<String> {
    desk.store.sources(project).await.unwrap().into_iter().map(|source| source.name).collect()
}

async fn a_source_reads_back_as_it_was_added(desk: Desk) {
    let ((_folder, vault), project) = (safe(), desk.project("Docs").await);
    let host = HostSettings { kind: Some(HostKind::Gitlab), ..HostSettings::default() };
    let new = NewSource { branch: Some("release/2".to_owned()), host: host.clone(), ..source(&project, "sdk") };
    let added = add(&desk, &vault, new.clone()).await;
    let wanted = CodeSource {
        project_id: project.clone(),
        name: "sdk".to_owned(),
        repository: Repository::from_stored(new.repository.clone_address().to_owned()),
        branch: new.branch,
        host,
        created_at: desk.now(),
    };
    assert_eq!(added, wanted);
    assert_eq!(desk.store.source(&project, "sdk").await.unwrap(), Some(wanted));
    add(&desk, &vault, source(&project, "api")).await;
    assert_eq!(desk.store.source(&project, "api").await.unwrap().unwrap().branch, None);
    assert_eq!(names(&desk, &project).await, ["api", "sdk"]);
    assert!(!vault.path().exists(), "nothing was sealed");
}

async fn a_name_is_taken_once_in_a_project(desk: Desk) {
    let (_folder, vault) = safe();
    let (own, other) = (desk.project("Own").await, desk.project("Other").await);
    add(&desk, &vault, source(&own, "sdk")).await;
    add(&desk, &vault, source(&other, "sdk")).await;
    assert_eq!(desk.store.add_source(&vault, source(&own, "sdk")).await.unwrap(), SourceAdded::Taken);
    let nobody = source(&"nobody".into(), "sdk");
    assert_eq!(desk.store.add_source(&vault, nobody).await.unwrap(), SourceAdded::NoProject);
    assert!(desk.store.remove_source(&own, "sdk").await.unwrap());
    assert!(!desk.store.remove_source(&own, "sdk").await.unwrap());
    assert!(!desk.store.remove_source(&"nobody".into(), "sdk").await.unwrap());
    assert_eq!((names(&desk, &own).await.len(), names(&desk, &other).await.len()), (0, 1));
    add(&desk, &vault, source(&own, "sdk")).await;
}

async fn a_project_has_so_many_sources_and_no_more(desk: Desk) {
    let ((_folder, vault), project) = (safe(), desk.project("Docs").await);
    let wishes = (0..MAX_CODE_SOURCES + 4).map(|number| {
        let (store, vault, new) = (desk.store.clone(), vault.clone(), source(&project, &format!("s{number}")));
        async move { store.add_source(&vault, new).await.unwrap() }
    });
    let refused = join_all(wishes).await.into_iter().filter(|added| *added == SourceAdded::TooMany).count();
    assert_eq!((refused, names(&desk, &project).await.len()), (4, MAX_CODE_SOURCES));
}

async fn a_credential_of_a_source_is_sealed_and_goes_with_it(desk: Desk) {
    let ((_folder, vault), project) = (safe(), desk.project("Docs").await);
    let secret = Some(("token".to_owned(), b"planted-secret".to_vec()));
    add(&desk, &vault, NewSource { secret, ..source(&project, "sdk") }).await;
    add(&desk, &vault, source(&project, "api")).await;
    let name = SecretName::Source("sdk".to_owned());
    let (record, content) = desk.store.secret(&vault, &project, &name).await.unwrap().unwrap();
    assert_eq!((record.title.as_str(), content.as_slice()), ("token", &b"planted-secret"[..]));
    let stored = raw::everything(desk.db.address()).await;
    assert!(!stored.windows(14).any(|part| part == b"planted-secret"));
    let rotated = desk.store.rotate_keys(&vault, |_, _| {}).await.unwrap();
    assert_eq!((rotated.resealed, rotated.left.len()), (1, 0));
    assert_eq!(desk.store.secret(&vault, &project, &name).await.unwrap().unwrap().1, b"planted-secret");
    desk.store.remove_source(&project, "sdk").await.unwrap();
    assert!(desk.store.secrets(Some(&project)).await.unwrap().is_empty());
    add(&desk, &vault, source(&project, "sdk")).await;
    assert!(desk.store.secret(&vault, &project, &name).await.unwrap().is_none(), "another one begins without it");
}

async fn sources_go_with_their_project(desk: Desk) {
    let ((_folder, vault), project) = (safe(), desk.project("Docs").await);
    let secret = Some(("token".to_owned(), b"planted-secret".to_vec()));
    add(&desk, &vault, NewSource { secret, ..source(&project, "sdk") }).await;
    assert!(desk.store.delete_project(&project).await.unwrap());
    assert!(names(&desk, &project).await.is_empty());
    assert!(desk.store.secrets(None).await.unwrap().is_empty());
}

async fn who_added_and_removed_is_written_down(desk: Desk) {
    let ((_folder, vault), project) = (safe(), desk.project("Docs").await);
    add(&desk, &vault, source(&project, "sdk")).await;
    desk.store.add_source(&vault, source(&project, "sdk")).await.unwrap();
    desk.store.remove_source(&project, "sdk").await.unwrap();
    desk.store.remove_source(&project, "sdk").await.unwrap();
    let filter = DeedFilter { project_id: Some(project), limit: 100, ..DeedFilter::default() };
    let deeds = desk.store.deeds(filter).await.unwrap();
    let mut told: Vec<_> = deeds.iter().map(|deed| (&*deed.action, &*deed.target, &*deed.detail)).collect();
    told.retain(|(action, ..)| action.starts_with("source."));
    told.sort_unstable();
    assert_eq!(told, [("source.add", "sdk", "https://git.example.com/acme/sdk"), ("source.remove", "sdk", "")]);
}

async fn a_round_knows_where_the_sources_were(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.create(&project).await;
    let claimed = desk.claim("w").await;
    let at = |name: &str, branch: Option<&str>, state| SourceAt {
        name: name.to_owned(),
        address: "https://git.example.com/acme/sdk.git".to_owned(),
        branch: branch.map(str::to_owned),
        state,
    };
    let named = |name: &str| NamedCommit { name: name.to_owned(), commit: "c".repeat(40) };
    let sources = RoundSources {
        all: vec![
            at("api", None, SourceState::Unread("the host is away".to_owned())),
            at("sdk", Some("main"), SourceState::At("a".repeat(40))),
        ],
        range: Some(RangeAt { source: "sdk".to_owned(), from: named("v1.4"), to: named("v1.5") }),
    };
    let round = Round {
        number: 1,
        run: 1,
        first_message: 1,
        base_commit: "b".repeat(40),
        parent_commit: "b".repeat(40),
        merged: None,
        sources,
        edit: None,
        branch: None,
        commit: None,
        pushed: false,
        dropped: false,
    };
    desk.store.advance(&claimed.lease, Some(Step::Prepared(round.clone())), Vec::new()).await.unwrap();
    assert_eq!(desk.store.rounds(&job).await.unwrap(), [round]);
    let events = desk.store.events(&job, 0, 100).await.unwrap();
    let data = |kind: &str| events.iter().find(|event| event.kind == kind).unwrap().data.clone();
    assert_eq!(data("prepared")["sources"][1]["commit"], "a".repeat(40));
    assert_eq!(data("prepared")["sources"][0]["commit"], serde_json::Value::Null);
    assert_eq!(data("source_unread"), serde_json::json!({ "source": "api", "reason": "the host is away" }));
}
