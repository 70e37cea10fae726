//! What edits documentation: engines that are given prompts and a workspace, and say what they did.

mod editor;
mod view;

pub use editor::{Answer, Assignment, EditFailure, Edited, Editor, Notebook, Stopped};
pub use view::WorkspaceFiles;
