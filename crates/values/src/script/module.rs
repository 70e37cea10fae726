//! One script: what its names stand for and what it exports.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use oxc_ast::ast::{
    AssignmentTarget, BindingPattern, Declaration, ExportDefaultDeclarationKind, Expression, Function,
    ImportDeclarationSpecifier, Program, Statement, VariableDeclaration,
};

use super::{MOST_FILES, Run, range_of};
use crate::{Key, Map, Value, What, json};

/// What a name stands for in a script.
#[derive(Clone)]
pub(super) enum Named<'a> {
    Expression(&'a Expression<'a>),
    Function(&'a Function<'a>),
    /// A part of a value that is taken apart: `const { a: [b] } = …`.
    Part(&'a Expression<'a>, Vec<String>),
    /// A name that another file exports; none for all of them together.
    Import(&'a str, Option<&'a str>),
}

pub(super) struct Module<'r, 'a> {
    pub(super) run: &'r Run<'r>,
    pub(super) path: Arc<str>,
    pub(super) text: &'a str,
    pub(super) names: HashMap<&'a str, Named<'a>>,
    exports: HashMap<&'a str, Named<'a>>,
    /// Files of which all names are exported.
    stars: Vec<&'a str>,
    /// Text of statements that may change what names stand for.
    effects: Vec<&'a str>,
    pub(super) known: RefCell<HashMap<&'a str, Value>>,
    pub(super) under_way: RefCell<HashSet<&'a str>>,
}

impl<'r, 'a> Module<'r, 'a> {
    pub(super) fn of(run: &'r Run<'r>, path: &str, text: &'a str, program: &'a Program<'a>) -> Self {
        let mut module = Self {
            run,
            path: Arc::from(path),
            text,
            names: HashMap::new(),
            exports: HashMap::new(),
            stars: Vec::new(),
            effects: Vec::new(),
            known: RefCell::default(),
            under_way: RefCell::default(),
        };
        for statement in &program.body {
            module.statement(statement);
        }
        module
    }

    fn statement(&mut self, statement: &'a Statement<'a>) {
        match statement {
            Statement::VariableDeclaration(declaration) => declared(declaration, &mut self.names),
            Statement::FunctionDeclaration(function) => self.function(function),
            Statement::ImportDeclaration(import) => {
                let source = import.source.value.as_str();
                for specifier in import.specifiers.iter().flatten() {
                    let (local, name) = match specifier {
                        ImportDeclarationSpecifier::ImportSpecifier(it) => {
                            (&it.local, Some(it.imported.name().as_str()))
                        }
                        ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => (&it.local, Some("default")),
                        ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => (&it.local, None),
                    };
                    self.names.insert(local.name.as_str(), Named::Import(source, name));
                }
            }
            Statement::ExportDefaultDeclaration(export) => {
                let named = match &export.declaration {
                    ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                        self.function(function);
                        Some(Named::Function(function))
                    }
                    other => other.as_expression().map(Named::Expression),
                };
                self.exports.extend(named.map(|named| ("default", named)));
            }
            Statement::ExportDeclaration(export) => match &export.declaration {
                Declaration::VariableDeclaration(declaration) => {
                    let mut names = HashMap::new();
                    declared(declaration, &mut names);
                    self.exports.extend(names.iter().map(|(name, named)| (*name, named.clone())));
                    self.names.extend(names);
                }
                Declaration::FunctionDeclaration(function) => {
                    self.function(function);
                    self.exports.extend(function.id.as_ref().map(|id| (id.name.as_str(), Named::Function(function))));
                }
                _ => {}
            },
            Statement::ExportNamedDeclaration(export) => {
                for specifier in &export.specifiers {
                    let local = specifier.local.name().as_str();
                    if let Some(named) = self.names.get(local).cloned() {
                        self.exports.insert(specifier.exported.name().as_str(), named);
                    }
                }
            }
            Statement::ExportFromDeclaration(export) => {
                for specifier in &export.specifiers {
                    let import = Named::Import(export.source.value.as_str(), Some(specifier.local.name().as_str()));
                    self.exports.insert(specifier.exported.name().as_str(), import);
                }
            }
            Statement::ExportAllDeclaration(export) => match &export.exported {
                Some(name) => {
                    self.exports.insert(name.name().as_str(), Named::Import(export.source.value.as_str(), None));
                }
                None => self.stars.push(export.source.value.as_str()),
            },
            Statement::TSExportAssignment(export) => {
                self.exports.insert("default", Named::Expression(&export.expression));
            }
            Statement::ExpressionStatement(statement) => self.expression(&statement.expression),
            Statement::EmptyStatement(_)
            | Statement::TSTypeAliasDeclaration(_)
            | Statement::TSInterfaceDeclaration(_) => {}
            other => self.effects.push(&self.text[range_of(other)]),
        }
    }

    fn function(&mut self, function: &'a Function<'a>) {
        self.names.extend(function.id.as_ref().map(|id| (id.name.as_str(), Named::Function(function))));
    }

    /// `module.exports = …` and `exports.name = …` export; anything else may have effects.
    fn expression(&mut self, expression: &'a Expression<'a>) {
        if let Expression::AssignmentExpression(assignment) = expression
            && let AssignmentTarget::StaticMemberExpression(target) = &assignment.left
            && let Some(name) = exported_name(&target.object, target.property.name.as_str())
        {
            self.exports.insert(name, Named::Expression(&assignment.right));
            return;
        }
        self.effects.push(&self.text[range_of(expression)]);
    }

    /// Whether a statement of the script may change what a name stands for.
    pub(super) fn is_changed(&self, name: &str) -> bool {
        self.effects.iter().any(|effect| mentions(effect, name))
    }

    /// What the script exports by a name.
    pub(super) fn exported(&self, name: &str) -> Value {
        match self.export(name) {
            Some(named) => self.named(&named, &mut Vec::new()),
            None => self.among_stars(name),
        }
    }

    pub(super) fn export(&self, name: &str) -> Option<Named<'a>> {
        self.exports.get(name).cloned()
    }

    fn among_stars(&self, name: &str) -> Value {
        if name != "default" {
            for source in &self.stars {
                let value = self.import(source, Some(name));
                if value.why_open().is_none_or(|why| !why.starts_with(NO_EXPORT)) {
                    return value;
                }
            }
        }
        Value::unknown(format!("{NO_EXPORT} `{name}`"), 0..0)
    }

    /// All that the script exports, as a map.
    pub(super) fn all(&self) -> Value {
        let mut names: Vec<&str> = self.exports.keys().copied().collect();
        names.sort_unstable();
        let entry = |name: &str| (Key { name: name.to_owned(), other: None, range: 0..0 }, self.exported(name));
        let entries = names.into_iter().map(entry).collect();
        let open = (!self.stars.is_empty()).then(|| "it exports names of other files".to_owned());
        Value::new(What::Map(Map { entries, open }), 0..self.text.len())
    }

    /// What another file exports by a name, or all of it.
    pub(super) fn import(&self, source: &str, name: Option<&str>) -> Value {
        let Some((path, text)) = self.find(source) else {
            return Value::unknown(format!("it comes from `{source}`"), 0..0);
        };
        let key = (path.clone(), name.unwrap_or("*").to_owned());
        if let Some(known) = self.run.known.borrow().get(&key) {
            return known.clone();
        }
        if !self.run.under_way.borrow_mut().insert(key.clone()) {
            return Value::unknown(format!("`{path}` takes itself in"), 0..0);
        }
        let mut value = self.read_import(&path, &text, name);
        value.file.get_or_insert_with(|| Arc::from(path.as_str()));
        self.run.under_way.borrow_mut().remove(&key);
        self.run.known.borrow_mut().insert(key, value.clone());
        value
    }

    fn read_import(&self, path: &str, text: &str, name: Option<&str>) -> Value {
        if path.ends_with(".json") {
            return match (json(text), name) {
                (Ok(value), None | Some("default")) => value,
                (Ok(value), Some(name)) => {
                    value.get(name).cloned().unwrap_or_else(|| Value::unknown(format!("{NO_EXPORT} `{name}`"), 0..0))
                }
                (Err(fault), _) => Value::unknown(format!("`{path}` is not valid JSON: {}", fault.message), 0..0),
            };
        }
        let read = |module: &Module<'_, '_>| match name {
            Some(name) => module.exported(name),
            // What CommonJS exports is the module.
            None if module.exports.contains_key("default") && module.exports.len() == 1 => module.exported("default"),
            None => module.all(),
        };
        let parsed = self.run.with_module(path, text, read);
        parsed.unwrap_or_else(|fault| Value::unknown(format!("`{path}` cannot be read: {}", fault.message), 0..0))
    }

    /// The file of the tree that a source names, and its text.
    pub(super) fn find(&self, source: &str) -> Option<(String, String)> {
        if !source.starts_with('.') || self.run.files.get() >= MOST_FILES {
            return None;
        }
        let path = joined(&self.path, source)?;
        let bare = path.strip_suffix(".js").or_else(|| path.strip_suffix(".mjs")).unwrap_or(&path);
        let endings = ["ts", "mts", "js", "mjs", "cjs", "cts", "tsx", "jsx", "json"];
        let beside = endings.iter().map(|ending| format!("{path}.{ending}"));
        let typed = ["ts", "mts", "tsx"].iter().map(|ending| format!("{bare}.{ending}"));
        let inside = endings.iter().map(|ending| format!("{path}/index.{ending}"));
        let mut candidates = std::iter::once(path.clone()).chain(beside).chain(typed).chain(inside);
        let found = candidates.find_map(|path| Some((path.clone(), self.run.modules.read(&path)?)))?;
        self.run.files.set(self.run.files.get() + 1);
        Some(found)
    }
}

/// How the reason begins why a name has no value that another file should have exported.
const NO_EXPORT: &str = "nothing exports";

/// `exports` of `module`, or `name` of `exports`.
fn exported_name<'a>(object: &Expression<'_>, property: &'a str) -> Option<&'a str> {
    match object {
        Expression::Identifier(name) if name.name == "module" && property == "exports" => Some("default"),
        Expression::Identifier(name) if name.name == "exports" => Some(property),
        Expression::StaticMemberExpression(inner) => {
            let is_exports = inner.property.name == "exports"
                && matches!(&inner.object, Expression::Identifier(name) if name.name == "module");
            is_exports.then_some(property)
        }
        _ => None,
    }
}

/// Notes the names that a declaration declares.
pub(super) fn declared<'a>(declaration: &'a VariableDeclaration<'a>, names: &mut HashMap<&'a str, Named<'a>>) {
    for declarator in &declaration.declarations {
        let Some(init) = &declarator.init else { continue };
        match &declarator.id {
            BindingPattern::BindingIdentifier(id) => {
                names.insert(id.name.as_str(), Named::Expression(init));
            }
            pattern => parts(pattern, init, &mut Vec::new(), names),
        }
    }
}

fn parts<'a>(
    pattern: &'a BindingPattern<'a>,
    init: &'a Expression<'a>,
    path: &mut Vec<String>,
    names: &mut HashMap<&'a str, Named<'a>>,
) {
    match pattern {
        BindingPattern::BindingIdentifier(id) => {
            names.insert(id.name.as_str(), Named::Part(init, path.clone()));
        }
        BindingPattern::ObjectPattern(object) => {
            for property in &object.properties {
                let Some(name) = property.key.static_name() else { continue };
                path.push(name.into_owned());
                parts(&property.value, init, path, names);
                path.pop();
            }
        }
        BindingPattern::ArrayPattern(list) => {
            for (number, element) in list.elements.iter().enumerate() {
                let Some(element) = element else { continue };
                path.push(number.to_string());
                parts(element, init, path, names);
                path.pop();
            }
        }
        // A default is taken where there is nothing else; what there is counts.
        BindingPattern::AssignmentPattern(assignment) => parts(&assignment.left, init, path, names),
    }
}

/// The path that a relative source means in a file.
pub(super) fn joined(file: &str, source: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in source.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a piece of script has a name in it, as a word.
pub(super) fn mentions(script: &str, name: &str) -> bool {
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$') || *b >= 0x80;
    let bytes = script.as_bytes();
    memchr::memmem::find_iter(bytes, name).any(|at| {
        !at.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(is_part)
            && !bytes.get(at + name.len()).is_some_and(is_part)
    })
}
