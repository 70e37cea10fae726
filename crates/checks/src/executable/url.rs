//! Addresses that are programs.

/// Whether a browser that follows an address runs something: a script, or a page that the address holds.
pub(super) fn runs(address: &str) -> bool {
    // Browsers drop what nobody sees before and in the scheme.
    let plain: String = decoded(address).chars().filter(|c| !c.is_control() && !c.is_whitespace()).take(200).collect();
    let plain = percent_decoded(&plain).to_ascii_lowercase();
    let Some((scheme, rest)) = plain.split_once(':') else { return false };
    match scheme {
        "javascript" | "vbscript" | "livescript" => true,
        "data" => {
            let kind = rest.split([',', ';']).next().unwrap_or_default();
            matches!(kind, "text/html" | "application/xhtml+xml" | "text/xml" | "application/xml" | "text/javascript")
        }
        _ => false,
    }
}

/// Whether the texts of an expression, one after the other, are or hold such an address.
pub(super) fn runs_in(texts: &[String]) -> bool {
    let joined: String = texts.concat().chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let lower = joined.to_ascii_lowercase();
    texts.iter().any(|text| runs(text))
        || ["javascript:", "vbscript:", "data:text/html"].iter().any(|scheme| lower.contains(scheme))
}

/// The host of an address, if it names one, as browsers read it: strokes may lean either way, and be missing.
pub(super) fn host(address: &str) -> Option<String> {
    let plain: String = address.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let plain = plain.replace('\\', "/");
    let rest = match plain.split_once(':') {
        Some((scheme, rest)) if scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) => rest,
        _ => plain.strip_prefix("//")?,
    };
    let host = rest.trim_start_matches('/').split(['/', '?', '#']).next()?.rsplit('@').next()?;
    Some(host.split(':').next().unwrap_or(host).to_ascii_lowercase())
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let coded = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match coded.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// A text with its character references resolved, as far as they could hide a scheme.
pub(super) fn decoded(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let (character, length) = reference(after);
        match character {
            Some(character) => plain.push(character),
            None => plain.push('&'),
        }
        rest = &after[length..];
    }
    plain.push_str(rest);
    plain
}

/// The character that a reference stands for, and its length after the `&`.
fn reference(after: &str) -> (Option<char>, usize) {
    let (digits, radix, skipped) = match after.as_bytes() {
        [b'#', b'x' | b'X', ..] => (&after[2..], 16, 2),
        [b'#', ..] => (&after[1..], 10, 1),
        _ => {
            const NAMES: [(&str, char); 14] = [
                ("colon;", ':'),
                ("Tab;", '\t'),
                ("NewLine;", '\n'),
                ("lpar;", '('),
                ("rpar;", ')'),
                ("sol;", '/'),
                ("quot;", '"'),
                ("apos;", '\''),
                ("lt;", '<'),
                ("gt;", '>'),
                ("amp;", '&'),
                ("lt", '<'),
                ("gt", '>'),
                ("quot", '"'),
            ];
            let named = NAMES.iter().find(|(name, _)| after.starts_with(name));
            return named.map_or((None, 0), |(name, character)| (Some(*character), name.len()));
        }
    };
    let count = digits.bytes().take(8).take_while(|byte| char::from(*byte).is_digit(radix)).count();
    let character = u32::from_str_radix(&digits[..count], radix).ok().and_then(char::from_u32);
    let end = usize::from(digits.as_bytes().get(count) == Some(&b';'));
    match character {
        Some(character) => (Some(character), skipped + count + end),
        None => (None, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_in_addresses_are_seen_however_they_are_written() {
        for address in [
            "javascript:alert(1)",
            " JaVaScript:alert(1)",
            "java\tscript:alert(1)",
            "java\nscript:x",
            "javascript&colon;x",
            "&#106;avascript:x",
            "&#x6A;avascript:x",
            "&#0000106avascript:x",
            "javascript&#58;x",
            "java&Tab;script:x",
            "%6aavascript:x",
            "vbscript:x",
            "data:text/html,<script>",
            "DATA:text/html;base64,PHNjcmlwdD4=",
            "\u{1}javascript:x",
        ] {
            assert!(runs(address), "{address:?}");
        }
        for address in
            ["/javascript", "https://x/javascript:y", "#javascript:", "mailto:a@b", "data:image/png;base64,x", "a?b&c"]
        {
            assert!(!runs(address), "{address:?}");
        }
    }
}
