//! Where the modules of a crate name each other.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemUse, LitStr, Visibility};

use crate::names::{Names, imports, text};
use crate::source::{Crate, attributes, attributes_of_part, is_test};

/// One module uses another.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) line: usize,
    /// What is written there.
    pub(crate) path: String,
}

pub(crate) fn arrows(tree: &Crate) -> BTreeSet<Arrow> {
    let names = Names::new(tree);
    let mut all = BTreeSet::new();
    for (module, it) in tree.modules.iter().enumerate() {
        let mut visitor = Visitor { names: &names, module, in_attribute: false, found: &mut all };
        it.items.iter().for_each(|item| visitor.visit_item(item));
    }
    all
}

struct Visitor<'a> {
    names: &'a Names<'a>,
    module: usize,
    in_attribute: bool,
    found: &'a mut BTreeSet<Arrow>,
}

impl Visitor<'_> {
    fn add(&mut self, path: &[String], line: usize) {
        for to in self.names.modules_of(self.module, path) {
            self.found.insert(Arrow { from: self.module, to, line, path: path.join("::") });
        }
    }

    /// Adds what is not in a `use`.
    fn add_used(&mut self, path: &[String], line: usize) {
        if !self.names.is_imported(self.module, path) {
            self.add(path, line);
        }
    }

    fn add_path(&mut self, path: &syn::Path, line: usize) {
        if path.leading_colon.is_none() {
            let path: Vec<_> = path.segments.iter().map(|segment| text(&segment.ident)).collect();
            self.add_used(&path, line);
        }
    }

    /// Paths among tokens that only a macro understands.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Literal(literal) if self.in_attribute => self.add_literal(literal),
                TokenTree::Ident(first) if !follows_something(&tokens[..at]) => {
                    let mut path = vec![text(first)];
                    while let [a, b, TokenTree::Ident(next), ..] = &tokens[at + 1..]
                        && is_colon(a)
                        && is_colon(b)
                    {
                        path.push(text(next));
                        at += 3;
                    }
                    self.add_used(&path, first.span().start().line);
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// `#[serde(with = "super::stamp")]`
    fn add_literal(&mut self, literal: &Literal) {
        let path = syn::parse_str::<LitStr>(&literal.to_string()).and_then(|it| it.parse::<syn::Path>());
        if let Ok(path) = path {
            self.add_path(&path, literal.span().start().line);
        }
    }
}

/// Whether what comes next is a field, a method, or part of a path outside this crate.
fn follows_something(before: &[TokenTree]) -> bool {
    let is = |token: &TokenTree, char| matches!(token, TokenTree::Punct(it) if it.as_char() == char);
    match before {
        [.., a, b] if is(b, '.') => !is(a, '.'),
        [.., a, b] => is_colon(a) && is_colon(b),
        [a] => is(a, '.'),
        [] => false,
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(it) if it.as_char() == ':')
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_test(attributes_of_part(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for import in imports(item) {
            self.add(&import.path, import.line);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(first) = path.segments.first() {
            self.add_path(path, first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        self.in_attribute = true;
        visit::visit_attribute(self, attribute);
        self.in_attribute = false;
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        self.scan(tokens.clone());
    }

    /// Names only modules that this one is inside of.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
