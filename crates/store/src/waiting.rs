//! A code host that is away is waited for, and its job waits in the queue meanwhile.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Outcome, Timestamp, format_duration};
use serde_json::json;

use crate::conn::{Conn, Result, plain_text, values};
use crate::database::Store;
use crate::ending::{CANCELLED, Ending, end};
use crate::finish::Retry;
use crate::hub::Change;
use crate::lease::{self, Lease, LeaseError};
use crate::{events, lanes};

/// The longest pause between two looks for a code host.
const LONGEST_LOOK: Duration = Duration::from_secs(300);

#[boxed]
impl Store {
    /// Puts the job back because its code host is away: it is looked for again after a pause that grows with the time it
    /// has been away, for as long as `patience` lasts. Waiting is not working: it takes no try, and the job's time stands
    /// still. The job says so meanwhile.
    pub async fn wait_for_host(
        &self,
        lease: &Lease,
        reason: &str,
        patience: Duration,
        jitter: f64,
    ) -> Result<Retry, LeaseError> {
        let (lease, reason, now) = (lease.clone(), reason.to_owned(), self.now());
        self.write(move |c| Box::pin(wait_for_host(c, lease, reason, patience, jitter, now))).await
    }
}

async fn wait_for_host(
    c: &mut dyn Conn,
    lease: Lease,
    reason: String,
    patience: Duration,
    jitter: f64,
    now: Timestamp,
) -> Result<Retry, LeaseError> {
    let job = lease::hold(c, &lease).await?;
    let sql = "SELECT away_since, not_before, deadline_at FROM jobs WHERE id = $1";
    let (away_since, not_before, deadline): (Option<Timestamp>, Timestamp, Option<Timestamp>) =
        c.only_row(sql, values![&job.id]).await?;
    let since = away_since.unwrap_or(now);
    let give_up_at = since.plus(patience);
    let ending = if job.cancel_requested {
        Some(Ending::new(Outcome::Cancelled, CANCELLED))
    } else if give_up_at <= now {
        let waited = format_duration(Duration::from_secs(now.since(since).as_secs()));
        Some(Ending::new(Outcome::Error, format!("The code host was not available for {waited}. {reason}")))
    } else {
        None
    };
    if let Some(ending) = ending {
        end(c, &job, ending, now).await?;
        return Ok(Retry::GaveUp);
    }
    let at = now.plus(look_pause(now.since(since), jitter)).min(give_up_at);
    // All that was done since it was last looked for, which is when it was claimed, came to nothing.
    let stood_still_from = if away_since.is_some() { not_before.min(now) } else { now };
    let deadline = deadline.map(|deadline| deadline.plus(at.since(stood_still_from)));
    let message = format!("Waiting for the code host until {give_up_at}. {reason}");
    c.run(
        "UPDATE jobs SET worker = NULL, lease_expires_at = NULL, tries = tries - 1, not_before = $1, updated_at = $2, \
         away_since = $3, deadline_at = $4, message = $5 WHERE id = $6",
        values![at, now, since, deadline, plain_text(&message), &job.id],
    )
    .await?;
    lanes::enter(c, &job.id).await?;
    let data = json!({ "reason": reason, "since": since, "notBefore": at, "until": give_up_at });
    events::append(c, &job.id, "waiting", data, now).await?;
    c.announce(Change::Ready(Some(job.project_id.clone())));
    Ok(Retry::At(at))
}

/// How long to wait before the next look for a host that has been away so long: a third of that, from one second to five
/// minutes, the upper half of it by chance.
fn look_pause(away: Duration, jitter: f64) -> Duration {
    let full = (away / 3).clamp(Duration::from_secs(1), LONGEST_LOOK);
    full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_looked_for_less_often_the_longer_it_is_away() {
        let seconds = Duration::from_secs;
        assert_eq!(look_pause(seconds(0), 1.0), seconds(1));
        assert_eq!(look_pause(seconds(60), 1.0), seconds(20));
        assert_eq!(look_pause(seconds(60), 0.0), seconds(10));
        assert_eq!(look_pause(seconds(86_400), 1.0), seconds(300));
    }
}
