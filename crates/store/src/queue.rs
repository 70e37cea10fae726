//! The lease queue: which job a worker may take.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use copydesk_boxed::boxed;
use copydesk_domain::{Job, JobId, Message, ProjectId, Timestamp};

use crate::conn::{Conn, Dialect, Result, Value, places, values};
use crate::database::Store;
use crate::error::StoreError;
use crate::hub::Change;
use crate::lanes::{self, CLOCKS, Lane};
use crate::lease::Lease;
use crate::postgres::Plans;
use crate::{events, jobs};

/// How often a claim looks again when others were faster, or the first job of a lane was not there any more.
const RACES: usize = 64;
/// After how long it gives up what it has lost again and again: its caller may have been asked to stop meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// One of so many claims waits for the lane whose turn it is, whoever holds it: a project in which others always write something,
/// new jobs for example, would be passed by for ever while other projects have jobs.
const PATIENT: u32 = 32;

/// The most jobs that one claim takes: it holds the rows of their projects until it is on disk.
const MOST: usize = 16;

/// By how much a worker prefers jobs of projects that are near to it: it takes them before others that have waited longer by
/// less than this.
const PREFERENCE: Duration = Duration::from_secs(2);
/// How long a claim waits for a project that somebody else holds. Another look comes soon.
const AWHILE: &str = "SET LOCAL lock_timeout = '300ms'";
const NEAR_LENGTHS: [usize; 3] = [8, 32, 128];

/// The rules of the queue, the same for every worker.
#[derive(Debug, Clone)]
pub struct QueueTerms {
    /// How long a lease lasts without a sign of life.
    pub lease: Duration,
    /// Jobs of one project running at a time, unless the project says otherwise; 0 is no limit.
    pub running_per_project: u32,
    /// How long a job may run, unless its project says otherwise.
    pub job_time: Duration,
    /// How long a job may wait for its first worker.
    pub queue_time: Duration,
    /// How often a job is tried before it is given up.
    pub attempts: u32,
    /// How long a job waits for a code host that is away.
    pub host_wait: Duration,
}

/// A job that was just leased, with all that is needed to run it.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub lease: Lease,
    pub job: Job,
    /// All its prompts, oldest first.
    pub messages: Vec<Message>,
    /// How often this run of it has been tried, this time included.
    pub tries: u32,
    /// When its time is up.
    pub deadline_at: Timestamp,
}

/// How much is in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDepth {
    /// Jobs that wait for a worker.
    pub waiting: u32,
    /// Jobs that a worker holds.
    pub running: u32,
}

/// Who works on the queue, and how well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// Since when the job waits that has waited longest and may run.
    pub oldest_waiting: Option<Timestamp>,
    /// Workers that hold a job, of all processes: each has one. Those that wait for one are not known here.
    pub busy_workers: u32,
}

#[boxed]
impl Store {
    /// Whether there is a job that `models` can run and whose project has room. An idle worker asks this, and writes
    /// nothing.
    pub async fn has_work(&self, models: &[String], terms: &QueueTerms) -> Result<bool> {
        let (models, running_per_project, now) = (models.to_vec(), terms.running_per_project, self.now());
        self.read(move |c| {
            Box::pin(async move {
                let look = Look { models: &models, running_per_project, now };
                Ok(!open_lanes(c, look, Among::Any, 1, "").await?.is_empty())
            })
        })
        .await
    }

    /// Takes up to `most` jobs that `models` can run: of the projects that have room, in turns, and of each about as many. Those
    /// in `near` come a little earlier than is their turn.
    pub async fn claim(
        &self,
        worker: &str,
        models: &[String],
        terms: &QueueTerms,
        most: usize,
        near: &[ProjectId],
    ) -> Result<Vec<Claimed>> {
        if models.is_empty() || most == 0 {
            return Ok(Vec::new());
        }
        // Each race is a transaction of its own: one that was lost must not keep holding a project's row while the
        // next waits for another's, or two workers could wait for each other.
        let started = Instant::now();
        let mut was_refused = false;
        let mut patient = self.claims.fetch_add(1, Ordering::Relaxed) % PATIENT == PATIENT - 1;
        for _ in 0..RACES {
            let (worker, models, terms) = (worker.to_owned(), models.to_vec(), terms.clone());
            let near = near.to_vec();
            let most = most.min(MOST);
            // Whoever waits for a project does not make others wait for their turn.
            let plans = if patient { Plans::Simple } else { Plans::SimpleInTurn };
            let race =
                self.write_planned(plans, move |c| Box::pin(race(c, worker, models, terms, most, near, patient)));
            let race = match race.await {
                // Somebody has added an event to one of the jobs at this very moment.
                Err(StoreError::Refused(_)) if !was_refused => {
                    was_refused = true;
                    Race::Lost
                }
                race => race?,
            };
            patient = match race {
                Race::Won(claimed) => return Ok(claimed),
                Race::NothingToTake => return Ok(Vec::new()),
                _ if started.elapsed() > PATIENCE => return Ok(Vec::new()),
                Race::InUse => !patient,
                Race::Lost => false,
            };
        }
        Ok(Vec::new())
    }

    /// When there will be something to do that no announcement tells of: a pause or a lease that ends.
    pub async fn next_due(&self) -> Result<Option<Timestamp>> {
        let now = self.now();
        self.read(move |c| Box::pin(next_due(c, now))).await
    }

    /// How much is in the queue.
    pub async fn queue_depth(&self) -> Result<QueueDepth> {
        self.read(|c| Box::pin(depth(c))).await
    }

    pub async fn queue_state(&self) -> Result<QueueState> {
        let now = self.now();
        self.read(move |c| Box::pin(state(c, now))).await
    }
}

/// What became of the try to take jobs that others may want too.
enum Race {
    Won(Vec<Claimed>),
    Lost,
    /// Others hold all there is.
    InUse,
    NothingToTake,
}

async fn race(
    c: &mut dyn Conn,
    worker: String,
    models: Vec<String>,
    terms: QueueTerms,
    most: usize,
    near: Vec<ProjectId>,
    patient: bool,
) -> Result<Race> {
    let look = Look { models: &models, running_per_project: terms.running_per_project, now: c.now() };
    let lanes = match held_lanes(c, look, most, &near, patient).await? {
        Held::Lanes(lanes) => lanes,
        Held::InUse => return Ok(Race::InUse),
        Held::NoneOpen => return Ok(Race::NothingToTake),
    };
    // The wait for the rows may have been long, and the lease begins now.
    let now = c.now();
    let chosen = choose(c, lanes, &terms, most, now).await?;
    let claimed = take(c, chosen, &worker, &terms, now).await?;
    Ok(if claimed.is_empty() { Race::Lost } else { Race::Won(claimed) })
}

/// Lanes to take jobs of, held together with their projects: whoever claims for a project holds its row, so that its limit is
/// exact. Those that others hold are left to them, but by those who are patient: they wait for the one whose turn it is.
async fn held_lanes(c: &mut dyn Conn, look: Look<'_>, most: usize, near: &[ProjectId], patient: bool) -> Result<Held> {
    if c.dialect() == Dialect::Sqlite {
        return Ok(Held::some(open_lanes(c, look, Among::All, most, "").await?));
    }
    if !patient {
        const FREE: &str = "FOR NO KEY UPDATE OF l SKIP LOCKED";
        let mut lanes = near_lanes(c, look, most, near, FREE).await?;
        if lanes.len() < most {
            let others = open_lanes(c, look, Among::All, most, FREE).await?;
            let others: Vec<_> = others.into_iter().filter(|other| !lanes.contains(other)).collect();
            lanes.extend(others);
            lanes.truncate(most);
        }
        if !lanes.is_empty() {
            return Ok(Held::Lanes(lanes));
        }
    }
    let Some(mut first) = open_lanes(c, look, Among::All, 1, "").await?.pop() else { return Ok(Held::NoneOpen) };
    if !patient {
        return Ok(Held::InUse);
    }
    // Not for long: other projects may have jobs by then, and whoever deletes a large project holds it for long.
    c.run(AWHILE, values![]).await?;
    let held = "SELECT turn_at, next_id FROM lanes WHERE project_id = $1 AND model = $2";
    let now = match c.hold("projects", &first.lane.project_id).await {
        Ok(_) => c.row_held(held, values![&first.lane.project_id, &first.lane.model]).await,
        Err(error) => Err(error),
    };
    // Nothing was written that an error could lose, and another one may be free by now.
    let Ok(now): Result<Option<(Timestamp, JobId)>> = now else { return Ok(Held::InUse) };
    c.run("SET LOCAL lock_timeout TO DEFAULT", values![]).await?;
    // A lane that is gone by now is not touched: it is not held, and somebody may be making it anew.
    let Some(now) = now else { return Ok(Held::InUse) };
    (first.turn_at, first.next_id) = now;
    Ok(Held::Lanes(vec![first]))
}

/// What came of the wish for lanes.
enum Held {
    Lanes(Vec<Turn>),
    /// There are some, and others hold them.
    InUse,
    NoneOpen,
}

impl Held {
    fn some(lanes: Vec<Turn>) -> Self {
        if lanes.is_empty() { Self::NoneOpen } else { Self::Lanes(lanes) }
    }
}

/// The lanes of near projects that may come before their turn.
async fn near_lanes(
    c: &mut dyn Conn,
    look: Look<'_>,
    most: usize,
    near: &[ProjectId],
    hold: &str,
) -> Result<Vec<Turn>> {
    if near.is_empty() {
        return Ok(Vec::new());
    }
    let Some(first) = open_lanes(c, look, Among::All, 1, "").await?.pop() else { return Ok(Vec::new()) };
    let before = first.turn_at.plus(PREFERENCE);
    // Of few lengths, some of them twice: every length is a statement of its own to the database.
    let length = NEAR_LENGTHS.into_iter().find(|length| *length >= near.len()).unwrap_or(near.len());
    let near: Vec<ProjectId> = near.iter().cycle().take(length).cloned().collect();
    open_lanes(c, look, Among::Only(&near, before), most, hold).await
}

/// A lane whose turn has come.
#[derive(PartialEq)]
struct Turn {
    lane: Lane,
    turn_at: Timestamp,
    next_id: JobId,
}

/// What is looked for.
#[derive(Clone, Copy)]
struct Look<'a> {
    models: &'a [String],
    running_per_project: u32,
    /// Jobs that may run by then.
    now: Timestamp,
}

#[derive(Clone, Copy)]
enum Among<'a> {
    All,
    /// All, in no order. A look that is planned while nothing waits would sort ten thousand projects later.
    Any,
    /// Lanes of these projects whose turn comes before that.
    Only(&'a [ProjectId], Timestamp),
}

/// The lanes with a job that may run now in the order of their turns, each with that job.
async fn open_lanes(c: &mut dyn Conn, look: Look<'_>, among: Among<'_>, most: usize, hold: &str) -> Result<Vec<Turn>> {
    let mut values = values![look.now, look.now.plus(CLOCKS), look.running_per_project];
    values.extend(look.models.iter().map(Value::from));
    let order = if matches!(among, Among::Any) { "" } else { "ORDER BY l.turn_at, l.next_id" };
    let among = match among {
        Among::All | Among::Any => String::new(),
        Among::Only(projects, before) => {
            let first = 4 + look.models.len();
            let places = places(first, projects.len());
            values.extend(projects.iter().map(Value::from));
            values.extend(values![before]);
            format!("AND l.project_id IN ({places}) AND l.turn_at <= ${}", first + projects.len())
        }
    };
    // A project is looked up for each lane, and what runs of it is counted there: few lanes of full projects come before one that
    // may be taken, and anything else that PostgreSQL could make of it is a look at all projects. How many are wanted is in the
    // text: a plan for any number would be one for many.
    let open = "FROM projects p WHERE p.id = l.project_id AND (SELECT count(*) FROM jobs r WHERE r.project_id = p.id \
                AND r.status = 'active' AND r.worker IS NOT NULL) < COALESCE(NULLIF(COALESCE(p.max_running, $3), 0), 2147483647)";
    let (held, open) = if hold.is_empty() {
        (String::new(), format!("AND (SELECT 1 {open}) = 1"))
    } else {
        (format!("CROSS JOIN LATERAL (SELECT {open} FOR NO KEY UPDATE SKIP LOCKED) AS held"), String::new())
    };
    let sql = format!(
        "SELECT l.project_id, l.model, l.turn_at, l.next_id FROM lanes l {held} WHERE l.next_at <= $1 \
         AND l.turn_at <= $2 AND NOT EXISTS (SELECT 1 FROM dormancy UNION ALL SELECT 1 FROM moving WHERE at_rest = 1) {open} \
         AND l.model IN ({}) {among} {order} LIMIT {most} {hold}",
        places(4, look.models.len())
    );
    let lanes: Vec<(ProjectId, String, (Timestamp, JobId))> = c.rows(sql, values).await?;
    let turn = |(project_id, model, (turn_at, next_id))| Turn { lane: Lane { project_id, model }, turn_at, next_id };
    Ok(lanes.into_iter().map(turn).collect())
}

/// Which jobs of these lanes to take, and sets the lanes to what is left in them. Of a lane whose first job is not there any more
/// none is taken: another lane may come before it now.
async fn choose(
    c: &mut dyn Conn,
    lanes: Vec<Turn>,
    terms: &QueueTerms,
    most: usize,
    now: Timestamp,
) -> Result<Vec<JobId>> {
    let count = lanes.len();
    let mut state = lanes_now(c, &lanes, terms.running_per_project, most.div_ceil(count.max(1)) + 1).await?;
    let (mut chosen, mut kept) = (Vec::new(), Vec::new());
    for (at, Turn { lane, turn_at, next_id }) in lanes.into_iter().enumerate() {
        let Some(room) = state.room.get_mut(&lane.project_id) else { continue };
        let fair = (most - chosen.len()).div_ceil(count - at).min(*room);
        let waiting = state.waiting.remove(&at).unwrap_or_default();
        let is_as_expected = waiting.first().is_some_and(|(not_before, id)| *id == next_id && *not_before <= turn_at);
        // The last of those that were read is only the next one.
        let fair = if is_as_expected { fair.min(most.div_ceil(count)) } else { 0 };
        let due = waiting.iter().take(fair).take_while(|(not_before, _)| *not_before <= now).count();
        // Whoever has had a job taken comes behind those who wait by now.
        let turn_at = if due > 0 { now } else { turn_at };
        match waiting.get(due) {
            Some((next_at, next_id)) => kept.push((lane, (*next_at, next_id.clone()), turn_at)),
            None => lanes::remove(c, &lane).await?,
        }
        *room -= due;
        chosen.extend(waiting.into_iter().take(due).map(|(_, id)| id));
    }
    lanes::set(c, kept).await?;
    Ok(chosen)
}

/// What is there to take by now, with the lanes and their projects held.
#[derive(Default)]
struct LanesNow {
    /// How many more jobs of each project may run.
    room: BTreeMap<ProjectId, usize>,
    /// The first jobs that wait in each lane, by its place among the lanes.
    waiting: BTreeMap<usize, Vec<(Timestamp, JobId)>>,
}

/// At most `most` jobs of each lane.
async fn lanes_now(c: &mut dyn Conn, lanes: &[Turn], running_per_project: u32, most: usize) -> Result<LanesNow> {
    let dialect = c.dialect();
    let of_lane = |at: usize| {
        let (project, model) = (2 * at + 2, 2 * at + 3);
        // To PostgreSQL in a way that only the index of lanes fits: where no job waited when it last counted, it would read all
        // that wait by now.
        let (in_lane, order) = match dialect {
            Dialect::Sqlite => (format!("project_id = ${project} AND model = ${model}"), ""),
            Dialect::Postgres => {
                let lane = format!("(${project}, ${model})");
                let in_lane = format!("(project_id, model) >= {lane} AND (project_id, model) <= {lane}");
                (in_lane, "project_id, model,")
            }
        };
        // What runs is counted once, not for each job that waits.
        format!(
            "SELECT {at}, p.id, p.most, p.running, j.not_before, j.id FROM (SELECT id, COALESCE(max_running, $1) AS most, \
             (SELECT count(*) FROM jobs r WHERE r.project_id = projects.id AND r.status = 'active' AND r.worker IS NOT NULL) \
             AS running FROM projects WHERE id = ${project} LIMIT 1) AS p LEFT JOIN (SELECT not_before, id FROM jobs \
             WHERE {in_lane} AND status = 'active' AND worker IS NULL ORDER BY {order} not_before, id LIMIT {most}) AS j ON 1 = 1"
        )
    };
    let sql: Vec<String> = (0..lanes.len()).map(of_lane).collect();
    let mut values = values![running_per_project];
    values.extend(lanes.iter().flat_map(|turn| values![&turn.lane.project_id, &turn.lane.model]));
    type Row = (u32, (ProjectId, u32, u32), (Option<Timestamp>, Option<JobId>));
    let rows: Vec<Row> = c.rows(sql.join(" UNION ALL "), values).await?;
    let mut now = LanesNow::default();
    for (at, (project, limit, running), (not_before, id)) in rows {
        now.room.insert(project, if limit == 0 { MOST } else { limit.saturating_sub(running) as usize });
        if let (Some(not_before), Some(id)) = (not_before, id) {
            now.waiting.entry(at as usize).or_default().push((not_before, id));
        }
    }
    now.waiting.values_mut().for_each(|jobs| jobs.sort());
    Ok(now)
}

/// Leases those of the jobs that are still free. The attempt number grows with every lease: it is the fencing token of all
/// the worker's writes. The time of a job that has waited for its code host goes on now. That they are free is said in a way
/// that leaves PostgreSQL only the way by their ids.
async fn take(
    c: &mut dyn Conn,
    chosen: Vec<JobId>,
    worker: &str,
    terms: &QueueTerms,
    now: Timestamp,
) -> Result<Vec<Claimed>> {
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let expires_at = now.plus(terms.lease);
    let job_time = i64::try_from(terms.job_time.as_millis()).unwrap_or(i64::MAX / 2);
    let mut values = values![worker, expires_at, now, job_time];
    values.extend(chosen.iter().map(Value::from));
    let lease = format!(
        "UPDATE jobs SET worker = $1, lease_expires_at = $2, attempt = attempt + 1, tries = tries + 1, \
         updated_at = $3, deadline_at = CASE WHEN away_since IS NULL THEN COALESCE(deadline_at, $3 + \
         COALESCE((SELECT p.time_limit_seconds * 1000 FROM projects p WHERE p.id = jobs.project_id), $4)) \
         ELSE deadline_at + ($3 - not_before) END, not_before = CASE WHEN away_since IS NULL THEN not_before ELSE $3 END \
         WHERE id IN ({}) AND status = 'active' AND COALESCE(worker, '') = '' RETURNING {}, attempt, tries, deadline_at",
        places(5, chosen.len()),
        jobs::COLUMNS
    );
    let (taken, mut messages) = match c.dialect() {
        Dialect::Sqlite => {
            let taken: Vec<Taken> = c.rows(lease, values).await?;
            let ids: Vec<JobId> = taken.iter().map(|(job, ..)| job.id.clone()).collect();
            events::append_claimed(c, &ids, now).await?;
            (taken, jobs::messages_of_all(c, &ids).await?)
        }
        Dialect::Postgres => take_at_once(c, &lease, values).await?,
    };
    let claimed = |(job, attempt, (tries, deadline_at)): Taken| {
        c.announce(Change::Job(job.id.clone()));
        let lease = Lease { job_id: job.id.clone(), worker: worker.to_owned(), attempt };
        let messages = messages.remove(&job.id).unwrap_or_default();
        Claimed { lease, job, messages, tries, deadline_at }
    };
    Ok(taken.into_iter().map(claimed).collect())
}

/// A job that was leased: its attempt, its tries and its deadline.
type Taken = (Job, i64, (u32, Timestamp));

/// Leases jobs and tells of it with one statement, which also finds the prompt of those that have one only, as most do. Whoever adds an
/// event while this waits for a job's row makes it fail, because the number of that event is not known here.
async fn take_at_once(
    c: &mut dyn Conn,
    lease: &str,
    values: Vec<Value>,
) -> Result<(Vec<Taken>, BTreeMap<JobId, Vec<Message>>)> {
    let sql = format!(
        "WITH taken AS ({lease}), told AS (INSERT INTO events (created_at, job_id, number, kind, data) \
         SELECT $3, t.id, COALESCE((SELECT MAX(e.number) FROM events e WHERE e.job_id = t.id), 0) + 1, 'claimed', {} FROM taken t) \
         SELECT t.*, COALESCE(m.number, 0), COALESCE(m.prompt, ''), COALESCE(m.created_at, 0) FROM taken t \
         LEFT JOIN messages m ON m.job_id = t.id AND m.number = 1 \
         AND NOT EXISTS (SELECT 1 FROM messages n WHERE n.job_id = t.id AND n.number > 1)",
        events::claimed_data("t.attempt")
    );
    let rows: Vec<(Taken, Message)> = c.rows(sql, values).await?;
    let (one, others): (Vec<_>, Vec<_>) =
        rows.iter().map(|((job, ..), message)| (job.id.clone(), message)).partition(|(_, message)| message.number > 0);
    let mut messages: BTreeMap<_, _> = one.into_iter().map(|(id, message)| (id, vec![message.clone()])).collect();
    if !others.is_empty() {
        let others: Vec<JobId> = others.into_iter().map(|(id, _)| id).collect();
        messages.extend(jobs::messages_of_all(c, &others).await?);
    }
    Ok((rows.into_iter().map(|(taken, _)| taken).collect(), messages))
}

async fn next_due(c: &mut dyn Conn, now: Timestamp) -> Result<Option<Timestamp>> {
    c.only_row(
        "SELECT MIN(due) FROM (\
         SELECT MIN(not_before) AS due FROM jobs WHERE status = 'active' AND worker IS NULL AND not_before > $1 \
         UNION ALL \
         SELECT MIN(lease_expires_at) AS due FROM jobs WHERE status = 'active' AND lease_expires_at > $1) AS dues",
        values![now],
    )
    .await
}

async fn depth(c: &mut dyn Conn) -> Result<QueueDepth> {
    let sql = "SELECT (SELECT count(*) FROM jobs WHERE status = 'active' AND worker IS NULL), \
               (SELECT count(*) FROM jobs WHERE status = 'active' AND worker IS NOT NULL)";
    let (waiting, running) = c.only_row(sql, vec![]).await?;
    Ok(QueueDepth { waiting, running })
}

async fn state(c: &mut dyn Conn, now: Timestamp) -> Result<QueueState> {
    let sql = "SELECT (SELECT MIN(not_before) FROM jobs WHERE status = 'active' AND worker IS NULL AND not_before <= $1), \
               (SELECT count(*) FROM jobs WHERE status = 'active' AND worker IS NOT NULL)";
    let (oldest_waiting, busy_workers) = c.only_row(sql, values![now]).await?;
    Ok(QueueState { oldest_waiting, busy_workers })
}
