//! What runs jobs, as the configuration says.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use copydesk_agent::{BuiltinEditor, Editor, KeySource, ModelEditor, ModelSettings, SecretString};
use copydesk_desk::credentials::Credentials;
use copydesk_desk::docs_job::{ChangeLimits, DocsEngine, Workshop};
use copydesk_desk::runner::{Engine, Noop};
use copydesk_domain::Dollars;
use copydesk_forge::{Forge, ForgeSettings, Hosts, HostsSettings, Signature};
use copydesk_store::Store;

use crate::config::{Config, Provider};
use crate::failure::Failure;
use crate::secrets;

/// What documentation jobs share.
pub(crate) fn workshop(
    config: &Config,
    store: &Store,
    environment: &[(OsString, OsString)],
    public_url: String,
) -> Result<Arc<Workshop>, Failure> {
    let place = Place { mirrors: mirrors(config)?, git_time: config.git.time, hosts: HostsSettings::default() };
    Ok(workshop_at(config, store, environment, public_url, place))
}

/// Where the mirrors are.
pub(crate) fn mirrors(config: &Config) -> Result<PathBuf, Failure> {
    std::path::absolute(config.data_dir.join("mirrors"))
        .map_err(|error| Failure::error(format!("the data folder cannot be used: {error}")))
}

/// Where a workshop keeps its mirrors and how long it waits for git and for code hosts.
pub(crate) struct Place {
    pub(crate) mirrors: PathBuf,
    pub(crate) git_time: Duration,
    pub(crate) hosts: HostsSettings,
}

/// The same elsewhere, or with other patience.
pub(crate) fn workshop_at(
    config: &Config,
    store: &Store,
    environment: &[(OsString, OsString)],
    public_url: String,
    place: Place,
) -> Arc<Workshop> {
    let Place { mirrors, git_time, hosts } = place;
    let forge = forge_at(config, mirrors, git_time);
    let limits = ChangeLimits { files: config.limits.changed_files, lines: config.limits.changed_lines };
    let hosts = Hosts::new(hosts);
    let vault = secrets::vault(config);
    let credentials = Credentials::new(store.clone(), vault, environment);
    let (refreshes, near) = Default::default();
    Arc::new(Workshop { forge, hosts, credentials, refreshes, public_url, limits, near })
}

/// The mirrors of this machine.
pub(crate) fn forge(config: &Config) -> Result<Forge, Failure> {
    Ok(forge_at(config, mirrors(config)?, config.git.time))
}

fn forge_at(config: &Config, folder: PathBuf, time_limit: Duration) -> Forge {
    let signature = Signature { name: config.git.name.clone(), email: config.git.email.clone() };
    let (author, committer) = (signature.clone(), signature);
    Forge::new(ForgeSettings { folder, time_limit, author, committer })
}

/// The engines of this process: `noop`, `builtin` and the model that is configured.
pub(crate) fn engines(config: &Config, workshop: Arc<Workshop>) -> Result<Vec<Arc<dyn Engine>>, Failure> {
    let docs = |editor: Arc<dyn Editor>| -> Arc<dyn Engine> { Arc::new(DocsEngine::new(workshop.clone(), editor)) };
    let mut engines: Vec<Arc<dyn Engine>> = vec![Arc::new(Noop), docs(Arc::new(BuiltinEditor::new()))];
    if let Some(editor) = model(config)? {
        engines.push(docs(Arc::new(editor)));
    }
    Ok(engines)
}

/// The model that is configured, if one is.
pub(crate) fn model(config: &Config) -> Result<Option<ModelEditor>, Failure> {
    let model = &config.model;
    let (Some(provider), Some(name)) = (model.provider, &model.name) else { return Ok(None) };
    let settings = ModelSettings {
        base_url: model.base_url.clone(),
        keys: keys(config),
        max_output_tokens: model.output_tokens,
        context_tokens: model.context_tokens,
        turns: config.limits.job_turns,
        tokens: u64::from(config.limits.job_tokens),
        cost: config.limits.job_cost.map(Dollars::rounded),
        input_price: model.input_price,
        cached_input_price: model.cached_input_price,
        output_price: model.output_price,
        silence: model.silence,
        ..ModelSettings::new(wire(provider), name)
    };
    ModelEditor::new(settings).map(Some).map_err(|error| Failure::usage(format!("the model cannot be used: {error}")))
}

fn wire(provider: Provider) -> copydesk_agent::Provider {
    match provider {
        Provider::Anthropic => copydesk_agent::Provider::Anthropic,
        Provider::OpenAi => copydesk_agent::Provider::OpenAi,
        Provider::Ollama => copydesk_agent::Provider::Ollama,
        Provider::Gemini => copydesk_agent::Provider::Gemini,
    }
}

/// A project's own key if there is a file of it, else the one for all. Files are read anew for every round of a job, so
/// that a key can be changed while the server runs.
fn keys(config: &Config) -> KeySource {
    let everybody = config.model.api_key.clone();
    let Some(folder) = config.model.project_keys.clone() else {
        return everybody.map_or_else(KeySource::none, KeySource::one);
    };
    KeySource::by_project(move |project| {
        // Ids of projects are letters, digits and dashes, so this cannot leave the folder.
        let own = std::fs::read_to_string(folder.join(project.as_str())).ok().filter(|key| !key.trim().is_empty());
        own.map(|key| SecretString::from(key.trim())).or_else(|| everybody.clone())
    })
}
