use serde::{Deserialize, Serialize};

use crate::Invalid;

/// How a project's page views are collected, counted and kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ViewSettings {
    /// The hosts of the documentation site, in small letters and without a port. If there are any, a script's views of
    /// other hosts are left out, and views may name the project by one of them.
    pub domains: Vec<String>,
    /// Which channel people and machines are counted from.
    #[serde(flatten)]
    pub sources: Sources,
    /// Days that views are kept; none: the server's default; 0: for ever.
    pub keep_days: Option<u32>,
}

/// Which channel people and machines are counted from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ViewSources))]
#[serde(default)]
pub struct Sources {
    pub people: Source,
    pub machines: Source,
}

/// A channel to count from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ViewSource))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// People: the server side until the first person is seen by script, then the script alone. Machines: the script
    /// until the first machine is seen from the server side, then the server side alone. To the quarter hour.
    #[default]
    Auto,
    /// The script alone.
    Script,
    /// The server side alone.
    Server,
    Both,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Script => "script",
            Self::Server => "server",
            Self::Both => "both",
        }
    }
}

/// Hosts that a project may have at most.
pub const MAX_DOMAINS: usize = 100;

/// The host of a documentation site in its plain form: `docs.example.com`, `localhost`.
pub fn domain(text: &str) -> Result<String, Invalid> {
    let host = text.trim().trim_end_matches('.').to_ascii_lowercase();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(plain);
    if (1..=253).contains(&host.len()) && host.split('.').all(label) {
        Ok(host)
    } else {
        Err(Invalid::new(
            "domain",
            format!("must be a host such as docs.example.com, without scheme, port and path, not {text:?}"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_hosts() {
        assert_eq!(domain("Docs.Example.com.").unwrap(), "docs.example.com");
        assert_eq!(domain("localhost").unwrap(), "localhost");
        for wrong in ["", "https://a.b", "a.b/c", "a..b", "a b", "a.b:80", "*.a.b"] {
            assert!(domain(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn settings_survive_json_and_older_ones_are_read() {
        let settings = ViewSettings {
            domains: vec!["docs.example.com".to_owned()],
            sources: Sources { people: Source::Script, machines: Source::Both },
            keep_days: Some(400),
        };
        let json = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<ViewSettings>(&json).unwrap(), settings);
        assert_eq!(serde_json::from_str::<ViewSettings>("{}").unwrap(), ViewSettings::default());
    }
}
