use std::future::Future;

use serde_json::Value;

/// The half of the interface that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// `/v2/agent/{projectId}`
    Jobs,
    /// `/v1/analytics/{projectId}`
    Views,
}

impl Area {
    /// The path before the project.
    pub fn path(self) -> [&'static str; 2] {
        match self {
            Self::Jobs => ["v2", "agent"],
            Self::Views => ["v1", "analytics"],
        }
    }
}

/// A request of the interface, below the project.
#[derive(Debug, Clone)]
pub struct Ask {
    pub area: Area,
    /// The parts of the path after the project.
    pub path: Vec<String>,
    pub query: Vec<(&'static str, String)>,
    /// What is posted; `None` for a GET.
    pub post: Option<Value>,
    pub accept: &'static str,
    pub header: Option<(&'static str, String)>,
}

impl Ask {
    pub(crate) fn get(area: Area, path: &[&str]) -> Self {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        Self { area, path, query: Vec::new(), post: None, accept: "application/json", header: None }
    }

    pub(crate) fn post(path: &[&str], body: Value) -> Self {
        Self { post: Some(body), ..Self::get(Area::Jobs, path) }
    }

    pub(crate) fn with(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: String) -> Self {
        self.header = Some((name, value));
        self
    }
}

/// What the interface answered.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: String,
    /// Why figures are not to be relied on (`Views-Incomplete`).
    pub incomplete: Vec<String>,
}

/// A way to the interface, for one project and with one key.
pub trait Api: Send + Sync + 'static {
    /// Asks; an error is a sentence about why there is no answer.
    fn ask(&self, ask: Ask) -> impl Future<Output = Result<Reply, String>> + Send;
}
