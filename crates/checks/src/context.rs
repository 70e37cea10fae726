//! A tree of files with what is known about it.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use crate::Files;
use crate::facts::PageFacts;
use crate::resolve::Look;
use crate::site::Sites;

/// Larger files are not read as pages or navigation.
pub(crate) const LARGEST: usize = 4 * 1024 * 1024;

pub(crate) struct Context<'a> {
    pub(crate) look: Look<'a>,
    pub(crate) sites: &'a Sites,
    pages: RwLock<HashMap<String, Option<Arc<PageFacts>>>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(files: &'a dyn Files, sites: &'a Sites) -> Self {
        Self { look: Look::new(files), sites, pages: RwLock::default() }
    }

    /// What there is to know about a page; none if it cannot be read as text.
    pub(crate) fn facts(&self, path: &str) -> io::Result<Option<Arc<PageFacts>>> {
        if let Some(known) = self.pages.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(known.clone());
        }
        let facts = self.text(path)?.map(|text| Arc::new(PageFacts::of(path, &text)));
        self.pages.write().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), facts.clone());
        Ok(facts)
    }

    pub(crate) fn text(&self, path: &str) -> io::Result<Option<String>> {
        let content = self.look.files.read(path)?.filter(|content| content.len() <= LARGEST);
        Ok(content.and_then(|content| String::from_utf8(content).ok()))
    }
}
