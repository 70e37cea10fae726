//! Private keys in the form that programs read them from.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{FoundSecret, MOST};

/// A key block counts only with a key in it: what is between its lines has the form of one.
pub(super) fn find(text: &str, found: &mut Vec<FoundSecret>) {
    for start in memchr::memmem::find_iter(text.as_bytes(), "-----BEGIN ").take(MOST) {
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let line = text[start..line_end].trim_end();
        if !line.ends_with("PRIVATE KEY-----") || line.len() > 80 || line.contains("ENCRYPTED") {
            continue;
        }
        let mut body = String::new();
        let mut end = line_end;
        for line in text[line_end..].lines().skip(1).take(200) {
            let content = line.trim().trim_start_matches(['>', ' ', '#']);
            let is_body = !content.is_empty()
                && content.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
            if !is_body {
                break;
            }
            body.push_str(content);
            end += line.len() + 1;
        }
        if STANDARD.decode(&body).is_ok_and(|bytes| is_key(&bytes)) {
            let range = start..text.floor_char_boundary(end.min(text.len()));
            found.push(FoundSecret { kind: "private key", range });
        }
    }
}

/// A sequence of DER that is as long as it says, or the form of OpenSSH.
fn is_key(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"openssh-key-v1\0") {
        return bytes.len() > 100;
    }
    let length = match bytes {
        [0x30, short @ 0..=0x7f, ..] => 2 + usize::from(*short),
        [0x30, 0x81, length, ..] => 3 + usize::from(*length),
        [0x30, 0x82, high, low, ..] => 4 + usize::from(*high) * 256 + usize::from(*low),
        _ => return false,
    };
    length == bytes.len() && bytes.len() >= 40
}
