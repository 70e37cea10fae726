//! Variables: names, those to ignore, and what is not UTF-8.

use std::ffi::OsStr;

use super::super::environment::{is_ignored, variable};
use super::*;

#[test]
fn other_variables_are_ignored() {
    let config = load_env(&[
        ("PATH", "/bin"),
        ("COPYDESK", "x"),
        ("copydesk_listen", "x"),
        ("MY_COPYDESK_LISTEN", "x"),
        ("COPYDESK_URL", "x"),
        ("COPYDESK_API_KEY", "x"),
        ("COPYDESK_PROJECT", "acme-docs"),
        ("COPYDESK_TEST_POSTGRES", "x"),
        ("COPYDESK_TEST_", "x"),
    ])
    .unwrap();
    assert_same(&config, &load_env(&[]).unwrap());
}

#[test]
fn of_a_repeated_variable_the_later_counts() {
    let twice = [("COPYDESK_LISTEN", "127.0.0.1:1"), ("COPYDESK_LISTEN", "127.0.0.1:2")];
    assert_eq!(load_env(&twice).unwrap().listen.port(), 2);
    let dir = Dir::with("b.toml", "data_dir = 'b'");
    let config = Config::load(Sources {
        environment: pairs(&[("COPYDESK_CONFIG", "a.toml"), ("COPYDESK_CONFIG", "b.toml")]),
        ..sources(&dir)
    });
    assert_eq!(config.unwrap().data_dir, PathBuf::from("b"));
}

#[test]
fn no_setting_shares_its_variable_with_something_else() {
    assert!(SETTINGS.iter().all(|setting| !is_ignored(OsStr::new(&variable(setting.key)))));
}

#[test]
fn unknown_variables_are_named_with_what_was_meant() {
    let cases = [
        ("COPYDESK_LISTN", "listn", "value \"1\"", "; did you mean COPYDESK_LISTEN?"),
        ("COPYDESK_Listen", "listen", "value \"1\"", "; did you mean COPYDESK_LISTEN?"),
        (
            "COPYDESK_LIMITS_JOBS_PER_HOUR",
            "limits_jobs_per_hour",
            "value \"1\"",
            "; did you mean COPYDESK_LIMITS__JOBS_PER_HOUR?",
        ),
        ("COPYDESK_WORKERS", "workers", "value \"1\"", "; did you mean COPYDESK_RUNNER__WORKERS?"),
        ("COPYDESK_API_KYE", "api_kye", "value not shown", "; did you mean COPYDESK_API_KEY?"),
        ("COPYDESK_DATABSE_URL", "databse_url", "value not shown", "; did you mean COPYDESK_DATABASE_URL?"),
        ("COPYDESK_LOGS", "logs", "value \"1\"", "; did you mean COPYDESK_LOG?"),
        ("COPYDESK_TOKEN", "token", "value not shown", ""),
        ("COPYDESK_TESTS", "tests", "value not shown", ""),
        ("COPYDESK_A.B", "\"a.b\"", "value not shown", ""),
        ("COPYDESK_", "\"\"", "value not shown", ""),
    ];
    for (name, key, value, suggestion) in cases {
        let expected = format!("{key}: there is no such setting ({value}, environment {name}){suggestion}");
        assert_eq!(error(load_env(&[(name, "1")])), expected);
    }
    let two = load_env(&[("COPYDESK_A\nB", "1"), ("COPYDESK_A\nC", "1")]);
    assert_eq!(lines(two).len(), 2);
}

#[test]
fn what_kubernetes_says_of_a_service_of_our_name_is_let_through_and_nothing_like_it() {
    let theirs = [
        ("COPYDESK_SERVICE_HOST", "10.0.0.1"),
        ("COPYDESK_SERVICE_PORT", "80"),
        ("COPYDESK_SERVICE_PORT_HTTP", "80"),
        ("COPYDESK_SERVICE_PORT_HTTP_ADMIN", "4401"),
        ("COPYDESK_PORT", "tcp://10.0.0.1:80"),
        ("COPYDESK_PORT_80_TCP", "tcp://10.0.0.1:80"),
        ("COPYDESK_PORT_80_TCP_ADDR", "fd00::1"),
        ("COPYDESK_PORT_80_TCP_PORT", "80"),
        ("COPYDESK_PORT_80_TCP_PROTO", "tcp"),
        ("COPYDESK_PORT_53_UDP", "udp://[fd00::1]:53"),
    ];
    assert_same(&load_env(&theirs).unwrap(), &load_env(&[]).unwrap());
    let mistakes = [
        ("COPYDESK_PORT", "8080"),
        ("COPYDESK_PORT", "http://10.0.0.1:80"),
        ("COPYDESK_PORTS", "tcp://10.0.0.1:80"),
        ("COPYDESK_PORT_80", "tcp://10.0.0.1:80"),
        ("COPYDESK_PORT_80_TPC", "tcp://10.0.0.1:80"),
        ("COPYDESK_PORT_80_TCP_PORT", "81"),
        ("COPYDESK_PORT_80_TCP_PORT_X", "80"),
        ("COPYDESK_PORT_0_TCP", "tcp://10.0.0.1:0"),
        ("COPYDESK_SERVICE_HOST", "example.com"),
        ("COPYDESK_SERVICE_PORT", "http"),
        ("COPYDESK_SERVICE_PORT_", "80"),
        ("COPYDESK_SERVICE_NAME", "copydesk"),
        ("COPYDESK_OTHER_SERVICE_HOST", "10.0.0.1"),
    ];
    for (name, value) in mistakes {
        let found = error(load_env(&[(name, value)]));
        assert!(found.contains("there is no such setting"), "{name}={value}: {found}");
    }
}

#[test]
fn a_port_alone_is_told_what_takes_one() {
    let found = error(load_env(&[("COPYDESK_PORT", "8080")]));
    assert!(found.contains("COPYDESK_LISTEN"), "{found}");
}

#[cfg(unix)]
mod not_unicode {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    fn load(name: &[u8], value: &[u8]) -> Result<Config, ConfigErrors> {
        let own = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Config::load(Sources { environment: vec![(own(name), own(value))], ..sources(&Dir::with("\u{e9}.toml", "")) })
    }

    #[test]
    fn is_an_error_that_names_the_variable() {
        assert_eq!(
            error(load(b"COPYDESK_DATA_DIR", b"hidden\xff")),
            "the environment variable COPYDESK_DATA_DIR is not valid UTF-8"
        );
        assert_eq!(
            error(load(b"COPYDESK_\xff", b"hidden")),
            "the environment variable COPYDESK_\u{fffd} is not valid UTF-8"
        );
    }

    #[test]
    fn in_the_models_leaves_the_default_model_unjudged() {
        let value = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let found = error(Config::load(Sources {
            environment: vec![("COPYDESK_JOBS__MODELS".into(), value(b"a,\xff"))],
            flags: vec![flag("jobs.default_model", "a")],
            ..sources(&Dir::new())
        }));
        assert!(found.contains("COPYDESK_JOBS__MODELS"), "{found}");
    }

    #[test]
    fn is_no_error_in_variables_that_are_no_settings() {
        assert!(load(b"OTHER_\xff", b"\xff").is_ok());
        assert!(load(b"COPYDESK_API_KEY", b"\xff").is_ok());
        assert!(load(b"COPYDESK_TEST_\xff", b"\xff").is_ok());
        assert!(load(b"COPYDESK_CONFIG", "\u{e9}.toml".as_bytes()).is_ok());
        let missing = error(load(b"COPYDESK_CONFIG", b"\xff.toml"));
        assert!(missing.contains("does not exist"), "{missing}");
    }
}
