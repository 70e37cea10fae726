//! Tests of the configuration, by subject.

#![allow(clippy::unwrap_used, clippy::panic)]

mod environment;
mod file;
mod output;
mod secrets;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use secrecy::ExposeSecret;

use super::load::ConfigErrors;
use super::origin::Origin;
use super::settings::{Limits, RunnerConfig, SETTINGS};
use super::values::LogLevel;
use super::*;

/// A directory of its own for each test, removed afterwards.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("copydesk-config-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let dir = Self::new();
        std::fs::write(dir.0.join(name), content).unwrap();
        dir
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn sources(dir: &Dir) -> Sources {
    Sources { config_file: None, working_dir: dir.0.clone(), environment: Vec::new(), flags: Vec::new() }
}

fn pairs(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    let own = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
    variables.iter().map(own).collect()
}

/// Loads with only this file.
fn load_file(content: &str) -> Result<Config, ConfigErrors> {
    Config::load(sources(&Dir::with("copydesk.toml", content)))
}

/// Loads with only these variables.
fn load_env(variables: &[(&str, &str)]) -> Result<Config, ConfigErrors> {
    Config::load(Sources { environment: pairs(variables), ..sources(&Dir::new()) })
}

fn flag(key: &'static str, value: &str) -> FlagValue {
    FlagValue { key, value: value.into(), flag: "--flag" }
}

/// Loads with only this flag.
fn load_flag(key: &'static str, value: &str) -> Result<Config, ConfigErrors> {
    Config::load(Sources { flags: vec![flag(key, value)], ..sources(&Dir::new()) })
}

fn lines(result: Result<Config, ConfigErrors>) -> Vec<String> {
    let errors = result.unwrap_err();
    let lines: Vec<_> = errors.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), errors.0.len(), "one line an error");
    lines
}

fn error(result: Result<Config, ConfigErrors>) -> String {
    let lines = lines(result);
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].clone()
}

/// Equal in every field. Secrets would look the same, but none is compared.
fn assert_same<T: std::fmt::Debug>(one: &T, other: &T) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// The shown value and origin of a setting.
fn entry(config: &Config, key: &str) -> (String, String) {
    let entries = config.entries();
    let entry = entries.iter().find(|entry| entry.key == key).unwrap();
    (entry.shown_value.clone(), entry.origin.to_string())
}

#[test]
fn without_sources_the_documented_defaults_hold() {
    let config = load_env(&[]).unwrap();
    let minutes = |count: u64| Duration::from_secs(60 * count);
    assert_eq!(config.data_dir, PathBuf::from("copydesk-data"));
    assert_eq!(config.listen.to_string(), "127.0.0.1:4400");
    assert_eq!(config.public_url(), "http://127.0.0.1:4400");
    let file = PathBuf::from("copydesk-data/copydesk.db");
    assert_eq!(config.database(), DatabaseUrl::Sqlite(file));
    assert_eq!(config.database_connections, None);
    assert_eq!(config.log, LogLevel::Info);
    assert_eq!(config.log_format, LogFormat::Auto);
    let limits = Limits {
        jobs_per_hour: 100,
        analytics_per_minute: 100,
        events_per_minute: 3000,
        running_per_project: 4,
        job_turns: 60,
        job_tokens: 2_000_000,
        job_cost: None,
        changed_files: 100,
        changed_lines: 10_000,
        job_time: minutes(30),
        host_wait: minutes(60),
        queue_time: minutes(24 * 60),
        request_time: Duration::from_secs(30),
        head_time: Duration::from_secs(10),
        connections: 1024,
        connections_per_peer: 256,
        body_memory: 256,
        body_rate: 2000,
        public_metrics: false,
        shutdown_time: Duration::from_secs(30),
    };
    assert_same(&config.limits, &limits);
    let runner = RunnerConfig { workers: 2, lease: Duration::from_secs(15), attempts: 10 };
    assert_same(&config.runner, &runner);
    assert_eq!(config.jobs.default_model, "builtin");
    assert_eq!(config.jobs.models, ["builtin", "noop"]);
    for entry in config.entries() {
        assert_eq!(entry.origin, Origin::Default, "{}", entry.key);
    }
}

#[test]
fn a_model_that_is_configured_runs_the_jobs() {
    let dir = Dir::with(
        "copydesk.toml",
        "[model]\nprovider = \"openai\"\nname = \"qwen2.5-coder:7b\"\nbase_url = \"http://localhost:8000/v1/\"\n\
         input_price = 0.25\noutput_price = 3\n",
    );
    let environment = pairs(&[("COPYDESK_MODEL__API_KEY", "sk-hunter2")]);
    let config = Config::load(Sources { environment, ..sources(&dir) }).unwrap();
    assert_eq!(config.jobs.default_model, "qwen2.5-coder:7b");
    assert_eq!(config.jobs.models, ["builtin", "noop", "qwen2.5-coder:7b"]);
    assert_eq!(config.model.base_url.as_deref(), Some("http://localhost:8000/v1"));
    assert_eq!(config.model.api_key.as_ref().unwrap().expose_secret(), "sk-hunter2");
    assert_eq!(
        (entry(&config, "model.input_price").0, entry(&config, "model.output_price").0),
        ("0.25".into(), "3".into())
    );
    for text in [config.to_text(), format!("{config:?}"), format!("{:?}", config.entries())] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    let asked = vec![flag("jobs.default_model", "builtin")];
    let environment = pairs(&[("COPYDESK_MODEL__API_KEY", "sk-hunter2")]);
    let config = Config::load(Sources { environment, flags: asked, ..sources(&dir) }).unwrap();
    assert_eq!(config.jobs.default_model, "builtin", "what was asked for is stronger");
}

#[test]
fn half_a_model_is_an_error() {
    for (key, value, missing) in [
        ("model.provider", "anthropic", "model.name"),
        ("model.name", "claude", "model.provider"),
        ("model.api_key", "sk-hunter2", "model.provider"),
        ("model.base_url", "http://localhost:1", "model.provider"),
    ] {
        let found = error(load_flag(key, value));
        assert!(found.starts_with(&format!("{missing}: is missing")) && !found.contains("hunter2"), "{found}");
    }
}

#[test]
fn stronger_sources_win() {
    let dir = Dir::with(
        "copydesk.toml",
        "listen = \"127.0.0.1:1\"\nlog_format = \"text\"\n[runner]\nworkers = 1\nattempts = 1\n",
    );
    let config = Config::load(Sources {
        environment: pairs(&[("COPYDESK_LISTEN", "127.0.0.1:2"), ("COPYDESK_RUNNER__WORKERS", "3")]),
        flags: vec![flag("listen", "127.0.0.1:4"), flag("listen", "127.0.0.1:5")],
        ..sources(&dir)
    })
    .unwrap();
    let expected = [
        ("listen", "127.0.0.1:5", "flag --flag"),
        ("runner.workers", "3", "environment COPYDESK_RUNNER__WORKERS"),
        ("runner.attempts", "1", "copydesk.toml line 5"),
        ("log_format", "text", "copydesk.toml line 2"),
        ("log", "info", "default"),
    ];
    for (key, value, origin) in expected {
        let (shown, from) = entry(&config, key);
        assert_eq!((shown.as_str(), from.as_str()), (value, origin), "{key}");
    }
    assert_eq!(config.listen.port(), 5);
    assert_eq!(config.runner.workers, 3);
    assert_eq!(config.origin("listen"), Some(&Origin::Flag("--flag")));
    assert_eq!(config.origin("nothing"), None);
}

#[test]
fn all_errors_of_all_sources_are_reported_in_order() {
    let dir = Dir::with("copydesk.toml", "log = \"loud\"\nlisten = 4400\n[limits]\nnonsense = true\n");
    let found = lines(Config::load(Sources {
        environment: pairs(&[("COPYDESK_LISTEN", "here"), ("COPYDESK_FOO__BAR", "1")]),
        flags: vec![flag("runner.workers", "10001"), flag("log", "info")],
        ..sources(&dir)
    }));
    let starts = [
        "log: \"loud\" is not one of error, warn, info, debug, trace (copydesk.toml line 1)",
        "listen: 4400 is not an address",
        "limits.nonsense: there is no such setting",
        "foo.bar: there is no such setting",
        "listen: \"here\" is not an address",
        "runner.workers: \"10001\" is not a whole number from 0 to 10000 (flag --flag)",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (line, start) in found.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn the_default_model_must_be_listed() {
    let dir = Dir::with("copydesk.toml", "[jobs]\nmodels = [\"a\", \"b\"]\n");
    let found = error(Config::load(Sources { flags: vec![flag("jobs.default_model", "c")], ..sources(&dir) }));
    assert_eq!(
        found,
        "jobs.default_model: \"c\" (flag --flag) is not one of jobs.models, \
         [\"a\", \"b\"] (copydesk.toml line 2)"
    );
    assert!(error(load_flag("jobs.models", "noop")).contains("\"builtin\" (default)"));
    assert!(load_flag("jobs.default_model", "noop").is_ok());
}

#[test]
fn the_models_are_compared_only_if_both_are_known() {
    // Beside an unrelated error they still are.
    let unrelated = pairs(&[("COPYDESK_LISTEN", "x"), ("COPYDESK_JOBS__MODELS", "a")]);
    let hidden = [
        pairs(&[("COPYDESK_JOBS__MODELS", "a,!"), ("COPYDESK_JOBS__DEFAULT_MODEL", "a")]),
        pairs(&[("COPYDESK_JOBS__MODEL", "a"), ("COPYDESK_JOBS__DEFAULT_MODEL", "a")]),
    ];
    let load = |environment| lines(Config::load(Sources { environment, ..sources(&Dir::new()) }));
    assert_eq!(load(unrelated).len(), 2);
    for environment in hidden {
        assert_eq!(load(environment).len(), 1);
    }
    let dir = Dir::with("copydesk.toml", "jobs = 5");
    let found = error(Config::load(Sources { flags: vec![flag("jobs.default_model", "a")], ..sources(&dir) }));
    assert!(found.starts_with("jobs: 5 is not a section"), "{found}");
}

#[test]
fn an_unknown_flag_key_is_an_error() {
    let found = error(load_flag("limits.jobs_per_hours", "5"));
    assert_eq!(
        found,
        "limits.jobs_per_hours: there is no such setting (value \"5\", flag --flag); \
         did you mean limits.jobs_per_hour?"
    );
}

#[test]
fn half_a_way_to_sign_in_is_an_error() {
    let header = ("COPYDESK_SIGN_IN__PROXY_HEADER", "Remote-Email");
    assert_eq!(
        error(load_env(&[header])),
        "sign_in.proxies: is missing, and sign_in.proxy_header (environment COPYDESK_SIGN_IN__PROXY_HEADER) says that a \
         proxy signs people in; without it anyone could sign in as anyone"
    );
    let issuer = ("COPYDESK_SIGN_IN__OIDC_ISSUER", "https://id.example.com/");
    let client = ("COPYDESK_SIGN_IN__OIDC_CLIENT_ID", "copydesk");
    for (variables, missing) in [
        (&[("COPYDESK_SIGN_IN__PROXIES", "10.0.0.7")][..], "sign_in.proxy_header"),
        (&[issuer], "sign_in.oidc_client_id"),
        (&[client], "sign_in.oidc_issuer"),
        (&[("COPYDESK_SIGN_IN__OIDC_ONLY", "true")], "sign_in.oidc_issuer"),
        (&[("COPYDESK_SIGN_IN__OIDC_CLIENT_SECRET", "hunter2")], "sign_in.oidc_issuer"),
    ] {
        let found = error(load_env(variables));
        assert!(found.starts_with(&format!("{missing}: is missing, and sign_in.")), "{found}");
        assert!(!found.contains("hunter2"), "{found}");
    }
    // A list that was refused is not missed as well.
    let wrong = ("COPYDESK_SIGN_IN__PROXIES", "everybody");
    assert!(error(load_env(&[header, wrong])).contains("\"everybody\" is not addresses or ranges"));
    let file = "[sign_in]\nproxy_header = \"Remote-Email\"\nproxies = [\"10.0.0.7\", \"fd00::/8\"]\n";
    assert_eq!(load_file(file).unwrap().sign_in.proxies.as_deref(), Some("10.0.0.7,fd00::/8"));
    let both = load_env(&[issuer, client, ("COPYDESK_SIGN_IN__OIDC_ONLY", "true")]).unwrap();
    assert_eq!(both.sign_in.oidc_issuer.as_deref(), Some("https://id.example.com"));
}
