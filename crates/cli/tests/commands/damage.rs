//! Page views whose files were damaged: everybody who asks is told, until an operator has accepted it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Desk, Serving, body_of, get, post};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

fn read(server: &Serving, project: &str, key: &str, path: &str) {
    let event = json!({ "path": path, "userAgent": FIREFOX, "id": path });
    let (status, answer) = post(&server.url, &format!("/v1/analytics/{project}/events"), key, &event);
    assert_eq!(status, 200, "{answer}");
}

/// The total of a project, and whether the answer says that something is missing.
fn total(server: &Serving, project: &str, key: &str) -> (u64, bool) {
    let (status, answer) = get(&server.url, &format!("/v1/analytics/{project}/views"), key);
    assert_eq!(status, 200, "{answer}");
    (body_of(&answer)["totals"]["total"].as_u64().unwrap(), answer.contains("\r\nviews-incomplete: "))
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

fn only(desk: &Desk, folder: &str, extension: &str) -> PathBuf {
    let entries = fs::read_dir(desk.path().join("copydesk-data/views").join(folder)).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|it| it == extension));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_damaged_record_is_told_by_whoever_finds_it_and_by_all_after_that() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let mut server = desk.serve(&[]);
    ["/a", "/b", "/c"].iter().for_each(|path| read(&server, &project, &key, path));
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let log = only(&desk, "wal", "wal");
    let bytes = fs::read(&log).unwrap();
    let second = bytes.windows(2).position(|two| two == b"/b").unwrap();
    flip(&log, second);
    // A command opens the store first: what it finds is not lost with it.
    let shown = desk.run(&["views", "status"]).ok().out;
    assert!(shown.contains("lost, any project"), "{shown}");
    let admin = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let server = desk.serve(&[("COPYDESK_ADMIN_LISTEN", &admin)]);
    assert_eq!(total(&server, &project, &key), (2, true));
    let ready = |url: &str| {
        let (status, ready) = get(url, "/readyz", "");
        assert_eq!(status, 200);
        body_of(&ready)["details"][0].as_str().unwrap().to_owned()
    };
    let told = ready(&format!("http://{admin}"));
    assert!(told.starts_with("page views: ") && !told.contains("losses noted"), "{told}");
    assert_eq!(ready(&server.url), "page views: losses noted: 1; the admin listener says which");
    let verified = desk.run(&["views", "verify"]);
    assert!(verified.code == 1 && verified.out.contains("lost"), "{}", verified.out);
    let accepted = desk.run(&["views", "repair", "--accept", "--json"]).json();
    assert_eq!((accepted["damaged"].as_array().unwrap().len(), accepted["losses"].as_array().unwrap().len()), (0, 1));
    assert_eq!(total(&server, &project, &key), (2, false));
    assert_eq!(desk.run(&["views", "verify", "--json"]).json(), json!({ "damaged": [], "losses": [] }));
    assert!(body_of(&get(&server.url, "/readyz", "").1).get("details").is_none());
}

#[test]
fn a_damaged_segment_answers_without_it_and_takes_events_on() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    let server = desk.serve(&[]);
    read(&server, &project, &key, "/a");
    assert_eq!(server.terminate().0, Some(0));
    let folder = format!("projects/{project}");
    flip(&only(&desk, &folder, "seg"), 30);
    let ids = only(&desk, &folder, "ids");
    flip(&ids, 50);
    let server = desk.serve(&[]);
    let (counted, said) = total(&server, &project, &key);
    assert!(counted == 1 || said, "{counted}, {said}");
    read(&server, &project, &key, "/b");
    read(&server, &project, &key, "/a");
    assert!(total(&server, &project, &key).1, "what was told before may be counted again");
    desk.run(&["views", "repair"]).ok();
    let status = desk.run(&["views", "status", &project, "--json"]).json();
    assert!(!status[0]["losses"].as_array().unwrap().is_empty(), "{status}");
    assert_eq!(desk.run(&["views", "verify", "--json"]).code, 1, "nothing is damaged now, but something was lost");
}

#[test]
fn what_is_damaged_is_backed_up_as_it_is_and_told() {
    let desk = Desk::new();
    let (docs, key) = desk.project_and_key("Docs");
    let (guide, guide_key) = desk.project_and_key("Guide");
    let server = desk.serve(&[]);
    (0..50).for_each(|page| read(&server, &docs, &key, &format!("/page-{page}")));
    read(&server, &guide, &guide_key, "/a");
    assert_eq!(server.terminate().0, Some(0));
    let sound = desk.run(&["backup", "sound", "--verify"]).ok();
    assert!(!sound.err.contains("damaged"), "{}", sound.err);

    let segment = only(&desk, &format!("projects/{docs}"), "seg");
    let middle = fs::metadata(&segment).unwrap().len() as usize / 2;
    flip(&segment, middle);
    // Two texts say the same in it; neither is left.
    let list = desk.path().join("copydesk-data/views/projects").join(&guide).join("manifest");
    let length = fs::metadata(&list).unwrap().len() as usize;
    fs::write(&list, vec![0; length]).unwrap();
    let made = desk.run(&["backup", "copy", "--verify", "--json"]).json();
    assert_eq!(made["verified"], true);
    let lost = made["backup"]["lostViews"].to_string();
    for words in ["page views of docs: a file of views is damaged", "page views of guide: the list of the project's"] {
        assert!(lost.contains(words), "{words:?} in {lost}");
    }
    let again = desk.run(&["backup", "again", "--verify"]).ok();
    let checked = desk.run(&["backup", "copy", "--only-verify"]).ok();
    let other = Desk::new();
    let restored = other.run(&["restore", desk.path().join("copy").to_str().unwrap()]).ok();
    for ran in [again, checked, restored] {
        assert!(ran.err.contains("page views of docs: a file of views is damaged"), "{}", ran.err);
    }
    other.run(&["views", "repair"]).ok();
    let left = other.run(&["views", "status", "--json"]).json();
    assert_eq!((&left[1]["project"], &left[1]["views"]), (&json!(guide), &json!(1)), "{left}");
}

#[test]
fn nothing_is_restored_where_nothing_was_forgotten() {
    let desk = Desk::new();
    let (project, _) = desk.project_and_key("Docs");
    let none = desk.run(&["views", "restore", &project]);
    assert!(none.code == 1 && none.err.contains("seven days"), "{}", none.err);
    assert_eq!(desk.run(&["views", "restore", "nobody"]).code, 1);
}
