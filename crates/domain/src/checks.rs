use serde::{Deserialize, Serialize};

/// What a docs check says of the job's change
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobCheck))]
#[serde(rename_all = "camelCase")]
pub struct CheckSummary {
    /// Its name.
    #[cfg_attr(feature = "openapi", schema(example = "links"))]
    pub check: String,
    /// Whether it judged anything. If not, nothing is known, good or bad.
    pub ran: bool,
    /// How much it judged: links, anchors, images, entries of the navigation, pages or files, by its kind.
    #[serde(default)]
    pub judged: u64,
    /// What it could not judge, by the reason.
    #[serde(default)]
    pub not_judged: Vec<NotJudged>,
    /// How many findings are new.
    pub new_findings: u64,
    /// How many earlier findings are fixed.
    pub repaired: u64,
    /// The first of the new findings.
    #[serde(default)]
    pub findings: Vec<FindingSummary>,
}

/// How much could not be judged for one reason
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobNotJudged))]
pub struct NotJudged {
    /// Why, in words.
    #[cfg_attr(feature = "openapi", schema(example = "a template fills it in"))]
    pub reason: String,
    pub count: u64,
}

/// The place of a finding
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
    /// Whether it is only a warning, which does not make a pull request a draft.
    #[serde(default)]
    pub warning: bool,
}
