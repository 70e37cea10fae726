//! The values of the settings in the section `model`.

use std::fmt;

use super::log::Choice;

/// Who serves the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's own interface.
    Anthropic,
    /// OpenAI's chat interface, or anything that speaks it: vLLM, llama.cpp, LM Studio, gateways.
    OpenAi,
    /// Ollama's own interface.
    Ollama,
    /// Google's Gemini interface.
    Gemini,
}

impl Provider {
    /// The provider as it is written in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
            Self::Gemini => "gemini",
        }
    }
}

impl Choice for Provider {
    const ALL: &'static [Self] = &[Self::Anthropic, Self::OpenAi, Self::Ollama, Self::Gemini];

    fn name(self) -> &'static str {
        self.as_str()
    }
}

/// A value that is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Anything but blanks and control characters, which only a mistake puts there.
    pub(super) fn parse(text: &str) -> Result<Self, Option<String>> {
        let plain = |c: char| !c.is_control() && !c.is_whitespace();
        if (1..=4096).contains(&text.len()) && text.chars().all(plain) { Ok(Self(text.to_owned())) } else { Err(None) }
    }

    /// The value.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(****)")
    }
}

/// An amount of US dollars, to the millionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dollars(u64);

impl Dollars {
    /// Reads `3`, `0.25`, `15.000001`: up to a million, up to six places.
    pub(super) fn parse(text: &str) -> Result<Self, Option<String>> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(part) || whole.len() > 7 || part.len() > 6 {
            return Err(None);
        }
        let millions = |text: &str| text.parse::<u64>().map_err(|_| None);
        let micros = millions(whole)? * 1_000_000 + millions(&format!("{part:0<6}"))?;
        if micros <= 1_000_000_000_000 { Ok(Self(micros)) } else { Err(None) }
    }

    /// The amount.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        // An amount has at most twelve digits, and a float keeps fifteen.
        self.0 as f64 / 1_000_000.0
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if part == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{part:06}").trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_back() {
        for text in ["0", "3", "0.25", "15.000001", "1000000"] {
            assert_eq!(Dollars::parse(text).unwrap().to_string(), text);
        }
        for text in ["", ".", "1.", ".5", "-1", "1e3", "0.1234567", "1000000.1", "99999999", "1,5"] {
            assert!(Dollars::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::parse("hunter2").unwrap();
        assert!(!format!("{secret:?}").contains("hunter2"));
        for text in ["", "a b", "a\n", "a\0"] {
            assert!(Secret::parse(text).is_err(), "{text:?}");
        }
    }
}
