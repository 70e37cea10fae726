//! The value of an expression, as far as it is constant.

use std::collections::HashMap;
use std::ops::Range;

use oxc_ast::ast::{
    ArrayExpression, ArrayExpressionElement, BinaryOperator, ChainElement, Expression, LogicalOperator,
    ObjectExpression, ObjectPropertyKind, PropertyKey, TemplateLiteral, UnaryOperator,
};

use super::module::{Module, Named};
use super::{DEEPEST, MOST_STEPS, range_of};
use crate::{Key, Kind, List, Map, Unknown, Value, What};

/// What the names inside a function that is being called stand for, the innermost last.
pub(super) type Frames<'a> = Vec<HashMap<&'a str, Value>>;

impl<'a> Module<'_, 'a> {
    pub(super) fn named(&self, named: &Named<'a>, frames: &mut Frames<'a>) -> Value {
        match named {
            Named::Expression(expression) => self.value(expression, frames),
            Named::Function(function) => self.call_function(function, Vec::new(), frames),
            Named::Part(expression, path) => {
                let mut value = self.value(expression, frames);
                for name in path {
                    value = member(&value, name, 0..0);
                }
                value
            }
            Named::Import(source, name) => self.import(source, *name),
        }
    }

    /// The value of an expression.
    pub(super) fn value(&self, expression: &'a Expression<'a>, frames: &mut Frames<'a>) -> Value {
        let (steps, depth) = (self.run.steps.get() + 1, self.run.depth.get() + 1);
        if steps > MOST_STEPS || depth > DEEPEST {
            return Value::unknown("there is too much to evaluate", range_of(expression));
        }
        self.run.steps.set(steps);
        self.run.depth.set(depth);
        let value = self.look(expression, frames);
        self.run.depth.set(depth - 1);
        value
    }

    fn look(&self, expression: &'a Expression<'a>, frames: &mut Frames<'a>) -> Value {
        let range = range_of(expression);
        let scalar = |text: &str, kind| Value::new(What::Scalar(text.to_owned(), kind), range.clone());
        match expression {
            Expression::StringLiteral(it) => scalar(&it.value, Kind::Text),
            Expression::NumericLiteral(it) => scalar(&it.value.to_string(), Kind::Number),
            Expression::BooleanLiteral(it) => scalar(&it.value.to_string(), Kind::Bool),
            Expression::NullLiteral(_) => scalar("null", Kind::Null),
            Expression::TemplateLiteral(it) => self.template(it, range, frames),
            Expression::ArrayExpression(it) => self.array(it, range, frames),
            Expression::ObjectExpression(it) => self.object(it, range, frames),
            Expression::Identifier(it) => self.name(it.name.as_str(), range, frames),
            Expression::ParenthesizedExpression(it) => self.value(&it.expression, frames),
            Expression::TSAsExpression(it) => self.value(&it.expression, frames),
            Expression::TSSatisfiesExpression(it) => self.value(&it.expression, frames),
            Expression::TSTypeAssertion(it) => self.value(&it.expression, frames),
            Expression::TSNonNullExpression(it) => self.value(&it.expression, frames),
            Expression::TSInstantiationExpression(it) => self.value(&it.expression, frames),
            Expression::AwaitExpression(it) => self.value(&it.argument, frames),
            Expression::ConditionalExpression(it) => {
                let test = self.value(&it.test, frames);
                match truthiness(&test) {
                    Some(true) => self.value(&it.consequent, frames),
                    Some(false) => self.value(&it.alternate, frames),
                    None => {
                        let both = vec![self.value(&it.consequent, frames), self.value(&it.alternate, frames)];
                        self.one_of(both, range)
                    }
                }
            }
            Expression::LogicalExpression(it) => {
                let left = self.value(&it.left, frames);
                let takes_left = match it.operator {
                    LogicalOperator::Or => truthiness(&left),
                    LogicalOperator::And => truthiness(&left).map(|truth| !truth),
                    LogicalOperator::Coalesce => match &left.what {
                        What::Unknown(_) => None,
                        _ => Some(!left.is_null()),
                    },
                };
                match takes_left {
                    Some(true) => left,
                    Some(false) => self.value(&it.right, frames),
                    None => {
                        let both = vec![left, self.value(&it.right, frames)];
                        self.one_of(both, range)
                    }
                }
            }
            Expression::BinaryExpression(it) if it.operator == BinaryOperator::Addition => {
                let (left, right) = (self.value(&it.left, frames), self.value(&it.right, frames));
                match (left.written(), right.written()) {
                    (Some(a), Some(b)) if left.text().is_some() || right.text().is_some() => {
                        Value::text_of(format!("{a}{b}"), range)
                    }
                    _ => self.not_constant(range),
                }
            }
            Expression::UnaryExpression(it) if it.operator == UnaryOperator::LogicalNot => {
                match truthiness(&self.value(&it.argument, frames)) {
                    Some(truth) => scalar(&(!truth).to_string(), Kind::Bool),
                    None => self.not_constant(range),
                }
            }
            Expression::StaticMemberExpression(it) => {
                let object = self.value(&it.object, frames);
                self.member_of(&object, it.property.name.as_str(), range)
            }
            Expression::ComputedMemberExpression(it) => {
                let object = self.value(&it.object, frames);
                match self.value(&it.expression, frames).written() {
                    Some(name) => self.member_of(&object, name, range),
                    None => self.not_constant(range),
                }
            }
            Expression::ChainExpression(it) => match &it.expression {
                ChainElement::StaticMemberExpression(it) => {
                    let object = self.value(&it.object, frames);
                    self.member_of(&object, it.property.name.as_str(), range)
                }
                _ => self.not_constant(range),
            },
            Expression::CallExpression(it) => self.call(it, range, frames),
            Expression::NewExpression(it) => self.new_url(it, range, frames),
            // What it returns if it is called without anything may be all that matters: `redirects: () => […]`.
            Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => {
                let result = self.apply(expression, Vec::new(), frames);
                let perhaps = result.into_iter().filter(|result| !matches!(result.what, What::Unknown(_))).collect();
                Value::new(What::Unknown(Unknown { why: "it is a function".to_owned(), perhaps }), range)
            }
            _ => self.not_constant(range),
        }
    }

    /// What a name stands for.
    fn name(&self, name: &'a str, range: Range<usize>, frames: &mut Frames<'a>) -> Value {
        if let Some(value) = frames.iter().rev().find_map(|frame| frame.get(name)) {
            return value.clone();
        }
        if name == "undefined" {
            return Value::new(What::Scalar("undefined".to_owned(), Kind::Null), range);
        }
        let Some(named) = self.names.get(name).cloned() else { return self.not_constant(range) };
        if let Some(value) = self.known.borrow().get(name) {
            return value.clone();
        }
        if !self.under_way.borrow_mut().insert(name) {
            return Value::unknown(format!("`{name}` stands for itself"), range);
        }
        // A name of the file does not see the names of the function that it is used in.
        let mut value = self.named(&named, &mut Vec::new());
        if self.is_changed(name) {
            value = opened(value, &format!("`{name}` may be changed after it is set"));
        }
        self.under_way.borrow_mut().remove(name);
        self.known.borrow_mut().insert(name, value.clone());
        value
    }

    fn template(&self, template: &'a TemplateLiteral<'a>, range: Range<usize>, frames: &mut Frames<'a>) -> Value {
        let mut text = String::new();
        for (number, part) in template.quasis.iter().enumerate() {
            let Some(cooked) = &part.value.cooked else { return self.not_constant(range) };
            text.push_str(cooked);
            if let Some(expression) = template.expressions.get(number) {
                match self.value(expression, frames).written() {
                    Some(written) => text.push_str(written),
                    None => return self.not_constant(range),
                }
            }
        }
        Value::text_of(text, range)
    }

    fn array(&self, array: &'a ArrayExpression<'a>, range: Range<usize>, frames: &mut Frames<'a>) -> Value {
        let mut list = List::default();
        for element in &array.elements {
            match element {
                ArrayExpressionElement::SpreadElement(spread) => {
                    let value = self.value(&spread.argument, frames);
                    let why = value.why_open().map(str::to_owned);
                    match value.what {
                        What::List(inner) => list.items.extend(inner.items),
                        // `...(condition && [])`
                        What::Scalar(..) => {}
                        What::Unknown(unknown) => {
                            list.items.extend(unknown.perhaps.into_iter().flat_map(|perhaps| match perhaps.what {
                                What::List(inner) => inner.items,
                                _ => Vec::new(),
                            }));
                        }
                        What::Map(_) => {}
                    }
                    list.open = list.open.or(why);
                }
                ArrayExpressionElement::Elision(_) => {}
                other => list.items.extend(other.as_expression().map(|it| self.value(it, frames))),
            }
        }
        Value::new(What::List(list), range)
    }

    fn object(&self, object: &'a ObjectExpression<'a>, range: Range<usize>, frames: &mut Frames<'a>) -> Value {
        let mut map = Map::default();
        for property in &object.properties {
            match property {
                ObjectPropertyKind::SpreadProperty(spread) => {
                    let value = self.value(&spread.argument, frames);
                    let why = value.why_open().map(str::to_owned);
                    match value.what {
                        What::Map(inner) => map.entries.extend(inner.entries),
                        // Either set may be the one: each of their entries is one that may be there.
                        What::Unknown(unknown) => {
                            for perhaps in unknown.perhaps {
                                let What::Map(inner) = perhaps.what else { continue };
                                let maybe = |(key, value): (Key, Value)| {
                                    let range = value.range.clone();
                                    let unknown = Unknown { why: unknown.why.clone(), perhaps: vec![value] };
                                    (key, Value::new(What::Unknown(unknown), range))
                                };
                                map.entries.extend(inner.entries.into_iter().map(maybe));
                            }
                        }
                        _ => {}
                    }
                    map.open = map.open.or(why);
                }
                ObjectPropertyKind::ObjectProperty(property) => {
                    let key_range = range_of(&property.key);
                    match self.key(&property.key, property.computed, frames) {
                        Some(name) => {
                            let value = self.value(&property.value, frames);
                            map.entries.push((Key { name, other: None, range: key_range }, value));
                        }
                        None => {
                            let written = self.shown(&key_range);
                            map.open.get_or_insert_with(|| format!("the name `{written}` is not constant"));
                        }
                    }
                }
            }
        }
        Value::new(What::Map(map), range)
    }

    fn key(&self, key: &'a PropertyKey<'a>, computed: bool, frames: &mut Frames<'a>) -> Option<String> {
        match key {
            PropertyKey::StaticIdentifier(it) => Some(it.name.to_string()),
            PropertyKey::PrivateIdentifier(_) => None,
            other if computed => self.value(other.as_expression()?, frames).written().map(str::to_owned),
            other => other.static_name().map(std::borrow::Cow::into_owned),
        }
    }

    fn member_of(&self, object: &Value, name: &str, range: Range<usize>) -> Value {
        match &object.what {
            What::Unknown(unknown) if unknown.perhaps.is_empty() => self.not_constant(range),
            _ => member(object, name, range),
        }
    }

    /// One of several values, and nobody can say which.
    fn one_of(&self, values: Vec<Value>, range: Range<usize>) -> Value {
        let perhaps = values.into_iter().flat_map(|value| match value.what {
            What::Unknown(unknown) => unknown.perhaps,
            _ => vec![value],
        });
        let why = format!("`{}` depends on where it runs", self.shown(&range));
        Value::new(What::Unknown(Unknown { why, perhaps: perhaps.collect() }), range)
    }

    pub(super) fn not_constant(&self, range: Range<usize>) -> Value {
        Value::unknown(format!("`{}` is not constant", self.shown(&range)), range)
    }

    /// A piece of the script, short enough for a sentence.
    pub(super) fn shown(&self, range: &Range<usize>) -> String {
        let written = self.text.get(range.clone()).unwrap_or_default();
        let words: Vec<&str> = written.split_whitespace().take(12).collect();
        let line = words.join(" ").replace('`', "'");
        if line.chars().count() <= 60 { line } else { line.chars().take(59).chain(['…']).collect() }
    }
}

/// A value with a part that may be missing from it.
pub(super) fn opened(mut value: Value, why: &str) -> Value {
    match &mut value.what {
        What::List(list) => list.open = list.open.take().or_else(|| Some(why.to_owned())),
        What::Map(map) => map.open = map.open.take().or_else(|| Some(why.to_owned())),
        What::Scalar(..) => {
            let range = value.range.clone();
            let unknown = Unknown { why: why.to_owned(), perhaps: vec![value] };
            return Value::new(What::Unknown(unknown), range);
        }
        What::Unknown(_) => {}
    }
    value
}

fn member(object: &Value, name: &str, range: Range<usize>) -> Value {
    match &object.what {
        What::Map(map) => match (object.get(name), &map.open) {
            (Some(value), _) => value.clone(),
            (None, Some(why)) => Value::unknown(why.clone(), range),
            (None, None) => Value::new(What::Scalar("undefined".to_owned(), Kind::Null), range),
        },
        What::List(list) => match name.parse::<usize>().ok().and_then(|number| list.items.get(number)) {
            Some(value) => value.clone(),
            None => Value::unknown(format!("`{name}` of a list is not constant"), range),
        },
        What::Unknown(unknown) => {
            let perhaps = unknown.perhaps.iter().filter_map(|perhaps| perhaps.get(name)).cloned().collect();
            Value::new(What::Unknown(Unknown { why: unknown.why.clone(), perhaps }), range)
        }
        What::Scalar(..) => Value::unknown(format!("`{name}` of a text or number is not constant"), range),
    }
}

/// Whether a value counts as true; none if that is not known.
pub(super) fn truthiness(value: &Value) -> Option<bool> {
    match &value.what {
        What::Scalar(text, Kind::Text) => Some(!text.is_empty()),
        What::Scalar(text, Kind::Number) => Some(text != "0" && text != "NaN"),
        What::Scalar(text, Kind::Bool) => Some(text == "true"),
        What::Scalar(_, Kind::Null) => Some(false),
        What::List(_) | What::Map(_) => Some(true),
        What::Unknown(_) => None,
    }
}
