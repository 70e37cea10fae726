use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copydesk_domain::ProjectId;

/// The most projects that are remembered: each claim names them all.
const MOST: usize = 128;

/// The projects whose repositories this machine has a copy of: those used last, and some that had one at the start. Their
/// jobs are better run here than elsewhere, where all would have to be fetched first.
#[derive(Debug, Clone, Default)]
pub struct Near(Arc<Mutex<VecDeque<ProjectId>>>);

impl Near {
    pub(crate) fn add(&self, project_id: &ProjectId) {
        let mut projects = self.projects();
        projects.retain(|known| known != project_id);
        projects.push_back(project_id.clone());
        if projects.len() > MOST {
            projects.pop_front();
        }
    }

    pub(super) fn has(&self, project_id: &ProjectId) -> bool {
        self.projects().contains(project_id)
    }

    pub(super) fn list(&self) -> Vec<ProjectId> {
        self.projects().iter().cloned().collect()
    }

    fn projects(&self) -> MutexGuard<'_, VecDeque<ProjectId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_used_last_are_remembered() {
        let near = Near::default();
        for at in 0..=MOST {
            near.add(&format!("p{at}").as_str().into());
            near.add(&"p0".into());
        }
        assert_eq!(near.list().len(), MOST);
        assert!(near.has(&"p0".into()), "it is used all the time");
        assert!(!near.has(&"p1".into()), "it was used longest ago");
        assert!(near.has(&"p2".into()));
    }
}
