use std::borrow::Cow;

use copydesk_domain::Timestamp;
use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::{Change, StoreError};

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A statement. Parameters are `$1`, `$2`, … and must first appear in that order, which is what makes one text
/// mean the same to SQLite (it numbers them as they come) and to PostgreSQL (it reads the number).
pub(crate) type Sql = Cow<'static, str>;

/// A parameter, or a column of an answer. The type is known even where the value is null, as PostgreSQL wants it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Vec<u8>),
}

macro_rules! value_from {
    ($($from:ty => |$it:ident| $to:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($it: $from) -> Self {
                $to
            }
        })*
    };
}

value_from! {
    i64 => |it| Self::Int(Some(it));
    u32 => |it| Self::Int(Some(i64::from(it)));
    bool => |it| Self::Int(Some(i64::from(it)));
    Option<i64> => |it| Self::Int(it);
    Option<u32> => |it| Self::Int(it.map(i64::from));
    Timestamp => |it| Self::Int(Some(it.as_millis()));
    Option<Timestamp> => |it| Self::Int(it.map(|at| at.as_millis()));
    &str => |it| Self::Text(Some(it.to_owned()));
    &String => |it| Self::Text(Some(it.clone()));
    String => |it| Self::Text(Some(it));
    Option<&str> => |it| Self::Text(it.map(str::to_owned));
    Option<String> => |it| Self::Text(it);
    Vec<u8> => |it| Self::Bytes(it);
}

/// The parameters of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::conn::Value::from($value)),*] };
}
pub(crate) use values;

/// JSON as it is kept in a column of text.
pub(crate) fn to_json(it: &impl Serialize) -> String {
    serde_json::to_string(it).expect("what the store keeps has text for keys and no errors of its own")
}

/// One row of an answer, read from left to right by position.
#[derive(Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    pub(crate) fn int(&self, at: usize) -> Result<i64> {
        self.opt_int(at)?.ok_or_else(|| StoreError::Unreadable(format!("column {at} is null")))
    }

    pub(crate) fn opt_int(&self, at: usize) -> Result<Option<i64>> {
        match self.0.get(at) {
            Some(Value::Int(it)) => Ok(*it),
            // SQLite gives a null no type.
            Some(Value::Text(None)) => Ok(None),
            other => Err(StoreError::Unreadable(format!("column {at} is no number: {other:?}"))),
        }
    }

    pub(crate) fn opt_u32(&self, at: usize) -> Result<Option<u32>> {
        let read = |it| u32::try_from(it).map_err(|_| StoreError::Unreadable(format!("column {at} is out of range")));
        self.opt_int(at)?.map(read).transpose()
    }

    pub(crate) fn u32(&self, at: usize) -> Result<u32> {
        u32::try_from(self.int(at)?).map_err(|_| StoreError::Unreadable(format!("column {at} is out of range")))
    }

    pub(crate) fn time(&self, at: usize) -> Result<Timestamp> {
        self.int(at).map(Timestamp::from_millis)
    }

    pub(crate) fn opt_time(&self, at: usize) -> Result<Option<Timestamp>> {
        Ok(self.opt_int(at)?.map(Timestamp::from_millis))
    }

    pub(crate) fn text(&self, at: usize) -> Result<&str> {
        self.opt_text(at)?.ok_or_else(|| StoreError::Unreadable(format!("column {at} is null")))
    }

    pub(crate) fn opt_text(&self, at: usize) -> Result<Option<&str>> {
        match self.0.get(at) {
            Some(Value::Text(it)) => Ok(it.as_deref()),
            Some(Value::Int(None)) => Ok(None),
            other => Err(StoreError::Unreadable(format!("column {at} is no text: {other:?}"))),
        }
    }

    pub(crate) fn opt_string(&self, at: usize) -> Result<Option<String>> {
        Ok(self.opt_text(at)?.map(str::to_owned))
    }

    pub(crate) fn string(&self, at: usize) -> Result<String> {
        self.text(at).map(str::to_owned)
    }

    pub(crate) fn bytes(&self, at: usize) -> Result<&[u8]> {
        match self.0.get(at) {
            Some(Value::Bytes(it)) => Ok(it),
            other => Err(StoreError::Unreadable(format!("column {at} is no bytes: {other:?}"))),
        }
    }
}

/// The two kinds of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A connection inside a transaction, or one that only reads. Every statement of the store goes through it; on
/// SQLite the futures are ready at once.
pub(crate) trait Conn: Send {
    fn dialect(&self) -> Dialect;

    fn query(&mut self, sql: Sql, values: Vec<Value>) -> BoxFuture<'_, Result<Vec<Row>>>;

    /// Runs a statement and says how many rows it touched.
    fn execute(&mut self, sql: Sql, values: Vec<Value>) -> BoxFuture<'_, Result<u64>>;

    /// Runs several statements without parameters.
    fn batch(&mut self, sql: Sql) -> BoxFuture<'_, Result<()>>;

    /// The present instant. What a script was given may be old by now: it may have waited for its turn.
    fn now(&self) -> Timestamp;

    /// Tells everybody who waits about `change`, in this process and in others, when the transaction commits.
    fn announce(&mut self, change: Change) -> BoxFuture<'_, Result<()>>;
}

impl dyn Conn + '_ {
    /// The first row, if there is one.
    pub(crate) async fn row(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<Option<Row>> {
        Ok(self.query(sql.into(), values).await?.into_iter().next())
    }

    pub(crate) async fn rows(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<Vec<Row>> {
        self.query(sql.into(), values).await
    }

    pub(crate) async fn run(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<u64> {
        self.execute(sql.into(), values).await
    }

    /// Selects one row and holds it until the transaction ends. SQLite has one writer, so there is nothing to hold.
    pub(crate) async fn row_locked(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Option<Row>> {
        match self.dialect() {
            Dialect::Sqlite => self.row(sql, values).await,
            Dialect::Postgres => self.row(format!("{sql} FOR NO KEY UPDATE"), values).await,
        }
    }

    /// What to put behind a select that is to hold its rows and to leave out those that others hold. A statement over
    /// many rows needs it: two that wait for each other's rows would never end.
    pub(crate) fn skip_locked(&self) -> &'static str {
        match self.dialect() {
            Dialect::Sqlite => "",
            Dialect::Postgres => "FOR UPDATE SKIP LOCKED",
        }
    }
}
