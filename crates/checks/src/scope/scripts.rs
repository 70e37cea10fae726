//! Navigation that is written in a script. A build runs the script, so only what is written down in it as a value may
//! differ: the entries of the navigation, titles and redirects. All the rest of its text must stay as it is.

use std::collections::HashSet;
use std::ops::Range;

use copydesk_values::{Modules, Value, What, script, texts};

use super::ground::Ground;
use super::parts::{inside, is_meta, is_script, parts};
use crate::Files;
use crate::executable::is_live;
use crate::files::Scripts;

/// How deep values are looked into.
const DEEPEST: usize = 64;

/// Why a change of a script may not be made; none if it is no script, or one of which only navigation differs.
pub(crate) fn refused(path: &str, base: &dyn Files, now: &dyn Files, ground: &Ground) -> Option<String> {
    if !is_script(path) {
        return None;
    }
    let more = || format!("{path} would be changed in more than values of navigation, titles and redirects.");
    let configs = ground.scripts.get(path).cloned().unwrap_or_else(|| [path.to_owned()].into());
    for config in configs {
        let Some(after) = Reading::of(now, &config, path) else {
            return Some(format!("{path} could not be read any more, or is gone."));
        };
        let before = Reading::of(base, &config, path);
        let kept = match &before {
            Some(before) => before.kept.as_str(),
            None if is_meta(path) => "export default \u{1}",
            None => return Some(more()),
        };
        if after.kept.trim().trim_end_matches(';') != kept.trim().trim_end_matches(';') {
            return Some(more());
        }
        let known: HashSet<&String> = before.iter().flat_map(|before| &before.texts).collect();
        if let Some(text) = after.texts.iter().find(|text| !known.contains(text) && is_live(text)) {
            let shown: String = text.chars().take(80).collect();
            return Some(format!("{path} would hold a script: {shown:?}."));
        }
    }
    None
}

/// A script without its navigation, and the texts of that.
struct Reading {
    kept: String,
    texts: Vec<String>,
}

impl Reading {
    fn of(tree: &dyn Files, config: &str, path: &str) -> Option<Self> {
        let modules = Scripts(tree);
        let text = modules.read(path)?;
        let value = script(&modules, config).ok()?;
        let mut found = Cut { path, text: &text, ranges: Vec::new(), texts: Vec::new() };
        let is_here = config == path;
        parts(config, &value).into_iter().for_each(|part| found.take(part, part.range.clone(), true, (is_here, 0)));
        let Cut { mut ranges, texts, .. } = found;
        ranges.sort_by_key(|(range, _)| range.start);
        Some(Self { kept: kept(&text, &ranges), texts })
    }
}

/// What is taken out of a script.
struct Cut<'a> {
    path: &'a str,
    text: &'a str,
    /// Whether each is all that stands in its place, or one of several.
    ranges: Vec<(Range<usize>, bool)>,
    texts: Vec<String>,
}

impl Cut<'_> {
    /// Takes a value out if it is written down as one, else what it is made of. What a function of another file makes of
    /// values may hold some of this one: the value around it was of this file, and it is written down here.
    fn take(&mut self, value: &Value, whole: Range<usize>, is_alone: bool, (was_here, depth): (bool, usize)) {
        let is_here = value.file.as_deref().map_or(was_here, |file| file == self.path);
        let within = (is_here || was_here, depth + 1);
        let said = self.text.get(value.range.clone()).filter(|_| is_here && !value.range.is_empty());
        let mut known = Vec::new();
        let is_value = said.is_some_and(|said| texts(said, &|_| false).is_some());
        if is_value && say(value, &mut known) {
            self.texts.append(&mut known);
            self.ranges.push((whole, is_alone));
            return;
        }
        if depth >= DEEPEST {
            return;
        }
        for item in value.items() {
            self.take(item, item.range.clone(), false, within);
        }
        // What leads to the functions of the language is no name of an entry.
        let is_name = |name: &str| !matches!(name, "__proto__" | "prototype" | "constructor");
        for (key, inner) in value.entries().iter().filter(|(key, _)| is_name(&key.name)) {
            let between = self.text.get(key.range.end..inner.range.start).unwrap_or_default();
            // A name and its value go together if nothing else stands between.
            let with_name = between.trim() == ":";
            let whole = if with_name { key.range.start..inner.range.end } else { inner.range.clone() };
            self.take(inner, whole, !with_name, within);
        }
        if let What::Unknown(unknown) = &value.what {
            unknown.perhaps.iter().for_each(|inner| self.take(inner, inner.range.clone(), true, within));
        }
    }
}

/// Collects the texts of a value, put together as they are in the end; whether all of it is known.
fn say(value: &Value, texts: &mut Vec<String>) -> bool {
    texts.extend(value.text().map(str::to_owned));
    texts.extend(value.entries().iter().map(|(key, _)| key.name.clone()));
    value.why_open().is_none() && inside(value).all(|inner| say(inner, texts))
}

/// A text without some of its parts: one that is alone leaves a mark, one of several leaves nothing.
fn kept(text: &str, ranges: &[(Range<usize>, bool)]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for (range, is_alone) in ranges.iter().filter(|(range, _)| range.start < range.end) {
        if range.start < at {
            continue;
        }
        let before = text.get(at..range.start).unwrap_or_default();
        at = range.end;
        if *is_alone {
            kept.push_str(before);
            kept.push('\u{1}');
            continue;
        }
        kept.push_str(before.trim_end());
        let rest = text.get(at..).unwrap_or_default().trim_start();
        if let Some(rest) = rest.strip_prefix(',') {
            at = text.len() - rest.len();
        }
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    without_last_commas(&kept)
}

/// Commas behind the last of several say nothing, and neither does how far lines are indented.
fn without_last_commas(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([',', '[', '{']) {
        let (before, after) = rest.split_at(at + 1);
        let next = after.trim_start();
        plain.push_str(&before[..at]);
        if !(before.ends_with(',') && next.starts_with([']', '}'])) {
            plain.push_str(&before[at..]);
        }
        // The end of a line stays, as it ends remarks.
        if after[..after.len() - next.len()].contains('\n') {
            plain.push('\n');
        }
        rest = next;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::tests::Memory;

    const SIDEBARS: &str = "// @ts-check\nconst api = require('./api');\nmodule.exports = {\n  docs: [\n    'index',\n    {type: 'category', label: 'Guides', items: ['guide', ...api.more()]},\n  ],\n};\n";

    fn changed(path: &str, before: &str, now: &str, more: &[(&str, &str)]) -> Option<String> {
        let tree = |text: &str| Memory::of(&[&[(path, text)][..], more].concat());
        let base = tree(before);
        let ground = Ground::of(&base).unwrap();
        if !ground.scripts.contains_key(path) {
            return Some("not known".to_owned());
        }
        refused(path, &base, &tree(now), &ground)
    }

    #[test]
    fn entries_of_navigation_may_differ_in_scripts() {
        let config = [("docusaurus.config.js", "module.exports = {presets: [['classic', {docs: {}}]]}\n")];
        for (from, to) in [
            ("'index',", "'index',\n    'more',"),
            ("'guide', ", "'guide', 'other', "),
            ("label: 'Guides'", "label: 'All guides'"),
            ("'index',\n", ""),
            ("more()]},", "more()]},\n    {type: 'link', label: 'X', href: 'https://x.example'},"),
        ] {
            let now = SIDEBARS.replace(from, to);
            assert_ne!(now, SIDEBARS);
            let kept = |text: &str| {
                let tree = Memory::of(&[("sidebars.js", text)]);
                Reading::of(&tree, "sidebars.js", "sidebars.js").map(|it| it.kept)
            };
            assert_eq!(kept(SIDEBARS), kept(&now));
            assert_eq!(changed("sidebars.js", SIDEBARS, &now, &config), None, "{now}");
        }
        let vitepress = "import {defineConfig} from 'vitepress'\nconst guide = [{text: 'A', link: '/a'}]\nexport default defineConfig({\n  title: 'X',\n  head: [],\n  themeConfig: {sidebar: {'/': guide}, nav: [{text: 'A', link: '/a'}]},\n})\n";
        for (from, to) in [
            ("link: '/a'}]\n", "link: '/a'}, {text: 'B', link: '/b'}]\n"),
            ("nav: [", "nav: [{text: 'B', items: [{text: 'C', link: '/c'}]}, "),
            ("title: 'X'", "title: 'Y'"),
        ] {
            let now = vitepress.replacen(from, to, 1);
            assert_ne!(now, vitepress);
            assert_eq!(changed("docs/.vitepress/config.ts", vitepress, &now, &[]), None, "{now}");
        }
        let astro = "import {defineConfig} from 'astro/config'\nimport starlight from '@astrojs/starlight'\nexport default defineConfig({\n  redirects: {'/a': '/b'},\n  integrations: [starlight({title: 'X', sidebar: [{label: 'A', slug: 'a'}]})],\n})\n";
        let now = astro.replace("slug: 'a'}", "slug: 'a'}, 'b'").replace("'/a': '/b'", "'/a': '/b', '/c': '/d'");
        assert_eq!(changed("astro.config.mjs", astro, &now, &[]), None);
        let meta = "export default {\n  index: 'Home',\n}\n";
        assert_eq!(
            changed("docs/_meta.ts", meta, "export default {\n  index: 'Home',\n  more: 'More',\n}\n", &[]),
            None
        );
    }

    #[test]
    fn nothing_else_of_a_script_may() {
        let config = [("docusaurus.config.js", "module.exports = {presets: [['classic', {docs: {}}]]}\n")];
        for now in [
            format!("require('fs').rmSync('x');\n{SIDEBARS}"),
            SIDEBARS.replace("'index',", "(require('fs'), 'index'),"),
            SIDEBARS.replace("'index',", "`${process.env.X}`,"),
            SIDEBARS.replace("'index',", "...api.other(),"),
            SIDEBARS.replace("'index',", "{type: 'html', value: '<img src=x onerror=alert(1)>'},"),
            SIDEBARS.replace("'index',", "{type: 'link', label: 'x', href: 'javascript:alert(1)'},"),
            SIDEBARS.replace("'index',", "{type: 'link', label: 'x', href: 'java' + 'script:alert(1)'},"),
            SIDEBARS.replace("'index',", "{type: 'html', value: `<b ${'onclick'}=alert(1)>`},"),
            SIDEBARS.replace("'index',", "<b title='x' />,"),
            SIDEBARS.replace("  docs:", "  get x() { return 1 },\n  docs:"),
            SIDEBARS.replace("  docs:", "  [f()]: [],\n  docs:"),
            SIDEBARS.replace("  docs:", "  __proto__: {a: []},\n  docs:"),
            SIDEBARS.replace("api.more()", "api.more('x')"),
            SIDEBARS.replace("./api", "./other"),
            SIDEBARS.replace("more()", "less()"),
            "module.exports = {".to_owned(),
        ] {
            assert_ne!(now, SIDEBARS);
            assert!(changed("sidebars.js", SIDEBARS, &now, &config).is_some(), "{now}");
        }
        let vitepress =
            "export default {title: 'X', head: [], srcDir: '.', themeConfig: {sidebar: [{text: 'A', link: '/a'}]}}\n";
        for (from, to) in [
            ("head: []", "head: [['script', {}, 'x']]"),
            ("srcDir: '.'", "srcDir: '..'"),
            ("title: 'X'", "title: 'X', vite: {}"),
            ("title: 'X'", "title: '<img src=x onerror=alert(1)>'"),
            ("export default", "import './x.js'\nexport default"),
        ] {
            let now = vitepress.replacen(from, to, 1);
            assert!(changed(".vitepress/config.ts", vitepress, &now, &[]).is_some(), "{now}");
        }
    }
}
