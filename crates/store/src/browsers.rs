//! Browsers in which somebody has signed in before. What a browser shows is kept as a digest only.

use std::time::Duration;

use copydesk_boxed::boxed;

use crate::conn::{Conn, Result, values};
use crate::database::Store;

/// How many of a user are remembered: the newest.
const MOST: u32 = 20;
/// As long as the cookie lasts.
const FORGOTTEN: Duration = Duration::from_secs(365 * 24 * 3600);

#[boxed]
impl Store {
    /// Whether the user with this address has signed in in the browser of this digest.
    pub async fn knows_browser(&self, email: &str, digest: &str) -> Result<bool> {
        let values = values![digest, email];
        let sql = "SELECT 1 FROM browsers b JOIN users u ON u.id = b.user_id WHERE b.digest = $1 AND u.email = $2";
        self.read(move |c| Box::pin(async move { c.exists(sql, values).await })).await
    }

    /// Remembers a browser in which a user has signed in now. What was not used for a year is forgotten.
    pub async fn remember_browser(&self, user_id: &str, digest: &str) -> Result<()> {
        let (user_id, digest, now) = (user_id.to_owned(), digest.to_owned(), self.now());
        self.write(move |c| {
            Box::pin(async move {
                let sql = "INSERT INTO browsers (digest, user_id, seen_at) VALUES ($1, $2, $3) \
                           ON CONFLICT (digest) DO UPDATE SET seen_at = excluded.seen_at";
                c.run(sql, values![digest, &user_id, now]).await?;
                let sql = "DELETE FROM browsers WHERE user_id = $1 AND digest NOT IN \
                           (SELECT digest FROM browsers WHERE user_id = $1 ORDER BY seen_at DESC, digest LIMIT $2)";
                c.run(sql, values![&user_id, MOST]).await?;
                c.run("DELETE FROM browsers WHERE seen_at < $1", values![now.minus(FORGOTTEN)]).await.map(drop)
            })
        })
        .await
    }
}

/// Somebody else may have been in one of them.
pub(crate) async fn forget(c: &mut dyn Conn, user_id: &str) -> Result<()> {
    c.run("DELETE FROM browsers WHERE user_id = $1", values![user_id]).await.map(drop)
}
