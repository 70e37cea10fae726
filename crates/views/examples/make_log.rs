//! Writes an access log as nginx would, the same one for the same seed: `make_log LINES [SEED] > access.log`.
//!
//! Pages by Zipf's law, a month of days and nights, mostly people, some agents and crawlers, and what else comes to a
//! server: assets, errors, other methods.

use std::io::{BufWriter, Write};

const PAGES: usize = 10_000;
const DAYS: u64 = 30;
/// 2026-06-01T00:00:00Z
const FIRST: i64 = 1_780_272_000;

const SECTIONS: [&str; 8] = ["guides", "reference", "api", "concepts", "tutorials", "changelog", "integrations", "cli"];
const BROWSERS: [&str; 4] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.{} Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64; rv:{}.0) Gecko/20100101 Firefox/{}.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_{} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.{} Mobile/15E148 Safari/604.1",
];
const MACHINES: [&str; 10] = [
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ChatGPT-User/1.0; +https://openai.com/bot)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "Claude-User (claude-code/1.0.0; +https://support.anthropic.com/)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "curl/8.5.0",
    "python-requests/2.32.3",
];

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let lines: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let mut random = Random(arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1));
    let weights: Vec<f64> = (1..=PAGES).map(|rank| 1.0 / rank as f64).collect();
    let sums: Vec<f64> = weights
        .iter()
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let all = sums[PAGES - 1];
    let browsers: Vec<String> =
        (0..60).flat_map(|version| BROWSERS.map(|text| text.replace("{}", &(90 + version).to_string()))).collect();
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let (mut minute, mut date) = (i64::MIN, String::new());
    for line in 0..lines {
        let at = FIRST + i64::try_from(line * DAYS * 86_400 / lines.max(1)).unwrap_or(0);
        if at.div_euclid(60) != minute {
            minute = at.div_euclid(60);
            let start = jiff::Timestamp::from_second(minute * 60).map_err(std::io::Error::other)?;
            date = start.strftime("%d/%b/%Y:%H:%M").to_string();
        }
        let rank = sums.partition_point(|sum| *sum < random.next() as f64 / u64::MAX as f64 * all);
        let section = SECTIONS[rank % SECTIONS.len()];
        let ip = random.below(1 << 24);
        write!(
            out,
            "{}.{}.{}.{} - - [{date}:{:02} +0000] ",
            11 + ip % 180,
            ip >> 16,
            (ip >> 8) & 255,
            ip & 255,
            at.rem_euclid(60)
        )?;
        let kind = random.below(100);
        match kind {
            0..18 => {
                write!(out, "\"GET /_assets/{section}-{}.js HTTP/2.0\" 200 {}", rank % 97, 900 + random.below(90_000))?
            }
            18..22 => write!(out, "\"GET /{section}/gone-{} HTTP/2.0\" 404 {}", random.below(5000), 153)?,
            22..23 => write!(out, "\"POST /{section}/feedback HTTP/2.0\" 204 0")?,
            23..30 => write!(
                out,
                "\"GET /{section}/page-{rank}?utm_source=mail&v={} HTTP/2.0\" 200 {}",
                random.below(1000),
                9000 + random.below(9000)
            )?,
            30..33 => write!(out, "\"GET /{section}/page-{rank}.md HTTP/1.1\" 200 {}", 2000 + random.below(9000))?,
            _ => write!(
                out,
                "\"GET /{section}/page-{rank} HTTP/2.0\" {} {}",
                if kind < 40 { 304 } else { 200 },
                9000 + random.below(9000)
            )?,
        }
        let agent = if kind >= 80 {
            MACHINES[random.below(10) as usize]
        } else {
            browsers[random.below(browsers.len() as u64) as usize].as_str()
        };
        writeln!(out, " \"{}\" \"{agent}\"", if random.below(2) == 0 { "-" } else { "https://docs.example.com/" })?;
    }
    out.flush()
}
