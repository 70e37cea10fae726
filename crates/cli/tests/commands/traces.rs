//! Traces, as a collector of OpenTelemetry gets them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use copydesk_testkit::{Backend, GitRepo};
use serde_json::{Value, json};

use crate::support::{Desk, get, mcp_call};

const SECRET: &str = "planted-collector-key";
const CALLER: (&str, &str) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");

/// A collector that takes only what OTLP over HTTP in JSON may hold, and gives the spans.
fn collector() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.unwrap());
                while let Some(body) = request(&mut reader) {
                    spans_of(&body).into_iter().for_each(|span| drop(tell.send(span)));
                    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
                    reader.get_mut().write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    (url, told)
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut first = String::new();
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return None;
    }
    assert_eq!(first.trim_end(), "POST /v1/traces HTTP/1.1");
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["x-key"], SECRET);
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    assert!(!String::from_utf8_lossy(&body).contains(SECRET));
    Some(serde_json::from_slice(&body).unwrap())
}

fn names(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn spans_of(body: &Value) -> Vec<Value> {
    assert_eq!(names(body), ["resourceSpans"]);
    let resource = &body["resourceSpans"][0];
    let service = json!({ "key": "service.name", "value": { "stringValue": "docs-desk" } });
    assert!(resource["resource"]["attributes"].as_array().unwrap().contains(&service), "{resource}");
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    for span in &spans {
        const KNOWN: [&str; 9] = [
            "attributes",
            "endTimeUnixNano",
            "kind",
            "name",
            "parentSpanId",
            "spanId",
            "startTimeUnixNano",
            "status",
            "traceId",
        ];
        assert!(names(span).iter().all(|name| KNOWN.contains(name)), "{span}");
        let hex = |name: &str, length: usize| {
            let text = span[name].as_str().unwrap();
            assert!(text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{span}");
        };
        hex("traceId", 32);
        hex("spanId", 16);
        let nanos = |name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
        assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"), "{span}");
        assert!((1..=5).contains(&span["kind"].as_u64().unwrap()), "{span}");
    }
    spans
}

fn desk_with_docs(desk: Desk) -> (Desk, GitRepo, String) {
    let repo = GitRepo::new([("docs/index.md", "# Docs\n\nTeh first page.\n")]);
    let path = repo.path().to_str().unwrap().to_owned();
    desk.run(&["project", "create", "--name", "docs", "--id", "docs", "--repository", &path, "--base-ref", "main"])
        .ok();
    let key = desk.run(&["key", "create", "--project", "docs", "--json"]).json()["key"].as_str().unwrap().to_owned();
    (desk, repo, key)
}

/// Creates a job as a client that is in a trace itself.
fn create(url: &str, key: &str, traceparent: &str) -> String {
    let body = json!({ "prompt": "Replace `Teh` with `Theplanted` everywhere" }).to_string();
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /v2/agent/docs/job HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\
         {traceparent}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    crate::support::body_of(&answer)["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn ended(url: &str, key: &str, id: &str) -> Value {
    let look = |_| {
        std::thread::sleep(Duration::from_millis(20));
        let job = crate::support::body_of(&get(url, &format!("/v2/agent/docs/job/{id}"), key).1);
        (job["status"] != "active").then_some(job)
    };
    (0..1500).find_map(look).expect("the job ends")
}

fn telemetry(url: &str) -> [(&str, &str); 5] {
    [
        ("COPYDESK_OTLP__TRACES", "true"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=planted-collector%2Dkey"),
        ("OTEL_SERVICE_NAME", "docs-desk"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment=test"),
    ]
}

/// The job is created at one process and run by another.
async fn one_trace(backend: Backend, traceparent: &str) -> Vec<Value> {
    let (desk, _repo, key) = desk_with_docs(Desk::on(backend).await);
    let (url, told) = collector();
    let settings = telemetry(&url);
    let server = desk.start(&["serve", "--listen", "127.0.0.1:0", "--workers", "0"], &settings, "listen");
    let worker = desk.start(&["worker", "--admin-listen", "127.0.0.1:0"], &settings, "admin_listen");
    let job = create(&server.url, &key, traceparent);
    let job = ended(&server.url, &key, &job);
    assert_eq!(job["outcome"], "pr_created", "{job}");
    assert_eq!(worker.terminate().0, Some(0));
    assert_eq!(server.terminate().0, Some(0));
    let spans: Vec<Value> = told.try_iter().collect();
    assert!(!format!("{spans:?}").contains("Theplanted") && !format!("{spans:?}").contains(&key));
    let created = spans.iter().find(|span| {
        let status = json!({ "key": "http.response.status_code", "value": { "intValue": "201" } });
        span["attributes"].as_array().unwrap().contains(&status)
    });
    let trace = &created.expect("the request that creates the job")["traceId"];
    let of_trace: Vec<Value> = spans.iter().filter(|span| span["traceId"] == *trace).cloned().collect();
    let id_of = |name: &str| {
        let found = of_trace.iter().find(|span| span["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {of_trace:?}"))["spanId"].clone()
    };
    let parent_of = |span: &Value| span["parentSpanId"].clone();
    let named = |name: &str| of_trace.iter().filter(|span| span["name"] == name).cloned().collect::<Vec<_>>();
    assert!(named("job").iter().all(|span| parent_of(span) == id_of("request")), "{of_trace:?}");
    assert!(!named("git").is_empty() && !named("pull request").is_empty(), "{of_trace:?}");
    // Whatever else there is, it hangs below something of the same trace.
    let ids: Vec<&Value> = of_trace.iter().map(|span| &span["spanId"]).collect();
    for span in of_trace.iter().filter(|span| span["name"] != "request") {
        assert!(ids.contains(&&span["parentSpanId"]), "{span}");
    }
    of_trace
}

#[tokio::test]
async fn a_job_is_one_trace_with_the_request_that_created_it_on_sqlite() {
    let spans = one_trace(Backend::Sqlite, "").await;
    let request = spans.iter().find(|span| span["name"] == "request").unwrap();
    assert!(request.get("parentSpanId").is_none(), "{request}");
}

#[tokio::test]
async fn a_job_goes_on_with_the_trace_of_the_client_on_postgres() {
    let header = format!("traceparent: 00-{}-{}-01\r\n", CALLER.0, CALLER.1);
    let spans = one_trace(Backend::Postgres, &header).await;
    let request = spans.iter().find(|span| span["name"] == "request").unwrap();
    assert_eq!((&request["traceId"], &request["parentSpanId"]), (&json!(CALLER.0), &json!(CALLER.1)));
}

#[test]
fn a_job_that_a_tool_creates_is_in_the_trace_of_its_client() {
    let (desk, _repo, key) = desk_with_docs(Desk::new());
    let (url, told) = collector();
    let server = desk.serve(&telemetry(&url));
    let header = format!("traceparent: 00-{}-{}-01\r\n", CALLER.0, CALLER.1);
    let prompt = json!({ "prompt": "Replace `Teh` with `The` everywhere" });
    let job = mcp_call(&server.url, "docs", &key, &header, "create_job", &prompt);
    assert_eq!(ended(&server.url, &key, job["id"].as_str().unwrap())["outcome"], "pr_created");
    assert_eq!(server.terminate().0, Some(0));
    let spans: Vec<Value> = told.try_iter().collect();
    let of_trace = |name: &str| spans.iter().find(|span| span["name"] == name && span["traceId"] == CALLER.0);
    let request = of_trace("request").unwrap_or_else(|| panic!("{spans:?}"));
    assert_eq!(request["parentSpanId"], CALLER.1);
    let job = of_trace("job").unwrap_or_else(|| panic!("{spans:?}"));
    assert_eq!(job["parentSpanId"], request["spanId"], "{spans:?}");
}

#[test]
fn a_collector_that_hangs_or_refuses_holds_nothing() {
    // Nobody accepts, so requests are taken by the system and never answered.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let refusing = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [hanging.local_addr().unwrap(), refusing] {
        let (desk, _repo, key) = desk_with_docs(Desk::new());
        let url = format!("http://{address}");
        let metrics = ("COPYDESK_LIMITS__PUBLIC_METRICS", "true");
        let settings: Vec<_> = telemetry(&url).into_iter().chain([metrics]).collect();
        let server = desk.serve(&settings);
        let job = create(&server.url, &key, "");
        assert_eq!(ended(&server.url, &key, &job)["outcome"], "pr_created");
        if address == refusing {
            let dropped = |_| {
                std::thread::sleep(Duration::from_millis(20));
                let figures = get(&server.url, "/metrics", "").1;
                figures.contains("copydesk_trace_spans_total{outcome=\"dropped\"}").then_some(())
            };
            (0..500).find_map(dropped).expect("what is dropped is counted");
        }
        let (code, log) = server.terminate();
        assert_eq!(code, Some(0), "{log:?}");
    }
}
