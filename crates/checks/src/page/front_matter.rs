use std::collections::HashSet;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{Field, FrontMatter, Page, Problem};
use crate::Check;
use copydesk_values::Characters;

/// Nobody nests front matter deeper.
const DEEPEST: usize = 64;

/// Reads the front matter into the page; gives the position at which the rest begins.
pub(super) fn read(text: &str, page: &mut Page) -> usize {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let Some(fence) = ["---", "+++"].into_iter().find(|fence| line_at(text, start).trim_end() == *fence) else {
        return start;
    };
    let body_start = after_line(text, start);
    let Some((body_end, end)) = closing_fence(text, body_start, fence) else {
        if fence == "---" && looks_like_field(line_at(text, body_start)) {
            report(page, "the front matter is not closed with `---`", start..start + fence.len());
        }
        return start;
    };
    let body = body_start..body_end;
    let found = match fence {
        "---" => yaml(text, body.clone(), page),
        _ => toml(text, body.clone(), page),
    };
    let Some(fields) = found else { return start };
    page.front_matter = Some(FrontMatter { range: start..end, body, fields });
    end
}

/// Whether the front matter says that a generator fills the page in.
pub(super) fn generates(page: &Page) -> bool {
    let fields = page.front_matter.iter().flat_map(|front_matter| &front_matter.fields);
    fields.into_iter().any(|field| matches!(field.name.as_str(), "openapi" | "api" | "asyncapi" | "openapi-schema"))
}

/// How the front matter says that the page is written: `md` or `mdx`.
pub(super) fn format(page: &Page) -> Option<&str> {
    let fields = page.front_matter.iter().flat_map(|front_matter| &front_matter.fields);
    fields.into_iter().find(|field| field.name == "format").and_then(|field| field.value.as_deref())
}

fn line_at(text: &str, at: usize) -> &str {
    text.get(at..).and_then(|rest| rest.split('\n').next()).unwrap_or_default()
}

fn after_line(text: &str, at: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |length| at + length + 1)
}

fn closing_fence(text: &str, from: usize, fence: &str) -> Option<(usize, usize)> {
    let mut at = from;
    while at < text.len() {
        let end = after_line(text, at);
        if text[at..end].trim_end() == fence {
            return Some((at, end));
        }
        at = end;
    }
    None
}

fn looks_like_field(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    is_name && line.len() > name.len() && line.as_bytes().get(name.len() + 1).is_none_or(|b| *b == b' ' || *b == b'\r')
}

fn report(page: &mut Page, message: &str, range: Range<usize>) {
    page.problems.push(Problem { check: Check::FrontMatter, message: message.to_owned(), range });
}

/// The fields of YAML front matter; none if this is not front matter but text between two rules.
fn yaml(text: &str, body: Range<usize>, page: &mut Page) -> Option<Vec<Field>> {
    let source = &text[body.clone()];
    let characters = Characters::of(source);
    let mut reader = YamlReader { fields: Vec::new(), levels: Vec::new(), is_mapping: true, faults: Vec::new() };
    for event in Parser::new_from_str(source) {
        match event {
            Ok((event, span)) => {
                let mut range = characters.range(&span);
                if let Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) = event {
                    range.start = indicator(source, range.start);
                }
                if !reader.take(event, range) {
                    break;
                }
            }
            // Most readers take a bracket that closes at the beginning of a line.
            Err(error) if source[characters.byte(error.marker().index())..].starts_with([']', '}']) => break,
            Err(error) => {
                let at = characters.byte(error.marker().index());
                reader.faults.push((format!("the front matter is not valid YAML: {}", error.info()), at..at));
                break;
            }
        }
    }
    if !reader.is_mapping {
        return None;
    }
    let is_template = source.contains("{{") || source.contains("{%");
    for (message, range) in reader.faults.into_iter().filter(|_| !is_template) {
        report(page, &message, body.start + range.start..body.start + range.end);
    }
    let mut fields = reader.fields;
    for field in &mut fields {
        let written = &source[field.range.clone()];
        let kept = written.trim_end().len();
        field.range = body.start + field.range.start..body.start + field.range.start + kept;
    }
    Some(fields)
}

/// Where the `|` or `>` of a block scalar stands whose text starts at `start`.
fn indicator(source: &str, start: usize) -> usize {
    let before = source[..start].trim_end();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    before[line..].find(['|', '>']).map_or(start, |at| line + at)
}

struct YamlReader {
    fields: Vec<Field>,
    levels: Vec<Level>,
    is_mapping: bool,
    faults: Vec<(String, Range<usize>)>,
}

/// A mapping or sequence that is open.
struct Level {
    /// The keys so far; none for a sequence.
    keys: Option<HashSet<String>>,
    /// The key whose value comes next; none if a key comes next.
    key: Option<String>,
    start: usize,
}

impl YamlReader {
    /// Takes one event in; says whether to go on.
    fn take(&mut self, event: Event<'_>, range: Range<usize>) -> bool {
        match event {
            Event::Scalar(value, ..) => self.value(Some(value.into_owned()), range),
            Event::Alias(_) => self.value(None, range),
            Event::MappingStart(..) => self.open(Some(HashSet::new()), range.start),
            Event::SequenceStart(..) => self.open(None, range.start),
            Event::MappingEnd | Event::SequenceEnd => {
                if let Some(level) = self.levels.pop() {
                    self.value(None, level.start..range.end.max(level.start));
                }
            }
            _ => {}
        }
        if self.levels.len() > DEEPEST {
            self.faults.push(("the front matter is nested too deeply".to_owned(), 0..0));
            return false;
        }
        self.is_mapping
    }

    fn open(&mut self, keys: Option<HashSet<String>>, start: usize) {
        if self.levels.is_empty() && keys.is_none() {
            self.is_mapping = false;
        }
        self.levels.push(Level { keys, key: None, start });
    }

    /// A scalar, or a mapping or sequence that has just ended: a key or the value of one.
    fn value(&mut self, scalar: Option<String>, range: Range<usize>) {
        let is_top = self.levels.len() == 1;
        let Some(level) = self.levels.last_mut() else {
            self.is_mapping &= scalar.is_none_or(|scalar| scalar.is_empty() || scalar == "~");
            return;
        };
        let Some(keys) = &mut level.keys else { return };
        match level.key.take() {
            None => {
                let name = scalar.unwrap_or_default();
                if name != "<<" && !keys.insert(name.clone()) {
                    self.faults.push((format!("the front matter has the field `{}` twice", shortened(&name)), range));
                }
                level.key = Some(name);
            }
            Some(name) if is_top => self.fields.push(Field { name, value: scalar, range }),
            Some(_) => {}
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

fn toml(text: &str, body: Range<usize>, page: &mut Page) -> Option<Vec<Field>> {
    let source = &text[body.clone()];
    let table = match toml::de::DeTable::parse(source) {
        Ok(table) => table,
        Err(error) => {
            let at = body.start + error.span().map_or(0, |span| floor(source, span.start));
            report(page, &format!("the front matter is not valid TOML: {}", first_line(error.message())), at..at);
            return Some(Vec::new());
        }
    };
    let mut fields: Vec<Field> = table
        .get_ref()
        .iter()
        .map(|(name, value)| {
            let span = value.span();
            let (start, end) = (floor(source, span.start), floor(source, span.end));
            Field {
                name: name.get_ref().to_string(),
                value: value.get_ref().as_str().map(str::to_owned),
                range: body.start + start..body.start + end.max(start),
            }
        })
        .collect();
    fields.sort_by_key(|field| field.range.start);
    Some(fields)
}

fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// What the front matter of a page says, as values; none if there is none.
pub(super) fn values(text: &str) -> Option<copydesk_values::Value> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let fence = ["---", "+++"].into_iter().find(|fence| line_at(text, start).trim_end() == *fence)?;
    let body_start = after_line(text, start);
    let (body_end, _) = closing_fence(text, body_start, fence)?;
    let body = &text[body_start..body_end];
    match fence {
        "---" => copydesk_values::yaml(&body.replace("\n]", "\n ]").replace("\n}", "\n }")).ok().flatten(),
        _ => copydesk_values::toml(body).ok(),
    }
}
