//! Secrets of projects: sealed in the database, with keys that are in a file.

use copydesk_store::{SecretName, StoreError, Vault, VaultError};
use futures_util::future::join_all;
use tempfile::TempDir;

use crate::desk::{Desk, SECOND};
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
}

const GIT: SecretName = SecretName::Git;

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

async fn set(desk: &Desk, vault: &Vault, project: &str, content: &str) {
    desk.store.set_secret(vault, project, GIT, "token", content.as_bytes()).await.unwrap().unwrap();
}

async fn opened(desk: &Desk, vault: &Vault, project: &str) -> Result<String, VaultError> {
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
    desk.store.set_secret(&safe.vault, &project, SecretName::Webhook, "secret", b"hook").await.unwrap().unwrap();
    desk.advance(SECOND);
    let again = desk.store.set_secret(&safe.vault, &project, GIT, "SSH key", b"second").await.unwrap().unwrap();
    assert_eq!((again.created_at, again.updated_at, &*again.title), (made, desk.now(), "SSH key"));
    assert_eq!(opened(&desk, &safe.vault, &project).await.unwrap(), "second");
    let names: Vec<_> = desk.store.secrets(None).await.unwrap().into_iter().map(|secret| secret.name).collect();
    assert_eq!(names, [GIT, SecretName::Webhook]);

    assert!(desk.store.remove_secret(&project, GIT).await.unwrap());
    assert!(!desk.store.remove_secret(&project, GIT).await.unwrap());
    assert!(desk.store.secret(&safe.vault, &project, GIT).await.unwrap().is_none());
    let hook = desk.store.secret(&safe.vault, &project, SecretName::Webhook).await.unwrap().unwrap();
    assert_eq!(hook.1, b"hook");
}

async fn a_secret_that_is_too_long_or_of_nobody_is_refused(desk: Desk) {
    let (safe, project) = (safe(), desk.project("Docs").await);
    let most = vec![b'x'; copydesk_store::MAX_SECRET_BYTES];
    desk.store.set_secret(&safe.vault, &project, GIT, "token", &most).await.unwrap().unwrap();
    let long = [&most[..], b"x"].concat();
    let refused = desk.store.set_secret(&safe.vault, &project, GIT, "token", &long).await;
    assert!(matches!(refused, Err(VaultError::TooLong)), "{refused:?}");
    assert!(desk.store.set_secret(&safe.vault, "nobody", GIT, "token", b"x").await.unwrap().is_none());
    assert_eq!(desk.store.secrets(None).await.unwrap().len(), 1);
}

async fn a_secret_that_was_moved_or_altered_does_not_open(desk: Desk) {
    let (safe, mine) = (safe(), desk.project("Mine").await);
    let theirs = desk.project("Theirs").await;
    set(&desk, &safe.vault, &theirs, "planted").await;
    desk.db.execute(&format!("UPDATE project_secrets SET project_id = '{mine}'")).await;
    let error = opened(&desk, &safe.vault, &mine).await.unwrap_err();
    assert!(matches!(error, VaultError::Altered) && error.to_string().contains("set it again"), "{error}");

    desk.db.execute(&format!("UPDATE project_secrets SET project_id = '{theirs}', name = 'webhook'")).await;
    let moved = desk.store.secret(&safe.vault, &theirs, SecretName::Webhook).await;
    assert!(matches!(moved, Err(VaultError::Altered)), "{moved:?}");
    let empty = if desk.is_postgres() { "''::bytea" } else { "x''" };
    desk.db.execute(&format!("UPDATE project_secrets SET name = 'git', sealed = {empty}")).await;
    assert!(matches!(opened(&desk, &safe.vault, &theirs).await, Err(VaultError::Altered)));
    desk.db.execute("UPDATE project_secrets SET name = 'other'").await;
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

async fn three(desk: &Desk, vault: &Vault) -> Vec<String> {
    let mut projects = Vec::new();
    for name in ["one", "two", "three"] {
        let project = desk.project(name).await;
        set(desk, vault, &project, name).await;
        projects.push(project);
    }
    projects
}

async fn assert_all_open(desk: &Desk, vault: &Vault, projects: &[String]) {
    for project in projects {
        assert_eq!(opened(desk, vault, project).await.unwrap(), *project);
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
    desk.db.execute(&format!("UPDATE project_secrets SET sealed = {empty} WHERE project_id = 'one'")).await;
    desk.db.execute("UPDATE project_secrets SET key_id = 'gone' WHERE project_id = 'two'").await;
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
