//! A log as nginx writes it, of a documentation site: pages, what is on them, mistakes and bots.

use std::io::{self, Write};

use copydesk_domain::Timestamp;

use super::events::user_agent;
use super::sample::Sample;
use crate::seeded::Seeded;

/// 2026-03-01, in seconds since 1970, and how many seconds the log is long.
const FIRST: u64 = 1_772_323_200;
const LENGTH: u64 = 30 * 86_400;
const READERS: usize = 300_000;
const SEED: u64 = 20_260_301;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const ASSETS: [&str; 6] = [
    "/assets/app-4f1c2d.js",
    "/assets/style-88ab01.css",
    "/images/hero.png",
    "/fonts/inter.woff2",
    "/favicon.ico",
    "/assets/search-index.json",
];
const BOTS: [&str; 4] = [
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "curl/8.14.1",
];

/// What a log holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// Views of pages by people, and by AI agents.
    pub(super) human: u64,
    pub(super) ai: u64,
}

/// Writes so many lines, and says what is in them.
pub(super) fn write(lines: u64, sample: &Sample, mut to: impl Write) -> io::Result<Held> {
    let mut seeded = Seeded::new(SEED);
    let (mut held, mut drawn, mut bucket, mut line) = (Held { lines, ..Held::default() }, Vec::new(), 0, Vec::new());
    for number in 0..lines {
        while drawn.is_empty() {
            sample.draw(bucket % sample.buckets(), &mut drawn);
            bucket += 1;
        }
        let (path, client) = sample.pair(drawn.pop().unwrap_or_default());
        let (page, is_ai) = (&*sample.paths[path], sample.is_ai(client));
        let reader = user_agent(&sample.clients[client].facts.user_agent);
        let place = seeded.below(ASSETS.len());
        let (method, target, status, agent) = match seeded.below(100) {
            0..54 => ("GET", page, if place == 0 { 304 } else { 200 }, reader),
            54..88 => ("GET", ASSETS[place], 200, reader),
            88..92 => ("GET", page, 404, reader),
            92..94 => ("GET", page, 301, reader),
            94..96 => ("POST", "/search", 200, reader),
            _ => ("GET", page, 200, BOTS[place % BOTS.len()]),
        };
        if std::ptr::eq(target, page) && matches!(status, 200 | 304) && std::ptr::eq(agent, reader) {
            held.human += u64::from(!is_ai);
            held.ai += u64::from(is_ai);
        }
        line.clear();
        address(&mut line, seeded.below(READERS) as u32);
        moment(&mut line, FIRST + number * LENGTH / lines);
        let bytes = seeded.within(300, 60_000);
        let referrer = if place < 2 { "-" } else { "https://docs.example.com/" };
        writeln!(line, r#""{method} {target} HTTP/1.1" {status} {bytes} "{referrer}" "{agent}""#)?;
        held.bytes += line.len() as u64;
        to.write_all(&line)?;
    }
    to.flush()?;
    Ok(held)
}

fn address(line: &mut Vec<u8>, number: u32) {
    let [_, a, b, c] = number.to_be_bytes();
    let _ = write!(line, "{}.{a}.{b}.{c} - - ", 11 + number % 150);
}

fn moment(line: &mut Vec<u8>, second: u64) {
    let text = Timestamp::from_millis(second as i64 * 1000).to_string();
    let month = text[5..7].parse::<usize>().map_or("", |month| MONTHS[month - 1]);
    let _ = write!(line, "[{}/{month}/{}:{} +0000] ", &text[8..10], &text[..4], &text[11..19]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_looks_like_one_of_nginx() {
        let mut text = Vec::new();
        let held = write(5000, &Sample::new(100_000, 100), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!((text.lines().count() as u64, text.len() as u64), (held.lines, held.bytes));
        let first = text.lines().next().unwrap();
        assert!(first.contains(" - - [01/Mar/2026:00:00:00 +0000] \"GET /"), "{first}");
        assert!(text.lines().last().unwrap().contains("[30/Mar/2026:23:5"), "{first}");
        assert!((2500..2900).contains(&(held.human + held.ai)), "{held:?}");
        assert!((200..350).contains(&held.ai), "{held:?}");
    }
}
