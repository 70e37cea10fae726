//! The words of a user agent, each without what tells one reader from another.

use std::borrow::Cow;

/// The most that is kept of one word.
pub(super) const MAX_WORD: usize = 40;

/// Whether `text` begins so, in any case.
pub(super) fn begins(text: &str, start: &str) -> bool {
    text.as_bytes().get(..start.len()).is_some_and(|first| first.eq_ignore_ascii_case(start.as_bytes()))
}

/// The address at which the operator of a bot can be reached: only its host, and of an e-mail address nothing.
pub(super) fn contact(raw: &str) -> Option<Cow<'static, str>> {
    let bare = raw.trim_matches(['+', '-', '<', '>', '\'', '`', '*', '|', '\\']);
    if is_mail(bare) || raw == "+mail" {
        return Some("+mail".into());
    }
    let scheme = bare.as_bytes().windows(3).position(|three| three == b"://");
    let host = match scheme {
        Some(at) => &bare[at + 3..],
        None if begins(bare, "http:") => bare.get(5..)?,
        None if begins(bare, "www.") || (raw.starts_with('+') && bare.contains('.')) => bare,
        None if raw == "+link" => return Some("+link".into()),
        None => return None,
    };
    let end = host.bytes().position(|byte| matches!(byte, b'/' | b':' | b'?' | b'#')).unwrap_or(host.len());
    let mut kept = String::with_capacity(MAX_WORD + 1);
    kept.push('+');
    let letters = host[..end].chars().filter(|char| is_host(*char)).take(MAX_WORD);
    kept.extend(letters.map(|char| char.to_ascii_lowercase()));
    if let Some(bare) = kept.get(1..).map(|host| host.trim_start_matches("www.").trim_matches(['.', '-']))
        && bare.len() + 1 != kept.len()
    {
        kept = ["+", bare].concat();
    }
    let digits = kept.bytes().filter(u8::is_ascii_digit).count();
    let named = kept.contains('.') && digits < 5 && kept.bytes().any(|byte| byte.is_ascii_alphabetic());
    Some(if named { kept.into() } else { "+link".into() })
}

/// `bots@example.com`; not `android@150.0`, which is a version.
fn is_mail(word: &str) -> bool {
    let host = word.split_once('@').and_then(|(_, host)| host.rsplit_once('.'));
    host.is_some_and(|(_, end)| end.starts_with(|first: char| first.is_alphabetic()))
        || word.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("mailto:"))
}

fn is_host(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '.' || char == '-'
}

/// A name without the version at its end; none if nothing is left, or if it is an id.
pub(super) fn clean(name: &str) -> Option<Cow<'_, str>> {
    let is_plain = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    let is_whole = |bytes: &[u8]| {
        matches!(bytes, [first, .., last] if first.is_ascii_alphabetic() && last.is_ascii_alphabetic())
            && bytes.len() <= MAX_WORD
    };
    // Most names: nothing to trim.
    if is_whole(name.as_bytes()) && name.bytes().all(is_plain) {
        return Some(Cow::Borrowed(name));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'!' | b'*' | b'&');
    if name.bytes().all(allowed) {
        return trimmed(name).map(Cow::Borrowed);
    }
    let plain: String = name.chars().filter(|char| char.is_ascii() && allowed(*char as u8)).collect();
    // What was no address because of a letter in front of it is none without that letter.
    trimmed(&plain).filter(|name| !begins(name, "www.")).map(|name| Cow::Owned(name.to_owned()))
}

/// The same for a name of plain letters: trimmed until nothing more can be.
fn trimmed(mut name: &str) -> Option<&str> {
    loop {
        let cut = name.get(..MAX_WORD).unwrap_or(name);
        let without = without_version(cut).trim_start_matches(['-', '_', '.', '*', '&', '!']);
        if without.len() == name.len() {
            break;
        }
        name = without;
    }
    let letters = name.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = name.len() - name.bytes().filter(|byte| !byte.is_ascii_digit()).count();
    let counts = name.strip_prefix(['v', 'V']).unwrap_or(name).starts_with(|first: char| first.is_ascii_digit());
    let is_version = letters == 0 || matches!(name, "v" | "V") || (counts && name.contains('.'));
    let is_hex = || name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_id = digits >= 5 || (name.len() >= 20 && digits >= 3) || (name.len() >= 12 && digits > 0 && is_hex());
    (!is_version && !is_id).then_some(name)
}

fn without_version(name: &str) -> &str {
    let end =
        name.trim_end_matches(|char: char| char.is_ascii_digit() || matches!(char, '-' | '_' | '.' | '*' | '&')).len();
    match name.as_bytes().get(..end) {
        // `Bot-v2`: the letter belongs to the version.
        Some([.., b'-' | b'_' | b'.', b'v' | b'V']) if end < name.len() => &name[..end - 2],
        _ => &name[..end],
    }
}

/// Names of products are composed (`claude-code`, `HTTPClient`); names of people, of devices (`SM-S926U`), of languages
/// (`en_US`) and the words of a sentence are not.
pub(super) fn is_composed(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_plain = bytes.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'.'));
    let is_joined = bytes.iter().any(|byte| matches!(byte, b'-' | b'_' | b'.')) && bytes.len() > 5;
    is_plain && (is_joined || bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()))
}
