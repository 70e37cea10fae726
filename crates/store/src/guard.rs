//! What keeps everybody from writing to a place that is left: the database itself refuses, so that it does not matter which
//! process or which version of the program writes, and when it has begun to.

use crate::conn::{Conn, Dialect, Result};
use crate::error::{GUARDED, NOTHING_IS_WRITTEN};

/// Refuses all writes to these tables from now on. It waits for transactions that have written already, and none begins to
/// write meanwhile.
pub(crate) async fn close(c: &mut dyn Conn, tables: Vec<String>) -> Result<()> {
    match c.dialect() {
        Dialect::Sqlite => {
            for table in tables {
                for (name, deed) in DEEDS {
                    let sql = format!(
                        "CREATE TRIGGER IF NOT EXISTS moving_{name}_{table} BEFORE {deed} ON {table} \
                         BEGIN SELECT RAISE(ABORT, '{NOTHING_IS_WRITTEN}'); END"
                    );
                    c.batch(sql.into()).await?;
                }
            }
        }
        Dialect::Postgres => {
            // Whoever waits for one of these while it holds another is told so after a moment, and tries again.
            let all = tables.join(", ");
            c.batch(format!("SET LOCAL lock_timeout = '5s'; LOCK TABLE {all} IN SHARE ROW EXCLUSIVE MODE").into())
                .await?;
            let function = format!(
                "CREATE OR REPLACE FUNCTION moving_refuse() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN RAISE EXCEPTION '{NOTHING_IS_WRITTEN}' USING ERRCODE = '{GUARDED}'; END $$"
            );
            c.batch(function.into()).await?;
            for table in tables {
                let sql = format!(
                    "DROP TRIGGER IF EXISTS moving_refuse ON {table}; \
                     CREATE TRIGGER moving_refuse BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} \
                     FOR EACH STATEMENT EXECUTE FUNCTION moving_refuse()"
                );
                c.batch(sql.into()).await?;
            }
        }
    }
    Ok(())
}

const DEEDS: [(&str, &str); 3] = [("insert", "INSERT"), ("update", "UPDATE"), ("delete", "DELETE")];

/// Takes writes again.
pub(crate) async fn open(c: &mut dyn Conn) -> Result<()> {
    match c.dialect() {
        Dialect::Sqlite => {
            let sql = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'moving\\_%' ESCAPE '\\'";
            let names: Vec<String> = c.rows(sql, vec![]).await?;
            for name in names {
                c.batch(format!("DROP TRIGGER {name}").into()).await?;
            }
        }
        // The triggers of all tables go with it.
        Dialect::Postgres => c.batch("DROP FUNCTION IF EXISTS moving_refuse() CASCADE".into()).await?,
    }
    Ok(())
}
