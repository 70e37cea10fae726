//! What may happen to a store, made up at random.

use std::sync::Arc;

use copydesk_views::store::{Source, Sources};
use copydesk_views::{Channel, Class, Client, Evidence, Facts, Network, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;

use super::model::Range;

/// 2025-10-01T00:00Z; clocks change on Lord Howe on 5 October, in Newfoundland on 2 November.
pub const FIRST: i64 = 1_759_276_800;
/// Five weeks.
pub const SECONDS: i64 = 35 * 86_400;
pub const PATHS: usize = 30;

/// Where midnight is not at a full hour of UTC, or moves, or both.
const ZONES: [&str; 5] = ["Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Chatham", "UTC"];

#[derive(Debug, Clone)]
pub enum Step {
    Append {
        project: usize,
        views: Vec<Seen>,
        mark: Option<(u8, bool)>,
    },
    Ask(Ask),
    /// Asks for an order of pages and keeps it, to be looked at when more has happened.
    Freeze(Ask),
    Relabel {
        project: usize,
        changes: Vec<(usize, usize, usize)>,
    },
    Retain {
        project: usize,
        day: i64,
        quarter: i64,
    },
    Remove {
        project: usize,
    },
    /// Closes the store and opens it again.
    Restart,
    /// Opens a copy that was made while the store ran, and goes on with it.
    MoveToACopy,
    /// Everything goes to segments, and these to fewer.
    Settle,
    Wait {
        hours: i64,
    },
}

/// A view.
#[derive(Debug, Clone)]
pub struct Seen {
    pub after: i64,
    pub path: usize,
    pub client: (usize, usize),
    pub count: u32,
    /// Few, so that some come twice.
    pub id: Option<u16>,
}

/// A question about a project.
#[derive(Debug, Clone)]
pub struct Ask {
    pub project: usize,
    pub range: Range,
    pub sources: Sources,
    /// Beyond the last it is a path that nobody read, and none is the site.
    pub path: Option<usize>,
    /// Seconds; they ascend.
    pub edges: Vec<i64>,
    pub page: (usize, usize),
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..40)
}

fn step() -> impl Strategy<Value = Step> {
    let project = || 0..3_usize;
    let append = |most: usize| {
        (project(), vec(seen(), 0..most), prop::option::weighted(0.3, (0..3_u8, any::<bool>())))
            .prop_map(|(project, views, mark)| Step::Append { project, views, mark })
    };
    let changes = vec((0..FACTS, 0..VERDICTS, 0..VERDICTS), 1..6);
    let hours = prop_oneof![1..20_i64, Just(60_i64)];
    prop_oneof![
        9 => append(12),
        6 => append(200),
        9 => ask().prop_map(Step::Ask),
        2 => ask().prop_map(Step::Freeze),
        2 => (project(), changes).prop_map(|(project, changes)| Step::Relabel { project, changes }),
        2 => (project(), 0..36_i64, 0..96_i64).prop_map(|(project, day, quarter)| Step::Retain { project, day, quarter }),
        1 => project().prop_map(|project| Step::Remove { project }),
        2 => Just(Step::Restart),
        1 => Just(Step::MoveToACopy),
        1 => Just(Step::Settle),
        1 => hours.prop_map(|hours| Step::Wait { hours }),
    ]
}

fn seen() -> impl Strategy<Value = Seen> {
    let after = prop_oneof![
        4 => 0..SECONDS,
        // At the very edges of quarter hours, where a mistake would show.
        1 => (0..SECONDS / 900, -1..2_i64).prop_map(|(quarter, beside)| (quarter * 900 + beside).max(0)),
    ];
    let client = (0..FACTS, prop_oneof![3 => Just(0_usize), 1 => 0..VERDICTS]);
    let path = prop_oneof![0..4_usize, 0..PATHS];
    (after, path, client, 1..4_u32, prop::option::weighted(0.4, 0..400_u16)).prop_map(
        |(after, path, client, count, id)| {
            let count = if id.is_some() { 1 } else { count };
            Seen { after, path, client, count, id }
        },
    )
}

pub fn ask() -> impl Strategy<Value = Ask> {
    let source = || prop_oneof![Just(Source::Auto), Just(Source::Script), Just(Source::Server), Just(Source::Both)];
    let sources = (source(), source()).prop_map(|(people, machines)| Sources { people, machines });
    let page = (prop_oneof![Just(0_usize), 0..40_usize], prop_oneof![1..8_usize, Just(50_usize)]);
    (0..3_usize, range(), sources, prop::option::of(0..PATHS + 1), edges(), page)
        .prop_map(|(project, range, sources, path, edges, page)| Ask { project, range, sources, path, edges, page })
}

/// Anything, all, or days of a zone.
fn range() -> impl Strategy<Value = Range> {
    let quarters = -100..SECONDS / 900 + 100;
    prop_oneof![
        (quarters.clone(), quarters).prop_map(|(from, to)| Range(FIRST + from * 900, FIRST + to * 900)),
        Just(Range(0, i64::MAX)),
        (0..ZONES.len(), 0..37_i64, 0..37_i64)
            .prop_map(|(zone, from, days)| { Range(midnight(ZONES[zone], from), midnight(ZONES[zone], from + days)) }),
        (0..ZONES.len(), 0..37_i64).prop_map(|(zone, from)| Range(midnight(ZONES[zone], from), i64::MAX)),
    ]
}

/// The edges of a series: days or weeks of a zone, hours, or anything.
fn edges() -> impl Strategy<Value = Vec<i64>> {
    let quarters = vec(0..SECONDS / 900 + 10, 0..9);
    prop_oneof![
        (0..ZONES.len(), 0..30_i64, 0..37_i64, prop_oneof![Just(1_usize), Just(7_usize)]).prop_map(
            |(zone, from, days, step)| {
                (from..from + days).step_by(step).map(|day| midnight(ZONES[zone], day)).collect()
            }
        ),
        (0..ZONES.len(), 0..35_i64, 0..60_i64).prop_map(|(zone, day, hours)| {
            (0..hours).map(|hour| midnight(ZONES[zone], day) + hour * 3600).collect()
        }),
        quarters.prop_map(|mut quarters| {
            quarters.sort_unstable();
            quarters.into_iter().map(|quarter| FIRST + quarter * 900).collect()
        }),
    ]
}

/// When a day begins somewhere, counted from 1 October 2025.
fn midnight(zone: &str, day: i64) -> i64 {
    let zone = jiff::tz::TimeZone::get(zone).expect("it is in the database that comes with the program");
    let date = jiff::civil::date(2025, 10, 1).checked_add(jiff::Span::new().days(day)).expect("a near day");
    date.to_zoned(zone).expect("every day has a first moment").timestamp().as_second()
}

pub const FACTS: usize = 8;
pub const VERDICTS: usize = 5;

/// Readers: of both channels, each with several verdicts, of which the first is the likely one.
pub fn client(facts: usize, verdict: usize) -> Arc<Client> {
    let channel = if facts.is_multiple_of(2) { Channel::Script } else { Channel::Server };
    let name = ["Firefox", "Chrome", "ChatGPT-User", "Claude-Code"][facts / 2 % 4];
    let network = if facts / 2 == 2 { Network::Outside("openai".into()) } else { Network::Unknown };
    Arc::new(Client {
        facts: Facts { user_agent: name.into(), markdown: facts >= 6, network, signed_by: None, channel },
        verdict: self::verdict(if verdict == 0 { facts / 4 } else { verdict }),
    })
}

pub fn verdict(number: usize) -> Verdict {
    let (class, agent, evidence, rule) = [
        (Class::Human, None, Evidence::Browser, "browser"),
        (Class::Assistant, Some("ChatGPT-User"), Evidence::Network, "network:openai"),
        (Class::Assistant, Some("ChatGPT-User"), Evidence::Spoofed, "token:ChatGPT-User"),
        (Class::CodingAgent, Some("Claude-Code"), Evidence::Token, "token:Claude-Code"),
        (Class::TrainingCrawler, Some("GPTBot"), Evidence::Token, "token:GPTBot"),
    ][number % VERDICTS];
    Verdict { class, agent: agent.map(str::to_owned), evidence, rule: rule.into() }
}

pub fn path(number: usize) -> Arc<str> {
    match number {
        0 => "/".into(),
        1 => "/é".into(),
        2 => "/a".into(),
        3 => "/a/b".into(),
        _ => format!("/guide/page-{number}").into(),
    }
}
