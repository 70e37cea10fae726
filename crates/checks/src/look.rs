use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use crate::Files;

/// Files, with what was asked about them kept.
pub(crate) struct Look<'a> {
    pub(crate) files: &'a dyn Files,
    exists: RwLock<HashMap<String, bool>>,
    lists: RwLock<HashMap<String, Arc<Vec<String>>>>,
}

impl<'a> Look<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, exists: RwLock::default(), lists: RwLock::default() }
    }

    pub(crate) fn exists(&self, path: &str) -> io::Result<bool> {
        if let Some(known) = self.exists.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(*known);
        }
        let exists = self.files.exists(path)?;
        self.exists.write().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), exists);
        Ok(exists)
    }

    pub(crate) fn list(&self, folder: &str) -> io::Result<Arc<Vec<String>>> {
        if let Some(known) = self.lists.read().unwrap_or_else(PoisonError::into_inner).get(folder) {
            return Ok(Arc::clone(known));
        }
        let list = Arc::new(self.files.list(folder)?);
        self.lists.write().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), Arc::clone(&list));
        Ok(list)
    }
}
