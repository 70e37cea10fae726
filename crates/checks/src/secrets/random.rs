//! Whether a text looks like dice.

/// No word that examples are made of, no run, no alphabet in order, and as many different characters as chance brings.
pub(super) fn is_random(text: &str) -> bool {
    const WORDS: [&str; 26] = [
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
        "qwerty",
        "deadbeef",
        "mykey",
        "valid",
    ];
    let lower = text.to_ascii_lowercase();
    if WORDS.iter().any(|word| lower.contains(word)) {
        return false;
    }
    let bytes = text.as_bytes();
    let repeats = bytes.windows(4).any(|window| window.iter().all(|b| *b == window[0]));
    // Steps of one, up or down: chance makes few of them.
    let steps = lower.as_bytes().windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
    let ordered = steps * 4 > bytes.len();
    !repeats && !ordered && !is_periodic(bytes) && entropy(bytes) >= least(bytes)
}

/// The same few characters again and again.
fn is_periodic(bytes: &[u8]) -> bool {
    (2..=8).any(|period| bytes.len() > 2 * period && bytes.iter().zip(&bytes[period..]).all(|(a, b)| a == b))
}

/// How many bits a character says, by how often each occurs.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    bytes.iter().for_each(|b| counts[usize::from(*b)] += 1);
    let total = bytes.len().max(1) as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|part| -part * part.log2())
        .sum()
}

/// Chance seldom brings less; short texts and few digits have less to say.
fn least(bytes: &[u8]) -> f64 {
    let is_hex = bytes.iter().all(u8::is_ascii_hexdigit);
    let most = (bytes.len().max(2) as f64).log2();
    if is_hex { (most - 1.2).min(3.0) } else { (most - 1.0).min(3.6) }
}
