//! What a project shows to its code host: stored, else from the environment.

use std::ffi::OsString;

use copydesk_desk::credentials::{CredentialError, Credentials};
use copydesk_forge::HostSecret;
use copydesk_store::{SecretName, Vault, VaultError};

use crate::stage::Stage;

behaviours! { what_is_stored_wins_over_the_environment, what_cannot_be_used_is_a_sentence_without_it }

fn token(text: &str) -> HostSecret {
    HostSecret::Token { username: None, token: text.into() }
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

async fn what_is_stored_wins_over_the_environment(stage: &Stage) {
    let app = stage.app().await;
    let (project, other) = (app.project("Acme Docs").await, app.project("Other").await);
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().join("credentials.key"));
    let given = variables(&[("COPYDESK_CREDENTIAL_ACME_DOCS", "of the environment\n"), ("HOME", "/")]);
    let credentials = Credentials::new(app.store().clone(), vault.clone(), &given);
    assert_eq!(credentials.of(&other.id).await.unwrap(), None);
    assert_eq!(credentials.of(&project.id).await.unwrap(), Some(token("of the environment")));

    let stored = token("stored");
    let set = |bytes: Vec<u8>| {
        let (store, vault, id) = (app.store().clone(), vault.clone(), project.id.clone());
        async move { store.set_secret(&vault, &id, &SecretName::Git, "token", &bytes).await.unwrap().unwrap() }
    };
    set(stored.to_bytes()).await;
    assert_eq!(credentials.of(&project.id).await.unwrap(), Some(stored.clone()));
    // While the server runs.
    app.store().rotate_keys(&vault, |_, _| ()).await.unwrap();
    assert_eq!(credentials.of(&project.id).await.unwrap(), Some(stored));
    app.store().remove_secret(&project.id, &SecretName::Git).await.unwrap();
    assert_eq!(credentials.of(&project.id).await.unwrap(), Some(token("of the environment")));
}

async fn what_cannot_be_used_is_a_sentence_without_it(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Docs").await;
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().join("credentials.key"));
    let given = variables(&[("COPYDESK_CREDENTIAL_DOCS", "planted\nplanted")]);
    let credentials = Credentials::new(app.store().clone(), vault.clone(), &given);
    let refused = async || credentials.of(&project.id).await.unwrap_err();
    let error = refused().await;
    assert!(error.to_string().contains("COPYDESK_CREDENTIAL_DOCS"), "{error}");
    assert!(!format!("{error} {error:?}").contains("planted"), "{error:?}");

    app.store().set_secret(&vault, &project.id, &SecretName::Git, "token", b"planted").await.unwrap().unwrap();
    let error = refused().await;
    assert!(matches!(error, CredentialError::Unreadable(_)) && !format!("{error:?}").contains("planted"), "{error:?}");
    std::fs::remove_file(vault.path()).unwrap();
    let error = refused().await;
    assert!(matches!(error, CredentialError::Vault(VaultError::Missing(_))), "{error:?}");
    assert!(error.to_string().contains("put it back"), "{error}");
}
