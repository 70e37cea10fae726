//! Puts values on top of each other and gathers what is wrong with them.

use std::fmt;

use super::database::DatabaseUrl;
use super::given::Given;
use super::kind::Problem;
use super::origin::Origin;
use super::settings::{Config, SETTINGS, is_section, position};
use super::suggest::{Meant, nearest};

/// What an error is about that may have cost any setting its value.
pub(super) const EVERYTHING: &str = "";

/// Where a value came from, or, given its offset, an item of it.
pub(super) type OriginOf<'a> = &'a dyn Fn(Option<usize>) -> Origin;

/// Everything that is wrong with the configuration, one line each; never empty.
///
/// The lines are already masked, so they may be printed and logged.
#[derive(Debug, Clone)]
pub struct ConfigErrors(pub(super) Vec<String>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}

/// A configuration under construction.
pub(super) struct Loader {
    config: Config,
    errors: Vec<String>,
    /// Whether a value was lost, so that the models may not be the ones that were meant.
    models_uncertain: bool,
}

impl Loader {
    pub(super) fn new() -> Self {
        Self { config: Config::defaults(), errors: Vec::new(), models_uncertain: false }
    }

    /// Gives the setting of this key a value, if there is one and the value fits.
    pub(super) fn set_key(&mut self, key: &str, given: Given<'_>, origin: OriginOf<'_>) {
        if let Some(index) = position(key) {
            self.set(index, given, origin);
        } else if is_section(key) {
            let shown = given.shown();
            let problem = format!("{shown} is not a section; write [{key}] on its own line ({})", origin(None));
            self.error(key, problem);
        } else {
            self.unknown(key, given, &origin(None), nearest(key, &[]));
        }
    }

    /// Gives the setting at `index` a value, if it fits.
    pub(super) fn set(&mut self, index: usize, given: Given<'_>, origin: OriginOf<'_>) {
        let setting = &SETTINGS[index];
        match (setting.read)(&mut self.config, given) {
            Ok(()) => self.config.origins[index] = origin(None),
            Err(problems) => {
                for Problem { shown, says, offset } in problems {
                    self.error(setting.key, format!("{shown} {says} ({})", origin(offset)));
                }
            }
        }
    }

    /// Reports a key that is no setting.
    pub(super) fn unknown(&mut self, key: &str, given: Given<'_>, origin: &Origin, meant: Option<Meant>) {
        // An unknown key may be a misspelt secret or one of another program.
        // Its value is shown only if it was clearly meant for an open setting.
        let open = meant.as_ref().is_some_and(|meant| !meant.secret);
        let looks_secret = given.text().is_some_and(|text| text.contains('@'));
        let value = if open && !looks_secret { given.shown() } else { "not shown".to_owned() };
        let hint = meant.as_ref().map(|meant| format!("; did you mean {}?", meant.name)).unwrap_or_default();
        self.models_uncertain |= meant.is_some_and(|meant| is_about_models(&meant.name));
        self.error(key, format!("there is no such setting (value {value}, {origin}){hint}"));
    }

    /// Reports what is wrong with a setting.
    fn error(&mut self, key: &str, problem: String) {
        self.error_line(key, format!("{key}: {problem}"));
    }

    /// Reports an error because of which what `about` names may lack its value.
    pub(super) fn error_line(&mut self, about: &str, line: String) {
        self.models_uncertain |= is_about_models(about);
        self.errors.push(line);
    }

    pub(super) fn finish(mut self) -> Result<Config, ConfigErrors> {
        self.derive();
        if !self.models_uncertain {
            self.use_model();
            self.check_default_model();
        }
        // Of values that were lost nobody can say that they are missing.
        if self.errors.is_empty() {
            self.check_sign_in();
        }
        if self.errors.is_empty() { Ok(self.config) } else { Err(ConfigErrors(self.errors)) }
    }

    fn origin(&self, key: &str) -> Origin {
        self.config.origin(key).cloned().unwrap_or(Origin::Default)
    }

    fn is_default(&self, key: &str) -> bool {
        self.origin(key) == Origin::Default
    }

    /// Fills in the defaults that follow from other settings.
    fn derive(&mut self) {
        if self.is_default("public_url") {
            self.config.public_url = self.config.public_url_at(self.config.listen);
        }
        if self.is_default("database_url") {
            self.config.database_url = DatabaseUrl::Sqlite(self.config.data_dir.join("copydesk.db"));
        }
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
        if let Some((missing, given)) = missing {
            let origin = self.origin(given);
            return self.error(missing, format!("is missing, and {given} ({origin}) says that there is a model"));
        }
        let Some(name) = model.name.clone() else { return };
        let (extend, replace) = (self.is_default("jobs.models"), self.is_default("jobs.default_model"));
        let jobs = &mut self.config.jobs;
        if extend && !jobs.models.contains(&name) {
            jobs.models.push(name.clone());
        }
        if replace && jobs.models.contains(&name) {
            jobs.default_model = name;
        }
    }

    /// Who says a part of how people sign in has to say the rest. Above all, who believes a header has to say whose.
    fn check_sign_in(&mut self) {
        let sign_in = &self.config.sign_in;
        let (header, proxies) = (sign_in.proxy_header.is_some(), sign_in.proxies.is_some());
        let (issuer, client) = (sign_in.oidc_issuer.is_some(), sign_in.oidc_client_id.is_some());
        let missing = [
            (
                header && !proxies,
                "proxies",
                "proxy_header",
                "that a proxy signs people in; without it anyone could sign in as anyone",
            ),
            (proxies && !header, "proxy_header", "proxies", "that a proxy signs people in"),
            (issuer && !client, "oidc_client_id", "oidc_issuer", "that a provider signs people in"),
            (client && !issuer, "oidc_issuer", "oidc_client_id", "that a provider signs people in"),
            (sign_in.oidc_only && !issuer, "oidc_issuer", "oidc_only", "that a provider is the only way in"),
            (
                sign_in.oidc_client_secret.is_some() && !issuer,
                "oidc_issuer",
                "oidc_client_secret",
                "that a provider signs people in",
            ),
        ];
        for (is_missing, lacks, given, says) in missing {
            if is_missing {
                let (lacks, given) = (format!("sign_in.{lacks}"), format!("sign_in.{given}"));
                let origin = self.origin(&given);
                return self.error(&lacks, format!("is missing, and {given} ({origin}) says {says}"));
            }
        }
    }

    fn check_default_model(&mut self) {
        let jobs = &self.config.jobs;
        if !jobs.models.contains(&jobs.default_model) {
            let (model_origin, models_origin) = (self.origin("jobs.default_model"), self.origin("jobs.models"));
            let (model, models) = (&jobs.default_model, &jobs.models);
            let problem = format!("{model:?} ({model_origin}) is not one of jobs.models, {models:?} ({models_origin})");
            self.error("jobs.default_model", problem);
        }
    }
}

/// Whether a section, a key or a variable says what models there are.
fn is_about_models(name: &str) -> bool {
    name == EVERYTHING || name == "jobs" || name.to_lowercase().contains("model")
}
