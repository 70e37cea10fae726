//! Forms that do something once, however often they are sent.

use copydesk_domain::{hex, random_token};
use copydesk_store::Idempotency;
use sha2::{Digest, Sha256};

use crate::form::Form;

/// The field of the mark.
const MARK: &str = "mark";

/// A mark for a form that is shown now.
pub(crate) fn mark() -> String {
    random_token()
}

/// The promise that this form, as it was filled in, is one and the same: sent again it does nothing more. What was changed in
/// it meanwhile, with the back button, is another. None for a form that has no mark.
pub(crate) fn idempotency(what: &str, form: &Form) -> Option<Idempotency> {
    let mark = form.text(MARK);
    if mark.len() != 32 || !mark.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return None;
    }
    let mut digest = Sha256::new();
    for (name, value) in form.fields() {
        for text in [what, name, value] {
            digest.update((text.len() as u64).to_be_bytes());
            digest.update(text);
        }
    }
    let fingerprint = hex(&digest.finalize());
    Some(Idempotency { key: format!("form:{mark}:{fingerprint}"), fingerprint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_form_is_the_same_and_another_is_not() {
        let mark = mark();
        let of = |rest: &str| idempotency("job", &Form::parse(format!("mark={mark}&{rest}").as_bytes())).unwrap().key;
        assert_eq!(of("prompt=a"), of("prompt=a"));
        assert_ne!(of("prompt=a"), of("prompt=b"));
        assert_ne!(of("a=bc"), of("ab=c"));
        assert!(of("prompt=a").len() <= 255);
        for odd in ["", "mark=", "mark=x", "mark=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
            assert!(idempotency("job", &Form::parse(odd.as_bytes())).is_none());
        }
    }
}
