use copydesk_domain::{Invalid, Project, Timestamp};
use copydesk_views::Bucket;
use copydesk_views::page::{self, Target};
use copydesk_views::store::Question;

/// A stretch of time, to the quarter hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Range {
    /// None: from the beginning.
    pub(super) from: Option<Timestamp>,
    pub(super) to: Option<Timestamp>,
}

impl Range {
    pub fn new(from: Option<Timestamp>, to: Option<Timestamp>) -> Result<Self, Invalid> {
        match (from, to) {
            (Some(from), Some(to)) if from > to => Err(Invalid::new("dateFrom", "must not be after dateTo")),
            _ => Ok(Self { from, to }),
        }
    }

    /// Which views of a project are asked about.
    pub(super) fn question(self, project: &Project) -> Question {
        let (from, to) = (self.from.map_or(Bucket::MIN, Bucket::of), self.to.map_or(Bucket::MAX, Bucket::of));
        Question { from, to, sources: project.views.sources }
    }
}

/// The page in its one form, so that it is found as it was asked for.
pub fn page_path(text: &str) -> Result<String, Invalid> {
    match page::target(text) {
        Ok(Target::Page { path, .. }) => Ok(path),
        Ok(Target::Asset) => Err(Invalid::new("path", "is not that of a page")),
        Err(error) => Err(Invalid::new("path", format!("cannot be read: {error}"))),
    }
}
