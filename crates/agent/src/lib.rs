//! What edits documentation: engines that are given prompts and a workspace, and say what they did.

mod builtin;
mod editor;
mod edits;
mod machine;
mod model;
mod prompt;
mod range_text;
mod review;
mod said;
mod seat;
mod sources;
mod text;
mod tools;
mod view;

pub use builtin::BuiltinEditor;
pub use editor::{Assignment, EditFailure, Edited, Editor, History, Notebook, RecordedAnswer, Stopped};
pub use model::{KeySource, ModelEditor, ModelFact, ModelSettings, ModelTrial, Provider, cause_of};
pub use seat::seated;
pub use secrecy::SecretString;
pub use sources::{AskedRange, CodeSources, RangeQuestion, SourceCommit, SourceFiles};
pub use view::WorkspaceFiles;
