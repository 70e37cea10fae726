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
    /// Nothing new runs when the site is built or read.
    Executable,
    /// Comments that leave something out are written as they should be.
    Suppressions,
    /// Links to other hosts lead somewhere; only looked at when somebody asks for it.
    ExternalLinks,
}

impl Check {
    pub const ALL: [Self; 15] = [
        Self::Syntax,
        Self::FrontMatter,
        Self::Navigation,
        Self::Links,
        Self::Anchors,
        Self::Images,
        Self::Snippets,
        Self::Redirects,
        Self::CodeFences,
        Self::Scope,
        Self::Secrets,
        Self::InvisibleCharacters,
        Self::Executable,
        Self::Suppressions,
        Self::ExternalLinks,
    ];

    /// The check of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.as_str() == name)
    }

    /// What it looks at, as a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Syntax => "Markdown and MDX are well-formed.",
            Self::FrontMatter => "Front matter is well-formed.",
            Self::Navigation => "Navigation lists pages that exist, each once.",
            Self::Links => "Links lead to pages and files that exist.",
            Self::Anchors => "Links to a place in a page lead to a heading that exists.",
            Self::Images => "Images exist.",
            Self::Snippets => "Snippets and imports exist.",
            Self::Redirects => "Redirects lead somewhere, at once, and do not go in circles.",
            Self::CodeFences => "Code fences are closed.",
            Self::Scope => "Only documentation is touched, and not too much of it.",
            Self::Secrets => "Nothing looks like a secret.",
            Self::InvisibleCharacters => "There are no invisible characters.",
            Self::Executable => "Nothing new runs when the site is built or read.",
            Self::Suppressions => "Comments that leave something out name checks that exist.",
            Self::ExternalLinks => "Links to other hosts lead somewhere.",
        }
    }

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
            Self::Executable => "executable",
            Self::Suppressions => "suppressions",
            Self::ExternalLinks => "external_links",
        }
    }
}

/// What a finding means for whoever changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It is to be repaired: a command fails, a pull request is a draft.
    Error,
    /// It is said, and that is all.
    Warning,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Something that is wrong at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: Check,
    pub severity: Severity,
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong, as one sentence.
    pub message: String,
    /// What it is about, without its position: a finding with the same check, path and subject was there before.
    pub subject: String,
    /// What stands around it, if that tells it again when what it is about was exchanged: the line without its links.
    #[serde(skip)]
    pub around: Option<u64>,
}

impl Finding {
    /// As a job shows it.
    pub fn summary(&self) -> FindingSummary {
        let Self { path, message, line, column, .. } = self.clone();
        FindingSummary { path, line, column, message, warning: !self.is_error() }
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

pub(crate) fn finding(check: Check, path: &str, place: (u32, u32), message: String, subject: String) -> Finding {
    let (line, column) = place;
    let severity = Severity::Error;
    Finding { check, severity, path: path.to_owned(), line, column, message, subject, around: None }
}
