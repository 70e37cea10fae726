//! The configuration of a Copydesk process.
//!
//! Values come, in rising strength, from the defaults in [`settings`], `copydesk.toml`, `COPYDESK_…` environment
//! variables and command-line flags. Nothing here reads global state: the caller passes every source in.
//!
//! A new setting is one entry of the list in [`settings`].

mod database;
mod environment;
mod file;
mod given;
mod kind;
mod kubernetes;
mod load;
mod origin;
mod output;
mod settings;
mod sources;
mod suggest;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use database::MASK;
pub use database::{ClickHouseUrl, DatabaseUrl};
pub use output::sample;
pub use settings::Config;
pub use sources::{FlagValue, Sources};
pub use values::{LogFormat, NewUsers, Provider, ViewsPlace, choice_name};

use secrecy::ExposeSecret;

use given::Given;
use load::{ConfigErrors, Loader};
use origin::Origin;

impl Config {
    /// Reads and checks all sources.
    ///
    /// # Errors
    ///
    /// Every error found in any source, also one in a value that a stronger
    /// source replaces.
    pub fn load(sources: Sources) -> Result<Self, ConfigErrors> {
        let mut loader = Loader::new();
        file::read(&mut loader, &sources);
        environment::read(&mut loader, sources.environment);
        for FlagValue { key, value, flag } in &sources.flags {
            loader.set_key(key, Given::Plain(value.expose_secret()), &|_| Origin::Flag(flag));
        }
        loader.finish()
    }
}
