//! The types of settings and their bounds.

use super::super::environment::variable;
use super::super::kind::dollars;
use super::*;

/// Every bound, from the other side of which a value must be refused.
const BOUNDS: &[(&str, &[&str], &[&str])] = &[
    ("data_dir", &["/var/lib/x", "."], &["", "a\0b"]),
    (
        "listen",
        &["0.0.0.0:80", "[::1]:65535", "localhost:4400"],
        &["", "4400", ":4400", "localhost", "localhost:", "localhost:+1", "127.0.0.1:65536", "example.com:80"],
    ),
    ("admin_listen", &["none", "", "127.0.0.1:4401", "[::1]:1"], &["4401", ":4401", "example.com:80"]),
    (
        "public_url",
        &["http://a", "https://a.example:8443/docs"],
        &[
            "",
            "a.example",
            "ftp://a",
            "http:a",
            "http://",
            "https://a/?q=1",
            "https://a/?",
            "https://a/#f",
            "https://a b/",
            " https://a",
            "https://a ",
            "https://a/\n",
        ],
    ),
    (
        "database_url",
        &[
            "postgres://h/db",
            "postgresql://u:p@h:5432/db",
            "sqlite:x.db",
            "sqlite:///srv/x.db",
            "postgres:///db?host=/run/pg",
        ],
        &[
            "",
            "x.db",
            "mysql://h/db",
            "postgres:h/db",
            "sqlite:",
            "sqlite://",
            "sqlite::memory:",
            "sqlite:x?mode=ro",
            "postgres://h:port/db",
        ],
    ),
    ("database_connections", &["2", "500", "none", ""], &["1", "0", "501", "-1", "+5", "1.0", "1_0", " 1"]),
    ("database_listen_url", &["none", "", "postgres://h/db"], &["sqlite:x.db", "mysql://h/db", "postgres://h:port/db"]),
    ("secret_file", &["none", "", "/etc/copydesk/secret.key"], &["a\0b"]),
    ("log", &["error", "warn", "info", "debug", "trace"], &["INFO", "off", ""]),
    ("log_format", &["auto", "json", "text"], &["xml", ""]),
    ("access_log", &["false", "true"], &["", "no", "off"]),
    ("limits.jobs_per_hour", &["0", "1000000"], &["1000001", "many", "99999999999"]),
    ("limits.analytics_per_minute", &["0", "1000000"], &["1000001"]),
    ("limits.events_per_minute", &["0", "100000000"], &["100000001"]),
    ("limits.running_per_project", &["0", "1000"], &["1001"]),
    ("limits.job_turns", &["1", "10000"], &["0", "10001"]),
    ("limits.job_tokens", &["1000", "1000000000"], &["999", "1000000001"]),
    ("limits.job_cost", &["none", "", "0", "2.5", "1000000"], &["-1", "1000001", "2,5", "much"]),
    ("limits.changed_files", &["1", "100000"], &["0", "100001"]),
    ("limits.changed_lines", &["1", "10000000"], &["0", "10000001"]),
    ("limits.job_time", &["1s", "7d", "1h30m"], &["0s", "999ms", "7d1ms", "30", "0"]),
    ("limits.host_wait", &["0s", "30d", "4h"], &["30d1s", "4"]),
    ("limits.queue_time", &["1m", "30d"], &["59s", "30d1s"]),
    ("limits.request_time", &["1s", "10m"], &["999ms", "601s"]),
    ("limits.head_time", &["1s", "10m"], &["999ms", "601s"]),
    ("limits.connections", &["1", "100000"], &["0", "100001"]),
    ("limits.connections_per_peer", &["0", "100000"], &["100001"]),
    ("limits.body_memory", &["128", "1000000"], &["127", "1000001", "256MB"]),
    ("limits.body_rate", &["1", "1000000000"], &["0", "1000000001"]),
    ("limits.public_metrics", &["true", "false"], &["", "yes", "1"]),
    ("limits.shutdown_time", &["0s", "10m"], &["10m1ms"]),
    ("runner.workers", &["0", "10000"], &["10001"]),
    ("runner.lease", &["500ms", "10m"], &["499ms", "10m1s"]),
    ("runner.attempts", &["1", "100"], &["0", "101"]),
    ("jobs.default_model", &["noop"], &["", "a b", "é"]),
    ("jobs.models", &["builtin", "builtin,a.b_c:d/e-F9", "noop, builtin"], &["", "builtin,", "builtin,a b"]),
    // One of these alone is half a model, which is an error of its own.
    ("model.provider", &["none", ""], &["Anthropic", "mistral"]),
    ("model.name", &["none", ""], &["a b", "é"]),
    ("model.base_url", &["none", ""], &["localhost:8000", "ftp://h", "http://u:p@h", "http://h?q"]),
    ("model.api_key", &["none", ""], &["a b", "a\n"]),
    ("model.project_keys", &["none", "", "keys"], &["a\0b"]),
    ("model.context_tokens", &["2000", "10000000"], &["1999", "10000001"]),
    ("model.output_tokens", &["100", "1000000"], &["99", "1000001"]),
    ("model.input_price", &["none", "", "0.25", "15"], &["-1", "1e3"]),
    ("model.cached_input_price", &["none", "", "0.1"], &["-1"]),
    ("model.output_price", &["none", "", "0.000001"], &["0.0000001"]),
    ("model.silence", &["1s", "1h"], &["999ms", "61m"]),
    ("retention.jobs", &["0", "36500"], &["36501", "-1", "90d"]),
    ("retention.events", &["0", "36500"], &["36501", "-1", "90d"]),
    ("views.store", &["embedded", "database", "clickhouse"], &["postgres", "Database", ""]),
    (
        "views.clickhouse_url",
        &["http://localhost:8123", "https://docs:s%40cret@ch.example.com/docs", "http://a:8123/x, http://b:8123/x"],
        &["clickhouse://h:9000", "localhost:8123", "http://h/?database=x", "http://a/x,http://b/y", "http://u:p@ss/@h"],
    ),
    ("views.clickhouse_cluster", &["docs"], &["a<b", "a\nb"]),
    ("views.keep_days", &["0", "36500"], &["36501", "-1", "400d"]),
    ("views.duplicate_window", &["0s", "10m"], &["10m1s", "1"]),
    ("views.memory", &["16", "1000000"], &["15", "1000001", "256MB"]),
    ("views.question_memory", &["16", "1000000"], &["15", "1000001"]),
    ("views.pages_per_day", &["0", "10000000"], &["10000001"]),
    ("views.readers_per_day", &["0", "10000000"], &["10000001"]),
    ("views.lists", &["none", "", "lists"], &["a\0b"]),
    ("views.proxies", &["private", "none", "10.0.0.0/8, 192.0.2.7"], &["", "a\nb"]),
    (
        "webhooks.allow_private",
        &["false", "true", "127.0.0.1", "10.0.0.0/8, fd00::/8"],
        &["", "yes", "10.0.0.0/33", "10.0.0.0/8;::1", "localhost"],
    ),
    ("git.name", &["Docs Bot", "Ünïcode"], &["", " ", "a<b", "a\nb"]),
    ("git.email", &["bot@example.com"], &["", "<bot@example.com>"]),
    ("git.time", &["1s", "6h"], &["0s", "6h1s"]),
    ("credentials.key_file", &["none", "", "/etc/copydesk/credentials.key"], &["a\0b"]),
    ("otlp.traces", &["true", "false"], &["", "on"]),
    ("otlp.endpoint", &["none", "", "http://a:4318"], &["a:4318", "ftp://a"]),
    // One of these alone is half a way to sign in, which is an error of its own.
    ("sign_in.proxy_header", &["none", ""], &["Remote Email", "Remote-Email:", "é"]),
    ("sign_in.proxies", &["none", ""], &["private", "10.0.0.0/33", "10.0.0.7;10.0.0.8", "0.0.0.0/0", "::/0"]),
    ("sign_in.new_users", &["refuse", "without-projects"], &["", "viewer", "true"]),
    ("sign_in.oidc_issuer", &["none", ""], &["id.example.com", "ftp://h", "https://u:p@h", "https://h?q"]),
    ("sign_in.oidc_client_id", &["none", ""], &["a\nb", "<id>"]),
    ("sign_in.oidc_client_secret", &["none", ""], &["a b", "a\n"]),
    ("sign_in.oidc_only", &["false"], &["", "yes"]),
];

#[test]
fn bounds_are_kept_in_flags_and_variables() {
    let tested: Vec<_> = BOUNDS.iter().map(|(key, ..)| *key).collect();
    let known: Vec<_> = SETTINGS.iter().map(|setting| setting.key).collect();
    assert_eq!(tested, known);
    for (key, good, bad) in BOUNDS {
        for value in *good {
            let config = load_flag(key, value).unwrap_or_else(|e| panic!("{key} {value}: {e}"));
            assert_eq!(entry(&config, key).1, "flag --flag");
        }
        for value in *bad {
            let found = error(load_flag(key, value));
            assert!(found.starts_with(&format!("{key}: ")), "{found}");
            assert!(found.ends_with("(flag --flag)"), "{found}");
        }
        let setting = SETTINGS.iter().find(|setting| setting.key == *key).unwrap();
        let variable = variable(setting.key);
        let config = load_env(&[(&variable, good[0])]).unwrap();
        assert_eq!(entry(&config, key).1, format!("environment {variable}"));
        let found = error(load_env(&[(&variable, bad[0])]));
        assert!(found.ends_with(&format!("(environment {variable})")), "{found}");
    }
}

#[test]
fn an_error_is_one_sentence_with_key_value_and_origin() {
    assert_eq!(
        error(load_env(&[("COPYDESK_LIMITS__JOBS_PER_HOUR", "many")])),
        "limits.jobs_per_hour: \"many\" is not a whole number from 0 to 1000000 \
         (environment COPYDESK_LIMITS__JOBS_PER_HOUR)"
    );
    assert_eq!(
        error(load_env(&[("COPYDESK_LOG_FORMAT", "a\nb")])),
        "log_format: \"a\\nb\" is not one of auto, json, text (environment COPYDESK_LOG_FORMAT)"
    );
    let long = error(load_flag("log", &"x".repeat(10_000)));
    assert!(long.len() < 250 && long.contains("xxx…\""), "{long}");
}

#[test]
fn localhost_is_the_loopback_address() {
    let config = load_flag("listen", "localhost:81").unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:81");
    assert_eq!(config.public_url(), "http://127.0.0.1:81");
}

#[test]
fn public_url_loses_its_trailing_slash() {
    let url = |text| load_flag("public_url", text).unwrap().public_url();
    assert_eq!(url("https://docs.example/"), "https://docs.example");
    assert_eq!(url("https://docs.example/a/"), "https://docs.example/a");
    assert_eq!(url("https://docs.example/a"), "https://docs.example/a");
}

#[test]
fn database_addresses_are_told_apart() {
    let database = |text| load_flag("database_url", text).unwrap().database();
    let sqlite = |path: &str| DatabaseUrl::Sqlite(PathBuf::from(path));
    assert_eq!(database("sqlite:a/b.db"), sqlite("a/b.db"));
    assert_eq!(database("sqlite://a/b.db"), sqlite("a/b.db"));
    assert_eq!(database("sqlite:///a/b.db"), sqlite("/a/b.db"));
    for url in ["postgres://u:p@h/db", "postgresql://h/db?sslmode=require"] {
        assert_eq!(database(url), DatabaseUrl::Postgres(url.to_owned()));
    }
    let moved = load_flag("data_dir", "/srv").unwrap().database();
    assert_eq!(moved, sqlite("/srv/copydesk.db"));
}

#[test]
fn a_duration_without_unit_asks_for_one() {
    let expected = "is not a duration from 1s to 7d: add its unit: 90d for days, 90h for hours, 90m for minutes or 90s for \
                    seconds";
    let found = error(load_flag("limits.job_time", "90"));
    assert_eq!(found, format!("limits.job_time: \"90\" {expected} (flag --flag)"));
    let found = error(load_file("[limits]\njob_time = 90\n"));
    assert_eq!(found, format!("limits.job_time: 90 {expected} (copydesk.toml line 2)"));
    let found = error(load_flag("limits.job_time", "8d"));
    assert!(found.contains("from 1s to 7d (flag"), "{found}");
}

#[test]
fn model_names_have_a_greatest_length() {
    let name = "m".repeat(100);
    assert!(load_flag("jobs.models", &format!("builtin,{name}")).is_ok());
    let found = error(load_flag("jobs.models", &format!("builtin,{name}m")));
    assert!(found.contains("is not a model name of 1 to 100"), "{found}");
}

#[test]
fn every_bad_model_is_named() {
    let found = lines(load_flag("jobs.models", "a b,builtin,c d"));
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with("jobs.models: \"a b\" is not a model name"));
    assert!(found[1].starts_with("jobs.models: \"c d\" is not a model name"));
    let spaced = load_flag("jobs.models", "noop , builtin").unwrap();
    assert_eq!(spaced.jobs.models, ["noop", "builtin"]);
}

#[test]
fn amounts_read_back() {
    let dollars = dollars();
    for text in ["0", "3", "0.25", "15.000001", "1000000"] {
        assert_eq!((dollars.show)(&(dollars.read)(Given::Plain(text)).unwrap()), text);
    }
    for text in ["", ".", "1.", ".5", "-1", "1e3", "0.1234567", "1000000.1", "99999999", "1,5"] {
        assert!((dollars.read)(Given::Plain(text)).is_err(), "{text:?}");
    }
}
