//! Scripts that are configuration: read by a parser of JavaScript and TypeScript, and evaluated as far as they are
//! constant. Nothing is run that could do anything: there are no effects, no loops, and a bound on the steps.

mod calls;
mod evaluate;
mod harmless;
mod module;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType};

use crate::{Fault, Value};
pub use harmless::{Statement, is_expression, is_harmless, statements, texts};
use module::Module;

/// Where scripts take other files from.
pub trait Modules: Sync {
    /// The text of a file, by its path from the root of the tree; none if there is none.
    fn read(&self, path: &str) -> Option<String>;
}

/// Larger scripts are not read: the parser calls itself for what is nested, and each call takes some of the stack.
const LARGEST: usize = 512 * 1024;
/// Brackets may be nested as deep as this.
const DEEPEST_BRACKETS: usize = 200;
/// What the parser has for its calls. Only what is used of it takes memory.
const STACK: usize = 512 * 1024 * 1024;
/// How many expressions are evaluated at most.
const MOST_STEPS: usize = 500_000;
/// How deep evaluating goes.
const DEEPEST: usize = 150;
/// How many files one script takes in at most.
const MOST_FILES: usize = 100;

/// What the script at `path` exports: `export default` or `module.exports`.
pub fn script(modules: &dyn Modules, path: &str) -> Result<Value, Fault> {
    read(modules, path, |module| module.exported("default"))
}

/// All that the script at `path` exports, by its names.
pub fn exports(modules: &dyn Modules, path: &str) -> Result<Value, Fault> {
    read(modules, path, |module| module.all())
}

fn read(modules: &dyn Modules, path: &str, what: fn(&Module<'_, '_>) -> Value) -> Result<Value, Fault> {
    let text = modules.read(path).ok_or_else(|| Fault { message: "the file cannot be read".to_owned(), at: 0 })?;
    on_a_large_stack(move || {
        let run = Run {
            modules,
            steps: Cell::new(0),
            files: Cell::new(0),
            depth: Cell::new(0),
            under_way: RefCell::default(),
            known: RefCell::default(),
        };
        run.with_module(path, &text, what)
    })
}

/// Does something for which a parser may have to call itself often.
fn on_a_large_stack<T: Send>(work: impl FnOnce() -> Result<T, Fault> + Send) -> Result<T, Fault> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("script".to_owned()).stack_size(STACK).spawn_scoped(scope, work);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(value)) => value,
            _ => Err(Fault { message: "there is no memory to read the script".to_owned(), at: 0 }),
        }
    })
}

/// One evaluation, over all the files that it takes in.
struct Run<'m> {
    modules: &'m dyn Modules,
    steps: Cell<usize>,
    files: Cell<usize>,
    depth: Cell<usize>,
    /// The exports that are being evaluated.
    under_way: RefCell<HashSet<(String, String)>>,
    known: RefCell<HashMap<(String, String), Value>>,
}

impl Run<'_> {
    /// Parses a script and does something with it.
    fn with_module<T>(&self, path: &str, text: &str, work: impl FnOnce(&Module<'_, '_>) -> T) -> Result<T, Fault> {
        if text.len() > LARGEST {
            return Err(Fault { message: format!("it is larger than {LARGEST} bytes"), at: 0 });
        }
        if let Some(at) = too_deep(text) {
            return Err(Fault { message: "it is nested too deeply".to_owned(), at });
        }
        let allocator = Allocator::default();
        let kind = SourceType::from_path(path).unwrap_or_default();
        let kind = if kind.is_typescript() { kind } else { SourceType::jsx() };
        let options = ParseOptions { preserve_parens: false, ..ParseOptions::default() };
        let parsed = Parser::new(&allocator, text, kind).with_options(options).parse();
        if parsed.panicked {
            let first = parsed.diagnostics.iter().next();
            let at = first.and_then(|error| error.labels.first().map(|label| label.offset() as usize)).unwrap_or(0);
            let message = first.map_or_else(|| "it cannot be read".to_owned(), |error| error.message.to_string());
            return Err(Fault { message, at: text.floor_char_boundary(at.min(text.len())) });
        }
        Ok(work(&Module::of(self, path, text, &parsed.program)))
    }
}

/// Where brackets are nested too deeply, whatever they stand in.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut angles, mut last) = (0usize, 0usize, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'<' => angles += 1,
            b'>' if last != b'=' => angles = angles.saturating_sub(1),
            _ => {}
        }
        // What is compared has no closing bracket.
        if depth > DEEPEST_BRACKETS || angles > 10 * DEEPEST_BRACKETS {
            return Some(at);
        }
        last = byte;
    }
    None
}

fn range_of(node: &impl GetSpan) -> std::ops::Range<usize> {
    let span = node.span();
    span.start as usize..span.end as usize
}
