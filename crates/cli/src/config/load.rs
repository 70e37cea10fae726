//! Puts the sources on top of each other and gathers what is wrong in them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::environment::{self, IGNORED};
use super::error::{ConfigError, ConfigErrors, Origin};
use super::given::Given;
use super::settings::{Fallback, SETTINGS, position};
use super::suggest::{Candidate, nearest};
use super::{
    Config, CredentialsConfig, FlagValue, GitConfig, JobsConfig, Limits, LogFormat, LogLevel, ModelConfig,
    RunnerConfig, Sources, ViewsConfig, WebhooksConfig, file,
};

/// Loads a configuration.
pub(super) fn load(sources: Sources) -> Result<Config, ConfigErrors> {
    let mut loader = Loader::new();
    loader.defaults();
    file::read(&mut loader, &sources);
    environment::read(&mut loader, sources.environment, IGNORED);
    loader.flags(sources.flags);
    loader.finish()
}

/// The configuration that holds when no source sets anything.
pub(super) fn defaults() -> Config {
    let mut loader = Loader::new();
    loader.defaults();
    loader.config
}

/// A configuration under construction.
pub(super) struct Loader {
    config: Config,
    errors: Vec<ConfigError>,
}

impl Loader {
    fn new() -> Self {
        Self { config: blank(), errors: Vec::new() }
    }

    fn defaults(&mut self) {
        for (index, setting) in SETTINGS.iter().enumerate() {
            if let Fallback::Value(text) = setting.default {
                self.set(index, &Given::Plain(text.to_owned()), Origin::Default);
            }
        }
    }

    fn flags(&mut self, flags: Vec<FlagValue>) {
        for FlagValue { key, value, flag } in flags {
            let given = Given::Plain(value);
            match position(key) {
                Some(index) => self.set(index, &given, Origin::Flag(flag)),
                None => self.unknown(key.to_owned(), &given, Origin::Flag(flag), suggest_key(key)),
            }
        }
    }

    /// Gives the setting at `index` a value, if it fits.
    pub(super) fn set(&mut self, index: usize, given: &Given, origin: Origin) {
        let setting = &SETTINGS[index];
        match setting.read(given, &mut self.config) {
            Ok(()) => self.config.origins[index] = origin,
            Err(problems) => self.errors.extend(problems.into_iter().map(|problem| {
                let mut origin = origin.clone();
                if let (Origin::File { line, .. }, Some(own)) = (&mut origin, problem.line) {
                    *line = own;
                }
                ConfigError::BadValue {
                    key: setting.key.to_owned(),
                    shown: problem.shown,
                    problem: problem.says,
                    origin,
                }
            })),
        }
    }

    /// Reports a key that is no setting.
    pub(super) fn unknown(&mut self, key: String, given: &Given, origin: Origin, suggestion: Option<Suggestion>) {
        // An unknown key may be a misspelt secret or one of another program.
        // Its value is shown only if it was clearly meant for an open setting.
        let open = suggestion.as_ref().is_some_and(|meant| !meant.secret);
        let looks_secret = given.text().is_some_and(|text| text.contains('@'));
        self.error(ConfigError::UnknownKey {
            key,
            shown: (open && !looks_secret).then(|| given.shown()),
            origin,
            suggestion: suggestion.map(|meant| meant.name),
        });
    }

    /// Reports any other error.
    pub(super) fn error(&mut self, error: ConfigError) {
        self.errors.push(error);
    }

    /// A model that is configured runs the jobs, unless something else was asked for.
    fn use_model(&mut self) {
        let model = &self.config.model;
        let missing = match (model.provider, &model.name) {
            (Some(_), None) => Some(("model.name", "model.provider")),
            (None, Some(_)) => Some(("model.provider", "model.name")),
            (None, None) if model.api_key.is_some() => Some(("model.provider", "model.api_key")),
            (None, None) if model.base_url.is_some() => Some(("model.provider", "model.base_url")),
            _ => None,
        };
        let is_default = |key| self.config.origin(key) == Some(&Origin::Default);
        if let Some((missing, given)) = missing {
            let origin = self.config.origin(given).cloned().unwrap_or(Origin::Default);
            return self.errors.push(ConfigError::Missing { missing, given, origin });
        }
        let Some(name) = model.name.clone() else { return };
        let (extend, replace) = (is_default("jobs.models"), is_default("jobs.default_model"));
        let jobs = &mut self.config.jobs;
        if extend && !jobs.models.contains(&name) {
            jobs.models.push(name.clone());
        }
        if replace && jobs.models.contains(&name) {
            jobs.default_model = name;
        }
    }

    fn finish(mut self) -> Result<Config, ConfigErrors> {
        if !self.errors.iter().any(may_hide_models) {
            self.use_model();
        }
        // Where a value was lost, the models may not be the ones that were meant.
        if !self.errors.iter().any(may_hide_models) {
            let jobs = &self.config.jobs;
            if !jobs.models.contains(&jobs.default_model) {
                let origin = |key| self.config.origin(key).cloned().unwrap_or(Origin::Default);
                self.errors.push(ConfigError::ModelNotListed {
                    model: jobs.default_model.clone(),
                    model_origin: origin("jobs.default_model"),
                    models: jobs.models.clone(),
                    models_origin: origin("jobs.models"),
                });
            }
        }
        ConfigErrors::check(self.errors)?;
        Ok(self.config)
    }
}

/// Whether because of this error a setting of `jobs` may lack its value.
fn may_hide_models(error: &ConfigError) -> bool {
    let about_models = |name: &String| name.to_lowercase().contains("model");
    match error {
        ConfigError::File { .. } | ConfigError::Syntax { .. } => true,
        ConfigError::BadValue { key, .. } => key == "jobs" || about_models(key),
        ConfigError::UnknownKey { key, suggestion, .. } => {
            about_models(key) || suggestion.as_ref().is_some_and(about_models)
        }
        ConfigError::NotUnicode { variable } => about_models(variable),
        ConfigError::ModelNotListed { .. } | ConfigError::Missing { .. } => false,
    }
}

/// What an unknown key probably stands for.
pub(super) struct Suggestion {
    /// The name to write instead.
    pub(super) name: String,
    /// Whether a value meant for it must not be shown.
    pub(super) secret: bool,
}

/// The setting whose key is close to this one.
pub(super) fn suggest_key(key: &str) -> Option<Suggestion> {
    let candidates: Vec<_> = SETTINGS
        .iter()
        .map(|setting| Candidate { name: setting.key.to_owned(), leaf: setting.leaf().to_owned() })
        .collect();
    let leaf = key.rsplit('.').next().unwrap_or(key);
    let name = nearest(key, leaf, &candidates)?;
    Some(Suggestion { name: name.to_owned(), secret: SETTINGS[position(name)?].secret })
}

/// A configuration to fill from the table; none of these values is a default.
fn blank() -> Config {
    Config {
        data_dir: PathBuf::new(),
        listen: SocketAddr::from(([0, 0, 0, 0], 0)),
        database_connections: 0,
        log: LogLevel::Error,
        log_format: LogFormat::Text,
        limits: Limits {
            jobs_per_hour: 0,
            analytics_per_minute: 0,
            running_per_project: 0,
            job_turns: 0,
            job_tokens: 0,
            job_cost: None,
            changed_files: 0,
            changed_lines: 0,
            job_time: Duration::ZERO,
            queue_time: Duration::ZERO,
            request_time: Duration::ZERO,
            connections: 0,
            shutdown_time: Duration::ZERO,
        },
        runner: RunnerConfig { workers: 0, lease: Duration::ZERO, attempts: 0 },
        jobs: JobsConfig { default_model: String::new(), models: Vec::new() },
        model: ModelConfig {
            provider: None,
            name: None,
            base_url: None,
            api_key: None,
            project_keys: None,
            context_tokens: 0,
            output_tokens: 0,
            input_price: None,
            output_price: None,
            silence: Duration::ZERO,
        },
        views: ViewsConfig {
            keep_days: 0,
            duplicate_window: Duration::ZERO,
            memory: 0,
            lists: None,
            proxies: String::new(),
        },
        webhooks: WebhooksConfig { allow_private: String::new() },
        secret_file: None,
        git: GitConfig { name: String::new(), email: String::new(), time: Duration::ZERO },
        credentials: CredentialsConfig { key_file: None },
        public_url: None,
        database_url: None,
        origins: vec![Origin::Default; SETTINGS.len()],
    }
}
