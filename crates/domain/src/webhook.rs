use serde::Serialize;

/// An event that a webhook can receive
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = WebhookEvent))]
pub enum EventKind {
    /// A job was created.
    #[serde(rename = "job.created")]
    JobCreated,
    /// A job ended well.
    #[serde(rename = "job.completed")]
    JobCompleted,
    /// A job ended otherwise.
    #[serde(rename = "job.failed")]
    JobFailed,
    /// A job was archived.
    #[serde(rename = "job.archived")]
    JobArchived,
    /// The pull request of a job was merged.
    #[serde(rename = "pull_request.merged")]
    PullRequestMerged,
    /// The pull request of a job was closed without a merge.
    #[serde(rename = "pull_request.closed")]
    PullRequestClosed,
    /// The first page view of the project was counted.
    #[serde(rename = "project.first_view")]
    ProjectFirstView,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::JobCreated,
        Self::JobCompleted,
        Self::JobFailed,
        Self::JobArchived,
        Self::PullRequestMerged,
        Self::PullRequestClosed,
        Self::ProjectFirstView,
    ];

    /// What a delivery is called that only tries a webhook out. Nobody asks for it, so it is no kind of its own.
    pub const TEST: &str = "webhook.test";

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JobCreated => "job.created",
            Self::JobCompleted => "job.completed",
            Self::JobFailed => "job.failed",
            Self::JobArchived => "job.archived",
            Self::PullRequestMerged => "pull_request.merged",
            Self::PullRequestClosed => "pull_request.closed",
            Self::ProjectFirstView => "project.first_view",
        }
    }

    /// Whether it is about a pull request.
    pub fn is_of_pull(self) -> bool {
        matches!(self, Self::PullRequestMerged | Self::PullRequestClosed)
    }

    /// The one of that word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_and_are_those_of_json() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        assert_eq!(EventKind::parse(EventKind::TEST), None);
    }
}
