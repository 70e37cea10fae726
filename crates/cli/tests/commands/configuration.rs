use crate::support::Desk;

#[test]
fn config_says_what_is_in_force_and_where_it_came_from() {
    let desk = Desk::new();
    std::fs::write(desk.path().join("copydesk.toml"), "listen = \"127.0.0.1:5001\"\n[limits]\njobs_per_hour = 7\n")
        .unwrap();
    let ran = desk
        .run_with(&["config", "--json", "--data-dir", "elsewhere"], &[("COPYDESK_LIMITS__JOBS_PER_HOUR", "8")])
        .json();
    let find = |key: &str| ran.as_array().unwrap().iter().find(|entry| entry["key"] == key).unwrap().clone();
    assert_eq!(find("listen")["value"], "127.0.0.1:5001");
    assert_eq!(find("listen")["origin"], "copydesk.toml line 1");
    assert_eq!(find("limits.jobs_per_hour")["value"], "8");
    assert_eq!(find("limits.jobs_per_hour")["origin"], "environment COPYDESK_LIMITS__JOBS_PER_HOUR");
    assert_eq!(find("data_dir")["origin"], "flag --data-dir");
    assert_eq!(find("runner.workers")["origin"], "default");
}

#[test]
fn a_password_is_masked() {
    let desk = Desk::new();
    let ran = desk.run_with(&["config"], &[("COPYDESK_DATABASE_URL", "postgres://me:hunter2@db/x")]).ok();
    assert!(!ran.out.contains("hunter2") && ran.out.contains("me:****@db"), "{}", ran.out);
}

#[test]
fn a_mistake_is_a_usage_error_that_names_key_value_and_place() {
    let desk = Desk::new();
    std::fs::write(desk.path().join("copydesk.toml"), "\n[limits]\njobs_per_huor = 7\n").unwrap();
    let ran = desk.run_with(&["serve"], &[("COPYDESK_LISTEN", "nowhere")]);
    assert_eq!(ran.code, 2);
    for part in ["limits.jobs_per_huor", "copydesk.toml line 3", "jobs_per_hour", "\"nowhere\"", "COPYDESK_LISTEN"] {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    assert!(!desk.path().join("copydesk-data").exists(), "nothing is made before the configuration is known");
}

#[test]
fn the_sample_is_a_configuration() {
    let desk = Desk::new();
    let sample = desk.run(&["config", "--sample"]).ok().out;
    std::fs::write(desk.path().join("copydesk.toml"), sample).unwrap();
    desk.run(&["config"]).ok();
}

#[test]
fn a_newer_database_is_refused_with_a_sentence() {
    let desk = Desk::new();
    desk.run(&["migrate"]).ok();
    let database = rusqlite::Connection::open(desk.path().join("copydesk-data/copydesk.db")).unwrap();
    database.execute("INSERT INTO schema_versions (version, name, applied_at) VALUES (999, 'later', 0)", ()).unwrap();
    for command in [&["serve"][..], &["migrate"], &["project", "list"], &["worker"]] {
        let ran = desk.run(command);
        assert_eq!(ran.code, 1);
        assert!(ran.err.contains("newer Copydesk"), "{}", ran.err);
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_look_into_the_data_folder() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.run(&["migrate"]).ok();
    let mode = std::fs::metadata(desk.path().join("copydesk-data")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_database_in_a_folder_that_was_there_before() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("copydesk-data")).unwrap();
    desk.run(&["migrate"]).ok();
    for file in std::fs::read_dir(desk.path().join("copydesk-data")).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", file.path());
        assert_eq!(file.file_name(), "copydesk.db", "a command folds the log in when it ends");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let desk = Desk::new();
    for arguments in [&["config"][..], &["config", "--sample"], &["openapi"]] {
        let mut child = desk.command(arguments).stdout(std::process::Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn an_address_that_is_refused_is_shown_without_its_key() {
    let desk = Desk::new();
    for (given, shown) in [
        ("https://collector.example/v1?api_key=planted", "https://collector.example/v1?…"),
        ("https://collector.example/v1#planted", "https://collector.example/v1#…"),
        ("https://planted@collector.example/v1", "https://****@collector.example/v1"),
        ("https://user:planted@collector.example/v1?x=planted", "https://****@collector.example/v1?…"),
        ("ftp://collector.example?planted", "ftp://collector.example?…"),
    ] {
        let refused = desk.run_with(&["config"], &[("COPYDESK_OTLP__ENDPOINT", given)]);
        assert_eq!(refused.code, 2, "{given}: {}", refused.err);
        assert!(refused.err.contains(shown) && !refused.err.contains("planted"), "{given}: {}", refused.err);
    }
}
