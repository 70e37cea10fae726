//! Which project a browser's view is for.

use copydesk_boxed::boxed;
use copydesk_domain::{ProjectId, domain};
use copydesk_store::{Store, StoreError};

/// A project as far as its collectors need it.
#[derive(Debug)]
pub struct Site {
    pub project: ProjectId,
    domains: Vec<String>,
}

#[boxed]
impl Site {
    pub fn new(project: ProjectId, domains: Vec<String>) -> Self {
        Self { project, domains }
    }

    /// The project that has this id or this domain. Asked for every view and never remembered: a view for a project that
    /// was deleted a moment ago would be counted for the next one of that name.
    pub async fn find(store: &Store, name: &str) -> Result<Option<Self>, StoreError> {
        let by_id = match ProjectId::parse(name) {
            Ok(id) => store.project(&id).await?,
            Err(_) => None,
        };
        let project = match (by_id, domain(name)) {
            (Some(project), _) => Some(project),
            (None, Ok(domain)) => store.project_of_domain(&domain).await?,
            (None, Err(_)) => None,
        };
        Ok(project.map(|project| Self::new(project.id, project.views.domains)))
    }

    /// Whether a signature over a request to this host proves anything here. It does not if it was made for another site,
    /// where anybody may have got it; nor if the project names no domains, because then nobody can tell.
    pub fn is_asked_at(&self, host: &str) -> bool {
        self.domains.iter().any(|domain| domain == host)
    }

    /// Whether views of this host are for it: any, if it names no domains.
    pub fn takes(&self, host: &str) -> bool {
        self.domains.is_empty() || self.domains.iter().any(|domain| domain == host)
    }
}
