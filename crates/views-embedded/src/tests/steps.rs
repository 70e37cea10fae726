//! What a test does with a store, at random.

use std::sync::Arc;

use copydesk_views::{Batch, Bucket, Class, Client, Verdict, View};
use proptest::prelude::*;

use super::model::LOGS;
use crate::samples::{client, mark, verdict};

pub(super) const PROJECTS: [&str; 2] = ["p", "q"];

/// A step of a test.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Append(usize, Vec<RandomView>, Option<RandomMark>),
    /// Several at once, of the same shape.
    AppendMany(usize, usize),
    Settle,
    Retain(usize, u32),
    Relabel(usize, usize, Class),
    Remove(usize),
    Hours(i64),
    /// Ends the store properly and opens it again.
    Reopen,
    /// The process or the machine ends during or after the next append, after so many steps of the disk.
    Crash {
        power: bool,
        after: usize,
    },
    Backup,
    Evict,
}

/// A view: quarter hour, page, reader, number, and which id.
pub(super) type RandomView = (u32, u8, usize, u32, Option<u8>);
/// A mark: log, and whether it moves the last one on.
pub(super) type RandomMark = (usize, bool);

pub(super) fn step() -> impl Strategy<Value = Step> {
    let project = 0..PROJECTS.len();
    let view = (90..115u32, 0..6u8, 0..8usize, 1..4u32, prop::option::of(0..12u8));
    let views = prop::collection::vec(view, 0..6);
    let mark = prop::option::of((0..LOGS.len(), any::<bool>()));
    let class = prop::sample::select(&[Class::Human, Class::Assistant, Class::OtherBot][..]);
    prop_oneof![
        12 => (project.clone(), views, mark).prop_map(|(p, views, mark)| Step::Append(p, views, mark)),
        2 => (project.clone(), 2..5usize).prop_map(|(p, count)| Step::AppendMany(p, count)),
        3 => Just(Step::Settle),
        1 => (project.clone(), 88..112u32).prop_map(|(p, floor)| Step::Retain(p, floor)),
        2 => (project.clone(), 0..8usize, class).prop_map(|(p, who, class)| Step::Relabel(p, who, class)),
        1 => project.prop_map(Step::Remove),
        1 => (0..50i64).prop_map(Step::Hours),
        2 => Just(Step::Reopen),
        3 => (any::<bool>(), 0..12usize).prop_map(|(power, after)| Step::Crash { power, after }),
        1 => Just(Step::Backup),
        1 => Just(Step::Evict),
    ]
}

/// Makes batches of which each has a page of its own, so that it can be told whether it was counted.
#[derive(Default)]
pub(super) struct Batches {
    made: usize,
    last_mark: Option<String>,
}

impl Batches {
    pub(super) fn make(&mut self, project: usize, views: &[RandomView], marked: Option<RandomMark>) -> Batch {
        self.made += 1;
        let own = View { bucket: Bucket(120), path: self.own_page(), client: client(0), count: 1, id: None };
        let view = |(bucket, path, who, count, id): &RandomView| View {
            bucket: Bucket(*bucket),
            path: format!("/{path}").into(),
            client: client(*who),
            count: if id.is_some() { 1 } else { *count },
            id: id.map(u128::from),
        };
        let views = views.iter().map(view).chain([own]).collect();
        let mark = marked.map(|(log, moves)| {
            let digest = self.made.to_string();
            let replaces = self.last_mark.replace(digest.clone()).filter(|_| moves);
            mark(LOGS[log], &digest, replaces.as_deref())
        });
        Batch { project: PROJECTS[project].into(), views, mark, ..Batch::default() }
    }

    fn own_page(&self) -> Arc<str> {
        format!("/own-{}", self.made).into()
    }
}

pub(super) fn change(who: usize, class: Class) -> Vec<(Arc<Client>, Verdict)> {
    vec![(client(who), verdict(class))]
}
