//! What a name means in a module: defined there, a part, or brought in by `use` from where it is defined.

use std::collections::{BTreeSet, HashMap, HashSet};

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{Item, ItemUse, UseTree};

use crate::source::Crate;

pub(crate) struct Names<'a> {
    tree: &'a Crate,
    scopes: Vec<Scope>,
}

/// The names of one module.
#[derive(Default)]
struct Scope {
    names: HashMap<String, Vec<Binding>>,
    /// The modules all of whose names are brought in.
    globs: Vec<usize>,
}

enum Binding {
    Defined,
    Part(usize),
    Import(Vec<String>),
}

impl<'a> Names<'a> {
    pub(crate) fn new(tree: &'a Crate) -> Self {
        let mut scopes: Vec<Scope> = tree.modules.iter().map(|_| Scope::default()).collect();
        let mut globs = Vec::new();
        for (id, module) in tree.modules.iter().enumerate() {
            if let Some(parent) = module.parent {
                scopes[parent].bind(&module.name, Binding::Part(id));
            }
            for name in module.items.iter().filter_map(defined) {
                scopes[id].bind(&name, Binding::Defined);
            }
            for import in imports_in(&module.items) {
                match import.name {
                    ImportName::One(name) => scopes[id].bind(&name, Binding::Import(import.path)),
                    ImportName::All => globs.push((id, import.path)),
                    ImportName::Unnamed => {}
                }
            }
        }
        let mut names = Self { tree, scopes };
        // Found by what is named one by one: nobody here reaches a module through two globs.
        let found: Vec<_> = globs.iter().map(|(id, path)| (*id, names.search(*id, path).ends)).collect();
        for (id, ends) in found {
            names.scopes[id].globs.extend(ends);
        }
        names
    }

    /// Every module that a path in `module` leads through: those that it names, those that re-export what it names, and
    /// the one that defines it. None for what is outside the crate.
    pub(crate) fn modules_of(&self, module: usize, path: &[String]) -> BTreeSet<usize> {
        self.search(module, path).passed
    }

    /// Whether a `use` in the module already says all about a path.
    pub(crate) fn is_imported(&self, module: usize, path: &[String]) -> bool {
        let bindings = self.scopes[module].names.get(&path[0]);
        let imported = bindings.is_some_and(|all| all.iter().any(|binding| matches!(binding, Binding::Import(_))));
        imported && self.modules_of(module, path) == self.modules_of(module, &path[..1])
    }

    fn search(&self, module: usize, path: &[String]) -> Search<'_> {
        let mut search = Search {
            names: self,
            passed: BTreeSet::new(),
            ends: Vec::new(),
            seen: HashSet::new(),
            followed: HashSet::new(),
        };
        search.start(module, path);
        search
    }
}

impl Scope {
    fn bind(&mut self, name: &str, binding: Binding) {
        self.names.entry(name.to_owned()).or_default().push(binding);
    }
}

/// One path on its way.
struct Search<'a> {
    names: &'a Names<'a>,
    passed: BTreeSet<usize>,
    /// The modules that the path as a whole names.
    ends: Vec<usize>,
    seen: HashSet<(usize, Vec<String>)>,
    /// The imports that are being followed.
    followed: HashSet<(usize, &'a Vec<String>)>,
}

impl Search<'_> {
    fn start(&mut self, mut module: usize, mut path: &[String]) {
        while let Some((first, rest)) = path.split_first() {
            module = match first.as_str() {
                "crate" => 0,
                "self" => module,
                "super" => self.names.tree.modules[module].parent.unwrap(),
                _ => break,
            };
            path = rest;
        }
        self.within(module, path);
    }

    /// Follows a path from a module on; says whether the module knows its first name.
    fn within(&mut self, module: usize, path: &[String]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            self.passed.insert(module);
            self.ends.push(module);
            return true;
        };
        if !self.seen.insert((module, path.to_vec())) {
            return false;
        }
        let scope = &self.names.scopes[module];
        let bindings = scope.names.get(first).map_or(&[][..], Vec::as_slice);
        for binding in bindings {
            match binding {
                Binding::Defined => {}
                Binding::Part(part) => {
                    self.passed.insert(*part);
                    self.within(*part, rest);
                }
                // `use markdown::markdown;` is not about itself.
                Binding::Import(import) if self.followed.insert((module, import)) => {
                    self.start(module, &[import, rest].concat());
                    self.followed.remove(&(module, import));
                }
                Binding::Import(_) => {}
            }
        }
        let known = !bindings.is_empty() || scope.globs.iter().any(|glob| self.within(*glob, path));
        if known {
            self.passed.insert(module);
        }
        known
    }
}

/// One name of a `use`.
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    pub(crate) name: ImportName,
    pub(crate) line: usize,
}

pub(crate) enum ImportName {
    One(String),
    All,
    /// `as _`
    Unnamed,
}

/// What a `use` brings in from this crate or by a name that is known here.
pub(crate) fn imports(item: &ItemUse) -> Vec<Import> {
    let mut found = Vec::new();
    if item.leading_colon.is_none() {
        flatten(&item.tree, &[], &mut found);
    }
    found
}

fn flatten(tree: &UseTree, before: &[String], found: &mut Vec<Import>) {
    let mut add = |ident: &Ident, name: &Ident| {
        let mut path = before.to_vec();
        if ident != "self" || path.is_empty() {
            path.push(text(ident));
        }
        let name = match text(name) {
            name if name == "_" => ImportName::Unnamed,
            name if name == "self" => ImportName::One(path.last().unwrap().clone()),
            name => ImportName::One(name),
        };
        found.push(Import { path, name, line: ident.span().start().line });
    };
    match tree {
        UseTree::Path(it) => flatten(&it.tree, &[before, &[text(&it.ident)]].concat(), found),
        UseTree::Name(it) => add(&it.ident, &it.ident),
        UseTree::Rename(it) => add(&it.ident, &it.rename),
        UseTree::Glob(it) => {
            let line = it.star_token.spans[0].start().line;
            found.push(Import { path: before.to_vec(), name: ImportName::All, line });
        }
        UseTree::Group(it) => it.items.iter().for_each(|part| flatten(part, before, found)),
    }
}

pub(crate) fn text(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// The imports of a module, those inside functions too.
fn imports_in(items: &[Item]) -> Vec<Import> {
    struct All(Vec<Import>);
    impl<'ast> Visit<'ast> for All {
        fn visit_item_use(&mut self, item: &'ast ItemUse) {
            self.0.extend(imports(item));
        }
    }
    let mut all = All(Vec::new());
    items.iter().for_each(|item| visit::visit_item(&mut all, item));
    all.0
}

fn defined(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::TraitAlias(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        _ => return None,
    };
    Some(text(ident))
}
