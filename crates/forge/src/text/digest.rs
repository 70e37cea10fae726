use sha2::{Digest, Sha256};

/// Tells a text from others, whatever a code host does to the ends of its lines.
pub fn digest(text: &str) -> String {
    let mut hash = Sha256::new();
    for line in text.trim().lines() {
        hash.update(line.trim_end().as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_lines_do_not_count() {
        assert_eq!(digest("a \r\nb\r\n"), digest("a\nb"));
        assert_ne!(digest("a\nb"), digest("ab"));
    }
}
