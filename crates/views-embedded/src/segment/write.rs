//! Makes a segment from cells that are in memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::path::Path;
use std::sync::Arc;

use copydesk_views::{Bucket, Client};

use super::{Builder, Info};

/// Writes cells, in whatever order they come; the same one twice adds up. None if there are none.
pub(crate) fn write(
    file: &Path,
    cells: impl Iterator<Item = (Bucket, Arc<str>, Arc<Client>, u64)>,
) -> io::Result<Option<Info>> {
    let (mut paths, mut clients) = (Words::default(), Words::default());
    let mut cells: Vec<(Bucket, u32, u32, u64)> = cells
        .filter(|cell| cell.3 > 0)
        .map(|(bucket, path, client, count)| (bucket, paths.place(&path), clients.place(&client), count))
        .collect();
    if cells.is_empty() {
        return Ok(None);
    }
    let (paths, path_places) = paths.sorted();
    let (clients, client_places) = clients.sorted();
    for (_, path, client, _) in &mut cells {
        (*path, *client) = (path_places[*path as usize], client_places[*client as usize]);
    }
    cells.sort_unstable_by_key(|&(bucket, path, client, _)| (bucket, path, client));

    let mut pairs: Vec<(u32, u32)> = cells.iter().map(|&(_, path, client, _)| (path, client)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let place: HashMap<(u32, u32), u32> = pairs.iter().copied().zip(0..).collect();
    let mut builder = Builder::create(file, paths, clients, pairs)?;
    for (bucket, path, client, count) in cells {
        builder.push(bucket, place[&(path, client)], count)?;
    }
    builder.finish().map(Some)
}

/// Distinct words in the order in which they came.
struct Words<T: ?Sized> {
    words: Vec<Arc<T>>,
    by_word: HashMap<Arc<T>, u32>,
    /// Words are mostly the same allocation again, which is found without looking at what is in it. The allocation is
    /// kept, or its address could be given to another.
    by_address: HashMap<usize, (Arc<T>, u32)>,
}

impl<T: ?Sized> Default for Words<T> {
    fn default() -> Self {
        Self { words: Vec::new(), by_word: HashMap::new(), by_address: HashMap::new() }
    }
}

impl<T: Hash + Ord + ?Sized> Words<T> {
    fn place(&mut self, word: &Arc<T>) -> u32 {
        let address = Arc::as_ptr(word).cast::<u8>() as usize;
        if let Some((_, place)) = self.by_address.get(&address) {
            return *place;
        }
        let place = *self.by_word.entry(Arc::clone(word)).or_insert_with(|| {
            self.words.push(Arc::clone(word));
            self.words.len() as u32 - 1
        });
        self.by_address.insert(address, (Arc::clone(word), place));
        place
    }

    /// The words in order, and the new place of each.
    fn sorted(self) -> (Vec<Arc<T>>, Vec<u32>) {
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        order.sort_unstable_by(|&a, &b| self.words[a].cmp(&self.words[b]));
        let mut places = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&old, new)| places[old] = new);
        (order.into_iter().map(|old| Arc::clone(&self.words[old])).collect(), places)
    }
}
