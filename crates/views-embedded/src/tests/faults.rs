//! Any step of the disk may fail, and the process or the machine may end at any moment: what was acknowledged is there
//! once, what was refused is not there, and the rest is there once or not at all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use copydesk_views::store::{ViewStore, ViewsError};
use copydesk_views::{Appended, Bucket, Class, Mark};
use proptest::prelude::*;

use super::faulty::FaultyDisk;
use super::model::{Model, Seen};
use super::steps::{Batches, PROJECTS, RandomMark, RandomView, Step, change, step};
use super::*;
use crate::embedded::block_on;

/// What a project may be.
#[derive(Debug, Clone)]
struct Maybe {
    /// What it is; several if they cannot be told apart.
    now: Vec<Model>,
    /// What it may turn out to be after a crash.
    after_crash: Vec<Model>,
    /// What it may be again after another crash, as long as nothing was acknowledged.
    until_acknowledged: Vec<Model>,
    /// Batches that were refused but may be in the log.
    unsure: Vec<Unsure>,
}

/// What was refused: what would have been kept of it, and when.
#[derive(Debug, Clone, PartialEq)]
struct Unsure {
    kept: Vec<View>,
    mark: Option<Mark>,
    at: u32,
}

impl Maybe {
    fn is_unsure(&mut self, batch: Batch, at: u32) {
        let (_, kept) = self.now[0].judge(&batch, at);
        let unsure = Unsure { kept, mark: batch.mark, at };
        if self.unsure.last() != Some(&unsure) {
            self.unsure.push(unsure);
        }
    }
}

struct World {
    folder: PathBuf,
    clock: Arc<ManualClock>,
    disk: Arc<FaultyDisk>,
    store: Option<Arc<Embedded>>,
    seed: u64,
    percent: u64,
    batches: Batches,
    projects: [Maybe; 2],
    backups: usize,
}

impl World {
    fn new(folder: &Path, seed: u64, percent: u64) -> Self {
        let new =
            Maybe { now: vec![Model::default()], after_crash: vec![], until_acknowledged: vec![], unsure: vec![] };
        let mut world = Self {
            folder: folder.join("store"),
            clock: ManualClock::new(),
            disk: FaultyDisk::new(seed),
            store: None,
            seed,
            percent,
            batches: Batches::default(),
            projects: [new.clone(), new],
            backups: 0,
        };
        world.open();
        world
    }

    fn now(&self) -> u32 {
        (copydesk_domain::Clock::now(&*self.clock).as_millis() / 1000) as u32
    }

    fn store(&self) -> &Embedded {
        self.store.as_ref().unwrap()
    }

    /// Opens the store on a disk that fails now and then; if that is too much for it, on one that does not.
    fn open(&mut self) {
        self.seed = self.seed.wrapping_mul(31).wrapping_add(7);
        self.disk = self.disk.after(self.seed);
        self.disk.fail(self.percent);
        let open = |disk: &Arc<FaultyDisk>| Embedded::open_on(disk.clone(), &self.folder, small(&self.clock));
        let store = open(&self.disk).or_else(|_| {
            self.disk.fail(0);
            open(&self.disk)
        });
        self.disk.fail(self.percent);
        self.store = Some(store.unwrap());
    }

    fn check(&self) {
        for (project, maybe) in PROJECTS.iter().zip(&self.projects) {
            let seen = Seen::of(self.store(), project).unwrap();
            for model in &maybe.now {
                assert_eq!(seen, model.seen(), "{project}");
            }
        }
    }

    fn appended(&mut self, project: usize, batch: Batch, answer: Result<Appended, ViewsError>) {
        let now = self.now();
        let uncut = self.disk.was_uncut();
        let maybe = &mut self.projects[project];
        match answer {
            Ok(appended) => {
                maybe.now.retain(|model| model.judge(&batch, now).0 == appended);
                assert!(!maybe.now.is_empty(), "{appended:?} of {batch:?}");
                let (_, kept) = maybe.now[0].judge(&batch, now);
                for model in maybe.now.iter_mut().chain(&mut maybe.after_crash) {
                    model.take(&kept, batch.mark.as_ref(), now);
                }
                // The log goes on in a file that says that they are void.
                for maybe in &mut self.projects {
                    maybe.unsure.clear();
                    maybe.until_acknowledged.clear();
                }
            }
            Err(ViewsError::Unavailable(_)) if uncut => maybe.is_unsure(batch, now),
            Err(ViewsError::Unavailable(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn append(&mut self, project: usize, views: &[RandomView], mark: Option<RandomMark>) {
        let batch = self.batches.make(project, views, mark);
        let answer = self.store().append_now(batch.clone());
        self.appended(project, batch, answer);
    }

    /// Several at once; which of them is first does not matter, because they have no ids.
    fn append_many(&mut self, project: usize, count: usize) {
        let batches: Vec<Batch> =
            (0..count).map(|n| self.batches.make(project, &[(100, n as u8, n, 1, None)], None)).collect();
        let store = self.store();
        let answers = std::thread::scope(|scope| {
            let append = |batch: &Batch| {
                let batch = batch.clone();
                scope.spawn(move || store.append_now(batch))
            };
            let threads: Vec<_> = batches.iter().map(append).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let uncut = self.disk.was_uncut();
        let acknowledged = answers.iter().any(Result::is_ok);
        for (batch, answer) in batches.into_iter().zip(answers) {
            // Which came first is not known: what was refused may be before or behind what was not.
            let refused = answer.is_err();
            if refused && uncut {
                let now = self.now();
                self.projects[project].is_unsure(batch, now);
            } else if !refused {
                let unsure = self.projects.each_ref().map(|maybe| maybe.unsure.clone());
                self.appended(project, batch, answer);
                if uncut && acknowledged {
                    self.projects.iter_mut().zip(unsure).for_each(|(maybe, unsure)| maybe.unsure = unsure);
                }
            }
        }
    }

    fn changed(&mut self, project: usize, done: bool, change: impl Fn(&mut Model)) {
        let maybe = &mut self.projects[project];
        if done {
            let Maybe { now, after_crash, until_acknowledged, .. } = maybe;
            now.iter_mut().chain(after_crash).chain(until_acknowledged).for_each(change);
        } else {
            let mut others: Vec<Model> = maybe.now.iter().chain(&maybe.after_crash).cloned().collect();
            others.iter_mut().for_each(change);
            maybe.after_crash.extend(others);
        }
    }

    fn crash(&mut self, power: bool, after: usize) {
        self.disk.end_in(after);
        let batch = self.batches.make(0, &[(101, 1, 2, 1, Some(3))], None);
        let answer = self.store().append_now(batch.clone());
        let refused = answer.is_err();
        self.appended(0, batch.clone(), answer);
        if refused {
            let now = self.now();
            self.projects[0].is_unsure(batch, now);
        }
        self.end(power);
    }

    /// The process or the machine ends now, and the store is opened again.
    fn end(&mut self, power: bool) {
        self.disk.end_in(0);
        self.store = None;
        if power {
            self.disk.lose_power();
        }
        self.open();
        self.settle_doubts(power);
    }

    /// After a start, what might have been is or is not. But what is there may still be lost with the power.
    fn settle_doubts(&mut self, power_was_lost: bool) {
        for (place, project) in PROJECTS.iter().enumerate() {
            let seen = Seen::of(self.store(), project).unwrap();
            let Maybe { now, after_crash, until_acknowledged, unsure } = self.projects[place].clone();
            let changes: Vec<Model> = now.into_iter().chain(after_crash.clone()).collect();
            let mut all: Vec<Model> = changes.iter().cloned().chain(until_acknowledged).collect();
            for Unsure { kept, mark, at } in unsure {
                for mut model in all.clone() {
                    model.take(&kept, mark.as_ref(), at);
                    all.push(model);
                }
            }
            let mut now: Vec<Model> = all.iter().filter(|model| model.seen() == seen).cloned().collect();
            assert!(!now.is_empty(), "{project} is none of what it may be: {seen:#?}\n{:#?}", all[0].seen());
            now.dedup();
            let mut maybe = Maybe { now, after_crash: vec![], until_acknowledged: vec![], unsure: vec![] };
            if !power_was_lost {
                maybe.after_crash = if after_crash.is_empty() { vec![] } else { changes };
                maybe.until_acknowledged = all;
            }
            self.projects[place] = maybe;
        }
    }

    fn backup(&mut self) {
        self.backups += 1;
        let target = self.folder.with_file_name(format!("backup-{}", self.backups));
        if self.store().backup_now(&target).is_err() {
            return;
        }
        let copy = Embedded::open(&target, small(&self.clock)).unwrap();
        for (project, maybe) in PROJECTS.iter().zip(&self.projects) {
            assert_eq!(Seen::of(&copy, project).unwrap(), maybe.now[0].seen());
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Append(project, views, mark) => self.append(project, &views, mark),
            Step::AppendMany(project, count) => self.append_many(project, count),
            Step::Settle => drop(self.store().settle()),
            Step::Retain(project, floor) => {
                let done = block_on(self.store().retain(PROJECTS[project], Bucket(floor)));
                self.changed(project, done.is_ok(), |model| model.retain(Bucket(floor)));
            }
            Step::Relabel(project, who, class) => {
                let changes = change(who, class);
                let done = block_on(self.store().relabel(PROJECTS[project], changes.clone()));
                self.changed(project, done.is_ok(), |model| model.relabel(&changes));
            }
            Step::Remove(project) => {
                let done = block_on(self.store().remove(PROJECTS[project]));
                self.changed(project, done.is_ok(), |model| *model = Model::default());
            }
            Step::Hours(hours) => self.clock.advance_hours(hours),
            Step::Reopen => {
                self.store = None;
                self.open();
                self.settle_doubts(false);
            }
            Step::Crash { power, after } => self.crash(power, after),
            Step::Backup => self.backup(),
            Step::Evict => self.store().shared.in_memory().iter().for_each(|project| project.forget()),
        }
    }
}

fn run(steps: Vec<Step>, seed: u64, percent: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(folder.path(), seed, percent);
    for step in steps {
        world.step(step);
        world.check();
    }
}

/// Whatever a change consists of, it may end between any two of its steps.
#[test]
fn a_change_that_is_cut_short_has_happened_or_not() {
    let views = |shift: u32| {
        (0..8).map(|n| (94 + n * 2 + shift, n as u8 % 3, n as usize, 1, Some(n as u8))).collect::<Vec<_>>()
    };
    let changes = [Step::Relabel(0, 2, Class::OtherBot), Step::Retain(0, 100), Step::Remove(0), Step::Settle];
    for (change, after, power) in
        changes.iter().flat_map(|it| (0..30).flat_map(move |after| [(it, after, false), (it, after, true)]))
    {
        let folder = tempfile::tempdir().unwrap();
        let mut world = World::new(folder.path(), after as u64, 0);
        world.step(Step::Append(0, views(0), Some((0, false))));
        world.step(Step::Settle);
        world.step(Step::Append(0, views(1), Some((0, true))));
        world.disk.end_in(after);
        world.step(change.clone());
        world.check();
        world.end(power);
        world.step(Step::Append(0, views(0), None));
        world.check();
        world.step(Step::Reopen);
        world.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn on_a_good_disk_every_answer_is_that_of_the_list(steps in prop::collection::vec(step(), 1..25), seed: u64) {
        run(steps, seed, 0);
    }

    #[test]
    fn on_a_bad_disk_as_well(steps in prop::collection::vec(step(), 1..25), seed: u64, percent in 1..30u64) {
        run(steps, seed, percent);
    }
}
