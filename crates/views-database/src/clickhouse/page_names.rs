//! The names of pages by their numbers. A number always means the same page, so that what is remembered never ages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_views::store::ViewsError;
use futures_util::TryStreamExt;
use sqlx::{PgPool, Row};

use crate::error::{Fault, Result};
use crate::questions::Taken;

/// Names that are remembered, of all projects together: some 100 MB.
const REMEMBERED: usize = 1_000_000;
/// Names that are read with one statement.
const TOGETHER: usize = 5_000;
/// What a name takes beside its text.
const A_NAME: usize = 64;

#[derive(Default)]
pub(crate) struct PageNames {
    known: Mutex<HashMap<u64, Arc<str>>>,
}

impl PageNames {
    /// The names of these pages, in their order. They take memory of the room.
    pub(crate) async fn of(
        &self,
        pool: &PgPool,
        project: i32,
        pages: &[u64],
        room: &mut Taken<'_>,
    ) -> Result<Vec<Arc<str>>> {
        let mut names = self.remembered(pages);
        let missing: Vec<i64> =
            pages.iter().zip(&names).filter(|(_, name)| name.is_none()).map(|(page, _)| page.cast_signed()).collect();
        room.take(names.iter().flatten().map(|name| name.len() + A_NAME).sum()).await?;
        let mut found = HashMap::new();
        for some in missing.chunks(TOGETHER) {
            let read = read(pool, project, some).await?;
            room.take(read.values().map(|name| name.len() + A_NAME).sum()).await?;
            found.extend(read);
        }
        if !found.is_empty() {
            for (page, name) in pages.iter().zip(&mut names).filter(|(_, name)| name.is_none()) {
                *name = found.get(page).cloned();
            }
            self.remember(found);
        }
        let all: Option<Vec<_>> = names.into_iter().collect();
        all.ok_or_else(|| {
            Fault::Views(ViewsError::Damaged("ClickHouse has views of a page that nobody knows".to_owned()))
        })
    }

    fn remembered(&self, pages: &[u64]) -> Vec<Option<Arc<str>>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        pages.iter().map(|page| known.get(page).cloned()).collect()
    }

    fn remember(&self, names: HashMap<u64, Arc<str>>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() + names.len() > REMEMBERED {
            known.clear();
        }
        if names.len() <= REMEMBERED {
            known.extend(names);
        }
    }
}

async fn read(pool: &PgPool, project: i32, missing: &[i64]) -> Result<HashMap<u64, Arc<str>>> {
    let sql = "SELECT id, path FROM views_paths WHERE project = $1 AND id = ANY ($2)";
    let mut names = HashMap::with_capacity(missing.len());
    let mut rows = sqlx::query(sql).bind(project).bind(missing).fetch(pool);
    while let Some(row) = rows.try_next().await? {
        let (id, path): (i64, &str) = (row.try_get(0)?, row.try_get(1)?);
        names.insert(id.unsigned_abs(), Arc::from(path));
    }
    Ok(names)
}
