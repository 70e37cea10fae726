//! The common and the combined log format of nginx and Apache, with or without the virtual host in front.

use std::borrow::Cow;

use memchr::memchr;

use super::line::LogLine;
use super::text;
use super::time;
use crate::Hit;

/// What a line of this family has beside what all have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// The host comes first.
    pub(super) vhost: bool,
    /// Referrer and user agent come last. A line that was cut before them is not mistaken for one without.
    pub(super) agent: bool,
}

/// `[host ]address ident user [time] "request" status bytes[ "referrer" "user agent"][ whatever else]`
pub(super) fn parse(line: &[u8], shape: Shape) -> LogLine<'_> {
    entry(line, shape).map_or(LogLine::Unparsable, LogLine::Hit)
}

fn entry(line: &[u8], shape: Shape) -> Option<Hit<'_>> {
    let (host, rest) =
        if shape.vhost { split(line, b' ').map(|(host, rest)| (Some(host), rest))? } else { (None, line) };
    let (ip, rest) = split(rest, b' ')?;
    // The user may be called anything; the time is known by its bracket.
    let rest = match rest.strip_prefix(b"- - [") {
        Some(rest) => rest,
        None => &rest[memchr(b'[', rest)? + 1..],
    };
    let (at, rest) = rest.split_at_checked(time::COMMON)?;
    let rest = rest.strip_prefix(b"] \"")?;
    let end = text::closing_quote(rest)?;
    let (request, rest) = (&rest[..end], rest[end + 1..].strip_prefix(b" ")?);
    let (status, rest) = rest.split_at_checked(3)?;
    let rest = rest.strip_prefix(b" ")?;
    let mut entry = Hit {
        at: time::common(at)?,
        status: Some(text::status(status)?),
        ip: text::address(ip),
        host: host.map(|host| text::lossy(Cow::Borrowed(host))),
        ..Hit::default()
    };
    entry.asked_for(request);
    let rest = behind_size(rest)?;
    if shape.agent {
        entry.user_agent = user_agent(rest)?;
    } else if !rest.is_empty() && !rest.starts_with(b" ") {
        return None;
    }
    Some(entry)
}

/// What stands behind the referrer.
fn user_agent(rest: &[u8]) -> Option<Cow<'_, str>> {
    let rest = match rest.strip_prefix(b" \"-\" \"") {
        Some(rest) => rest,
        None => {
            let rest = rest.strip_prefix(b" \"")?;
            rest[text::closing_quote(rest)? + 1..].strip_prefix(b" \"")?
        }
    };
    let raw = &rest[..text::closing_quote(rest)?];
    Some(text::given(raw).map_or(Cow::Borrowed(""), |raw| text::lossy(text::unescaped(raw))))
}

/// The size of the answer is a number, or `-`.
fn behind_size(rest: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = rest.strip_prefix(b"-") {
        return Some(rest);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| &rest[digits..])
}

impl<'a> Hit<'a> {
    /// Takes method and target from `GET /path HTTP/1.1`, as it stands in the log. What is no request (a greeting in
    /// another protocol, an idle connection) leaves the target empty.
    pub(super) fn asked_for(&mut self, raw: &'a [u8]) {
        match text::request(raw) {
            Some((b"GET", target)) => self.target = text::target(text::unescaped(target)),
            Some((method, target)) => {
                self.method = Some(text::lossy(Cow::Borrowed(method)));
                self.target = text::target(text::unescaped(target));
            }
            None => {}
        }
    }
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    // Near by: not worth the start of a search.
    let place = text.iter().position(|&byte| byte == at)?;
    Some((&text[..place], &text[place + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMBINED: Shape = Shape { vhost: false, agent: true };

    fn request(line: &str, shape: Shape) -> Hit<'_> {
        match parse(line.as_bytes(), shape) {
            LogLine::Hit(entry) => entry,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn combined_lines_are_read() {
        let line = r#"203.0.113.9 - jo hn [10/Oct/2024:13:55:36 +0000] "GET /a?b=\x22c HTTP/2.0" 304 0 "https://x/\"" "Mozilla/5.0 \"q\" \\x" "extra" rt=0.1"#;
        let entry = request(line, COMBINED);
        assert_eq!((entry.target.as_ref(), entry.at, entry.status), ("/a?b=\"c", 1_728_568_536, Some(304)));
        assert_eq!(entry.user_agent, "Mozilla/5.0 \"q\" \\x");
        assert_eq!((entry.ip, entry.method), ("203.0.113.9".parse().ok(), None));
    }

    #[test]
    fn common_lines_have_no_user_agent() {
        let line = r#"host.example - - [10/Oct/2024:13:55:36 +0000] "POST /a HTTP/1.0" 200 -"#;
        let entry = request(line, Shape { vhost: false, agent: false });
        assert_eq!((entry.user_agent.as_ref(), entry.ip, entry.method.as_deref()), ("", None, Some("POST")));
        assert_eq!(parse(line.as_bytes(), COMBINED), LogLine::Unparsable);
    }

    #[test]
    fn the_host_may_stand_in_front() {
        let line = r#"docs.example.com:443 ::1 - - [10/Oct/2024:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "-""#;
        let entry = request(line, Shape { vhost: true, agent: true });
        assert_eq!((entry.host.as_deref(), entry.ip), (Some("docs.example.com:443"), "::1".parse().ok()));
        assert_eq!(entry.user_agent, "");
    }

    #[test]
    fn what_was_no_request_has_no_target() {
        for raw in [r"\x16\x03\x01", "", "-"] {
            let line = format!(r#"::1 - - [10/Oct/2024:13:55:36 +0000] "{raw}" 400 0 "-" "-""#);
            let entry = request(&line, COMBINED);
            assert_eq!((entry.target.as_ref(), entry.status), ("", Some(400)), "{raw}");
        }
    }

    #[test]
    fn cut_and_strange_lines_are_unparsable() {
        let whole = r#"::1 - - [10/Oct/2024:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#;
        for end in 0..whole.len() {
            assert_eq!(parse(&whole.as_bytes()[..end], COMBINED), LogLine::Unparsable, "{}", &whole[..end]);
        }
        assert_eq!(parse(whole.replace("200 5", "2x0 5").as_bytes(), COMBINED), LogLine::Unparsable);
        assert_eq!(parse(whole.replace("200 5", "200 5x").as_bytes(), COMBINED), LogLine::Unparsable);
    }
}
