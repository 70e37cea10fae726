//! One store for all processes of a machine that use the same folder.
//!
//! The first that opens it holds it and answers the others through a socket in the folder: a server, a command that
//! imports a log beside it, a second server while the first one goes. When the holder ends, the next one that needs
//! the store takes it over.

mod guest;
mod host;
mod socket;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use copydesk_views::store::{StoreCall, StoreFuture, StoreReply, ViewStore, ViewsError};

use self::guest::Guest;
use self::host::Host;
use crate::embedded::{Embedded, OpenError, Options};

/// How long a process that starts waits for the one before it.
const HAND_OVER: Duration = Duration::from_secs(30);
/// How long a question waits for a new holder.
const TAKE_OVER: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(50);

/// The store in a folder, whoever holds it.
pub struct SharedStore {
    folder: PathBuf,
    options: Options,
    role: RwLock<Role>,
    /// One at a time tries to take the store over.
    taking: tokio::sync::Mutex<()>,
}

/// What this process is to the store.
enum Role {
    Holder { store: Arc<Embedded>, host: Host },
    Guest(Arc<Guest>),
    Closed,
}

impl SharedStore {
    /// Opens the store in `folder`, making it if there is none. Must be called in a Tokio runtime. Fails if the folder
    /// cannot be used, its files are damaged beyond use, or another process holds it and does not answer.
    pub async fn open(folder: &Path, options: Options) -> Result<Self, ViewsError> {
        let role = Role::found(folder, &options, HAND_OVER).await?;
        Ok(Self { folder: folder.to_owned(), options, role: RwLock::new(role), taking: tokio::sync::Mutex::new(()) })
    }

    fn role(&self) -> RwLockReadGuard<'_, Role> {
        self.role.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn role_mut(&self) -> RwLockWriteGuard<'_, Role> {
        self.role.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is this process that holds the store.
    pub fn is_holder(&self) -> bool {
        matches!(*self.role(), Role::Holder { .. })
    }

    /// Writes everything down and lets go of the folder.
    pub async fn close(&self) {
        let role = std::mem::replace(&mut *self.role_mut(), Role::Closed);
        if let Role::Holder { store, host } = role {
            host.stop().await;
            let _ = tokio::task::spawn_blocking(move || store.close()).await;
        }
    }

    /// The store to ask; takes it over first if its holder is gone.
    async fn reachable(&self) -> Result<Arc<dyn ViewStore>, ViewsError> {
        let guest = match &*self.role() {
            Role::Guest(guest) => guest.clone(),
            role => return role.store(),
        };
        if guest.finds_host().await {
            return Ok(guest);
        }
        let _taking = self.taking.lock().await;
        if matches!(*self.role(), Role::Guest(_)) {
            self.change(Role::found(&self.folder, &self.options, TAKE_OVER).await?);
        }
        self.role().store()
    }

    /// Takes a new role, unless everything was closed meanwhile; then it is dropped, which closes the store.
    fn change(&self, new: Role) {
        let mut role = self.role_mut();
        if matches!(*role, Role::Closed) {
            return;
        }
        if matches!(new, Role::Holder { .. }) {
            tracing::info!("the process that held the page views is gone; holding them now");
        }
        *role = new;
    }
}

impl Role {
    /// As holder or as guest. Between two holders there is a while without one: the last has let go of the socket and not
    /// yet of the folder, or the next has the folder and no socket yet.
    async fn found(folder: &Path, options: &Options, patience: Duration) -> Result<Self, ViewsError> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            if let Some(holder) = Self::holder(folder, options).await? {
                return Ok(holder);
            }
            let guest = Guest::new(folder);
            if guest.finds_host().await {
                return Ok(Self::Guest(Arc::new(guest)));
            }
            if tokio::time::Instant::now() > deadline {
                let place = folder.display();
                let silent = format!("another process holds the page views in {place} and does not answer");
                return Err(ViewsError::Unavailable(silent));
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// None if somebody else holds the store.
    async fn holder(folder: &Path, options: &Options) -> Result<Option<Self>, ViewsError> {
        let (at, options) = (folder.to_owned(), options.clone());
        let store = match tokio::task::spawn_blocking(move || Embedded::open(&at, options)).await {
            Ok(Ok(store)) => store,
            Ok(Err(OpenError::Locked(_))) => return Ok(None),
            Ok(Err(OpenError::Moved(error))) => return Err(error),
            Ok(Err(error)) => return Err(ViewsError::Unavailable(error.to_string())),
            Err(error) => return Err(ViewsError::Damaged(format!("opening the page views failed: {error}"))),
        };
        let host = host::answer(folder, store.clone()).map_err(|error| {
            ViewsError::Unavailable(format!("cannot make the socket in {}: {error}", folder.display()))
        })?;
        Ok(Some(Self::Holder { store, host }))
    }

    fn store(&self) -> Result<Arc<dyn ViewStore>, ViewsError> {
        match self {
            Self::Holder { store, .. } => Ok(store.clone()),
            Self::Guest(guest) => Ok(guest.clone()),
            Self::Closed => Err(ViewsError::Unavailable("the page views are closed".to_owned())),
        }
    }
}

impl ViewStore for SharedStore {
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
        Box::pin(async move { self.reachable().await?.call(call).await })
    }
}
