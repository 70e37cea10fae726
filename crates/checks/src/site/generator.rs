//! What a generator of documentation sites is to the checks: which addresses it makes, and how it reads a link.

use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::page::{Dialect, LinkKind};
use crate::paths;

/// Why something is not judged, in words that a reader understands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Reason(pub(crate) String);

impl Reason {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    pub(crate) fn ignored() -> Self {
        Self::new("`.gitignore` names it, so a program makes it")
    }
}

/// A place where a site may find what a link means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// This file, whatever it is.
    File(String),
    /// This folder, if anything is in it: code hosts show it.
    Folder(String),
    /// This file, if it is a page of the site.
    Page(String),
    /// This address of the site, without slashes around it.
    Address(String),
    /// A name that any page of the site may give to a place.
    Label(String),
    /// Out of the site, as to another host.
    Elsewhere,
    /// This address, which is not below the base of the site: an error if the site has it below, else another site's.
    Outside(String),
    /// A package, which is there when the site is built.
    Package,
    /// Somewhere that the repository does not tell.
    Untold(Reason),
}

/// A link as far as a generator needs it.
pub(crate) struct Asked<'a> {
    /// The page that it stands in.
    pub(crate) page: &'a str,
    /// The address of that page, if it has one.
    pub(crate) at: Option<&'a str>,
    pub(crate) kind: LinkKind,
    /// Whether it stands in an attribute of a tag.
    pub(crate) in_tag: bool,
    /// The path of its address, decoded, not empty.
    pub(crate) path: &'a str,
}

/// The front matter of a page, as far as addresses depend on it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Front {
    /// Whether there is any.
    pub(crate) is_there: bool,
    fields: Vec<(String, String)>,
    lists: Vec<(String, Vec<String>)>,
}

impl Front {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The texts of a field that is a list or a single text.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let list = self.lists.iter().find(|(field, _)| field == name).map(|(_, items)| items);
        match list {
            Some(items) => items.iter().map(String::as_str).collect(),
            None => self.get(name).into_iter().collect(),
        }
    }

    pub(crate) fn of(value: &copydesk_values::Value) -> Self {
        let mut front = Self::default();
        for (key, value) in value.entries() {
            if let Some(text) = value.written().filter(|_| !value.is_null()) {
                front.fields.push((key.name.clone(), text.to_owned()));
            } else {
                let items = value.items().iter().filter_map(|item| item.written()).map(str::to_owned).collect();
                front.lists.push((key.name.clone(), items));
            }
        }
        front
    }
}

/// What the template in an address comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Filled {
    /// An address, as if it were written there.
    Written(String),
    /// One of these, and the place in it.
    Ways(Vec<Way>, Option<String>),
}

/// A redirect of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The address that is left, which may hold wildcards.
    pub(crate) source: String,
    pub(crate) destination: String,
    /// Where it is written; none if it is not one of the site's own settings, so that only the address counts.
    pub(crate) place: Option<Place>,
}

/// Where something is written. It is no part of what a site is: two that differ in places alone are the same, which is
/// why it does not show.
#[derive(Clone, Default)]
pub(crate) struct Place {
    /// The file, if it is not the one that the site was found by.
    pub(crate) file: Option<Arc<str>>,
    pub(crate) at: usize,
}

impl Place {
    pub(crate) fn of(value: &copydesk_values::Value) -> Self {
        Self { file: value.file.clone(), at: value.range.start }
    }
}

impl Place {
    /// The place of a value in another that may be of a file of its own.
    pub(crate) fn within(value: &copydesk_values::Value, file: Option<&Arc<str>>) -> Self {
        let Self { file: own, at } = Self::of(value);
        Self { file: own.or_else(|| file.cloned()), at }
    }
}

impl Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Place {}

/// One generator with the settings of one site.
pub(crate) trait Generator: Debug + Send + Sync {
    /// What people call it.
    fn name(&self) -> &'static str;

    /// The folder that all of it is in.
    fn root(&self) -> &str;

    /// The folders that its pages are in.
    fn folders(&self) -> Vec<&str>;

    /// The address that all of it is served below, without slashes around it; none if the repository does not tell.
    fn base(&self) -> Option<&str> {
        Some("")
    }

    /// Whether a file is a page of the site.
    fn is_page(&self, path: &str) -> bool;

    /// Whether addresses depend on front matter.
    fn reads_front_matter(&self) -> bool {
        false
    }

    /// The addresses that a page answers to, without slashes around them.
    fn addresses(&self, path: &str, front: &Front) -> Vec<String>;

    /// The addresses at which the page stands in for one that is not there, such as a translation.
    fn fallbacks(&self, _path: &str, _front: &Front) -> Vec<String> {
        Vec::new()
    }

    /// The addresses that redirect to the page.
    fn aliases(&self, _path: &str, _front: &Front) -> Vec<String> {
        Vec::new()
    }

    /// The addresses of lists that the page stands in, if the generator makes them.
    fn lists(&self, _path: &str, _front: &Front) -> Vec<String> {
        Vec::new()
    }

    /// Where a link may lead, in the order in which the generator looks.
    fn ways(&self, asked: &Asked<'_>) -> Vec<Way>;

    /// What an address with a template in it comes to, if that can be told from the repository.
    fn filled(&self, _page: &str, _written: &str) -> Option<Filled> {
        None
    }

    /// The files that answer to an address as they are.
    fn files_at(&self, address: &str) -> Vec<String>;

    /// The files that a page at an address could come from; a program may make them.
    fn sources(&self, address: &str) -> Vec<String> {
        let bare = address.strip_suffix(".html").unwrap_or(address);
        let names = [".md", "/index.md", "/_index.md"];
        let below = |folder: &str| names.map(|name| paths::join(folder, &format!("{bare}{name}")));
        self.folders().into_iter().flat_map(below).collect()
    }

    fn redirects(&self) -> &[Rule] {
        &[]
    }

    /// Why nobody can tell from the repository what answers to an address.
    fn untold(&self, _address: &str) -> Option<Reason> {
        None
    }

    /// Whether a file in its folders is none of its own, so that only code hosts show it.
    fn leaves_out(&self, _path: &str) -> bool {
        false
    }

    /// Why links that stand in this page cannot be judged as they stand there: it is only a part of others.
    fn partial(&self, _path: &str) -> Option<Reason> {
        None
    }

    /// Whether parts of pages are read where they lie and shown where the pages are that take them in, so that their
    /// links can be judged from there.
    fn follows_parts(&self) -> bool {
        false
    }

    /// The folder in which parts of pages lie, if it is not all that is below the root.
    fn source(&self) -> Option<String> {
        None
    }

    /// Why nobody can tell whether an id is there that no heading could have.
    fn untold_anchor(&self, _fragment: &str) -> Option<Reason> {
        None
    }

    /// Whether the site is only guessed, so that any other that has the same folder counts.
    fn is_guessed(&self) -> bool {
        false
    }

    /// Whether names that pages give to places hold in the whole site.
    fn shares_labels(&self) -> bool {
        false
    }

    /// Whether headings of other pages may be named as if they were of the page.
    fn shares_headings(&self) -> bool {
        false
    }

    /// Why nobody can tell from the repository whether a name of a place is there.
    fn untold_label(&self, _name: &str) -> Option<Reason> {
        None
    }

    /// How its pages are written and what ids their headings get.
    fn dialect(&self) -> Dialect;
}
