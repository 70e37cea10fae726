//! How the processes on one PostgreSQL wake each other. What a transaction announces is told in this process as soon as it has
//! committed, and to the others by one task with a short pause between: NOTIFY inside of a transaction holds a lock of the
//! whole server until the commit is on disk, and all processes would stand in line for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::connections::{Connections, no_answer, unless};
use crate::hub::{Change, Hub};

pub(crate) const CHANNEL: &str = "copydesk";
/// The least time between two announcements of a process.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a process says what it waits for, while it does, and after which time without it says that it waits for nothing.
const REPEAT: Duration = Duration::from_secs(10);
const BUSY: Duration = Duration::from_secs(1);
/// How long that is believed: one repetition may be lost.
const BELIEVED: Duration = Duration::from_secs(25);
/// PostgreSQL takes less than 8,000 bytes.
const LONGEST: usize = 7_900;
/// The most that waits to be told. Beyond it, those who watch jobs find out by their own looks.
const MOST_WAITING: usize = 10_000;

/// What somebody in a process waits for. Others tell of it only while somebody does: each announcement wakes all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// A job to work on.
    Work,
    /// Whatever happens to jobs.
    News,
    /// What is to be sent to others.
    Outbox,
}

impl Need {
    const ALL: [Self; 3] = [Self::Work, Self::News, Self::Outbox];

    fn word(self) -> &'static str {
        match self {
            Self::Work => "idle",
            Self::News => "watching",
            Self::Outbox => "sending",
        }
    }

    /// What one must need to be told of that change by others. Of the rest everybody is told.
    fn of(change: &Change) -> Option<Self> {
        match change {
            Change::Job(_) => Some(Self::News),
            Change::Room => Some(Self::Work),
            Change::Outbox => Some(Self::Outbox),
            Change::Ready(_) | Change::Called(_) | Change::Asked | Change::Removed => None,
        }
    }
}

/// What processes tell each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    /// A process has begun to listen, and knows of nobody's needs.
    Hello,
    Need(Need),
    Change(Change),
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
    /// What other processes need, and when each has said so.
    others: Mutex<BTreeMap<(Need, String), Instant>>,
    /// How many wait here for each of [`Need::ALL`].
    here: [AtomicUsize; 3],
}

impl Announcer {
    pub(crate) fn new(hub: Hub, name: String) -> Self {
        let (waiting, some) = (Mutex::default(), Notify::new());
        Self(Arc::new(Inner { hub, name, waiting, some, others: Mutex::default(), here: Default::default() }))
    }

    /// Tells of what a transaction has changed, after its commit.
    pub(crate) fn tell(&self, changes: Vec<Change>) {
        for change in changes {
            if Need::of(&change).is_none_or(|need| self.others(need) > 0) {
                self.say(Word::Change(change.clone()));
            }
            self.0.hub.publish(change);
        }
    }

    /// From now until what is returned is dropped, other processes know that somebody here needs it.
    pub(crate) fn need(&self, need: Need) -> Interest {
        if self.0.here[need as usize].fetch_add(1, Ordering::Relaxed) == 0 {
            self.say(Word::Need(need));
        }
        Interest { announcer: self.clone(), need }
    }

    /// How many other processes need it.
    pub(crate) fn others(&self, need: Need) -> usize {
        let others = locked(&self.0.others);
        let of_need = others.range((need, String::new())..).take_while(|((of, _), _)| *of == need);
        of_need.filter(|(_, said_at)| said_at.elapsed() < BELIEVED).count()
    }

    /// Asks the others what they need: this process has heard nothing so far.
    pub(crate) fn greet(&self) {
        self.say(Word::Hello);
    }

    fn say(&self, word: Word) {
        let mut waiting = locked(&self.0.waiting);
        if waiting.len() < MOST_WAITING || !matches!(word, Word::Change(Change::Job(_))) {
            waiting.insert(word);
        }
        drop(waiting);
        self.0.some.notify_one();
    }

    /// Passes on what this process has to tell, for ever.
    pub(crate) async fn send_forever(self, connections: Connections) {
        let (mut repeat, mut busy) = (tokio::time::interval(REPEAT), tokio::time::interval(BUSY));
        let (mut is_believed_idle, mut was_idle) = (false, false);
        loop {
            let mut is_busy = false;
            tokio::select! {
                () = self.0.some.notified() => {}
                _ = repeat.tick() => self.say_needs(),
                // Whoever is taken for idle makes those who are wait longer for their turn.
                _ = busy.tick() => {
                    let is_idle = self.0.here[Need::Work as usize].load(Ordering::Relaxed) > 0;
                    is_busy = is_believed_idle && !is_idle && !was_idle;
                    was_idle = is_idle;
                    if !is_busy {
                        continue;
                    }
                }
            }
            let words = std::mem::take(&mut *locked(&self.0.waiting));
            is_believed_idle = words.contains(&Word::Need(Need::Work)) || is_believed_idle && !is_busy;
            // An earlier program makes nothing of a payload without a word.
            let nothing = is_busy.then(|| format!("from {}", self.0.name));
            for payload in nothing.into_iter().chain(payloads(&self.0.name, words)) {
                if let Err(error) = notify(&connections, payload).await {
                    tracing::debug!(%error, "cannot wake other processes; they will look by themselves");
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn say_needs(&self) {
        for need in Need::ALL {
            if self.0.here[need as usize].load(Ordering::Relaxed) > 0 {
                self.say(Word::Need(need));
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
        if payload.lines().count() == 1 && first.is_none() {
            locked(&self.0.others).remove(&(Need::Work, sender.to_owned()));
        }
        for line in first.into_iter().chain(lines) {
            match read_word(line) {
                Word::Change(change) => self.0.hub.publish(change),
                Word::Need(need) => self.note(need, sender),
                Word::Hello => self.say_needs(),
            }
        }
    }

    fn note(&self, need: Need, sender: &str) {
        let mut others = locked(&self.0.others);
        let is_new = others.insert((need, sender.to_owned()), Instant::now()).is_none();
        if is_new {
            others.retain(|_, said_at| said_at.elapsed() < BELIEVED);
        }
    }
}

async fn notify(connections: &Connections, payload: String) -> Result<(), sqlx::Error> {
    // Nothing is lost with an announcement, so that nobody waits for it to be on disk.
    let sql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
    let mut connection = connections.lend().await?;
    let gone = connection.gone();
    unless(gone, sqlx::query(sql).bind(CHANNEL).bind(payload).execute(&mut *connection))
        .await
        .ok_or_else(no_answer)??;
    connection.keep();
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What somebody in this process needs, while they do.
pub(crate) struct Interest {
    announcer: Announcer,
    need: Need,
}

impl Drop for Interest {
    fn drop(&mut self) {
        self.announcer.0.here[self.need as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Interest {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Interest({:?})", self.need)
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
    let plain = match word {
        Word::Change(Change::Ready(Some(project_id))) => return format!("ready {project_id}"),
        Word::Change(Change::Job(id)) => return format!("job {id}"),
        Word::Change(Change::Called(id)) => return format!("called {id}"),
        Word::Change(Change::Ready(None)) => "ready",
        Word::Change(Change::Room) => "room",
        Word::Change(Change::Outbox) => "outbox",
        Word::Change(Change::Asked) => "asked",
        Word::Change(Change::Removed) => "removed",
        Word::Need(need) => need.word(),
        Word::Hello => "hello",
    };
    plain.to_owned()
}

/// What is not known comes from a newer program, and may be anything: a look finds out.
fn read_word(line: &str) -> Word {
    if let Some(need) = Need::ALL.into_iter().find(|need| need.word() == line) {
        return Word::Need(need);
    }
    Word::Change(match line.split_once(' ') {
        Some(("ready", project_id)) => Change::Ready(Some(project_id.into())),
        Some(("job", id)) => Change::Job(id.into()),
        Some(("called", id)) => Change::Called(id.into()),
        _ => match line {
            "outbox" => Change::Outbox,
            "asked" => Change::Asked,
            "removed" => Change::Removed,
            "room" => Change::Room,
            "hello" => return Word::Hello,
            _ => Change::Ready(None),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> BTreeSet<Word> {
        let changes = [
            Change::Ready(None),
            Change::Ready(Some("p".into())),
            Change::Room,
            Change::Job("x".into()),
            Change::Called("y".into()),
            Change::Outbox,
            Change::Asked,
            Change::Removed,
        ];
        let changes = changes.into_iter().map(Word::Change);
        changes.chain(Need::ALL.map(Word::Need)).chain([Word::Hello]).collect()
    }

    #[test]
    fn words_read_back() {
        let payloads = payloads("one", words());
        let [payload] = payloads.as_slice() else { panic!("{payloads:?}") };
        let (sender, lines) = payload.split_once('\n').unwrap();
        assert_eq!(sender, "from one");
        assert_eq!(lines.lines().map(read_word).collect::<BTreeSet<_>>(), words());
        assert_eq!(read_word("something new"), Word::Change(Change::Ready(None)));
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
        let all = || vec![job.clone(), Change::Room, Change::Outbox, Change::Ready(None), Change::Called("x".into())];
        let told = |changes: &[Change]| changes.iter().cloned().map(Word::Change).collect::<BTreeSet<_>>();
        announcer.tell(all());
        assert_eq!(waiting(), told(&all()[3..]));
        announcer.hear("from one\nwatching\nidle\nsending");
        announcer.tell(all());
        assert_eq!(waiting(), told(&all()[3..]), "its own words are no news");
        let needs = [("watching", job.clone()), ("idle", Change::Room), ("sending", Change::Outbox)];
        for (said, (word, change)) in needs.into_iter().enumerate() {
            announcer.tell(vec![change.clone()]);
            assert_eq!(waiting(), told(&[]), "nobody is {word}");
            announcer.hear(&format!("from other\n{word}"));
            announcer.tell(vec![change.clone()]);
            assert_eq!(waiting(), told(&[change]), "{said}");
        }
    }

    #[tokio::test]
    async fn who_needs_what_is_counted_and_told_to_those_who_come_later() {
        let announcer = Announcer::new(Hub::new(), "one".to_owned());
        let waiting = || std::mem::take(&mut *announcer.0.waiting.lock().unwrap());
        for sender in ["two", "three", "two"] {
            announcer.hear(&format!("from {sender}\nidle"));
        }
        announcer.hear("from four\nwatching");
        assert_eq!(Need::ALL.map(|need| announcer.others(need)), [2, 1, 0]);
        let need = announcer.need(Need::Work);
        assert_eq!(waiting(), BTreeSet::from([Word::Need(Need::Work)]));
        announcer.hear("from five\nhello");
        assert_eq!(waiting(), BTreeSet::from([Word::Need(Need::Work)]));
        announcer.hear("from two");
        assert_eq!(announcer.others(Need::Work), 1, "two is busy");
        drop(need);
        announcer.hear("from six\nhello");
        assert_eq!(waiting(), BTreeSet::new());
    }
}
