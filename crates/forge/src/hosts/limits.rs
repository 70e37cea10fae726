//! When a host wants to be asked again.

use std::time::Duration;

use copydesk_domain::Timestamp;
use reqwest::header::HeaderMap;

/// What a host says about its limits in the headers of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    /// How long to wait, if it says so.
    pub(super) wait: Option<Duration>,
    /// Whether it takes minutes, also if nothing is said.
    pub(super) is_long: bool,
}

/// Whether an answer means "too many requests", and for how long. `now` is our clock; the host's own goes before it.
pub(super) fn limit_of(
    status: u16,
    headers: &HeaderMap,
    words: impl FnOnce() -> String,
    now: Timestamp,
) -> Option<Limit> {
    if status == 429 {
        return Some(Limit { wait: wait_of(headers, now), is_long: false });
    }
    if status != 403 {
        return None;
    }
    // GitHub refuses with 403, not always with a header, and wants a minute at least then.
    let is_spent = number(headers, "x-ratelimit-remaining") == Some(0);
    let says_so = || {
        let low = words().to_ascii_lowercase();
        low.contains("rate limit") || low.contains("abuse detection")
    };
    let is_limit = headers.contains_key("retry-after") || is_spent || says_so();
    is_limit.then(|| Limit { wait: wait_of(headers, now), is_long: true })
}

/// How long a host says to wait: `retry-after` in seconds or as a date, else the end of the window of its limit.
pub(super) fn wait_of(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    if headers.contains_key("retry-after") {
        return retry_after(headers, now);
    }
    let now = date_of(headers).unwrap_or(now);
    // A window that is not spent says nothing about a wait.
    if number(headers, "x-ratelimit-remaining").or_else(|| number(headers, "ratelimit-remaining")).unwrap_or(0) > 0 {
        return None;
    }
    let reset = number(headers, "x-ratelimit-reset").or_else(|| number(headers, "ratelimit-reset"))?;
    // GitHub and GitLab give a time since 1970, others the seconds that are left.
    let left = if reset < 1_000_000_000 { Duration::from_secs(reset) } else { at_second(reset)?.since(now) };
    // The window ends within that second, not at its beginning.
    Some(left + Duration::from_secs(1))
}

/// What `retry-after` says.
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get("retry-after")?.to_str().ok()?;
    let seconds = text.trim().parse::<u64>().ok().map(Duration::from_secs);
    seconds.or_else(|| Some(http_date(text)?.since(date_of(headers).unwrap_or(now))))
}

/// When the host thinks it is.
pub(super) fn date_of(headers: &HeaderMap) -> Option<Timestamp> {
    http_date(headers.get("date")?.to_str().ok()?)
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

fn at_second(seconds: u64) -> Option<Timestamp> {
    Some(Timestamp::from_millis(i64::try_from(seconds).ok()?.checked_mul(1000)?))
}

/// `Wed, 21 Oct 2015 07:28:00 GMT`.
fn http_date(text: &str) -> Option<Timestamp> {
    let text = text.trim().strip_suffix("GMT")?;
    let zoned = jiff::fmt::rfc2822::parse(&format!("{text}+0000")).ok()?;
    Some(Timestamp::from_millis(zoned.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    /// 21 October 2015, 07:28.
    const NOW: Timestamp = Timestamp::from_millis(1_445_412_480_000);

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn waits_come_in_many_forms() {
        let wait = |pairs: &[_]| wait_of(&headers(pairs), NOW);
        let seconds = |count| Some(Duration::from_secs(count));
        assert_eq!(wait(&[("retry-after", "7")]), seconds(7));
        assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT")]), seconds(30));
        assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")]), seconds(0));
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[("retry-after", "-1")]), None);
        assert_eq!(wait(&[("x-ratelimit-reset", "1445412490")]), seconds(11));
        assert_eq!(wait(&[("ratelimit-reset", "1445412490"), ("ratelimit-remaining", "0")]), seconds(11));
        assert_eq!(wait(&[("ratelimit-reset", "20")]), seconds(21));
        assert_eq!(wait(&[("x-ratelimit-reset", "1445412490"), ("x-ratelimit-remaining", "12")]), None);
        assert_eq!(wait(&[("x-ratelimit-reset", "99999999999999999999")]), None);
        assert_eq!(wait(&[]), None);
    }

    #[test]
    fn the_clock_of_the_host_goes_before_ours() {
        let date = ("date", "Wed, 21 Oct 2015 09:00:00 GMT");
        let wait = wait_of(&headers(&[date, ("retry-after", "Wed, 21 Oct 2015 09:00:05 GMT")]), NOW);
        assert_eq!(wait, Some(Duration::from_secs(5)));
    }

    #[test]
    fn a_refusal_for_too_many_requests_is_told_from_others() {
        let limited =
            |status, pairs: &[_], words| limit_of(status, &headers(pairs), || str::to_owned(words), NOW).is_some();
        assert!(limited(429, &[], ""));
        assert!(limited(403, &[("retry-after", "60")], ""));
        assert!(limited(403, &[("x-ratelimit-remaining", "0")], "API rate limit exceeded"));
        assert!(limited(403, &[], "You have exceeded a secondary rate limit"));
        assert!(!limited(403, &[("x-ratelimit-remaining", "4999")], "Resource not accessible by integration"));
        assert!(!limited(404, &[("x-ratelimit-remaining", "0")], ""));
    }
}
