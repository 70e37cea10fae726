use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::moving::MoveNote;
use super::{AgentViews, Counts, Expired, Loss, Losses, Question, Ranking, Sources, Status, ViewsError};
use crate::{Appended, Batch, Bucket, Client, CountedLines, Mark, Verdict};

/// What a store is called for; each names what it is answered with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum StoreCall {
    /// Keeps a batch. When it answers, the batch is on disk. → [`Appended`]
    ///
    /// As JSON it would name every page and reader anew for each view; whoever sends it elsewhere packs it.
    #[serde(skip)]
    Append(Batch),
    /// Pages by their views. → `Arc<`[`Ranking`]`>`
    Ranking { project: String, question: Question },
    /// Views between each two neighbouring edges, of the site or of one page. → `Vec<`[`Counts`]`>`
    Series { project: String, path: Option<String>, edges: Vec<Bucket>, sources: Sources },
    /// The machines that read, most views first, each with the pages it read most; of one page if it is named.
    /// → `Vec<`[`AgentViews`]`>`
    Agents { project: String, question: Question, path: Option<String>, pages_each: usize },
    /// Views of one machine between each two neighbouring edges; see [`Verdict::is_called`]. → `Vec<u64>`
    AgentSeries { project: String, agent: String, edges: Vec<Bucket>, sources: Sources },
    /// The marks of logs that begin like this one, or that were followed at this place, in the order in which they were
    /// written. → `Vec<`[`Mark`]`>`
    Marks { project: String, log: String },
    /// The lines of logs that were counted, as far as they are remembered. → [`CountedLines`]
    Lines { project: String },
    /// Every kind of reader with its views, all time. → `Vec<(Arc<`[`Client`]`>, u64)>`
    Clients { project: String },
    /// Gives readers another verdict, in all of the history. All or nothing. → `()`
    Relabel { project: String, changes: Vec<(Arc<Client>, Verdict)> },
    /// Forgets everything before `floor`, and takes nothing older from now on. What was forgotten within the last days
    /// can be brought back; what was forgotten before them goes for good. → `()`
    Retain { project: String, floor: Bucket },
    /// Brings back what was forgotten within the last days; answers before when everything is still forgotten.
    /// → `Option<`[`Bucket`]`>`
    Restore { project: String },
    /// Forgets what is older than so many days, on more evidence than one look at the clock. With 0 days nothing is; what
    /// was forgotten too long ago to be brought back goes all the same. → [`Expired`]
    Expire { project: String, days: u32 },
    /// What is missing, or may be: of a project, or of all. → [`Losses`]
    Losses { project: Option<String> },
    /// Reads all of a project's files, or of the log and the store's notes if none is named, and says what is damaged now.
    /// → `Vec<`[`Loss`]`>`
    Verify { project: Option<String> },
    /// Writes what is left of a project's damaged files anew, or of the log and the notes if none is named. → `()`
    Repair { project: Option<String> },
    /// The operator knows of all losses: they are not told any more, and what was put aside is removed. → `()`
    Accept,
    /// Forgets a project. → `()`
    Remove { project: String },
    /// What there is of a project. → [`Status`]
    Status { project: String },
    /// The projects that have views. → `Vec<String>`
    Projects,
    /// What is written down here about a move, if something is. → `Option<`[`MoveNote`]`>`
    MoveNote,
    /// Writes that down. When it answers, it is on disk, and whatever it keeps from being counted or changed is not.
    /// → `()`
    SetMove { note: Option<MoveNote> },
    /// Copies everything into a folder that must not exist yet, as it is at one moment, while views go on arriving. → `()`
    Backup { folder: PathBuf },
}

macro_rules! replies {
    ($($name:ident($type:ty),)*) => {
        /// What a store answers. Made with `into()` of the type that the call names.
        #[derive(Debug, Serialize, Deserialize)]
        pub enum StoreReply {
            $($name($type),)*
        }
        $(
            impl From<$type> for StoreReply {
                fn from(value: $type) -> Self {
                    Self::$name(value)
                }
            }
            impl TryFrom<StoreReply> for $type {
                type Error = ViewsError;

                fn try_from(reply: StoreReply) -> Result<Self, ViewsError> {
                    match reply {
                        StoreReply::$name(value) => Ok(value),
                        _ => Err(ViewsError::Damaged("the view store gave an unexpected answer".to_owned())),
                    }
                }
            }
        )*
    };
}

replies! {
    Appended(Appended),
    Ranking(Arc<Ranking>),
    Series(Vec<Counts>),
    Agents(Vec<AgentViews>),
    AgentSeries(Vec<u64>),
    Marks(Vec<Mark>),
    Lines(CountedLines),
    Clients(Vec<(Arc<Client>, u64)>),
    Status(Status),
    Projects(Vec<String>),
    Losses(Losses),
    Damages(Vec<Loss>),
    Floor(Option<Bucket>),
    Expired(Expired),
    MoveNote(Option<MoveNote>),
    Done(()),
}
