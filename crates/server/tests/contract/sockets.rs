//! Connections and bodies that are slow, idle, too many or unreadable; and the listener for those who run the server.

use std::time::Duration;

use copydesk_domain::ProjectId;
use copydesk_server::AdminListener;
use copydesk_testkit::{PATIENCE, ProjectClient, TestApp, Wire, eventually};
use reqwest::Method;
use serde_json::json;

use crate::stage::Stage;

const MIB: usize = 1024 * 1024;
const HEALTH: &str = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";

async fn is_served(app: &TestApp) {
    let mut wire = Wire::connect(app.client()).await;
    wire.send(HEALTH).await;
    wire.answer(Method::GET, "/healthz").await.expect(200);
}

async fn a_head_that_does_not_come_to_its_end_is_given_up(stage: &Stage) {
    let app = stage.app_with(|setup| setup.http(|limits| limits.head_time = Duration::from_millis(100))).await;
    let mut wires = Vec::new();
    for begun in ["", "G", "GET /healthz HTTP/1.1\r\nhost: x\r\n"] {
        let mut wire = Wire::connect(app.client()).await;
        wire.send(begun).await;
        wires.push(wire);
    }
    let mut second = Wire::connect(app.client()).await;
    second.send(HEALTH).await;
    second.answer(Method::GET, "/healthz").await.expect(200);
    second.send("G").await;
    wires.push(second);
    for wire in wires {
        wire.closed().await;
    }
}

async fn idle_and_slow_connections_give_way_to_new_ones(stage: &Stage) {
    let app = stage.app_with(|setup| setup.http(|limits| limits.connections = 4)).await;
    let mut wires = Vec::new();
    for begun in ["", "G", "GET /healthz HTTP/1.1\r\nhost: x\r\n"].repeat(4) {
        let mut wire = Wire::connect(app.client()).await;
        wire.send(begun).await;
        wires.push(wire);
    }
    for _ in 0..8 {
        is_served(&app).await;
    }
    drop(wires);
}

async fn a_request_that_is_being_answered_is_not_cut_off_by_new_connections(stage: &Stage) {
    let app = stage.app_with(|setup| setup.http(|limits| limits.connections = 2)).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let mut stream = project.client().get(&project.job_path(&id, "/events")).stream().await;
    assert_eq!(stream.next().await.unwrap().event, "created");
    for _ in 0..4 {
        is_served(&app).await;
    }
    project.cancel(&id).await.expect(200);
    assert!(!stream.rest().await.is_empty(), "the stream went on");
}

async fn an_answer_that_is_not_taken_yet_is_not_cut_off_by_new_connections(stage: &Stage) {
    let app = stage.app_with(|setup| setup.http(|limits| limits.connections = 1)).await;
    let mut slow = Wire::connect(app.client()).await;
    slow.send("GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: x\r\n\r\n").await;
    slow.begins().await;
    let mut next = Wire::connect(app.client()).await;
    next.send(HEALTH).await;
    assert!(tokio::time::timeout(Duration::from_millis(300), next.begins()).await.is_err(), "it waits");
    let answer = slow.said().await.expect(200);
    assert!(answer.text().len() > MIB, "more than what is on its way while nobody reads");
    next.answer(Method::GET, "/healthz").await.expect(200);
}

/// Nobody has to come again, a second later, because many come at once.
#[tokio::test]
async fn the_queue_of_a_listener_holds_as_many_as_there_may_be_connections() {
    let listener = copydesk_server::listener(([127, 0, 0, 1], 0).into(), 600).unwrap();
    let address = listener.local_addr().unwrap();
    let connect = |_| tokio::time::timeout(Duration::from_millis(700), tokio::net::TcpStream::connect(address));
    let connected = futures_util::future::join_all((0..600).map(connect)).await;
    assert!(connected.iter().all(|connected| matches!(connected, Ok(Ok(_)))));
}

async fn one_address_cannot_have_all_connections(stage: &Stage) {
    let setup = |setup: copydesk_testkit::Setup| {
        setup
            .http(|limits| (limits.connections, limits.connections_per_peer) = (8, 2))
            .views(|views| views.proxies = copydesk_desk::views::Proxies::new(Vec::new()))
    };
    let app = stage.app_with(setup).await;
    let project = app.project("Docs").await;
    let id = project.job().await;
    let path = project.job_path(&id, "/events");
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = project.client().get(&path).stream().await;
        assert_eq!(stream.next().await.unwrap().event, "created");
        streams.push(stream);
    }
    let mut third = Wire::connect(app.client()).await;
    third.send(HEALTH).await;
    third.said().await.refused(429, "too_many_connections");
    drop(streams);
    let answers = async || app.client().get("/healthz").try_send().await.filter(|status| *status == 200);
    eventually("there is room again", answers).await;
}

/// What the HTTP library says by itself has the shape of every error too, also behind an answer of ours.
async fn what_cannot_be_read_gets_the_shape_of_every_error(stage: &Stage) {
    let app = stage.app().await;
    let long = "a".repeat(70_000);
    let many: String = (0..200).map(|number| format!("x-{number}: y\r\n")).collect();
    let cases = [
        ("nonsense\r\n\r\n".to_owned(), 400, "unreadable_request"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400, "unreadable_request"),
        ("GET /\0 HTTP/1.1\r\n\r\n".to_owned(), 400, "unreadable_request"),
        ("GET / HTTP/1.1\r\nhost\0: x\r\n\r\n".to_owned(), 400, "unreadable_request"),
        ("POST /api/event HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n".to_owned(), 400, "unreadable_request"),
        (format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n"), 414, "address_too_long"),
        (format!("GET / HTTP/1.1\r\nhost: x\r\nx: {long}\r\n\r\n"), 431, "head_too_large"),
        (format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n"), 431, "head_too_large"),
    ];
    for (sent, status, code) in cases {
        for before in [0, 1, 3] {
            let mut wire = Wire::connect(app.client()).await;
            wire.send(format!("{}{sent}", HEALTH.repeat(before))).await;
            for _ in 0..before {
                wire.answer(Method::GET, "/healthz").await.expect(200);
            }
            let answer = wire.said().await;
            // Behind other requests it cannot be told what made the head too large.
            let (status, code) = if before > 0 && status == 414 { (431, "head_too_large") } else { (status, code) };
            let shown: String = sent.chars().take(40).collect();
            assert_eq!(answer.status, status, "{shown:?} {}", answer.text());
            assert_eq!(answer["code"], code, "{shown:?}");
            assert_eq!(answer.header("connection"), Some("close"));
            assert!(answer.header("x-request-id").is_some_and(|id| id.len() >= 20));
            // Nothing follows, whatever else the client had to say.
            wire.ends().await;
        }
    }
    let figures = app.client().get("/metrics").send().await.expect(200).text();
    assert!(figures.contains("route=\"unreadable\",status=\"414\""), "{figures}");
}

/// A request with a body of which only the head has come.
async fn begun(project: &ProjectClient, path: &str, headers: &str, length: usize) -> Wire {
    let mut wire = Wire::connect(project.client()).await;
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n");
    wire.send(head).await;
    wire
}

/// What is signed has to be read before the signature can be wrong, also for a project that there is not.
async fn who_proves_nothing_or_names_a_wrong_secret_is_refused_before_the_body(stage: &Stage) {
    let project = stage.project().await;
    for id in ["no-such-project", &*project.id] {
        for headers in ["", "x-gitlab-token: x\r\n"] {
            let path = format!("/hooks/{id}");
            let mut wire = begun(&project, &path, headers, 4 * MIB).await;
            wire.answer(Method::POST, &path).await.refused(403, "invalid_signature");
        }
        let path = format!("/drains/{id}/cloudflare");
        let mut wire = begun(&project, &path, "x-copydesk-secret: x\r\n", 4 * MIB).await;
        wire.answer(Method::POST, &path).await.expect(403);
    }
}

async fn a_body_that_comes_too_slowly_is_given_up(stage: &Stage) {
    // So much that the grace of five seconds is all there is.
    let app = stage.app_with(|setup| setup.http(|limits| limits.body_rate = 1_000_000_000)).await;
    let project = app.project("Docs").await;
    let (path, key) = (project.path("job"), format!("authorization: Bearer {}\r\n", project.key.secret));
    let mut wire = begun(&project, &path, &format!("{key}content-type: application/json\r\n"), 100).await;
    wire.send("{").await;
    wire.answer(Method::POST, &path).await.refused(408, "body_too_slow");
}

/// Bodies that stop in the middle hold neither the memory nor the places that those need who send all of theirs.
async fn slow_bodies_do_not_starve_a_drain(stage: &Stage) {
    // Room for the bodies of four strangers, and of twelve that are known.
    let app = stage.app_with(|setup| setup.http(|limits| limits.body_memory = 64 * MIB)).await;
    let project = app.project("Docs").await;
    let id = ProjectId::parse(&project.id).unwrap();
    let secret = app.drain_secret(&id).await;
    let (drain, signed) = (format!("/drains/{id}/netlify"), format!("/drains/{id}/vercel"));
    let mut slow = Vec::new();
    let part = vec![b' '; 3 * MIB];
    for number in 0..32 {
        let (path, proof) = match number % 2 {
            0 => (&drain, format!("x-copydesk-secret: {secret}\r\n")),
            _ => (&signed, format!("x-vercel-signature: {}\r\n", "0".repeat(40))),
        };
        let mut wire = begun(&project, path, &proof, 4 * MIB).await;
        wire.try_send(&part).await;
        slow.push(wire);
    }
    let lines = json!([{ "log_type": "traffic", "url": "https://docs.example.com/a", "method": "GET", "status_code": 200,
        "user_agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "timestamp": "2024-11-01T00:00:00Z" }]);
    let mut body = lines.to_string().into_bytes();
    body.resize(8 * MIB, b' ');
    let sent = project.client().post(&drain).header("x-copydesk-secret", &secret).json_text(body).send();
    let answer = tokio::time::timeout(PATIENCE, sent).await.expect("the drain is taken").expect(200);
    assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(1), &json!([])));
    drop(slow);
}

async fn those_who_run_the_server_have_a_listener_of_their_own(stage: &Stage) {
    let app =
        stage.app_with(|setup| setup.http(|limits| (limits.connections, limits.public_metrics) = (2, false))).await;
    app.client().get("/metrics").send().await.refused(404, "not_found");
    let admin = AdminListener::start("127.0.0.1:0".parse().unwrap(), app.app().operation().clone()).unwrap();
    let there = app.client().at(admin.address);
    let project = app.project("Docs").await;
    let id = project.job().await;
    // All connections are in use.
    let mut stream = project.client().get(&project.job_path(&id, "/events")).stream().await;
    assert_eq!(stream.next().await.unwrap().event, "created");
    let _busy =
        begun(&project, &project.path("job"), &format!("authorization: Bearer {}\r\n", project.key.secret), 9).await;
    for path in ["/healthz", "/readyz"] {
        let answer = there.get(path).send().await.expect(200);
        assert_eq!(answer.json(), &json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }));
    }
    let figures = there.get("/metrics").send().await.expect(200).text();
    assert!(figures.contains("copydesk_queue_jobs{state=\"waiting\"} 1"), "{figures}");
    there.get("/v2/agent/docs/jobs").send().await.refused(404, "not_found");
    there.get("/docs/index.html").send().await.refused(404, "not_found");
    there.post("/healthz").send().await.refused(405, "method_not_allowed");
    app.app().desk().stop.ask();
    tokio::time::timeout(PATIENCE, admin.ended()).await.expect("it ends with the server");
}

behaviours!(
    a_head_that_does_not_come_to_its_end_is_given_up,
    idle_and_slow_connections_give_way_to_new_ones,
    a_request_that_is_being_answered_is_not_cut_off_by_new_connections,
    an_answer_that_is_not_taken_yet_is_not_cut_off_by_new_connections,
    one_address_cannot_have_all_connections,
    what_cannot_be_read_gets_the_shape_of_every_error,
    who_proves_nothing_or_names_a_wrong_secret_is_refused_before_the_body,
    a_body_that_comes_too_slowly_is_given_up,
    slow_bodies_do_not_starve_a_drain,
    those_who_run_the_server_have_a_listener_of_their_own,
);
