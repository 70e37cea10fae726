//! Secrets that somebody wrote down: told by the format of whoever gives them out, and by the checksum where there is one.
//! Samples are left alone, and keys that are meant to be seen: those of browsers, of search, of measuring.

mod jwt;
mod pem;
mod random;

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use copydesk_domain::ApiKey;
use sha2::{Digest, Sha256};

use random::is_random;

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
    /// Whether what follows is what the provider would have made.
    fits: fn(&str) -> bool,
}

const fn shape(prefix: &'static str, kind: &'static str, fits: fn(&str) -> bool) -> Shape {
    Shape { prefix, kind, fits }
}

const SHAPES: [Shape; 27] = [
    shape("ghp_", "GitHub token", has_checksum),
    shape("gho_", "GitHub token", has_checksum),
    shape("ghu_", "GitHub token", has_checksum),
    shape("ghs_", "GitHub token", has_checksum),
    shape("ghr_", "GitHub token", has_checksum),
    shape("github_pat_", "GitHub token", is_fine_grained),
    shape("npm_", "npm token", has_checksum),
    shape("pypi-", "PyPI token", is_macaroon),
    shape("glpat-", "GitLab token", |rest| rest.len() == 20 && is_random(rest)),
    shape("xoxb-", "Slack token", is_slack),
    shape("xoxp-", "Slack token", is_slack),
    shape("xoxa-", "Slack token", is_slack),
    shape("xoxr-", "Slack token", is_slack),
    shape("sk_live_", "Stripe key", |rest| rest.len() >= 24 && is_alphanumeric(rest) && is_random(rest)),
    shape("rk_live_", "Stripe key", |rest| rest.len() >= 24 && is_alphanumeric(rest) && is_random(rest)),
    shape("whsec_", "Stripe secret", |rest| rest.len() == 32 && is_alphanumeric(rest) && is_random(rest)),
    shape("GOCSPX-", "Google client secret", |rest| rest.len() == 28 && is_random(rest)),
    shape("sk-ant-", "Anthropic key", |rest| rest.len() >= 95 && rest.ends_with("AA") && is_random(rest)),
    // Keys of OpenAI hold this mark in their middle; others that begin like that are of anybody.
    shape("sk-", "OpenAI key", |rest| rest.contains("T3BlbkFJ") && rest.len() >= 48 && is_random(rest)),
    shape("hf_", "Hugging Face token", |rest| rest.len() == 34 && is_alphanumeric(rest) && is_random(rest)),
    shape("shpat_", "Shopify token", |rest| is_hex(rest, 32)),
    shape("shpss_", "Shopify secret", |rest| is_hex(rest, 32)),
    shape("dop_v1_", "DigitalOcean token", |rest| is_hex(rest, 64)),
    shape("doo_v1_", "DigitalOcean token", |rest| is_hex(rest, 64)),
    shape("dckr_pat_", "Docker token", |rest| rest.len() == 27 && is_random(rest)),
    shape("AGE-SECRET-KEY-1", "age key", |rest| rest.len() == 58 && is_random(rest)),
    shape("lin_api_", "Linear key", |rest| rest.len() == 40 && is_alphanumeric(rest) && is_random(rest)),
];

/// The secrets in a text, in order.
pub fn scan(text: &str) -> Vec<FoundSecret> {
    let mut found = Vec::new();
    words(text, &mut found);
    pem::find(text, &mut found);
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
        let word = &text[start..at];
        if word.len() >= 20 {
            let kind = token(word).or_else(|| aws(text, start..at));
            found.extend(kind.map(|kind| FoundSecret { kind, range: start..at }));
        }
        if word.len() >= 10 && word.starts_with("eyJ") {
            found.extend(jwt::find(text, start));
        }
    }
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn token(word: &str) -> Option<&'static str> {
    // A key of this service proves itself by its checksum.
    if ApiKey::parse(word).is_ok() {
        return Some("Copydesk key");
    }
    let shape = SHAPES.iter().find(|shape| word.starts_with(shape.prefix))?;
    (shape.fits)(&word[shape.prefix.len()..]).then_some(shape.kind)
}

/// 30 characters by chance and the sum of them, as GitHub and npm make it.
fn has_checksum(rest: &str) -> bool {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if rest.len() != 36 || !is_alphanumeric(rest) {
        return false;
    }
    let (body, sum) = rest.split_at(30);
    let mut left = crc32fast::hash(body.as_bytes());
    sum.bytes().rev().all(|digit| {
        let expected = DIGITS[(left % 62) as usize];
        left /= 62;
        digit == expected
    }) && left == 0
        && is_random(body)
}

fn is_fine_grained(rest: &str) -> bool {
    rest.split_once('_').is_some_and(|(id, key)| {
        id.len() == 22 && key.len() == 59 && is_alphanumeric(id) && is_alphanumeric(key) && is_random(key)
    })
}

/// A macaroon names the place that it is for.
fn is_macaroon(rest: &str) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(rest.trim_end_matches('=')) else { return false };
    let place = bytes.get(3..).unwrap_or_default();
    bytes.starts_with(&[2, 1])
        && (place.starts_with(b"pypi.org") || place.starts_with(b"test.pypi.org"))
        && bytes.len() > 80
}

fn is_slack(rest: &str) -> bool {
    let parts: Vec<&str> = rest.split('-').collect();
    let Some((key, numbers)) = parts.split_last() else { return false };
    let is_number = |part: &&str| (9..=14).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    let is_sample = |part: &&str| part.starts_with("1234") || part.bytes().all(|b| b == part.as_bytes()[0]);
    !numbers.is_empty()
        && numbers.iter().all(|part| is_number(part) && !is_sample(part))
        && key.len() >= 24
        && is_alphanumeric(key)
        && is_random(key)
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit()) && is_random(text)
}

/// The id of a key of AWS is no secret; one with the key itself nearby is.
fn aws(text: &str, range: Range<usize>) -> Option<&'static str> {
    const NEAR: usize = 300;
    let rest = text[range.clone()].strip_prefix("AKIA").or_else(|| text[range.clone()].strip_prefix("ASIA"))?;
    let is_id = rest.len() == 16 && rest.bytes().all(|b| matches!(b, b'A'..=b'Z' | b'2'..=b'7')) && is_random(rest);
    if !is_id {
        return None;
    }
    let from = text.floor_char_boundary(range.start.saturating_sub(NEAR));
    let to = text.floor_char_boundary((range.end + NEAR).min(text.len()));
    let is_key = |word: &str| {
        let has = |of: fn(&u8) -> bool| word.as_bytes().iter().any(of);
        word.len() == 40
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
            && is_random(word)
    };
    let splits = |c: char| !(c.is_ascii_alphanumeric() || c == '/' || c == '+');
    text[from..to].split(splits).any(is_key).then_some("AWS access key")
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
        if (20..=128).contains(&length) && names_secret(&bytes[..at]) && is_password(value) {
            found.push(FoundSecret { kind: "password or key", range: open + 1..open + 1 + length });
        }
    }
}

fn names_secret(before: &[u8]) -> bool {
    const NAMES: [&str; 7] =
        ["password", "passwd", "client_secret", "secret_key", "secret_access_key", "private_key", "auth_token"];
    const PUBLIC: [&str; 6] = ["public", "publishable", "search", "anon", "site_key", "hash"];
    let trimmed = before.trim_ascii_end();
    let trimmed = trimmed.strip_suffix(b"\"").or_else(|| trimmed.strip_suffix(b"'")).unwrap_or(trimmed);
    let is_part = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let name: Vec<u8> = trimmed.iter().rev().take(40).take_while(is_part).copied().collect();
    let name: String = name.iter().rev().map(|b| char::from(b.to_ascii_lowercase())).collect();
    let name = name.replace('-', "_");
    NAMES.iter().any(|known| name.ends_with(known)) && !PUBLIC.iter().any(|known| name.contains(known))
}

fn is_password(value: &[u8]) -> bool {
    let Ok(value) = std::str::from_utf8(value) else { return false };
    let plain =
        value.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'<' | b'>' | b'{' | b'}' | b'$' | b'[' | b'%'));
    let mixed = value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_lowercase())
        && value.bytes().any(|b| b.is_ascii_uppercase());
    // Public keys, which measuring and search give to browsers, are written down like others.
    const PUBLIC: [&str; 6] = ["phc_", "pk_", "AIza", "sk_test_", "sk-", "eyJ"];
    plain && mixed && is_random(value) && !value.contains("://") && !PUBLIC.iter().any(|known| value.starts_with(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body and the sum of it, as GitHub and npm make tokens.
    fn summed(body: &str) -> String {
        let digits: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
        let mut sum = crc32fast::hash(body.as_bytes());
        let mut tail = String::new();
        for _ in 0..6 {
            tail.insert(0, digits[(sum % 62) as usize]);
            sum /= 62;
        }
        format!("{body}{tail}")
    }

    fn web_token(claims: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.{}", part(r#"{"alg":"RS256","typ":"JWT"}"#), part(claims), &DICE[..40])
    }

    const DICE: &str = "q7Rz2LmX9vKp4WnB8sYd3HgT6cJf1QaEuNiV5oPkZ0wGxCbM";

    /// Put together at run time, so that no scanner takes this file for a leak.
    fn planted() -> Vec<(&'static str, String)> {
        let dice = DICE;
        let mut key = vec![0x30, 0x82, 0x01, 0x00];
        key.extend((0..256u32).map(|it| (it * 167 + 13) as u8));
        let key = base64::engine::general_purpose::STANDARD.encode(key);
        let mut macaroon = b"\x02\x01\x08pypi.org".to_vec();
        macaroon.extend((0..100u32).map(|it| (it * 167 + 13) as u8));
        vec![
            ("AWS access key", format!("AK{}{} / {}", "IA", "Q3EGRZ7YV2WN5KXB", &dice[..40])),
            ("GitHub token", format!("gh{}_{}", "p", summed(&dice[..30]))),
            ("GitHub token", format!("github_{}_{}_{}{}", "pat", &dice[..22], &dice[..40], &dice[..19])),
            ("GitLab token", format!("gl{}-{}", "pat", &dice[..20])),
            ("Slack token", format!("xo{}-{}-{}-{}", "xb", "2847593610385", "9847502957164", &dice[..24])),
            ("Stripe key", format!("sk_{}_{}", "live", &dice[..24])),
            ("Anthropic key", format!("sk-{}-api03-{dice}{dice}AA", "ant")),
            ("OpenAI key", format!("sk-{}{}{}", &dice[..20], "T3Blbk".to_owned() + "FJ", &dice[20..40])),
            ("npm token", format!("np{}_{}", "m", summed(&dice[..30]))),
            ("PyPI token", format!("py{}-{}", "pi", URL_SAFE_NO_PAD.encode(macaroon))),
            ("JSON web token", web_token(r#"{"iss":"https://id.acme.io","sub":"u-77","exp":1790000000}"#)),
            ("private key", format!("-----BEGIN {} KEY-----\n{}\n{}\n-----END", "PRIVATE", &key[..64], &key[64..])),
            ("password or key", format!("db_password: \"{}\"", &dice[..24])),
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
            "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "AKIAQ3EGRZ7YV2WN5KXB",
            &format!("ghp_{}", &DICE[..36]),
            &format!("phc_{DICE}"),
            &format!("pk_live_{}", &DICE[..24]),
            &format!("sk_test_{}", &DICE[..24]),
            &format!("sk-{}", &DICE[..48]),
            &format!("AIza{}", &DICE[..35]),
            &format!("apiKey: \"{}\"", &DICE[..32]),
            &format!("https://{}@o123.ingest.sentry.io/4", &DICE[..32]),
            &web_token(r#"{"sub":"1234567890","name":"John Doe","iat":1516239022}"#),
            &web_token(r#"{"iss":"supabase","role":"anon","exp":1983812996}"#),
            &format!("-----BEGIN PRIVATE KEY-----\n{DICE}{DICE}\n{DICE}{DICE}\n-----END PRIVATE KEY-----"),
            "xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx",
            "npm_abcdefghijklmnopqrstuvwxyz0123456789",
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
