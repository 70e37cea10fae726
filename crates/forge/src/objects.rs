use std::cmp::Ordering;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use gix_hash::ObjectId;
use gix_object::{Find, Kind as ObjectKind, TreeRefIter, Write};
use gix_odb::store::init::{Options, Slots};
use gix_odb::{HandleArc, Header, Store};

use crate::Kind;
use crate::lock::lock;

/// The largest object that is read; more is refused before it takes memory.
pub(crate) const LARGEST_OBJECT: u64 = 64 * 1024 * 1024;
/// How many packs one store can know; consolidation keeps them far below.
const PACKS: u16 = 1024;
/// How many handles are kept for the next reader.
const SPARE_HANDLES: usize = 8;
/// About how much memory parsed folders may take in one mirror.
const FOLDER_CACHE: usize = 16 * 1024 * 1024;

/// The objects of one mirror: read and written in this process, shared by threads.
pub(crate) struct Objects {
    folder: PathBuf,
    inner: Mutex<Inner>,
    folders: Mutex<FolderCache>,
    damaged: AtomicBool,
}

/// Handles are cheap to use and not so cheap to make, and no two threads may use one at a time: so they are lent.
struct Inner {
    store: Arc<Store>,
    spare: Vec<HandleArc>,
}

/// One folder of a tree, in git's order.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) items: Vec<Item>,
}

/// One entry of a folder.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// The name; not always text.
    pub(crate) name: Vec<u8>,
    /// The mode as git has it, in octal digits.
    pub(crate) mode: u16,
    pub(crate) id: ObjectId,
}

impl Item {
    pub(crate) fn kind(&self) -> Kind {
        match self.mode & 0o170_000 {
            0o040_000 => Kind::Folder,
            0o120_000 => Kind::Symlink,
            0o160_000 => Kind::Submodule,
            _ if self.mode & 0o100 != 0 => Kind::Executable,
            _ => Kind::File,
        }
    }

    /// Git's order in a folder: by the bytes of the name, with a slash after that of a folder.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        order(&self.name, self.kind() == Kind::Folder, &other.name, other.kind() == Kind::Folder)
    }

    /// The name, if it is one that a path can hold. A tree that somebody made by hand may hold others.
    pub(crate) fn path_name(&self) -> Option<&str> {
        let name = std::str::from_utf8(&self.name).ok()?;
        (!matches!(name, "" | "." | "..") && !name.contains('/')).then_some(name)
    }
}

fn order(a: &[u8], a_is_folder: bool, b: &[u8], b_is_folder: bool) -> Ordering {
    let common = a.len().min(b.len());
    let next = |name: &[u8], is_folder: bool| name.get(common).copied().unwrap_or(if is_folder { b'/' } else { 0 });
    a[..common].cmp(&b[..common]).then_with(|| next(a, a_is_folder).cmp(&next(b, b_is_folder)))
}

impl Folder {
    /// The item of a name. Git's order depends on what an item is, so it may be at two places.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Item> {
        let at = |is_folder: bool| {
            let place = |item: &Item| order(&item.name, item.kind() == Kind::Folder, name, is_folder);
            self.items.binary_search_by(place).ok().map(|index| &self.items[index])
        };
        at(false).or_else(|| at(true))
    }
}

/// Why an object cannot be read.
enum Failure {
    /// The machine does not let us; too many open files, say.
    Machine(io::ErrorKind),
    /// The object is not what it should be.
    Damage,
}

impl Failure {
    fn of(cause: Option<&io::Error>) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match cause.map(io::Error::kind) {
            None | Some(InvalidData | InvalidInput | UnexpectedEof) => Self::Damage,
            Some(kind) => Self::Machine(kind),
        }
    }
}

impl Objects {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let store = open_store(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            inner: Mutex::new(Inner { store, spare: Vec::new() }),
            folders: Mutex::default(),
            damaged: AtomicBool::new(false),
        })
    }

    /// Forgets what is known about packs: they are different files now.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let store = open_store(&self.folder)?;
        *lock(&self.inner) = Inner { store, spare: Vec::new() };
        self.damaged.store(false, Relaxed);
        Ok(())
    }

    /// Whether an object that is there could not be read since the store was opened.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged.load(Relaxed)
    }

    fn with<T>(&self, act: impl FnOnce(&HandleArc) -> T) -> T {
        let (handle, store) = {
            let mut inner = lock(&self.inner);
            let handle = inner.spare.pop();
            (handle, Arc::clone(&inner.store))
        };
        let handle = handle.unwrap_or_else(|| store.to_cache_arc());
        let outcome = act(&handle);
        let mut inner = lock(&self.inner);
        if inner.spare.len() < SPARE_HANDLES && Arc::ptr_eq(&inner.store, &store) {
            inner.spare.push(handle);
        }
        outcome
    }

    /// Tries once more with a new view of the files: another process may have packed them anew in between.
    fn patiently<T>(&self, act: impl Fn(&HandleArc) -> Result<T, Failure>) -> io::Result<T> {
        if let Ok(outcome) = self.with(&act) {
            return Ok(outcome);
        }
        self.reopen()?;
        self.with(&act).map_err(|failure| match failure {
            Failure::Machine(kind) => io::Error::from(kind),
            Failure::Damage => {
                self.damaged.store(true, Relaxed);
                io::Error::other("the mirror of the repository is damaged; it is made anew at the next fetch")
            }
        })
    }

    pub(crate) fn has(&self, id: &ObjectId) -> bool {
        matches!(self.header(id), Ok(Some(_)))
    }

    /// Kind and size of an object.
    pub(crate) fn header(&self, id: &ObjectId) -> io::Result<Option<(ObjectKind, u64)>> {
        self.patiently(|handle| {
            let header = handle.try_header(id).map_err(|error| Failure::of(error.downcast_any_ref()))?;
            Ok(header.map(|header| (header.kind(), header.size())))
        })
    }

    /// An object of a kind; none if there is no such object or it is of another kind.
    pub(crate) fn read(&self, id: &ObjectId, kind: ObjectKind) -> io::Result<Option<Vec<u8>>> {
        match self.header(id)? {
            Some((found, size)) if found == kind => {
                if size > LARGEST_OBJECT {
                    let why = format!("a file of {size} bytes is too large to be read");
                    return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
                }
            }
            _ => return Ok(None),
        }
        self.patiently(|handle| {
            let mut buffer = Vec::new();
            let found = handle.try_find(id, &mut buffer).map_err(|error| Failure::of(error.downcast_any_ref()))?;
            let found = found.is_some();
            Ok(found.then_some(buffer))
        })
    }

    /// An object that must be there, because another one names it.
    pub(crate) fn need(&self, id: &ObjectId, kind: ObjectKind) -> io::Result<Vec<u8>> {
        self.read(id, kind)?.ok_or_else(|| {
            self.damaged.store(true, Relaxed);
            io::Error::other(format!("the {kind} {id} is missing in the mirror of the repository"))
        })
    }

    /// A folder of a tree, parsed. Folders are kept, since every look at a path goes through those above it.
    pub(crate) fn folder(&self, id: &ObjectId) -> io::Result<Arc<Folder>> {
        if let Some(folder) = lock(&self.folders).get(id) {
            return Ok(folder);
        }
        let folder = Arc::new(parse_folder(&self.need(id, ObjectKind::Tree)?)?);
        lock(&self.folders).put(*id, Arc::clone(&folder));
        Ok(folder)
    }

    /// Writes an object unless it is there. It appears under its name only when all of it is written.
    pub(crate) fn write(&self, kind: ObjectKind, data: &[u8]) -> io::Result<ObjectId> {
        let id = id_of(kind, data)?;
        if self.has(&id) {
            return Ok(id);
        }
        self.with(|handle| {
            handle.write_buf_with_known_id(kind, data, id).map_err(|error| {
                // The kind is kept, for a full disk is a matter of waiting; the words are dropped, for they hold paths.
                error.downcast_any_ref::<io::Error>().map_or_else(
                    || io::Error::other("an object cannot be written"),
                    |cause| io::Error::from(cause.kind()),
                )
            })
        })
    }
}

fn open_store(folder: &Path) -> io::Result<Arc<Store>> {
    let options = Options {
        slots: Slots::Given(PACKS),
        alloc_limit_bytes: Some(4 * LARGEST_OBJECT as usize),
        current_dir: Some(folder.to_owned()),
        ..Options::default()
    };
    let store = Store::at_opts(folder.join("objects"), gix_hash::Kind::Sha1, &mut std::iter::empty(), options)?;
    Ok(Arc::new(store))
}

/// The id that an object has or would have.
pub(crate) fn id_of(kind: ObjectKind, data: &[u8]) -> io::Result<ObjectId> {
    gix_object::compute_hash(gix_hash::Kind::Sha1, kind, data)
        .map_err(|_| io::Error::other("the content is an attack on SHA-1 and is refused"))
}

fn parse_folder(data: &[u8]) -> io::Result<Folder> {
    let mut items = Vec::new();
    for entry in TreeRefIter::from_bytes(data, gix_hash::Kind::Sha1) {
        let entry = entry.map_err(|_| io::Error::other("a folder in the repository is malformed"))?;
        items.push(Item { name: entry.filename.to_vec(), mode: entry.mode.value(), id: entry.oid.to_owned() });
    }
    // Git sorts them; a tree that somebody made by hand may be in any order, and would be searched in vain.
    if !items.is_sorted_by(|a, b| a.order(b).is_lt()) {
        items.sort_by(Item::order);
    }
    Ok(Folder { items })
}

/// Two generations: when the younger is full it becomes the older, and what nobody has asked for is gone.
#[derive(Default)]
struct FolderCache {
    young: HashMap<ObjectId, Arc<Folder>>,
    old: HashMap<ObjectId, Arc<Folder>>,
    young_bytes: usize,
}

impl FolderCache {
    fn get(&mut self, id: &ObjectId) -> Option<Arc<Folder>> {
        if let Some(folder) = self.young.get(id) {
            return Some(Arc::clone(folder));
        }
        let folder = self.old.remove(id)?;
        self.put(*id, Arc::clone(&folder));
        Some(folder)
    }

    fn put(&mut self, id: ObjectId, folder: Arc<Folder>) {
        let bytes = 128 + folder.items.iter().map(|item| size_of::<Item>() + item.name.len() + 16).sum::<usize>();
        if self.young_bytes + bytes > FOLDER_CACHE / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert(id, folder);
    }
}
