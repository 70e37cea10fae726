//! What there is to know about one page, without its text.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::OnceLock;

use crate::finding::finding;
use crate::lines::Lines;
use crate::near::Names;
use crate::page::{self, Dialect, IdRule, Link, LinkKind, Snippets};
use crate::suppress::Suppressions;
use crate::{Check, Finding, invisible, secrets};

/// A page with more anchors that are filled in is not looked through for each of them.
const MOST_MADE: usize = 500;

/// Why an anchor is not judged that a heading has by some rules only.
pub(crate) const UNKNOWN_IDS: &str = "nobody here knows how the site makes ids of headings";

/// What a page says about itself and about others.
pub(crate) struct PageFacts {
    pub(crate) links: Vec<PlacedLink>,
    /// The anchors of its headings, as written.
    pub(crate) headings: Vec<String>,
    /// All its anchors.
    pub(crate) anchors: HashSet<String>,
    /// The anchors that its headings may have instead, where nobody knows how the site makes them.
    others: HashSet<String>,
    /// The anchors of its headings that are others by another rule.
    disputed: HashSet<String>,
    /// How anchors begin and end that are filled in when the site is built.
    made: Vec<(String, String)>,
    /// Why it may have more anchors than are seen, if it may.
    pub(crate) open: Option<&'static str>,
    /// What is wrong with it, whatever the others are.
    pub(crate) own: Vec<Finding>,
    /// Which of the links take in a snippet.
    snippets: Vec<usize>,
    near: OnceLock<Names>,
    /// What its author leaves out.
    pub(crate) suppressions: Suppressions,
    /// What it is called, if it says so.
    pub(crate) title: Option<String>,
}

pub(crate) struct PlacedLink {
    pub(crate) link: Link,
    pub(crate) place: (u32, u32),
    /// Whether it is a definition that no link uses.
    pub(crate) is_unused: bool,
    /// Its line without the targets of links, and which of them it is.
    pub(crate) around: u64,
}

impl PageFacts {
    pub(crate) fn of(path: &str, text: &str, dialect: &Dialect) -> Self {
        let mut page = page::parse_as(path, text, dialect);
        let lines = Lines::of(text);
        let mut own = text_findings(path, text, &lines);
        own.extend(page.problems.iter().map(|problem| {
            let subject = match problem.check {
                // Their message names a line, which may move.
                Check::CodeFences => first_line(&text[problem.range.start..]),
                _ => problem.message.clone(),
            };
            finding(problem.check, path, lines.place(problem.range.start), problem.message.clone(), subject)
        }));
        let suppressions = Suppressions::of(text, &page.code, &lines);
        own.extend(suppressions.problems.iter().map(|(at, message)| {
            finding(Check::Suppressions, path, lines.place(*at), message.clone(), message.clone())
        }));
        let headings: Vec<String> = page.headings.iter().map(|heading| heading.anchor.clone()).collect();
        let shown =
            page.headings.iter().filter(|heading| heading.level > 1 || dialect.title_ids || heading.marker.is_none());
        let anchors = shown.map(|heading| &heading.anchor).chain(&page.anchors).cloned().collect();
        let open = match dialect.ids {
            IdRule::Unknown => Some(UNKNOWN_IDS),
            _ => (page.open || page.made.len() > MOST_MADE).then_some("parts of the page come from elsewhere"),
        };
        let title = title(&page);
        let (others, disputed) = if dialect.any_ids { other_ids(text, &page) } else { Default::default() };
        let links = placed(page.links, &page.unused, &lines);
        // What is taken in between fences is shown as code.
        let is_code = |link: &Link| {
            matches!(dialect.snippets, Snippets::Scissors | Snippets::MdBook)
                && page::is_within(&page.code, link.range.start)
        };
        let is_snippet = |at: &usize| links[*at].link.kind == LinkKind::Snippet && !is_code(&links[*at].link);
        let snippets = (0..links.len()).filter(is_snippet).collect();
        page.made.truncate(MOST_MADE);
        Self {
            links,
            anchors,
            headings,
            others,
            disputed,
            made: page.made,
            open,
            own,
            suppressions,
            title,
            snippets,
            near: OnceLock::new(),
        }
    }

    /// Whether an anchor may be one that is filled in when the site is built.
    pub(crate) fn may_make(&self, fragment: &str) -> bool {
        self.made.iter().any(|(start, end)| fragment.starts_with(start.as_str()) && fragment.ends_with(end.as_str()))
    }

    /// Whether an anchor is that of a heading, or is none, by whatever rule the site makes them.
    pub(crate) fn is_undisputed(&self, anchor: &str) -> bool {
        !self.disputed.contains(anchor)
    }

    /// Whether an anchor may be that of a heading by another rule than the one it is judged by.
    pub(crate) fn may_have(&self, fragment: &str) -> bool {
        self.others.contains(fragment)
    }

    /// Its headings, to find those that are nearly what is wanted.
    pub(crate) fn near(&self) -> &Names {
        let sure = || self.headings.iter().filter(|anchor| self.is_undisputed(anchor));
        self.near.get_or_init(|| Names::of(sure().cloned()))
    }

    /// The links that take in a snippet.
    pub(crate) fn snippets(&self) -> impl Iterator<Item = &Link> {
        self.snippets.iter().map(|at| &self.links[*at].link)
    }
}

/// What a page gets from its snippets.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) anchors: HashSet<String>,
    /// How anchors begin that are filled in.
    pub(crate) starts: Vec<String>,
    /// The pages among them.
    pub(crate) pages: Vec<String>,
    /// Why there may be more.
    pub(crate) why: Option<String>,
}

/// The ids that headings have by other common rules, and the ids of those for which the rules differ.
fn other_ids(text: &str, page: &page::Page) -> (HashSet<String>, HashSet<String>) {
    let (mut others, mut disputed) = (HashSet::new(), HashSet::new());
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (heading, ids) in page::common_ids(text, page) {
        if ids.as_slice() != std::slice::from_ref(&heading.anchor) {
            disputed.insert(heading.anchor.clone());
        }
        for id in ids {
            let count = counts.entry(id.clone()).or_default();
            *count += 1;
            // Which of several headings has which number is another matter of rules.
            if *count > 1 {
                others.extend(["-", "_"].map(|mark| format!("{id}{mark}{}", *count - 1)));
                others.extend(["-", "_"].map(|mark| format!("{id}{mark}{count}")));
            }
            others.insert(id);
        }
    }
    (others, disputed)
}

/// What a page is called: by its front matter, else by its first heading.
fn title(page: &page::Page) -> Option<String> {
    let fields = page.front_matter.as_ref().map(|front| front.fields.as_slice()).unwrap_or_default();
    let named = fields.iter().find(|field| field.name == "title").and_then(|field| field.value.as_deref());
    let heading = || page.headings.iter().min_by_key(|heading| heading.level).map(|heading| heading.text.as_str());
    let title = named.filter(|title| !title.trim().is_empty()).or_else(heading)?;
    Some(title.trim().chars().take(200).collect()).filter(|title: &String| !title.is_empty())
}

/// Links with their places and with what stands around them.
fn placed(links: Vec<Link>, unused: &[usize], lines: &Lines<'_>) -> Vec<PlacedLink> {
    let mut of_line: HashMap<usize, Vec<Range<usize>>> = HashMap::new();
    for link in &links {
        of_line.entry(lines.line_at(link.range.start).0).or_default().push(link.range.clone());
    }
    let mut words: HashMap<usize, u64> = HashMap::new();
    let mut seen: HashMap<usize, usize> = HashMap::new();
    let place = |link: Link| {
        let (start, line) = lines.line_at(link.range.start);
        let targets = of_line.get(&start).map(Vec::as_slice).unwrap_or_default();
        let words = *words.entry(start).or_insert_with(|| hash(&without(line, start, targets)));
        let number = seen.entry(start).or_default();
        *number += 1;
        let is_unused = unused.binary_search(&link.range.start).is_ok();
        PlacedLink { is_unused, place: lines.place(link.range.start), around: hash(&(words, *number)), link }
    };
    links.into_iter().map(place).collect()
}

/// A line that begins at `start` without what stands in some ranges of its file.
fn without(line: &str, start: usize, ranges: &[Range<usize>]) -> Vec<u8> {
    let mut ranges = ranges.to_vec();
    ranges.sort_by_key(|range| range.start);
    let mut left = Vec::new();
    let mut at = 0;
    for range in ranges {
        left.extend_from_slice(line.as_bytes().get(at..range.start - start).unwrap_or_default());
        at = at.max(range.end - start);
    }
    left.extend_from_slice(line.as_bytes().get(at..).unwrap_or_default());
    left
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}

/// What is wrong with any text: secrets and invisible characters.
pub(crate) fn text_findings(path: &str, text: &str, lines: &Lines<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for secret in secrets::scan(text) {
        let message = format!("this looks like a secret: {}", secret.kind);
        findings.push(finding(Check::Secrets, path, lines.place(secret.range.start), message, secret.subject(text)));
    }
    for hidden in invisible::scan(text) {
        let code = format!("U+{:04X}", u32::from(hidden.character));
        let message = format!("there is an invisible character here: {} ({code})", hidden.name());
        findings.push(finding(Check::InvisibleCharacters, path, lines.place(hidden.at), message, code));
    }
    findings
}
