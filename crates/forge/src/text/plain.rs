//! Text that is shown as it is: titles, commit messages and what stands in code.

/// Words that make a code host close an issue when a reference follows.
const CLOSING: &[&str] = &["clos", "fix", "resolv", "implement", "reopen"];
/// Signs that, right before a number, make a code host look for an issue, a merge request or the like.
const SIGNS: &[char] = &['#', '!', '$', '&', '%', '~', '^'];
/// The most characters between the brackets of a mark that keeps a change from being tested.
const LONGEST_SKIPPER: usize = 40;

/// Text without what nobody can see: control and format characters, fillers, tags, variation selectors. Lines end with
/// `\n`, and tabs are spaces.
pub(crate) fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n").replace('\t', "    ");
    text.chars().filter(|c| *c == '\n' || !is_invisible(*c)).collect()
}

fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
            | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Clean text in which nothing is a mention, a reference, an address or an order to a code host. A space is put where
/// the host would see one: `@ name`, `# 12`.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let text = without_orders(&without_skippers(&drop_schemes(&clean(text))));
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        plain.push(c);
        let next = rest.peek().copied().unwrap_or(' ');
        let is_mention = c == '@' && (next.is_alphanumeric() || matches!(next, '_' | '-' | '.'));
        if is_mention || (SIGNS.contains(&c) && next.is_ascii_digit()) {
            plain.push(' ');
        }
    }
    break_keys(&plain)
}

/// Text for a code span or block, where mentions do nothing. What closes an issue is broken up even here, because a
/// squash merge makes a plain commit message of all of it.
pub(crate) fn for_code(text: &str) -> String {
    let text = without_orders(&without_skippers(&clean(text)));
    let low = text.to_lowercase();
    if !CLOSING.iter().any(|word| low.contains(word)) {
        return text;
    }
    let mut broken = String::with_capacity(text.len());
    let mut after_sign = false;
    for c in drop_schemes(&text).chars() {
        if after_sign && c.is_ascii_digit() {
            broken.push(' ');
        }
        broken.push(c);
        after_sign = matches!(c, '#' | '!');
    }
    break_keys(&broken)
}

/// `https://host/x` as `host/x`: still readable, no longer a link.
fn drop_schemes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        plain.push_str(rest[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric()));
        rest = rest[at + 3..].trim_start_matches('/');
    }
    plain.push_str(rest);
    plain
}

/// Breaks `GH-12`; and `KEY-12` too where it follows a closing word, since there it may name an issue of a tracker.
fn break_keys(text: &str) -> String {
    let mut broken = String::with_capacity(text.len());
    let mut closing = false;
    for piece in text.split_inclusive(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'))) {
        let end = piece.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'))).unwrap_or(piece.len());
        let (word, separator) = piece.split_at(end);
        let low = word.to_lowercase();
        let key = word.split_once('-').filter(|(key, number)| {
            !key.is_empty() && number.starts_with(|c: char| c.is_ascii_digit()) && (closing || low.starts_with("gh-"))
        });
        match key {
            Some((key, number)) => {
                broken.push_str(key);
                broken.push(' ');
                broken.push_str(number);
            }
            None => broken.push_str(word),
        }
        broken.push_str(separator);
        if !word.is_empty() {
            // `Closes issue KEY-12` works as well.
            let last = low.rsplit(['-', '_']).find(|part| !part.is_empty()).unwrap_or_default();
            closing = CLOSING.iter().any(|start| last.starts_with(start)) || (closing && last.starts_with("issue"));
        }
    }
    broken
}

/// Marks that keep a change from being tested, in whatever spelling: `[skip ci]`, `[CI  SKIP]`, `[no_ci]`, `[netlify skip]`.
fn without_skippers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        let inside = &from[1..];
        let end = inside.char_indices().take(LONGEST_SKIPPER).find(|(_, c)| matches!(c, ']' | '[')).map(|(at, _)| at);
        match end.filter(|at| inside[*at..].starts_with(']') && is_skipper(&inside[..*at])) {
            Some(at) => {
                out.push('(');
                out.push_str(inside[..at].trim());
                out.push(')');
                rest = &inside[at + 1..];
            }
            None => {
                out.push('[');
                rest = inside;
            }
        }
    }
    out.push_str(rest);
    out.replace("***NO_CI***", "NO_CI")
}

fn is_skipper(text: &str) -> bool {
    let low = text.to_lowercase();
    let words: Vec<&str> = low.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |word: &str| words.contains(&word);
    words.len() <= 4 && (has("skip") || has("skipci") || has("noci") || has("no") && (has("ci") || has("build")))
}

/// Words that a release tool or a tracker acts upon in a commit message, which a squash merge makes of all of it:
/// `BREAKING CHANGE:`, `Release-As:`, and Jira's `KEY-1 #close`.
fn without_orders(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split('\n') {
        let mut line = line.replace("BREAKING CHANGE", "Breaking change").replace("BREAKING-CHANGE", "Breaking change");
        while let Some(at) = line.to_ascii_lowercase().find("release-as:") {
            line.replace_range(at..at + "release-as:".len(), "Release as:");
        }
        if has_tracker_key(&line) {
            line = line
                .split_inclusive(' ')
                .map(|word| match word.strip_prefix('#') {
                    Some(order) if order.starts_with(|c: char| c.is_alphabetic()) => format!("# {order}"),
                    _ => word.to_owned(),
                })
                .collect();
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Whether a line names something like `KEY-12`.
fn has_tracker_key(line: &str) -> bool {
    let parts = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    parts.filter_map(|part| part.split_once('-')).any(|(key, number)| {
        key.len() > 1
            && key.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            && number.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// At most `most` characters, cut at a word if one ends near; a cut is shown.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most.saturating_sub(1)).collect();
    let at_word = cut.rfind(char::is_whitespace).filter(|at| *at * 2 > cut.len());
    let cut = at_word.map_or(cut.as_str(), |at| &cut[..at]);
    format!("{}…", cut.trim_end())
}

/// One line: everything that separates words is one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
