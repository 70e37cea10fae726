//! The mirrors of this machine: those of projects that are gone go too, the others are packed now and then.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_forge::{Forge, mirror_addresses};
use copydesk_store::{Change, Store, StoreError};
use futures_util::future::BoxFuture;

use crate::docs_job::Workshop;
use crate::stop::Stop;

/// How often is looked without a wake-up, and how long after the start for the first time.
const EVERY: Duration = Duration::from_secs(3600);
const FIRST: Duration = Duration::from_secs(30);
/// How soon one that was in use is looked at again.
const AGAIN: Duration = Duration::from_secs(60);

/// Looks after the mirrors until the stop. Every process with mirrors does: each machine has its own.
/// Boxed, so that this crate compiles it once, and not every program that starts it.
pub fn care_for_mirrors(store: Store, workshop: Arc<Workshop>, stop: Stop) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut changes = store.changes();
        if let Err(error) = remember(&store, &workshop).await {
            tracing::warn!(%error, "cannot tell which projects have a mirror here");
        }
        let mut pause = FIRST;
        loop {
            let woken = tokio::select! {
                () = changes.wait_for(|change| *change == Change::Removed) => true,
                () = tokio::time::sleep(pause) => false,
                () = stop.asked() => return,
            };
            pause = EVERY;
            let work = async {
                let swept = sweep(&store, &workshop.forge).await;
                if !woken {
                    pack(&store, &workshop.forge).await;
                }
                swept
            };
            tokio::select! {
                swept = work => match swept {
                    Ok(Swept { left: 0, .. }) => {}
                    Ok(_) => pause = AGAIN,
                    Err(error) => tracing::warn!(%error, "mirrors that nobody needs any more are not removed"),
                },
                () = stop.asked() => return,
            }
        }
    })
}

/// What became of the mirrors that nobody needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub removed: usize,
    /// Somebody uses them, or they could not be removed.
    pub left: usize,
}

/// Why it cannot be told which mirrors nobody needs.
#[derive(Debug, thiserror::Error)]
pub enum NotSwept {
    #[error("the folder of mirrors cannot be read: {0}")]
    Unread(#[from] io::Error),
    #[error("it cannot be told which mirrors are needed: {0}")]
    Store(#[from] StoreError),
}

/// Removes the mirrors of repositories that no project, no code source and no job has any more.
#[boxed]
pub async fn sweep(store: &Store, forge: &Forge) -> Result<Swept, NotSwept> {
    // Before it is asked what is needed: a mirror that is made after that is not in the list.
    let there = forge.mirrors()?;
    if there.is_empty() {
        return Ok(Swept::default());
    }
    let needed: BTreeSet<String> = needed(store).await?.iter().map(|address| Forge::mirror_name(address)).collect();
    let mut swept = Swept::default();
    for name in there.difference(&needed) {
        match forge.remove_mirror(name).await {
            Ok(true) => {
                swept.removed += 1;
                tracing::info!(mirror = name, "removed a mirror that nobody needs any more");
            }
            Ok(false) => swept.left += 1,
            Err(error) => {
                swept.left += 1;
                tracing::warn!(%error, mirror = name, "a mirror that nobody needs any more cannot be removed");
            }
        }
    }
    Ok(swept)
}

/// Finds out which projects have a mirror here since before the start.
async fn remember(store: &Store, workshop: &Workshop) -> Result<(), NotSwept> {
    let there = workshop.forge.mirrors()?;
    if there.is_empty() {
        return Ok(());
    }
    for project in store.projects().await? {
        let addresses = mirror_addresses(&project.repository, &project.host);
        if addresses.iter().any(|address| there.contains(&Forge::mirror_name(address))) {
            workshop.near.add(&project.id);
        }
    }
    Ok(())
}

async fn pack(store: &Store, forge: &Forge) {
    // Many processes have none, and there may be many projects.
    if forge.mirrors().is_ok_and(|there| there.is_empty()) {
        return;
    }
    let needed = match needed(store).await {
        Ok(needed) => needed,
        Err(error) => return tracing::warn!(%error, "cannot tell which mirrors are needed"),
    };
    for address in needed {
        if let Err(error) = forge.pack_mirror(&address).await {
            tracing::warn!(%error, mirror = Forge::mirror_name(&address), "a mirror cannot be packed");
        }
    }
}

/// The addresses of all repositories that somebody needs.
async fn needed(store: &Store) -> Result<BTreeSet<String>, StoreError> {
    let mut needed = BTreeSet::new();
    for project in store.projects().await? {
        needed.extend(mirror_addresses(&project.repository, &project.host));
        for source in store.sources(&project.id).await? {
            needed.extend(mirror_addresses(&source.repository, source.host_in(&project)));
        }
    }
    // A job that began before its project got another repository.
    needed.extend(store.repositories_of_active_jobs().await?.into_iter().flat_map(|address| {
        let with_ending = format!("{address}.git");
        [address, with_ending]
    }));
    Ok(needed)
}
