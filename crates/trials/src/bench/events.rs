//! Requests with events, ready to be sent: who measures the server must not be busy with writing JSON.

use std::fmt::Write;

use super::sample::Sample;
use crate::connection::request;

/// Digits of an id.
const DIGITS: usize = 12;

/// What a browser or an agent of the sample calls itself.
pub(super) fn user_agent(reader: &str) -> &'static str {
    match reader {
        "Chrome" => {
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
        }
        "Safari" => {
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 \
             Safari/605.1.15"
        }
        "Firefox" => "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "Edge" => {
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 \
             Safari/537.36 Edg/140.0.0.0"
        }
        "ChatGPT-User" => {
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot"
        }
        "Claude-User" => {
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)"
        }
        "Perplexity-User" => {
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Perplexity-User/1.0; \
             +https://perplexity.ai/perplexity-user)"
        }
        _ => "claude-code/2.0.14",
    }
}

/// A request whose events can be given new ids in place.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    pub(super) bytes: Vec<u8>,
    pub(super) events: u64,
    /// Where the ids are.
    ids: Vec<usize>,
}

impl Ready {
    /// Gives every event an id of its own, from `next` on.
    pub(super) fn renew_ids(&mut self, next: &mut u64) {
        for at in &self.ids {
            let mut rest = *next;
            for digit in self.bytes[*at..*at + DIGITS].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            *next += 1;
        }
    }
}

/// Makes requests from a sample.
pub(super) struct Maker<'a> {
    pub(super) sample: &'a Sample,
    pub(super) project: &'a str,
    pub(super) key: &'a str,
    /// When the events are, in seconds since 1970.
    pub(super) now: i64,
}

impl Maker<'_> {
    /// Requests of so many events each.
    pub(super) fn requests(&self, count: usize, events: usize, with_ids: bool) -> Vec<Ready> {
        let mut pairs = (0..self.sample.buckets()).flat_map(|number| {
            let mut drawn = Vec::new();
            self.sample.draw(number, &mut drawn);
            drawn
        });
        let mut next = || (0..events).map(|_| pairs.next().unwrap()).collect::<Vec<u32>>();
        (0..count).map(|_| self.request(&next(), with_ids)).collect()
    }

    fn request(&self, pairs: &[u32], with_ids: bool) -> Ready {
        let mut body = String::new();
        let mut ids = Vec::new();
        for (number, pair) in pairs.iter().enumerate() {
            let (path, client) = self.sample.pair(*pair);
            let (path, reader) = (&self.sample.paths[path], &self.sample.clients[client].facts.user_agent);
            // Over the last hour.
            let second = self.now - (number as i64 * 37) % 3600;
            body.push(if number == 0 { '[' } else { ',' });
            let _ = write!(body, r#"{{"path":"{path}","userAgent":"{}","timestamp":{second}"#, user_agent(reader));
            if with_ids {
                body.push_str(r#","id":""#);
                ids.push(body.len());
                let _ = write!(body, r#"{:0DIGITS$}""#, 0);
            }
            body.push('}');
        }
        body.push(']');
        let bytes = request("POST", &format!("/v1/analytics/{}/events", self.project), self.key, &[], Some(&body));
        let begin = bytes.len() - body.len();
        ids.iter_mut().for_each(|at| *at += begin);
        Ready { bytes, events: pairs.len() as u64, ids }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn every_event_gets_an_id_of_its_own() {
        let sample = Sample::new(100_000, 50);
        let maker = Maker { sample: &sample, project: "p", key: "k", now: 1_000_000 };
        let mut requests = maker.requests(2, 100, true);
        let (mut next, mut seen) = (999_950, HashSet::new());
        for ready in requests.iter_mut().chain(&mut maker.requests(1, 3, true)) {
            ready.renew_ids(&mut next);
            let text = std::str::from_utf8(&ready.bytes).unwrap();
            let (_, body) = text.split_once("\r\n\r\n").unwrap();
            let events: Vec<Value> = serde_json::from_str(body).unwrap();
            assert_eq!(events.len() as u64, ready.events);
            seen.extend(events.iter().map(|event| event["id"].as_str().unwrap().to_owned()));
        }
        assert_eq!(seen.len(), 203);
        assert!(seen.contains("000001000152"));
        let plain = maker.requests(1, 1, false);
        assert!(!String::from_utf8_lossy(&plain[0].bytes).contains("\"id\""));
    }
}
