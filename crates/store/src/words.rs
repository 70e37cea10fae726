//! What Copydesk itself has said in a pull request, so that what a person has written there can be told from it.

use copydesk_boxed::boxed;
use copydesk_domain::JobId;

use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::lease::LeaseError;
use crate::pulls::{Permit, hold};

#[boxed]
impl Store {
    /// Notes titles and texts, by their digests, that the pull request of a job is about to be given.
    pub async fn record_words(&self, permit: &Permit, digests: Vec<String>) -> Result<(), LeaseError> {
        let permit = permit.clone();
        self.write(move |c| Box::pin(record(c, permit, digests))).await
    }

    /// The digests of all that the pull request of a job was given.
    pub async fn words(&self, job_id: &JobId) -> Result<Vec<String>> {
        let values = values![job_id];
        self.read(move |c| Box::pin(c.rows("SELECT digest FROM pull_words WHERE job_id = $1", values))).await
    }
}

async fn record(c: &mut dyn Conn, permit: Permit, digests: Vec<String>) -> Result<(), LeaseError> {
    let job = hold(c, &permit).await?;
    for digest in digests {
        let sql = "INSERT INTO pull_words (job_id, digest) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        c.run(sql, values![&job.id, digest]).await?;
    }
    Ok(())
}
