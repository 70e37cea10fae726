//! What pieces of script in a page may do: whether an expression is a value and nothing else, and what the imports and
//! exports of a page are.

use std::cell::RefCell;
use std::ops::Range;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument, ArrayExpressionElement, BinaryOperator, Declaration, Expression, JSXAttributeItem, JSXAttributeName,
    JSXAttributeValue, JSXChild, JSXElement, JSXExpression, ObjectPropertyKind, PropertyKey, Statement as Parsed,
    UnaryOperator,
};
use oxc_parser::Parser;
use oxc_span::SourceType;

use super::{LARGEST, on_a_large_stack, range_of, too_deep};
use crate::Fault;

/// Expressions of pages are short; a longer one is not looked into on the stack of the caller.
const SHORT: usize = 4 * 1024;
const SHALLOW: usize = 24;

/// A statement at the top of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub range: Range<usize>,
    /// Where an import takes from; none for any other statement.
    pub from: Option<String>,
    /// The names that the statement gives to what it takes in or makes.
    pub names: Vec<String>,
}

/// The statements of a piece of script.
pub fn statements(text: &str) -> Result<Vec<Statement>, Fault> {
    if text.len() > LARGEST || too_deep(text).is_some() {
        return Err(Fault { message: "it is too large or nested too deeply".to_owned(), at: 0 });
    }
    on_a_large_stack(|| {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, text, SourceType::jsx()).parse();
        if parsed.panicked || parsed.diagnostics.iter().next().is_some() {
            return Err(Fault { message: "it cannot be read".to_owned(), at: 0 });
        }
        Ok(parsed.program.body.iter().map(statement).collect())
    })
}

fn statement(parsed: &Parsed<'_>) -> Statement {
    let range = range_of(parsed);
    match parsed {
        Parsed::ImportDeclaration(import) => {
            let names = import.specifiers.iter().flatten().map(|it| it.local().name.to_string()).collect();
            // What is imported with attributes may be read in another way.
            let from = import.with_clause.is_none().then(|| import.source.value.to_string());
            Statement { range, from, names }
        }
        Parsed::ExportDeclaration(export) => {
            let names = match &export.declaration {
                Declaration::VariableDeclaration(it) => {
                    let names = it.declarations.iter().filter_map(|it| it.id.get_identifier_name());
                    names.map(|name| name.to_string()).collect()
                }
                other => other.id().map(|id| id.name.to_string()).into_iter().collect(),
            };
            Statement { range, from: None, names }
        }
        _ => Statement { range, from: None, names: Vec::new() },
    }
}

/// Whether a text is a whole expression or only a remark, or, with `is_spread`, what an object may hold. This is asked
/// often, by who has a large stack.
pub fn is_expression(text: &str, is_spread: bool) -> bool {
    let (open, close) = if is_spread { ("({", "\n})") } else { ("(", "\n)") };
    if text.len() > LARGEST || too_deep(text).is_some() {
        return false;
    }
    let whole = format!("{open}{text}{close}");
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &whole, SourceType::jsx()).parse();
    !parsed.panicked && parsed.diagnostics.iter().next().is_none() || !is_spread && is_comment(text)
}

/// Whether an expression is only a value: literals, lists and objects of them, tags without anything that runs, and
/// parts of what `is_known` knows by its name. An empty one and a comment are.
pub fn is_harmless(expression: &str, is_known: &(dyn Fn(&str) -> bool + Sync)) -> bool {
    texts(expression, is_known).is_some()
}

/// The texts that a value is made of, in order; none if an expression is more than a value.
pub fn texts(expression: &str, is_known: &(dyn Fn(&str) -> bool + Sync)) -> Option<Vec<String>> {
    let text = format!("({expression}\n)");
    if text.len() > LARGEST || too_deep(&text).is_some() {
        return None;
    }
    let depth = text.bytes().filter(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<' | b'-' | b'+' | b'!')).count();
    if text.len() <= SHORT && depth <= SHALLOW {
        return looked_at(&text, is_known);
    }
    on_a_large_stack(|| Ok(looked_at(&text, is_known))).ok().flatten()
}

/// What is known while an expression is looked at.
struct Known<'k> {
    is_known: &'k dyn Fn(&str) -> bool,
    texts: RefCell<Vec<String>>,
}

impl Known<'_> {
    fn says(&self, text: &str) -> bool {
        self.texts.borrow_mut().push(text.to_owned());
        true
    }
}

fn looked_at(text: &str, is_known: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::jsx()).parse();
    let is_sound = !parsed.panicked && parsed.diagnostics.iter().next().is_none();
    let known = Known { is_known, texts: RefCell::default() };
    let is_fine = match parsed.program.body.as_slice() {
        [Parsed::ExpressionStatement(it)] if is_sound => is_value(&it.expression, &known),
        _ => is_comment(&text[1..text.len() - 1]),
    };
    is_fine.then(|| known.texts.into_inner())
}

/// Whether there is nothing but comments of the form that has an end.
fn is_comment(text: &str) -> bool {
    let mut rest = text.trim();
    while let Some(comment) = rest.strip_prefix("/*") {
        let Some((_, after)) = comment.split_once("*/") else { return false };
        rest = after.trim_start();
    }
    rest.is_empty()
}

fn is_value(expression: &Expression<'_>, known: &Known<'_>) -> bool {
    let value = |it: &Expression<'_>| is_value(it, known);
    match expression {
        Expression::StringLiteral(it) => known.says(&it.value),
        Expression::NumericLiteral(_)
        | Expression::BooleanLiteral(_)
        | Expression::NullLiteral(_)
        | Expression::BigIntLiteral(_)
        | Expression::RegExpLiteral(_) => true,
        Expression::Identifier(it) => {
            matches!(it.name.as_str(), "undefined" | "NaN" | "Infinity") || (known.is_known)(&it.name)
        }
        Expression::ParenthesizedExpression(it) => value(&it.expression),
        Expression::TemplateLiteral(it) => it.quasis.iter().enumerate().all(|(number, part)| {
            known.says(part.value.cooked.as_ref().unwrap_or(&part.value.raw))
                && it.expressions.get(number).is_none_or(value)
        }),
        Expression::UnaryExpression(it) => {
            matches!(it.operator, UnaryOperator::UnaryNegation | UnaryOperator::UnaryPlus | UnaryOperator::LogicalNot)
                && value(&it.argument)
        }
        Expression::BinaryExpression(_) => !is_open(expression) && are_values(expression, known),
        Expression::LogicalExpression(it) => value(&it.left) && value(&it.right),
        Expression::ConditionalExpression(it) => value(&it.test) && value(&it.consequent) && value(&it.alternate),
        Expression::ArrayExpression(it) => it.elements.iter().all(|element| match element {
            ArrayExpressionElement::Elision(_) => true,
            ArrayExpressionElement::SpreadElement(it) => value(&it.argument),
            other => other.as_expression().is_some_and(value),
        }),
        Expression::ObjectExpression(it) => it.properties.iter().all(|property| match property {
            ObjectPropertyKind::ObjectProperty(it) => {
                let is_named = match &it.key {
                    PropertyKey::StaticIdentifier(key) => !is_machinery(&key.name),
                    PropertyKey::StringLiteral(key) => !is_machinery(&key.value),
                    PropertyKey::NumericLiteral(_) => true,
                    _ => false,
                };
                is_named && !it.method && !it.computed && value(&it.value)
            }
            ObjectPropertyKind::SpreadProperty(it) => value(&it.argument),
        }),
        Expression::StaticMemberExpression(it) => !is_machinery(&it.property.name) && value(&it.object),
        Expression::ComputedMemberExpression(it) => {
            let is_named = match &it.expression {
                Expression::NumericLiteral(_) => true,
                Expression::StringLiteral(key) => !is_machinery(&key.value),
                _ => false,
            };
            is_named && value(&it.object)
        }
        Expression::JSXElement(it) => is_plain_element(it, known),
        Expression::JSXFragment(it) => it.children.iter().all(|child| is_plain_child(child, known)),
        Expression::CallExpression(it) if is_of_value(&it.callee) => {
            let Expression::StaticMemberExpression(callee) = &it.callee else { return false };
            value(&callee.object)
                && it.arguments.iter().all(|it| it.as_expression().is_some_and(|it| is_literal(it) && value(it)))
        }
        Expression::CallExpression(it) => {
            let name = if let Expression::Identifier(name) = &it.callee { name.name.as_str() } else { "" };
            matches!(it.arguments.as_slice(), [Argument::StringLiteral(argument)] if is_address_of(name, &argument.value))
        }
        _ => false,
    }
}

/// Whether all that is put together is: the whole of it has been looked at before.
fn are_values(expression: &Expression<'_>, known: &Known<'_>) -> bool {
    match expression {
        Expression::BinaryExpression(it) => {
            !it.operator.is_relational() && are_values(&it.left, known) && are_values(&it.right, known)
        }
        other => is_value(other, known),
    }
}

/// Whether a function only gives a value in another form: one that neither stands here nor in the front matter, since such
/// a form could be any text.
fn is_of_value(callee: &Expression<'_>) -> bool {
    const NAMES: [&str; 7] = ["slice", "join", "at", "trim", "toUpperCase", "toLowerCase", "concat"];
    let Expression::StaticMemberExpression(it) = callee else { return false };
    NAMES.contains(&it.property.name.as_str()) && part_of(&it.object) == Some(false)
}

/// Whether a value is a part of something that has a name, and, if so, of what the page itself says.
fn part_of(expression: &Expression<'_>) -> Option<bool> {
    match expression {
        Expression::Identifier(it) => Some(is_of_page(&it.name)),
        Expression::StaticMemberExpression(it) => part_of(&it.object).map(|is| is || is_of_page(&it.property.name)),
        Expression::ComputedMemberExpression(it) => {
            let named = matches!(&it.expression, Expression::StringLiteral(name) if is_of_page(&name.value));
            part_of(&it.object).map(|is| is || named)
        }
        Expression::ParenthesizedExpression(it) => part_of(&it.expression),
        _ => None,
    }
}

/// Names of what the page itself says.
fn is_of_page(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "frontMatter",
        "frontmatter",
        "metadata",
        "meta",
        "contentTitle",
        "page",
        "$frontmatter",
        "$page",
        "$params",
        "$attrs",
    ];
    NAMES.contains(&name)
}

/// A piece of a text that is put together.
enum Piece<'e> {
    Text(&'e str),
    /// What the page says in its front matter.
    OfPage,
    Other,
}

/// Whether a text is put together from what the page says in such a way that its beginning could be any scheme.
fn is_open(expression: &Expression<'_>) -> bool {
    let mut pieces = Vec::new();
    take_apart(expression, &mut pieces);
    let ends_scheme = |text: &str| text.contains(|c: char| !c.is_ascii_alphanumeric() && !"+-.\t\r\n".contains(c));
    let Some(at) = pieces.iter().position(|piece| matches!(piece, Piece::OfPage)) else { return false };
    let is_begun = pieces[..at].iter().any(|piece| match piece {
        Piece::Text(text) => ends_scheme(text),
        _ => false,
    });
    let first = pieces[at + 1..].iter().find(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    let is_ended = match first {
        None => true,
        Some(Piece::Text(text)) => text.chars().next().is_some_and(|c| c != ':' && ends_scheme(&c.to_string())),
        Some(_) => false,
    };
    let is_first = pieces[..at].iter().all(|piece| matches!(piece, Piece::Text(text) if text.is_empty()));
    !(is_begun || is_ended && is_first)
}

fn take_apart<'e>(expression: &'e Expression<'_>, pieces: &mut Vec<Piece<'e>>) {
    match expression {
        Expression::StringLiteral(it) => pieces.push(Piece::Text(it.value.as_str())),
        Expression::ParenthesizedExpression(it) => take_apart(&it.expression, pieces),
        Expression::BinaryExpression(it) if it.operator == BinaryOperator::Addition => {
            take_apart(&it.left, pieces);
            take_apart(&it.right, pieces);
        }
        Expression::TemplateLiteral(it) => {
            for (number, part) in it.quasis.iter().enumerate() {
                pieces.push(Piece::Text(part.value.cooked.as_ref().unwrap_or(&part.value.raw).as_str()));
                if let Some(inner) = it.expressions.get(number) {
                    take_apart(inner, pieces);
                }
            }
        }
        other if part_of(other) == Some(true) => pieces.push(Piece::OfPage),
        _ => pieces.push(Piece::Other),
    }
}

fn is_literal(expression: &Expression<'_>) -> bool {
    matches!(expression, Expression::StringLiteral(_) | Expression::NumericLiteral(_))
}

/// What leads from any value to the functions of the language.
fn is_machinery(name: &str) -> bool {
    matches!(
        name,
        "constructor" | "prototype" | "__proto__" | "dangerouslySetInnerHTML" | "__html" | "srcDoc" | "innerHTML"
    )
}

/// The two functions that pages call for the addresses of images.
fn is_address_of(function: &str, argument: &str) -> bool {
    const IMAGES: [&str; 12] =
        [".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".mp4", ".webm", ".pdf", ".docx", ".zip"];
    let is_image = IMAGES.iter().any(|ending| argument.to_ascii_lowercase().ends_with(ending));
    match function {
        "useBaseUrl" => true,
        "require" => is_image && !argument.contains(['!', '?', '#']),
        _ => false,
    }
}

fn is_plain_element(element: &JSXElement<'_>, known: &Known<'_>) -> bool {
    let attributes = element.opening_element.attributes.iter().all(|attribute| match attribute {
        JSXAttributeItem::SpreadAttribute(_) => false,
        JSXAttributeItem::Attribute(it) => {
            let name = match &it.name {
                JSXAttributeName::Identifier(name) => name.name.as_str(),
                // What Astro puts into a page as it is.
                JSXAttributeName::NamespacedName(name) if name.namespace.name == "set" => return false,
                JSXAttributeName::NamespacedName(_) => "",
            };
            let is_event = name.len() > 2 && name[..2].eq_ignore_ascii_case("on");
            let is_fine = match &it.value {
                None => true,
                Some(JSXAttributeValue::StringLiteral(it)) => known.says(&it.value),
                Some(JSXAttributeValue::Element(it)) => is_plain_element(it, known),
                Some(JSXAttributeValue::Fragment(_)) => false,
                Some(JSXAttributeValue::ExpressionContainer(it)) => is_plain(&it.expression, known),
            };
            !is_event && !is_machinery(name) && is_fine
        }
    });
    let name = element.opening_element.name.to_string();
    // Components may be called like tags: only two of them stand for what they are called like.
    const ACTED_UPON: [&str; 10] =
        ["script", "iframe", "object", "embed", "base", "link", "meta", "style", "Script", "Iframe"];
    // What a name in small letters leads to may be the name of any tag.
    let is_part = name.contains('.') && name.starts_with(char::is_lowercase);
    let is_safe = !is_part && !ACTED_UPON.contains(&name.as_str());
    is_safe && attributes && element.children.iter().all(|child| is_plain_child(child, known))
}

fn is_plain_child(child: &JSXChild<'_>, known: &Known<'_>) -> bool {
    match child {
        JSXChild::Text(it) => known.says(&it.value),
        JSXChild::Element(it) => is_plain_element(it, known),
        JSXChild::Fragment(it) => it.children.iter().all(|child| is_plain_child(child, known)),
        JSXChild::ExpressionContainer(it) => is_plain(&it.expression, known),
        JSXChild::Spread(_) => false,
    }
}

fn is_plain(expression: &JSXExpression<'_>, known: &Known<'_>) -> bool {
    match expression {
        JSXExpression::EmptyExpression(_) => true,
        other => other.as_expression().is_some_and(|it| is_value(it, known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_harmless() {
        for text in [
            "",
            " /* a remark */ ",
            "'text'",
            "\"it's\"",
            "`plain`",
            "`${props.name} x`",
            "1",
            "-1.5",
            "[1, 'a', {b: true}]",
            "{a: 'b', 'c-d': [null]}",
            "props.x.y",
            "props['x'][0]",
            "<b>bold {props.x}</b>",
            "<><Icon name=\"x\" size={16}/> text</>",
            "useBaseUrl('/img/x.png')",
            "require('./img/x.png').default",
            "'a' + 'b'",
            "/a+/",
            "props.toc.slice(1)",
        ] {
            assert!(is_harmless(text, &|name| name == "props"), "{text}");
        }
    }

    #[test]
    fn whatever_runs_is_not() {
        for text in [
            "await import('node:child_process')",
            "(await import('fs')).readFileSync('/etc/passwd')",
            "process.env.SECRET",
            "props.constructor.constructor('x')()",
            "props['constructor']",
            "props[x]",
            "(() => 1)()",
            "() => 1",
            "function () {}",
            "class { static { x() } }",
            "new Function('x')",
            "eval('1')",
            "`${eval('1')}`",
            "tag`x`",
            "{get a() { return 1 }}",
            "{[x()]: 1}",
            "{__proto__: props}",
            "[...f()]",
            "x = 1",
            "props.x++",
            "delete props.x",
            "<script>alert(1)</script>",
            "<a onClick={props.x}/>",
            "<a {...props}/>",
            "<a dangerouslySetInnerHTML={{__html: 'x'}}/>",
            "require('./x.js')",
            "require('!!val-loader!./x.png')",
            "1, f()",
            "1) + f(",
            "1); f(); (1",
            "'unclosed",
            "import.meta.env",
            "this.x",
            "'a' in props",
            "props.map((x) => x)",
            "props.slice(f())",
            "f().slice(1)",
        ] {
            assert!(!is_harmless(text, &|name| name == "props"), "{text}");
        }
        assert!(!is_harmless(&"(".repeat(100_000), &|_| true));
        assert!(!is_harmless(&format!("{}f()", "-".repeat(100_000)), &|_| true));
    }

    #[test]
    fn imports_are_told_from_the_rest() {
        let text = "import A, {b as c} from './a.mdx'\nimport './x.css'\nexport const y = 1\n";
        let found = statements(text).unwrap();
        assert_eq!(found[0].from.as_deref(), Some("./a.mdx"));
        assert_eq!(found[0].names, ["A", "c"]);
        assert_eq!((found[1].from.as_deref(), found[1].names.len()), (Some("./x.css"), 0));
        assert_eq!((&found[2].from, found[2].names.as_slice()), (&None, ["y".to_owned()].as_slice()));
        assert!(statements("import {").is_err());
    }
}
