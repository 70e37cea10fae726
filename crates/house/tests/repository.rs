//! This repository as it stands.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop at once")]

use std::path::{Path, PathBuf};

use copydesk_house::{broken_floors, circles};

/// Crates whose modules are known to form circles. To be emptied, then deleted; a crate is taken off as soon as it is
/// untied.
const TIED: &[&str] = &["desk"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn no_modules_of_a_crate_form_a_circle() {
    let mut wrong = Vec::new();
    for folder in std::fs::read_dir(repository().join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        let found = circles(&repository().join("crates").join(&name));
        match (found.is_empty(), TIED.contains(&name.as_str())) {
            (false, false) => wrong.extend(found),
            (true, true) => wrong.push(format!("{name} has no circle any more: take it off the list\n")),
            _ => {}
        }
    }
    let here = format!("{}/", repository().display());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n").replace(&here, ""));
}

#[test]
fn crates_use_only_what_is_on_floors_below() {
    let broken = broken_floors(&repository());
    assert!(broken.is_empty(), "{broken:#?}");
}
