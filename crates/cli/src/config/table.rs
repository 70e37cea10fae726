//! What a setting is, and the macro that makes the configuration of a list of settings.

use super::given::Given;
use super::kind::{Kind, Problem, Secrecy};

/// A setting of the configuration `C`.
pub(super) struct Setting<C> {
    /// Such as `limits.jobs_per_hour`.
    pub(super) key: &'static str,
    pub(super) description: &'static str,
    /// The default in words, where it follows from another setting.
    pub(super) derived: Option<&'static str>,
    /// What its value is, to stand after "is not".
    pub(super) expects: String,
    pub(super) secrecy: Secrecy,
    /// Reads a value into its field, or leaves that as it is.
    pub(super) read: ReadInto<C>,
    pub(super) show: Shown<C, String>,
    pub(super) to_toml: Shown<C, Option<toml::Value>>,
}

type ReadInto<C> = Box<dyn Fn(&mut C, Given<'_>) -> Result<(), Vec<Problem>> + Send + Sync>;
type Shown<C, T> = Box<dyn Fn(&C) -> T + Send + Sync>;

impl<C: 'static> Setting<C> {
    pub(super) fn new<T: 'static>(
        key: &'static str,
        description: &'static str,
        derived: Option<&'static str>,
        kind: Kind<T>,
        get: fn(&C) -> &T,
        put: fn(&mut C) -> &mut T,
    ) -> Self {
        let Kind { expects, secrecy, read, show, to_toml } = kind;
        Self {
            key,
            description: description.trim(),
            derived,
            expects,
            secrecy,
            read: Box::new(move |config, given| read(given).map(|value| *put(config) = value)),
            show: Box::new(move |config| show(get(config))),
            to_toml: Box::new(move |config| to_toml(get(config))),
        }
    }

    /// The key without its section.
    pub(super) fn leaf(&self) -> &'static str {
        self.key.rsplit('.').next().unwrap_or(self.key)
    }

    /// The section, empty for a top-level setting.
    pub(super) fn section(&self) -> &'static str {
        self.key.rsplit_once('.').map_or("", |(section, _)| section)
    }
}

/// The value that a default stands for.
pub(super) fn default_value<T>(kind: Kind<T>, written: &str) -> T {
    (kind.read)(Given::Plain(written)).expect("every default fits its own kind, or no configuration could be loaded")
}

/// Makes of a list of settings the structs that hold their values, with `defaults()`, and the table `SETTINGS`.
///
/// A setting is its description as a doc comment and `visibility name: type = kind, default "text"`, where the default is
/// written as in an environment variable; without one the setting may be left out. `, derived "words"` follows if the loader
/// makes the default of another setting.
macro_rules! settings {
    ($Config:ident $top:tt $($section:ident: $Section:ident $block:tt)*) => {
        settings!(@struct $Config, $Config, "", config => (config, config), $top,
            { $(pub $section: $Section,)* pub(super) origins: Vec<Origin>, },
            { $($section: $Section::defaults(),)* origins: vec![Origin::Default; SETTINGS.len()], });
        $(settings!(@struct $Config, $Section, concat!(stringify!($section), "."),
            config => (&config.$section, &mut config.$section), $block, {}, {});)*

        pub(super) static SETTINGS: LazyLock<Vec<Setting<$Config>>> =
            LazyLock::new(|| [$Config::settings() $(, $Section::settings())*].into_iter().flatten().collect());
    };
    (
        @struct $Config:ident, $Struct:ident, $prefix:expr, $config:ident => ($part:expr, $part_mut:expr),
        { $(
            $(#[doc = $doc:literal])+
            $vis:vis $name:ident: $type:ty = $kind:expr $(, default $default:literal)? $(, derived $derived:literal)?;
        )* },
        { $($more_fields:tt)* },
        { $($more_values:tt)* }
    ) => {
        #[derive(Debug, Clone)]
        pub struct $Struct {
            $($(#[doc = $doc])+ $vis $name: $type,)*
            $($more_fields)*
        }

        impl $Struct {
            pub(super) fn defaults() -> Self {
                Self {
                    $($name: default_value($kind, settings!(@default $($default)?)),)*
                    $($more_values)*
                }
            }

            fn part($config: &$Config) -> &Self {
                $part
            }

            fn part_mut($config: &mut $Config) -> &mut Self {
                $part_mut
            }

            fn settings() -> Vec<Setting<$Config>> {
                vec![$(Setting::new(
                    concat!($prefix, stringify!($name)),
                    concat!($($doc),+),
                    settings!(@option $($derived)?),
                    $kind,
                    |config| &Self::part(config).$name,
                    |config| &mut Self::part_mut(config).$name,
                )),*]
            }
        }
    };
    (@default) => { UNSET };
    (@default $text:literal) => { $text };
    (@option) => { None };
    (@option $words:literal) => { Some($words) };
}
pub(super) use settings;
