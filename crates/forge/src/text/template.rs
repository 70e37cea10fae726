use std::io;

use crate::{Kind, Tree};

use super::markdown::heading;

/// The largest template that is taken.
const LARGEST: u64 = 64 * 1024;
/// The most bytes of bold words that are a heading, and of a line that is the name of something.
const LONGEST_HEADING: usize = 80;
const LONGEST_LABEL: usize = 40;

/// Where a repository may keep its template for pull requests, the first that is there counts. Upper and lower case do
/// not matter.
pub fn template_paths() -> &'static [&'static str] {
    &[
        ".github/pull_request_template.md",
        "pull_request_template.md",
        "docs/pull_request_template.md",
        ".gitlab/merge_request_templates/default.md",
        ".gitea/pull_request_template.md",
        ".forgejo/pull_request_template.md",
    ]
}

/// The repository's template for pull requests, if it has one that is text.
pub fn find_template(tree: &dyn Tree) -> io::Result<Option<String>> {
    for path in template_paths() {
        let Some(path) = in_any_case(tree, path)? else { continue };
        let size = tree.entry(&path)?.map_or(0, |entry| entry.size);
        if size > LARGEST {
            continue;
        }
        let text = tree.read(&path)?.and_then(|content| String::from_utf8(content).ok());
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Follows `path` through the tree without regard to case.
fn in_any_case(tree: &dyn Tree, path: &str) -> io::Result<Option<String>> {
    let mut found = String::new();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let fits = |(name, kind): &(String, Kind)| {
            name.eq_ignore_ascii_case(part) && if last { kind.is_file() } else { *kind == Kind::Folder }
        };
        let Some((name, _)) = tree.folder(&found)?.into_iter().find(fits) else {
            return Ok(None);
        };
        if !found.is_empty() {
            found.push('/');
        }
        found.push_str(&name);
    }
    Ok(Some(found))
}

/// A template without its comments, which are for those who fill it in, and without front matter.
pub(crate) fn without_comments(template: &str) -> String {
    let template = template.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let mut rest = match template.strip_prefix("---\n").and_then(|body| body.split_once("\n---\n")) {
        Some((_, body)) => body,
        None => template.as_str(),
    };
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        text.push_str(before);
        // A comment that does not end takes the rest with it, as it does on a code host.
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

/// A template as it is filled in: what comes before the description and what comes after it. What nobody filled in is gone:
/// headings with nothing below them, lines that wait for a number or a name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) before: String,
    pub(crate) after: String,
    /// Whether a heading asks for a description. If none does, all of it comes before.
    pub(crate) has_place: bool,
}

/// Fills in a template.
pub(crate) fn filled(template: &str) -> Filled {
    let text = without_comments(template);
    let mut sections = sections(&text);
    // The first of those that ask for it best.
    let ranks = sections.iter().enumerate().filter_map(|(at, section)| Some((rank(section.heading?)?, at)));
    let place = ranks.min().map(|(_, at)| at);
    for (at, section) in sections.iter_mut().enumerate() {
        section.fill(place == Some(at));
    }
    let written = |sections: &[Section<'_>]| {
        let kept: Vec<String> = sections.iter().filter(|section| !section.is_empty()).map(Section::written).collect();
        kept.join("\n\n")
    };
    match place {
        Some(at) => Filled { before: written(&sections[..=at]), after: written(&sections[at + 1..]), has_place: true },
        None => Filled { before: written(&sections), ..Filled::default() },
    }
}

/// A heading and what is below it.
#[derive(Debug)]
struct Section<'a> {
    heading: Option<&'a str>,
    lines: Vec<String>,
    /// Whether it is there even with nothing below its heading.
    stays: bool,
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = vec![Section { heading: None, lines: Vec::new(), stays: false }];
    let mut in_fence = false;
    for line in text.lines() {
        in_fence ^= is_fence(line);
        if !in_fence && asks(line).is_some() {
            sections.push(Section { heading: Some(line), lines: Vec::new(), stays: false });
        } else if let Some(section) = sections.last_mut() {
            section.lines.push(line.trim_end().to_owned());
        }
    }
    sections
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// What a line asks for, if it is a heading: one of Markdown, or a few bold words that are no sentence.
fn asks(line: &str) -> Option<&str> {
    if let Some((_, text)) = heading(line.trim()) {
        return Some(text);
    }
    let bare = line.trim().trim_start_matches(['*', '-', '+', ' ']);
    let marks = line.trim().len() - bare.len();
    let (words, rest) = bare.split_once("**")?;
    let is_bold = line.trim()[..marks].ends_with("**") && !words.trim().is_empty();
    // Words may follow that explain the heading, in brackets; what follows otherwise belongs to a sentence.
    let rest = rest.trim_start_matches([':', ' ', '*', '_']);
    let is_heading = words.len() <= LONGEST_HEADING && !words.trim_end().ends_with('.') && !begins_as_a_promise(words);
    (is_bold && is_heading && (rest.is_empty() || rest.starts_with('('))).then_some(words)
}

/// Whether words are those of somebody who agrees to something: they stay, whatever they look like.
fn begins_as_a_promise(words: &str) -> bool {
    let low = words.trim_start().to_lowercase();
    ["i ", "i'", "by ", "we ", "my "].iter().any(|start| low.starts_with(start))
}

/// How well a heading asks for a description: the less, the better. None if it does not.
fn rank(line: &str) -> Option<usize> {
    const WORDS: [&[&str]; 4] = [
        &["description", "summary", "overview"],
        &["proposed", "changes", "changed", "new behavior", "what does", "what this", "what is this"],
        &["motivation", "purpose", "about", "why"],
        &["what", "change"],
    ];
    let text = asks(line)?.to_lowercase();
    // They are about the kind of the change, not about the change.
    if ["type", "kind", "breaking", "checklist", "log"].iter().any(|word| text.contains(word)) {
        return None;
    }
    WORDS.iter().position(|words| words.iter().any(|word| text.contains(word)))
}

impl Section<'_> {
    /// Takes out what nobody filled in, and fills in what is known.
    fn fill(&mut self, has_description: bool) {
        let asked = self.heading.and_then(asks).unwrap_or_default().to_lowercase();
        let mut kept: Vec<String> = Vec::new();
        let (lines, mut in_fence) = (std::mem::take(&mut self.lines), false);
        for (at, line) in lines.iter().enumerate() {
            if is_fence(line) {
                in_fence = !in_fence;
                // One with nothing in it.
                if !in_fence && kept.last().is_some_and(|before| is_fence(before)) {
                    kept.pop();
                    continue;
                }
            } else if !in_fence && (is_unfilled(line) || is_label(line) && !leads_on(&lines[at + 1..])) {
                continue;
            } else if !in_fence && has_description && line.contains('?') && !is_box(line) {
                // What is asked there is answered by the description.
                continue;
            }
            let is_blank_again = line.is_empty() && kept.last().is_some_and(String::is_empty);
            if in_fence || !is_blank_again {
                kept.push(line.clone());
            }
        }
        self.lines = kept;
        self.stays = has_description;
        let is_about_tests = ["test plan", "testing", "tested", "how to test", "verif"];
        if !has_description && self.is_empty() && is_about_tests.iter().any(|word| asked.contains(word)) {
            self.lines = vec!["See the checks below.".to_owned()];
        }
    }

    fn is_empty(&self) -> bool {
        !self.stays && self.lines.iter().all(|line| line.trim().is_empty())
    }

    fn written(&self) -> String {
        let text = self.lines.join("\n");
        let text = text.trim_matches('\n');
        match self.heading {
            Some(heading) if text.is_empty() => heading.to_owned(),
            Some(heading) => format!("{heading}\n\n{text}"),
            None => text.to_owned(),
        }
    }
}

/// Whether a line is the name of something that was to stand behind it.
fn is_label(line: &str) -> bool {
    line.trim_end().ends_with(':') && line.trim().len() <= LONGEST_LABEL && !begins_as_a_promise(line)
}

/// Whether what follows belongs to a line that ends with a colon: a list, a quotation, a table, code.
fn leads_on(rest: &[String]) -> bool {
    let next = rest.iter().map(|line| line.trim_start()).find(|line| !line.is_empty());
    next.is_some_and(|line| {
        line.starts_with(['-', '*', '+', '(', '>', '|', '`']) || line.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Whether a line waits for something that nobody wrote.
fn is_unfilled(line: &str) -> bool {
    let (whole, text) = (line.trim(), line.trim().trim_start_matches(['-', '*', '+']).trim());
    if text.is_empty() {
        return !whole.is_empty() && !whole.starts_with("---") && !whole.starts_with("***");
    }
    if is_box(line) {
        return false;
    }
    if whole.contains("____") {
        return true;
    }
    let between = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
    // `[Describe it]`; a link has its address behind it, or another pair of brackets.
    if between('[', ']').is_some_and(|inner| !inner.is_empty() && !inner.contains(['[', ']'])) {
        return true;
    }
    if between('<', '>').is_some_and(|inner| inner.contains(' ') && !inner.contains(['<', '/'])) {
        return true;
    }
    // `_Describe it_`: what is asked for, and not what somebody confirms.
    let emphasised = between('_', '_').or_else(|| whole.strip_prefix('*')?.strip_suffix('*'));
    if emphasised.is_some_and(is_instruction) {
        return true;
    }
    let low = text.to_lowercase();
    if ["n/a", "none", "tbd", "todo", "...", "…"].contains(&low.as_str()) {
        return true;
    }
    // `Fixes #`, `Closes: #(issue)`, `Related issue:`.
    const REFERENCES: [&str; 10] =
        ["close", "closes", "closed", "fix", "fixes", "resolves", "resolve", "refs", "issue", "related"];
    const BESIDE: [&str; 6] = ["number", "to", "issues", "pr", "link", "xxx"];
    let mut words = low.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    let begins = words.peek().is_some_and(|word| REFERENCES.contains(word));
    let waits = low.contains('#') || low.ends_with(':');
    begins && waits && (words.all(|word| REFERENCES.contains(&word) || BESIDE.contains(&word)) || low.ends_with('#'))
}

/// Whether a line is a box to tick, which is for whoever reviews.
fn is_box(line: &str) -> bool {
    let text = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
    ["[ ]", "[x]", "[X]"].iter().any(|start| text.starts_with(start))
}

fn is_instruction(text: &str) -> bool {
    const VERBS: [&str; 22] = [
        "add", "briefly", "delete", "describe", "e.g.", "example", "explain", "fill", "for", "give", "how", "if",
        "include", "link", "list", "optional", "please", "provide", "replace", "tell", "what", "write",
    ];
    let low = text.trim_start_matches(['*', '_', '(', ' ']).to_lowercase();
    let first = low.split([' ', ',', ':', ')']).next().unwrap_or_default();
    VERBS.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_filled_in_is_gone() {
        let template = "<!-- Thanks! -->\n## Motivation\n\n<!-- Why? -->\n\n## Related issues\n\n- Fixes #<!-- n -->\n- Suggested label: \n\n\
                        ## Test plan\n\n## Notes\n\n[Anything else]\n\n## Checklist\n\nPlease check that:\n- [ ] It reads well.\n";
        let filled = filled(template);
        assert_eq!(filled.before, "## Motivation");
        let tests = "## Test plan\n\nSee the checks below.";
        assert_eq!(filled.after, format!("{tests}\n\n## Checklist\n\nPlease check that:\n- [ ] It reads well."));
    }

    #[test]
    fn bold_words_are_headings_too() {
        let template = "**What is this feature?**\n\n[Add a description.]\n\n**Why do we need it?**:\n\n**Which issue(s) does this fix?**\n\nFixes #\n\n\
                        **Release note** (optional):\n```release-note\n```\n\nThank you for **your** time.\n";
        let filled = filled(template);
        assert_eq!(filled.before, "**What is this feature?**");
        assert_eq!(filled.after, "**Release note** (optional):\n\nThank you for **your** time.");
    }

    #[test]
    fn the_best_heading_has_the_description() {
        for (template, wanted) in [
            ("## What kind of change?\n\n## What is the new behavior?\n", "## What is the new behavior?"),
            ("## Why\n\n## Description\n", "## Description"),
            ("## Why:\nCloses: \n\n## What's being changed\n", "## What's being changed"),
        ] {
            assert!(filled(template).before.ends_with(wanted), "{:?}", filled(template));
        }
        assert!(!filled("Please be kind.\n\n- [ ] I was kind.\n").has_place);
    }

    #[test]
    fn what_people_agree_to_and_tick_stays() {
        let template = "## Description\n\n## Type of change\n\n- [ ] Fix\n- [ ] I have signed the [CLA]\n- [ ] I agree to the [Code][coc]\n\n\
                        **By submitting this I agree to the license.**\n\n- **I have read the CLA**\n\n_By submitting this I confirm that it is mine._\n\n\
                        By making a contribution, I certify that:\n\n(a) it is mine\n\n```yaml\nkey:\n```\n\n<https://cla.example>\n";
        let filled = filled(template);
        let rest = template.strip_prefix("## Description\n\n").unwrap_or_default().trim_end();
        assert_eq!(filled.after, rest);
    }

    #[test]
    fn what_is_asked_where_the_description_stands_is_answered_by_it() {
        let template = "## Description\n\n- What does it change?\n- [ ] Is it ready?\n\n## Links\n\nPreview: https://x-_____.example\n\n\
                        ## More\n\n\n\n> Note\n\nWhy?\n";
        let filled = filled(template);
        assert_eq!(filled.before, "## Description\n\n- [ ] Is it ready?");
        assert_eq!(filled.after, "## More\n\n> Note\n\nWhy?");
    }

    #[test]
    fn lines_that_say_something_stay() {
        for line in [
            "- [ ] Fixes are tested",
            "Closes the gap between both.",
            "---",
            "See [the guide](https://x.example)",
            "**Bold** words",
            "",
        ] {
            assert!(!is_unfilled(line), "{line}");
        }
        for line in [
            "Fixes #",
            "- Closes #(issue)",
            "Closes: ",
            "Fix #xxx",
            "-",
            "*Describe it.*",
            "N/A",
            "<describe it>",
            "Related issue number:",
        ] {
            assert!(is_unfilled(line), "{line}");
        }
    }
}
