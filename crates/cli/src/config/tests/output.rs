//! The printed configuration and the sample file.

use super::*;

#[test]
fn the_table_is_aligned() {
    let text = load_flag("listen", "[::1]:65000").unwrap().to_text();
    let rows: Vec<_> = text.lines().collect();
    assert_eq!(rows.len(), SETTINGS.len());
    let value = rows[0].find("copydesk-data").unwrap();
    let origin = rows[0].find("default").unwrap();
    assert_eq!(value, "limits.analytics_per_minute".len() + 2);
    assert_eq!(rows[1].find("[::1]:65000"), Some(value));
    assert_eq!(rows[1].find("flag --flag"), Some(origin));
    for row in rows {
        let (gap, start) = (&row[value - 1..value], &row[value..=value]);
        assert_eq!((gap, start == " "), (" ", false), "{row}");
        let (gap, start) = (&row[origin - 1..origin], &row[origin..=origin]);
        assert_eq!((gap, start == " "), (" ", false), "{row}");
    }
}

#[test]
fn values_are_shown_as_they_are_written() {
    let config = load_env(&[]).unwrap();
    let shown = |key| entry(&config, key).0;
    assert_eq!(shown("limits.queue_time"), "24h");
    assert_eq!(shown("limits.job_time"), "30m");
    assert_eq!(shown("jobs.models"), "builtin,noop");
    assert_eq!(shown("public_url"), "http://127.0.0.1:4400");
    assert_eq!(shown("database_url"), "sqlite:copydesk-data/copydesk.db");
    assert_eq!(shown("log"), "info");
}

#[test]
fn shown_values_can_be_given_back() {
    let config = load_env(&[]).unwrap();
    for entry in config.entries() {
        let again = load_flag(entry.key, &entry.shown_value).unwrap();
        assert_eq!(super::entry(&again, entry.key).0, entry.shown_value);
    }
}

#[test]
fn the_sample_without_its_comments_gives_the_defaults() {
    let bare: String = sample().lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert!(bare.contains("[limits]"));
    let defaults = load_env(&[]).unwrap();
    assert_same(&load_file(&bare).unwrap(), &defaults);
    assert_same(&load_file(&sample()).unwrap(), &defaults);
}

#[test]
fn the_sample_with_its_settings_switched_on_gives_the_defaults() {
    let text: String = sample()
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if setting.starts_with(|c: char| c.is_ascii_lowercase()) => setting,
            _ => line,
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let config = load_file(&text).unwrap();
    let defaults = load_env(&[]).unwrap();
    for (entry, default) in config.entries().iter().zip(defaults.entries()) {
        assert_eq!(entry.shown_value, default.shown_value, "{}", entry.key);
        assert!(matches!(entry.origin, Origin::File { .. }), "{}", entry.key);
    }
    assert_same(&config.limits, &defaults.limits);
    assert_same(&config.jobs, &defaults.jobs);
}

#[test]
fn the_sample_describes_every_setting() {
    let sample = sample();
    for setting in SETTINGS.iter() {
        assert!(sample.contains(&format!("\n# {}: ", setting.description)));
        assert!(!setting.description.is_empty() && !setting.description.contains('\n'));
    }
    assert!(sample.contains("\n#jobs_per_hour = 100\n"));
    assert!(sample.contains("\n#queue_time = \"24h\"\n"));
    assert!(sample.contains("\n#models = [\"builtin\", \"noop\"]\n"));
}

#[test]
fn sections_stand_together_after_the_top_level() {
    let mut sections: Vec<_> = SETTINGS.iter().map(|one| one.section()).collect();
    sections.dedup();
    assert_eq!(
        sections,
        [
            "",
            "limits",
            "runner",
            "jobs",
            "model",
            "retention",
            "views",
            "webhooks",
            "git",
            "credentials",
            "otlp",
            "sign_in"
        ]
    );
}
