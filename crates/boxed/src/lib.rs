//! `#[boxed]`: asynchronous functions whose futures are behind a pointer.
//!
//! The compiler makes the machine code of an `async fn` anew in every crate that awaits it, with that of all it awaits
//! itself. Behind a pointer it is made once, where the function is written. So the functions that a crate shows to others
//! are boxed. It takes an allocation a call; together with smaller code for what waits (see the profiles in the workspace's
//! `Cargo.toml`) it took the program from 48.5 to 38.9 MB.

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// Boxes the futures of a function, or of the public functions of an `impl` block. One with parameters of its own (`<T>`,
/// `impl Trait`) is left as it is: its code is made where the parameters are known anyway.
#[proc_macro_attribute]
pub fn boxed(_: TokenStream, item: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    let is_block = tokens.iter().take_while(|token| !is_braced(token)).any(|token| is_word(token, "impl"))
        && !tokens.iter().take_while(|token| !is_braced(token)).any(|token| is_word(token, "fn"));
    if !is_block {
        return functions(&tokens, false);
    }
    let block = |token: TokenTree| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let mut boxed = Group::new(Delimiter::Brace, functions(&inner, true));
            boxed.set_span(group.span());
            TokenTree::Group(boxed)
        }
        other => other,
    };
    tokens.into_iter().map(block).collect()
}

/// The items with their functions boxed; only those that other crates see, if so.
fn functions(tokens: &[TokenTree], only_public: bool) -> TokenStream {
    let mut out: Vec<TokenTree> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let is_async = is_word(token, "async") && tokens.get(at + 1).is_some_and(|next| is_word(next, "fn"));
        let is_public = out.last().is_some_and(|before| is_word(before, "pub"));
        let function = (is_async && (is_public || !only_public)).then(|| Function::read(&tokens[at + 1..])).flatten();
        match function {
            Some(function) => {
                at += 1 + function.length;
                out.extend(function.boxed());
            }
            None => {
                out.push(token.clone());
                at += 1;
            }
        }
    }
    out.into_iter().collect()
}

/// A function from its `fn` to the end of its body.
struct Function {
    name: TokenTree,
    arguments: Group,
    answer: Vec<TokenTree>,
    body: Group,
    /// How many tokens it is made of.
    length: usize,
}

impl Function {
    fn read(tokens: &[TokenTree]) -> Option<Self> {
        let name = tokens.get(1)?.clone();
        let TokenTree::Group(arguments) = tokens.get(2)? else { return None };
        if arguments.delimiter() != Delimiter::Parenthesis
            || arguments.stream().into_iter().any(|token| is_word(&token, "impl"))
        {
            return None;
        }
        let body = 3 + tokens[3..].iter().position(is_braced)?;
        let TokenTree::Group(braced) = tokens.get(body)? else { return None };
        let between = &tokens[3..body];
        if between.iter().any(|token| is_word(token, "where")) {
            return None;
        }
        // What follows the arrow.
        let answer = between.get(2..).unwrap_or_default().to_vec();
        Some(Self { name, arguments: arguments.clone(), answer, body: braced.clone(), length: body + 1 })
    }

    fn boxed(self) -> TokenStream {
        let answer: TokenStream = if self.answer.is_empty() { parsed("()") } else { lived(self.answer.into_iter()) };
        let mut arguments = Group::new(Delimiter::Parenthesis, lived(self.arguments.stream().into_iter()));
        arguments.set_span(self.arguments.span());
        let mut out = parsed("fn");
        out.extend([self.name]);
        out.extend(parsed("<'boxed>"));
        out.extend([TokenTree::Group(arguments)]);
        out.extend(parsed("-> ::core::pin::Pin<::std::boxed::Box<dyn ::core::future::Future<Output ="));
        out.extend(answer);
        out.extend(parsed("> + ::core::marker::Send + 'boxed>>"));
        let mut inner = parsed("async move");
        inner.extend([TokenTree::Group(self.body)]);
        let mut call = parsed("::std::boxed::Box::pin");
        call.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, inner))]);
        out.extend([TokenTree::Group(Group::new(Delimiter::Brace, call))]);
        out
    }
}

/// Types in which every reference that has no lifetime gets the one of the future.
fn lived(tokens: impl Iterator<Item = TokenTree>) -> TokenStream {
    let lifetime = || [TokenTree::Punct(Punct::new('\'', Spacing::Joint)), word("boxed")];
    let mut out: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(ref mark) if mark.as_char() == '&' => {
                out.push(token);
                let is_named = matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '\'');
                if !is_named {
                    out.extend(lifetime());
                }
            }
            TokenTree::Punct(ref mark)
                if mark.as_char() == '\'' && tokens.peek().is_some_and(|next| is_word(next, "_")) =>
            {
                tokens.next();
                out.extend(lifetime());
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), lived(group.stream().into_iter()));
                inner.set_span(group.span());
                out.push(TokenTree::Group(inner));
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}

fn parsed(code: &str) -> TokenStream {
    // Written here, a few lines above.
    code.parse().unwrap_or_default()
}

fn word(text: &str) -> TokenTree {
    TokenTree::Ident(Ident::new(text, Span::call_site()))
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}

fn is_braced(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}
