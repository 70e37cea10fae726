use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use copydesk_testkit::Backend;
use serde_json::{Value, json};

use crate::support::{Desk, post};

const HERE: (&str, &str) = ("COPYDESK_WEBHOOKS__ALLOW_PRIVATE", "127.0.0.1");

/// A receiver that takes in `count` deliveries, answers each 200, and gives their bodies.
fn receiver(count: usize) -> (String, std::thread::JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let receive = move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            match line.trim_end().to_lowercase().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nThanks";
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
        serde_json::from_slice(&body).unwrap()
    };
    (url, std::thread::spawn(move || (0..count).map(|_| receive()).collect()))
}

async fn story(backend: Backend) {
    let desk = Desk::on(backend).await;
    let (project, key) = desk.project_and_key("Docs");
    let (url, received) = receiver(3);
    let run = |arguments: &[&str]| desk.run_with(&[&["webhook"], arguments].concat(), &[HERE]);
    let made =
        run(&["add", &project, &url, "--event", "job.created", "--description", "For the chat", "--json"]).json();
    let id = made["id"].as_str().unwrap();
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!((&made["events"], &made["description"]), (&json!(["job.created"]), &json!("For the chat")));
    let listed = run(&["list", "--json"]).json();
    assert_eq!((&listed[0]["id"], listed[0].get("secret")), (&json!(id), None));
    assert!(run(&["list", &project]).ok().out.contains("job.created"));

    // A proxy would look names up past the guard, so none is used.
    let nobody = "http://127.0.0.1:9";
    let proxies = [
        HERE,
        ("HTTP_PROXY", nobody),
        ("http_proxy", nobody),
        ("ALL_PROXY", nobody),
        ("NO_PROXY", ""),
        ("no_proxy", ""),
    ];
    let tested = desk.run_with(&["webhook", "test", id, "--json"], &proxies).json();
    assert_eq!((&tested["lastStatus"], &tested["lastAnswer"]), (&json!(200), &json!("Thanks")));

    let server = desk.serve(&[HERE]);
    let job = json!({ "prompt": "Fix it", "model": "noop" });
    assert_eq!(post(&server.url, &format!("/v2/agent/{project}/job"), &key, &job).0, 201);
    let deliveries = || run(&["deliveries", id, "--json"]).json();
    let delivered = (0..500).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let newest = deliveries()[0].clone();
        (newest["type"] == "job.created" && !newest["deliveredAt"].is_null()).then_some(newest)
    });
    let delivery = delivered.expect("the server delivers")["id"].as_str().unwrap().to_owned();
    let again = run(&["redeliver", &delivery, "--json"]).json();
    assert_ne!(again["id"], delivery);
    let bodies = received.join().unwrap();
    let types: Vec<_> = bodies.iter().map(|body| body["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["webhook.test", "job.created", "job.created"]);
    assert_eq!(bodies[1], bodies[2]);
    assert_eq!(run(&["deliveries", id, "--failed", "--json"]).json(), json!([]));

    let rotated = run(&["rotate", id]).ok();
    assert!(rotated.out.starts_with("whsec_") && rotated.out.trim() != made["secret"]);
    assert_eq!(run(&["pause", id, "--json"]).json()["pausedWhy"], "Somebody paused it.");
    assert!(run(&["list"]).ok().out.contains("paused"));
    assert_eq!(run(&["resume", id, "--json"]).json()["pausedAt"], json!(null));
    assert_eq!(run(&["remove", id, "--json"]).json()["removed"], true);
    assert_eq!(run(&["remove", id]).code, 1);
    let (code, log) = server.terminate();
    assert_eq!(code, Some(0));
    let log = log.join("\n");
    assert!(!log.contains("whsec_") && !log.contains("ERROR"), "{log}");
}

#[tokio::test]
async fn a_webhook_by_command_line_on_sqlite() {
    story(Backend::Sqlite).await;
}

#[tokio::test]
async fn a_webhook_by_command_line_on_postgres() {
    story(Backend::Postgres).await;
}

#[test]
fn what_cannot_be_done_is_said() {
    let desk = Desk::new();
    let (project, _) = desk.project_and_key("Docs");
    let add = |arguments: &[&str]| desk.run(&[&["webhook", "add"], arguments].concat());
    for wrong in ["http://example.com/", "https://127.0.0.1/", "https://me:hunter2@example.com/", "nonsense"] {
        let refused = add(&[&project, wrong]);
        assert_eq!(refused.code, 2, "{wrong}");
        assert!(refused.err.contains("url") && !refused.err.contains("hunter2"), "{}", refused.err);
    }
    assert_eq!(add(&[&project, "https://example.com/", "--event", "job.exploded"]).code, 2);
    assert_eq!(add(&["nowhere", "https://example.com/"]).code, 1);
    assert_eq!(desk.run(&["webhook", "list", "nowhere"]).code, 1);
    for command in ["remove", "pause", "resume", "rotate", "test", "deliveries", "redeliver"] {
        let unknown = desk.run(&["webhook", command, "nothing"]);
        assert_eq!(unknown.code, 1, "{command}");
        assert!(unknown.err.contains("there is no"), "{}", unknown.err);
    }
    // Nobody listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = |arguments: &[&str]| desk.run_with(arguments, &[HERE]);
    let made = run(&["webhook", "add", &project, &format!("http://{gone}/"), "--json"]).json();
    let failed = run(&["webhook", "test", made["id"].as_str().unwrap()]);
    assert_eq!(failed.code, 1);
    assert!(failed.out.contains("cannot connect"), "{}", failed.out);
}
