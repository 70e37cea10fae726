//! People at the command line, and how the first one gets in.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::support::{Desk, Ran, get};

const PASSWORD: &str = "four words put together";

fn with_input(desk: &Desk, arguments: &[&str], input: &str) -> Ran {
    let mut command = desk.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ran::new(child.wait_with_output().unwrap())
}

#[test]
fn users_are_made_listed_and_removed() {
    let desk = Desk::new();
    assert!(desk.run(&["user", "list"]).ok().out.contains("copydesk user link"));
    let made = with_input(&desk, &["user", "add", "Ada@Example.com", "--admin", "--json"], PASSWORD).json();
    assert_eq!((made["email"].as_str(), made["isAdmin"].as_bool()), (Some("ada@example.com"), Some(true)));
    let again = with_input(&desk, &["user", "add", "ada@example.com"], PASSWORD);
    assert_eq!((again.code, again.err.as_str()), (1, "copydesk: the user ada@example.com exists already\n"));
    let weak = with_input(&desk, &["user", "add", "bob@example.com"], "short\n");
    assert_eq!(weak.code, 2, "{}", weak.err);
    assert!(weak.err.contains("the password must have at least 10 characters"), "{}", weak.err);
    assert_eq!(with_input(&desk, &["user", "add", "bob"], PASSWORD).code, 2);
    with_input(&desk, &["user", "password", "ada@example.com"], "some other four words\n").ok();
    assert_eq!(with_input(&desk, &["user", "password", "eve@example.com"], PASSWORD).code, 1);
    let last = desk.run(&["user", "remove", "ada@example.com"]);
    assert_eq!(
        (last.code, last.err.as_str()),
        (1, "copydesk: this is the last administrator; appoint another one first\n")
    );
    with_input(&desk, &["user", "add", "bob@example.com", "--admin"], PASSWORD).ok();
    desk.run(&["user", "remove", "ada@example.com"]).ok();
    let left = desk.run(&["user", "list", "--json"]).json();
    assert_eq!(left.as_array().unwrap().len(), 1);
    assert_eq!(desk.run(&["user", "link", "ada@example.com"]).code, 1);
    let link = desk.run(&["user", "link", "bob@example.com"]).ok();
    assert!(link.out.starts_with("http://127.0.0.1:4400/join/"), "{}", link.out);
}

#[test]
fn the_first_start_prints_a_link_that_lets_the_first_administrator_in() {
    let desk = Desk::new();
    let mut command = desk.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let said: Vec<String> =
        BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok).take(2).collect();
    let link = said[1].trim().to_owned();
    let file = desk.path().join("copydesk-data/first-sign-in");
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), link);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (url, path) = link.split_at(link.find("/join/").unwrap());
    let (status, page) = get(url, path, "");
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("first administrator"));
    child.kill().unwrap();
    let log = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    child.wait().unwrap();
    assert!(!log.contains(&path[6..]), "the link is not in the log: {log}");

    with_input(&desk, &["user", "add", "ada@example.com", "--admin"], PASSWORD).ok();
    let server = desk.serve(&[]);
    assert_eq!(get(&server.url, "/sign-in", "").0, 200);
    drop(server);
    assert!(!file.exists(), "it has done its work");
}
