//! A store that is a list of views, and all that a store can be asked.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use copydesk_views::store::{AgentViews, Counts, Question, Source, Sources, ViewStore, ViewsError};
use copydesk_views::{Appended, Batch, Bucket, Channel, Client, CountsAs, Mark, Verdict, View};

use crate::embedded::Embedded;
use crate::embedded::block_on;

/// Hours that ids are remembered.
const ID_SECONDS: u32 = 72 * 3600;
/// The logs that marks are asked for.
pub(super) const LOGS: [&str; 2] = ["one", "two"];

/// A project as a list of views.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Model {
    views: BTreeMap<(Bucket, Arc<str>, Arc<Client>), u64>,
    floor: Option<Bucket>,
    script_since: Option<Bucket>,
    server_since: Option<Bucket>,
    ids: HashMap<u128, u32>,
    marks: Vec<Mark>,
}

/// All that can be asked about a project.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    rankings: Vec<(Counts, Vec<(String, Counts)>)>,
    series: Vec<Vec<Counts>>,
    agents: Vec<Vec<AgentViews>>,
    clients: Vec<(Arc<Client>, u64)>,
    figures: (u64, u64),
    edges: [Option<Bucket>; 5],
    marks: Vec<Vec<Mark>>,
}

fn questions() -> Vec<Question> {
    let source = [Source::Auto, Source::Script, Source::Server, Source::Both];
    let sources = source.map(|source| Sources { people: source, machines: source });
    let ranges = [(0, u32::MAX), (94, 99), (96, 192), (100, 100), (105, 90), (97, 120)];
    let question = |(from, to): (u32, u32), sources| Question { from: Bucket(from), to: Bucket(to), sources };
    ranges.iter().flat_map(|range| sources.map(|sources| question(*range, sources))).collect()
}

fn edges() -> Vec<Bucket> {
    [0, 93, 96, 97, 103, 110, 200].map(Bucket).to_vec()
}

impl Seen {
    /// What a store answers.
    pub(super) fn of(store: &Embedded, project: &str) -> Result<Self, ViewsError> {
        let mut rankings = Vec::new();
        let mut agents = Vec::new();
        for question in questions() {
            let ranking = block_on(store.ranking(project, question))?;
            let rows = ranking.page(0, usize::MAX).0.into_iter().map(|row| (row.path.to_string(), row.counts));
            rankings.push((ranking.totals(), rows.collect()));
            agents.push(block_on(store.agents(project, question, None, 2))?);
        }
        let mut series = Vec::new();
        for path in [None, Some("/1")] {
            for question in questions().into_iter().take(4) {
                series.push(block_on(store.series(project, path, edges(), question.sources))?);
            }
        }
        let status = block_on(store.status(project))?;
        let marks = LOGS.map(|log| block_on(store.marks(project, log))).into_iter().collect::<Result<_, _>>()?;
        Ok(Self {
            rankings,
            series,
            agents,
            clients: block_on(store.clients(project))?,
            figures: (status.views, status.pages),
            edges: [status.first, status.last, status.script_since, status.server_since, status.floor],
            marks,
        })
    }
}

impl Model {
    /// What a store would make of a batch.
    pub(super) fn judge(&self, batch: &Batch, now: u32) -> (Appended, Vec<View>) {
        let mut appended = Appended::default();
        let (mut kept, mut ids) = (Vec::new(), BTreeSet::new());
        for (place, view) in (0..).zip(&batch.views) {
            if self.floor.is_some_and(|floor| view.bucket < floor) {
                continue;
            }
            let known = |id: &u128| self.ids.get(id).is_some_and(|at| *at >= now - ID_SECONDS) || ids.contains(id);
            if view.id.as_ref().is_some_and(known) {
                appended.duplicates.push(place);
                continue;
            }
            ids.extend(view.id);
            appended.counted += u64::from(view.count);
            kept.push(view.clone());
        }
        (appended, kept)
    }

    /// Takes what a store kept.
    pub(super) fn take(&mut self, kept: &[View], mark: Option<&Mark>, now: u32) {
        for view in kept {
            let key = (view.bucket, Arc::clone(&view.path), Arc::clone(&view.client));
            *self.views.entry(key).or_default() += u64::from(view.count);
            self.ids.extend(view.id.map(|id| (id, now)));
            let since = match (view.client.facts.channel, view.client.verdict.counts_as()) {
                (Channel::Script, CountsAs::Human) => Some(&mut self.script_since),
                (Channel::Server, CountsAs::Ai | CountsAs::Other) => Some(&mut self.server_since),
                _ => None,
            };
            if let Some(since) = since {
                *since = Some(since.map_or(view.bucket, |since| since.min(view.bucket)));
            }
        }
        if let Some(mark) = mark {
            self.marks.retain(|old| old.log != mark.log || Some(&old.digest) != mark.replaces.as_ref());
            self.marks.push(mark.clone());
        }
    }

    pub(super) fn retain(&mut self, floor: Bucket) {
        self.floor = Some(self.floor.map_or(floor, |old| old.max(floor)));
    }

    pub(super) fn relabel(&mut self, changes: &[(Arc<Client>, Verdict)]) {
        let changes: HashMap<_, _> = changes.iter().cloned().collect();
        for ((bucket, path, client), count) in std::mem::take(&mut self.views) {
            let client = match changes.get(&client) {
                Some(verdict) => Arc::new(Client { facts: client.facts.clone(), verdict: verdict.clone() }),
                None => client,
            };
            *self.views.entry((bucket, path, client)).or_default() += count;
        }
    }

    /// What a store should answer.
    pub(super) fn seen(&self) -> Seen {
        let rankings = questions().into_iter().map(|question| self.ranking(question)).collect();
        let series = |path: Option<&'static str>| {
            questions().into_iter().take(4).map(move |question| self.series(path, question.sources))
        };
        let mut clients: BTreeMap<Arc<Client>, u64> = BTreeMap::new();
        let (mut views, mut pages) = (0, BTreeSet::new());
        for (_, path, client, count) in self.there() {
            *clients.entry(Arc::clone(client)).or_default() += count;
            views += count;
            pages.insert(path);
        }
        let mut clients: Vec<_> = clients.into_iter().collect();
        clients.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let buckets = || self.there().map(|(bucket, ..)| bucket);
        let marks = |log: &str| self.marks.iter().filter(|mark| mark.log == log).cloned().collect();
        Seen {
            rankings,
            series: series(None).chain(series(Some("/1"))).collect(),
            agents: questions().into_iter().map(|question| self.agents(question)).collect(),
            clients,
            figures: (views, pages.len() as u64),
            edges: [buckets().min(), buckets().max(), self.script_since, self.server_since, self.floor],
            marks: LOGS.map(marks).to_vec(),
        }
    }

    fn there(&self) -> impl Iterator<Item = (Bucket, &Arc<str>, &Arc<Client>, u64)> {
        let views = self.views.iter().map(|((bucket, path, client), count)| (*bucket, path, client, *count));
        views.filter(|(bucket, ..)| self.floor.is_none_or(|floor| *bucket >= floor))
    }

    /// The views that a question is about.
    fn asked(&self, question: Question) -> impl Iterator<Item = (&Arc<str>, &Arc<Client>, u64)> {
        let asked = self.there().filter(move |(bucket, _, client, _)| {
            let began = |since: Option<Bucket>| since.is_some_and(|since| since <= *bucket);
            let human = client.verdict.counts_as() == CountsAs::Human;
            let wanted = match (if human { question.sources.people } else { question.sources.machines }, human) {
                (Source::Both, _) => None,
                (Source::Script, _) => Some(Channel::Script),
                (Source::Server, _) => Some(Channel::Server),
                (Source::Auto, true) if began(self.script_since) => Some(Channel::Script),
                (Source::Auto, false) if !began(self.server_since) => Some(Channel::Script),
                (Source::Auto, _) => Some(Channel::Server),
            };
            *bucket >= question.from && *bucket < question.to && wanted.is_none_or(|it| it == client.facts.channel)
        });
        asked.map(|(_, path, client, count)| (path, client, count))
    }

    fn ranking(&self, question: Question) -> (Counts, Vec<(String, Counts)>) {
        let (mut totals, mut pages) = (Counts::default(), BTreeMap::<String, Counts>::new());
        for (path, client, count) in self.asked(question) {
            let page = match client.verdict.counts_as() {
                CountsAs::Other => continue,
                _ => pages.entry(path.to_string()).or_default(),
            };
            let human = client.verdict.counts_as() == CountsAs::Human;
            for counts in [page, &mut totals] {
                *(if human { &mut counts.human } else { &mut counts.ai }) += count;
            }
        }
        let mut pages: Vec<_> = pages.into_iter().collect();
        pages.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.total()));
        (totals, pages)
    }

    fn series(&self, path: Option<&str>, sources: Sources) -> Vec<Counts> {
        let pair = |pair: &[Bucket]| {
            let (totals, pages) = self.ranking(Question { from: pair[0], to: pair[1], sources });
            match path {
                None => totals,
                Some(path) => pages.into_iter().find(|(page, _)| page == path).map_or(Counts::default(), |(_, it)| it),
            }
        };
        edges().windows(2).map(pair).collect()
    }

    fn agents(&self, question: Question) -> Vec<AgentViews> {
        let mut agents = BTreeMap::<Verdict, BTreeMap<Arc<str>, u64>>::new();
        for (path, client, count) in self.asked(question) {
            if client.verdict.counts_as() != CountsAs::Human {
                *agents.entry(client.verdict.clone()).or_default().entry(Arc::clone(path)).or_default() += count;
            }
        }
        let agent = |(verdict, pages): (Verdict, BTreeMap<Arc<str>, u64>)| {
            let (views, count) = (pages.values().sum(), pages.len() as u64);
            let mut most_read: Vec<_> = pages.into_iter().collect();
            most_read.sort_by_key(|(_, views)| std::cmp::Reverse(*views));
            most_read.truncate(2);
            AgentViews { verdict, views, pages: count, most_read }
        };
        let mut agents: Vec<_> = agents.into_iter().map(agent).collect();
        agents.sort_by_key(|agent| std::cmp::Reverse(agent.views));
        agents
    }
}
