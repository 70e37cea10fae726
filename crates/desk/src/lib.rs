//! Everything that can be done, without HTTP: whoever calls has decided who may do it.

pub mod asks;
pub mod attention;
pub mod credentials;
mod desk;
mod docs_folder;
pub mod docs_job;
mod external_links;
pub mod health;
pub mod job_view;
pub mod jobs;
mod key_use;
pub mod keys;
mod metrics;
mod network;
pub mod people;
pub mod projects;
mod pulls;
pub mod readers;
pub mod runner;
mod senders;
pub mod server;
mod stop;
mod upkeep;
pub mod views;
pub mod webhooks;

pub use copydesk_agent::{ModelFact, ModelTrial};
pub use desk::{Desk, NotTried};
pub use external_links::{Answer, ExternalSettings, judge_external};
pub use key_use::KeyUse;
pub use metrics::{Format as MetricsFormat, Metrics};
pub use network::parse_network;
pub use pulls::{follow_pulls, look_at_pulls};
pub use senders::{OLD_SECRET_TAKEN, Sender, SenderSecrets};
pub use stop::Stop;
pub use upkeep::keep_up;
