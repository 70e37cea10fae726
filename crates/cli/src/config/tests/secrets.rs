//! What must never be shown.

use super::super::database::mask_url;
use super::super::given::Given;
use super::super::kind::{Secrecy, api_key, parse_model, text};
use super::*;

/// Addresses with the password `hunter2` or its parts `hun` and `ter2`.
const ACCEPTED: &[(&str, &str)] = &[
    ("postgres://u:hunter2@h/db", "postgres://u:****@h/db"),
    ("postgresql://u:hunter2@h:1/db?sslmode=require", "postgresql://u:****@h:1/db?sslmode=require"),
    ("postgres://:hunter2@h/db", "postgres://:****@h/db"),
    ("postgres://u:hun@ter2@h/db", "postgres://u:****@h/db"),
    ("postgres://u:hun%2Fter2@h/db", "postgres://u:****@h/db"),
    ("postgres://h/db?user=u&password=hunter2", "postgres://h/db?user=u&password=****"),
    ("postgres://h/db?PassWord=hun&ter2", "postgres://h/db?PassWord=****&****"),
    ("postgres://h/db?p%61ssword=hunter2&a=b", "postgres://h/db?p%61ssword=****&a=b"),
    ("postgres://h/db?sslpassword=hunter2", "postgres://h/db?sslpassword=****"),
    ("postgres://u@h/db", "postgres://u@h/db"),
];

/// Addresses that are refused, with what the error shows of them.
const REFUSED: &[(&str, Option<&str>)] = &[
    ("mysql://u:hunter2@h/db", Some("\"mysql://u:****@h/db\"")),
    ("sqlite://u:hunter2@h/db", Some("\"sqlite://u:****@h/db\"")),
    ("sqlite://x?key=hunter2", Some("\"sqlite://x?key=****\"")),
    ("sqlite:u:hunter2@h", None),
    ("u:hunter2@h/db", None),
    ("admin:hunter2", None),
    ("hunter2", None),
    ("postgres://u:hun/ter2@h/db", None),
    ("postgres://u:1/hunter2@h/db", None),
    ("postgres://u:1?hunter2@h/db", None),
    ("postgres://u:1#hunter2@h/db", None),
    ("postgres://h/db?password=hun#ter2", None),
    ("postgres://u:hunter2@h:port/db", None),
    ("postgres://u:hunter2@/db", None),
    ("postgres://u:hun\tter2@h/db", None),
    (" postgres://u:hunter2@h/db", None),
];

fn assert_hidden(text: &str) {
    for part in ["hun", "ter2"] {
        assert!(!text.contains(part), "{text}");
    }
}

#[test]
fn only_the_password_of_the_database_is_masked() {
    for (written, shown) in ACCEPTED {
        let config = load_flag("database_url", written).unwrap();
        assert_eq!(entry(&config, "database_url").0, *shown);
        assert_eq!(config.database(), DatabaseUrl::Postgres((*written).to_owned()));
        for text in [
            config.to_text(),
            format!("{config:?}"),
            format!("{:?}", config.database()),
            format!("{:?}", config.entries()),
        ] {
            assert_hidden(&text);
            assert!(text.contains(shown), "{text}");
        }
    }
}

#[test]
fn refused_addresses_are_masked_or_not_shown() {
    for (written, shown) in REFUSED {
        let result = load_env(&[("COPYDESK_DATABASE_URL", written)]);
        assert_hidden(&format!("{result:?}"));
        let shown = shown.unwrap_or("the value (not shown)");
        let found = error(result);
        let start = format!("database_url: {shown} is not a postgres://");
        assert!(found.starts_with(&start), "{found}");
        assert!(found.ends_with("(environment COPYDESK_DATABASE_URL)"), "{found}");
        let file = load_file(&format!("database_url = {written:?}"));
        assert_hidden(&format!("{file:?}"));
        assert!(error(file).starts_with(&start));
    }
}

#[test]
fn wrong_types_of_a_secret_are_not_shown() {
    for value in ["12345", "['hunter2']", "{ password = 'hunter2' }", "1.5"] {
        assert_eq!(
            error(load_file(&format!("database_url = {value}"))),
            "database_url: the value (not shown) is not a postgres://, postgresql:// \
             or sqlite: address (copydesk.toml line 1)"
        );
    }
}

#[test]
fn a_syntax_error_shows_nothing_of_its_line() {
    for content in ["database_url = postgres://u:hunter2@h/db", "database_url = \"hunter2"] {
        let result = load_file(content);
        assert_hidden(&format!("{result:?}"));
        assert!(error(result).starts_with("copydesk.toml line 1: "));
    }
}

#[test]
fn values_of_unknown_keys_may_be_secrets() {
    for name in ["COPYDESK_DATABASE_URI", "COPYDESK_DB_PASSWORD", "COPYDESK_API_KEYS"] {
        let result = load_env(&[(name, "hunter2")]);
        assert_hidden(&format!("{result:?}"));
        assert!(error(result).contains("value not shown"));
    }
    // Close to an open setting, but the value may hold a password.
    for value in ["https://u:hunter2@h", "u:hunter2@h"] {
        let result = load_file(&format!("public_ur = '{value}'"));
        assert_hidden(&format!("{result:?}"));
        assert!(error(result).contains("did you mean public_url?"));
    }
}

#[test]
fn a_public_url_with_a_password_is_masked() {
    let found = error(load_flag("public_url", "https://u:hunter2@h/"));
    assert_eq!(
        found,
        "public_url: \"https://****@h/\" is not an http or https URL without query and \
         fragment: leave out the user and password (flag --flag)"
    );
    assert_hidden(&error(load_flag("public_url", "u:hunter2@h")));
    let harmless = error(load_flag("public_url", "docs.example"));
    assert!(harmless.contains("\"docs.example\""), "{harmless}");
}

#[test]
fn a_database_address_in_the_wrong_setting_is_masked() {
    let found = error(load_flag("listen", "postgres://u:hunter2@h/db"));
    assert!(found.starts_with("listen: \"postgres://****@h/db\" is not"), "{found}");
    assert_hidden(&error(load_flag("log", "postgres://u:hun/ter2@h/db")));
    assert_hidden(&error(load_file("log = ['postgres://u:hunter2@h/db']")));
}

#[test]
fn any_kind_marked_secret_is_hidden() {
    let open = text("a model", Secrecy::Open, parse_model, String::clone);
    assert_eq!((open.show)(&"hunter2".to_owned()), "hunter2");
    let secret = text("a model", Secrecy::Secret, parse_model, String::clone);
    assert_eq!((secret.show)(&"hunter2".to_owned()), "****");
    let refused = (secret.read)(Given::Plain("hunter2 !"));
    assert_eq!(refused.unwrap_err()[0].shown, "the value (not shown)");
}

#[test]
fn an_api_key_is_not_shown() {
    let kind = api_key();
    let key = (kind.read)(Given::Plain("hunter2")).unwrap();
    assert_hidden(&format!("{key:?} {}", (kind.show)(&key)));
    for text in ["", "a b", "a\n", "a\0"] {
        assert!((kind.read)(Given::Plain(text)).is_err(), "{text:?}");
    }
}

#[test]
fn a_flag_value_is_not_printed() {
    assert_hidden(&format!("{:?}", flag("database_url", "hunter2")));
}

#[test]
fn an_unparsable_url_has_no_masked_form() {
    assert_eq!(mask_url("no url hunter2"), None);
    assert_eq!(DatabaseUrl::Postgres("no url hunter2".into()).masked(), "****");
}
