//! Whether a folder may be used as a data folder.

use crate::config::Config;
use crate::failure::Failure;

/// It is in a data folder for as long as a restore into it has not ended well.
pub(crate) const UNFINISHED: &str = "restore.unfinished";
/// It is in every backup.
pub(crate) const MANIFEST: &str = "backup.json";

/// Refuses a data folder that is not one: a backup, which would not be one any more afterwards, or half of one.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    let folder = &config.data_dir;
    if folder.join(UNFINISHED).exists() {
        return Err(Failure::error(format!("a restore into the data folder {} did not end", folder.display())).hint(
            "empty the folder, and the database if it is PostgreSQL and has tables by now, and restore the backup again",
        ));
    }
    if folder.join(MANIFEST).exists() {
        return Err(Failure::error(format!("{} is a backup and no data folder", folder.display()))
            .hint(format!("`copydesk restore {}` makes a data folder of it", folder.display())));
    }
    Ok(())
}
