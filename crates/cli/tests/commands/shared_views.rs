//! Page views in PostgreSQL: servers of several machines that count into one place.

use copydesk_testkit::{Backend, TestClickHouse};
use serde_json::{Value, json};

use crate::support::{Desk, Serving, body_of, get, post};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const IN_DATABASE: (&str, &str) = ("COPYDESK_VIEWS__STORE", "database");
const NO_WORKERS: (&str, &str) = ("COPYDESK_RUNNER__WORKERS", "0");

/// A server with a data folder of its own, as another machine has.
fn machine(desk: &Desk, folder: &str) -> Serving {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data-dir", folder];
    desk.start(&arguments, &[IN_DATABASE, NO_WORKERS], "listen")
}

fn tell(server: &Serving, project: &str, key: &str, events: &Value) -> Value {
    let (status, answer) = post(&server.url, &format!("/v1/analytics/{project}/events"), key, events);
    assert_eq!(status, 200, "{answer}");
    answer
}

fn event(path: &str, id: &str) -> Value {
    json!({ "path": path, "userAgent": FIREFOX, "id": id })
}

/// Pages with their views, as a server answers.
fn pages(server: &Serving, project: &str, key: &str) -> Vec<(String, u64)> {
    let (status, answer) = get(&server.url, &format!("/v1/analytics/{project}/views"), key);
    assert_eq!(status, 200, "{answer}");
    rows(&body_of(&answer))
}

fn rows(views: &Value) -> Vec<(String, u64)> {
    let row = |row: &Value| (row["path"].as_str().unwrap().to_owned(), row["human"].as_u64().unwrap());
    views["views"].as_array().unwrap().iter().map(row).collect()
}

async fn rows_of(desk: &Desk, table: &str) -> String {
    desk.database().query(&format!("SELECT count(*)::text FROM {table}")).await.remove(0).remove(0)
}

#[tokio::test]
async fn what_one_server_is_told_the_others_answer_and_an_id_counts_once() {
    let desk = Desk::on(Backend::Postgres).await;
    let (project, key) = desk.project_and_key("Docs");
    let (one, mut other) = (machine(&desk, "one"), machine(&desk, "other"));
    tell(&one, &project, &key, &event("/a", "1"));
    assert_eq!(pages(&other, &project, &key), [("/a".to_owned(), 1)], "it is there when it is acknowledged");
    // The same to both, some of it new to each.
    let both = json!([event("/a", "1"), event("/b", "2"), event("/b", "3")]);
    assert_eq!(tell(&other, &project, &key, &both)["duplicates"], 1);
    assert_eq!(tell(&one, &project, &key, &both)["duplicates"], 3);
    let counted = [("/b".to_owned(), 2), ("/a".to_owned(), 1)];
    assert_eq!((pages(&one, &project, &key), pages(&other, &project, &key)), (counted.to_vec(), counted.to_vec()));
    // What was acknowledged is there, whoever dies.
    other.child.kill().unwrap();
    other.child.wait().unwrap();
    let third = ["--data-dir", "third"];
    let top = desk.run_with(&[&["views", "top", &project, "--json"], &third[..]].concat(), &[IN_DATABASE]);
    assert_eq!(rows(&top.json()), counted);
    let status = desk.run_with(&[&["views", "status", &project, "--json"], &third[..]].concat(), &[IN_DATABASE]).json();
    assert_eq!((&status[0]["views"], &status[0]["pages"]), (&3.into(), &2.into()));
    desk.run_with(&[&["views", "verify"], &third[..]].concat(), &[IN_DATABASE]).ok();
    let checked = desk.run_with(&[&["doctor"], &third[..]].concat(), &[IN_DATABASE]);
    assert!(checked.out.contains("in the database"), "{}{}", checked.out, checked.err);
    // Days that do not agree with the quarter hours are found, and counted anew from them.
    desk.database().execute("UPDATE views_days SET hs = hs + 1").await;
    let found = desk.run_with(&[&["views", "verify"], &third[..]].concat(), &[IN_DATABASE]);
    assert!(found.code == 1 && found.out.contains("counts the site, days and months anew"), "{}", found.out);
    desk.run_with(&[&["views", "repair"], &third[..]].concat(), &[IN_DATABASE]).ok();
    desk.run_with(&[&["views", "verify"], &third[..]].concat(), &[IN_DATABASE]).ok();
    assert_eq!(pages(&one, &project, &key), counted);
    let (code, log) = one.terminate();
    assert_eq!(code, Some(0), "{log:?}");
}

#[tokio::test]
async fn logs_are_imported_once_whichever_machine_does_it_and_a_project_takes_its_rows_with_it() {
    let desk = Desk::on(Backend::Postgres).await;
    let (project, key) = desk.project_and_key("Docs");
    let line = |minute: u32| {
        let agent = if minute < 40 { FIREFOX } else { "AcmeReader/1.0 (+https://acme.example/bot)" };
        format!("192.0.2.7 - - [10/Oct/2026:13:{minute:02}:36 +0000] \"GET /a HTTP/1.1\" 200 2326 \"-\" \"{agent}\"\n")
    };
    std::fs::write(desk.path().join("access.log"), (0..43).map(line).collect::<String>()).unwrap();
    for folder in ["one", "other"] {
        let arguments = ["import", "access.log", "--project", &project, "--data-dir", folder];
        desk.run_with(&arguments, &[IN_DATABASE]).ok();
    }
    let server = machine(&desk, "one");
    assert_eq!(pages(&server, &project, &key), [("/a".to_owned(), 40)]);
    let judged = desk.run_with(&["reclassify", "--yes", "--json"], &[IN_DATABASE]).json();
    assert_eq!(judged["applied"], false, "nothing has changed");
    // A list of one's own makes an agent of what was a bot.
    let lists = desk.path().join("copydesk-data/lists");
    std::fs::create_dir_all(&lists).unwrap();
    let agent = "date = \"2026-11-15\"\n[[agent]]\nname = \"AcmeReader\"\noperator = \"Acme\"\n\
                 purpose = \"Reads for people\"\nclass = \"assistant\"\ndocs = \"https://acme.example/bot\"\n";
    std::fs::write(lists.join("agents.toml"), agent).unwrap();
    let judged = desk.run_with(&["reclassify", "--yes", "--json"], &[IN_DATABASE]).json();
    assert_eq!(
        (&judged["applied"], &judged["projects"][0]["then"]["assistant"]),
        (&true.into(), &3.into()),
        "{judged}"
    );
    let (_, answer) = get(&server.url, &format!("/v1/analytics/{project}/views"), &key);
    assert_eq!(body_of(&answer)["views"][0]["ai"], 3, "the server that runs meanwhile knows it: {answer}");
    drop(server);
    desk.run_with(&["project", "delete", &project, "--yes"], &[IN_DATABASE]).ok();
    for table in
        ["views_projects", "views_cells", "views_days", "views_months", "views_site", "views_paths", "views_marks"]
    {
        assert_eq!(rows_of(&desk, table).await, "0", "{table}");
    }
}

#[tokio::test]
async fn a_backup_holds_the_page_views_of_the_database_and_goes_back_into_one() {
    let desk = Desk::on(Backend::Postgres).await;
    let (project, key) = desk.project_and_key("Docs");
    let server = machine(&desk, "one");
    tell(&server, &project, &key, &json!([event("/a", "1"), event("/b", "2"), event("/b", "3")]));
    let made = desk.run_with(&["backup", "copy", "--verify", "--json"], &[IN_DATABASE]).json();
    assert_eq!(made["backup"]["views"][&project], 3);
    drop(server);
    let copy = desk.path().join("copy");
    let restore = ["restore", copy.to_str().unwrap()];
    let other = Desk::on(Backend::Postgres).await;
    let refused = other.run(&restore);
    assert!(refused.code == 1 && refused.err.contains("were kept in a PostgreSQL database"), "{}", refused.err);
    assert!(!other.path().join("copydesk-data").exists());
    other.run_with(&restore, &[IN_DATABASE]).ok();
    let server = machine(&other, "copydesk-data");
    let counted = vec![("/b".to_owned(), 2), ("/a".to_owned(), 1)];
    assert_eq!(pages(&server, &project, &key), counted);
    assert_eq!(tell(&server, &project, &key, &event("/b", "3"))["duplicates"], 1, "ids are in the backup");
    tell(&server, &project, &key, &event("/c", "4"));
    assert_eq!(pages(&server, &project, &key).len(), 3);
    // A page fewer than there should be is seen.
    std::fs::remove_file(copy.join("views/views_site.zst")).unwrap();
    let verified = desk.run(&["backup", "copy", "--only-verify"]);
    assert!(verified.code == 1 && verified.err.contains("views_site.zst is missing"), "{}", verified.err);
}

#[test]
fn a_file_of_sqlite_is_no_place_for_them() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["worker"], &["views", "status"], &["backup", "copy"]] {
        let refused = desk.run_with(command, &[IN_DATABASE]);
        assert!(refused.code == 2 && refused.err.contains("a file of SQLite"), "{command:?}: {}", refused.err);
        assert!(refused.err.contains("database_url"), "{}", refused.err);
    }
}

#[tokio::test]
async fn several_servers_count_in_clickhouse_behind_one_ledger() {
    let (desk, clickhouse) = (Desk::on(Backend::Postgres).await, TestClickHouse::new());
    let url = clickhouse.url();
    let there = [NO_WORKERS, ("COPYDESK_VIEWS__STORE", "clickhouse"), ("COPYDESK_VIEWS__CLICKHOUSE_URL", &*url)];
    let (project, key) = desk.project_and_key("Docs");
    let machine = |folder| desk.start(&["serve", "--listen", "127.0.0.1:0", "--data-dir", folder], &there, "listen");
    let (one, mut other) = (machine("one"), machine("other"));
    tell(&one, &project, &key, &event("/a", "1"));
    assert_eq!(pages(&other, &project, &key), [("/a".to_owned(), 1)]);
    let both = json!([event("/a", "1"), event("/b", "2"), event("/b", "3")]);
    assert_eq!(tell(&other, &project, &key, &both)["duplicates"], 1);
    // What was acknowledged goes there, whoever dies.
    other.child.kill().unwrap();
    other.child.wait().unwrap();
    assert_eq!(pages(&one, &project, &key), [("/b".to_owned(), 2), ("/a".to_owned(), 1)]);
    let said = desk.run_with(&["doctor", "--data-dir", "one"], &there);
    assert!(said.out.contains("in ClickHouse, which has all that the database has sent"), "{}", said.out);
    desk.run_with(&["backup", "copy", "--data-dir", "one"], &there).ok();
    assert_eq!(clickhouse.sums(), [3; 4]);
}

#[tokio::test]
async fn clickhouse_needs_an_address_and_a_ledger() {
    let desk = Desk::new();
    let there = ("COPYDESK_VIEWS__STORE", "clickhouse");
    let refused = desk.run_with(&["serve"], &[there]);
    assert!(refused.code == 2 && refused.err.contains("views.store needs PostgreSQL"), "{}", refused.err);
    let desk = Desk::on(Backend::Postgres).await;
    let refused = desk.run_with(&["serve"], &[there]);
    assert!(refused.code == 2 && refused.err.contains("set views.clickhouse_url to"), "{}", refused.err);
    let secret = ("COPYDESK_VIEWS__CLICKHOUSE_URL", "clickhouse://docs:s3cret@h:9000");
    let refused = desk.run_with(&["config"], &[there, secret]);
    assert!(refused.code == 2 && !refused.err.contains("s3cret"), "{}", refused.err);
}
