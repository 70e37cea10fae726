//! Docs checks: text in, findings out. Reads Markdown and MDX with positions, navigation files and front matter; knows
//! which paths a change may touch; compares what it finds with the base, so that only new breakage counts.

mod all;
mod change;
mod compare;
mod context;
mod executable;
mod external;
mod facts;
mod files;
mod finding;
mod folder;
mod inbound;
pub mod invisible;
mod lines;
mod link;
mod look;
mod names;
pub mod nav;
mod nav_check;
mod near;
pub mod page;
mod page_check;
mod parts;
pub mod paths;
mod redirect_check;
mod redirects;
pub mod repair;
mod resolve;
mod rules;
mod scope;
pub mod secrets;
mod site;
mod suppress;
mod tally;

pub use all::{Report, check_all, check_all_by};
pub use change::{Judge, check_change, check_change_by};
pub use compare::Comparison;
pub use external::{ExternalLink, external_links};
pub use files::{Files, Until};
pub use finding::{Check, Finding, Severity};
pub use folder::Folder;
pub use names::is_guide;
pub use rules::{BadRules, Rules};
pub use scope::{Ground, Scope};
pub use site::{SiteSettings, Sites};
pub use tally::{Count, Tally};
