//! Docs checks: text in, findings out. Reads Markdown and MDX with positions, navigation files and front matter; knows
//! which paths a change may touch; compares what it finds with the base, so that only new breakage counts.

mod all;
mod change;
mod compare;
mod context;
mod facts;
mod files;
mod finding;
mod folder;
mod inbound;
pub mod invisible;
mod lines;
mod link;
mod literal;
mod names;
pub mod nav;
mod nav_check;
pub mod page;
mod page_check;
pub mod paths;
mod redirects;
pub mod repair;
mod resolve;
mod scope;
pub mod secrets;
mod site;
mod yaml;

pub use all::{Report, check_all};
pub use change::check_change;
pub use compare::Comparison;
pub use files::Files;
pub use finding::{Check, Finding};
pub use folder::Folder;
pub use scope::Scope;
pub use site::{SiteSettings, Sites};
