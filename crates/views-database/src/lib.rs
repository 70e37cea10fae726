//! Page views of several machines in one place: a ledger in PostgreSQL, which counts them too, or has ClickHouse count
//! ([`clickhouse`], [`clickhouse_calls`]).
//!
//! One batch is one transaction ([`append`]): its ids, pages and readers, and its counts by quarter hour, day and month. When
//! it is answered it is committed. Rows are written in one order by everybody, so that nobody waits in a circle. A question
//! ([`answers`], [`machines`]) is cut into months, days and quarter hours ([`cover`]). Quarter hours are counted by reader; days and
//! months by what readers are (people or machines, told by script or server), so that judging history again ([`changes`]) moves
//! counts between their columns. Whatever changes a project as a whole holds its lock alone; appends share it.

mod answers;
mod append;
mod backup;
mod calendar;
mod changes;
mod clickhouse;
mod clickhouse_calls;
mod cover;
mod database;
mod error;
mod gate;
mod lock;
mod machines;
mod names;
mod overview;
mod project;
mod questions;
mod receipt;
mod relabel;
mod schema;
mod sweep;
mod tally;
pub mod transfer;
mod view_store;
mod whole;

pub use backup::{count as count_backup, is_backup};
pub use calendar::month_of;
pub use clickhouse::{ClickHouseAddress, ClickHouseOptions};
pub use database::{Database, Options};
