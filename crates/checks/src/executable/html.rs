//! What runs in tags: scripts, frames of other sites, attributes that are scripts. Tags are read as browsers read them.

use std::ops::Range;

use copydesk_values::texts;

use super::{Item, is_in, url};
use crate::references;

/// Sites whose frames pages show: films, drawings and editors of code.
const FRAMES: [&str; 22] = [
    "www.youtube.com",
    "youtube.com",
    "www.youtube-nocookie.com",
    "player.vimeo.com",
    "www.loom.com",
    "loom.com",
    "codesandbox.io",
    "stackblitz.com",
    "codepen.io",
    "jsfiddle.net",
    "www.figma.com",
    "embed.figma.com",
    "fast.wistia.net",
    "fast.wistia.com",
    "player.bilibili.com",
    "www.google.com",
    "docs.google.com",
    "calendar.google.com",
    "replit.com",
    "app.arcade.software",
    "demo.arcade.software",
    "open.spotify.com",
];

/// How far a tag is read that stands inside of another.
const LONGEST_INSIDE: usize = 256;

/// Styles that are longer are not looked into.
const LONGEST_STYLES: usize = 8 * 1024;

/// A tag as a browser reads it.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    range: Range<usize>,
}

/// Whether a text that a site may put into its pages as it is runs something there.
pub(crate) fn is_live(text: &str) -> bool {
    if url::runs(text) {
        return true;
    }
    if !text.contains(['<', '&', '"', '\'']) {
        return false;
    }
    let plain = references::decoded(text);
    let mut found = Vec::new();
    find(&plain, 0, &[], false, &mut found);
    // What stands between quotes of a tag may end them and go on with attributes of its own.
    if plain.contains('=') {
        for quote in ['"', '\''].into_iter().filter(|quote| plain.contains(*quote)) {
            find(&format!("<a b={quote}{plain}{quote}>"), 0, &[], false, &mut found);
        }
    }
    !found.is_empty()
}

/// Finds what runs in the tags of a text, outside of code.
pub(super) fn find(text: &str, start: usize, code: &[Range<usize>], is_vue: bool, found: &mut Vec<Item>) {
    let bytes = text.as_bytes();
    let last = [b'"', b'\''].map(|quote| memchr::memrchr(quote, bytes).unwrap_or(0));
    let mut at = start;
    // Attributes are looked for only after the tag before has ended; names of tags are everywhere.
    let mut inside = start;
    while let Some(length) = memchr::memchr(b'<', &bytes[at..]) {
        at += length;
        if let Some(end) = is_in(code, at) {
            at = end;
            continue;
        }
        if bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) {
            // What stands inside of another tag is read only a little further, so that the time stays bounded.
            let is_inside = at < inside;
            if is_inside && !may_run(&bytes[at + 1..]) {
                at += 1;
                continue;
            }
            let end =
                if is_inside { text.floor_char_boundary((at + LONGEST_INSIDE).min(text.len())) } else { text.len() };
            let tag = read(&text[..end], at, last);
            element(&tag, text, found);
            if !is_inside {
                inside = tag.range.end;
                attributes(&tag, text, is_vue, found);
            }
        }
        at += 1;
    }
}

/// Whether the name of a tag may be that of an element that runs by what it is.
fn may_run(rest: &[u8]) -> bool {
    const STARTS: [&[u8]; 9] =
        [b"script", b"iframe", b"object", b"embed", b"applet", b"base", b"meta", b"link", b"style"];
    STARTS.iter().any(|start| rest.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start)))
}

/// Reads the tag at a `<` that a letter follows.
fn read<'a>(text: &'a str, at: usize, last: [usize; 2]) -> Tag<'a> {
    let bytes = text.as_bytes();
    let is_end = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'/' | b'>');
    let name_end = at + 1 + bytes[at + 1..].iter().position(is_end).unwrap_or(bytes.len() - at - 1);
    let mut tag = Tag { name: &text[at + 1..name_end], attributes: Vec::new(), range: at..bytes.len() };
    let mut cursor = name_end;
    loop {
        cursor += bytes[cursor..].iter().take_while(|b| b.is_ascii_whitespace() || **b == b'/').count();
        match bytes.get(cursor) {
            None => return tag,
            Some(b'>') => {
                tag.range.end = cursor + 1;
                return tag;
            }
            Some(_) => {}
        }
        let stops = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'/' | b'>' | b'=');
        let length = bytes[cursor + 1..].iter().position(stops).map_or(bytes.len() - cursor, |length| length + 1);
        let name = text.get(cursor..cursor + length).unwrap_or_default();
        cursor += length;
        let equals = cursor + bytes[cursor..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        if bytes.get(equals) != Some(&b'=') {
            tag.attributes.push((name, ""));
            continue;
        }
        let value = equals + 1 + bytes[equals + 1..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        let quote = bytes.get(value).copied().unwrap_or_default();
        let closes = match quote {
            b'"' => value < last[0],
            b'\'' => value < last[1],
            _ => false,
        };
        let (range, after) = if closes {
            let end = memchr::memchr(quote, &bytes[value + 1..]).map_or(bytes.len(), |length| value + 1 + length);
            (value + 1..end, (end + 1).min(bytes.len()))
        } else {
            let ends = |b: &u8| b.is_ascii_whitespace() || *b == b'>';
            let end = value.min(bytes.len());
            let end = end + bytes[end..].iter().position(ends).unwrap_or(bytes.len() - end);
            (value.min(end)..end, end)
        };
        tag.attributes.push((name, text.get(range).unwrap_or_default()));
        cursor = after;
    }
}

/// Elements that run or take in something by what they are.
fn element(tag: &Tag<'_>, text: &str, found: &mut Vec<Item>) {
    let get = |name: &str| tag.attributes.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|it| it.1);
    let all = &text[tag.range.clone()];
    if let Some(item) = judged(tag.name, &get, tag.range.start, all, text) {
        found.push(item);
    }
}

/// What is to be said of an element with these attributes.
pub(super) fn judged<'a>(
    name: &str,
    get: &dyn Fn(&str) -> Option<&'a str>,
    at: usize,
    all: &str,
    text: &str,
) -> Option<Item> {
    match name.to_ascii_lowercase().as_str() {
        "script" => {
            let rest = &text[at..];
            let end = memchr::memmem::find(rest.as_bytes(), b"</script").unwrap_or(all.len()).max(all.len());
            Some(Item::new(at, "a script", &rest[..end]))
        }
        "style" => {
            let rest = &text[at..text.floor_char_boundary((at + LONGEST_STYLES).min(text.len()))];
            let end = memchr::memmem::find(rest.as_bytes(), b"</style").map(|end| end.max(all.len()).min(rest.len()));
            let styles = &rest[..end.unwrap_or(rest.len().min(all.len()))];
            (end.is_none() || takes_in(styles, get))
                .then(|| Item::new(at, "styles that run or take in something from elsewhere", styles))
        }
        "object" | "embed" | "applet" | "base" | "portal" | "frame" | "fencedframe" => Some(Item::new(
            at,
            format!("the tag `<{}>` takes in something from elsewhere", name.to_ascii_lowercase()),
            all,
        )),
        "iframe" => {
            let source = references::decoded(get("src").unwrap_or_default());
            if get("srcdoc").is_some() || get("srcDoc").is_some() {
                return Some(Item::new(at, "a frame with a page of its own", all));
            }
            if get(":src").or_else(|| get("v-bind:src")).is_some() || url::runs(&source) {
                return Some(Item::new(at, "a frame of another site", all));
            }
            let host = url::host(&source)?;
            (!FRAMES.contains(&host.as_str()))
                .then(|| Item::new(at, "a frame of another site", all).unless("frame", host))
        }
        "meta" => {
            get("http-equiv").or_else(|| get("httpEquiv")).map(|_| Item::new(at, "a tag that directs browsers", all))
        }
        "link" => {
            let rel = get("rel").unwrap_or_default().to_ascii_lowercase();
            let loads = ["stylesheet", "import", "modulepreload", "manifest"].iter().any(|kind| rel.contains(kind));
            loads.then(|| Item::new(at, "a tag that takes in something from elsewhere", all))
        }
        _ => None,
    }
}

/// Whether an address is one of a site whose frames pages show.
pub(super) fn is_frame(address: &str) -> bool {
    url::host(address).is_some_and(|host| FRAMES.contains(&host.as_str()))
}

/// Whether styles take in others, or hold what Vue and its tools run.
fn takes_in<'a>(styles: &str, get: &dyn Fn(&str) -> Option<&'a str>) -> bool {
    let lower = styles.to_ascii_lowercase();
    let is_other = get("lang").is_some_and(|language| !matches!(language, "css" | "scss" | "postcss"));
    let marks = ["@import", "@plugin", "@use", "@require", "@\\", "v-bind", "expression(", "javascript:"];
    get("src").is_some() || is_other || marks.iter().any(|mark| lower.contains(mark))
}

fn attributes(tag: &Tag<'_>, text: &str, is_vue: bool, found: &mut Vec<Item>) {
    let all = &text[tag.range.clone()];
    let at = tag.range.start;
    let is_html = tag.name.starts_with(|c: char| c.is_ascii_lowercase());
    for (name, value) in &tag.attributes {
        if is_event(name, is_html) {
            found.push(Item::new(at, format!("the attribute `{name}` is a script"), all));
        } else if url::runs(value) {
            found.push(Item::new(at, "an address that is a script", all));
        } else if is_vue && is_directive(name, value) {
            found.push(Item::new(at, format!("the attribute `{name}` is a script"), all));
        }
    }
}

/// Attributes that browsers run: `on…` of elements. Components may have others that begin like that.
pub(super) fn is_event(name: &str, is_html: bool) -> bool {
    let is_on = name.len() > 2 && name.as_bytes()[..2].eq_ignore_ascii_case(b"on");
    let rest = name.get(2..).unwrap_or_default();
    is_on
        && !matches!(rest, "e" | "ly" | "ce")
        && rest.starts_with(|c: char| c.is_ascii_alphabetic())
        && (is_html || rest.starts_with(char::is_uppercase) || {
            const EVENTS: [&str; 14] = [
                "click",
                "load",
                "error",
                "mouse",
                "key",
                "focus",
                "blur",
                "pointer",
                "touch",
                "toggle",
                "submit",
                "input",
                "animation",
                "change",
            ];
            EVENTS.iter().any(|event| rest.starts_with(event))
        })
}

/// Attributes of Vue that are expressions, unless they are only values that no element acts upon.
fn is_directive(name: &str, value: &str) -> bool {
    let value = references::decoded(value);
    let is_plain = || texts(&value, &|_| true).is_some_and(|texts| !url::runs_in(&texts));
    if name == "is" || name.contains('[') {
        return true;
    }
    let bound = [":", ".", "^", "v-bind:"].iter().find_map(|mark| name.strip_prefix(mark));
    match name {
        "v-pre" | "v-once" | "v-cloak" | "v-else" => false,
        "v-html" | "v-bind" => true,
        _ if name.starts_with('@') || name.starts_with("v-on") => true,
        _ if bound.is_some_and(is_acted_upon) => true,
        _ if bound.is_some() || name.starts_with("v-") => !value.is_empty() && !is_plain(),
        _ if name.starts_with('#') => {
            !value.is_empty() && !value.chars().all(|c| c.is_alphanumeric() || " {},_".contains(c))
        }
        _ => false,
    }
}

/// Whether a value of an element is more than shown.
fn is_acted_upon(name: &str) -> bool {
    const NAMES: [&str; 5] = ["is", "innerhtml", "outerhtml", "srcdoc", "http-equiv"];
    let name = name.trim_start_matches(['.', '^']).split('.').next().unwrap_or_default();
    is_event(name, true) || NAMES.contains(&name.to_ascii_lowercase().as_str())
}

/// How many braces of a line are looked at.
const MOST_BRACES: usize = 16;

/// Attributes that stand in braces behind what they are for: `{ onclick="…" }`. Many readers of Markdown know them.
pub(super) fn braces(text: &str, start: usize, code: &[Range<usize>], is_vue: bool, found: &mut Vec<Item>) {
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let Some(last) = line.rfind('}') else { continue };
        for (from, _) in line.match_indices('{').take(MOST_BRACES).filter(|(from, _)| *from < last) {
            let inside = line[from + 1..last].trim_start_matches([':', ' ']);
            let kept = &line[from + 1..last];
            let kept = if is_vue { kept.trim_start() } else { inside };
            // Other braces are those of templates.
            let is_template =
                line[..from].ends_with('{') || kept.starts_with(['{', '%', '<', '#']) && !kept.contains('=');
            if is_template || !kept.contains('=') || is_in(code, begin + from).is_some() {
                continue;
            }
            let tag = format!("<a {kept}>");
            let mut inner = Vec::new();
            let last = [b'"', b'\''].map(|quote| memchr::memrchr(quote, tag.as_bytes()).unwrap_or(0));
            attributes(&read(&tag, 0, last), &tag, is_vue, &mut inner);
            if let Some(item) = inner.into_iter().next() {
                found.push(Item::new(begin + from, item.what, &line[from..=last_of(line)]));
                break;
            }
        }
    }
}

fn last_of(line: &str) -> usize {
    line.rfind('}').unwrap_or(line.len() - 1)
}
