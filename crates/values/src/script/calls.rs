//! Calls of functions: those of the script are followed, those of packages are known by their names or not at all.

use std::collections::HashMap;
use std::ops::Range;

use oxc_ast::ast::{
    Argument, ArrowFunctionBody, BindingPattern, CallExpression, Expression, FormalParameters, Function, NewExpression,
    Statement,
};

use super::evaluate::{Frames, opened, truthiness};
use super::module::{Module, Named, declared, joined, mentions};
use super::range_of;
use crate::{Unknown, Value, What};

impl<'a> Module<'_, 'a> {
    pub(super) fn call(&self, call: &'a CallExpression<'a>, range: Range<usize>, frames: &mut Frames<'a>) -> Value {
        match &call.callee {
            Expression::Identifier(callee) => {
                let name = callee.name.as_str();
                if name == "require" {
                    return self.require(call, range, frames);
                }
                match self.names.get(name).cloned() {
                    Some(Named::Function(function)) => {
                        let arguments = self.arguments(call, frames);
                        self.call_function(function, arguments, frames)
                    }
                    Some(Named::Expression(expression)) => self.call_expression(expression, call, range, frames),
                    Some(Named::Import(source, Some(imported))) if source.starts_with('.') => {
                        let arguments = self.arguments(call, frames);
                        self.call_import(source, imported, arguments, range)
                    }
                    Some(Named::Import(package, _)) => {
                        let mut value = self.call_unknown(name, call, range, frames);
                        value.through = Some(package.into());
                        if let What::Unknown(unknown) = &mut value.what {
                            unknown.perhaps.extend(self.lists(call, frames));
                        }
                        value
                    }
                    _ => self.call_unknown(name, call, range, frames),
                }
            }
            Expression::StaticMemberExpression(callee) => {
                let name = callee.property.name.as_str();
                match (&callee.object, name) {
                    (Expression::Identifier(object), "join" | "resolve") if object.name == "path" => {
                        self.path(call, range, frames)
                    }
                    (Expression::Identifier(object), "resolve") if object.name == "require" => {
                        self.arguments(call, frames).into_iter().next().unwrap_or_else(|| self.not_constant(range))
                    }
                    (Expression::Identifier(object), "assign") if object.name == "Object" => {
                        let maps = self.arguments(call, frames);
                        self.assigned(maps, range)
                    }
                    (object, "concat") => {
                        let mut lists = vec![self.value(object, frames)];
                        lists.extend(self.arguments(call, frames));
                        self.concatenated(lists, range)
                    }
                    // What is left of a list, or put into another order, has no other items.
                    (object, "filter" | "reverse" | "sort" | "toSorted" | "flat") => {
                        let list = self.value(object, frames);
                        let why = format!("`{}` is not constant", self.shown(&range));
                        match list.what {
                            What::List(_) => opened(list, &why),
                            _ => self.not_constant(range),
                        }
                    }
                    _ => self.call_unknown(name, call, range, frames),
                }
            }
            callee @ (Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_)) => {
                self.call_expression(callee, call, range, frames)
            }
            _ => self.not_constant(range),
        }
    }

    fn arguments(&self, call: &'a CallExpression<'a>, frames: &mut Frames<'a>) -> Vec<Value> {
        let value = |argument: &'a Argument<'a>| match argument.as_expression() {
            Some(expression) => self.value(expression, frames),
            None => self.not_constant(range_of(argument)),
        };
        call.arguments.iter().map(value).collect()
    }

    /// A call of something that the script itself says.
    fn call_expression(
        &self,
        callee: &'a Expression<'a>,
        call: &'a CallExpression<'a>,
        range: Range<usize>,
        frames: &mut Frames<'a>,
    ) -> Value {
        let arguments = self.arguments(call, frames);
        let written = self.shown(&range_of(&call.callee));
        self.apply(callee, arguments, frames).unwrap_or_else(|| self.call_unknown(&written, call, range, frames))
    }

    /// The result of a function that is written here; none if the expression is no function.
    pub(super) fn apply(
        &self,
        callee: &'a Expression<'a>,
        arguments: Vec<Value>,
        frames: &mut Frames<'a>,
    ) -> Option<Value> {
        match callee {
            Expression::ArrowFunctionExpression(arrow) => Some(match &arrow.body {
                ArrowFunctionBody::FunctionBody(body) => {
                    self.call_body(&arrow.params, &body.statements, arguments, frames)
                }
                body => {
                    frames.push(bound(&arrow.params, arguments));
                    let value = body.as_expression().map(|body| self.value(body, frames));
                    frames.pop();
                    value?
                }
            }),
            Expression::FunctionExpression(function) => Some(self.call_function(function, arguments, frames)),
            Expression::ParenthesizedExpression(inner) => self.apply(&inner.expression, arguments, frames),
            Expression::TSAsExpression(inner) => self.apply(&inner.expression, arguments, frames),
            Expression::TSSatisfiesExpression(inner) => self.apply(&inner.expression, arguments, frames),
            _ => None,
        }
    }

    pub(super) fn call_function(
        &self,
        function: &'a Function<'a>,
        arguments: Vec<Value>,
        frames: &mut Frames<'a>,
    ) -> Value {
        match &function.body {
            Some(body) if !function.generator => self.call_body(&function.params, &body.statements, arguments, frames),
            _ => self.not_constant(range_of(function)),
        }
    }

    fn call_import(&self, source: &str, name: &str, arguments: Vec<Value>, range: Range<usize>) -> Value {
        let Some((path, text)) = self.find(source) else { return self.not_constant(range) };
        let key = (path.clone(), format!("{name}()"));
        if !self.run.under_way.borrow_mut().insert(key.clone()) {
            return Value::unknown(format!("`{name}` calls itself"), range);
        }
        let work = |module: &Module<'_, '_>| match module.export(name) {
            Some(Named::Function(function)) => Some(module.call_function(function, arguments, &mut Vec::new())),
            Some(Named::Expression(expression)) => module.apply(expression, arguments, &mut Vec::new()),
            _ => None,
        };
        let value = self.run.with_module(&path, &text, work);
        self.run.under_way.borrow_mut().remove(&key);
        let mut value = value.ok().flatten().unwrap_or_else(|| self.not_constant(range));
        value.file.get_or_insert_with(|| path.as_str().into());
        value
    }

    /// A function that nobody here can see. Those that define or wrap a configuration give it back.
    fn call_unknown(
        &self,
        name: &str,
        call: &'a CallExpression<'a>,
        range: Range<usize>,
        frames: &mut Frames<'a>,
    ) -> Value {
        let mut maps = Vec::new();
        for argument in &call.arguments {
            let Some(expression) = argument.as_expression() else { continue };
            let value = match self.apply(expression, Vec::new(), frames) {
                Some(result) if name.starts_with("define") => result,
                Some(_) => continue,
                None => self.value(expression, frames),
            };
            if let What::Map(_) = value.what {
                maps.push(value);
            }
        }
        match maps.len() {
            0 => self.not_constant(range),
            1 if name.starts_with("define") => maps.remove(0),
            _ => opened(self.assigned(maps, range), &format!("`{name}()` may change it")),
        }
    }

    /// The lists that a function is given: what they are for only it knows.
    fn lists(&self, call: &'a CallExpression<'a>, frames: &mut Frames<'a>) -> Vec<Value> {
        let given = call.arguments.iter().filter_map(Argument::as_expression);
        let lists = given.filter(|given| matches!(given, Expression::ArrayExpression(_)));
        lists.map(|list| self.value(list, frames)).collect()
    }

    /// What the statements of a function return.
    fn call_body(
        &self,
        parameters: &'a FormalParameters<'a>,
        statements: &'a [Statement<'a>],
        arguments: Vec<Value>,
        frames: &mut Frames<'a>,
    ) -> Value {
        frames.push(bound(parameters, arguments));
        let value = self.returned(statements, frames);
        frames.pop();
        value
    }

    fn returned(&self, statements: &'a [Statement<'a>], frames: &mut Frames<'a>) -> Value {
        for statement in statements {
            let range = range_of(statement);
            match statement {
                Statement::ReturnStatement(it) => {
                    return match &it.argument {
                        Some(argument) => self.value(argument, frames),
                        None => self.not_constant(range),
                    };
                }
                Statement::VariableDeclaration(declaration) => {
                    let mut names = HashMap::new();
                    declared(declaration, &mut names);
                    for (name, named) in names {
                        let value = self.named(&named, frames);
                        if let Some(frame) = frames.last_mut() {
                            frame.insert(name, value);
                        }
                    }
                }
                Statement::IfStatement(it) => {
                    let test = self.value(&it.test, frames);
                    let text = &self.text[range.clone()];
                    match truthiness(&test) {
                        Some(false) if it.alternate.is_none() => {}
                        _ if mentions(text, "return") => return self.not_constant(range),
                        _ => self.blur(text, frames),
                    }
                }
                Statement::FunctionDeclaration(_) | Statement::EmptyStatement(_) => {}
                _ => {
                    let text = &self.text[range.clone()];
                    if mentions(text, "return") && !matches!(statement, Statement::ExpressionStatement(_)) {
                        return self.not_constant(range);
                    }
                    self.blur(text, frames);
                }
            }
        }
        Value::unknown("the function returns nothing", 0..0)
    }

    /// A statement may change whatever it names.
    fn blur(&self, statement: &str, frames: &mut Frames<'a>) {
        let Some(frame) = frames.last_mut() else { return };
        for (name, value) in frame.iter_mut().filter(|(name, _)| mentions(statement, name)) {
            *value = opened(value.clone(), &format!("`{name}` is changed after it is set"));
        }
    }

    fn require(&self, call: &'a CallExpression<'a>, range: Range<usize>, frames: &mut Frames<'a>) -> Value {
        match self.arguments(call, frames).first().and_then(Value::text) {
            Some(source) => self.import(source, None),
            None => self.not_constant(range),
        }
    }

    /// `path.join(__dirname, 'x')`: a path from the folder of the script is given as `./x`.
    fn path(&self, call: &'a CallExpression<'a>, range: Range<usize>, frames: &mut Frames<'a>) -> Value {
        let mut parts = Vec::new();
        for argument in &call.arguments {
            let is_folder = match argument.as_expression() {
                Some(Expression::Identifier(name)) => name.name == "__dirname",
                Some(Expression::StaticMemberExpression(it)) => {
                    it.property.name == "dirname" && matches!(it.object, Expression::ImportMeta(_))
                }
                _ => false,
            };
            let value = argument.as_expression().filter(|_| !is_folder).map(|it| self.value(it, frames));
            match value.as_ref().map(Value::text) {
                None => parts.push(".".to_owned()),
                Some(Some(text)) => parts.push(text.to_owned()),
                Some(None) => return self.not_constant(range),
            }
        }
        Value::text_of(parts.join("/"), range)
    }

    /// `new URL('./x', import.meta.url)` is a path beside the script.
    pub(super) fn new_url(&self, new: &'a NewExpression<'a>, range: Range<usize>, frames: &mut Frames<'a>) -> Value {
        let is_url = matches!(&new.callee, Expression::Identifier(name) if name.name == "URL");
        let first = new.arguments.first().and_then(Argument::as_expression).map(|it| self.value(it, frames));
        match first.as_ref().and_then(Value::text) {
            Some(text) if is_url && joined(&self.path, text).is_some() => Value::text_of(text, range),
            _ => self.not_constant(range),
        }
    }

    fn assigned(&self, maps: Vec<Value>, range: Range<usize>) -> Value {
        let mut whole = crate::Map::default();
        for value in maps {
            let why = value.why_open().map(str::to_owned);
            if let What::Map(map) = value.what {
                whole.entries.extend(map.entries);
            }
            whole.open = whole.open.or(why);
        }
        Value::new(What::Map(whole), range)
    }

    fn concatenated(&self, lists: Vec<Value>, range: Range<usize>) -> Value {
        let mut whole = crate::List::default();
        for value in lists {
            let why = value.why_open().map(str::to_owned);
            match value.what {
                What::List(list) => whole.items.extend(list.items),
                What::Unknown(Unknown { .. }) => {}
                _ => whole.items.push(value),
            }
            whole.open = whole.open.or(why);
        }
        Value::new(What::List(whole), range)
    }
}

/// The parameters of a function with what it is called with; what is missing is not known.
fn bound<'a>(parameters: &'a FormalParameters<'a>, arguments: Vec<Value>) -> HashMap<&'a str, Value> {
    let mut arguments = arguments.into_iter();
    let mut frame = HashMap::new();
    for parameter in &parameters.items {
        let argument = arguments.next();
        match &parameter.pattern {
            BindingPattern::BindingIdentifier(id) => {
                let why = || Value::unknown(format!("`{}` is what the function is called with", id.name), 0..0);
                frame.insert(id.name.as_str(), argument.unwrap_or_else(why));
            }
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    let (Some(name), BindingPattern::BindingIdentifier(id)) =
                        (property.key.static_name(), &property.value)
                    else {
                        continue;
                    };
                    let value = argument.as_ref().and_then(|argument| argument.get(&name)).cloned();
                    let why = || Value::unknown(format!("`{}` is what the function is called with", id.name), 0..0);
                    frame.insert(id.name.as_str(), value.unwrap_or_else(why));
                }
            }
            _ => {}
        }
    }
    frame
}
