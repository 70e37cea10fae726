//! Web tokens whose claims are somebody's.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use copydesk_values::{Value, json};

use super::{FoundSecret, is_part, is_random};

/// The longest token that is looked into.
const LONGEST: usize = 8 * 1024;

/// Three parts with dots between, of which the first two are objects. Claims that are made up are no secret, nor are
/// those that services give to browsers.
pub(super) fn find(text: &str, start: usize) -> Option<FoundSecret> {
    let length = text.as_bytes()[start..].iter().take(LONGEST).take_while(|b| is_part(**b) || **b == b'.').count();
    let end = start + length;
    let parts: Vec<&str> = text[start..end].trim_end_matches('.').split('.').collect();
    let [head, claims, signature] = parts[..] else { return None };
    let object = |part: &str| -> Option<Value> {
        let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
        json(std::str::from_utf8(&bytes).ok()?).ok()
    };
    let algorithm = object(head)?.get("alg").and_then(Value::text)?.to_ascii_lowercase();
    let is_real = is_somebodys(&object(claims)?);
    (is_real && algorithm != "none" && signature.len() >= 40 && is_random(signature))
        .then_some(FoundSecret { kind: "JSON web token", range: start..end })
}

fn is_somebodys(claims: &Value) -> bool {
    const SAMPLES: [&str; 16] = [
        "example",
        "john",
        "jane",
        "doe",
        "1234567890",
        "test",
        "demo",
        "sample",
        "foo",
        "bar",
        "localhost",
        "alice",
        "bob",
        "anon",
        "user123",
        "your",
    ];
    let mut texts = Vec::new();
    collect(claims, &mut texts);
    let is_sample = texts.iter().any(|text| SAMPLES.iter().any(|sample| text.contains(sample)));
    let time = |name: &str| claims.get(name).and_then(Value::written).and_then(|at| at.parse::<f64>().ok());
    let is_dated = ["exp", "iat"].iter().any(|name| time(name).is_some_and(|at| at > 1.4e9));
    // One that was good for an hour is good for nothing when somebody reads of it.
    let is_short = match (time("exp"), time("iat").or_else(|| time("nbf"))) {
        (Some(end), Some(start)) => end - start <= 86_400.0,
        _ => false,
    };
    let is_of_someone = ["iss", "sub", "jti", "aud"].iter().any(|name| claims.get(name).is_some());
    is_dated && !is_short && is_of_someone && !is_sample
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    texts.extend(value.written().map(str::to_ascii_lowercase));
    value.items().iter().for_each(|item| collect(item, texts));
    value.entries().iter().for_each(|(_, value)| collect(value, texts));
}
