use serde::{Deserialize, Serialize};

/// What a docs check says of the job's change
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobCheck))]
#[serde(rename_all = "camelCase")]
pub struct CheckSummary {
    /// Its name.
    #[cfg_attr(feature = "openapi", schema(example = "links"))]
    pub check: String,
    /// Whether there was anything for it to look at.
    pub ran: bool,
    /// How many findings are there now that were not before.
    pub new_findings: u64,
    /// How many findings of before are gone.
    pub repaired: u64,
    /// The first of the new findings.
    #[serde(default)]
    pub findings: Vec<FindingSummary>,
}

/// A place where something is wrong
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobFinding))]
pub struct FindingSummary {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}
