//! Does the same to a store and to the model, and compares.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use copydesk_domain::{Clock, Timestamp};
use copydesk_views::store::{AgentViews, PageViews, Question, Ranking, Source, Sources, ViewStore};
use copydesk_views::{Batch, Bucket, Client, Mark, Verdict, View, id_digest};

use super::model::{Event, Model, Range};
use super::strategy::{self, Ask, FIRST, SECONDS, Seen, Step};

/// Opens stores of one kind, and does to them what is not part of every kind.
pub trait Keeper {
    type Store: ViewStore;
    /// Where views are kept: a folder, a database.
    type Place;

    /// A place that is empty.
    fn place(&self) -> impl Future<Output = Self::Place>;
    /// All stores that are open on a place at a time; calls go to any of them.
    fn open(&self, place: &Self::Place, clock: Arc<dyn Clock>) -> impl Future<Output = Vec<Arc<Self::Store>>>;
    fn close(&self, store: &Self::Store) -> impl Future<Output = ()>;
    /// Writes down whatever waits for a better time.
    fn settle(&self, store: &Self::Store) -> impl Future<Output = ()>;
    /// A place with what is in a folder that a store has copied itself into.
    fn restored(&self, copy: &Path) -> impl Future<Output = Self::Place>;
    /// The place is not needed any more.
    fn leave(&self, place: Self::Place) -> impl Future<Output = ()>;
}

/// For how long an id must be known, in seconds.
const IDS_KNOWN: i64 = 48 * 3600;
const PROJECTS: [&str; 3] = ["docs", "api", "guide"];

#[derive(Debug)]
struct HandClock(AtomicI64);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed) * 1000)
    }
}

/// Plays all steps; panics where the store and the model differ.
pub fn play<K: Keeper>(keeper: &K, steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
    runtime.block_on(async {
        let mut stage = Stage::new(keeper).await;
        for step in steps {
            stage.step(step).await;
        }
        for project in 0..PROJECTS.len() {
            stage.overview(project).await;
        }
        stage.projects().await;
        stage.frozen();
        stage.restart().await;
        for (project, id) in PROJECTS.iter().enumerate() {
            stage.overview(project).await;
            let status = stage.store().status(id).await.expect("a status");
            assert!(status.bytes > 0 || !stage.models[project].has_views(), "views take bytes");
        }
        stage.close().await;
        keeper.leave(stage.place).await;
    });
}

struct Stage<'a, K: Keeper> {
    keeper: &'a K,
    place: K::Place,
    clock: Arc<HandClock>,
    stores: Vec<Arc<K::Store>>,
    /// Which of them is called next.
    turn: AtomicUsize,
    models: [Model; 3],
    /// How often an id was given anew because the store may have forgotten it.
    generations: BTreeMap<(usize, u16), u32>,
    marks: u32,
    kept: Vec<(Arc<Ranking>, Vec<PageViews>)>,
}

impl<'a, K: Keeper> Stage<'a, K> {
    async fn new(keeper: &'a K) -> Self {
        let place = keeper.place().await;
        let clock = Arc::new(HandClock(AtomicI64::new(FIRST + SECONDS)));
        let stores = keeper.open(&place, Arc::clone(&clock) as Arc<dyn Clock>).await;
        let (models, generations, turn) = (Default::default(), BTreeMap::new(), AtomicUsize::new(0));
        Self { keeper, place, clock, stores, turn, models, generations, marks: 0, kept: Vec::new() }
    }

    /// One of the stores, in no order that anybody would think of.
    fn store(&self) -> &K::Store {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mixed = (turn as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        &self.stores[mixed as usize % self.stores.len()]
    }

    async fn close(&mut self) {
        for store in self.stores.drain(..) {
            self.keeper.close(&store).await;
        }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Append { project, views, mark } => self.append(*project, views, *mark).await,
            Step::Ask(ask) => self.ask(ask).await,
            Step::Freeze(ask) => {
                let (ranking, rows) = self.ranking(ask).await;
                self.kept.push((ranking, rows));
            }
            Step::Relabel { project, changes } => self.relabel(*project, changes).await,
            // A store need not remember a floor for a project that it has nothing of.
            Step::Retain { project, .. } if !self.models[*project].is_known() => {}
            Step::Retain { project, day, quarter } => {
                let floor = Bucket::of_seconds(FIRST + day * 86_400 + quarter * 900);
                self.store().retain(PROJECTS[*project], floor).await.expect("retained");
                self.models[*project].retain(floor);
            }
            Step::Remove { project } => {
                self.store().remove(PROJECTS[*project]).await.expect("removed");
                self.models[*project] = Model::default();
            }
            Step::Restart => self.restart().await,
            Step::MoveToACopy => self.move_to_a_copy().await,
            Step::Settle => self.keeper.settle(self.store()).await,
            Step::Wait { hours } => {
                self.clock.0.fetch_add(hours * 3600, Ordering::Relaxed);
            }
        }
    }

    async fn append(&mut self, project: usize, views: &[Seen], mark: Option<(u8, bool)>) {
        let now = self.clock.0.load(Ordering::Relaxed);
        let events: Vec<Event> = views.iter().map(|seen| self.event(project, seen, now)).collect();
        let mark = mark.map(|(log, moves)| self.mark(project, log, moves));
        let view = |event: &Event| View {
            bucket: Bucket::of_seconds(event.at),
            path: Arc::clone(&event.path),
            client: Arc::clone(&event.client),
            count: event.count,
            id: event.id,
        };
        let batch = Batch {
            project: PROJECTS[project].into(),
            views: events.iter().map(view).collect(),
            mark: mark.clone(),
            ..Batch::default()
        };
        let appended = self.store().append(batch).await.expect("appended");
        let expected = self.models[project].append(now, &events, mark.as_ref());
        assert_eq!((appended.counted, appended.duplicates), expected);
    }

    fn event(&mut self, project: usize, seen: &Seen, now: i64) -> Event {
        let id = seen.id.map(|number| {
            let generation = self.generations.entry((project, number)).or_default();
            let digest = |generation: u32| id_digest(&format!("{number}/{generation}"));
            // Whether an id is still known then is nowhere said, so it is not asked.
            if self.models[project].seen(digest(*generation)).is_some_and(|at| now - at > IDS_KNOWN) {
                *generation += 1;
            }
            digest(*generation)
        });
        let client = strategy::client(seen.client.0, seen.client.1);
        Event { at: FIRST + seen.after, path: strategy::path(seen.path), client, count: seen.count, id }
    }

    fn mark(&mut self, project: usize, log: u8, moves: bool) -> Mark {
        self.marks += 1;
        let log = format!("log-{log}");
        let replaces = self.models[project].marks(&log).last().filter(|_| moves).map(|mark| mark.digest.clone());
        let (bytes, lines) = (u64::from(self.marks) * 100, u64::from(self.marks));
        Mark { log, bytes, lines, digest: format!("digest-{}", self.marks), replaces, followed: None }
    }

    async fn relabel(&mut self, project: usize, changes: &[(usize, usize, usize)]) {
        let mut by_client: BTreeMap<Arc<Client>, Verdict> = BTreeMap::new();
        for &(facts, verdict, new) in changes {
            by_client.insert(strategy::client(facts, verdict), strategy::verdict(new));
        }
        let changes: Vec<(Arc<Client>, Verdict)> = by_client.into_iter().collect();
        self.store().relabel(PROJECTS[project], changes.clone()).await.expect("relabelled");
        self.models[project].relabel(&changes);
    }

    async fn restart(&mut self) {
        self.close().await;
        self.stores = self.keeper.open(&self.place, Arc::clone(&self.clock) as Arc<dyn Clock>).await;
    }

    async fn move_to_a_copy(&mut self) {
        let copy = tempfile::tempdir().expect("a folder");
        let target = copy.path().join("copy");
        self.store().backup(&target).await.expect("the disk is well");
        self.close().await;
        let moved = self.keeper.restored(&target).await;
        self.stores = self.keeper.open(&moved, Arc::clone(&self.clock) as Arc<dyn Clock>).await;
        self.keeper.leave(std::mem::replace(&mut self.place, moved)).await;
    }

    async fn ask(&self, ask: &Ask) {
        self.ranking(ask).await;
        let (project, model) = (PROJECTS[ask.project], &self.models[ask.project]);
        let path = ask.path.map(strategy::path);

        let edges: Vec<Bucket> = ask.edges.iter().map(|&edge| Bucket::of_seconds(edge)).collect();
        let series = self.store().series(project, path.as_deref(), edges, ask.sources).await.expect("a series");
        let expected: Vec<_> = ask
            .edges
            .windows(2)
            .map(|edges| model.counts(Range(edges[0], edges[1]), ask.sources, path.as_deref()))
            .collect();
        assert_eq!(series, expected, "{ask:?}");

        let agents = self.store().agents(project, question(ask), path.as_deref(), ask.page.1).await.expect("agents");
        assert_eq!(agents, model.agents(ask.range, ask.sources, path.as_deref(), ask.page.1), "{ask:?}");

        // One that reads, if there is any, and one that nobody knows.
        let name = |agent: &AgentViews| agent.verdict.agent.clone().unwrap_or_else(|| agent.verdict.rule.clone());
        for agent in agents.first().map(name).into_iter().chain(["nobody".to_owned()]) {
            let edges: Vec<Bucket> = ask.edges.iter().map(|&edge| Bucket::of_seconds(edge)).collect();
            let course = self.store().agent_series(project, &agent, edges, ask.sources).await.expect("a course");
            let views = |edges: &[i64]| {
                let all = model.agents(Range(edges[0], edges[1]), ask.sources, None, 0);
                all.iter().filter(|it| it.verdict.is_called(&agent)).map(|it| it.views).sum::<u64>()
            };
            assert_eq!(course, ask.edges.windows(2).map(views).collect::<Vec<_>>(), "{agent} {ask:?}");
        }
    }

    /// Holds the order of pages against the model's, at the page that is asked for and from beginning to end.
    async fn ranking(&self, ask: &Ask) -> (Arc<Ranking>, Vec<PageViews>) {
        let ranking = self.store().ranking(PROJECTS[ask.project], question(ask)).await.expect("a ranking");
        let (totals, rows) = self.models[ask.project].ranking(ask.range, ask.sources);
        assert_eq!(ranking.totals(), totals, "{ask:?}");
        let (offset, limit) = ask.page;
        let page: Vec<PageViews> = rows.iter().skip(offset).take(limit).cloned().collect();
        assert_eq!(ranking.page(offset, limit), (page, offset + limit < rows.len()), "{ask:?}");
        assert_eq!(all_pages(&ranking, limit), rows, "{ask:?}");
        (ranking, rows)
    }

    /// Orders that were kept are what they were, whatever came since.
    fn frozen(&self) {
        for (ranking, rows) in &self.kept {
            assert_eq!(all_pages(ranking, 3), *rows);
        }
    }

    /// All that can be said of a project.
    async fn overview(&self, project: usize) {
        let (name, model) = (PROJECTS[project], &self.models[project]);
        let mut status = self.store().status(name).await.expect("a status");
        (status.bytes, status.restorable) = (0, None);
        assert_eq!(status, model.status());
        let clients = self.store().clients(name).await.expect("clients");
        assert_eq!(clients.len(), model.clients().len(), "each client once");
        assert_eq!(clients.into_iter().collect::<BTreeMap<_, _>>(), model.clients());
        for log in ["log-0", "log-1", "log-2", "log-3"] {
            let by_lines = |mut marks: Vec<Mark>| {
                marks.sort_by_key(|mark| mark.lines);
                marks.into_iter().map(|mark| Mark { replaces: None, ..mark }).collect::<Vec<_>>()
            };
            let marks = self.store().marks(name, log).await.expect("marks");
            assert_eq!(by_lines(marks), by_lines(model.marks(log)));
        }
        for source in [Source::Auto, Source::Script, Source::Server, Source::Both] {
            let sources = Sources { people: source, machines: source };
            let edges = (0..=SECONDS / 50_400).map(|step| FIRST + step * 50_400 + 900).collect();
            let (range, page) = (Range(0, i64::MAX), (0, 50));
            self.ask(&Ask { project, range, sources, path: None, edges, page }).await;
        }
    }

    /// Those with views are listed; those that never had any are not.
    async fn projects(&self) {
        let projects = self.store().projects().await.expect("projects");
        for (name, model) in PROJECTS.iter().zip(&self.models) {
            let is_listed = projects.iter().any(|project| project == name);
            assert!(is_listed || !model.has_views(), "{name} is missing");
            assert!(!is_listed || model.is_known(), "{name} has no views");
        }
    }
}

fn question(ask: &Ask) -> Question {
    let bucket = |at: i64| if at == i64::MAX { Bucket::MAX } else { Bucket::of_seconds(at) };
    Question { from: bucket(ask.range.0), to: bucket(ask.range.1), sources: ask.sources }
}

fn all_pages(ranking: &Ranking, limit: usize) -> Vec<PageViews> {
    let mut rows = Vec::new();
    loop {
        let (page, has_more) = ranking.page(rows.len(), limit);
        assert!(!has_more || page.len() == limit, "a page is full unless it is the last");
        rows.extend(page);
        if !has_more {
            return rows;
        }
    }
}
