//! `copydesk restore`: brings a backup back into an empty place, where it stays dormant until `copydesk wake`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use copydesk_domain::SystemClock;
use copydesk_store::{DatabaseAddress, Snapshot, Store};
use copydesk_views_database::is_backup as is_database_copy;
use serde_json::json;

use crate::backup::files::{self, copy_file, copy_folder, sync_folder, with_suffix};
use crate::backup::manifest::Manifest;
use crate::backup::verify::{self, DATABASE, VIEWS, differences};
use crate::backup::{KEYS, LISTS, OLD_SECRET};
use crate::config::{Config, DatabaseUrl, ViewsPlace};
use crate::failure::Failure;
use crate::{data_folder, output, secrets, store, views};

/// `copydesk restore FOLDER`
pub(crate) async fn restore(folder: PathBuf, as_json: bool, config: &Config) -> Result<ExitCode, Failure> {
    let manifest = checked(&folder).await?;
    check_target(config, &manifest, &folder).await?;
    let restoring = Restoring { folder: &folder, config, manifest: &manifest, copies: copies(&folder, config) };
    restoring.begin()?;
    let missing = match restoring.run().await {
        Ok(missing) => missing,
        Err(Stopped { failure, database_is_filled: false }) => {
            restoring.take_back();
            return Err(failure);
        }
        // What is there is whole, but is not what it should be; the mark stays.
        Err(Stopped { failure, .. }) => return Err(failure),
    };
    restoring.end().map_err(|error| restoring.unwritable(&error))?;
    report(&restoring, &missing, as_json)
}

/// The manifest of a backup that is whole and not too new.
async fn checked(folder: &Path) -> Result<Manifest, Failure> {
    if !folder.is_dir() {
        return Err(Failure::usage(format!("there is no folder {}", folder.display())));
    }
    // Before the rest is looked at: a newer program may have laid it out in another way.
    if let Ok(manifest) = Manifest::read(folder)
        && manifest.schema > Snapshot::KNOWN_SCHEMA
    {
        let (found, known) = (manifest.schema, Snapshot::KNOWN_SCHEMA);
        let version = output::printable(&manifest.version);
        return Err(Failure::error(format!(
            "the backup was made by a newer Copydesk ({version}): its schema is version {found}, this program knows up to \
             {known}"
        ))
        .hint("restore it with that version or a newer one"));
    }
    let (manifest, faults) = verify::examine(folder).await?;
    match manifest {
        Some(manifest) if faults.is_empty() => Ok(manifest),
        _ => {
            let faults = verify::told(&faults).join("\n");
            let refused = Failure::error(format!("the backup {} is not whole:\n{faults}", folder.display()));
            Err(refused
                .hint("nothing was restored; take another backup, or copy this one again from where it was made"))
        }
    }
}

/// Refuses a place where something is.
async fn check_target(config: &Config, manifest: &Manifest, backup: &Path) -> Result<(), Failure> {
    data_folder::check(config)?;
    check_views(config, backup)?;
    let folder = &config.data_dir;
    let cannot = |error: io::Error| Failure::error(format!("cannot look into {}: {error}", folder.display()));
    let refused = |what: String| {
        Failure::error(format!("{what}; a backup is restored into an empty place")).hint("choose another --data-dir")
    };
    let names = match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    for name in names.map_err(cannot)? {
        // Whoever keeps the keys apart from the backups has put them there already.
        let is_fine = name == "lost+found" || name == KEYS && !manifest.has_keys;
        if !is_fine {
            return Err(refused(format!("the data folder {} has {} in it", folder.display(), name.display())));
        }
    }
    match config.database() {
        DatabaseUrl::Sqlite(path) => {
            // A log that a killed process has left would be taken for the restored database's own.
            let mut all = BESIDE_DATABASE.iter().map(|suffix| with_suffix(&path, suffix));
            match all.find(|path| std::fs::symlink_metadata(path).is_ok()) {
                Some(there) => Err(refused(format!("there is a database at {}", there.display()))),
                None => Ok(()),
            }
        }
        DatabaseUrl::Postgres(_) if store::connect(config).await?.is_blank().await? => Ok(()),
        DatabaseUrl::Postgres(_) => Err(Failure::error("the PostgreSQL database has tables already")
            .hint("make an empty database, and name it with database_url")),
    }
}

/// Page views go back to where they were kept: a folder of files is not a table.
fn check_views(config: &Config, backup: &Path) -> Result<(), Failure> {
    views::check_place(config)?;
    let views = backup.join(VIEWS);
    let (was, is) = (is_database_copy(&views), config.views.store.is_shared());
    if was == is || !views.is_dir() {
        return Ok(());
    }
    let (from, set) = if was { ("a PostgreSQL database", "database") } else { ("a folder", "embedded") };
    Err(Failure::error(format!("the page views of the backup were kept in {from}, and go back into such a place only"))
        .hint(format!("set views.store to \"{set}\"")))
}

/// What SQLite's files are called, by the end of their names.
const BESIDE_DATABASE: [&str; 4] = ["", "-wal", "-shm", "-journal"];

struct Restoring<'a> {
    folder: &'a Path,
    config: &'a Config,
    manifest: &'a Manifest,
    /// Files and folders of the backup, and where each goes.
    copies: Vec<(PathBuf, PathBuf)>,
}

/// What is copied as it is, and where to: only what is in the backup, and only where nothing is. Keys and lists may be kept
/// outside of the data folder, and whether those that somebody has put there fit is told at the end.
fn copies(folder: &Path, config: &Config) -> Vec<(PathBuf, PathBuf)> {
    let all = [
        (VIEWS, config.data_dir.join(VIEWS)),
        (LISTS, config.lists_folder()),
        (KEYS, config.credentials_key_path()),
        (OLD_SECRET, config.secret_path()),
    ];
    let all = all.into_iter().map(|(name, target)| (folder.join(name), target));
    // Page views that were in a database go into one.
    let all = all.filter(|(from, _)| !is_database_copy(from));
    all.filter(|(from, target)| from.exists() && std::fs::symlink_metadata(target).is_err()).collect()
}

/// Why it did not come to its end.
struct Stopped {
    failure: Failure,
    /// A server's database cannot be taken back.
    database_is_filled: bool,
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self { failure, database_is_filled: false }
    }
}

impl Restoring<'_> {
    /// Makes the data folder and marks it as unfinished, before anything else is in it.
    fn begin(&self) -> Result<(), Failure> {
        store::make_folder(&self.config.data_dir)?;
        let written =
            files::write(&self.mark(), b"A restore from a backup is under way, or was ended in the middle.\n");
        written.and_then(|()| sync_folder(&self.config.data_dir)).map_err(|error| self.unwritable(&error))
    }

    /// Copies everything; the database last. Gives the keys that secrets are sealed with and that are not there.
    async fn run(&self) -> Result<Vec<String>, Stopped> {
        self.copy_files().map_err(|error| self.unwritable(&error))?;
        let staged = self.stage().await?;
        let database = match self.config.database() {
            DatabaseUrl::Sqlite(path) => {
                let placed = std::fs::rename(&staged, &path);
                let parent = path.parent().unwrap_or(Path::new("."));
                placed.and_then(|()| sync_folder(parent)).map_err(|error| self.unwritable(&error))?;
                store::connect(self.config).await?
            }
            DatabaseUrl::Postgres(_) => {
                let database = store::connect(self.config).await?;
                database.fill_from(&staged).await.map_err(Failure::from)?;
                // It may stay: it is not looked at again, and the next restore wants an empty folder anyway.
                let _ = std::fs::remove_file(&staged);
                database
            }
        };
        let is_filled = matches!(self.config.database(), DatabaseUrl::Postgres(_));
        let stopped = |failure| Stopped { failure, database_is_filled: is_filled };
        self.fill_views().await.map_err(stopped)?;
        self.compare(&database).await.map_err(stopped)
    }

    /// Puts page views into the database that were in one.
    async fn fill_views(&self) -> Result<(), Failure> {
        let copy = self.folder.join(VIEWS);
        if !is_database_copy(&copy) {
            return Ok(());
        }
        let views = views::open_database(self.config, true).await?;
        let filled = views.fill_from(&copy).await;
        views.close().await;
        Ok(filled?)
    }

    fn copy_files(&self) -> io::Result<()> {
        for (from, target) in &self.copies {
            let copied = if from.is_dir() { copy_folder(from, target) } else { copy_file(from, target) };
            let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", target.display()));
            copied.map_err(told)?;
        }
        sync_folder(&self.config.data_dir)
    }

    /// A copy of the database, brought to this program's schema and made dormant, beside where it will be.
    async fn stage(&self) -> Result<PathBuf, Failure> {
        let target = match self.config.database() {
            DatabaseUrl::Sqlite(path) => path,
            DatabaseUrl::Postgres(_) => self.config.data_dir.join(DATABASE),
        };
        let staged = with_suffix(&target, ".restoring");
        // What a restore has left that was killed is not part of this one.
        for left in BESIDE_DATABASE.map(|suffix| with_suffix(&staged, suffix)) {
            match std::fs::remove_file(left) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(self.unwritable(&error)),
                _ => {}
            }
        }
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", staged.display()));
        copy_file(&self.folder.join(DATABASE), &staged).map_err(|error| self.unwritable(&told(error)))?;
        let opened = Store::open(&DatabaseAddress::Sqlite(staged.clone()), Arc::new(SystemClock)).await?;
        let store = opened.by(store::actor());
        drop(opened);
        store.migrate().await?;
        store.make_dormant(self.manifest.taken_at).await?;
        // The last to close it folds its log into the file.
        drop(store);
        let log = with_suffix(&staged, "-wal");
        if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            return Err(Failure::error(format!("what was written stays in {} and not in the database", log.display())));
        }
        std::fs::File::open(&staged).and_then(|file| file.sync_all()).map_err(|error| self.unwritable(&error))?;
        Ok(staged)
    }

    /// Counts what has arrived.
    async fn compare(&self, database: &Store) -> Result<Vec<String>, Failure> {
        let mut expected = self.manifest.rows.clone();
        let mut found = database.row_counts().await?;
        // What the restore itself has written down, and what later versions have changed.
        let own = ["dormancy", "deeds", "moving", "schema_versions"];
        let is_same_schema = self.manifest.schema == Snapshot::KNOWN_SCHEMA;
        expected.retain(|table, _| is_same_schema && !own.contains(&table.as_str()));
        found.retain(|table, _| expected.contains_key(table));
        let mut faults = differences("rows of the table", &expected, &found);
        let counted = match self.config.views.store {
            ViewsPlace::Embedded => {
                verify::count_views(&self.config.views_folder(), Some(&self.config.data_dir)).await?
            }
            ViewsPlace::Database | ViewsPlace::ClickHouse => {
                let restored = views::open_views(self.config).await?;
                let counted = verify::count(&*restored).await;
                restored.close().await;
                counted?
            }
        };
        faults.extend(differences("page views of the project", &self.manifest.views, &counted.views));
        if database.dormancy().await?.is_none() {
            faults.push("it is not dormant".to_owned());
        }
        if !faults.is_empty() {
            let faults = verify::told(&faults).join("\n");
            return Err(Failure::error(format!("what was restored is not what the backup says:\n{faults}")));
        }
        let missing = database.foreign_keys(&secrets::vault(self.config)).await;
        missing.map_err(|error| Failure::error(error.to_string()))
    }

    fn end(&self) -> io::Result<()> {
        std::fs::remove_file(self.mark())?;
        sync_folder(&self.config.data_dir)
    }

    /// Removes what was written, so that it can be tried again; the mark last.
    fn take_back(&self) {
        let mut ours: Vec<PathBuf> = self.copies.iter().map(|(_, target)| target.clone()).collect();
        // They are made when the restored views are counted, also where the backup has none.
        ours.push(self.config.data_dir.join(VIEWS));
        let database = match self.config.database() {
            DatabaseUrl::Sqlite(path) => path,
            DatabaseUrl::Postgres(_) => self.config.data_dir.join(DATABASE),
        };
        for base in [with_suffix(&database, ".restoring"), database] {
            ours.extend(BESIDE_DATABASE.map(|suffix| with_suffix(&base, suffix)));
        }
        for path in ours {
            let removed = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            if removed.is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
                // The mark says so to whoever comes next.
                return;
            }
        }
        let _ = self.end();
    }

    fn mark(&self) -> PathBuf {
        self.config.data_dir.join(data_folder::UNFINISHED)
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        Failure::error(format!("cannot restore into {}: {error}", self.config.data_dir.display()))
    }
}

fn report(restored: &Restoring<'_>, missing: &[String], as_json: bool) -> Result<ExitCode, Failure> {
    let (config, manifest) = (restored.config, restored.manifest);
    if as_json {
        return output::json(&json!({
            "dataDir": config.data_dir, "backup": manifest, "dormant": true, "missingKeys": missing
        }));
    }
    output::line(&format!("Restored into {}: {}.", config.data_dir.display(), verify::summary(manifest)));
    if !missing.is_empty() {
        eprintln!(
            "copydesk: note: secrets are encrypted with the key {}, which is not in the key file {} of this machine: put the \
             key file of the machine there that the backup was made on, or set those secrets anew",
            missing.join(", "),
            config.credentials_key_path().display()
        );
    }
    verify::note_losses(manifest);
    output::line(
        "It is dormant: a server shows everything, and no job runs and nothing goes out until `copydesk wake`.",
    );
    output::line("Not in a backup: copydesk.toml, environment variables, and repositories on the machine itself.");
    Ok(ExitCode::SUCCESS)
}

/// `copydesk wake`
pub(crate) async fn wake(as_json: bool, config: &Config) -> Result<ExitCode, Failure> {
    let woken = store::open_ready(config).await?.wake().await?;
    if as_json {
        return output::json(&json!({ "woken": woken.is_some() }));
    }
    output::line(match woken {
        Some(_) => "It is awake: jobs run, and what has waited goes out.",
        None => "It was not dormant.",
    });
    Ok(ExitCode::SUCCESS)
}
