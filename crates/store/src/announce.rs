//! How the processes on one PostgreSQL wake each other. What a transaction announces is told in this process as soon as it has
//! committed, and to the others by one task with a short pause between: NOTIFY inside of a transaction holds a lock of the
//! whole server until the commit is on disk, and all processes would stand in line for it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::PgPool;
use tokio::sync::Notify;

use crate::hub::{Change, Hub};

pub(crate) const CHANNEL: &str = "copydesk";
/// The least time between two announcements of a process.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a process says what it waits for, while it does.
const REPEAT: Duration = Duration::from_secs(10);
/// How long that is believed: one repetition may be lost.
const BELIEVED: Duration = Duration::from_secs(25);
/// PostgreSQL takes less than 8,000 bytes.
const LONGEST: usize = 7_900;
/// The most that waits to be told. Beyond it, those who watch jobs find out by their own looks.
const MOST_WAITING: usize = 10_000;

/// What processes tell each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Change(Change),
    /// Somebody waits for a job here.
    Idle,
    /// Somebody here watches jobs that others work on.
    Watching,
}

/// What this process has to tell, and what it knows of the others.
#[derive(Clone)]
pub(crate) struct Announcer(Arc<Inner>);

struct Inner {
    hub: Hub,
    /// Who tells: a process leaves out what it hears from itself.
    name: String,
    waiting: Mutex<BTreeSet<Word>>,
    some: Notify,
    started: Instant,
    /// Until when another process is known to wait for a job, and to watch jobs; in milliseconds since the start.
    others_idle: AtomicU64,
    others_watch: AtomicU64,
    idle_here: AtomicUsize,
    watching_here: AtomicUsize,
}

impl Announcer {
    pub(crate) fn new(hub: Hub, name: String) -> Self {
        let inner = Inner {
            hub,
            name,
            waiting: Mutex::default(),
            some: Notify::new(),
            started: Instant::now(),
            others_idle: AtomicU64::new(0),
            others_watch: AtomicU64::new(0),
            idle_here: AtomicUsize::new(0),
            watching_here: AtomicUsize::new(0),
        };
        Self(Arc::new(inner))
    }

    /// Tells of what a transaction has changed, after its commit.
    pub(crate) fn tell(&self, changes: Vec<Change>) {
        for change in changes {
            let goes_out = match &change {
                Change::Job(_) => self.is_within(&self.0.others_watch),
                // Room in a project is of use to those who have nothing to do.
                Change::Room => self.is_within(&self.0.others_idle),
                _ => true,
            };
            if goes_out {
                self.say(Word::Change(change.clone()));
            }
            self.0.hub.publish(change);
        }
    }

    /// From now until what is returned is dropped, other processes tell when a project has room for another job.
    pub(crate) fn wait_for_jobs(&self) -> Interest {
        self.interest(|inner| &inner.idle_here, Word::Idle)
    }

    /// From now until what is returned is dropped, other processes tell of everything that happens to jobs.
    pub(crate) fn watch_jobs(&self) -> Interest {
        self.interest(|inner| &inner.watching_here, Word::Watching)
    }

    fn interest(&self, count: fn(&Inner) -> &AtomicUsize, word: Word) -> Interest {
        if count(&self.0).fetch_add(1, Ordering::Relaxed) == 0 {
            self.say(word);
        }
        Interest { announcer: self.clone(), count }
    }

    fn is_within(&self, until: &AtomicU64) -> bool {
        until.load(Ordering::Relaxed) > self.millis()
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.0.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn say(&self, word: Word) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST_WAITING || !matches!(word, Word::Change(Change::Job(_))) {
            waiting.insert(word);
        }
        drop(waiting);
        self.0.some.notify_one();
    }

    /// Passes on what this process has to tell, for as long as the pool is open.
    pub(crate) async fn send_forever(self, pool: PgPool) {
        let mut repeat = tokio::time::interval(REPEAT);
        while !pool.is_closed() {
            tokio::select! {
                () = self.0.some.notified() => {}
                _ = repeat.tick() => self.repeat(),
            }
            let words = std::mem::take(&mut *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            for payload in payloads(&self.0.name, words) {
                // Nothing is lost with an announcement, so that nobody waits for it to be on disk.
                let sql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
                if let Err(error) = sqlx::query(sql).bind(CHANNEL).bind(payload).execute(&pool).await {
                    tracing::debug!(%error, "cannot wake other processes; they will look by themselves");
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn repeat(&self) {
        for (count, word) in [(&self.0.idle_here, Word::Idle), (&self.0.watching_here, Word::Watching)] {
            if count.load(Ordering::Relaxed) > 0 {
                self.say(word);
            }
        }
    }

    /// Takes in what a process has told.
    pub(crate) fn hear(&self, payload: &str) {
        let mut lines = payload.lines();
        let (sender, first) = match lines.next().map(|line| (line.strip_prefix("from "), line)) {
            Some((Some(sender), _)) => (sender, None),
            Some((None, line)) => ("", Some(line)),
            None => ("", None),
        };
        if sender == self.0.name {
            return;
        }
        let until = self.millis() + u64::try_from(BELIEVED.as_millis()).unwrap_or(u64::MAX);
        for line in first.into_iter().chain(lines) {
            match read_word(line) {
                Word::Change(change) => self.0.hub.publish(change),
                Word::Idle => self.0.others_idle.store(until, Ordering::Relaxed),
                Word::Watching => self.0.others_watch.store(until, Ordering::Relaxed),
            }
        }
    }
}

/// What somebody in this process waits for, while they do.
pub(crate) struct Interest {
    announcer: Announcer,
    count: fn(&Inner) -> &AtomicUsize,
}

impl Drop for Interest {
    fn drop(&mut self) {
        (self.count)(&self.announcer.0).fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Interest {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Interest")
    }
}

/// The words as notices, each as long as PostgreSQL takes it.
fn payloads(name: &str, words: BTreeSet<Word>) -> Vec<String> {
    let mut payloads: Vec<String> = Vec::new();
    for word in words {
        let word = write_word(&word);
        match payloads.last_mut() {
            Some(last) if last.len() + 1 + word.len() <= LONGEST => {
                last.push('\n');
                last.push_str(&word);
            }
            _ => payloads.push(format!("from {name}\n{word}")),
        }
    }
    payloads
}

fn write_word(word: &Word) -> String {
    match word {
        Word::Change(Change::Ready) => "ready".to_owned(),
        Word::Change(Change::Room) => "room".to_owned(),
        Word::Change(Change::Job(id)) => format!("job {id}"),
        Word::Change(Change::Called(id)) => format!("called {id}"),
        Word::Change(Change::Outbox) => "outbox".to_owned(),
        Word::Change(Change::Asked) => "asked".to_owned(),
        Word::Change(Change::Removed) => "removed".to_owned(),
        Word::Idle => "idle".to_owned(),
        Word::Watching => "watching".to_owned(),
    }
}

/// What is not known comes from a newer program, and may be anything: a look finds out.
fn read_word(line: &str) -> Word {
    Word::Change(match line.split_once(' ') {
        Some(("job", id)) => Change::Job(id.into()),
        Some(("called", id)) => Change::Called(id.into()),
        _ => match line {
            "outbox" => Change::Outbox,
            "asked" => Change::Asked,
            "removed" => Change::Removed,
            "room" => Change::Room,
            "idle" => return Word::Idle,
            "watching" => return Word::Watching,
            _ => Change::Ready,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> BTreeSet<Word> {
        let changes = [
            Change::Ready,
            Change::Room,
            Change::Job("x".into()),
            Change::Called("y".into()),
            Change::Outbox,
            Change::Asked,
            Change::Removed,
        ];
        changes.into_iter().map(Word::Change).chain([Word::Idle, Word::Watching]).collect()
    }

    #[test]
    fn words_read_back() {
        let payloads = payloads("one", words());
        let [payload] = payloads.as_slice() else { panic!("{payloads:?}") };
        let (sender, lines) = payload.split_once('\n').unwrap();
        assert_eq!(sender, "from one");
        assert_eq!(lines.lines().map(read_word).collect::<BTreeSet<_>>(), words());
        assert_eq!(read_word("something new"), Word::Change(Change::Ready));
    }

    #[test]
    fn many_words_are_told_in_notices_that_postgres_takes() {
        let many: BTreeSet<Word> =
            (0..2_000).map(|at| Word::Change(Change::Job(format!("job-{at:032}").as_str().into()))).collect();
        let payloads = payloads("one", many.clone());
        assert!(payloads.len() > 1);
        assert!(payloads.iter().all(|payload| payload.len() < 8_000 && payload.starts_with("from one\n")));
        let read: BTreeSet<Word> = payloads.iter().flat_map(|payload| payload.lines().skip(1)).map(read_word).collect();
        assert_eq!(read, many);
    }

    #[tokio::test]
    async fn what_nobody_elsewhere_waits_for_is_told_here_only() {
        let hub = Hub::new();
        let announcer = Announcer::new(hub.clone(), "one".to_owned());
        let waiting = || std::mem::take(&mut *announcer.0.waiting.lock().unwrap());
        let job = Change::Job("x".into());
        announcer.tell(vec![job.clone(), Change::Room]);
        assert_eq!(waiting(), BTreeSet::new());
        announcer.hear("from one\nwatching\nidle");
        announcer.tell(vec![job.clone()]);
        assert_eq!(waiting(), BTreeSet::new(), "its own words are no news");
        announcer.hear("from other\nwatching");
        announcer.tell(vec![job.clone(), Change::Room]);
        assert_eq!(waiting(), BTreeSet::from([Word::Change(job)]));
        announcer.hear("from other\nidle");
        announcer.tell(vec![Change::Room, Change::Ready, Change::Called("x".into())]);
        let all = [Change::Room, Change::Ready, Change::Called("x".into())];
        assert_eq!(waiting(), all.into_iter().map(Word::Change).collect());
    }
}
