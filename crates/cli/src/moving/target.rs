//! Where everything is to go.

use std::ffi::OsString;
use std::path::Path;

use crate::args::MoveFlags;
use crate::config::{Config, DatabaseUrl, ViewsPlace, choice_name};
use crate::failure::Failure;
use crate::views;

/// The variable for an address with a password in it.
const VARIABLE: &str = "COPYDESK_TO_DATABASE_URL";
/// More than any address has.
const MOST_BYTES: u64 = 64 * 1024;

pub(super) struct Target {
    /// The installation as it is to be configured.
    pub(super) config: Config,
    /// By what its database was named.
    pub(super) named: &'static str,
    pub(super) moves_database: bool,
    pub(super) moves_views: bool,
}

pub(super) fn read(
    flags: &MoveFlags,
    config: &Config,
    environment: &[(OsString, OsString)],
) -> Result<Target, Failure> {
    let given = match (&flags.to_database_url, &flags.to_database_url_file) {
        (Some(text), _) => Some(address("--to-database-url", text)?),
        (None, Some(file)) => Some(address("--to-database-url-file", &in_file(file)?)?),
        (None, None) => match environment.iter().find(|(name, _)| name == VARIABLE) {
            Some((_, value)) => Some(address(VARIABLE, value.to_str().unwrap_or_default())?),
            None => None,
        },
    };
    let moves_database = given.is_some();
    let (named, database) = given.unwrap_or_else(|| ("database_url", config.database()));
    if moves_database && is_postgres(&database) == is_postgres(&config.database()) {
        return Err(Failure::usage(
            "both databases are of one kind; everything is moved from SQLite to PostgreSQL or back",
        )
        .hint(
            "copy a PostgreSQL database with its own tools; a SQLite one with `copydesk backup` and `copydesk restore`",
        ));
    }
    let place = flags.to_views.unwrap_or(config.views.store);
    if place.is_shared() && !is_postgres(&database) {
        return Err(no_place(flags, place));
    }
    let target = config.at(database, place);
    views::check_place(&target)?;
    if place.is_shared() && config.views.store.is_shared() && place != config.views.store && !moves_database {
        return Err(Failure::usage(
            "page views in the database and in ClickHouse share the ledger, so none of them is an empty place",
        )
        .hint("move them to this machine first (--to-views embedded), and then to the other place"));
    }
    Ok(Target { moves_database, moves_views: place != config.views.store, config: target, named })
}

fn is_postgres(database: &DatabaseUrl) -> bool {
    matches!(database, DatabaseUrl::Postgres(_))
}

/// Page views are to be where nothing keeps them.
fn no_place(flags: &MoveFlags, place: ViewsPlace) -> Failure {
    let place = choice_name(&place);
    if flags.to_views.is_some() {
        return Failure::usage(format!(
            "--to-views {place} needs PostgreSQL, and the database is a file of SQLite, which does not keep page views"
        ))
        .hint(format!("name a PostgreSQL database as well, with --to-database-url or {VARIABLE}"));
    }
    Failure::usage("page views are kept in the database (views.store), and a file of SQLite does not keep them")
        .hint("name where they are to go as well: --to-views embedded")
}

/// What was named, and by what. What is wrong is said without anything of the text, which may hold a password.
fn address(from: &'static str, text: &str) -> Result<(&'static str, DatabaseUrl), Failure> {
    DatabaseUrl::parse(text.trim()).map(|database| (from, database)).map_err(|hint| {
        let refused = Failure::usage(format!("{from} is not sqlite:FILE or postgres://…"));
        hint.map_or_else(
            || Failure::usage(format!("{from} is not sqlite:FILE or postgres://…")),
            |hint| refused.hint(hint),
        )
    })
}

fn in_file(path: &Path) -> Result<String, Failure> {
    use std::io::Read as _;
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    read.map_err(|error| Failure::usage(format!("--to-database-url-file {}: {error}", path.display())))?;
    Ok(text)
}
