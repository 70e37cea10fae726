//! The chores, as data.

use super::words::{clip, listed};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chore {
    Replace(Replace),
    Typos(Scope),
    Links(Links),
    FrontMatter(FrontMatter),
    Headings(Scope),
    AddPage(AddPage),
}

/// Which pages, as the prompt names them. Without paths: all of the documentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Files, folders and globs.
    pub(crate) paths: Vec<String>,
    /// Files, folders and globs to leave out.
    pub(crate) except: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replace {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) scope: Scope,
    pub(crate) code: Code,
    pub(crate) ignore_case: bool,
    pub(crate) inside_words: bool,
}

/// Whether a term is replaced in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Not,
    Too,
    Only,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Links {
    /// Links that lead to no file as well, not only those whose anchor is wrong.
    pub(crate) pages: bool,
    pub(crate) scope: Scope,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrontMatter {
    pub(crate) title: bool,
    pub(crate) description: bool,
    pub(crate) scope: Scope,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AddPage {
    pub(crate) title: Option<String>,
    /// A file, or the folder that the file is to be in.
    pub(crate) path: Option<String>,
    pub(crate) section: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) text: Option<String>,
}

impl Chore {
    /// What a change that does only this is called.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Replace(it) => {
                let place = if it.code == Code::Only { " in code" } else { "" };
                format!("Replace \"{}\" with \"{}\"{place}{}", clip(&it.old, 60), clip(&it.new, 60), it.scope.place())
            }
            Self::Typos(scope) => format!("Fix typos{}", scope.place()),
            Self::Links(it) if it.pages => format!("Repair broken links{}", it.scope.place()),
            Self::Links(it) => format!("Repair broken anchors{}", it.scope.place()),
            Self::FrontMatter(it) => {
                let what = match (it.title, it.description) {
                    (true, false) => "titles",
                    (false, true) => "descriptions",
                    _ => "titles and descriptions",
                };
                format!("Fill in missing {what}{}", it.scope.place())
            }
            Self::Headings(scope) => format!("Fix heading levels{}", scope.place()),
            Self::AddPage(it) => match it.title.as_deref().or(it.path.as_deref()) {
                Some(name) => format!("Add the page \"{}\"", clip(name, 100)),
                None => "Add a page".to_owned(),
            },
        }
    }

    /// The name that events use.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Replace(_) => "replace",
            Self::Typos(_) => "typos",
            Self::Links(_) => "links",
            Self::FrontMatter(_) => "front_matter",
            Self::Headings(_) => "heading_levels",
            Self::AddPage(_) => "add_page",
        }
    }
}

impl Scope {
    /// ` in docs/guides`, for the end of a title; nothing for all pages.
    fn place(&self) -> String {
        if self.paths.is_empty() {
            return String::new();
        }
        let names: Vec<String> = self.paths.iter().map(|path| clip(path.trim_end_matches('/'), 60)).collect();
        format!(" in {}", listed(&names, 3))
    }
}
