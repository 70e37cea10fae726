//! CloudFront's standard logs: tabs between the fields, which a `#Fields:` line names.

use std::borrow::Cow;

use memchr::memchr_iter;

use super::line::LogLine;
use super::text;
use super::time;
use crate::Hit;

/// The columns in which the fields stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Columns(Vec<Column>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Date,
    Time,
    Timestamp,
    Address,
    Method,
    Host,
    /// The host that the reader named, rather than that of the distribution.
    NamedHost,
    Path,
    Status,
    UserAgent,
    Anything,
}

/// The line that names the fields begins so.
pub(super) const FIELDS: &[u8] = b"#Fields:";

impl Columns {
    /// What a `#Fields:` line says.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let names = line.strip_prefix(FIELDS)?;
        let names = names.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty());
        Some(Self(names.map(column).collect()))
    }

    pub(super) fn parse<'a>(&self, line: &'a [u8]) -> LogLine<'a> {
        if line.starts_with(b"#") {
            return LogLine::Aside;
        }
        self.entry(line).map_or(LogLine::Unparsable, LogLine::Hit)
    }

    fn entry<'a>(&self, line: &'a [u8]) -> Option<Hit<'a>> {
        let (mut date, mut time, mut stamp) = (None, None, None);
        let (mut named, mut path) = (None, None);
        let mut entry = Hit::default();
        let mut start = 0;
        let ends = memchr_iter(b'\t', line).chain([line.len()]);
        let mut columns = self.0.iter();
        for end in ends {
            let raw = &line[start..end];
            start = end + 1;
            // More fields than were named: CloudFront adds some at the end now and then.
            let Some(column) = columns.next() else { break };
            match column {
                Column::Date => date = Some(raw),
                Column::Time => time = Some(raw),
                Column::Timestamp => stamp = Some(raw),
                Column::Address => entry.ip = text::address(raw),
                Column::Method => entry.method = text::given(raw).map(|raw| text::lossy(Cow::Borrowed(raw))),
                Column::Host => entry.host = text::given(raw).map(|raw| text::lossy(Cow::Borrowed(raw))),
                Column::NamedHost => named = text::given(raw).map(|raw| text::lossy(Cow::Borrowed(raw))),
                Column::Path => path = Some(raw),
                // 000: the reader went away before there was an answer.
                Column::Status => entry.status = Some(text::status(raw)?),
                Column::UserAgent => entry.user_agent = user_agent(raw),
                Column::Anything => {}
            }
        }
        if columns.next().is_some() {
            return None;
        }
        entry.at = match (stamp, date, time) {
            (Some(stamp), ..) => time::written(stamp)?,
            (None, Some(date), Some(time)) => time::date_and_time(date, time)?,
            _ => return None,
        };
        entry.target = once_encoded(path?);
        entry.host = named.or(entry.host);
        Some(entry)
    }
}

fn column(name: &[u8]) -> Column {
    match name {
        b"date" => Column::Date,
        b"time" => Column::Time,
        b"timestamp" | b"timestamp(ms)" => Column::Timestamp,
        b"c-ip" => Column::Address,
        b"cs-method" => Column::Method,
        b"cs(Host)" => Column::Host,
        b"x-host-header" => Column::NamedHost,
        b"cs-uri-stem" => Column::Path,
        b"sc-status" => Column::Status,
        b"cs(User-Agent)" => Column::UserAgent,
        _ => Column::Anything,
    }
}

/// A space is written `%20`, or `%2520` by older logs.
fn user_agent(raw: &[u8]) -> Cow<'_, str> {
    let Some(raw) = text::given(raw) else { return Cow::Borrowed("") };
    text::lossy(text::percent_decoded(text::percent_decoded(Cow::Borrowed(raw))))
}

/// CloudFront encodes the percent signs of the path once more.
fn once_encoded(path: &[u8]) -> Cow<'_, str> {
    let path = text::target(Cow::Borrowed(path));
    if path.contains("%25") { Cow::Owned(path.replace("%25", "%")) } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status \
        cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header";

    fn line(path: &str, agent: &str) -> String {
        format!(
            "2024-10-10\t13:55:36\tFRA1\t99\t192.0.2.9\tGET\td1.cloudfront.net\t{path}\t200\t-\t{agent}\t-\t-\tHit\tid\tdocs.example"
        )
    }

    #[test]
    fn lines_are_read_by_their_columns() {
        let columns = Columns::of(HEAD).unwrap();
        for agent in ["Mozilla/5.0%20(X11)", "Mozilla/5.0%2520(X11)"] {
            let line = line("/a%2520b", agent);
            let LogLine::Hit(entry) = columns.parse(line.as_bytes()) else { panic!("{line}") };
            assert_eq!((entry.target.as_ref(), entry.at), ("/a%20b", 1_728_568_536));
            assert_eq!(entry.user_agent, "Mozilla/5.0 (X11)");
            assert_eq!((entry.ip, entry.host.as_deref()), ("192.0.2.9".parse().ok(), Some("docs.example")));
        }
    }

    #[test]
    fn remarks_are_no_lines_and_short_ones_unparsable() {
        let columns = Columns::of(HEAD).unwrap();
        assert_eq!(columns.parse(b"#Version: 1.0"), LogLine::Aside);
        assert_eq!(columns.parse(b"2024-10-10\t13:55:36\tFRA1"), LogLine::Unparsable);
        assert_eq!(Columns::default().parse(line("/", "-").as_bytes()), LogLine::Unparsable);
    }
}
