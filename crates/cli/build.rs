//! Gives the program `VERSION_AND_COMMIT`: the version and, where it can be known, the commit that it is built from. The name
//! does not begin with `COPYDESK_`, because `cargo run` hands it on, and the program would take it for a setting.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=COPYDESK_COMMIT");
    let variable = || std::env::var("COPYDESK_COMMIT").ok().filter(|commit| !commit.is_empty());
    let version = env!("CARGO_PKG_VERSION");
    match repository_commit().or_else(variable) {
        Some(commit) => println!("cargo::rustc-env=VERSION_AND_COMMIT={version} ({})", commit.trim()),
        None => println!("cargo::rustc-env=VERSION_AND_COMMIT={version}"),
    }
}

/// The commit that is checked out, if these sources are a repository and not a folder in somebody else's.
fn repository_commit() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        return None;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    // These change when another commit is checked out. One that is not there would have this run at every build.
    for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name]).map(|path| root.join(path)).filter(|path| path.exists());
        if let Some(path) = path {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}
