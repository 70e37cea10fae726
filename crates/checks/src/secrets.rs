//! Secrets that somebody wrote down: shapes that hardly anything else has.

use std::ops::Range;

use copydesk_domain::ApiKey;
use sha2::{Digest, Sha256};

/// A place that holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// What kind it is, in words.
    pub kind: &'static str,
    pub range: Range<usize>,
}

impl FoundSecret {
    /// Names the secret without giving it away: its kind and two bytes of its hash.
    pub fn subject(&self, text: &str) -> String {
        let hash = Sha256::digest(text.get(self.range.clone()).unwrap_or_default().as_bytes());
        format!("{} {:02x}{:02x}", self.kind, hash[0], hash[1])
    }
}

/// More than these are not reported for a file.
const MOST: usize = 100;

/// A token that is told by how it begins.
struct Shape {
    prefix: &'static str,
    kind: &'static str,
    /// How many characters follow.
    rest: Range<usize>,
    /// Which characters may follow.
    alphabet: Alphabet,
}

#[derive(Clone, Copy)]
enum Alphabet {
    Upper,
    Alphanumeric,
    Hex,
    /// Letters, digits, `-` and `_`.
    Word,
}

const fn shape(prefix: &'static str, kind: &'static str, rest: Range<usize>, alphabet: Alphabet) -> Shape {
    Shape { prefix, kind, rest, alphabet }
}

const SHAPES: [Shape; 24] = [
    shape("AKIA", "AWS access key", 16..17, Alphabet::Upper),
    shape("ASIA", "AWS access key", 16..17, Alphabet::Upper),
    shape("ghp_", "GitHub token", 36..37, Alphabet::Alphanumeric),
    shape("gho_", "GitHub token", 36..37, Alphabet::Alphanumeric),
    shape("ghu_", "GitHub token", 36..37, Alphabet::Alphanumeric),
    shape("ghs_", "GitHub token", 36..37, Alphabet::Alphanumeric),
    shape("ghr_", "GitHub token", 36..37, Alphabet::Alphanumeric),
    shape("github_pat_", "GitHub token", 60..120, Alphabet::Word),
    shape("glpat-", "GitLab token", 20..60, Alphabet::Word),
    shape("xoxb-", "Slack token", 30..120, Alphabet::Word),
    shape("xoxp-", "Slack token", 30..120, Alphabet::Word),
    shape("sk_live_", "Stripe key", 20..120, Alphabet::Alphanumeric),
    shape("rk_live_", "Stripe key", 20..120, Alphabet::Alphanumeric),
    shape("AIza", "Google API key", 35..36, Alphabet::Word),
    shape("GOCSPX-", "Google client secret", 28..29, Alphabet::Word),
    shape("sk-ant-", "Anthropic key", 40..160, Alphabet::Word),
    shape("sk-proj-", "OpenAI key", 40..200, Alphabet::Word),
    shape("sk-", "OpenAI key", 48..49, Alphabet::Alphanumeric),
    shape("npm_", "npm token", 36..37, Alphabet::Alphanumeric),
    shape("pypi-AgEI", "PyPI token", 50..400, Alphabet::Word),
    shape("hf_", "Hugging Face token", 34..35, Alphabet::Alphanumeric),
    shape("shpat_", "Shopify token", 32..33, Alphabet::Hex),
    shape("dop_v1_", "DigitalOcean token", 64..65, Alphabet::Hex),
    shape("dckr_pat_", "Docker token", 27..28, Alphabet::Word),
];

/// The secrets in a text, in order.
pub fn scan(text: &str) -> Vec<FoundSecret> {
    let mut found = Vec::new();
    words(text, &mut found);
    private_keys(text, &mut found);
    assignments(text, &mut found);
    found.sort_by_key(|secret| (secret.range.start, usize::MAX - secret.range.end));
    let mut end = 0;
    found.retain(|secret| {
        let is_new = secret.range.start >= end;
        end = end.max(secret.range.end);
        is_new
    });
    found.truncate(MOST);
    found
}

/// Goes through the words of a text that are long enough to be a token.
fn words(text: &str, found: &mut Vec<FoundSecret>) {
    let bytes = text.as_bytes();
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let mut at = 0;
    while at < bytes.len() {
        if !is_part(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_part(bytes[at]) {
            at += 1;
        }
        if at - start >= 20 {
            let kind = token(&text[start..at]);
            found.extend(kind.map(|kind| FoundSecret { kind, range: start..at }));
        }
        if at - start >= 10 && text[start..at].starts_with("eyJ") {
            found.extend(web_token(text, start));
        }
    }
}

fn token(word: &str) -> Option<&'static str> {
    // A key of this service proves itself by its checksum.
    if ApiKey::parse(word).is_ok() {
        return Some("Copydesk key");
    }
    let shape = SHAPES.iter().find(|shape| word.starts_with(shape.prefix))?;
    let rest = &word[shape.prefix.len()..];
    let fits = shape.rest.contains(&rest.len()) && rest.bytes().all(|b| shape.alphabet.has(b));
    (fits && is_random(rest)).then_some(shape.kind)
}

impl Alphabet {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_',
        }
    }
}

/// Three parts with dots between; the first two are objects, so both begin alike.
fn web_token(text: &str, start: usize) -> Option<FoundSecret> {
    let end = start + text[start..].bytes().take_while(|b| Alphabet::Word.has(*b) || *b == b'.').count();
    let parts: Vec<&str> = text[start..end].split('.').collect();
    let [head, claims, signature] = parts[..] else { return None };
    let is_token = head.len() >= 16 && claims.len() >= 20 && claims.starts_with("eyJ") && signature.len() >= 40;
    // The claims that every tutorial shows: number 1234567890, John Doe.
    let is_tutorial = claims.starts_with("eyJzdWIiOiIxMjM0NTY3ODkw");
    (is_token && !is_tutorial && is_random(signature))
        .then_some(FoundSecret { kind: "JSON web token", range: start..end })
}

/// A key block counts only with a key in it, not with dots in its place.
fn private_keys(text: &str, found: &mut Vec<FoundSecret>) {
    for start in memchr::memmem::find_iter(text.as_bytes(), "-----BEGIN ").take(MOST) {
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let line = text[start..line_end].trim_end();
        if !line.ends_with("PRIVATE KEY-----") || line.len() > 80 {
            continue;
        }
        let mut digits = 0;
        let mut end = line_end;
        for line in text[line_end..].lines().skip(1).take(100) {
            let content = line.trim();
            let is_body = !content.is_empty()
                && content.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
            if !is_body {
                break;
            }
            digits += content.len();
            end += line.len() + 1;
        }
        if digits >= 100 {
            found
                .push(FoundSecret { kind: "private key", range: start..text.floor_char_boundary(end.min(text.len())) });
        }
    }
}

/// `password = "…"` and the like, with a value that nobody makes up as an example.
fn assignments(text: &str, found: &mut Vec<FoundSecret>) {
    let bytes = text.as_bytes();
    for at in memchr::memchr2_iter(b'=', b':', bytes) {
        let gap = bytes[at + 1..].iter().take(3).take_while(|b| **b == b' ').count();
        let open = at + 1 + gap;
        let Some(quote @ (b'"' | b'\'')) = bytes.get(open).copied() else { continue };
        let Some(length) = bytes[open + 1..].iter().take(129).position(|b| *b == quote) else { continue };
        let value = &bytes[open + 1..open + 1 + length];
        if (16..=128).contains(&length) && names_secret(&bytes[..at]) && is_password(value) {
            found.push(FoundSecret { kind: "password or key", range: open + 1..open + 1 + length });
        }
    }
}

fn names_secret(before: &[u8]) -> bool {
    const NAMES: [&str; 9] =
        ["password", "passwd", "secret", "token", "api_key", "apikey", "access_key", "private_key", "auth_key"];
    let trimmed = before.trim_ascii_end();
    let trimmed = trimmed.strip_suffix(b"\"").or_else(|| trimmed.strip_suffix(b"'")).unwrap_or(trimmed);
    let is_part = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let name: Vec<u8> = trimmed.iter().rev().take(40).take_while(is_part).copied().collect();
    let name: String = name.iter().rev().map(|b| char::from(b.to_ascii_lowercase())).collect();
    let name = name.replace('-', "_");
    NAMES.iter().any(|known| name.ends_with(known))
}

fn is_password(value: &[u8]) -> bool {
    let Ok(value) = std::str::from_utf8(value) else { return false };
    let plain =
        value.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'<' | b'>' | b'{' | b'}' | b'$' | b'[' | b'%'));
    let mixed = value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_lowercase())
        && value.bytes().any(|b| b.is_ascii_uppercase());
    plain && mixed && is_random(value) && !value.contains("://")
}

/// Whether a text looks like dice: no word that examples are made of, no run, no alphabet in order, many characters.
fn is_random(text: &str) -> bool {
    const WORDS: [&str; 22] = [
        "example",
        "your",
        "xxxx",
        "placeholder",
        "changeme",
        "change_me",
        "test",
        "demo",
        "sample",
        "dummy",
        "fake",
        "secret",
        "password",
        "token",
        "here",
        "insert",
        "replace",
        "redacted",
        "todo",
        "foobar",
        "abcdef",
        "12345",
    ];
    let lower = text.to_ascii_lowercase();
    if WORDS.iter().any(|word| lower.contains(word)) {
        return false;
    }
    let bytes = text.as_bytes();
    let repeats = bytes.windows(5).any(|window| window.iter().all(|b| *b == window[0]));
    let mut seen = [false; 256];
    bytes.iter().for_each(|b| seen[usize::from(*b)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    !repeats && distinct >= 9.min(bytes.len() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together at run time, so that no scanner takes this file for a leak.
    fn planted() -> Vec<(&'static str, String)> {
        let dice = "q7Rz2LmX9vKp4WnB8sYd3HgT6cJf1QaEuNiV5oPk";
        vec![
            ("AWS access key", format!("AK{}{}", "IA", "Q3EGRZ7YV2WN5KXB")),
            ("GitHub token", format!("gh{}_{}", "p", &dice[..36])),
            ("GitLab token", format!("gl{}-{}", "pat", &dice[..20])),
            ("Slack token", format!("xo{}-{}-{}", "xb", "2847593610385", &dice[..24])),
            ("Stripe key", format!("sk_{}_{}", "live", &dice[..24])),
            ("Google API key", format!("AI{}{}", "za", &dice[..35])),
            ("Anthropic key", format!("sk-{}-{}{}", "ant", dice, &dice[..10])),
            ("npm token", format!("np{}_{}", "m", &dice[..36])),
            ("JSON web token", format!("ey{}.ey{}.{}aaB", "JhbGciOiJSUzI1NiJ9", "JpZCI6InF3ZXJ0eTc3Iiwi", dice)),
            ("private key", format!("-----BEGIN {} KEY-----\n{dice}{dice}\n{dice}{dice}\n-----END", "PRIVATE")),
            ("password or key", format!("db_password: \"{}\"", &dice[..20])),
        ]
    }

    #[test]
    fn planted_secrets_are_found_and_not_repeated() {
        for (kind, secret) in planted() {
            let text = format!("Some words, then {secret} and more.\n");
            let found = scan(&text);
            assert_eq!(found.iter().map(|found| found.kind).collect::<Vec<_>>(), [kind], "{secret}");
            let subject = found[0].subject(&text);
            assert!(subject.len() <= kind.len() + 5 && !subject.contains(&secret[..8]), "{subject}");
        }
    }

    #[test]
    fn a_key_of_this_service_must_have_its_checksum() {
        // From the contract: prefix, 40 characters, then the sum of all before.
        let body = format!("copydesk_{}", "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb7dEf0h");
        let mut sum = crc32fast::hash(body.as_bytes());
        let digits: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
        let mut tail = String::new();
        for _ in 0..6 {
            tail.insert(0, digits[(sum % 62) as usize]);
            sum /= 62;
        }
        assert_eq!(scan(&format!("{body}{tail}"))[0].kind, "Copydesk key");
        assert_eq!(scan(&format!("{body}{}", "000000")), []);
    }

    #[test]
    fn examples_are_left_alone() {
        for text in [
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "ghp_your_token_here",
            "sk-ant-api03-your-key-here-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "password = \"hunter2\"",
            "password: \"correct-horse-battery-staple\"",
            "api_key=\"YOUR_API_KEY_GOES_HERE\"",
            "token: \"${GITHUB_TOKEN_FROM_ENV}\"",
            "secret: '{{ secrets.DEPLOY_KEY_1 }}'",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
            "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
            "a-very-long-slug-of-a-page-about-keys-and-tokens-2024",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "copydesk_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIj",
        ] {
            assert_eq!(scan(text), [], "{text}");
        }
    }
}
