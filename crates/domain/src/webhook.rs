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
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::JobCreated, Self::JobCompleted, Self::JobFailed, Self::JobArchived];

    /// What a delivery is called that only tries a webhook out. Nobody asks for it, so it is no kind of its own.
    pub const TEST: &str = "webhook.test";

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JobCreated => "job.created",
            Self::JobCompleted => "job.completed",
            Self::JobFailed => "job.failed",
            Self::JobArchived => "job.archived",
        }
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
