//! A crate as a tree of modules, without its tests.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, ImplItem, Item, ItemMod};

/// All modules of a crate; the first is its root.
pub(crate) struct Crate {
    pub(crate) modules: Vec<Module>,
}

pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    pub(crate) file: PathBuf,
    /// Everything in it but other modules and tests.
    pub(crate) items: Vec<Item>,
}

impl Crate {
    /// Reads the crate whose root is this file.
    pub(crate) fn read(root: &Path) -> Self {
        let mut tree = Self { modules: Vec::new() };
        tree.add_file("crate", None, root, root.parent().unwrap());
        tree
    }

    /// The module and all that it is inside of, the root first.
    pub(crate) fn line(&self, module: usize) -> Vec<usize> {
        let mut line: Vec<usize> = std::iter::successors(Some(module), |at| self.modules[*at].parent).collect();
        line.reverse();
        line
    }

    fn add_file(&mut self, name: &str, parent: Option<usize>, file: &Path, folder: &Path) {
        let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add(name, parent, file, folder, parsed.items);
    }

    /// Adds a module with these items; the files of its parts are in `folder`.
    fn add(&mut self, name: &str, parent: Option<usize>, file: &Path, folder: &Path, items: Vec<Item>) {
        let id = self.modules.len();
        self.modules.push(Module { name: name.to_owned(), parent, file: file.to_owned(), items: Vec::new() });
        for item in items {
            match item {
                item if is_test(attributes(&item)) => {}
                Item::Mod(part) => self.add_part(id, file, folder, part),
                item => self.modules[id].items.push(item),
            }
        }
    }

    fn add_part(&mut self, parent: usize, file: &Path, folder: &Path, part: ItemMod) {
        let name = part.ident.to_string();
        if name == "tests" {
            return;
        }
        let misplaced = part.attrs.iter().any(|attribute| attribute.path().is_ident("path"));
        assert!(!misplaced, "{}: this check does not know #[path]", file.display());
        let inner = folder.join(&name);
        match part.content {
            Some((_, items)) => self.add(&name, Some(parent), file, &inner, items),
            None => {
                let files = [folder.join(format!("{name}.rs")), inner.join("mod.rs")];
                let found = files.iter().find(|file| file.exists());
                let found = found.unwrap_or_else(|| panic!("{}: there is no file for {name}", file.display()));
                self.add_file(&name, Some(parent), found, &inner);
            }
        }
    }
}

/// Whether something is compiled for tests only.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => needs_test(list.tokens.clone()),
        _ => false,
    })
}

fn needs_test(condition: TokenStream) -> bool {
    let mut otherwise = false;
    condition.into_iter().any(|token| match token {
        TokenTree::Ident(word) => {
            otherwise = word == "not" || word == "any";
            word == "test"
        }
        TokenTree::Group(group) => !otherwise && needs_test(group.stream()),
        _ => false,
    })
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

pub(crate) fn attributes_of_part(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(it) => &it.attrs,
        ImplItem::Fn(it) => &it.attrs,
        ImplItem::Type(it) => &it.attrs,
        _ => &[],
    }
}
