//! One store for all processes of a machine that use the same folder.
//!
//! The first that opens it holds it and answers the others through a socket in the folder: a server, a command that
//! imports a log beside it, a second server while the first one goes. When the holder ends, the next one that needs
//! the store takes it over.

mod guest;
mod host;
mod wire;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use copydesk_views::store::{AgentViews, Answer, Counts, Question, Ranking, Sources, Status, ViewStore, ViewsError};
use copydesk_views::{Appended, Batch, Bucket, Client, Mark, Verdict};
use futures_util::future::BoxFuture;

use self::guest::Guest;
use self::host::Host;
use crate::embedded::{Embedded, OpenError, Options};

/// How long a process that starts waits for the one before it.
const HAND_OVER: Duration = Duration::from_secs(30);
/// How long a question waits for a new holder.
const TAKE_OVER: Duration = Duration::from_secs(5);
/// Between two looks.
const AGAIN: Duration = Duration::from_millis(50);

/// The store in a folder, whoever holds it.
pub struct SharedStore {
    folder: PathBuf,
    options: Options,
    seat: RwLock<Seat>,
    /// One at a time tries to take the store over.
    taking: tokio::sync::Mutex<()>,
}

enum Seat {
    Holder { store: Arc<Embedded>, host: Host },
    Guest(Arc<Guest>),
    Closed,
}

impl SharedStore {
    /// Opens the store in `folder`, making it if there is none. Must be called in a Tokio runtime.
    ///
    /// # Errors
    ///
    /// If the folder cannot be used, its files are damaged beyond use, or another process holds it and does not answer.
    pub async fn open(folder: &Path, options: Options) -> Result<Self, ViewsError> {
        let seat = Self::sit_down(folder, &options, HAND_OVER).await?;
        Ok(Self { folder: folder.to_owned(), options, seat: RwLock::new(seat), taking: tokio::sync::Mutex::new(()) })
    }

    /// Whether it is this process that holds the store.
    pub fn is_holder(&self) -> bool {
        matches!(*self.seat.read().unwrap_or_else(PoisonError::into_inner), Seat::Holder { .. })
    }

    /// Puts everything to rest and lets go of the folder.
    pub async fn close(&self) {
        let seat = std::mem::replace(&mut *self.seat.write().unwrap_or_else(PoisonError::into_inner), Seat::Closed);
        if let Seat::Holder { store, host } = seat {
            host.stop().await;
            let _ = tokio::task::spawn_blocking(move || store.close()).await;
        }
    }

    /// A seat, as holder or as guest. Between two holders there is a while without one: the last has let go of the socket
    /// and not yet of the folder, or the next has the folder and no socket yet.
    async fn sit_down(folder: &Path, options: &Options, patience: Duration) -> Result<Seat, ViewsError> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            if let Some(seat) = Self::hold(folder, options).await? {
                return Ok(seat);
            }
            let guest = Guest::new(folder);
            if guest.finds_host().await {
                return Ok(Seat::Guest(Arc::new(guest)));
            }
            if tokio::time::Instant::now() > deadline {
                let place = folder.display();
                let silent = format!("another process holds the page views in {place} and does not answer");
                return Err(ViewsError::Unavailable(silent));
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// The seat of the holder; none if somebody else has it.
    async fn hold(folder: &Path, options: &Options) -> Result<Option<Seat>, ViewsError> {
        let (at, options) = (folder.to_owned(), options.clone());
        let opened = tokio::task::spawn_blocking(move || Embedded::open(&at, options)).await;
        let store = match opened {
            Ok(Ok(store)) => store,
            Ok(Err(OpenError::Locked(_))) => return Ok(None),
            Ok(Err(error)) => return Err(ViewsError::Unavailable(error.to_string())),
            Err(error) => return Err(ViewsError::Damaged(format!("opening the page views failed: {error}"))),
        };
        let host = host::answer(folder, store.clone()).map_err(|error| {
            ViewsError::Unavailable(format!("cannot make the socket in {}: {error}", folder.display()))
        })?;
        Ok(Some(Seat::Holder { store, host }))
    }

    fn store(&self) -> Result<Arc<dyn ViewStore>, ViewsError> {
        match &*self.seat.read().unwrap_or_else(PoisonError::into_inner) {
            Seat::Holder { store, .. } => Ok(store.clone()),
            Seat::Guest(guest) => Ok(guest.clone()),
            Seat::Closed => Err(ViewsError::Unavailable("the page views are closed".to_owned())),
        }
    }

    /// The store to ask; takes it over first if its holder is gone.
    async fn at_hand(&self) -> Result<Arc<dyn ViewStore>, ViewsError> {
        let guest = match &*self.seat.read().unwrap_or_else(PoisonError::into_inner) {
            Seat::Guest(guest) => guest.clone(),
            _ => return self.store(),
        };
        if guest.finds_host().await {
            return Ok(guest);
        }
        let _taking = self.taking.lock().await;
        if matches!(*self.seat.read().unwrap_or_else(PoisonError::into_inner), Seat::Guest(_)) {
            self.move_to(Self::sit_down(&self.folder, &self.options, TAKE_OVER).await?);
        }
        self.store()
    }

    /// Takes a new seat, unless everything was closed meanwhile; then it is dropped, which closes the store.
    fn move_to(&self, new: Seat) {
        let mut seat = self.seat.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(*seat, Seat::Closed) {
            return;
        }
        if matches!(new, Seat::Holder { .. }) {
            tracing::info!("the process that held the page views is gone; holding them now");
        }
        *seat = new;
    }

    fn with<'a, T: 'a>(
        &'a self,
        ask: impl for<'s> FnOnce(&'s dyn ViewStore) -> BoxFuture<'s, Result<T, ViewsError>> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(async move {
            let store = self.at_hand().await?;
            ask(store.as_ref()).await
        })
    }
}

impl ViewStore for SharedStore {
    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        self.with(move |store| store.append(batch))
    }

    fn ranking(&self, project: &str, question: Question) -> Answer<'_, Arc<Ranking>> {
        let project = project.to_owned();
        self.with(move |store| store.ranking(&project, question))
    }

    fn series(
        &self,
        project: &str,
        path: Option<&str>,
        edges: Vec<Bucket>,
        sources: Sources,
    ) -> Answer<'_, Vec<Counts>> {
        let (project, path) = (project.to_owned(), path.map(str::to_owned));
        self.with(move |store| store.series(&project, path.as_deref(), edges, sources))
    }

    fn agents(
        &self,
        project: &str,
        question: Question,
        path: Option<&str>,
        pages_each: usize,
    ) -> Answer<'_, Vec<AgentViews>> {
        let (project, path) = (project.to_owned(), path.map(str::to_owned));
        self.with(move |store| store.agents(&project, question, path.as_deref(), pages_each))
    }

    fn marks(&self, project: &str, log: &str) -> Answer<'_, Vec<Mark>> {
        let (project, log) = (project.to_owned(), log.to_owned());
        self.with(move |store| store.marks(&project, &log))
    }

    fn clients(&self, project: &str) -> Answer<'_, Vec<(Arc<Client>, u64)>> {
        let project = project.to_owned();
        self.with(move |store| store.clients(&project))
    }

    fn relabel(&self, project: &str, changes: Vec<(Arc<Client>, Verdict)>) -> Answer<'_, ()> {
        let project = project.to_owned();
        self.with(move |store| store.relabel(&project, changes))
    }

    fn retain(&self, project: &str, floor: Bucket) -> Answer<'_, ()> {
        let project = project.to_owned();
        self.with(move |store| store.retain(&project, floor))
    }

    fn remove(&self, project: &str) -> Answer<'_, ()> {
        let project = project.to_owned();
        self.with(move |store| store.remove(&project))
    }

    fn status(&self, project: &str) -> Answer<'_, Status> {
        let project = project.to_owned();
        self.with(move |store| store.status(&project))
    }

    fn projects(&self) -> Answer<'_, Vec<String>> {
        self.with(|store| store.projects())
    }

    fn backup(&self, folder: &Path) -> Answer<'_, ()> {
        let folder = folder.to_owned();
        self.with(move |store| store.backup(&folder))
    }
}

/// The socket's path. A socket's address may have hardly more than 100 bytes, so a long path is gone through an open
/// folder.
struct SocketPath {
    path: PathBuf,
    _folder: Option<File>,
}

const NAME: &str = "views.sock";
const MAX_ADDRESS: usize = 100;

impl SocketPath {
    fn of(folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        if path.as_os_str().len() <= MAX_ADDRESS {
            return Ok(Self { path, _folder: None });
        }
        let folder = File::open(folder)?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
        Ok(Self { path: PathBuf::from(format!("/proc/self/fd/{number}/{NAME}")), _folder: Some(folder) })
    }

    fn as_path(&self) -> &Path {
        &self.path
    }
}
