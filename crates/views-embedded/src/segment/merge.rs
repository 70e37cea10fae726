//! Makes one segment of several, bucket by bucket.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use copydesk_views::{Bucket, Client};

use super::reader::Segment;
use super::{Builder, Info, SegmentError};

/// Streams several segments into one. Cells before `floor` are left out, clients in `relabel` become others, and paths
/// and clients that no longer occur are dropped. `stop` is looked at for each bucket: true ends it with
/// [`io::ErrorKind::Interrupted`], and nothing is left of the file. None if nothing was left to write.
pub(crate) fn merge(
    inputs: &[Arc<Segment>],
    floor: Bucket,
    relabel: &HashMap<Arc<Client>, Arc<Client>>,
    file: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Info>, SegmentError> {
    let inputs: Vec<&Segment> = inputs.iter().map(AsRef::as_ref).filter(|input| input.info().last >= floor).collect();
    let plan = Plan::new(&inputs, floor, relabel, stop)?;
    let Plan { paths, clients, pairs, places } = plan;
    if pairs.is_empty() {
        return Ok(None);
    }
    let mut builder = Builder::create(file, paths, clients, pairs)?;
    let mut readers = inputs
        .iter()
        .zip(&places)
        .map(|(input, places)| Ok((input.buckets_from(floor)?, places.as_slice())))
        .collect::<Result<Vec<_>, SegmentError>>()?;
    let mut cells = Vec::new();
    while let Some(bucket) = readers.iter().filter_map(|(reader, _)| reader.bucket()).min() {
        look(stop)?;
        cells.clear();
        for (reader, places) in readers.iter_mut().filter(|(reader, _)| reader.bucket() == Some(bucket)) {
            let begin = cells.len();
            reader.read(&mut cells)?;
            cells[begin..].iter_mut().for_each(|(pair, _)| *pair = places[*pair as usize]);
        }
        // Runs that are in order, mostly: a stable sort makes use of it.
        cells.sort_by_key(|&(pair, _)| pair);
        for &(pair, count) in &cells {
            builder.push(bucket, pair, count)?;
        }
    }
    Ok(Some(builder.finish()?))
}

fn look(stop: &dyn Fn() -> bool) -> Result<(), SegmentError> {
    if stop() { Err(io::Error::from(io::ErrorKind::Interrupted).into()) } else { Ok(()) }
}

/// The words of the segment that is to be made.
struct Plan {
    paths: Vec<Arc<str>>,
    clients: Vec<Arc<Client>>,
    pairs: Vec<(u32, u32)>,
    /// For each input, the new place of each of its pairs; anything for those that no longer occur.
    places: Vec<Vec<u32>>,
}

impl Plan {
    fn new(
        inputs: &[&Segment],
        floor: Bucket,
        relabel: &HashMap<Arc<Client>, Arc<Client>>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, SegmentError> {
        let used = inputs.iter().map(|input| used(input, floor, stop)).collect::<Result<Vec<_>, _>>()?;
        let (mut all_paths, mut all_clients) = (HashSet::new(), HashSet::new());
        let mut words = Vec::new();
        for (input, used) in inputs.iter().zip(&used) {
            let (paths, clients, pairs) = (input.paths()?, input.clients()?, input.pairs()?);
            let renamed = clients.iter().map(|client| Arc::clone(relabel.get(client).unwrap_or(client)));
            let renamed: Vec<Arc<Client>> = renamed.collect();
            let (mut has_path, mut has_client) = (vec![false; paths.len()], vec![false; clients.len()]);
            for (&(path, client), _) in pairs.all().iter().zip(used).filter(|&(_, &used)| used) {
                (has_path[path as usize], has_client[client as usize]) = (true, true);
            }
            all_paths.extend(paths.iter().zip(has_path).filter(|&(_, has)| has).map(|(path, _)| Arc::clone(path)));
            all_clients.extend(renamed.iter().zip(has_client).filter(|&(_, has)| has).map(|(it, _)| Arc::clone(it)));
            words.push((paths, renamed, pairs));
        }
        let (paths, clients) = (sorted(all_paths), sorted(all_clients));

        // First the new pair of each old one, then its place among all of them.
        let mut renamed_pairs = Vec::new();
        for ((old_paths, old_clients, pairs), used) in words.iter().zip(&used) {
            let path_places = places(old_paths, &paths);
            let client_places = places(old_clients, &clients);
            let renamed = pairs.all().iter().zip(used).map(|(&(path, client), &used)| {
                used.then(|| (path_places[path as usize], client_places[client as usize]))
            });
            renamed_pairs.push(renamed.collect::<Vec<Option<(u32, u32)>>>());
        }
        let mut pairs: Vec<(u32, u32)> = renamed_pairs.iter().flatten().filter_map(|&pair| pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let place = |pair: Option<(u32, u32)>| {
            pair.and_then(|pair| pairs.binary_search(&pair).ok()).map_or(u32::MAX, |place| place as u32)
        };
        let places = renamed_pairs.into_iter().map(|list| list.into_iter().map(place).collect()).collect();
        Ok(Self { paths, clients, pairs, places })
    }
}

/// Which pairs of a segment occur from a bucket on.
fn used(input: &Segment, floor: Bucket, stop: &dyn Fn() -> bool) -> Result<Vec<bool>, SegmentError> {
    let pairs = input.pairs()?.all().len();
    // Not all of what a damaged one lists can be read.
    if input.info().first >= floor && !input.is_damaged() {
        return Ok(vec![true; pairs]);
    }
    let mut used = vec![false; pairs];
    let mut reader = input.buckets_from(floor)?;
    let mut cells = Vec::new();
    while reader.bucket().is_some() {
        look(stop)?;
        cells.clear();
        reader.read(&mut cells)?;
        cells.iter().for_each(|&(pair, _)| used[pair as usize] = true);
    }
    Ok(used)
}

fn sorted<T: Ord + ?Sized>(words: HashSet<Arc<T>>) -> Vec<Arc<T>> {
    let mut words: Vec<Arc<T>> = words.into_iter().collect();
    words.sort_unstable();
    words
}

/// Where each of these words is among others that are sorted; anything for one that is not.
fn places<T: Ord + ?Sized>(words: &[Arc<T>], among: &[Arc<T>]) -> Vec<u32> {
    words.iter().map(|word| among.binary_search(word).map_or(u32::MAX, |place| place as u32)).collect()
}
