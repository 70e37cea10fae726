/// The most bytes a prompt may have after trimming.
pub const MAX_PROMPT_BYTES: usize = 65_536;

/// An instruction for the agent: trimmed, not empty, of bounded size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt(String);

/// Why a text is no prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// Nothing but white space.
    #[error("must not be empty")]
    Empty,
    /// Too long.
    #[error("must have at most 65536 bytes after trimming, has {0}")]
    TooLong(usize),
}

impl Prompt {
    /// Trims and measures `text`.
    pub fn parse(text: &str) -> Result<Self, PromptError> {
        let trimmed = text.trim();
        match trimmed.len() {
            0 => Err(PromptError::Empty),
            1..=MAX_PROMPT_BYTES => Ok(Self(trimmed.to_owned())),
            bytes => Err(PromptError::TooLong(bytes)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_limit_is_in_bytes_and_after_trimming() {
        let full = "ä".repeat(MAX_PROMPT_BYTES / 2);
        assert!(Prompt::parse(&format!("  {full}\n")).is_ok());
        assert_eq!(Prompt::parse(&format!("{full}a")), Err(PromptError::TooLong(MAX_PROMPT_BYTES + 1)));
        assert_eq!(Prompt::parse(" \t\u{3000}\n"), Err(PromptError::Empty));
    }

    proptest! {
        #[test]
        fn parsing_twice_changes_nothing(text in "\\PC{0,40}|\\s{0,4}\\PC{1,40}\\s{0,4}") {
            if let Ok(prompt) = Prompt::parse(&text) {
                prop_assert_eq!(Prompt::parse(prompt.as_str()), Ok(prompt));
            }
        }
    }
}
