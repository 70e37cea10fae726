//! Which project a browser's view is for. Browsers name it, once for every view, so it is remembered for a moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use copydesk_domain::{ProjectId, domain};
use copydesk_store::{Store, StoreError};

/// After this a change of a project's domains is seen.
const KEPT: Duration = Duration::from_secs(5);
/// Names that are remembered at most.
const NAMES: usize = 10_000;

/// A project as far as its collectors need it.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) project: String,
    domains: Vec<String>,
}

impl Site {
    /// A project with these domains.
    pub(crate) fn new(project: String, domains: Vec<String>) -> Self {
        Self { project, domains }
    }

    /// Whether views of this host are for it: any, if it names no domains.
    pub(crate) fn takes(&self, host: &str) -> bool {
        self.domains.is_empty() || self.domains.iter().any(|domain| domain == host)
    }
}

/// Sites by what browsers call them.
#[derive(Default)]
pub(crate) struct Sites(Mutex<HashMap<String, (Instant, Arc<Site>)>>);

impl Sites {
    /// The project that has this id or this domain.
    pub(crate) async fn find(&self, store: &Store, name: &str) -> Result<Option<Arc<Site>>, StoreError> {
        if let Some(site) = self.remembered(name) {
            return Ok(Some(site));
        }
        let by_id = match ProjectId::parse(name) {
            Ok(id) => store.project(id.as_str()).await?,
            Err(_) => None,
        };
        let project = match (by_id, domain(name)) {
            (Some(project), _) => Some(project),
            (None, Ok(domain)) => store.project_of_domain(&domain).await?,
            (None, Err(_)) => None,
        };
        Ok(project.map(|project| self.remember(name, Site::new(project.id, project.views.domains))))
    }

    fn remembered(&self, name: &str) -> Option<Arc<Site>> {
        let sites = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, site) = sites.get(name)?;
        (since.elapsed() < KEPT).then(|| site.clone())
    }

    fn remember(&self, name: &str, site: Site) -> Arc<Site> {
        let site = Arc::new(site);
        let mut sites = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sites.len() >= NAMES {
            sites.clear();
        }
        sites.insert(name.to_owned(), (Instant::now(), site.clone()));
        site
    }
}
