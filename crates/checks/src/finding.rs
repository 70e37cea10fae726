use copydesk_domain::FindingSummary;
use serde::Serialize;

/// The docs checks, by the names that users see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Markdown and MDX are well-formed.
    Syntax,
    /// Front matter is well-formed.
    FrontMatter,
    /// Navigation files are well-formed and list pages that exist, each once.
    Navigation,
    /// Internal links lead to files that exist.
    Links,
    /// Anchors lead to headings that exist.
    Anchors,
    Images,
    /// Snippets and imports exist.
    Snippets,
    /// Redirects lead somewhere and do not go in circles.
    Redirects,
    /// Code fences are closed.
    CodeFences,
    /// Only documentation is touched, and not too much of it.
    Scope,
    Secrets,
    InvisibleCharacters,
}

impl Check {
    /// The name that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::FrontMatter => "front_matter",
            Self::Navigation => "navigation",
            Self::Links => "links",
            Self::Anchors => "anchors",
            Self::Images => "images",
            Self::Snippets => "snippets",
            Self::Redirects => "redirects",
            Self::CodeFences => "code_fences",
            Self::Scope => "scope",
            Self::Secrets => "secrets",
            Self::InvisibleCharacters => "invisible_characters",
        }
    }
}

/// Something that is wrong at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: Check,
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong, as one sentence.
    pub message: String,
    /// What it is about, without its position: a finding with the same check, path and subject was there before.
    pub subject: String,
}

impl Finding {
    /// As a job shows it.
    pub(crate) fn summary(&self) -> FindingSummary {
        let Self { path, message, line, column, .. } = self.clone();
        FindingSummary { path, line, column, message }
    }
}

pub(crate) fn finding(check: Check, path: &str, place: (u32, u32), message: String, subject: String) -> Finding {
    Finding { check, path: path.to_owned(), line: place.0, column: place.1, message, subject }
}
