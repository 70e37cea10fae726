//! Batches with more pages and kinds of readers than are told apart on one day.

use std::collections::HashMap;
use std::sync::Arc;

use copydesk_views::page::OTHER_PAGES;
use copydesk_views::{Crowd, TooMany};

use super::record::Entry;

/// The entry with its pages and readers within the bounds of their days.
pub(super) fn bounded(crowd: &Crowd, entry: Entry) -> Entry {
    let views = entry.views.iter().map(|view| (view.bucket, view.path, view.client));
    let too_many = crowd.too_many(&entry.project, &entry.paths, &entry.clients, views);
    if too_many.is_empty() { entry } else { together(entry, &too_many) }
}

/// The entry with these views under the names for many.
fn together(entry: Entry, too_many: &[TooMany]) -> Entry {
    let arrived = entry.arrived;
    let mut batch = entry.into_batch();
    let pages: Arc<str> = OTHER_PAGES.into();
    let mut others = HashMap::new();
    for TooMany { place, page, reader } in too_many {
        let Some(view) = batch.views.get_mut(*place) else { continue };
        if *page {
            view.path = Arc::clone(&pages);
        }
        if *reader {
            let other = view.client.among_others();
            view.client = Arc::clone(others.entry(other.clone()).or_insert_with(|| Arc::new(other)));
        }
    }
    Entry::new(batch, arrived)
}
