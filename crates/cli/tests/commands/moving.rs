//! `copydesk move`: everything from one place to another, while a server answers at the old one.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use copydesk_testkit::{Backend, TestClickHouse, TestDatabase};
use serde_json::{Value, json};

use crate::support::{Desk, Ran, Serving, body_of, get, post};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const BOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";
const IN_DATABASE: (&str, &str) = ("COPYDESK_VIEWS__STORE", "database");
const NO_WORKERS: (&str, &str) = ("COPYDESK_RUNNER__WORKERS", "0");
const BACK: [&str; 5] = ["move", "--to-database-url", "sqlite:copydesk-data/copydesk.db", "--to-views", "embedded"];

fn event(path: &str, id: &str, agent: &str) -> Value {
    json!({ "path": path, "userAgent": agent, "id": id })
}

fn tell(server: &Serving, key: &str, events: &Value) -> (u16, Value) {
    post(&server.url, "/v1/analytics/docs/events", key, events)
}

/// Jobs, pages with their views, and what the agents read.
fn seen(server: &Serving, key: &str) -> [Value; 3] {
    [
        "/v2/agent/docs/jobs",
        "/v1/analytics/docs/views?dateFrom=2026-10-01",
        "/v1/analytics/docs/views/agents?dateFrom=2026-10-01",
    ]
    .map(|path| {
        let (status, answer) = get(&server.url, path, key);
        assert_eq!(status, 200, "{path}: {answer}");
        body_of(&answer)
    })
}

/// An installation with a project, a job, a webhook and page views, and a server on it.
fn busy(desk: &Desk) -> (Serving, String) {
    let (project, key) = desk.project_and_key("Docs");
    assert_eq!(project, "docs");
    desk.run(&["webhook", "add", "docs", "https://example.com/hook"]).ok();
    let server = desk.serve(&[NO_WORKERS]);
    for number in 0..5 {
        let job = json!({ "prompt": format!("Fix \u{0} the typo {number}"), "model": "noop" });
        let (status, answer) = post(&server.url, "/v2/agent/docs/job", &key, &job);
        assert_eq!(status, 201, "{answer}");
    }
    let events = json!([event("/a", "1", FIREFOX), event("/b", "2", FIREFOX), event("/b", "3", BOT)]);
    assert_eq!(tell(&server, &key, &events).0, 200);
    let log: String = (0..30)
        .map(|minute| {
            format!(
                "192.0.2.7 - - [10/Oct/2026:13:{minute:02}:36 +0000] \"GET /old HTTP/1.1\" 200 2326 \"-\" \"{FIREFOX}\"\n"
            )
        })
        .collect();
    std::fs::write(desk.path().join("access.log"), log).unwrap();
    desk.run(&["import", "access.log", "--project", "docs"]).ok();
    (server, key)
}

fn on(database: &TestDatabase) -> Vec<(&'static str, String)> {
    vec![
        ("COPYDESK_DATABASE_URL", database.url()),
        ("COPYDESK_VIEWS__STORE", "database".to_owned()),
        ("COPYDESK_RUNNER__WORKERS", "0".to_owned()),
    ]
}

fn run_on(desk: &Desk, database: &TestDatabase, arguments: &[&str]) -> Ran {
    Ran::new(desk.command(arguments).envs(on(database)).output().unwrap())
}

fn serve_on(desk: &Desk, database: &TestDatabase) -> Serving {
    let mut command: Command = desk.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.envs(on(database));
    Serving::start(command, "listen")
}

/// What a move says is to be set, read as a file of settings: the values in force.
fn set_by(desk: &Desk, moved: &Ran) -> String {
    let file = desk.path().join("printed.toml");
    let (_, settings) = moved.out.split_once("in copydesk.toml:\n").unwrap();
    std::fs::write(&file, settings.trim_start().split("\n\n").next().unwrap()).unwrap();
    let mut command = desk.command(&["config", "--config", file.to_str().unwrap()]);
    Ran::new(command.env_remove("COPYDESK_DATABASE_URL").output().unwrap()).ok().out
}

fn value<'a>(set: &'a str, key: &str) -> &'a str {
    set.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).unwrap().split_whitespace().next().unwrap()
}

fn move_to(desk: &Desk, database: &TestDatabase, arguments: &[&str]) -> Ran {
    let mut command = desk.command(&[&["move"], arguments].concat());
    Ran::new(command.env("COPYDESK_TO_DATABASE_URL", database.url()).output().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_to_postgresql_and_back_while_a_server_answers() {
    let (desk, database) = (Desk::new(), TestDatabase::new(Backend::Postgres).await);
    let (old, key) = busy(&desk);
    let before = seen(&old, &key);
    let moved = move_to(&desk, &database, &["--to-views", "database"]).ok();
    assert!(moved.out.contains("Everything was moved, and compared."), "{}", moved.out);
    let set = set_by(&desk, &moved);
    assert!(
        value(&set, "database_url").starts_with("postgres://") && value(&set, "views.store") == "database",
        "{set}"
    );
    // The old server answers, and takes nothing.
    assert_eq!(seen(&old, &key), before);
    for (path, body) in [
        ("/v1/analytics/docs/events", event("/a", "9", FIREFOX)),
        ("/v2/agent/docs/job", json!({ "prompt": "More", "model": "noop" })),
    ] {
        let (status, answer) = post(&old.url, path, &key, &body);
        assert_eq!(status, 503, "{answer}");
        assert!(answer.to_string().contains("moved"), "{answer}");
    }
    // Who watches over it is told so, and not the password of the new place.
    let told = "everything was moved from this database to postgres://";
    let (status, answer) = get(&old.url, "/readyz", "");
    let in_public = "Everything is moving to another database, or has moved";
    assert!(status == 503 && body_of(&answer)["error"].as_str().unwrap().contains(in_public), "{answer}");
    assert!(!answer.contains("postgres"), "where, only the admin listener says: {answer}");
    let unready = desk.run(&["health", &old.url]);
    assert!(unready.code == 1 && unready.err.contains(in_public), "{}{}", unready.out, unready.err);
    let looked = desk.run(&["doctor"]);
    assert!(looked.code == 1 && looked.out.contains(&format!("FAILED   database: {told}")), "{}", looked.out);
    // Nobody works on the old place by mistake.
    for command in [&["serve"][..], &["project", "list"], &["import", "access.log", "--project", "docs"]] {
        let refused = desk.run(command);
        assert!(refused.code == 1 && refused.err.contains("was moved from this database to"), "{}", refused.err);
    }
    let again = move_to(&desk, &database, &["--to-views", "database"]).ok();
    assert_eq!(set_by(&desk, &again), set);
    assert!(again.out.contains("Everything was moved already."), "{}", again.out);
    // Everything is at the new one, and an id from before counts once.
    let new = serve_on(&desk, &database);
    assert!(!new.early.concat().contains("are not shown"), "none are lost: {:?}", new.early);
    assert_eq!(seen(&new, &key), before);
    let both = json!([event("/a", "1", FIREFOX), event("/c", "4", FIREFOX)]);
    assert_eq!(tell(&new, &key, &both).1["duplicates"], 1);
    assert_eq!(post(&new.url, "/v2/agent/docs/job", &key, &json!({ "prompt": "New", "model": "noop" })).0, 201);
    let before = seen(&new, &key);
    run_on(&desk, &database, &["import", "access.log", "--project", "docs"]).ok();
    assert_eq!(seen(&new, &key), before, "the log was read before");
    run_on(&desk, &database, &["views", "verify"]).ok();
    drop(old);
    // And back.
    run_on(&desk, &database, &BACK).ok();
    assert_eq!(seen(&new, &key)[0], before[0], "it answers still");
    assert_eq!(tell(&new, &key, &event("/a", "10", FIREFOX)).0, 503);
    let refused = run_on(&desk, &database, &["serve"]);
    assert!(refused.code == 1 && refused.err.contains("moved"), "{}", refused.err);
    drop(new);
    let old = desk.serve(&[NO_WORKERS]);
    assert_eq!(seen(&old, &key), before);
    let both = json!([event("/a", "1", FIREFOX), event("/c", "4", FIREFOX), event("/c", "5", FIREFOX)]);
    assert_eq!(tell(&old, &key, &both).1["duplicates"], 2);
    let before = seen(&old, &key);
    desk.run(&["import", "access.log", "--project", "docs"]).ok();
    assert_eq!(seen(&old, &key), before, "the log was read before");
    desk.run(&["views", "verify"]).ok();
    // What was left is no obstacle to going there once more.
    move_to(&desk, &database, &["--to-views", "database"]).ok();
    let new = serve_on(&desk, &database);
    assert_eq!(seen(&new, &key)[0], before[0]);
    assert_eq!(tell(&new, &key, &event("/c", "5", FIREFOX)).1["duplicates"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn page_views_alone_go_into_the_database_and_back() {
    let desk = Desk::on(Backend::Postgres).await;
    let (server, key) = busy(&desk);
    let before = seen(&server, &key);
    desk.run(&["move", "--to-views", "database"]).ok();
    assert_eq!(tell(&server, &key, &event("/a", "9", FIREFOX)).0, 503);
    assert_eq!(
        post(&server.url, "/v2/agent/docs/job", &key, &json!({ "prompt": "Still", "model": "noop" })).0,
        201,
        "jobs go on"
    );
    drop(server);
    let refused = desk.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.code == 1 && refused.err.contains("page views were moved"), "{}", refused.err);
    let new = desk.serve(&[NO_WORKERS, IN_DATABASE]);
    assert_eq!(seen(&new, &key)[1..], before[1..]);
    // The folder of another machine is not mixed into them.
    let (other, there) = (["--data-dir", "other"], [NO_WORKERS]);
    let (keys, data) = ("credentials.key", desk.path().join("copydesk-data"));
    std::fs::create_dir(desk.path().join("other")).unwrap();
    std::fs::copy(data.join(keys), desk.path().join("other").join(keys)).unwrap();
    let second = desk.start(&[&["serve", "--listen", "127.0.0.1:0"], &other[..]].concat(), &there, "listen");
    assert_eq!(tell(&second, &key, &event("/elsewhere", "1", FIREFOX)).0, 200);
    let refused = desk.run(&[&["move", "--to-views", "database"], &other[..]].concat());
    assert!(refused.code == 1 && refused.err.contains("page views in the database already"), "{}", refused.err);
    desk.run(&[&["move", "--cancel"], &other[..]].concat()).ok();
    assert_eq!(tell(&second, &key, &event("/elsewhere", "2", FIREFOX)).0, 200, "it goes on");
    drop(second);
    // Back into the folder that was left.
    desk.run_with(&["move", "--to-views", "embedded"], &[IN_DATABASE]).ok();
    drop(new);
    let old = desk.serve(&[NO_WORKERS]);
    assert_eq!(seen(&old, &key)[1..], before[1..]);
    assert_eq!(tell(&old, &key, &event("/a", "1", FIREFOX)).1["duplicates"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn page_views_go_to_clickhouse_and_back() {
    let (desk, clickhouse) = (Desk::on(Backend::Postgres).await, TestClickHouse::new());
    let url = clickhouse.url();
    let there = [NO_WORKERS, ("COPYDESK_VIEWS__STORE", "clickhouse"), ("COPYDESK_VIEWS__CLICKHOUSE_URL", &*url)];
    let (server, key) = busy(&desk);
    let before = seen(&server, &key);
    let moved = desk.run_with(&["move", "--to-views", "clickhouse"], &there[2..]).ok();
    let set = set_by(&desk, &moved);
    assert_eq!((value(&set, "views.store"), value(&set, "views.clickhouse_url")), ("clickhouse", &*url));
    drop(server);
    let new = desk.serve(&there);
    assert_eq!(seen(&new, &key)[1..], before[1..]);
    let both = json!([event("/a", "1", FIREFOX), event("/c", "4", FIREFOX)]);
    assert_eq!(tell(&new, &key, &both).1["duplicates"], 1);
    let before = seen(&new, &key);
    desk.run_with(&["import", "access.log", "--project", "docs"], &there).ok();
    assert_eq!(seen(&new, &key), before, "the log was read before");
    desk.run_with(&["views", "verify"], &there).ok();
    assert!(clickhouse.sums().iter().all(|sum| *sum == 34), "{:?}", clickhouse.sums());
    // Both are behind the same ledger, so that neither is an empty place.
    let refused = desk.run_with(&["move", "--to-views", "database"], &there);
    assert!(refused.code == 2 && refused.err.contains("--to-views embedded"), "{}", refused.err);
    desk.run_with(&["move", "--to-views", "embedded"], &there).ok();
    drop(new);
    let refused = desk.run_with(&["serve", "--listen", "127.0.0.1:0"], &there);
    assert!(refused.code == 1 && refused.err.contains("page views were moved"), "{}", refused.err);
    let old = desk.serve(&[NO_WORKERS]);
    assert_eq!(seen(&old, &key)[1..], before[1..]);
    drop(old);
    // What was left is no obstacle to going there, or into the tables of the database.
    desk.run_with(&["move", "--to-views", "clickhouse"], &there[2..]).ok();
    let new = desk.serve(&there);
    assert_eq!(seen(&new, &key)[1..], before[1..]);
    desk.run_with(&["move", "--to-views", "embedded"], &there).ok();
    drop(new);
    desk.run(&["move", "--to-views", "database"]).ok();
    assert_eq!(seen(&desk.serve(&[NO_WORKERS, IN_DATABASE]), &key)[1..], before[1..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_into_a_place_that_is_not_empty_is_refused_and_one_that_is_given_up_leaves_nothing() {
    let (desk, database) = (Desk::new(), TestDatabase::new(Backend::Postgres).await);
    let (server, key) = busy(&desk);
    let other = Desk::new();
    other.project_and_key("Theirs");
    move_to(&other, &database, &[]).ok();
    let refused = move_to(&desk, &database, &[]);
    assert!(refused.code == 1 && refused.err.contains("there is something in the target already"), "{}", refused.err);
    assert!(!refused.err.contains(&database.url()), "an address may hold a password");
    // It goes on where it is, also while a move is under way.
    assert_eq!(tell(&server, &key, &event("/a", "7", FIREFOX)).0, 200);
    let elsewhere = TestDatabase::new(Backend::Postgres).await;
    let given_up = desk.run(&["move", "--cancel"]).ok();
    assert!(given_up.out.contains("no move to give up"), "a refused one is none: {}", given_up.out);
    assert_eq!(post(&server.url, "/v2/agent/docs/job", &key, &json!({ "prompt": "More", "model": "noop" })).0, 201);
    // Neither a second one nor giving up goes beside one that runs.
    let running = std::fs::File::open(desk.path().join("copydesk-data/move.lock")).unwrap();
    running.lock().unwrap();
    for arguments in [&[][..], &["--cancel"]] {
        let beside = move_to(&desk, &elsewhere, arguments);
        assert!(beside.code == 1 && beside.err.contains("another `copydesk move` works"), "{}", beside.err);
    }
    drop(running);
    move_to(&desk, &elsewhere, &[]).ok();
    let late = move_to(&desk, &elsewhere, &["--cancel"]);
    assert!(late.code == 1 && late.err.contains("already"), "{}", late.err);
    // A copy from before says nothing of having been moved.
    let same = desk.run(&["move", "--to-database-url", "sqlite:elsewhere.db"]);
    assert!(same.code == 2 && same.err.contains("of one kind"), "{}", same.err);
    let nothing = desk.run(&["move"]);
    assert!(nothing.code == 2 && nothing.err.contains("nothing to move"), "{}", nothing.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn page_views_that_are_on_their_way_are_not_left_behind() {
    let (desk, database) = (Desk::new(), TestDatabase::new(Backend::Postgres).await);
    let (server, _) = busy(&desk);
    // A worker has a job in hand that does not end.
    let rows = rusqlite::Connection::open(desk.path().join("copydesk-data/copydesk.db")).unwrap();
    let held = "UPDATE jobs SET worker = 'w', attempt = 1, lease_expires_at = 9000000000000 \
                WHERE id = (SELECT MIN(id) FROM jobs)";
    assert_eq!(rows.execute(held, []).unwrap(), 1);
    let mut command = desk.command(&["move", "--to-views", "database"]);
    let mut moving = command.env("COPYDESK_TO_DATABASE_URL", database.url()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(moving.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains("Waiting for 1 running job")));
    // Whoever wonders why no job begins is told.
    let (status, ready) = get(&server.url, "/readyz", "");
    assert!(status == 200 && ready.contains("is being moved to another database"), "{ready}");
    let looked = desk.run(&["doctor"]);
    assert!(looked.out.contains("is being moved to another database"), "{}", looked.out);
    moving.kill().unwrap();
    moving.wait().unwrap();
    let without = move_to(&desk, &database, &[]);
    assert!(without.code == 2 && without.err.contains("page views are on their way to"), "{}", without.err);
    assert!(without.err.contains("--to-views") && without.err.contains("--cancel"), "{}", without.err);
    move_to(&desk, &database, &["--to-views", "database", "--cancel"]).ok();
    assert!(!get(&server.url, "/readyz", "").1.contains("moved"));
}

#[test]
fn a_target_that_is_wrong_is_spoken_of_by_what_named_it() {
    let desk = Desk::new();
    desk.project_and_key("Docs");
    let gone = "postgres://docs:s3cret@127.0.0.1:1/docs";
    std::fs::write(desk.path().join("target"), gone).unwrap();
    for (flags, variable, named) in [
        (&["--to-database-url", gone][..], None, "--to-database-url,"),
        (&["--to-database-url-file", "target"], None, "--to-database-url-file,"),
        (&[], Some(gone), "COPYDESK_TO_DATABASE_URL,"),
    ] {
        let mut command = desk.command(&[&["move"], flags].concat());
        let ran = Ran::new(command.envs(variable.map(|it| ("COPYDESK_TO_DATABASE_URL", it))).output().unwrap());
        assert!(ran.code == 1 && ran.err.contains(&format!("check {named}")), "{}", ran.err);
        assert!(!ran.err.contains("s3cret"), "{}", ran.err);
    }
    let ran = desk.run(&["move", "--to-views", "database"]);
    let words = ["--to-views database needs PostgreSQL", "with --to-database-url or COPYDESK_TO_DATABASE_URL"];
    assert!(ran.code == 2 && words.iter().all(|word| ran.err.contains(word)), "{}", ran.err);
    let ran = desk
        .run_with(&["move", "--to-database-url", "sqlite:other.db"], &[("COPYDESK_DATABASE_URL", gone), IN_DATABASE]);
    assert!(ran.code == 2 && ran.err.contains("--to-views embedded"), "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_is_not_said_to_have_been_moved() {
    let (desk, database) = (Desk::new(), TestDatabase::new(Backend::Postgres).await);
    desk.project_and_key("Docs");
    let copy = desk.path().join("copy");
    desk.run(&["backup", "copy"]).ok();
    move_to(&desk, &database, &[]).ok();
    let data = desk.path().join("copydesk-data");
    for name in ["copydesk.db", "copydesk.db-wal", "copydesk.db-shm"] {
        let _ = std::fs::remove_file(data.join(name));
    }
    std::fs::copy(copy.join("copydesk.db"), data.join("copydesk.db")).unwrap();
    let refused = move_to(&desk, &database, &[]);
    assert!(refused.code == 1 && refused.err.contains("something in the target already"), "{}", refused.err);
}
