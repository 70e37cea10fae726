//! What people see on a terminal, and what programs read from a pipe.

use std::io::Read;
use std::process::Stdio;

use copydesk_testkit::GitRepo;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;

use crate::support::{Desk, Ran, Serving};

/// What a command prints to a terminal of so many columns.
fn on_terminal(desk: &Desk, columns: u16, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    tcsetwinsize(&master, Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut command = desk.command(arguments);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(environment.iter().copied());
    let mut child = command.stdout(terminal).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    let mut seen = Vec::new();
    // With nobody at the other end it ends in an error, after all that was shown.
    let _ = std::fs::File::from(master).read_to_end(&mut seen);
    assert!(child.wait().unwrap().success());
    String::from_utf8(seen).unwrap().replace("\r\n", "\n")
}

/// A server with a project whose documentation has typos.
struct Site {
    desk: Desk,
    server: Serving,
    key: String,
    _repository: GitRepo,
}

impl Site {
    fn new() -> Self {
        Self::with("# Docs\n\nIt is neccessary.\n")
    }

    fn with(page: &str) -> Self {
        let desk = Desk::new();
        let repository = GitRepo::new([("docs/index.md", page)]);
        let path = repository.path().to_str().unwrap();
        desk.run(&["project", "create", "--name", "Docs", "--repository", path]).ok();
        let key =
            desk.run(&["key", "create", "--project", "docs", "--json"]).json()["key"].as_str().unwrap().to_owned();
        let server = desk.serve(&[]);
        Self { desk, server, key, _repository: repository }
    }

    fn environment(&self) -> [(&str, &str); 3] {
        [("COPYDESK_URL", &self.server.url), ("COPYDESK_PROJECT", "docs"), ("COPYDESK_API_KEY", &self.key)]
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.desk.run_with(&[&["job"], arguments].concat(), &self.environment())
    }

    fn on_terminal(&self, columns: u16, arguments: &[&str], more: &[(&str, &str)]) -> String {
        let environment = [&self.environment(), more].concat();
        on_terminal(&self.desk, columns, &[&["job"], arguments].concat(), &environment)
    }

    fn done(&self) -> Value {
        self.run(&["create", "Fix the typos in docs/", "--wait", "--json"]).json()
    }
}

#[test]
fn waiting_for_a_message_tells_only_what_is_new() {
    let site = Site::new();
    let job = site.done();
    let id = job["id"].as_str().unwrap();
    let all = site.run(&["get", id, "--wait"]).ok().err;
    let before: Vec<&str> = all.lines().skip(1).collect();
    let told = site.run(&["message", id, "Replace \"Docs\" with \"Pages\" in docs/", "--wait"]).ok().err;
    let new: Vec<&str> = told.lines().skip(1).collect();
    assert!(before.len() > 3 && !new.is_empty(), "{all}\n{told}");
    assert!(new.iter().all(|line| !before.contains(line)), "{told}");
    assert!(new.last().unwrap().contains("completed"), "{told}");
}

#[test]
fn a_message_of_several_lines_keeps_them() {
    let site = Site::new();
    let job = site.done();
    let message = job["message"].as_str().unwrap();
    let shown = site.run(&["get", job["id"].as_str().unwrap()]).ok().out;
    let mut lines = message.lines();
    assert!(shown.contains(&format!("message       {}\n", lines.next().unwrap())), "{shown}");
    for line in lines.filter(|line| !line.is_empty()) {
        assert!(shown.contains(&format!("\n              {line}\n")), "{line:?} in {shown}");
    }
    assert!(shown.lines().any(|line| line.starts_with("pull request  ")), "{shown}");
}

#[test]
fn a_diff_is_coloured_for_people_and_bare_for_programs() {
    let site = Site::new();
    let job = site.done();
    let id = job["id"].as_str().unwrap();
    let plain = site.run(&["diff", id]).ok().out;
    assert!(plain.starts_with("diff --git ") && plain.contains("\n+It is necessary.\n"), "{plain}");
    assert_eq!(site.run(&["diff", id, "--json"]).json(), serde_json::json!({ "id": id, "diff": plain }));
    let coloured = site.on_terminal(80, &["diff", id], &[]);
    assert!(coloured.contains("\x1b[32m+It is necessary.\x1b[0m\n"), "{coloured:?}");
    assert!(coloured.contains("\x1b[31m-It is neccessary.\x1b[0m\n"), "{coloured:?}");
    let always = site.run(&["diff", id, "--color", "always"]).ok().out;
    assert_eq!(always, coloured, "also through a pipe, if asked for");
    for quiet in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert_eq!(site.on_terminal(80, &["diff", id], &[quiet]), plain, "{quiet:?}");
    }
    assert_eq!(site.on_terminal(80, &["diff", id, "--color=never"], &[]), plain);
}

#[test]
fn nothing_in_a_diff_acts_on_a_terminal_whatever_it_says_of_itself() {
    let site = Site::with("# Docs\n\nIt is neccessary.\nThis clears the screen: \u{1b}[2J.\n");
    let job = site.done();
    let id = job["id"].as_str().unwrap();
    assert!(site.run(&["diff", id]).ok().out.contains("screen: \u{1b}[2J."), "a program gets it as it is");
    for columns in [0, 80] {
        let shown = site.on_terminal(columns, &["diff", id], &[("NO_COLOR", "1")]);
        assert!(shown.contains("screen:  [2J.") && !shown.contains('\u{1b}'), "{columns}: {shown:?}");
    }
}

#[test]
fn a_list_fits_the_terminal_and_is_whole_in_a_pipe() {
    let site = Site::new();
    let job = site.done();
    let (id, link) = (job["id"].as_str().unwrap(), job["prLink"].as_str().unwrap());
    let piped = site.run(&["list"]).ok().out;
    let line = piped.lines().nth(1).unwrap();
    let cells: Vec<&str> = line.split("  ").filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, [id, "completed", "pr_created", job["createdAt"].as_str().unwrap(), link], "{piped}");
    let wide = site.on_terminal(250, &["list"], &[]);
    assert!(wide.contains("\x1b[32mcompleted\x1b[0m") && wide.starts_with("\x1b[1mID\x1b[0m"), "{wide:?}");
    let narrow = site.on_terminal(90, &["list", "--color", "never"], &[]);
    assert!(narrow.contains(id) && narrow.contains(&format!("\n    {link}\n")), "nothing to copy is cut: {narrow}");
    assert!(narrow.contains(job["createdAt"].as_str().unwrap()), "there is room for it: {narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 90 || line.contains(link)), "{narrow}");
}

#[test]
fn lists_of_all_kinds_are_plain_in_a_pipe() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    for arguments in [
        &["project", "list"][..],
        &["key", "list"],
        &["webhook", "list"],
        &["project", "source", "list", "docs"],
        &["views", "status"],
    ] {
        let piped = desk.run(arguments).ok().out;
        assert!(!piped.contains('\x1b'), "{piped:?}");
        let shown = on_terminal(&desk, 200, arguments, &[]);
        assert!(shown.contains("\x1b[1m"), "{arguments:?}: {shown:?}");
        let forced = desk.run_with(arguments, &[("CLICOLOR_FORCE", "1")]).ok().out;
        assert!(forced.contains("\x1b[1m"), "{arguments:?}: {forced:?}");
    }
}

#[test]
fn the_server_can_be_named_before_and_after_the_command() {
    let site = Site::new();
    let mut environment = site.environment();
    environment[0].1 = "http://127.0.0.1:9";
    for arguments in [["--url", &site.server.url, "job", "list"], ["job", "list", "--url", &site.server.url]] {
        site.desk.run_with(&arguments, &environment).ok();
    }
}

#[test]
fn every_help_has_examples_and_what_is_shared_at_its_end() {
    let desk = Desk::new();
    for arguments in [&["--help"][..], &["job", "create", "-h"], &["key", "--help"], &["help", "project", "update"]] {
        let help = desk.run(arguments).ok().out;
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text} in {help}"));
        assert!(at("Global options:") < at("--config") && at("--config") < at("\nExamples:\n  copydesk "), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
    }
    assert!(desk.run(&["job", "list", "--color", "purple"]).code == 2);
    assert!(desk.run(&["--help", "--color", "always"]).ok().out.contains('\x1b'));
}
