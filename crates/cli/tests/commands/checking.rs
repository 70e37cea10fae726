use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::support::{Desk, Ran, STRANGER};

/// A folder with files.
fn desk(files: &[(&str, &str)]) -> Desk {
    let desk = Desk::new();
    files.iter().for_each(|(path, text)| write(&desk, path, text));
    desk
}

fn write(desk: &Desk, path: &str, text: &str) {
    let path = desk.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn git(desk: &Desk, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(desk.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let settings = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
    let ran = Ran::new(command.args(settings).args(arguments).output().unwrap());
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

#[test]
fn nothing_to_look_at_is_not_called_good() {
    let desk = desk(&[("src/main.rs", "fn main() {}\n")]);
    let ran = desk.run(&["check", "src"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("there is no page in src, so nothing was checked"), "{}", ran.err);
    git(&desk, &["init", "--quiet", "--bare", "docs.git"]);
    let bare = desk.run(&["check", "docs.git", "--json"]);
    assert_eq!((bare.code, bare.out.as_str()), (2, ""), "{}", bare.err);
    assert!(bare.err.contains("docs.git is a bare git repository, which has no files to check"), "{}", bare.err);
    // A change that touches no page is another matter.
    git(&desk, &["init", "--quiet"]);
    git(&desk, &["add", "src"]);
    git(&desk, &["commit", "--quiet", "-m", "Begin"]);
    write(&desk, "src/main.rs", "fn main() { }\n");
    let changed = desk.run(&["check", "--base", "main"]).ok();
    assert!(changed.out.contains("Not checked, because nothing of the kind was changed: "), "{}", changed.out);
}

#[test]
fn what_may_not_be_read_is_not_checked_and_named() {
    let desk = desk(&[("docs/a.md", "# A\n"), ("docs/closed/b.md", "# B\n")]);
    let permit = |path: &str, mode| {
        fs::set_permissions(desk.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    permit("", 0o755);
    let check = |arguments: &[&str]| {
        let mut command = desk.command(&[&["check"], arguments].concat());
        if rustix::process::geteuid().is_root() {
            command.uid(STRANGER).gid(STRANGER);
        }
        let ran = Ran::new(command.output().unwrap());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        ran.err
    };
    permit("docs/closed", 0o000);
    for (arguments, named) in [
        (&["docs"][..], "cannot check docs: closed: Permission denied"),
        (&["docs/closed"], "cannot check docs/closed: Permission denied"),
        (&[".", "--docs-path", "docs/closed/b.md"], "cannot check .: Permission denied"),
    ] {
        let said = check(arguments);
        assert!(said.contains(named), "{arguments:?}: {said}");
    }
    permit("docs/closed", 0o755);
    permit("docs/closed/b.md", 0o000);
    let said = check(&["docs"]);
    assert!(said.contains("cannot check docs: closed/b.md: Permission denied"), "{said}");
}

const PAGE: &str = "# A\n\n[x](gone.md) ![i](100%25,:.png)\n";

#[test]
fn what_was_found_has_four_forms() {
    let desk = desk(&[("docs/a b.md", PAGE), ("docs/.copydesk.toml", "[checks]\nimages = 'warning'\n")]);
    fs::create_dir(desk.path().join(".git")).unwrap();
    let ran = desk.run(&["check", "docs"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("a b.md:3:5: `gone.md` leads nowhere [links]\na b.md:3:19: warning: the image"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("Not checked, because there is nothing of the kind here: navigation, anchors, snippets"),
        "{}",
        ran.out
    );
    assert!(ran.out.ends_with("1 page, 1 finding, 1 warning\n"), "{}", ran.out);
    let alias = json(&desk.run(&["check", "docs", "--json"]));
    let found = json(&desk.run(&["check", "docs", "--format", "json"]));
    assert_eq!(alias, found);
    assert_eq!(
        (&found["findings"][1]["severity"], &found["judgedNothing"][0]),
        (&"warning".into(), &"navigation".into())
    );
    let lines = desk.run(&["check", "docs", "--format", "github"]).out;
    let expected = "::warning file=docs/a b.md,line=3,col=19,title=images::the image `100%2525,:.png` does not exist";
    assert!(lines.lines().any(|line| line == expected), "{lines}");
    let ran = desk.run(&["check", "docs", "--format", "sarif"]);
    assert_eq!(ran.code, 1);
    let run = &json(&ran)["runs"][0];
    let result = &run["results"][0];
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "docs/a%20b.md");
    assert_eq!((&result["level"], &result["ruleId"]), (&"error".into(), &"links".into()));
    let number = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][number]["id"], "links");
    let notes = run["invocations"][0]["toolExecutionNotifications"].to_string();
    assert!(notes.contains("Not checked, because there is nothing of the kind here"), "{notes}");
    assert_eq!(desk.run(&["check", "--json", "--format", "text"]).code, 2);
    assert_eq!(desk.run(&["check", "--format", "xml"]).code, 2);
}

#[test]
fn rules_come_from_the_repository_and_must_be_understood() {
    let desk = desk(&[("docs/a.md", PAGE), (".copydesk.toml", "[checks]\nlinks = 'warning'\nimages = 'warning'\n")]);
    // Without a repository around it a folder has its own rules only.
    assert_eq!(desk.run(&["check", "docs"]).code, 1);
    fs::create_dir(desk.path().join(".git")).unwrap();
    desk.run(&["check", "docs"]).ok();
    write(&desk, ".copydesk.toml", "exclude = ['docs/a.md']\n");
    assert_eq!(desk.run(&["check", "docs"]).code, 2, "there is nothing left to check");
    write(&desk, "docs/b.md", "# B\n");
    assert!(desk.run(&["check", "docs"]).ok().out.ends_with("1 page, 0 findings\n"));
    fs::remove_file(desk.path().join("docs/b.md")).unwrap();
    write(&desk, ".copydesk.toml", "\nexlcude = []\n");
    let ran = desk.run(&["check", "docs"]);
    assert!(ran.code == 2 && ran.err.contains(".copydesk.toml:2: there is no setting `exlcude`"), "{}", ran.err);
    write(&desk, ".copydesk.toml", "[checks]\nlinks = 'off'\nimages = 'off'\n");
    let ran = desk.run(&["check", "docs"]).ok();
    assert!(ran.out.contains("Switched off by .copydesk.toml: links, images."), "{}", ran.out);
}

#[test]
fn only_what_is_new_since_a_commit() {
    let desk =
        desk(&[("docs/a.md", "# A\n\n[old](gone.md) [b](b.md)\n"), ("docs/b.md", "# B\n"), (".gitignore", "made/\n")]);
    git(&desk, &["init", "-q"]);
    git(&desk, &["add", "."]);
    git(&desk, &["commit", "-qm", "one"]);
    git(&desk, &["switch", "-qc", "work"]);
    let subjects = |arguments: &[&str]| -> Vec<String> {
        let ran = desk.run(&[&["check", "--json", "--base"], arguments].concat());
        let found = json(&ran);
        let of = found["findings"].as_array().unwrap().iter();
        of.map(|it| format!("{}:{}", it["path"].as_str().unwrap(), it["subject"].as_str().unwrap())).collect()
    };
    assert_eq!(desk.run(&["check"]).code, 1);
    assert_eq!(
        desk.run(&["check", "--base", "main"]).ok().out.lines().last().unwrap().split(", new").next(),
        Some("0 pages, 0 findings")
    );
    // Committed, changed, not even added, and ignored.
    git(&desk, &["rm", "-q", "docs/b.md"]);
    git(&desk, &["commit", "-qm", "two"]);
    write(&desk, "docs/c.md", "[c](nowhere.md)\n");
    write(&desk, "made/d.md", "[d](nowhere.md)\n");
    assert_eq!(subjects(&["main"]), ["docs/a.md:b.md", "docs/c.md:nowhere.md"]);
    assert_eq!(subjects(&["HEAD"]), ["docs/c.md:nowhere.md"]);
    assert_eq!(subjects(&["main", "docs"]), ["a.md:b.md", "c.md:nowhere.md"]);
    // What happened on the other branch meanwhile is none of ours.
    git(&desk, &["switch", "-q", "main"]);
    write(&desk, "docs/a.md", "# A\n");
    git(&desk, &["commit", "-qam", "three"]);
    git(&desk, &["switch", "-q", "work"]);
    assert_eq!(subjects(&["main"]), ["docs/a.md:b.md", "docs/c.md:nowhere.md"]);
}

#[test]
fn a_folder_is_checked_as_part_of_its_repository() {
    let desk = desk(&[
        ("mkdocs.yml", "nav:\n  - index.md\n  - gone.md\n"),
        ("docs/index.md", "# A\n\n[made](made/x.md) [readme](../README.md) [other](nowhere.md)\n"),
        ("docs/data.yml", "a: 1\n"),
        ("README.md", "[not asked for](nowhere.md)\n"),
        (".gitignore", "docs/made/\n"),
        (".copydesk.toml", "[checks]\nnavigation = 'warning'\n"),
    ]);
    fs::create_dir(desk.path().join(".git")).unwrap();
    let ran = desk.run(&["check", "docs"]);
    let lines: Vec<&str> = ran.out.lines().filter(|line| line.ends_with(']')).collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    assert!(lines[1].starts_with("../mkdocs.yml:3:5: warning:") && lines[0].starts_with("index.md:3:"), "{}", ran.out);
    assert!(lines[0].contains("`nowhere.md` leads nowhere"), "{}", ran.out);
    // What lies in a folder of samples is looked at when it is named.
    write(&desk, "tests/fixtures/site/a.md", PAGE);
    assert_eq!(desk.run(&["check", "tests/fixtures/site"]).code, 1);
}

#[test]
fn what_cannot_be_compared_with_is_said() {
    let desk = desk(&[("a.md", "# A\n")]);
    let said = |ran: Ran| {
        assert_eq!(ran.code, 2, "{}", ran.out);
        ran.err
    };
    assert!(said(desk.run(&["check", "--base", "main"])).contains("not in the work tree of a git repository"));
    git(&desk, &["init", "-q"]);
    for reference in ["main", "--all", "-x", ""] {
        let error = said(desk.run(&["check", &format!("--base={reference}")]));
        assert!(error.contains("there is no commit"), "{error}");
    }
    let path = [("PATH", "/nonexistent")];
    assert!(said(desk.run_with(&["check", "--base", "main"], &path)).contains("git program is not installed"));
}

#[test]
fn unrelated_histories_are_compared_all_the_same() {
    let desk = desk(&[("a.md", "[x](gone.md)\n")]);
    git(&desk, &["init", "-q"]);
    git(&desk, &["add", "."]);
    git(&desk, &["commit", "-qm", "one"]);
    git(&desk, &["switch", "-q", "--orphan", "other"]);
    write(&desk, "a.md", "[x](gone.md) [y](gone.md)\n");
    git(&desk, &["add", "."]);
    git(&desk, &["commit", "-qm", "two"]);
    let ran = desk.run(&["check", "--base", "main"]);
    assert!(ran.code == 1 && ran.err.contains("HEAD and main share no history here"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("1 finding,"), "{}", ran.out);
}

#[test]
fn links_to_other_hosts_are_asked_for_on_demand() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = String::new();
            BufReader::new(&stream).read_line(&mut request).unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let status = if request.contains(" /there ") { "200 OK" } else { "404 Not Found" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let desk = desk(&[("a.md", &format!("[a]({host}/there#x)\n[b]({host}/gone)\n"))]);
    let environment = [("XDG_CACHE_HOME", desk.path().join("cache").to_str().unwrap().to_owned())];
    let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    desk.run(&["check"]).ok();
    // An address of this machine is not asked for unless somebody says so.
    let ran = desk.run_with(&["check", "--external"], &environment).ok();
    assert!(
        ran.out.contains("0 of 2 external links judged\n  2 not judged: it leads to a private address"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("external links."), "there are two: {}", ran.out);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    let ran = desk.run_with(&["check", "--external", "--external-private", "--json"], &environment);
    let found = json(&ran);
    assert_eq!((ran.code, found["findings"].as_array().unwrap().len()), (1, 1), "{}", ran.out);
    assert_eq!((&found["findings"][0]["check"], &found["findings"][0]["line"]), (&"external_links".into(), &2.into()));
    assert_eq!(found["judged"]["externalLinks"]["judged"], 2);
    assert_eq!(desk.run(&["check", "--external-private"]).code, 2);
}
