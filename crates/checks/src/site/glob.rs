//! Patterns of paths: `*`, `?`, `[a-z]` and `{a,b}` within a part, `**` for any number of parts.

/// How many patterns one with braces may stand for.
const MOST_ALTERNATIVES: usize = 64;

/// A pattern, ready to be compared with paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    alternatives: Vec<Vec<String>>,
}

impl Glob {
    pub(crate) fn new(pattern: &str) -> Self {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let mut whole = vec![String::new()];
        expand(pattern, &mut whole);
        let parts = |one: &String| one.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Self { alternatives: whole.iter().map(parts).collect() }
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        self.alternatives.iter().any(|pattern| matches_parts(pattern, &parts))
    }
}

/// Writes out `{a,b}`, up to a bound; braces inside braces are taken as they are.
fn expand(pattern: &str, whole: &mut Vec<String>) {
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inside, tail)) = after.split_once('}') else { break };
        let choices: Vec<&str> = inside.split(',').collect();
        if inside.contains('{') || whole.len() * choices.len() > MOST_ALTERNATIVES {
            break;
        }
        let made = whole.iter().flat_map(|start| choices.iter().map(move |choice| format!("{start}{before}{choice}")));
        *whole = made.collect();
        rest = tail;
    }
    whole.iter_mut().for_each(|one| one.push_str(rest));
}

/// Compares part by part; `**` is tried from the last place it stood at, so that the time is bounded by the product.
pub(crate) fn matches_parts(pattern: &[String], parts: &[&str]) -> bool {
    let (mut p, mut s) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while s < parts.len() {
        match pattern.get(p) {
            Some(part) if part == "**" => {
                star = Some((p, s));
                p += 1;
            }
            Some(part) if matches_part(part.as_bytes(), parts[s].as_bytes()) => {
                p += 1;
                s += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, s) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|part| part == "**")
}

/// Compares one part, with `*`, `?` and `[…]`.
fn matches_part(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut s) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while s < text.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, s));
                p += 1;
                continue;
            }
            Some(b'?') => Some(1),
            Some(b'[') => class(&pattern[p..], text[s]),
            Some(b'\\') if pattern.get(p + 1) == Some(&text[s]) => Some(2),
            Some(byte) if *byte == text[s] => Some(1),
            _ => None,
        };
        match (step, star) {
            (Some(length), _) => {
                p += length;
                s += 1;
            }
            (None, Some((at, from))) => {
                star = Some((at, from + 1));
                (p, s) = (at + 1, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// The length of a class such as `[a-z]` if it holds the byte; a bracket that opens none stands for itself.
fn class(pattern: &[u8], byte: u8) -> Option<usize> {
    let Some(end) = pattern.iter().skip(2).position(|b| *b == b']').map(|at| at + 2) else {
        return (byte == b'[').then_some(1);
    };
    let inside = &pattern[1..end];
    let (negated, inside) = match inside {
        [b'!' | b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut holds = false;
    let mut at = 0;
    while let Some(&first) = inside.get(at) {
        match (inside.get(at + 1), inside.get(at + 2)) {
            (Some(b'-'), Some(&last)) => {
                holds |= (first..=last).contains(&byte);
                at += 3;
            }
            _ => {
                holds |= first == byte;
                at += 1;
            }
        }
    }
    (holds != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_paths() {
        for (pattern, path, expected) in [
            ("**/README.md", "README.md", true),
            ("**/README.md", "a/b/README.md", true),
            ("a/**", "a/b/c", true),
            ("a/**/c", "a/c", true),
            ("a/**/c", "a/x/y/c", true),
            ("a/**/c", "a/x/y/d", false),
            ("*.md", "a.md", true),
            ("*.md", "a/b.md", false),
            ("**/_*.{js,md}", "x/_y.md", true),
            ("**/_*.{js,md}", "x/_y.mdx", false),
            ("**/*.test.{js,ts}", "a.test.ts", true),
            ("v[0-9]/*", "v2/x", true),
            ("v[!0-9]/*", "v2/x", false),
            ("./docs/*.md", "docs/a.md", true),
            ("docs/[id].md", "docs/[id].md", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn many_stars_take_no_longer() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!Glob::new(&pattern).matches(&"a".repeat(5000)));
        let deep = "**/a/".repeat(100) + "b";
        assert!(!Glob::new(&deep).matches(&"a/".repeat(2000)));
    }
}
