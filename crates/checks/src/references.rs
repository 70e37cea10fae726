//! References to characters in HTML: by number, and by name as far as addresses hold any or could be hidden by them.

/// A text as browsers read it.
pub(crate) fn decoded(text: &str) -> String {
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
            const NAMES: [(&str, char); 15] = [
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
                ("nbsp;", '\u{a0}'),
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
