use copydesk_boxed::boxed;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::Semaphore;

use crate::lock::lock;
use crate::mirror::SharedMirror;
use crate::mirror_folder::MirrorFolder;
use crate::objects::Objects;
use crate::remote::Address;
use crate::shared_fetch::SharedFetches;
use crate::{ForgeError, ForgeSettings, Mirror, Remote};

/// How many mirrors stay open while nobody uses them.
const KEPT_OPEN: usize = 16;
/// How many pushes to one repository run at once.
const PUSHES: usize = 4;

/// Mirrors of repositories, one for each address.
pub struct Forge {
    pub(crate) settings: Arc<ForgeSettings>,
    pub(crate) mirrors: Mutex<Mirrors>,
}

#[derive(Default)]
pub(crate) struct Mirrors {
    by_address: HashMap<String, Weak<SharedMirror>>,
    /// Those used last, so that the next job finds them open.
    recent: Vec<Arc<SharedMirror>>,
}

#[boxed]
impl Forge {
    /// Nothing is read or written yet.
    pub fn new(settings: ForgeSettings) -> Self {
        Self { settings: Arc::new(settings), mirrors: Mutex::default() }
    }

    /// The mirror of a repository; made, empty, if there is none. The remote is not spoken to.
    pub async fn mirror(&self, remote: &Remote) -> Result<Mirror, ForgeError> {
        let remote = Arc::new(remote.clone());
        let found = lock(&self.mirrors).find(&remote.address);
        if let Some(shared) = found {
            let in_use = shared.begin_use().await?;
            return Ok(Mirror { shared, remote, _in_use: in_use });
        }
        let address = Address::parse(&remote.address)?;
        let folder = MirrorFolder::of(&self.settings.folder, &remote.address);
        // Before anything is looked at, so that nobody removes it meanwhile.
        let in_use = Arc::new(folder.begin_use(self.settings.time_limit).await?);
        if !folder.is_whole() {
            let _lock = folder.lock(self.settings.time_limit).await?;
            // Another process may have made it while this one waited.
            if !folder.is_whole() {
                folder.make_anew().map_err(ForgeError::from_io)?;
            }
        }
        let objects = Arc::new(Objects::open(&folder.git_dir).map_err(ForgeError::from_io)?);
        let settings = Arc::clone(&self.settings);
        let (fetches, pushes) = (SharedFetches::default(), Semaphore::new(PUSHES));
        let uses = Mutex::new(Arc::downgrade(&in_use));
        let shared = SharedMirror { settings, address, folder, objects, fetches, pushes, uses };
        let shared = lock(&self.mirrors).add(&remote.address, Arc::new(shared));
        Ok(Mirror { shared, remote, _in_use: in_use })
    }
}

impl Mirrors {
    /// Forgets the mirror of that name; false if somebody uses it.
    pub(crate) fn forget(&mut self, name: &str) -> bool {
        let open = self.by_address.iter().find_map(|(address, shared)| {
            let shared = shared.upgrade().filter(|shared| shared.folder.name == name)?;
            Some((address.clone(), shared))
        });
        let Some((address, shared)) = open else { return true };
        let in_list = self.recent.iter().filter(|other| Arc::ptr_eq(other, &shared)).count();
        // Ours, and that of the list.
        if Arc::strong_count(&shared) > 1 + in_list {
            return false;
        }
        self.recent.retain(|other| !Arc::ptr_eq(other, &shared));
        self.by_address.remove(&address);
        true
    }

    fn find(&mut self, address: &str) -> Option<Arc<SharedMirror>> {
        let shared = self.by_address.get(address)?.upgrade()?;
        self.recent.retain(|other| !Arc::ptr_eq(other, &shared));
        self.recent.push(Arc::clone(&shared));
        if self.recent.len() > KEPT_OPEN {
            self.recent.remove(0);
        }
        Some(shared)
    }

    /// Keeps `shared`, unless another call was faster: then it gives that one.
    fn add(&mut self, address: &str, shared: Arc<SharedMirror>) -> Arc<SharedMirror> {
        if let Some(earlier) = self.find(address) {
            return earlier;
        }
        self.by_address.retain(|_, mirror| mirror.strong_count() > 0);
        self.by_address.insert(address.to_owned(), Arc::downgrade(&shared));
        self.find(address).unwrap_or(shared)
    }
}
