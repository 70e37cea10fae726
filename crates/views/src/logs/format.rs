use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::cloudfront::Columns;
use super::common::{self, Shape};
use super::json;
use super::line::LogLine;
use super::template::{Template, TemplateError};

/// How the lines of a log are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// nginx's and Apache's `combined`.
    Combined,
    /// The common log format: without a user agent.
    Common,
    /// `combined` with the host in front: Apache's `vhost_combined`.
    VhostCombined,
    /// The common log format with the host in front.
    VhostCommon,
    Caddy,
    CloudFront,
    /// Fastly: the common or combined format or JSON, with or without the head of a syslog message.
    Fastly,
    /// A JSON object a line.
    Json,
    /// By a format string.
    Template(Arc<Template>),
}

/// Those that have a name, in the order in which they are tried: the more a format asks of a line, the earlier.
const NAMED: [Format; 8] = [
    Format::Caddy,
    Format::Fastly,
    Format::Json,
    Format::CloudFront,
    Format::VhostCombined,
    Format::Combined,
    Format::VhostCommon,
    Format::Common,
];

impl Format {
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(Self::name)
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Common => "common",
            Self::VhostCombined => "vhost_combined",
            Self::VhostCommon => "vhost_common",
            Self::Caddy => "caddy",
            Self::CloudFront => "cloudfront",
            Self::Fastly => "fastly",
            Self::Json => "json",
            Self::Template(_) => "format string",
        }
    }

    /// Whether lines of this format can name the host that was asked.
    pub fn tells_host(&self) -> bool {
        match self {
            Self::Combined | Self::Common => false,
            Self::Template(template) => template.tells_host(),
            _ => true,
        }
    }

    /// The format of a log that begins with `head`; none if no line is of any. Of formats that fit many lines the one
    /// that asks most of a line: what is combined is also common, but then nobody would know who asked.
    pub fn detect(head: &[u8]) -> Option<Self> {
        let matching = NAMED.map(|format| (format.matching(head), format));
        let most = matching.iter().map(|(lines, _)| *lines).max().filter(|most| *most > 0)?;
        matching.into_iter().find_map(|(lines, format)| (lines * 2 > most).then_some(format))
    }

    /// How many lines of `head` are of this format and no simpler one.
    fn matching(&self, head: &[u8]) -> usize {
        let mut parser = Parser::new(self);
        let lines = head.split(|&byte| byte == b'\n').take(DETECT_LINES);
        lines.filter(|line| matches!(parser.parse(line), LogLine::Hit(_)) && self.is_typical(line)).count()
    }

    /// Whether a line that was read shows that nothing of it is missing: it ends with what closes it.
    pub(super) fn is_closed_by(&self, line: &[u8]) -> bool {
        match self {
            Self::Combined | Self::VhostCombined => line.ends_with(b"\""),
            Self::Caddy | Self::Json => line.trim_ascii_end().ends_with(b"}"),
            _ => false,
        }
    }

    fn is_typical(&self, line: &[u8]) -> bool {
        match self {
            Self::Caddy => json::is_caddy(line),
            Self::Fastly => json::is_fastly(line) || line.starts_with(b"<"),
            // The second word is the address; without a host it would be what nobody fills in.
            Self::VhostCombined | Self::VhostCommon => {
                line.split(|&byte| byte == b' ').nth(1).is_some_and(|word| super::text::address(word).is_some())
            }
            _ => true,
        }
    }
}

/// Lines that are looked at to tell the format.
const DETECT_LINES: usize = 200;

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl serde::Serialize for Format {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Format {
    type Err = TemplateError;

    /// A name, or a format string of nginx or Apache.
    fn from_str(text: &str) -> Result<Self, TemplateError> {
        let name = text.trim().to_ascii_lowercase().replace('-', "_");
        let named = match name.as_str() {
            "nginx" | "apache" => Some(Self::Combined),
            "vhost" => Some(Self::VhostCombined),
            "jsonl" | "ndjson" => Some(Self::Json),
            name => NAMED.into_iter().find(|format| format.name() == name),
        };
        match named {
            Some(format) => Ok(format),
            None => Template::new(text).map(|template| Self::Template(Arc::new(template))),
        }
    }
}

/// Reads the lines of one log.
#[derive(Debug, Clone)]
pub struct Parser {
    format: Format,
    /// What the last `#Fields:` line said.
    columns: Arc<Columns>,
}

impl Parser {
    pub fn new(format: &Format) -> Self {
        Self { format: format.clone(), columns: Arc::default() }
    }

    pub fn format(&self) -> &Format {
        &self.format
    }

    /// What a line is, without its end.
    pub fn parse<'a>(&mut self, line: &'a [u8]) -> LogLine<'a> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.iter().all(u8::is_ascii_whitespace) {
            return LogLine::Aside;
        }
        match &self.format {
            Format::Combined => common::parse(line, Shape { vhost: false, agent: true }),
            Format::Common => common::parse(line, Shape { vhost: false, agent: false }),
            Format::VhostCombined => common::parse(line, Shape { vhost: true, agent: true }),
            Format::VhostCommon => common::parse(line, Shape { vhost: true, agent: false }),
            Format::Caddy | Format::Json => json::parse(line),
            Format::Fastly => fastly(line),
            Format::Template(template) => template.parse(line),
            Format::CloudFront => {
                if let Some(columns) = Columns::of(line) {
                    self.columns = Arc::new(columns);
                }
                self.columns.parse(line)
            }
        }
    }

    /// Learns from whole lines that somebody else reads what the lines behind them need.
    pub(super) fn learn_columns(&mut self, lines: &[u8]) {
        if self.format != Format::CloudFront {
            return;
        }
        let starts = memchr::memmem::rfind_iter(lines, super::cloudfront::FIELDS);
        let mut starts = starts.filter(|&at| at == 0 || lines[at - 1] == b'\n');
        if let Some(at) = starts.next() {
            let end = memchr::memchr(b'\n', &lines[at..]).map_or(lines.len(), |length| at + length);
            if let Some(columns) = Columns::of(&lines[at..end]) {
                self.columns = Arc::new(columns);
            }
        }
    }
}

/// A message as Fastly sends it: as it is, or in a syslog envelope (`<134>2024-… cache-fra1 name[123]: …`).
fn fastly(line: &[u8]) -> LogLine<'_> {
    let message = match line.first() {
        Some(b'<') => match memchr::memmem::find(line, b": ") {
            Some(colon) => &line[colon + 2..],
            None => return LogLine::Unparsable,
        },
        _ => line,
    };
    if message.first() == Some(&b'{') {
        return json::parse(message);
    }
    match common::parse(message, Shape { vhost: false, agent: true }) {
        LogLine::Unparsable => common::parse(message, Shape { vhost: false, agent: false }),
        line => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMBINED: &str = r#"192.0.2.1 - - [10/Oct/2024:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "x""#;
    const COMMON: &str = r#"192.0.2.1 - - [10/Oct/2024:13:55:36 +0000] "GET /a HTTP/1.1" 200 5"#;

    #[test]
    fn formats_are_told_by_their_lines() {
        let vhost = format!("docs.example:80 {COMBINED}");
        let vhost_common = format!("docs.example {COMMON}");
        let cloudfront = "#Version: 1.0\n#Fields: date time cs-uri-stem\n2024-10-10\t13:55:36\t/a";
        let syslog = format!("<134>2024-10-10T13:55:36Z cache-fra1 logs[4]: {COMMON}");
        for (head, expected) in [
            (COMBINED, "combined"),
            (COMMON, "common"),
            (&vhost, "vhost_combined"),
            (&vhost_common, "vhost_common"),
            (cloudfront, "cloudfront"),
            (&syslog, "fastly"),
            (
                r#"{"url":"/a","timestamp":"2024-10-10T13:55:36+0000","request_user_agent":"x","response_status":200}"#,
                "fastly",
            ),
            (r#"{"path":"/a","ts":1728568536}"#, "json"),
            (r#"{"ts":1728568536,"request":{"uri":"/a"}}"#, "caddy"),
        ] {
            let head = format!("\nnoise\n{head}\n");
            assert_eq!(
                Format::detect(head.as_bytes()).map(|format| format.to_string()).as_deref(),
                Some(expected),
                "{head}"
            );
        }
        assert_eq!(Format::detect(b"hello\nworld\n"), None);
    }

    #[test]
    fn a_user_with_a_space_is_no_host() {
        let line = COMBINED.replace("- -", "- john doe");
        assert_eq!(Format::detect(line.as_bytes()), Some(Format::Combined));
    }

    #[test]
    fn formats_have_names() {
        for name in Format::names() {
            assert_eq!(name.parse::<Format>().unwrap().to_string(), name);
        }
        assert_eq!("nginx".parse(), Ok(Format::Combined));
        assert!(matches!("$msec $request".parse(), Ok(Format::Template(_))));
        assert!("nonsense".parse::<Format>().is_err());
    }

    #[test]
    fn the_columns_of_the_last_header_hold() {
        let mut parser = Parser::new(&Format::CloudFront);
        parser.learn_columns(b"#Fields: time date cs-uri-stem\nx\n#Fields: date time cs-uri-stem\ny#Fields: date\n");
        assert!(matches!(parser.parse(b"2024-10-10\t13:55:36\t/a"), LogLine::Hit(_)));
    }
}
