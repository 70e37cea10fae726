//! Page views in ClickHouse, behind a ledger in PostgreSQL, with servers of both sides that are killed.

mod clients;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use copydesk_domain::random_fraction;
use copydesk_testkit::{Backend, TestDatabase};

use self::clients::{IDS, PLAIN, PROJECTS, World, tell_plain, tell_with_ids, watch};
use crate::args::{program, seconds};
use crate::clickhouse::{ClickHouse, run};
use crate::connection::request;
use crate::process::{Installation, Server};
use crate::seeded::Seeded;

/// Two servers count page views in ClickHouse, behind one ledger in PostgreSQL. They are killed at random, ClickHouse is too, and
/// may be away for long. Every acknowledged view must be told of by both, once, and be in each table of ClickHouse. Needs
/// PostgreSQL on COPYDESK_TEST_POSTGRES.
#[derive(Debug, Clone, clap::Args)]
pub struct ClickHouseOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// A server of ClickHouse, without a database: the run makes one of its own. Several with commas between are replicas.
    #[arg(long)]
    pub clickhouse_url: String,
    /// The cluster that the replicas are.
    #[arg(long)]
    pub clickhouse_cluster: Option<String>,
    /// How many times a server of ours is killed.
    #[arg(long, default_value_t = 40)]
    pub kills: usize,
    /// A command that kills ClickHouse, or one of its replicas, with SIGKILL and starts it again.
    #[arg(long)]
    pub restart_clickhouse: Option<String>,
    /// How many times.
    #[arg(long, default_value_t = 40, requires = "restart_clickhouse")]
    pub clickhouse_kills: usize,
    /// For how many seconds ClickHouse is away after that.
    #[arg(long, value_parser = seconds, requires_all = ["stop_clickhouse", "start_clickhouse"])]
    pub away: Option<Duration>,
    /// A command that stops ClickHouse.
    #[arg(long)]
    pub stop_clickhouse: Option<String>,
    /// A command that starts it.
    #[arg(long)]
    pub start_clickhouse: Option<String>,
    /// The seed of an earlier run, to have the same requests and pauses again.
    #[arg(long, default_value_t = (random_fraction() * 1e9) as u64, hide_default_value = true)]
    pub seed: u64,
}

const SERVERS: usize = 2;
/// Clients of each kind.
const CLIENTS: u64 = 3;
/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take in the end until both servers tell of everything.
const SETTLED: Duration = Duration::from_secs(60);
/// The time between a server's being ready and its death, in milliseconds, and that of one that hardly gets to be ready.
const LIFE: (usize, usize) = (100, 3000);
const SHORT_LIFE: (usize, usize) = (0, 300);
const SHORT_LIVES: f64 = 0.2;
/// The same between two deaths of ClickHouse.
const CLICKHOUSE_LIFE: (usize, usize) = (0, 3000);
/// Violations that are shown.
const SHOWN: usize = 50;

struct Trial<'a> {
    options: &'a ClickHouseOptions,
    installations: Vec<Installation<'a>>,
    house: &'a ClickHouse,
    world: Arc<World>,
}

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_clickhouse(options: ClickHouseOptions) -> bool {
    println!("clickhouse: seed {}", options.seed);
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let database = TestDatabase::new(Backend::Postgres).await;
    let name = format!("copydesk_torture_{}", std::process::id());
    let house = ClickHouse::new(&options.clickhouse_url, name, options.clickhouse_cluster.is_some()).await;
    let settings = settings(&options, &database, &house);
    let folders: Vec<PathBuf> = (0..SERVERS).map(|number| folder.path().join(number.to_string())).collect();
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let install = |folder| Installation { binary: &options.binary, folder, settings: settings.clone() };
    let installations: Vec<Installation<'_>> = folders.iter().map(|folder| install(folder.as_path())).collect();
    let projects = PROJECTS.map(|name| installations[0].project_id(name, "https://example.com/docs"));
    let key = installations[0].key();
    let mut servers = Vec::new();
    for (number, installation) in installations.iter().enumerate() {
        servers.push(installation.start_with_log(log(installation.folder)));
        let ready = servers[number].answers(&ready(), PATIENCE).await;
        ready.unwrap_or_else(|why| panic!("a server does not start: {why}"));
    }
    let world = World::new(projects, key, servers.iter().map(|server| server.address).collect());
    let trial = Trial { options: &options, installations, house: &house, world: world.clone() };
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        clients.push(tokio::spawn(tell_with_ids(world.clone(), options.seed, client)));
        clients.push(tokio::spawn(tell_plain(world.clone(), options.seed, CLIENTS + client)));
    }
    clients.extend((0..SERVERS).map(|server| tokio::spawn(watch(world.clone(), server))));
    tokio::join!(trial.kill_servers(&mut servers), trial.kill_clickhouse());
    let accepted = match options.away {
        Some(time) => trial.away(time).await,
        None => 0,
    };
    let began = Instant::now();
    world.stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    trial.settle().await;
    let settled = began.elapsed();
    trial.verify().await;
    drop(servers);
    let well = report(&options, &world, (accepted, settled), started.elapsed());
    house.drop_database().await;
    database.destroy().await;
    if !well {
        eprintln!("the logs of the servers are in {}", folder.keep().display());
    }
    well
}

fn settings(options: &ClickHouseOptions, database: &TestDatabase, house: &ClickHouse) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        ("COPYDESK_DATABASE_URL", database.url()),
        ("COPYDESK_VIEWS__STORE", "clickhouse".to_owned()),
        ("COPYDESK_VIEWS__CLICKHOUSE_URL", house.address()),
        ("COPYDESK_LIMITS__ANALYTICS_PER_MINUTE", "0".to_owned()),
        ("COPYDESK_VIEWS__PAGES_PER_DAY", "0".to_owned()),
        ("COPYDESK_VIEWS__KEEP_DAYS", "0".to_owned()),
    ];
    settings.extend(options.clickhouse_cluster.clone().map(|name| ("COPYDESK_VIEWS__CLICKHOUSE_CLUSTER", name)));
    settings
}

fn log(folder: &Path) -> File {
    File::options().create(true).append(true).open(folder.join("log")).unwrap()
}

fn ready() -> Vec<u8> {
    request("GET", "/readyz", "none", &[], None)
}

fn milliseconds(chance: &mut Seeded, (from, to): (usize, usize)) -> Duration {
    Duration::from_millis(chance.within(from, to) as u64)
}

impl Trial<'_> {
    fn start(&self, number: usize) -> Server {
        let installation = &self.installations[number];
        let server = installation.start_with_log(log(installation.folder));
        self.world.servers.lock().unwrap()[number] = server.address;
        server
    }

    /// Kills a server and starts it again.
    fn restart(&self, servers: &mut Vec<Server>, number: usize) {
        if !servers.remove(number).kill() {
            self.world.violated("a server had ended by itself".to_owned());
        }
        servers.insert(number, self.start(number));
    }

    /// Kills one server after the other, some of them again while they start.
    async fn kill_servers(&self, servers: &mut Vec<Server>) {
        let mut chance = Seeded::part(self.options.seed, 101);
        let mut kills = 0;
        while kills < self.options.kills {
            tokio::time::sleep(milliseconds(&mut chance, LIFE)).await;
            let number = chance.below(SERVERS);
            self.restart(servers, number);
            kills += 1;
            while kills < self.options.kills && chance.chance(SHORT_LIVES) {
                tokio::time::sleep(milliseconds(&mut chance, SHORT_LIFE)).await;
                self.restart(servers, number);
                kills += 1;
            }
            // A server starts whatever has become of ClickHouse.
            while let Err(why) = servers[number].answers(&ready(), PATIENCE).await {
                self.world.violated(format!("a server does not start: {why}"));
                servers[number] = self.start(number);
            }
        }
    }

    async fn kill_clickhouse(&self) {
        let Some(command) = &self.options.restart_clickhouse else { return };
        let mut chance = Seeded::part(self.options.seed, 102);
        for _ in 0..self.options.clickhouse_kills {
            tokio::time::sleep(milliseconds(&mut chance, CLICKHOUSE_LIFE)).await;
            run(command).await;
            self.house.is_back().await;
        }
    }

    /// Lets ClickHouse be away, and gives how many views were taken meanwhile.
    async fn away(&self, time: Duration) -> u64 {
        let (Some(stop), Some(start)) = (&self.options.stop_clickhouse, &self.options.start_clickhouse) else {
            return 0;
        };
        let before = self.world.acknowledged();
        run(stop).await;
        tokio::time::sleep(time).await;
        let accepted = self.world.acknowledged() - before;
        if accepted == 0 {
            self.world.violated("no page views were taken while ClickHouse was away".to_owned());
        }
        run(start).await;
        self.house.is_back().await;
        accepted
    }

    /// Waits until both servers tell of the same views, as many as they must.
    async fn settle(&self) {
        let give_up = Instant::now() + SETTLED;
        for project in [IDS, PLAIN] {
            let (least, most) = self.world.tallies[project].bounds();
            loop {
                let mut told = Vec::new();
                for server in 0..SERVERS {
                    told.push(self.world.total_at(self.world.server(server), project).await);
                }
                let is_right = |views: u64| (least..=most).contains(&views);
                if told.iter().all(|views| *views == told[0]) && told[0].is_some_and(is_right) {
                    break;
                }
                if Instant::now() > give_up {
                    let name = PROJECTS[project];
                    self.world
                        .violated(format!("the servers tell of {told:?} views of {name} instead of {least} to {most}"));
                    break;
                }
            }
        }
    }

    /// Compares what the servers tell with what each table of ClickHouse has.
    async fn verify(&self) {
        let mut told = Vec::new();
        for project in [IDS, PLAIN] {
            told.extend(self.world.total_at(self.world.server(0), project).await);
        }
        told.retain(|views| *views > 0);
        told.sort_unstable_by(|one, other| other.cmp(one));
        for sums in self.house.sums().await {
            if sums.views != told {
                self.world.violated(format!("{} has {:?} views instead of {told:?}", sums.place, sums.views));
            }
        }
        let output = self.installations[0].command(&["views", "verify", "--json"]).output().unwrap();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            self.world.violated(format!("copydesk views verify finds: {said}"));
        }
    }
}

fn report(options: &ClickHouseOptions, world: &World, (accepted, settled): (u64, Duration), took: Duration) -> bool {
    let violations = std::mem::take(&mut *world.violations.lock().unwrap());
    violations.iter().take(SHOWN).for_each(|violation| eprintln!("VIOLATION {violation}"));
    let clickhouse_kills = if options.restart_clickhouse.is_some() { options.clickhouse_kills } else { 0 };
    let [answered, unanswered] = [0, 1].map(|kind: usize| world.questions[kind].load(Ordering::SeqCst));
    let (with_ids, _) = world.tallies[IDS].bounds();
    let (plain, most) = world.tallies[PLAIN].bounds();
    println!(
        "clickhouse: {} kills of {SERVERS} servers and {clickhouse_kills} of ClickHouse, which then was away for {} s while {} \
         views were taken; {with_ids} views with ids and {plain} without acknowledged, {} unsure; all of them told of after {:.1} s; \
         {answered} questions answered and {unanswered} not meanwhile, the longest failure {:.1} s; {} violations, {:.0} s",
        options.kills,
        options.away.unwrap_or_default().as_secs(),
        accepted,
        most - plain,
        settled.as_secs_f64(),
        world.longest_failure.lock().unwrap().as_secs_f64(),
        violations.len(),
        took.as_secs_f64()
    );
    violations.is_empty()
}
