//! What a repository says about its own checks, in `.copydesk.toml`: what to leave out, how grave a finding is, which
//! words are right. It is read as data, and what is not understood is an error: a rule that counts for nothing because
//! of a typing error would look like one that counts.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io;

use copydesk_values::{Value, What, toml};

use crate::lines::Lines;
use crate::site::Glob;
use crate::{Check, Files, Finding, Severity, paths};

/// A longer file is refused.
const LARGEST: usize = 256 * 1024;
/// More patterns than these are refused: each is compared with each path.
const MOST_PATTERNS: usize = 500;
const LONGEST_PATTERN: usize = 400;

/// The rules of a repository for its checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    exclude: Vec<Glob>,
    checks: HashMap<Check, OfCheck>,
    words: BTreeSet<String>,
    /// The folder that the file lies in.
    folder: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OfCheck {
    level: Option<Level>,
    exclude: Vec<Glob>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    As(Severity),
    Off,
}

/// What is wrong with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRules {
    /// The line, from 1.
    pub line: u32,
    pub message: String,
}

impl fmt::Display for BadRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", Rules::FILE, self.line, self.message)
    }
}

impl Rules {
    /// The name of the file.
    pub const FILE: &str = ".copydesk.toml";

    /// The rules in the root of a tree of files; those that leave nothing out if there is no such file.
    pub fn read(files: &dyn Files) -> io::Result<Result<Self, BadRules>> {
        let wrong = |message: &str| Err(BadRules { line: 1, message: message.to_owned() });
        Ok(match files.read(Self::FILE)?.map(String::from_utf8) {
            None => Ok(Self::default()),
            Some(Ok(text)) => Self::parse(&text),
            Some(Err(_)) => wrong("the file is not UTF-8 text"),
        })
    }

    pub fn parse(text: &str) -> Result<Self, BadRules> {
        if text.len() > LARGEST {
            return Err(BadRules { line: 1, message: format!("the file has more than {LARGEST} bytes") });
        }
        let reader = Reader { lines: Lines::of(text) };
        let document = toml(text).map_err(|fault| reader.bad(fault.at, fault.message))?;
        reader.document(&document)
    }

    /// The same for a file that lies in a folder of the tree.
    #[must_use]
    pub fn in_folder(self, folder: &str) -> Self {
        Self { folder: folder.to_owned(), ..self }
    }

    /// Words that are right, whatever a dictionary says, as written in the file.
    pub fn words(&self) -> &BTreeSet<String> {
        &self.words
    }

    /// Whether a check is switched off.
    pub fn is_off(&self, check: Check) -> bool {
        self.checks.get(&check).is_some_and(|of_check| of_check.level == Some(Level::Off))
    }

    /// Whether a file is left out of all checks.
    pub fn leaves_out(&self, path: &str) -> bool {
        self.is_among(&self.exclude, path)
    }

    /// Whether a path, as seen from the file's folder, is one of these.
    fn is_among(&self, globs: &[Glob], path: &str) -> bool {
        paths::below(path, &self.folder).is_some_and(|path| globs.iter().any(|glob| glob.matches(path)))
    }

    /// Drops the findings that the rules leave out, and gives the others the severity that they say. What a job may touch
    /// is not theirs to decide.
    pub fn apply(&self, findings: &mut Vec<Finding>) {
        if self.exclude.is_empty() && self.checks.is_empty() {
            return;
        }
        findings.retain_mut(|finding| {
            if finding.check == Check::Scope {
                return true;
            }
            let of_check = self.checks.get(&finding.check);
            if let Some(Level::As(severity)) = of_check.and_then(|it| it.level) {
                finding.severity = severity;
            }
            let path = &finding.path;
            let excluded =
                self.is_among(&self.exclude, path) || of_check.is_some_and(|it| self.is_among(&it.exclude, path));
            !excluded && !self.is_off(finding.check)
        });
    }
}

struct Reader<'a> {
    lines: Lines<'a>,
}

impl Reader<'_> {
    fn bad(&self, at: usize, message: impl Into<String>) -> BadRules {
        BadRules { line: self.lines.place(at).0, message: message.into() }
    }

    fn document(&self, document: &Value) -> Result<Rules, BadRules> {
        let mut rules = Rules::default();
        let mut patterns = 0;
        for (key, value) in document.entries() {
            match key.name.as_str() {
                "exclude" => rules.exclude = self.globs(value, &mut patterns)?,
                "words" => rules.words = self.texts(value, "words")?.into_iter().map(|(text, _)| text).collect(),
                "checks" => {
                    if !matches!(value.what, What::Map(_)) {
                        return Err(self.bad(value.range.start, "`checks` must be a table: [checks]"));
                    }
                    for (name, value) in value.entries() {
                        let check = self.check(&name.name, name.range.start)?;
                        rules.checks.insert(check, self.of_check(value, &mut patterns)?);
                    }
                }
                other => {
                    let known = "there are `exclude`, `words` and `checks`";
                    return Err(self.bad(key.range.start, format!("there is no setting `{other}`; {known}")));
                }
            }
        }
        Ok(rules)
    }

    fn check(&self, name: &str, at: usize) -> Result<Check, BadRules> {
        match Check::named(name) {
            Some(Check::Scope) => {
                Err(self.bad(at, "what a job may touch (`scope`) is decided by its project, not by this file"))
            }
            Some(check) => Ok(check),
            None => Err(self.bad(at, format!("there is no check `{name}`; there are {}", names()))),
        }
    }

    /// `"warning"`, or a table with `severity` and `exclude`.
    fn of_check(&self, value: &Value, patterns: &mut usize) -> Result<OfCheck, BadRules> {
        let mut of_check = OfCheck::default();
        if !matches!(value.what, What::Map(_)) {
            of_check.level = Some(self.level(value)?);
            return Ok(of_check);
        }
        for (key, value) in value.entries() {
            match key.name.as_str() {
                "severity" => of_check.level = Some(self.level(value)?),
                "exclude" => of_check.exclude = self.globs(value, patterns)?,
                other => {
                    let message = format!("a check has no setting `{other}`; there are `severity` and `exclude`");
                    return Err(self.bad(key.range.start, message));
                }
            }
        }
        Ok(of_check)
    }

    fn level(&self, value: &Value) -> Result<Level, BadRules> {
        match value.text() {
            Some("error") => Ok(Level::As(Severity::Error)),
            Some("warning") => Ok(Level::As(Severity::Warning)),
            Some("off") => Ok(Level::Off),
            _ => Err(self.bad(value.range.start, "a severity is \"error\", \"warning\" or \"off\"")),
        }
    }

    fn texts(&self, value: &Value, name: &str) -> Result<Vec<(String, usize)>, BadRules> {
        let wrong = |at: usize| self.bad(at, format!("`{name}` must be a list of texts"));
        let What::List(list) = &value.what else { return Err(wrong(value.range.start)) };
        let text = |item: &Value| match item.text().map(str::trim) {
            Some(text) if !text.is_empty() => Ok((text.to_owned(), item.range.start)),
            _ => Err(wrong(item.range.start)),
        };
        list.items.iter().map(text).collect()
    }

    fn globs(&self, value: &Value, patterns: &mut usize) -> Result<Vec<Glob>, BadRules> {
        let mut globs = Vec::new();
        for (pattern, at) in self.texts(value, "exclude")? {
            *patterns += 1;
            if *patterns > MOST_PATTERNS {
                return Err(self.bad(at, format!("there are more than {MOST_PATTERNS} patterns")));
            }
            if pattern.len() > LONGEST_PATTERN || pattern.starts_with('!') || pattern.contains('\\') {
                return Err(self.bad(at, format!("`{pattern}` is not a pattern of paths such as `docs/old/**`")));
            }
            globs.extend(both(&pattern));
        }
        Ok(globs)
    }
}

/// As `.gitignore` has it: a name without a slash is meant in any folder, and a folder with all that is in it.
fn both(pattern: &str) -> [Glob; 2] {
    let inner = pattern.trim_end_matches('/');
    let rooted = match inner.strip_prefix('/') {
        Some(rooted) => rooted.to_owned(),
        None if inner.contains('/') => inner.to_owned(),
        None => format!("**/{inner}"),
    };
    [Glob::new(&rooted), Glob::new(&format!("{rooted}/**"))]
}

/// The names of the checks that a file or a comment may name.
pub(crate) fn names() -> String {
    let names = Check::ALL.into_iter().filter(|check| *check != Check::Scope).map(Check::as_str);
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        for (text, line, part) in [
            ("exclude = [\"a\"]\nexlcude = []", 2, "no setting `exlcude`"),
            ("\n[checks]\nlinsk = \"off\"", 3, "no check `linsk`"),
            ("[checks.links]\nseverity = \"fatal\"", 2, "\"error\", \"warning\" or \"off\""),
            ("[checks.links]\nlevel = \"error\"", 2, "no setting `level`"),
            ("[checks]\nscope = \"off\"", 2, "decided by its project"),
            ("checks = \"off\"", 1, "must be a table"),
            ("words = [\"a\",\n 3]", 2, "list of texts"),
            ("exclude = \"docs\"", 1, "list of texts"),
            ("exclude = [\"!docs\"]", 1, "not a pattern"),
            ("words = []\nexclude = [\n", 2, "unclosed"),
        ] {
            let bad = Rules::parse(text).unwrap_err();
            assert!(bad.line == line && bad.message.contains(part), "{text}: {bad}");
        }
        assert_eq!(Rules::parse(&" ".repeat(LARGEST + 1)).unwrap_err().line, 1);
        let many = format!("exclude = [{}]", "\"a\",".repeat(MOST_PATTERNS + 1));
        assert!(Rules::parse(&many).unwrap_err().message.contains("more than"));
    }

    #[test]
    fn patterns_are_those_of_gitignore() {
        let rules = Rules::parse("exclude = ['drafts', 'docs/old/', '/top.md', '*.gen.md', 'a/**/z.md']").unwrap();
        for (path, expected) in [
            ("drafts/a.md", true),
            ("x/drafts/y/a.md", true),
            ("docs/old/a.md", true),
            ("x/docs/old/a.md", false),
            ("top.md", true),
            ("x/top.md", false),
            ("x/y.gen.md", true),
            ("a/b/z.md", true),
            ("drafts.md", false),
        ] {
            assert_eq!(rules.leaves_out(path), expected, "{path}");
        }
        let below = Rules::parse("exclude = ['old']").unwrap().in_folder("docs");
        assert!(below.leaves_out("docs/old/a.md") && !below.leaves_out("old/a.md"));
    }
}
