//! Forms that were taken. A page that shows a secret is the answer to one, and loading it again must not make another.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::Timestamp;

use crate::conn::{Conn, Result, values};
use crate::database::Store;

/// How long it is known that a form was taken; nobody leaves a page open for longer and then reloads it.
const KNOWN: Duration = Duration::from_secs(7 * 24 * 3600);

#[boxed]
impl Store {
    /// Takes the form of that mark. False if it was taken before.
    pub async fn take_mark(&self, mark: &str) -> Result<bool> {
        let values = values![mark, self.now().plus(KNOWN)];
        let sql = "INSERT INTO marks (mark, expires_at) VALUES ($1, $2) ON CONFLICT (mark) DO NOTHING";
        self.write(move |c| Box::pin(async move { Ok(c.run(sql, values).await? > 0) })).await
    }
}

pub(crate) async fn forget(c: &mut dyn Conn, now: Timestamp) -> Result<u64> {
    c.run("DELETE FROM marks WHERE expires_at <= $1", values![now]).await
}
