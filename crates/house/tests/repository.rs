//! This repository as it stands.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop at once")]

use std::path::{Path, PathBuf};

use copydesk_house::{broken_floors, circles};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn no_modules_of_a_crate_form_a_circle() {
    let mut wrong = Vec::new();
    for folder in std::fs::read_dir(repository().join("crates")).unwrap() {
        wrong.extend(circles(&folder.unwrap().path()));
    }
    let here = format!("{}/", repository().display());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n").replace(&here, ""));
}

#[test]
fn crates_use_only_what_is_on_floors_below() {
    let broken = broken_floors(&repository());
    assert!(broken.is_empty(), "{broken:#?}");
}
