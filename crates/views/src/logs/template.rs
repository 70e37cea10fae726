//! A log format as nginx (`log_format`) and Apache (`LogFormat`) write it down.

use memchr::memmem;

use super::line::LogLine;
use super::text;
use super::time;
use crate::Hit;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    source: String,
    /// What stands before the first field.
    start: Vec<u8>,
    fields: Vec<Field>,
}

/// A field and the text behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    what: What,
    until: Vec<u8>,
    /// It stands in quotes, so a quote within is escaped.
    quoted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Request,
    Target,
    Method,
    /// As in the common log format: it has a space in it, but always the same width.
    TimeLocal,
    Time,
    Status,
    UserAgent,
    Accept,
    Address,
    Forwarded,
    Host,
    Purpose,
    Anything,
}

/// Why a format string cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("the format has no fields; write them as nginx ($request) or Apache (%r) does")]
    NoFields,
    /// A field without which a line is no use.
    #[error("the format does not tell {0}")]
    Missing(&'static str),
    /// Two fields cannot be told apart.
    #[error("nothing stands between {0} and the field before it")]
    Adjacent(String),
    #[error("{0} is not a field that is known")]
    Unknown(String),
}

enum Part {
    Text(Vec<u8>),
    Field(What, String),
}

impl Template {
    /// Understands a format string: of nginx if there is a `$` in it, else of Apache.
    pub fn new(source: &str) -> Result<Self, TemplateError> {
        let parts = if source.contains('$') { nginx(source) } else { apache(source)? };
        let mut template = Self { source: source.to_owned(), start: Vec::new(), fields: Vec::new() };
        for part in parts {
            template.push(part)?;
        }
        template.check()?;
        Ok(template)
    }

    /// As it was given.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether lines name the host that was asked.
    pub(super) fn tells_host(&self) -> bool {
        self.fields.iter().any(|field| field.what == What::Host)
    }

    fn push(&mut self, part: Part) -> Result<(), TemplateError> {
        match part {
            Part::Text(text) => match self.fields.last_mut() {
                Some(last) => last.until.extend(text),
                None => self.start.extend(text),
            },
            Part::Field(what, name) => {
                let before = self.fields.last().map_or(&self.start, |last| &last.until);
                let quoted = before.ends_with(b"\"");
                if let Some(last) = self.fields.last()
                    && last.until.is_empty()
                {
                    // `%U%q`, `$uri$is_args$args`: one address in pieces.
                    if last.what == What::Target && what == What::Anything {
                        return Ok(());
                    }
                    return Err(TemplateError::Adjacent(name));
                }
                self.fields.push(Field { what, until: Vec::new(), quoted });
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TemplateError> {
        let has = |wanted: &[What]| self.fields.iter().any(|field| wanted.contains(&field.what));
        if self.fields.is_empty() {
            return Err(TemplateError::NoFields);
        }
        if !has(&[What::Request, What::Target]) {
            return Err(TemplateError::Missing("what was asked for ($request, %r)"));
        }
        if !has(&[What::Time, What::TimeLocal]) {
            return Err(TemplateError::Missing("when ($time_local, %t)"));
        }
        Ok(())
    }

    pub(super) fn parse<'a>(&self, line: &'a [u8]) -> LogLine<'a> {
        self.entry(line).map_or(LogLine::Unparsable, LogLine::Hit)
    }

    fn entry<'a>(&self, line: &'a [u8]) -> Option<Hit<'a>> {
        let mut rest = line.strip_prefix(self.start.as_slice())?;
        let mut entry = Hit::default();
        let mut at = None;
        for field in &self.fields {
            let end = field.end(rest)?;
            let raw = &rest[..end];
            rest = rest[end..].strip_prefix(field.until.as_slice())?;
            match field.what {
                What::TimeLocal => at = Some(time::common(raw)?),
                What::Time => at = at.or(time::written(raw)),
                what => take(&mut entry, what, raw)?,
            }
        }
        entry.at = at?;
        rest.is_empty().then_some(entry)
    }
}

impl Field {
    fn end(&self, rest: &[u8]) -> Option<usize> {
        if self.what == What::TimeLocal {
            return (rest.len() >= time::COMMON).then_some(time::COMMON);
        }
        match self.until.as_slice() {
            [] => Some(rest.len()),
            [b'"', ..] if self.quoted => text::closing_quote(rest),
            [one] => memchr::memchr(*one, rest),
            several => memmem::find(rest, several),
        }
    }
}

/// Puts a field where it belongs; none if the line cannot be of this format.
fn take<'a>(entry: &mut Hit<'a>, what: What, raw: &'a [u8]) -> Option<()> {
    let text = || text::given(raw).map(|raw| text::lossy(text::unescaped(raw)));
    match what {
        What::Request => entry.asked_for(raw),
        What::Target => entry.target = text::target(text::unescaped(raw)),
        What::Method => entry.method = text(),
        What::Status => entry.status = Some(text::status(raw)?),
        What::UserAgent => entry.user_agent = text().unwrap_or_default(),
        What::Accept => entry.accept = text(),
        What::Address => entry.ip = text::address(raw),
        What::Forwarded => entry.ip = entry.ip.or_else(|| text::address(raw)),
        What::Host => entry.host = text(),
        What::Purpose => entry.prefetch |= text::is_prefetch(raw),
        What::TimeLocal | What::Time | What::Anything => {}
    }
    Some(())
}

/// `$name` and `${name}`.
fn nginx(source: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut pieces = source.split('$');
    parts.push(Part::Text(pieces.next().unwrap_or_default().as_bytes().to_vec()));
    for piece in pieces {
        let braced = piece.strip_prefix('{').and_then(|piece| piece.split_once('}'));
        let (name, text) = braced.unwrap_or_else(|| {
            let end = piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len());
            piece.split_at(end)
        });
        parts.push(Part::Field(nginx_field(name), format!("${name}")));
        if !text.is_empty() {
            parts.push(Part::Text(text.as_bytes().to_vec()));
        }
    }
    parts
}

fn nginx_field(name: &str) -> What {
    match name {
        "request" => What::Request,
        "request_uri" | "uri" | "document_uri" => What::Target,
        "request_method" => What::Method,
        "time_local" => What::TimeLocal,
        "time_iso8601" | "msec" => What::Time,
        "status" => What::Status,
        "remote_addr" => What::Address,
        "http_x_forwarded_for" | "proxy_add_x_forwarded_for" | "http_x_real_ip" | "http_cf_connecting_ip" => {
            What::Forwarded
        }
        "host" | "http_host" | "server_name" => What::Host,
        _ => name.strip_prefix("http_").map_or(What::Anything, |header| header_field(&header.replace('_', "-"))),
    }
}

fn header_field(name: &str) -> What {
    match name.to_ascii_lowercase().as_str() {
        "user-agent" => What::UserAgent,
        "accept" => What::Accept,
        "host" => What::Host,
        "sec-purpose" | "purpose" | "x-purpose" | "x-moz" => What::Purpose,
        "x-forwarded-for" | "x-real-ip" | "cf-connecting-ip" => What::Forwarded,
        _ => What::Anything,
    }
}

/// `%h`, `%>s`, `%{User-Agent}i`, `%!200,304{Referer}i`.
fn apache(source: &str) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    let mut text = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            // As it stands in the configuration, where the whole is in quotes.
            '\\' if rest.starts_with(['"', '\\']) => {
                text.push(rest.as_bytes()[0]);
                rest = &rest[1..];
            }
            '\\' if rest.starts_with('t') => {
                text.push(b'\t');
                rest = &rest[1..];
            }
            '%' if rest.starts_with('%') => {
                text.push(b'%');
                rest = &rest[1..];
            }
            '%' => {
                let (field, after) = directive(rest)?;
                let shown = format!("%{}", &rest[..rest.len() - after.len()]);
                rest = after;
                let bracketed = field == What::TimeLocal;
                if bracketed {
                    text.push(b'[');
                }
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(Part::Field(field, shown));
                if bracketed {
                    text.push(b']');
                }
            }
            c => text.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

fn directive(rest: &str) -> Result<(What, &str), TemplateError> {
    let unknown = || TemplateError::Unknown(format!("%{}", rest.chars().take(20).collect::<String>()));
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "!,<>".contains(c));
    let (argument, after) = match after.strip_prefix('{') {
        Some(braced) => braced.split_once('}').map(|(argument, after)| (Some(argument), after)).ok_or_else(unknown)?,
        None => (None, after),
    };
    let letters = if after.starts_with('^') { 3 } else { 1 };
    let (name, after) = after.split_at_checked(letters).ok_or_else(unknown)?;
    let what = match (name, argument) {
        ("r", _) => What::Request,
        ("U", _) => What::Target,
        ("m", _) => What::Method,
        ("t", None) => What::TimeLocal,
        ("t", Some(_)) => What::Time,
        ("s", _) => What::Status,
        ("h" | "a", _) => What::Address,
        ("v" | "V", _) => What::Host,
        ("i", Some(header)) => header_field(header),
        (name, _) if name.chars().all(|c| c.is_ascii_alphabetic() || c == '^') => What::Anything,
        _ => return Err(unknown()),
    };
    Ok((what, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(template: &str, line: &'a str) -> Hit<'a> {
        match Template::new(template).expect("a good format").parse(line.as_bytes()) {
            LogLine::Hit(entry) => entry,
            other => panic!("{template} on {line}: {other:?}"),
        }
    }

    #[test]
    fn formats_of_nginx_are_read() {
        let entry = read(
            r#"$host ${remote_addr} [$time_local] "$request" $status "$http_user_agent" "$http_accept" $http_sec_purpose"#,
            r#"docs.example 192.0.2.7 [10/Oct/2024:13:55:36 +0000] "GET /a\x22b HTTP/1.1" 200 "a \"b\"" "text/markdown" prefetch;prerender"#,
        );
        assert_eq!((entry.target.as_ref(), entry.at, entry.status), ("/a\"b", 1_728_568_536, Some(200)));
        assert_eq!((entry.user_agent.as_ref(), entry.accept.as_deref()), ("a \"b\"", Some("text/markdown")));
        assert_eq!((entry.ip, entry.host.as_deref()), ("192.0.2.7".parse().ok(), Some("docs.example")));
        assert!(entry.prefetch);
    }

    #[test]
    fn formats_of_apache_are_read() {
        let entry = read(
            r#"%v %h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""#,
            r#"docs.example 192.0.2.7 - - [10/Oct/2024:13:55:36 +0000] "HEAD /a HTTP/1.1" 200 12 "-" "x y""#,
        );
        assert_eq!((entry.target.as_ref(), entry.method.as_deref()), ("/a", Some("HEAD")));
        assert_eq!((entry.user_agent.as_ref(), entry.host.as_deref()), ("x y", Some("docs.example")));
        let entry = read("%{msec}t\t%m\t%U%q\t%>s\t%{User-agent}i", "1728568536123\tGET\t/a?b\t304\tx y");
        assert_eq!((entry.target.as_ref(), entry.at, entry.status), ("/a?b", 1_728_568_536, Some(304)));
    }

    #[test]
    fn an_address_that_was_passed_on_is_the_second_choice() {
        let line = "198.51.100.1, 192.0.2.1|192.0.2.7|1728568536|/";
        let entry = read("$http_x_forwarded_for|$remote_addr|$msec|$request_uri", line);
        assert_eq!(entry.ip, "192.0.2.7".parse().ok());
        let entry = read("$http_x_forwarded_for|$msec|$request_uri", "198.51.100.1|1728568536|/");
        assert_eq!(entry.ip, "198.51.100.1".parse().ok());
    }

    #[test]
    fn lines_of_another_form_are_unparsable() {
        let template = Template::new(r#"$msec "$request" $status"#).unwrap();
        for line in ["", "x", r#"1 "GET / HTTP/1.1" 20x"#, r#"1 "GET / HTTP/1.1" 200 x"#, r#"- "GET / HTTP/1.1" 200"#] {
            assert_eq!(template.parse(line.as_bytes()), LogLine::Unparsable, "{line}");
        }
    }

    #[test]
    fn formats_that_tell_too_little_are_refused() {
        assert_eq!(Template::new("hello"), Err(TemplateError::NoFields));
        assert!(matches!(Template::new("$remote_addr $msec"), Err(TemplateError::Missing(_))));
        assert!(matches!(Template::new("$request"), Err(TemplateError::Missing(_))));
        assert!(matches!(Template::new("$msec$request"), Err(TemplateError::Adjacent(_))));
        assert!(matches!(Template::new("%h %{x"), Err(TemplateError::Unknown(_))));
        assert!(matches!(Template::new("%r %"), Err(TemplateError::Unknown(_))));
        assert!(matches!(Template::new("%é"), Err(TemplateError::Unknown(_))));
    }
}
