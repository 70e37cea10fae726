//! `copydesk.toml`: where it is, its types, lines and mistakes.

use super::*;

#[test]
fn every_type_is_read_from_the_file() {
    let config = load_file(
        "\u{feff}data_dir = '/srv/x'\nlimits.job_time = \"1h30m\"\nlimits.connections = 0x10\n\
         limits.jobs_per_hour = 1_000\nlog = 'debug'\n[jobs]\nmodels = [\n  'x',\n  'y',\n]\n\
         default_model = 'y'\n",
    )
    .unwrap();
    assert_eq!(config.data_dir, PathBuf::from("/srv/x"));
    assert_eq!(config.limits.job_time, Duration::from_secs(5400));
    assert_eq!(config.limits.connections, 16);
    assert_eq!(config.limits.jobs_per_hour, 1000);
    assert_eq!(config.log, LogLevel::Debug);
    assert_eq!(config.jobs.models, ["x", "y"]);
    assert_eq!(entry(&config, "data_dir").1, "copydesk.toml line 1");
    assert_eq!(entry(&config, "jobs.models").1, "copydesk.toml line 7");
    assert_eq!(entry(&config, "jobs.default_model").1, "copydesk.toml line 11");
}

#[test]
fn types_that_do_not_fit_are_bad_values() {
    let cases = [
        ("limits.jobs_per_hour = \"5\"", "\"5\" is not a whole number"),
        ("limits.jobs_per_hour = 5.5", "5.5 is not a whole number"),
        ("limits.jobs_per_hour = -5", "-5 is not a whole number"),
        ("limits.jobs_per_hour = 99999999999999999999", "99999999999999999999 is not a whole"),
        ("limits.jobs_per_hour = true", "true is not a whole number"),
        ("limits.job_time = 5.5", "5.5 is not a duration from 1s to 7d (copydesk"),
        ("listen = 4400", "4400 is not an address"),
        ("log = 1979-05-27", "1979-05-27 is not one of"),
        ("data_dir = ['a', 1]", "[\"a\", 1] is not a path"),
        ("jobs.models = \"a,b\"", "\"a,b\" is not a list of model names"),
        ("jobs.models = []", "[] is not a list of model names"),
        ("jobs.models = [5]", "5 is not a model name"),
        ("[listen]\nport = 5", "a table is not an address"),
        ("limits = 5", "5 is not a section; write [limits]"),
        ("[[jobs]]\nmodels = []", "[a table] is not a section; write [jobs]"),
    ];
    for (content, expected) in cases {
        let found = error(load_file(&format!("\n\n{content}\n")));
        assert!(found.contains(expected), "{content}: {found}");
        assert!(found.ends_with("(copydesk.toml line 3)"), "{content}: {found}");
    }
}

#[test]
fn an_item_of_a_list_has_its_own_line() {
    let found = lines(load_file("[jobs]\nmodels = [\n 'builtin',\n 'a b',\n 'c d' ]\n"));
    assert!(found[0].ends_with("(copydesk.toml line 4)"), "{found:?}");
    assert!(found[1].ends_with("(copydesk.toml line 5)"), "{found:?}");
}

#[test]
fn unknown_keys_are_named_with_what_was_meant() {
    let cases = [
        ("listn = \"x:1\"", "listn", "value \"x:1\"", "; did you mean listen?"),
        ("limts.job_time = \"5s\"", "limts.job_time", "value \"5s\"", "; did you mean limits.job_time?"),
        ("job_time = '5s'", "job_time", "value \"5s\"", "; did you mean limits.job_time?"),
        ("runner.wrokers = 5", "runner.wrokers", "value 5", "; did you mean runner.workers?"),
        ("limits.colour = 'red'", "limits.colour", "value not shown", ""),
        ("\"limits.job_time\" = 5", "\"limits.job_time\"", "value 5", "; did you mean limits.job_time?"),
        ("limits.analytics_per_day = 5", "limits.analytics_per_day", "value not shown", ""),
        ("[paint]", "paint", "value not shown", ""),
        ("[paint]\ncolour = 5", "paint.colour", "value not shown", ""),
    ];
    for (content, key, value, suggestion) in cases {
        let line = 1 + content.lines().count();
        let expected = format!("{key}: there is no such setting ({value}, copydesk.toml line {line}){suggestion}");
        assert_eq!(error(load_file(&format!("\n{content}\n"))), expected);
    }
    assert!(load_file("[limits]\n[jobs]\n").is_ok());
}

#[test]
fn errors_follow_the_lines_of_the_file() {
    let found = lines(load_file("zzz = 1\nlog = 1\naaa = 1\n"));
    let ends: Vec<_> = found.iter().map(|line| line.contains("line 2")).collect();
    assert_eq!(ends, [false, true, false]);
}

#[test]
fn syntax_errors_name_file_line_and_reason() {
    assert_eq!(error(load_file("log = \"info\"\nlog = \"warn\"\n")), "copydesk.toml line 2: duplicate key");
    let found = lines(load_file("data_dir = \"abc\nlog = \"info\"\n[limits\n"));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("copydesk.toml line 1: invalid basic string"));
    assert!(found[1].starts_with("copydesk.toml line 3: unclosed table"));
    let open_list = lines(load_file("[jobs]\nmodels = ['a'\nlisten = 'b'\n"));
    assert_eq!(open_list.len(), 1, "{open_list:?}");
    // Values beside a mistake are not judged, the other sources are.
    let dir = Dir::with("copydesk.toml", "log = \"loud\"\n]\n[jobs]\nmodels = ['a']\n");
    let found = lines(Config::load(Sources {
        environment: pairs(&[("COPYDESK_LISTEN", "x"), ("COPYDESK_JOBS__DEFAULT_MODEL", "a")]),
        ..sources(&dir)
    }));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].starts_with("listen: \"x\""));
}

#[test]
fn a_file_that_is_not_text_is_a_syntax_error() {
    let dir = Dir::with("copydesk.toml", b"log = 'info'\ndata_dir = '\xff'\n");
    assert_eq!(error(Config::load(sources(&dir))), "copydesk.toml line 2: the file is not valid UTF-8");
}

#[test]
fn an_explicit_file_must_exist() {
    let dir = Dir::new();
    let by_flag = Sources { config_file: Some(PathBuf::from("no.toml")), ..sources(&dir) };
    assert_eq!(error(Config::load(by_flag)), "the configuration file \"no.toml\" does not exist (flag --config)");
    assert_eq!(
        error(load_env(&[("COPYDESK_CONFIG", "no.toml"), ("COPYDESK_URL", "x")])),
        "the configuration file \"no.toml\" does not exist (environment COPYDESK_CONFIG)"
    );
    let empty = error(load_env(&[("COPYDESK_CONFIG", "")]));
    assert!(empty.contains("\"\" has no name"), "{empty}");
    assert!(Config::load(sources(&dir)).is_ok());
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let dir = Dir::new();
    std::fs::create_dir(dir.0.join("copydesk.toml")).unwrap();
    let found = error(Config::load(sources(&dir)));
    assert!(found.starts_with("the configuration file \"copydesk.toml\" cannot be read: "), "{found}");
}

#[test]
fn flag_then_variable_then_default_name_the_file() {
    let dir = Dir::with("copydesk.toml", "data_dir = 'default'");
    std::fs::create_dir(dir.0.join("etc")).unwrap();
    std::fs::write(dir.0.join("etc/v.toml"), "\ndata_dir = 'variable'").unwrap();
    let absolute = dir.0.join("f.toml");
    std::fs::write(&absolute, "data_dir = 'flag'").unwrap();
    let load = |config_file: Option<PathBuf>, variables: &[(&str, &str)]| {
        let config = Config::load(Sources { config_file, environment: pairs(variables), ..sources(&dir) });
        entry(&config.unwrap(), "data_dir")
    };
    let variable = [("COPYDESK_CONFIG", "etc/v.toml")];
    assert_eq!(load(None, &[]), ("default".into(), "copydesk.toml line 1".into()));
    assert_eq!(load(None, &variable), ("variable".into(), "etc/v.toml line 2".into()));
    let shown = format!("{} line 1", absolute.display());
    assert_eq!(load(Some(absolute.clone()), &variable), ("flag".into(), shown));
}

#[test]
fn private_addresses_are_allowed_by_yes_by_text_and_by_list() {
    let allowed =
        |text: &str| load_file(&format!("[webhooks]\nallow_private = {text}\n")).unwrap().webhooks.allow_private;
    assert_eq!((allowed("true"), allowed("false")), ("true".to_owned(), "false".to_owned()));
    assert_eq!(allowed("'10.0.0.0/8'"), "10.0.0.0/8");
    assert_eq!(allowed("['10.0.0.0/8', '::1']"), "10.0.0.0/8,::1");
    for wrong in ["1", "[]", "['x']", "[1]", "{}", "'yes'", "[true]"] {
        let found = lines(load_file(&format!("webhooks.allow_private = {wrong}\n")));
        assert_eq!(found.len(), 1, "{wrong}: {found:?}");
    }
}
