//! Finds the pages that may lead to something that is gone, by a search for its name before any page is read.

use std::collections::BTreeSet;
use std::io;

use memchr::memmem::Finder;

use crate::context::Context;
use crate::look::Look;
use crate::paths;
use crate::resolve::{Verdict, snippet};

/// What is gone: files, anchors of pages, redirects.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// Paths of files that are gone or have lost anchors.
    files: BTreeSet<String>,
    /// What a link to any of it must hold.
    names: BTreeSet<String>,
    /// Whether a link to it may be nothing but dots and slashes.
    unnamed: bool,
    /// Whether a link to it may hold anything.
    anything: bool,
}

impl Trace {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.names.is_empty() && !self.unnamed && !self.anything
    }

    /// A file was deleted; also folders, if it was the last file in them.
    pub(crate) fn file_is_gone(&mut self, path: &str, now: &Look<'_>) -> io::Result<()> {
        self.anchors_are_gone(path);
        let mut folder = paths::folder(path);
        while !folder.is_empty() && now.list(folder)?.is_empty() {
            self.name(paths::file_name(folder));
            folder = paths::folder(folder);
        }
        Ok(())
    }

    /// A page has lost anchors.
    pub(crate) fn anchors_are_gone(&mut self, path: &str) {
        self.files.insert(path.to_owned());
        let stem = paths::stem(path);
        // Their folder's name leads to these, and `./` from beside them.
        if matches!(stem.to_ascii_lowercase().as_str(), "index" | "readme" | "_index") {
            self.unnamed = true;
            let folder = paths::file_name(paths::folder(path));
            if !folder.is_empty() {
                self.name(folder);
            }
        }
        // A route with a parameter answers to any name.
        self.anything |= path.contains('[');
        self.name(stem);
    }

    /// A page does not answer to an address any more.
    pub(crate) fn address_is_gone(&mut self, address: &str) {
        match address.rsplit('/').next() {
            Some(last) if !last.is_empty() => self.name(last),
            _ => self.unnamed = true,
        }
    }

    /// A redirect was taken away.
    pub(crate) fn redirect_is_gone(&mut self, source: &str) {
        let fixed = source.split('/').filter(|part| !part.starts_with(':') && !part.contains('*'));
        match fixed.filter(|part| !part.is_empty()).max_by_key(|part| part.len()) {
            Some(part) => self.name(part),
            None => self.anything = true,
        }
    }

    /// The longest run of plain letters and digits: no way of writing a link hides it.
    fn name(&mut self, name: &str) {
        match name.split(|c: char| !c.is_ascii_alphanumeric()).max_by_key(|run| run.len()) {
            Some(run) if !run.is_empty() => {
                self.names.insert(run.to_owned());
            }
            _ => self.anything = true,
        }
    }

    /// A search for all names at once.
    pub(crate) fn search(&self) -> Search<'_> {
        let finders = self.names.iter().map(|name| Finder::new(name.as_bytes())).collect();
        Search { finders, unnamed: self.unnamed, anything: self.anything }
    }
}

/// A search for names in pages.
pub(crate) struct Search<'a> {
    finders: Vec<Finder<'a>>,
    unnamed: bool,
    anything: bool,
}

impl Search<'_> {
    pub(crate) fn is_in(&self, content: &[u8]) -> bool {
        self.anything
            || self.finders.iter().any(|finder| finder.find(content).is_some())
            || self.unnamed && holds_unnamed(content)
    }
}

/// Whether a text holds something like a link of nothing but dots and slashes, such as `(../)` or `"/#part"`.
fn holds_unnamed(content: &[u8]) -> bool {
    let is_part = |b: &u8| matches!(b, b'.' | b'/');
    let mut at = 0;
    while let Some(length) = content[at..].iter().position(is_part) {
        let start = at + length;
        let end = start + content[start..].iter().take_while(|b| is_part(b)).count();
        let opens =
            start == 0 || matches!(content[start - 1], b'(' | b'"' | b'\'' | b'<' | b' ' | b'\n' | b'\t' | b'`' | b'=');
        let closes = content
            .get(end)
            .is_none_or(|b| matches!(b, b'#' | b'?' | b')' | b'"' | b'\'' | b'>' | b'`') || b.is_ascii_whitespace());
        if opens && closes {
            return true;
        }
        at = end;
    }
    false
}

/// Whether a page takes in one of the files as a snippet.
pub(crate) fn takes_in(context: &Context<'_>, path: &str, trace: &Trace) -> io::Result<bool> {
    let Some(facts) = context.facts(path)? else { return Ok(false) };
    for link in facts.snippets() {
        if let Verdict::There(files) = snippet(context, path, link)?
            && files.iter().any(|file| trace.files.contains(file))
        {
            return Ok(true);
        }
    }
    Ok(false)
}
