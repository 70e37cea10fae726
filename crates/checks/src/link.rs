//! Whether a link of a page leads somewhere.

use std::collections::HashSet;
use std::io;

use crate::context::Context;
use crate::facts::{Taken, UNKNOWN_IDS};
use crate::html;
use crate::page::{self, Link, LinkKind};
use crate::resolve::{Verdict, first_of, resolve, snippet};
use crate::site::{Address, Asked, Filled, Reason, Target, target};
use crate::{parts, paths};

/// How deep snippets may take in snippets.
const DEEPEST: usize = 5;

/// Why a link is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkFault {
    /// There is nothing where it leads.
    Nowhere,
    /// The page is there, the place in it is not.
    NoAnchor { page: String, fragment: String },
}

/// Whether something was judged, and if not, why.
pub(crate) type Answer = Result<(), Reason>;

/// What is known of a link.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// Whether it was judged what it leads to; none if it leads to another host or to its own page.
    pub(crate) target: Option<Answer>,
    /// Whether it was judged that the place is there; none if it names none.
    pub(crate) anchor: Option<Answer>,
    pub(crate) fault: Option<LinkFault>,
}

impl Judgement {
    fn not_judged(reason: Reason) -> Self {
        Self { target: Some(Err(reason)), ..Self::default() }
    }
}

/// Judges a link of the page `path`.
pub(crate) fn judge(context: &Context<'_>, path: &str, link: &Link) -> io::Result<Judgement> {
    context.look.files.go_on()?;
    let site = context.sites.of(path);
    let mut wanted = target(&link.target);
    if wanted == Target::Template {
        match site.generator.filled(path, &link.target) {
            Some(Filled::Written(written)) => wanted = target(&written),
            Some(Filled::Ways(ways, fragment)) => {
                let verdict = first_of(context, site, path, ways)?;
                return judged(context, link, verdict, fragment);
            }
            None => {}
        }
    }
    let address = match wanted {
        Target::Local(address) => address,
        Target::Elsewhere => return Ok(Judgement::default()),
        // It leads to its own page, maybe with a query, or is there for the sake of its id: `[](){#id}`.
        Target::Odd if link.target.trim().is_empty() || link.target.starts_with('?') => return Ok(Judgement::default()),
        Target::Template => return Ok(Judgement::not_judged(Reason::new("a template fills it in"))),
        Target::Odd => return Ok(Judgement::not_judged(Reason::new("it is not an address that can be looked up"))),
    };
    if let Some(reason) = site.generator.partial(path) {
        return judge_in_part(context, path, link, address, reason);
    }
    if address.path.is_empty() {
        let own = Verdict::There(vec![path.to_owned()]);
        return Ok(Judgement { target: None, ..judged(context, link, own, address.fragment)? });
    }
    let at = if address.path.starts_with('/') { None } else { context.table(site)?.address_of(path) };
    let verdict = verdict_at(context, path, link, at, &address.path)?;
    judged(context, link, verdict, address.fragment)
}

/// Where a link leads from an address.
fn verdict_at(context: &Context<'_>, path: &str, link: &Link, at: Option<&str>, to: &str) -> io::Result<Verdict> {
    let asked = Asked { page: path, at, kind: link.kind, in_tag: link.in_tag, path: to };
    let is_free = link.in_component && !to.starts_with(['/', '.']);
    match resolve(context, context.sites.of(path), &asked)? {
        Verdict::NotJudged(_) if led_to_what_is_gone(context, &asked)? => Ok(Verdict::Missing),
        Verdict::Missing if is_free && !led_to_what_is_gone(context, &asked)? => {
            Ok(Verdict::NotJudged(Reason::new("a component of the site decides where it leads")))
        }
        verdict => Ok(verdict),
    }
}

/// Judges a link of a part of pages: from where those are that take it in. It is at fault if it is so in all of them.
fn judge_in_part(
    context: &Context<'_>,
    path: &str,
    link: &Link,
    address: Address,
    reason: Reason,
) -> io::Result<Judgement> {
    let site = context.sites.of(path);
    let is_rooted = address.path.starts_with('/') || link.kind == LinkKind::Snippet;
    if is_rooted {
        let verdict = verdict_at(context, path, link, None, &address.path)?;
        let judgement = judged(context, link, verdict, address.fragment)?;
        let asked = Asked { page: path, at: None, kind: link.kind, in_tag: link.in_tag, path: &address.path };
        let is_sure =
            link.kind == LinkKind::Snippet || !site.generator.follows_parts() || led_to_what_is_gone(context, &asked)?;
        if is_sure || judgement.fault.is_none() || !parts::pages_with(context, site, path)?.is_empty() {
            return Ok(judgement);
        }
        return Ok(Judgement::not_judged(Reason::new("no page includes the file that it is in")));
    }
    let pages = if site.generator.follows_parts() { parts::pages_with(context, site, path)? } else { Vec::new() };
    let mut worst = None;
    for page in pages {
        let judgement = if address.path.is_empty() {
            let own = Verdict::There(vec![page]);
            Judgement { target: None, ..judged(context, link, own, address.fragment.clone())? }
        } else {
            let at = context.table(site)?.address_of(&page);
            judged(context, link, verdict_at(context, path, link, at, &address.path)?, address.fragment.clone())?
        };
        if judgement.fault.is_none() {
            return Ok(judgement);
        }
        worst = Some(judgement);
    }
    let unknown = if address.path.is_empty() {
        Judgement { anchor: Some(Err(reason)), ..Judgement::default() }
    } else {
        Judgement::not_judged(reason)
    };
    Ok(worst.unwrap_or(unknown))
}

/// What is known of a link that leads to what the verdict says, and there to a place.
fn judged(context: &Context<'_>, link: &Link, verdict: Verdict, fragment: Option<String>) -> io::Result<Judgement> {
    let mut judgement = Judgement { target: Some(Ok(())), ..Judgement::default() };
    let pages = match verdict {
        Verdict::NotJudged(reason) => return Ok(Judgement::not_judged(reason)),
        Verdict::Elsewhere => return Ok(Judgement::default()),
        Verdict::Missing => {
            judgement.fault = Some(LinkFault::Nowhere);
            return Ok(judgement);
        }
        Verdict::There(files) => files,
    };
    let fragment = fragment.filter(|fragment| link.kind == LinkKind::Page && is_anchor(fragment));
    let page = pages.into_iter().next().filter(|page| page::is_page(page) || html::is_html(page));
    let (Some(fragment), Some(page)) = (fragment, page) else { return Ok(judgement) };
    let wanted = context.sites.of(&page).generator.dialect().ids.fragment(&fragment);
    let found = match has_anchor(context, &page, &wanted)? {
        // An id that is written in the page is taken as it is.
        Anchor::Missing if wanted != fragment && matches!(has_anchor(context, &page, &fragment)?, Anchor::There) => {
            Anchor::There
        }
        Anchor::Missing if link.target.starts_with('#') => label(context, &page, &fragment)?,
        found => found,
    };
    let found = match (found, context.sites.of(&page).generator.untold_anchor(&fragment)) {
        (Anchor::Missing, Some(reason)) => Anchor::NotJudged(reason.0),
        (found, _) => found,
    };
    judgement.anchor = Some(match found {
        Anchor::There => Ok(()),
        Anchor::Missing => {
            judgement.fault = Some(LinkFault::NoAnchor { page, fragment });
            Ok(())
        }
        Anchor::NotJudged(_) if had_anchor(context, &page, &wanted)? => {
            judgement.fault = Some(LinkFault::NoAnchor { page, fragment });
            Ok(())
        }
        Anchor::NotJudged(why) => Err(Reason::new(why)),
    });
    Ok(judgement)
}

/// Whether a link that nobody can judge now led to a page before the change that the change has deleted, or that
/// answers to another address by its own front matter since.
pub(crate) fn led_to_what_is_gone(context: &Context<'_>, asked: &Asked<'_>) -> io::Result<bool> {
    let Some(base) = context.base else { return Ok(false) };
    let site = base.sites.of(asked.page);
    // Another generator gives every page another address: that moves none.
    let has_same_rules = |file: &str| base.sites.of(file).generator.name() == context.sites.of(file).generator.name();
    let Verdict::There(files) = resolve(base, site, asked)? else { return Ok(false) };
    for file in &files {
        if !context.look.exists(file)? {
            continue;
        }
        let (before, now) =
            (base.table(site)?.address_of(file), context.table(context.sites.of(file))?.address_of(file));
        let has_moved =
            before != now && has_same_rules(file) && base.look.files.read(file)? != context.look.files.read(file)?;
        if !has_moved {
            return Ok(false);
        }
    }
    Ok(!files.is_empty())
}

/// Whether a page itself had an anchor before the change, which it has not now.
fn had_anchor(context: &Context<'_>, page: &str, fragment: &str) -> io::Result<bool> {
    let Some(base) = context.base else { return Ok(false) };
    Ok(base.facts(page)?.is_some_and(|facts| facts.anchors.contains(fragment)))
}

/// Whether a name is one that any page of the site gives to a place.
fn label(context: &Context<'_>, page: &str, name: &str) -> io::Result<Anchor> {
    let site = context.sites.of(page);
    if !site.generator.shares_labels() {
        return Ok(Anchor::Missing);
    }
    if context.labels(site)?.contains(&name.to_lowercase()) {
        return Ok(Anchor::There);
    }
    Ok(site.generator.untold_label(name).map_or(Anchor::Missing, |reason| Anchor::NotJudged(reason.0)))
}

enum Anchor {
    There,
    Missing,
    NotJudged(String),
}

/// Whether a page, or a snippet in it, has an anchor.
fn has_anchor(context: &Context<'_>, path: &str, fragment: &str) -> io::Result<Anchor> {
    if html::is_html(path) {
        let taken = context.taken_in(path, || in_html(context, path))?;
        let is_made = taken.starts.iter().any(|start| fragment.starts_with(start.as_str()));
        return Ok(match &taken.why {
            _ if taken.anchors.contains(fragment) => Anchor::There,
            Some(why) => Anchor::NotJudged(why.clone()),
            None if is_made => Anchor::NotJudged("a shortcode may make it".to_owned()),
            None => Anchor::Missing,
        });
    }
    let Some(facts) = context.facts(path)? else { return Ok(Anchor::NotJudged("the page cannot be read".to_owned())) };
    if facts.anchors.contains(fragment) {
        return Ok(Anchor::There);
    }
    if facts.may_make(fragment) {
        return Ok(Anchor::NotJudged("a template or code may make it".to_owned()));
    }
    if facts.may_have(fragment) {
        return Ok(Anchor::NotJudged(UNKNOWN_IDS.to_owned()));
    }
    if facts.snippets().next().is_none() {
        return Ok(facts.open.map_or(Anchor::Missing, |why| Anchor::NotJudged(why.to_owned())));
    }
    let taken = context.taken_in(path, || taken_in(context, path))?;
    if taken.anchors.contains(fragment) {
        return Ok(Anchor::There);
    }
    for part in &taken.pages {
        let Some(facts) = context.facts(part)? else { continue };
        if facts.may_make(fragment) {
            return Ok(Anchor::NotJudged("a template or code may make it".to_owned()));
        }
        if facts.may_have(fragment) {
            return Ok(Anchor::NotJudged(UNKNOWN_IDS.to_owned()));
        }
    }
    Ok(taken.why.clone().map_or(Anchor::Missing, Anchor::NotJudged))
}

/// The anchors of a page of HTML.
fn in_html(context: &Context<'_>, path: &str) -> io::Result<Taken> {
    let Some(text) = context.text(path)? else {
        return Ok(Taken { why: Some("the page cannot be read".to_owned()), ..Taken::default() });
    };
    let generator = &context.sites.of(path).generator;
    let html::Anchors { ids, starts, is_filled } = html::anchors(&text, &generator.dialect());
    // What is no page of the site is served as it is, and may be nothing but a script.
    let is_script = !generator.is_page(path) && text.contains("<script");
    let why = (is_filled || is_script).then(|| "a template may make it".to_owned());
    Ok(Taken { anchors: ids, starts, why, ..Taken::default() })
}

/// What a page gets from its snippets, and theirs.
fn taken_in(context: &Context<'_>, path: &str) -> io::Result<Taken> {
    let mut taken = Taken::default();
    let mut seen = HashSet::from([path.to_owned()]);
    let mut round = vec![path.to_owned()];
    for _ in 0..DEEPEST {
        let mut next = Vec::new();
        for path in round {
            let Some(facts) = context.facts(&path)? else { continue };
            if let Some(why) = facts.open {
                taken.why.get_or_insert_with(|| why.to_owned());
            }
            taken.anchors.extend(facts.anchors.iter().cloned());
            for link in facts.snippets() {
                for file in snippet_files(context, &path, link, &mut taken)? {
                    if seen.insert(file.clone()) {
                        taken.pages.push(file.clone());
                        next.push(file);
                    }
                }
            }
        }
        round = next;
    }
    if !round.is_empty() {
        taken.why.get_or_insert_with(|| "files include each other too deeply".to_owned());
    }
    Ok(taken)
}

/// The pages that a snippet link takes in. The anchors of other files are noted at once.
fn snippet_files(context: &Context<'_>, path: &str, link: &Link, taken: &mut Taken) -> io::Result<Vec<String>> {
    let files = match snippet(context, path, link)? {
        Verdict::There(files) => files,
        Verdict::Missing | Verdict::Elsewhere => Vec::new(),
        Verdict::NotJudged(reason) => {
            // What is taken in by an alias is mostly a component, which has no headings.
            if page::is_page(&link.target) {
                taken.why.get_or_insert(reason.0);
            }
            Vec::new()
        }
    };
    let is_text = |file: &String| page::is_page(file) || paths::extension(file) == "txt";
    let (pages, others): (Vec<String>, Vec<String>) = files.into_iter().partition(is_text);
    for file in others {
        made_anchors(context, &file, taken)?;
    }
    Ok(pages)
}

/// Notes the ids that a script or template brings, and whether there may be others: those that it makes of what it is
/// given. Its headings have none but those that it gives them, unlike the headings of Markdown.
fn made_anchors(context: &Context<'_>, file: &str, taken: &mut Taken) -> io::Result<()> {
    let Some(text) = context.text(file)? else { return Ok(()) };
    let makes_more = match paths::extension(file).as_str() {
        "svg" => false,
        "html" => text.contains("{{") || text.contains("{%"),
        "js" | "jsx" | "ts" | "tsx" | "mjs" | "astro" | "vue" | "svelte" => makes_ids(&text),
        _ => ["id=", "<h1", "<h2", "<h3"].iter().any(|mark| text.contains(mark)),
    };
    for quote in ["\"", "'", "{\"", "{'", "{`"] {
        let mark = format!("id={quote}");
        let ids =
            text.split(&mark).skip(1).filter_map(|rest| rest.split_once(['"', '\'', '`'])).map(|(id, _)| id.to_owned());
        taken.anchors.extend(ids);
    }
    if makes_more {
        taken.why.get_or_insert_with(|| "the page includes a component that makes anchors".to_owned());
    }
    Ok(())
}

/// Whether a component gives ids that its script does not name: `id={slug(title)}`, `:id="anchor"`. One that it was
/// given as `id` itself stands in the page.
fn makes_ids(script: &str) -> bool {
    let is_given = |value: &str| matches!(value, "id" | "props.id" | "Astro.props.id");
    let has_own = ["const id ", "let id ", "const id:", "id ="].iter().any(|mark| script.contains(mark));
    for (at, _) in script.match_indices("id=") {
        let before = &script[..at];
        let is_bound = before.ends_with([':', '.']);
        if !is_bound && !before.ends_with(char::is_whitespace) {
            continue;
        }
        if is_of_drawing(before) {
            continue;
        }
        let rest = &script[at + "id=".len()..];
        let value = match rest.chars().next() {
            Some('{') => rest[1..].split('}').next().unwrap_or_default().trim(),
            Some(quote @ ('"' | '\'')) if is_bound => rest[1..].split(quote).next().unwrap_or_default().trim(),
            _ => continue,
        };
        let is_plain = value.len() > 1 && value.starts_with(['"', '\'', '`']) && !value.contains('$');
        if !is_plain && (has_own || !is_given(value)) {
            return true;
        }
    }
    // What is set later, and Markdown that is read when the site is built.
    const LATER: [&str; 5] = [".id = ", "setAttribute('id'", "MDXRemote", "RemoteContent", "rehype-slug"];
    LATER.iter().any(|mark| script.contains(mark)) || shows_html_from_elsewhere(script)
}

/// Whether a component shows HTML that is neither its own nor what the page gives it: such brings ids of its own.
fn shows_html_from_elsewhere(script: &str) -> bool {
    const SHOWS: [&str; 3] = ["set:html", "v-html", "dangerouslySetInnerHTML"];
    const READS: [&str; 10] = [
        "fetch(",
        "readFile",
        "import.meta.glob",
        "getEntry",
        "getCollection",
        "require(",
        "?raw",
        ".json",
        ".html",
        ".md",
    ];
    let has = |marks: &[&str]| marks.iter().any(|mark| script.contains(mark));
    has(&SHOWS) && has(&READS)
}

/// Whether text ends inside of a tag that is a part of a drawing, to which nobody links.
fn is_of_drawing(before: &str) -> bool {
    const DRAWN: [&str; 8] =
        ["marker", "linearGradient", "radialGradient", "clipPath", "mask", "filter", "pattern", "symbol"];
    // Attributes before the id are not longer.
    let near = &before[before.floor_char_boundary(before.len().saturating_sub(400))..];
    let tag = near.rsplit_once('<').map(|(_, tag)| tag).unwrap_or_default();
    DRAWN.contains(&tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default())
}

/// Whether a fragment names a place in a page: not a footnote, a tab that the site makes, or a text to search for.
fn is_anchor(fragment: &str) -> bool {
    let is_made = fragment.starts_with("__") || fragment.starts_with("fn:") || fragment.starts_with("fnref");
    !fragment.is_empty() && !matches!(fragment, "top" | "_top") && !is_made && !fragment.starts_with(":~:")
}
