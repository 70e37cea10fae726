use std::borrow::Cow;
use std::sync::Arc;

use copydesk_domain::{
    Actor, ActorKind, Dollars, EventKind, JobId, OnFindings, Outcome, ProjectId, PullRequestState, Role, Scope, Status,
    Timestamp,
};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::hub::Change;

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
    // Far below what an integer of the databases holds.
    Option<Dollars> => |it| Self::Int(it.map(|it| i64::try_from(it.millionths()).unwrap_or(i64::MAX)));
    Timestamp => |it| Self::Int(Some(it.as_millis()));
    Option<Timestamp> => |it| Self::Int(it.map(|at| at.as_millis()));
    &str => |it| Self::Text(Some(it.to_owned()));
    &String => |it| Self::Text(Some(it.clone()));
    String => |it| Self::Text(Some(it));
    Option<&str> => |it| Self::Text(it.map(str::to_owned));
    Option<String> => |it| Self::Text(it);
    Vec<u8> => |it| Self::Bytes(it);
    JobId => |it| Self::from(it.as_str());
    &JobId => |it| Self::from(it.as_str());
    ProjectId => |it| Self::from(it.as_str());
    &ProjectId => |it| Self::from(it.as_str());
}

/// The parameters of a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::conn::Value::from($value)),*] };
}
pub(crate) use values;

/// The places of so many parameters from number `first` on, as a list of SQL.
pub(crate) fn places(first: usize, count: usize) -> String {
    let places: Vec<String> = (first..first + count).map(|place| format!("${place}")).collect();
    places.join(", ")
}

/// JSON as it is kept in a column of text.
pub(crate) fn to_json(it: &impl Serialize) -> String {
    serde_json::to_string(it).expect("what the store keeps has text for keys and no errors of its own")
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    let wanted = std::any::type_name::<T>();
    serde_json::from_str(text).map_err(|error| StoreError::Unreadable(format!("a column holds no {wanted}: {error}")))
}

/// PostgreSQL's text cannot hold a NUL, and a model or another server may write one.
pub(crate) fn plain_text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// One row of an answer, read from left to right.
#[derive(Debug)]
pub(crate) struct Row {
    values: std::vec::IntoIter<Value>,
}

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self { values: values.into_iter() }
    }

    /// All columns that are left.
    pub(crate) fn into_values(self) -> Vec<Value> {
        self.values.collect()
    }

    /// The next column.
    pub(crate) fn next<T: Column>(&mut self) -> Result<T> {
        let left = self.values.len();
        let unfit = || {
            let wanted = std::any::type_name::<T>();
            StoreError::Unreadable(format!("the column {left} from the end of a row holds no {wanted}"))
        };
        self.values.next().and_then(T::from_value).ok_or_else(unfit)
    }

    /// The next column, which is JSON.
    pub(crate) fn next_json<T: DeserializeOwned>(&mut self) -> Result<T> {
        let text: String = self.next()?;
        from_json(&text)
    }

    /// The next column, which is JSON or null.
    pub(crate) fn next_json_or_null<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        self.next::<Option<String>>()?.as_deref().map(from_json).transpose()
    }

    /// Whether the next column is null. It is left to be read.
    pub(crate) fn next_is_null(&self) -> bool {
        matches!(self.values.as_slice().first(), Some(Value::Int(None) | Value::Text(None)))
    }
}

/// What a column can be read as.
pub(crate) trait Column: Sized {
    /// None if it is something else.
    fn from_value(value: Value) -> Option<Self>;
}

impl<T: Column> Column for Option<T> {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            // SQLite gives a null no type.
            Value::Int(None) | Value::Text(None) => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

macro_rules! columns {
    ($($to:ty: $pattern:pat => $read:expr;)*) => {
        $(impl Column for $to {
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    $pattern => $read,
                    _ => None,
                }
            }
        })*
    };
}

columns! {
    i64: Value::Int(it) => it;
    u32: Value::Int(Some(it)) => it.try_into().ok();
    u64: Value::Int(Some(it)) => it.try_into().ok();
    bool: Value::Int(Some(it)) => Some(it != 0);
    Dollars: Value::Int(Some(it)) => it.try_into().ok().map(Self::from_millionths);
    Timestamp: Value::Int(Some(it)) => Some(Self::from_millis(it));
    String: Value::Text(it) => it;
    Vec<u8>: Value::Bytes(it) => Some(it);
    JobId: Value::Text(Some(it)) => Some(it.as_str().into());
    ProjectId: Value::Text(Some(it)) => Some(it.as_str().into());
    ActorKind: Value::Text(Some(it)) => Self::parse(&it);
    EventKind: Value::Text(Some(it)) => Self::parse(&it);
    OnFindings: Value::Text(Some(it)) => Self::parse(&it);
    Outcome: Value::Text(Some(it)) => Self::parse(&it);
    PullRequestState: Value::Text(Some(it)) => Self::parse(&it);
    Role: Value::Text(Some(it)) => Self::parse(&it);
    Scope: Value::Text(Some(it)) => Self::parse(&it);
    Status: Value::Text(Some(it)) => Self::parse(&it);
}

/// What a row can be read as: a single column, some of them, or a type that knows its own.
pub(crate) trait FromRow: Sized {
    fn from_row(row: &mut Row) -> Result<Self>;
}

impl<T: Column> FromRow for T {
    fn from_row(row: &mut Row) -> Result<Self> {
        row.next()
    }
}

impl<A: FromRow, B: FromRow> FromRow for (A, B) {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok((A::from_row(row)?, B::from_row(row)?))
    }
}

impl<A: FromRow, B: FromRow, C: FromRow> FromRow for (A, B, C) {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok((A::from_row(row)?, B::from_row(row)?, C::from_row(row)?))
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

    fn execute(&mut self, sql: Sql, values: Vec<Value>) -> BoxFuture<'_, Result<u64>>;

    /// Runs several statements without parameters.
    fn batch(&mut self, sql: Sql) -> BoxFuture<'_, Result<()>>;

    /// The present instant. What a script was given may be old by now: it may have waited for its turn.
    fn now(&self) -> Timestamp;

    /// Who does what this transaction does.
    fn actor(&self) -> &Arc<Actor>;

    fn set_actor(&mut self, actor: Arc<Actor>);

    /// Tells everybody who waits about `change`, in this process and in others, when the transaction commits.
    fn announce(&mut self, change: Change);
}

impl dyn Conn + '_ {
    pub(crate) async fn rows<T: FromRow>(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<Vec<T>> {
        self.query(sql.into(), values).await?.iter_mut().map(T::from_row).collect()
    }

    /// The first row, if there is one.
    pub(crate) async fn row<T: FromRow>(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<Option<T>> {
        self.query(sql.into(), values).await?.first_mut().map(T::from_row).transpose()
    }

    /// The row of a select that always has one, such as a count.
    pub(crate) async fn only_row<T: FromRow>(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<T> {
        let missing = || StoreError::Unreadable("a row is missing".to_owned());
        self.row(sql, values).await?.ok_or_else(missing)
    }

    /// Whether there is a row.
    pub(crate) async fn exists(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<bool> {
        Ok(!self.query(sql.into(), values).await?.is_empty())
    }

    /// Runs a statement and says how many rows it touched.
    pub(crate) async fn run(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<u64> {
        self.execute(sql.into(), values).await
    }

    /// Selects one row and holds it until the transaction ends. SQLite has one writer, so there is nothing to hold.
    pub(crate) async fn row_held<T: FromRow>(&mut self, sql: &str, values: Vec<Value>) -> Result<Option<T>> {
        let hold = match self.dialect() {
            Dialect::Sqlite => "",
            Dialect::Postgres => "FOR NO KEY UPDATE",
        };
        self.row(format!("{sql} {hold}"), values).await
    }

    /// Holds the row of that id until the transaction ends. False if there is none.
    pub(crate) async fn hold(&mut self, table: &'static str, id: &str) -> Result<bool> {
        let sql = format!("SELECT id FROM {table} WHERE id = $1");
        Ok(self.row_held::<String>(&sql, values![id]).await?.is_some())
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
