//! What somebody should look at in a project.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Job, KeyRecord, Outcome, Project, Role, Status, Timestamp, dates};
use copydesk_store::{Health, JobFilter, StoreError, WebhookEndpoint};
use copydesk_views::store::{Counts, Loss};

use crate::desk::Desk;
use crate::readers::{Period, Preset};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long a failed job is told of.
const FAILED: Duration = Duration::from_secs(7 * 24 * 3600);
/// Keys that end within this time are told of.
const ENDING: Duration = Duration::from_secs(7 * 24 * 3600);
/// Things of one kind that are told of one by one.
const MOST: usize = 3;
/// Failed jobs that are looked at for that.
const LOOKED_AT: u32 = 50;

/// Something to look at.
pub enum Item {
    /// Why nothing goes out.
    Dormant(String),
    /// Jobs that failed and that nobody has followed up, the newest first, and how many there are beside these.
    FailedJobs(Vec<Job>, usize),
    /// Pull requests that are open, the oldest first, and how many there are beside these.
    OpenPulls(Vec<Job>, usize),
    Webhook(WebhookEndpoint),
    EndingKey(KeyRecord),
    /// Pages that AI reads and in which the checks found something.
    ReadPages(ReadPages),
    /// Why the pages could not be checked.
    Unchecked(String),
    /// What is missing from the views.
    Losses(Vec<Loss>),
    /// Why the views cannot be told at the moment.
    NoViews(String),
}

/// Pages that AI reads and that have findings.
pub struct ReadPages {
    /// The most read first: file, address, findings and views.
    pub first: Vec<(String, String, u32, Counts)>,
    pub pages: usize,
    /// Their views by AI, all together.
    pub ai: u64,
    /// How many days the views are of.
    pub days: i64,
}

#[boxed]
impl Desk {
    /// What somebody with that role should look at in a project, what matters most first. What they cannot change is not
    /// theirs to look at.
    pub async fn attention(&self, project: &Project, role: Role) -> Result<Vec<Item>, StoreError> {
        let now = self.store.now();
        let dormancy = self.store.dormancy().await?;
        let mut items: Vec<Item> = dormancy.map(|dormancy| Item::Dormant(dormancy.sentence())).into_iter().collect();
        items.extend(self.of_pages(project, now).await?);
        items.extend(self.of_jobs(project, now).await?);
        if role.covers(Role::Owner) {
            items.extend(self.of_owners(project, now).await?);
        }
        Ok(items)
    }

    async fn of_jobs(&self, project: &Project, now: Timestamp) -> Result<Vec<Item>, StoreError> {
        let mut items = Vec::new();
        let filter = JobFilter { status: Some(Status::Failed), limit: LOOKED_AT, ..JobFilter::default() };
        let mut failed = self.store.jobs(&project.id, filter).await?;
        // Whoever cancelled it knows.
        failed.retain(|job| job.outcome != Some(Outcome::Cancelled) && job.updated_at.plus(FAILED) > now);
        let more = failed.len().saturating_sub(MOST);
        failed.truncate(MOST);
        if !failed.is_empty() {
            items.push(Item::FailedJobs(failed, more));
        }
        let mut waiting = self.store.open_pulls(&project.id, LOOKED_AT).await?;
        let more = waiting.len().saturating_sub(MOST);
        waiting.truncate(MOST);
        if !waiting.is_empty() {
            items.push(Item::OpenPulls(waiting, more));
        }
        Ok(items)
    }

    async fn of_owners(&self, project: &Project, now: Timestamp) -> Result<Vec<Item>, StoreError> {
        let mut webhooks = self.store.webhooks(Some(&project.id)).await?;
        webhooks.retain(|webhook| webhook.paused_at.is_some() || webhook.failing_since.is_some());
        let mut keys = self.store.keys(Some(&project.id)).await?;
        let ends_soon = |key: &KeyRecord| key.expires_at.is_some_and(|at| at <= now.plus(ENDING));
        keys.retain(|key| key.project_id.is_some() && key.is_valid_at(now) && ends_soon(key));
        let webhooks = webhooks.into_iter().take(MOST).map(Item::Webhook);
        Ok(webhooks.chain(keys.into_iter().take(MOST).map(Item::EndingKey)).collect())
    }

    async fn of_pages(&self, project: &Project, now: Timestamp) -> Result<Vec<Item>, StoreError> {
        let mut items = Vec::new();
        if let Some(Health { problem: Some(problem), .. }) = self.store.health(&project.id).await? {
            items.push(Item::Unchecked(problem));
        }
        let Some(views) = &self.views else { return Ok(items) };
        let found = self.store.pages_with_findings(&project.id).await?;
        let known: Vec<_> = found.into_iter().filter_map(|page| Some((page.page?, page.file, page.found))).collect();
        let paths: Vec<&str> = known.iter().map(|(page, ..)| page.as_str()).collect();
        let zone = dates::zone(&project.time_zone);
        let period = Period::until_now(Preset::Month, now, &zone);
        let counted = match views.readers().counts(project, period.range(&zone), &paths).await {
            Ok(counted) => counted,
            // The page of views says the same; the rest of what is to be told is not held up by it.
            Err(error) => {
                items.push(Item::NoViews(error.to_string()));
                return Ok(items);
            }
        };
        let mut read: Vec<_> = known
            .into_iter()
            .zip(counted.pages)
            .filter(|(_, counts)| counts.ai > 0)
            .map(|((page, file, found), counts)| (file, page, found, counts))
            .collect();
        read.sort_by_key(|(.., counts)| std::cmp::Reverse(counts.ai));
        if !read.is_empty() {
            let (pages, ai) = (read.len(), read.iter().map(|(.., counts)| counts.ai).sum());
            read.truncate(MOST);
            items.insert(0, Item::ReadPages(ReadPages { first: read, pages, ai, days: period.days() }));
        }
        if !counted.losses.is_empty() {
            items.push(Item::Losses(counted.losses));
        }
        Ok(items)
    }
}

/// How many days something has lasted.
pub fn days_since(at: Timestamp, now: Timestamp) -> u64 {
    let elapsed = now.as_millis().saturating_sub(at.as_millis());
    u64::try_from(elapsed).unwrap_or(0) / u64::try_from(DAY.as_millis()).unwrap_or(u64::MAX)
}
