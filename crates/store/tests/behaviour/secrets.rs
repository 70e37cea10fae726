//! Secrets of projects: sealed in the database, with keys that are in a file.

use copydesk_domain::ProjectId;
use copydesk_store::{SecretName, StoreError, Vault, VaultError};
use futures_util::future::join_all;
use tempfile::TempDir;

use crate::desk::{Desk, HOUR, SECOND};
use crate::raw;

behaviours! {
    a_secret_comes_back_and_is_nowhere_in_the_clear,
    a_secret_is_set_anew_and_removed,
    a_secret_that_is_too_long_or_of_nobody_is_refused,
    a_secret_that_was_moved_or_altered_does_not_open,
    a_secret_goes_with_its_project,
    without_the_key_file_nothing_opens_and_no_other_is_made,
    another_key_file_does_not_open_what_this_one_sealed,
    a_rotation_leaves_one_key_and_every_secret_readable,
    a_rotation_that_was_cut_short_anywhere_is_done_by_the_next,
    a_rotation_leaves_what_does_not_open_and_its_key,
    secrets_are_read_and_set_while_keys_are_rotated,
    a_new_secret_takes_over_and_the_old_one_holds_for_a_while,
    a_secret_that_is_first_asked_for_is_made_once,
    a_key_that_is_gone_hides_nothing_but_what_it_sealed,
    what_earlier_versions_sealed_and_made_is_adopted,
    machines_that_share_the_secret_file_adopt_with_the_same_key,
}

const GIT: &SecretName = &SecretName::Git;
const HOOK: &SecretName = &SecretName::Hook;

/// A key file in a folder of its own, which goes with the value.
struct Safe {
    _folder: TempDir,
    vault: Vault,
}

fn safe() -> Safe {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().join("credentials.key"));
    Safe { _folder: folder, vault }
}

impl Safe {
    fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(self.vault.path()).unwrap().lines().map(str::to_owned).collect()
    }
}

async fn set(desk: &Desk, vault: &Vault, project: &ProjectId, content: &str) {
    desk.store.set_secret(vault, project, GIT, "token", content.as_bytes()).await.unwrap().unwrap();
}

async fn opened(desk: &Desk, vault: &Vault, project: &ProjectId) -> Result<String, VaultError> {
    let secret = desk.store.secret(vault, project, GIT).await?;
    Ok(String::from_utf8(secret.expect("there is one").1).unwrap())
}

async fn a_secret_comes_back_and_is_nowhere_in_the_clear(desk: Desk) {
    let (safe, project) = (safe(), desk.project("Docs").await);
    assert!(desk.store.secret(&safe.vault, &project, GIT).await.unwrap().is_none());
    set(&desk, &safe.vault, &project, "planted-secret").await;
    assert_eq!(opened(&desk, &safe.vault, &project).await.unwrap(), "planted-secret");
    let stored = raw::everything(desk.db.address()).await;
    for needle in [&b"planted-secret"[..], b"706c616e7465642d736563726574", b"cGxhbnRlZC1zZWNyZXQ"] {
        assert!(!stored.windows(needle.len()).any(|part| part == needle));
    }
    let found = desk.store.secrets(Some(&project)).await.unwrap();
    assert!(!format!("{found:?}").contains("planted") && found.len() == 1);
}

async fn a_secret_is_set_anew_and_removed(desk: Desk) {
    let (safe, project) = (safe(), desk.project("Docs").await);
    let made = desk.now();
    set(&desk, &safe.vault, &project, "first").await;
    desk.store.set_secret(&safe.vault, &project, HOOK, "secret", b"hook").await.unwrap().unwrap();
    desk.advance(SECOND);
    let again = desk.store.set_secret(&safe.vault, &project, GIT, "SSH key", b"second").await.unwrap().unwrap();
    assert_eq!((again.created_at, again.updated_at, &*again.title), (made, desk.now(), "SSH key"));
    assert_eq!(opened(&desk, &safe.vault, &project).await.unwrap(), "second");
    let names: Vec<_> = desk.store.secrets(None).await.unwrap().into_iter().map(|secret| secret.name).collect();
    assert_eq!(names, [SecretName::Git, SecretName::Hook]);

    assert!(desk.store.remove_secret(&project, GIT).await.unwrap());
    assert!(!desk.store.remove_secret(&project, GIT).await.unwrap());
    assert!(desk.store.secret(&safe.vault, &project, GIT).await.unwrap().is_none());
    let hook = desk.store.secret(&safe.vault, &project, HOOK).await.unwrap().unwrap();
    assert_eq!(hook.1, b"hook");
}

async fn a_secret_that_is_too_long_or_of_nobody_is_refused(desk: Desk) {
    let (safe, project) = (safe(), desk.project("Docs").await);
    let most = vec![b'x'; copydesk_store::MAX_SECRET_BYTES];
    desk.store.set_secret(&safe.vault, &project, GIT, "token", &most).await.unwrap().unwrap();
    let long = [&most[..], b"x"].concat();
    let refused = desk.store.set_secret(&safe.vault, &project, GIT, "token", &long).await;
    assert!(matches!(refused, Err(VaultError::TooLong)), "{refused:?}");
    assert!(desk.store.set_secret(&safe.vault, &"nobody".into(), GIT, "token", b"x").await.unwrap().is_none());
    assert_eq!(desk.store.secrets(None).await.unwrap().len(), 1);
}

async fn a_secret_that_was_moved_or_altered_does_not_open(desk: Desk) {
    let (safe, mine) = (safe(), desk.project("Mine").await);
    let theirs = desk.project("Theirs").await;
    set(&desk, &safe.vault, &theirs, "planted").await;
    desk.db.execute(&format!("UPDATE secrets SET project_id = '{mine}'")).await;
    let error = opened(&desk, &safe.vault, &mine).await.unwrap_err();
    assert!(matches!(error, VaultError::Altered) && error.to_string().contains("set it again"), "{error}");

    desk.db.execute(&format!("UPDATE secrets SET project_id = '{theirs}', name = 'hook'")).await;
    let moved = desk.store.secret(&safe.vault, &theirs, HOOK).await;
    assert!(matches!(moved, Err(VaultError::Altered)), "{moved:?}");
    let empty = if desk.is_postgres() { "''::bytea" } else { "x''" };
    desk.db.execute(&format!("UPDATE secrets SET name = 'git', sealed = {empty}")).await;
    assert!(matches!(opened(&desk, &safe.vault, &theirs).await, Err(VaultError::Altered)));
    desk.db.execute("UPDATE secrets SET name = 'other'").await;
    let unreadable = desk.store.secrets(None).await;
    assert!(matches!(unreadable, Err(StoreError::Unreadable(_))), "{unreadable:?}");
}

async fn a_secret_goes_with_its_project(desk: Desk) {
    let (safe, kept) = (safe(), desk.project("Kept").await);
    let lost = desk.project("Lost").await;
    set(&desk, &safe.vault, &kept, "kept").await;
    set(&desk, &safe.vault, &lost, "lost").await;
    desk.store.delete_project(&lost).await.unwrap();
    let left: Vec<_> = desk.store.secrets(None).await.unwrap().into_iter().map(|secret| secret.project_id).collect();
    assert_eq!(left, [kept]);
    assert_eq!(desk.project("Lost").await, lost);
    assert!(desk.store.secret(&safe.vault, &lost, GIT).await.unwrap().is_none());
}

async fn without_the_key_file_nothing_opens_and_no_other_is_made(desk: Desk) {
    let (safe, one) = (safe(), desk.project("One").await);
    let two = desk.project("Two").await;
    set(&desk, &safe.vault, &one, "one").await;
    let key = std::fs::read(safe.vault.path()).unwrap();
    std::fs::remove_file(safe.vault.path()).unwrap();
    let error = opened(&desk, &safe.vault, &one).await.unwrap_err();
    assert!(matches!(error, VaultError::Missing(_)), "{error}");
    assert!(error.to_string().contains("backup") && error.to_string().contains("credentials.key"), "{error}");

    // A second key would be found only when the first is needed.
    let refused = desk.store.set_secret(&safe.vault, &two, GIT, "token", b"two").await;
    assert!(matches!(refused, Err(VaultError::Missing(_))), "{refused:?}");
    let refused = desk.store.rotate_keys(&safe.vault, |_, _| ()).await;
    assert!(matches!(refused, Err(VaultError::Missing(_))), "{refused:?}");
    assert!(!safe.vault.is_there().unwrap());

    std::fs::write(safe.vault.path(), key).unwrap();
    std::fs::set_permissions(safe.vault.path(), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(opened(&desk, &safe.vault, &one).await.unwrap(), "one");
    // With nothing else to lose, a new one is as good.
    std::fs::remove_file(safe.vault.path()).unwrap();
    set(&desk, &safe.vault, &one, "anew").await;
    assert_eq!(opened(&desk, &safe.vault, &one).await.unwrap(), "anew");
}

async fn another_key_file_does_not_open_what_this_one_sealed(desk: Desk) {
    let (mine, theirs, project) = (safe(), safe(), desk.project("Docs").await);
    set(&desk, &mine.vault, &project, "planted").await;
    desk.store.rotate_keys(&mine.vault, |_, _| ()).await.unwrap();
    let held = theirs.vault.hold().await.unwrap();
    mine.vault.copy_to(&held, theirs.vault.path()).unwrap();
    assert_eq!(opened(&desk, &theirs.vault, &project).await.unwrap(), "planted");
    theirs.vault.add_key(&held).unwrap();
    theirs.vault.drop_keys(&held, &[]).unwrap();
    let error = opened(&desk, &theirs.vault, &project).await.unwrap_err();
    assert!(matches!(error, VaultError::OtherKey { .. }), "{error}");
    let key_id = &desk.store.secrets(None).await.unwrap()[0].key_id;
    assert!(error.to_string().contains(key_id), "{error}");
}

async fn three(desk: &Desk, vault: &Vault) -> Vec<ProjectId> {
    let mut projects = Vec::new();
    for name in ["one", "two", "three"] {
        let project = desk.project(name).await;
        set(desk, vault, &project, name).await;
        projects.push(project);
    }
    projects
}

async fn assert_all_open(desk: &Desk, vault: &Vault, projects: &[ProjectId]) {
    for project in projects {
        assert_eq!(opened(desk, vault, project).await.unwrap(), project.as_str());
    }
}

async fn a_rotation_leaves_one_key_and_every_secret_readable(desk: Desk) {
    let safe = safe();
    let first = desk.store.rotate_keys(&safe.vault, |_, _| ()).await.unwrap();
    assert_eq!((first.resealed, first.dropped), (0, 0), "there was nothing to do but to make a key");
    let projects = three(&desk, &safe.vault).await;
    let (before, set_at) = (safe.lines(), desk.now());
    desk.advance(SECOND);
    let mut heard = Vec::new();
    let rotated = desk.store.rotate_keys(&safe.vault, |done, of| heard.push((done, of))).await.unwrap();
    assert_eq!((rotated.resealed, rotated.dropped, rotated.left.len()), (3, 1, 0));
    assert_eq!(heard, [(1, 3), (2, 3), (3, 3)]);
    assert_eq!(safe.lines().len(), 1);
    assert_ne!(safe.lines(), before);
    for secret in desk.store.secrets(None).await.unwrap() {
        assert_eq!((secret.key_id, secret.updated_at), (rotated.key_id.clone(), set_at));
    }
    assert_all_open(&desk, &safe.vault, &projects).await;
}

async fn a_rotation_that_was_cut_short_anywhere_is_done_by_the_next(desk: Desk) {
    let safe = safe();
    let projects = three(&desk, &safe.vault).await;
    // After the new key was written, and again.
    for keys in 2..4 {
        safe.vault.add_key(&safe.vault.hold().await.unwrap()).unwrap();
        assert_eq!(safe.lines().len(), keys);
        assert_all_open(&desk, &safe.vault, &projects).await;
    }
    // After the first of the secrets.
    set(&desk, &safe.vault, &projects[0], &projects[0]).await;
    assert_all_open(&desk, &safe.vault, &projects).await;
    let rotated = desk.store.rotate_keys(&safe.vault, |_, _| ()).await.unwrap();
    assert_eq!((rotated.resealed, rotated.dropped, safe.lines().len()), (3, 3, 1));
    assert_all_open(&desk, &safe.vault, &projects).await;
    // After the last of the secrets, before the old key was dropped.
    safe.vault.add_key(&safe.vault.hold().await.unwrap()).unwrap();
    assert_eq!(desk.store.reseal_all(&safe.vault, |_, _| ()).await.unwrap().0, 3);
    assert_eq!(desk.store.reseal_all(&safe.vault, |_, _| ()).await.unwrap().0, 0, "again does nothing");
    assert_all_open(&desk, &safe.vault, &projects).await;
    let rotated = desk.store.rotate_keys(&safe.vault, |_, _| ()).await.unwrap();
    assert_eq!((rotated.resealed, rotated.dropped, safe.lines().len()), (3, 2, 1));
    assert_all_open(&desk, &safe.vault, &projects).await;
}

async fn a_rotation_leaves_what_does_not_open_and_its_key(desk: Desk) {
    let safe = safe();
    let projects = three(&desk, &safe.vault).await;
    let empty = if desk.is_postgres() { "''::bytea" } else { "x''" };
    desk.db.execute(&format!("UPDATE secrets SET sealed = {empty} WHERE project_id = 'one'")).await;
    desk.db.execute("UPDATE secrets SET key_id = 'gone' WHERE project_id = 'two'").await;
    let rotated = desk.store.rotate_keys(&safe.vault, |_, _| ()).await.unwrap();
    assert_eq!((rotated.resealed, rotated.dropped), (1, 0));
    let left: Vec<_> = rotated.left.iter().map(|(secret, error)| (&*secret.project_id, error)).collect();
    assert!(matches!(left[..], [("one", VaultError::Altered), ("two", VaultError::OtherKey { .. })]), "{left:?}");
    assert_eq!(safe.lines().len(), 2, "something still needs the old one");
    assert_all_open(&desk, &safe.vault, &projects[2..]).await;
    for project in &projects[..2] {
        set(&desk, &safe.vault, project, project).await;
    }
    let rotated = desk.store.rotate_keys(&safe.vault, |_, _| ()).await.unwrap();
    assert_eq!((rotated.resealed, rotated.dropped, safe.lines().len()), (3, 2, 1));
    assert_all_open(&desk, &safe.vault, &projects).await;
}

async fn secrets_are_read_and_set_while_keys_are_rotated(desk: Desk) {
    let safe = safe();
    let projects = three(&desk, &safe.vault).await;
    let (done, mut running) = (tokio::sync::watch::channel(false).0, Vec::new());
    for project in &projects {
        for writes in [false, true] {
            let (store, vault) = (desk.beside().await, Vault::new(safe.vault.path().to_owned()));
            let (project, done) = (project.clone(), done.subscribe());
            running.push(tokio::spawn(async move {
                let mut times = 0;
                while times == 0 || !*done.borrow() {
                    if writes {
                        store.set_secret(&vault, &project, GIT, "token", project.as_bytes()).await.unwrap().unwrap();
                    }
                    let (_, content) = store.secret(&vault, &project, GIT).await.unwrap().unwrap();
                    assert_eq!(content, project.as_bytes());
                    times += 1;
                }
            }));
        }
    }
    for _ in 0..10 {
        let rotated = desk.store.rotate_keys(&safe.vault, |_, _| ()).await.unwrap();
        assert!(rotated.left.is_empty(), "{rotated:?}");
    }
    done.send_replace(true);
    for ended in join_all(running).await {
        ended.unwrap();
    }
    assert_eq!(safe.lines().len(), 1);
    assert_all_open(&desk, &safe.vault, &projects).await;
}

async fn valid(desk: &Desk, vault: &Vault, project: &ProjectId, name: &SecretName) -> Vec<String> {
    let valid = desk.store.valid_secrets(vault, project, name).await.unwrap();
    valid.into_iter().map(|(_, content)| String::from_utf8(content).unwrap()).collect()
}

async fn a_new_secret_takes_over_and_the_old_one_holds_for_a_while(desk: Desk) {
    let (vault, project) = (&desk.vault, desk.project("Docs").await);
    let replace = async |content: &str, until| {
        desk.store.replace_secret(vault, &project, HOOK, content.as_bytes(), until).await.unwrap()
    };
    assert_eq!(valid(&desk, vault, &project, HOOK).await, [""; 0]);
    assert!(replace("first", desk.now()).await);
    assert!(replace("second", desk.now().plus(HOUR)).await);
    assert_eq!(valid(&desk, vault, &project, HOOK).await, ["second", "first"]);
    assert!(replace("third", desk.now().plus(HOUR)).await);
    assert_eq!(valid(&desk, vault, &project, HOOK).await, ["third", "second"], "two at a time");
    let generations: Vec<_> = desk.store.secrets(None).await.unwrap().iter().map(|it| it.generation).collect();
    assert_eq!(generations, [2, 3]);
    desk.store.rotate_keys(vault, |_, _| ()).await.unwrap();
    assert_eq!(valid(&desk, vault, &project, HOOK).await, ["third", "second"], "both are sealed anew");
    desk.advance(HOUR);
    assert_eq!(valid(&desk, vault, &project, HOOK).await, ["third"]);
    assert!(replace("fourth", desk.now()).await);
    assert_eq!(valid(&desk, vault, &project, HOOK).await, ["fourth"], "at once, if so wished");
    assert!(!desk.store.replace_secret(vault, &"nobody".into(), HOOK, b"x", desk.now()).await.unwrap());
    let nowhere = SecretName::Webhook("nowhere".to_owned());
    assert!(!desk.store.replace_secret(vault, &project, &nowhere, b"x", desk.now()).await.unwrap());

    // Whoever makes a project of the same name gets nothing of the old one.
    desk.store.delete_project(&project).await.unwrap();
    assert_eq!(desk.project("Docs").await, project);
    assert_eq!(valid(&desk, vault, &project, HOOK).await, [""; 0]);
}

async fn a_secret_that_is_first_asked_for_is_made_once(desk: Desk) {
    let project = desk.project("Docs").await;
    let stores = desk.several_beside(4).await;
    let asked = (0..12).map(|at| {
        let (store, vault, project) = (stores[at % 4].clone(), desk.vault.clone(), project.clone());
        tokio::spawn(async move {
            let content = format!("of {at}");
            store.secret_or(&vault, &project, &SecretName::Drain, content.as_bytes()).await.unwrap().unwrap()
        })
    });
    let asked: Vec<_> = join_all(asked).await.into_iter().map(|it| it.unwrap()).collect();
    assert!(asked.iter().all(|content| *content == asked[0]), "{asked:?}");
    assert_eq!(desk.store.secrets(None).await.unwrap().len(), 1);
    assert_eq!(desk.store.secret_or(&desk.vault, &"nobody".into(), &SecretName::Drain, b"x").await.unwrap(), None);
}

async fn a_key_that_is_gone_hides_nothing_but_what_it_sealed(desk: Desk) {
    let (vault, project) = (&desk.vault, desk.project("Docs").await);
    let until = desk.now().plus(HOUR);
    desk.store.replace_secret(vault, &project, HOOK, b"old", until).await.unwrap();
    desk.db.execute("UPDATE secrets SET key_id = 'gone'").await;
    assert!(matches!(desk.store.valid_secrets(vault, &project, HOOK).await, Err(VaultError::OtherKey { .. })));
    desk.store.replace_secret(vault, &project, HOOK, b"new", until).await.unwrap();
    assert_eq!(valid(&desk, vault, &project, HOOK).await, ["new"]);
    // The old one must not pass for the newest.
    desk.store.replace_secret(vault, &project, HOOK, b"newest", until).await.unwrap();
    desk.db.execute("UPDATE secrets SET key_id = 'gone' WHERE generation = 3").await;
    assert!(matches!(desk.store.secret(vault, &project, HOOK).await, Err(VaultError::OtherKey { .. })));
}

/// As the versions before made and sealed them, from a secret of 32 sevens; computed with Python's `cryptography`.
const INSTALLATION: [u8; 32] = [7; 32];
const DRAIN: &str = "28159950a4efd9a2c838463c6250a7844f33d66b431daec30ac68e1d00cc8d02";
const HOST_HOOK: &str = "98571c6e4c2491b79997b2ff0602181f4786a90d4a3cc93cad334625770aa6e4";
const SEALED: &str =
    "000102030405060708090a0b71a3fc572f0eee8c9c638b71d4daec5b6febcad2b18faa39f78e116e488f25a4700595a243";

/// A project with a webhook whose secret is `a secret of a webhook`, all as the migration leaves it.
async fn of_an_earlier_version(desk: &Desk) -> (ProjectId, SecretName) {
    let project = desk.project("Docs").await;
    let cast = |hex: &str| if desk.is_postgres() { format!("'\\x{hex}'::bytea") } else { format!("x'{hex}'") };
    desk.db
        .execute(&format!(
            "INSERT INTO webhook_endpoints (id, project_id, url, events, description, created_at) \
             VALUES ('one', '{project}', 'https://example.com', '[]', '', 1)"
        ))
        .await;
    for (name, sealed) in [("drain", ""), ("hook", ""), ("webhook/one", SEALED)] {
        desk.db
            .execute(&format!(
                "INSERT INTO secrets VALUES ('{project}', '{name}', 1, 'secret', 'installation', {}, 1, 1, NULL)",
                cast(sealed)
            ))
            .await;
    }
    (project, SecretName::Webhook("one".to_owned()))
}

async fn what_earlier_versions_sealed_and_made_is_adopted(desk: Desk) {
    let (project, webhook) = of_an_earlier_version(&desk).await;
    let vault = &desk.vault;
    let waiting = desk.store.valid_secrets(vault, &project, HOOK).await;
    assert!(matches!(waiting, Err(VaultError::Unadopted)), "{waiting:?}");
    // It is no reason to keep others from being sealed.
    set(&desk, vault, &project, "token").await;
    assert_eq!(desk.store.rotate_keys(vault, |_, _| ()).await.unwrap().left.len(), 3);
    assert!(desk.store.adopt_secrets(vault, &[8; 32]).await.is_err(), "another file is not the one");
    assert_eq!(desk.store.unadopted_secrets().await.unwrap(), 3);

    assert_eq!(desk.store.adopt_secrets(vault, &INSTALLATION).await.unwrap(), 3);
    assert_eq!(desk.store.adopt_secrets(vault, &INSTALLATION).await.unwrap(), 0);
    assert_eq!(desk.store.unadopted_secrets().await.unwrap(), 0);
    for _ in 0..2 {
        assert_eq!(valid(&desk, vault, &project, &SecretName::Drain).await, [DRAIN]);
        assert_eq!(valid(&desk, vault, &project, HOOK).await, [HOST_HOOK]);
        assert_eq!(valid(&desk, vault, &project, &webhook).await, ["a secret of a webhook"]);
        assert_eq!(opened(&desk, vault, &project).await.unwrap(), "token");
        // And again when no key of theirs is left.
        let rotated = desk.store.rotate_keys(vault, |_, _| ()).await.unwrap();
        assert!(rotated.left.is_empty(), "{rotated:?}");
    }
}

async fn machines_that_share_the_secret_file_adopt_with_the_same_key(desk: Desk) {
    let (project, webhook) = of_an_earlier_version(&desk).await;
    let (first, second) = (safe(), safe());
    // The first has a key file already, the second has none yet.
    set(&desk, &first.vault, &project, "token").await;
    assert_eq!(desk.store.adopt_secrets(&first.vault, &INSTALLATION).await.unwrap(), 3);
    assert_eq!(desk.store.adopt_secrets(&second.vault, &INSTALLATION).await.unwrap(), 0);
    for vault in [&first.vault, &second.vault] {
        assert_eq!(valid(&desk, vault, &project, &webhook).await, ["a secret of a webhook"]);
    }
    let other = opened(&desk, &second.vault, &project).await;
    assert!(matches!(other, Err(VaultError::OtherKey { .. })), "{other:?}");
}
