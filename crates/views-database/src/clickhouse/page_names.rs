//! The names of pages by their numbers. A number always means the same page, so that what is remembered never ages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_views::store::ViewsError;
use futures_util::TryStreamExt;
use sqlx::{PgPool, Row};

use crate::error::{Fault, Result};

/// Names that are remembered, of all projects together: some 100 MB.
const REMEMBERED: usize = 1_000_000;
/// If more than this are missing, all of the project are read.
const A_FEW: usize = 5_000;

#[derive(Default)]
pub(crate) struct PageNames {
    known: Mutex<HashMap<u64, Arc<str>>>,
}

impl PageNames {
    /// The names of these pages, in their order.
    pub(crate) async fn of(&self, pool: &PgPool, project: i32, pages: &[u64]) -> Result<Vec<Arc<str>>> {
        let mut names = self.remembered(pages);
        let missing: Vec<i64> =
            pages.iter().zip(&names).filter(|(_, name)| name.is_none()).map(|(page, _)| page.cast_signed()).collect();
        if !missing.is_empty() {
            let read = read(pool, project, &missing).await?;
            for (page, name) in pages.iter().zip(&mut names).filter(|(_, name)| name.is_none()) {
                *name = read.get(page).cloned();
            }
            self.remember(read);
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
    let sql = if missing.len() > A_FEW {
        "SELECT id, path FROM views_paths WHERE project = $1 AND $2::bigint[] IS NOT NULL"
    } else {
        "SELECT id, path FROM views_paths WHERE project = $1 AND id = ANY ($2)"
    };
    let wanted = if missing.len() > A_FEW { &[][..] } else { missing };
    let mut names = HashMap::with_capacity(missing.len());
    let mut rows = sqlx::query(sql).bind(project).bind(wanted).fetch(pool);
    while let Some(row) = rows.try_next().await? {
        let (id, path): (i64, &str) = (row.try_get(0)?, row.try_get(1)?);
        names.insert(id.unsigned_abs(), Arc::from(path));
    }
    Ok(names)
}
