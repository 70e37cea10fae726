//! What packages and those who watch over a process need of the program.

use std::process::Command;

use crate::support::Desk;

#[test]
fn the_version_names_the_commit_it_is_built_from() {
    let said = Desk::new().run(&["--version"]).ok().out;
    let Some(rest) = said.trim().strip_prefix(concat!("copydesk ", env!("CARGO_PKG_VERSION"))) else {
        panic!("{said}")
    };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let commit = Command::new("git").args(["-C", root, "rev-parse", "--short=12", "HEAD"]).output();
    let is_repository = std::path::Path::new(root).join(".git").exists();
    match commit {
        Ok(commit) if is_repository && commit.status.success() => {
            assert_eq!(rest, format!(" ({})", String::from_utf8(commit.stdout).unwrap().trim()));
        }
        // Sources without a repository: what COPYDESK_COMMIT said when it was built, or nothing.
        _ => assert!(rest.is_empty() || rest.starts_with(" ("), "{said}"),
    }
}

#[test]
fn shells_get_completions_that_they_can_read() {
    let desk = Desk::new();
    for (shell, sign) in
        [("bash", "complete -F _copydesk"), ("zsh", "#compdef copydesk"), ("fish", "complete -c copydesk")]
    {
        let script = desk.run(&["completions", shell]).ok().out;
        assert!(script.contains(sign) && script.contains("credentials"), "{script}");
        let file = desk.path().join(shell);
        std::fs::write(&file, script).unwrap();
        // Not every machine has all three.
        if let Ok(output) = Command::new(shell).arg("-n").arg(&file).output() {
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let ran = desk.run(&["completions", "cmd"]);
    assert!(ran.code == 2 && ran.err.contains("bash"), "{}", ran.err);
}

#[test]
fn every_command_has_a_manual_page() {
    let desk = Desk::new();
    desk.run(&["man", "a/manual"]).ok();
    let page = |name: &str| std::fs::read_to_string(desk.path().join("a/manual").join(name)).unwrap();
    assert!(page("copydesk.1").contains(".TH copydesk 1"));
    assert!(page("copydesk-serve.1").contains("admin\\-listen"));
    assert!(page("copydesk-project-create.1").contains("repository"));
    std::fs::write(desk.path().join("file"), "").unwrap();
    let ran = desk.run(&["man", "file"]);
    assert!(ran.code == 1 && ran.err.contains("cannot write into file"), "{}", ran.err);
}

#[test]
fn health_asks_where_the_configuration_says_or_where_it_is_told() {
    let desk = Desk::new();
    let server = desk.serve(&[]);
    assert_eq!(desk.run(&["health", &server.url]).ok().out, "ready\n");
    let everywhere = server.url.replace("http://127.0.0.1", "0.0.0.0");
    for name in ["COPYDESK_LISTEN", "COPYDESK_ADMIN_LISTEN"] {
        desk.run_with(&["health"], &[(name, &everywhere)]).ok();
    }
    let url = server.url.clone();
    server.terminate();
    let ran = desk.run(&["health", &url]);
    assert!(ran.code == 1 && ran.err.contains("cannot reach") && ran.err.contains("copydesk serve"), "{}", ran.err);
    assert_eq!(desk.run(&["health", "ftp://example.com"]).code, 2);
}

#[test]
fn a_service_called_copydesk_beside_it_does_not_stop_it() {
    let link = ("COPYDESK_PORT", "tcp://10.0.0.1:80");
    let desk = Desk::new();
    desk.run_with(&["config"], &[link, ("COPYDESK_SERVICE_HOST", "10.0.0.1")]).ok();
    assert_eq!(desk.run_with(&["config"], &[("COPYDESK_PORT", "80")]).code, 2);
}
