use super::{Entry, NavKind, Navigation};
use crate::page::{self, LinkKind};
use crate::paths;

/// Only local pages count; chapters that are to be written have an empty address.
pub(super) fn read(path: &str, text: &str) -> Option<Navigation> {
    let mut navigation = Navigation::new(NavKind::Summary, paths::folder(path));
    for link in page::parse(path, text).links {
        let bare = link.target.split(['#', '?']).next().unwrap_or_default();
        let is_local = link.kind == LinkKind::Page && !link.in_tag && page::is_page(bare) && !bare.contains(':');
        if is_local {
            navigation.entries.push(Entry { target: link.target, range: link.range, list: 0 });
        }
    }
    (!navigation.entries.is_empty()).then_some(navigation)
}
