//! `copydesk project source`: further repositories that agents may read.

use std::io::Write;
use std::process::Stdio;

use copydesk_testkit::GitRepo;
use serde_json::{Value, json};

use crate::support::{Desk, Ran};

fn source(desk: &Desk, arguments: &[&str]) -> Ran {
    desk.run(&[&["project", "source"], arguments].concat())
}

/// Adds a source whose token is on standard input.
fn add_with_token(desk: &Desk, name: &str, address: &str, token: &str) -> Ran {
    let mut command = desk.command(&["project", "source", "add", "docs", name, address, "--token-stdin", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(token.as_bytes()).unwrap();
    Ran::new(child.wait_with_output().unwrap())
}

#[test]
fn sources_are_added_listed_and_removed() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    let added =
        source(&desk, &["add", "docs", "sdk", "https://example.com/acme/sdk.git", "--ref", "v2", "--json"]).json();
    assert_eq!(added["repository"], "https://example.com/acme/sdk");
    assert_eq!((&added["ref"], &added["credential"]), (&json!("v2"), &json!("project")), "on the project's own host");
    let other = add_with_token(&desk, "api", "https://me:planted-old@other.example/acme/api", "planted-token\n").ok();
    assert!(!format!("{}{}", other.out, other.err).contains("planted"), "{}{}", other.out, other.err);
    assert!(other.err.contains("was not kept"), "{}", other.err);
    source(&desk, &["add", "docs", "plain", "https://third.example/plain", "--host", "gitlab"]).ok();
    let elsewhere =
        ["add", "docs", "zebra", "https://example.com/acme/z", "--host-api-url", "https://other.example/api"];
    source(&desk, &elsewhere).ok();
    let all = source(&desk, &["list", "docs", "--json"]).json();
    let told: Vec<(&Value, &Value)> =
        all.as_array().unwrap().iter().map(|it| (&it["name"], &it["credential"])).collect();
    let wanted = [("api", "own"), ("plain", "none"), ("sdk", "project"), ("zebra", "none")]
        .map(|(name, how)| (json!(name), json!(how)));
    assert_eq!(told, wanted.iter().map(|(name, how)| (name, how)).collect::<Vec<_>>());
    assert_eq!(all[1]["host"]["kind"], "gitlab");
    let table = source(&desk, &["list", "docs"]).ok().out;
    assert!(table.contains("the project's") && table.contains("(main branch)") && table.contains("token"), "{table}");
    assert!(source(&desk, &["remove", "docs", "api"]).ok().out.contains("Removed the code source api"));
    let again = source(&desk, &["remove", "docs", "api"]);
    assert!(again.code == 1 && again.err.contains("project source list docs"), "{}", again.err);
}

#[test]
fn what_cannot_be_a_source_is_refused_with_what_to_do() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    for (arguments, code, said) in [
        (vec!["add", "docs", "My SDK", "https://example.com/sdk"], 2, "NAME must be 1 to 32 lower-case"),
        (vec!["add", "docs", "sdk", "ext::sh -c id"], 2, "ADDRESS "),
        (vec!["add", "docs", "sdk", "https://example.com/sdk", "--ref", "a..b"], 2, "--ref must be a branch name"),
        (vec!["add", "docs", "sdk", "https://example.com/sdk", "--username", "me"], 2, "--token-stdin"),
        (vec!["add", "nobody", "sdk", "https://example.com/sdk"], 1, "no project \"nobody\""),
        (vec!["test", "docs", "sdk"], 1, "docs has no code source \"sdk\""),
    ] {
        let ran = source(&desk, &arguments);
        assert!(ran.code == code && ran.err.contains(said), "{arguments:?}: {} {}", ran.code, ran.err);
    }
    for number in 0..16 {
        source(&desk, &["add", "docs", &format!("s{number}"), "/nowhere/sdk"]).ok();
    }
    let taken = source(&desk, &["add", "docs", "s1", "https://example.com/sdk"]);
    assert!(taken.code == 1 && taken.err.contains("has a code source s1 already"), "{}", taken.err);
    let many = source(&desk, &["add", "docs", "more", "https://example.com/sdk"]);
    assert!(many.code == 1 && many.err.contains("16 code sources"), "{}", many.err);
    let far = desk.run_with(
        &["--url", "http://127.0.0.1:9", "project", "source", "list", "docs"],
        &[("COPYDESK_API_KEY", "copydesk_x")],
    );
    assert_ne!(far.code, 0);
}

#[test]
fn a_source_is_tried_out() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    let repo = GitRepo::new([("src/a.rs", "fn a() {}\n")]);
    let path = repo.path().to_str().unwrap();
    assert!(source(&desk, &["add", "docs", "sdk", path]).ok().err.is_empty());
    let wrong = source(&desk, &["add", "docs", "branch", path, "--ref", "nope"]).ok();
    assert!(wrong.err.contains("agents cannot read it: the repository has no branch `nope`"), "{}", wrong.err);
    let good = source(&desk, &["test", "docs", "sdk"]).ok();
    assert!(good.out.contains("its main branch") && good.out.contains("Jobs can read it."), "{}", good.out);
    let bad = source(&desk, &["test", "docs", "branch", "--json"]);
    let told: Value = serde_json::from_str(&bad.out).unwrap();
    assert_eq!((bad.code, &told["works"]), (1, &json!(false)));
    assert!(bad.out.contains("the repository has no branch `nope`"), "{}", bad.out);
}

#[test]
fn what_is_no_repository_or_no_branch_is_said_when_it_is_added() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    let repo = GitRepo::new([("src/a.rs", "fn a() {}\n")]);
    repo.git(&["tag", "v1.4"]);
    let path = repo.path().to_str().unwrap();
    let tag = source(&desk, &["add", "docs", "tag", path, "--ref", "v1.4"]).ok();
    assert!(tag.err.contains("`v1.4` is a tag, and agents read a branch"), "{}", tag.err);
    let folder = desk.path().join("no-repository");
    std::fs::create_dir(&folder).unwrap();
    let none = source(&desk, &["add", "docs", "none", folder.to_str().unwrap(), "--json"]).ok();
    assert!(none.err.contains("agents cannot read it yet: there is no git repository at the address"), "{}", none.err);
    assert!(none.err.contains("copydesk project source test docs none"), "{}", none.err);
}

#[test]
fn a_job_is_asked_about_a_range() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    source(&desk, &["add", "docs", "sdk", "https://example.com/acme/sdk"]).ok();
    let serving = desk.serve(&[("COPYDESK_RUNNER__WORKERS", "0"), ("COPYDESK_JOBS__MODELS", "builtin,later")]);
    let job_of = |model: &str, range: &str| {
        let arguments = ["job", "create", "Document it", "--model", model, "--changes", range, "--json"];
        let environment =
            [("COPYDESK_URL", serving.url.as_str()), ("COPYDESK_PROJECT", &project), ("COPYDESK_API_KEY", &key)];
        desk.run_with(&arguments, &environment)
    };
    let job = |range: &str| job_of("later", range);
    let builtin = job_of("builtin", "sdk:v1.4..v1.5");
    let words = "changes: cannot be read by `builtin`, which is not a language model; choose a model: later";
    assert!(builtin.code == 1 && builtin.err.contains(words), "{}", builtin.err);
    assert_eq!(job("sdk:v1.4..v1.5").json()["changes"], json!({ "source": "sdk", "from": "v1.4", "to": "v1.5" }));
    assert_eq!(job("sdk:v1.4").json()["changes"]["to"], Value::Null);
    let wrong = job("v1.4..v1.5");
    assert!(wrong.code == 2 && wrong.err.contains("sdk:v1.4..v1.5"), "{}", wrong.err);
    let unknown = job("api:v1..v2");
    assert!(unknown.code != 0 && unknown.err.contains("it has sdk"), "{}", unknown.err);
}
