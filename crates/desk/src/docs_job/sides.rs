//! The files that a change has touched, as they were and as they are, from this machine's mirror.

use copydesk_boxed::boxed;
use copydesk_domain::Project;
use copydesk_forge::{LARGEST_TEXT, Remote, Tree};
use copydesk_store::JobChange;

use super::Workshop;
use super::failure::commit_id;

/// One file on both sides of a change; none where it is not, or where it is no text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sides {
    pub old: Option<String>,
    pub new: Option<String>,
}

/// The files of these paths, before and after. None if this machine does not have the commits: it is not asked for them
/// elsewhere, since somebody waits for a page.
#[boxed]
pub async fn sides(
    workshop: &Workshop,
    project: &Project,
    change: &JobChange,
    paths: Vec<(String, String)>,
) -> Option<Vec<Sides>> {
    let (old, new) = (commit_id(&change.base_commit).ok()?, commit_id(change.commit.as_deref()?).ok()?);
    let mirror = workshop.forge.mirror(&Remote::at(project.repository.clone_address())).await.ok()?;
    let read = tokio::task::spawn_blocking(move || {
        let (old, new) = (mirror.tree(&old).ok()?, mirror.tree(&new).ok()?);
        let both = |(before, after): &(String, String)| Sides { old: text(&*old, before), new: text(&*new, after) };
        Some(paths.iter().map(both).collect())
    });
    read.await.ok().flatten()
}

fn text(tree: &dyn Tree, path: &str) -> Option<String> {
    let bytes = tree.read(path).ok().flatten().filter(|bytes| bytes.len() as u64 <= LARGEST_TEXT)?;
    String::from_utf8(bytes).ok()
}
