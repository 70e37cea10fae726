//! Figures, measured by hand: `cargo test --release -p copydesk-views figures -- --ignored --nocapture`.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_views::{Bucket, Channel, Class, Client, Evidence};

use super::super::{Builder, Info, Segment};
use super::model::{between, client, place};

const DAYS: u32 = 365;
/// 2025-01-01.
const FIRST: u32 = 20_089 * Bucket::A_DAY;
const PEOPLE: usize = 6;
const AGENTS: usize = 40;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Draws by Zipf's law.
struct Zipf {
    sums: Vec<f64>,
    guide: Vec<u32>,
}

impl Zipf {
    fn new(size: usize) -> Self {
        let mut sums: Vec<f64> = Vec::with_capacity(size);
        let total = (1..=size).map(|rank| 1.0 / rank as f64).sum::<f64>();
        let mut sum = 0.0;
        for rank in 1..=size {
            sum += 1.0 / rank as f64 / total;
            sums.push(sum);
        }
        let steps = size * 4;
        let guide = (0..steps).map(|step| sums.partition_point(|&sum| sum < step as f64 / steps as f64) as u32);
        Self { guide: guide.collect(), sums }
    }

    fn draw(&self, dice: &mut Dice) -> usize {
        let unit = dice.unit();
        let mut at = self.guide[(unit * self.guide.len() as f64) as usize] as usize;
        while at + 1 < self.sums.len() && self.sums[at] < unit {
            at += 1;
        }
        at
    }
}

fn readers() -> Vec<Arc<Client>> {
    let person = |n: usize| client(&format!("Browser-{n}"), Class::Human, Evidence::Browser, Channel::Script);
    let agent = |n: usize| client(&format!("Agent-{n}"), Class::Assistant, Evidence::Token, Channel::Server);
    let mut readers: Vec<_> = (0..PEOPLE).map(person).chain((0..AGENTS).map(agent)).collect();
    readers.sort();
    readers
}

fn build(file: &Path, views: u64, paths: usize) -> (Info, Duration) {
    // Popular pages are anywhere in the order of paths.
    let names: Vec<Arc<str>> = (0..paths).map(|n| format!("/docs/section-{:03}/page-{n:06}", n % 211).into()).collect();
    let mut sorted = names.clone();
    sorted.sort();
    let place: Vec<u64> = names.iter().map(|name| sorted.binary_search(name).unwrap() as u64).collect();
    let clients = readers();
    let agents: Vec<u64> =
        (0..clients.len() as u64).filter(|&n| clients[n as usize].verdict.class != Class::Human).collect();
    let people: Vec<u64> =
        (0..clients.len() as u64).filter(|&n| clients[n as usize].verdict.class == Class::Human).collect();
    let all = clients.len() as u64;
    let pairs = (0..paths as u32).flat_map(|path| (0..all as u32).map(move |client| (path, client))).collect();
    let mut builder = Builder::create(file, sorted, clients, pairs).unwrap();

    let (page, person, agent) = (Zipf::new(paths), Zipf::new(PEOPLE), Zipf::new(AGENTS));
    let mut dice = Dice(7);
    let buckets = u64::from(DAYS * Bucket::A_DAY);
    let mut spent = Duration::ZERO;
    let mut drawn = Vec::new();
    for bucket in 0..buckets {
        drawn.clear();
        for _ in views * bucket / buckets..views * (bucket + 1) / buckets {
            let path = place[page.draw(&mut dice)];
            let is_agent = dice.next().is_multiple_of(10);
            let client = if is_agent { agents[agent.draw(&mut dice)] } else { people[person.draw(&mut dice)] };
            drawn.push((path * all + client) as u32);
        }
        drawn.sort_unstable();
        let began = Instant::now();
        for run in drawn.chunk_by(|a, b| a == b) {
            builder.push(Bucket(FIRST + bucket as u32), run[0], run.len() as u64).unwrap();
        }
        spent += began.elapsed();
    }
    let began = Instant::now();
    let info = builder.finish().unwrap();
    (info, spent + began.elapsed())
}

fn time<T>(times: u32, mut what: impl FnMut() -> T) -> Duration {
    let began = Instant::now();
    for _ in 0..times {
        black_box(what());
    }
    began.elapsed() / times
}

fn measure(views: u64, paths: usize) {
    let (folder, file) = place();
    let (info, spent) = build(&file, views, paths);
    let a_second = info.views as f64 / spent.as_secs_f64() / 1e6;
    println!(
        "{info:?}\nbuilt in {spent:.1?}: {a_second:.1} M views/s, {:.2} bytes a view",
        info.bytes as f64 / views as f64
    );

    println!("open {:?}", time(100, || Segment::open(&file).unwrap()));
    let segment = Segment::open(&file).unwrap();
    let end = FIRST + DAYS * Bucket::A_DAY;
    println!("index {:?}", time(1, || segment.index().unwrap()));
    println!("first {:?}", time(1, || between(&segment, Bucket(end - 7 * 96), Bucket(end)).unwrap()));
    println!("paths {:?}", time(1, || segment.paths().unwrap()));
    println!("pairs {:?}", time(1, || segment.pairs().unwrap()));
    for days in [7, 30, 364, 365] {
        let range = (Bucket(end - days * 96), Bucket(end));
        let cold = time(1, || between(&segment, range.0, range.1).unwrap());
        let warm = time(200, || between(&segment, range.0, range.1).unwrap());
        let inner = (Bucket(range.0.0 + 23), Bucket(end - 71));
        let odd = time(1, || between(&segment, inner.0, inner.1).unwrap());
        let odd_warm = time(200, || between(&segment, inner.0, inner.1).unwrap());
        println!("{days} days: {cold:?}, again {warm:?}; odd edges {odd:?}, again {odd_warm:?}");
    }
    let odd = (0..200).map(|n| Bucket(FIRST + 137 * n + 11)).collect::<Vec<_>>();
    let mut edges = odd.iter();
    println!("another odd edge {:?}", time(200, || between(&segment, *edges.next().unwrap(), Bucket(end)).unwrap()));
    let path = Arc::clone(&segment.paths().unwrap()[paths / 2]);
    for (name, step, shift) in [("day", 96, 0), ("day at 18:15 UTC", 96, 73), ("hour", 4, 0)] {
        let edges: Vec<Bucket> = (0..DAYS * 96 / step).map(|n| Bucket(FIRST + n * step + shift)).collect();
        let course = time(1, || segment.path_before_each(&path, &edges).unwrap());
        println!("a path by {name}: {course:?}");
    }
    println!("a path before {:?}", time(200, || segment.path_before_each(&path, &[Bucket(FIRST + 96 * 100)]).unwrap()));
    println!("the site before {:?}", time(200, || segment.site_before(Bucket(FIRST + 9777)).unwrap()));
    for (from, to) in [(end - 96, end), (end - 30 * 96, end), (FIRST, end), (FIRST + 999, end - 9999)] {
        let cold = time(1, || segment.machines_between(Bucket(from), Bucket(to)).unwrap());
        let warm = time(5, || segment.machines_between(Bucket(from), Bucket(to)).unwrap());
        println!("machines in {} days: {cold:?}, again {warm:?}", (to - from) / 96);
    }
    println!("memory {} kB", segment.memory() / 1024);
    drop(folder);
}

#[test]
#[ignore = "takes long; for its figures"]
fn fifty_million_views() {
    measure(50_000_000, 10_000);
}

#[test]
#[ignore = "takes very long; for its figures"]
fn a_billion_views() {
    measure(1_000_000_000, 100_000);
}
