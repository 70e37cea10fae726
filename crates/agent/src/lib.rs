//! What edits documentation: engines that are given prompts and a workspace, and say what they did.

mod builtin;
mod editor;
mod machine;
mod model;
mod prompt;
mod review;
mod seat;
mod text;
mod tools;
mod view;

pub use builtin::BuiltinEditor;
pub use editor::{Answer, Assignment, EditFailure, Edited, Editor, Notebook, Stopped};
pub use model::{KeySource, ModelEditor, ModelSettings, Provider};
pub use review::Reviewer;
pub use seat::seated;
pub use secrecy::SecretString;
pub use view::WorkspaceFiles;
