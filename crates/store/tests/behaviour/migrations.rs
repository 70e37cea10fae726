//! The schema: made once, by whoever comes first, and never touched when it is newer than the program.

use copydesk_domain::{EventKind, HostSettings};
use copydesk_store::{SecretName, SecretRecord, Store, StoreError, Vault, ViewsSoFar};
use copydesk_testbase::{Backend, TestDatabase};
use futures_util::future::join_all;

use crate::desk::Desk;
use crate::raw;

behaviours! {
    a_database_that_takes_no_writes_is_not_ready,
    an_empty_database_is_older,
    a_fresh_database_gets_every_version_once,
    migrating_again_keeps_what_is_there,
    processes_that_start_at_once_migrate_once,
    a_newer_database_is_refused_and_left_alone,
    a_newer_database_that_says_so_is_used,
    a_database_from_before_code_hosts_keeps_its_projects_and_jobs,
    a_database_from_before_one_place_for_secrets_loses_none,
    webhooks_from_before_more_events_get_what_they_got,
}

fn backend(desk: &Desk) -> Backend {
    if desk.is_postgres() { Backend::Postgres } else { Backend::Sqlite }
}

/// A database without a schema, and a store on it.
async fn empty(desk: &Desk) -> (TestDatabase, Store) {
    let db = TestDatabase::new(backend(desk)).await;
    let store = db.open(desk.clock.clone()).await;
    (db, store)
}

async fn an_empty_database_is_older(desk: Desk) {
    let (db, store) = empty(&desk).await;
    let Err(error) = store.check_schema().await else { panic!("there is no schema") };
    assert!(matches!(error, StoreError::Older { found: 0, known: 1.. }), "{error:?}");
    assert!(error.to_string().contains("copydesk migrate"), "it says what to do: {error}");
    store.ping().await.unwrap();
    db.destroy().await;
}

async fn a_fresh_database_gets_every_version_once(desk: Desk) {
    let (db, store) = empty(&desk).await;
    let added = store.migrate().await.unwrap();
    assert_eq!(added, (1..=*added.last().unwrap()).collect::<Vec<_>>());
    store.check_schema().await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), [] as [i64; 0]);
    let versions = raw::number(db.address(), "SELECT count(*) FROM schema_versions").await;
    assert_eq!(versions as usize, added.len());
    db.destroy().await;
}

async fn migrating_again_keeps_what_is_there(desk: Desk) {
    let project = desk.project("Docs").await;
    let job = desk.create(&project).await;
    let before = raw::all_of_jobs(desk.db.address()).await;
    let again = desk.beside().await;
    assert!(again.job(&project, &job).await.unwrap().is_some());
    assert_eq!(raw::all_of_jobs(desk.db.address()).await, before);
}

async fn processes_that_start_at_once_migrate_once(desk: Desk) {
    for _ in 0..5 {
        // Not even the file is there.
        let db = TestDatabase::new(backend(&desk)).await;
        let starts = (0..4).map(|_| {
            let (address, clock) = (db.address().clone(), desk.clock.clone());
            tokio::spawn(async move {
                let store = Store::open(&address, clock).await.unwrap();
                let added = store.migrate().await.unwrap();
                store.check_schema().await.unwrap();
                added
            })
        });
        let added: Vec<_> = join_all(starts).await.into_iter().map(|added| added.unwrap()).collect();
        let who = added.iter().filter(|added| !added.is_empty()).count();
        assert_eq!(who, 1, "{added:?}");
        db.destroy().await;
    }
}

async fn a_newer_database_is_refused_and_left_alone(desk: Desk) {
    let (db, store) = empty(&desk).await;
    let known = *store.migrate().await.unwrap().last().unwrap();
    let found = known + 41;
    let insert = format!("INSERT INTO schema_versions (version, name, applied_at) VALUES ({found}, 'tomorrow', 0)");
    db.execute(&insert).await;
    for store in [store, db.open(desk.clock.clone()).await] {
        for refused in [store.check_schema().await.map(|()| Vec::new()), store.migrate().await] {
            let Err(error) = refused else { panic!("it must not be used") };
            let StoreError::Newer { found: said, known: knows } = error else { panic!("newer, not {error:?}") };
            assert_eq!((said, knows), (found, known));
            assert!(error.to_string().contains("newer Copydesk"), "{error}");
        }
    }
    assert_eq!(raw::number(db.address(), "SELECT max(version) FROM schema_versions").await, found);
    db.destroy().await;
}

/// Machines are updated one after the other: what the first has made, the others use as they are.
async fn a_newer_database_that_says_so_is_used(desk: Desk) {
    let (db, store) = empty(&desk).await;
    let known = *store.migrate().await.unwrap().last().unwrap();
    for (runs_from, is_used) in [(known + 1, false), (known, true), (known - 1, true)] {
        db.execute(&format!("DELETE FROM schema_versions WHERE version = {}", known + 1)).await;
        let columns = "version, name, applied_at, runs_from";
        let row = format!("{}, 'tomorrow', 0, {runs_from}", known + 1);
        db.execute(&format!("INSERT INTO schema_versions ({columns}) VALUES ({row})")).await;
        assert_eq!(store.check_schema().await.is_ok(), is_used, "{runs_from}");
        assert_eq!(store.migrate().await.ok(), is_used.then(Vec::new), "{runs_from}");
    }
    assert_eq!(raw::number(db.address(), "SELECT max(version) FROM schema_versions").await, known + 1);
    let copy = tempfile::tempdir().unwrap();
    if desk.is_postgres() {
        // What this program does not know would be missing.
        assert!(matches!(store.backup(&copy.path().join("copy.db")).await, Err(StoreError::Newer { .. })));
    }
    db.destroy().await;
}

/// The schema as it was up to version 3.
const UP_TO_6: [&str; 6] = [
    include_str!("../../migrations/0001_foundation.sql"),
    include_str!("../../migrations/0002_agent_jobs.sql"),
    include_str!("../../migrations/0003_page_views.sql"),
    include_str!("../../migrations/0004_code_hosts.sql"),
    include_str!("../../migrations/0005_pull_requests.sql"),
    include_str!("../../migrations/0006_webhooks.sql"),
];

/// A database as it was at that version, with one project.
async fn at_version(desk: &Desk, version: usize) -> (TestDatabase, Store) {
    let (db, store) = empty(desk).await;
    let words = match backend(desk) {
        Backend::Sqlite => [("{int}", "INTEGER"), ("{id}", "TEXT"), ("{bytes}", "BLOB"), ("{strict}", "STRICT")],
        Backend::Postgres => {
            [("{int}", "BIGINT"), ("{id}", "TEXT COLLATE \"C\""), ("{bytes}", "BYTEA"), ("{strict}", "")]
        }
    };
    db.execute("CREATE TABLE schema_versions (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT)")
        .await;
    for (version, sql) in (1..).zip(&UP_TO_6[..version]) {
        db.execute(&words.iter().fold((*sql).to_owned(), |sql, (from, to)| sql.replace(from, to))).await;
        db.execute(&format!("INSERT INTO schema_versions VALUES ({version}, 'then', 0)")).await;
    }
    db.execute(
        "INSERT INTO projects (id, name, repository, base_ref, docs_paths, time_zone, created_at, updated_at) \
         VALUES ('docs', 'Docs', 'https://example.com/docs', 'main', '[\"docs\"]', 'UTC', 1, 2)",
    )
    .await;
    (db, store)
}

async fn a_database_from_before_code_hosts_keeps_its_projects_and_jobs(desk: Desk) {
    let (db, store) = at_version(&desk, 3).await;
    db.execute(
        "INSERT INTO jobs (id, project_id, status, repository, base_ref, model, draft, open_pull_request, usage, \
         checks, turn, created_at, updated_at, queued_at, not_before, tries, attempt, pr_link) \
         VALUES ('job', 'docs', 'completed', 'https://example.com/docs', 'main', 'builtin', 0, 1, '{}', '[]', 1, \
         1, 1, 1, 1, 0, 0, 'https://example.com/pull/1')",
    )
    .await;
    let Err(StoreError::Older { found: 3, .. }) = store.check_schema().await else { panic!("it is at version 3") };
    assert_eq!(store.migrate().await.unwrap().first(), Some(&4));

    let project = store.project(&"docs".into()).await.unwrap().unwrap();
    assert_eq!((&*project.name, project.host), ("Docs", HostSettings::default()));
    let job = store.job(&"docs".into(), &"job".into()).await.unwrap().unwrap();
    assert_eq!(job.pr_link.as_deref(), Some("https://example.com/pull/1"));
    let unknown = "SELECT count(*) FROM jobs WHERE pr_number IS NULL AND pr_state IS NULL AND pr_draft IS NULL \
                   AND pr_merged_at IS NULL AND pr_checked_at IS NULL";
    assert_eq!(raw::number(db.address(), unknown).await, 1);
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().join("credentials.key"));
    store.set_secret(&vault, &"docs".into(), &SecretName::Git, "token", b"planted").await.unwrap().unwrap();
    assert_eq!(store.secret(&vault, &"docs".into(), &SecretName::Git).await.unwrap().unwrap().1, b"planted");
    db.destroy().await;
}

async fn webhooks_from_before_more_events_get_what_they_got(desk: Desk) {
    let (db, store) = at_version(&desk, 6).await;
    for (id, events) in [("all", "[]"), ("some", "[\"job.failed\"]")] {
        db.execute(&format!(
            "INSERT INTO webhook_endpoints (id, project_id, url, events, description, created_at) \
             VALUES ('{id}', 'docs', 'https://example.com/', '{events}', '', 1)"
        ))
        .await;
    }
    store.migrate().await.unwrap();
    let [all, some] = store.webhooks(None).await.unwrap().try_into().unwrap();
    use EventKind::{JobArchived, JobCompleted, JobCreated, JobFailed};
    assert_eq!(all.events, [JobCreated, JobCompleted, JobFailed, JobArchived]);
    assert_eq!(some.events, [JobFailed]);

    // Whether an old project has had views is not known until somebody looks, and what was not the first is not told.
    let docs = "docs".into();
    assert_eq!(store.without_first_view().await.unwrap(), [("docs".into(), ViewsSoFar::Unknown)]);
    assert!(!store.tell_first_view(&docs).await.unwrap());
    store.note_views(&docs, false).await.unwrap();
    if desk.is_postgres() {
        let unknown = [("docs".into(), ViewsSoFar::Unknown)];
        assert_eq!(store.without_first_view().await.unwrap(), unknown, "another machine may have some");
        assert!(!store.tell_first_view(&docs).await.unwrap());
        store.note_views(&docs, true).await.unwrap();
        assert_eq!(store.without_first_view().await.unwrap(), []);
    } else {
        assert_eq!(store.without_first_view().await.unwrap(), [("docs".into(), ViewsSoFar::None)]);
        store.note_views(&docs, true).await.unwrap();
        assert!(store.tell_first_view(&docs).await.unwrap(), "it is known that there was none");
    }
    db.destroy().await;
}

async fn a_database_from_before_one_place_for_secrets_loses_none(desk: Desk) {
    let (db, store) = at_version(&desk, 6).await;
    let bytes = |hex: &str| if desk.is_postgres() { format!("'\\x{hex}'::bytea") } else { format!("x'{hex}'") };
    db.execute(
        "INSERT INTO webhook_endpoints (id, project_id, url, events, description, created_at) \
         VALUES ('one', 'docs', 'https://example.com', '[]', '', 1)",
    )
    .await;
    let now = store.now().as_millis();
    for (id, sealed, expires) in [("1", "aa", format!("{}", now + 1000)), ("2", "bb", "NULL".to_owned())] {
        db.execute(&format!("INSERT INTO webhook_secrets VALUES ('{id}', 'one', {}, {expires})", bytes(sealed))).await;
    }
    db.execute(&format!(
        "INSERT INTO project_secrets (project_id, name, key_id, sealed, title, created_at, updated_at) \
         VALUES ('docs', 'git', 'k', {}, 'token', 3, 4)",
        bytes("cc")
    ))
    .await;
    assert_eq!(store.migrate().await.unwrap().first(), Some(&7));
    let kept = store.secrets(None).await.unwrap();
    let said =
        |it: &SecretRecord| format!("{} {} {} {}", it.name.text(), it.generation, it.key_id, it.expires_at.is_some());
    let kept: Vec<_> = kept.iter().map(said).collect();
    let wanted = [
        "drain 1 installation false",
        "git 1 k false",
        "hook 1 installation false",
        "webhook/one 1 installation true",
        "webhook/one 2 installation false",
    ];
    assert_eq!(kept, wanted);
    for (name, generation, sealed) in [("git", 1, "cc"), ("webhook/one", 1, "aa"), ("webhook/one", 2, "bb")] {
        let found = format!(
            "SELECT count(*) FROM secrets WHERE name = '{name}' AND generation = {generation} AND sealed = {}",
            bytes(sealed)
        );
        assert_eq!(raw::number(db.address(), &found).await, 1, "{name} {generation}");
    }
    assert_eq!(store.webhook("one").await.unwrap().unwrap().old_secret_until.unwrap().as_millis(), now + 1000);
    db.destroy().await;
}

async fn a_database_that_takes_no_writes_is_not_ready(desk: Desk) {
    desk.store.ping().await.unwrap();
    if !desk.is_postgres() {
        // Who runs the tests may be allowed to write to any file.
        return;
    }
    let alter = "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || \
                 ' SET default_transaction_read_only = on'; END $$";
    desk.db.execute(alter).await;
    let beside = Store::open(desk.db.address(), desk.clock.clone()).await.unwrap();
    let error = beside.ping().await.unwrap_err();
    assert!(error.to_string().contains("no writes"), "{error}");
    desk.store.ping().await.unwrap();
}
