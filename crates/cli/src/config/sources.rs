use std::ffi::OsString;
use std::path::PathBuf;

use secrecy::SecretString;

/// Where a configuration is loaded from.
///
/// Not `Debug`: the environment holds secrets, of other programs too.
pub struct Sources {
    /// File named by `--config`, relative to `working_dir`.
    pub config_file: Option<PathBuf>,
    /// Directory in which `copydesk.toml` is looked for.
    pub working_dir: PathBuf,
    /// The environment of the process.
    pub environment: Vec<(OsString, OsString)>,
    /// Settings given as flags; of two for one key the later counts.
    pub flags: Vec<FlagValue>,
}

/// A setting given on the command line.
#[derive(Debug, Clone)]
pub struct FlagValue {
    /// Key of the setting, such as `limits.jobs_per_hour`.
    pub key: &'static str,
    /// The value as written, which may be a secret one.
    pub value: SecretString,
    /// The flag with its dashes, such as `--listen`.
    pub flag: &'static str,
}
