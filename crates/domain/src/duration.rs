//! Durations as people write them: `500ms`, `30s`, `1h30m`, `90d`.

use std::time::Duration;

/// Units from large to small, in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

const FORM: &str = "write whole numbers with the units d, h, m, s or ms, such as 1h30m";

/// Reads a duration such as `500ms`, `30s`, `15m`, `24h`, `90d` or `1h30m`.
///
/// Units go from large to small and each is used at most once.
///
/// # Errors
///
/// A phrase that says what is wrong; it does not repeat the text.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    if text.is_empty() {
        return Err(FORM.into());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Which one is meant nobody can tell, so all that may be are written out.
        let count = cut(text);
        return Err(format!(
            "add its unit: {count}d for days, {count}h for hours, {count}m for minutes or {count}s for seconds"
        ));
    }
    let mut rest = text;
    let mut allowed = UNITS.as_slice();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (digits, after) = split(rest, |c| !c.is_ascii_digit());
        let (unit, after) = split(after, |c| c.is_ascii_digit());
        if digits.is_empty() || !UNITS.iter().any(|(name, _)| *name == unit) {
            return Err(FORM.into());
        }
        let Some(place) = allowed.iter().position(|(name, _)| *name == unit) else {
            return Err("write each unit once, from large to small, such as 1h30m".into());
        };
        let part = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(allowed[place].1));
        total = part.and_then(|part| total.checked_add(part)).ok_or("it is too long")?;
        allowed = &allowed[place + 1..];
        rest = after;
    }
    Ok(Duration::from_millis(total))
}

/// Writes a duration so that [`parse_duration`] reads it back; what is finer
/// than a millisecond is dropped.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let mut rest = duration.as_millis();
    let mut text = String::new();
    for (unit, size) in UNITS {
        let size = u128::from(size);
        // Below two days people count hours: 24h and 36h, not 1d and 1d12h.
        let count = if unit == "d" && rest < 2 * size { 0 } else { rest / size };
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
            rest -= count * size;
        }
    }
    if text.is_empty() {
        text.push_str("0s");
    }
    text
}

fn split(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

/// Keeps a hint short when the number is absurd.
fn cut(digits: &str) -> &str {
    digits.get(..6).unwrap_or(digits)
}

#[cfg(test)]
mod tests;
