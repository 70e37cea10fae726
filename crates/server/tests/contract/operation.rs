//! What those who run the server see: health, figures, the description, compression, request ids, the log.

use std::io::Read;

use copydesk_domain::{ApiKey, Scope};
use copydesk_server::api::document;
use copydesk_testkit::{Answer, Backend};
use reqwest::Method;
use serde_json::json;

use crate::log::Log;
use crate::stage::{Stage, run};

async fn health_and_readiness_need_no_key(stage: &Stage) {
    let app = stage.app().await;
    for path in ["/healthz", "/readyz"] {
        let answer = app.client().get(path).send().await.expect(200);
        assert_eq!(answer.json(), &json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
}

async fn readiness_says_that_everything_is_being_moved(stage: &Stage) {
    let app = stage.app().await;
    let ready = async || app.client().get("/readyz").send().await.expect(200).json().clone();
    let note = app.store().begin_leaving("postgres://elsewhere".to_owned()).await.unwrap();
    assert!(ready().await.get("details").is_none(), "all is as ever while it is copied");
    app.store().drain(&note.move_id).await.unwrap();
    let details = ready().await["details"].to_string();
    assert!(details.contains("being moved") && !details.contains("elsewhere"), "{details}");
}

async fn figures_count_by_route_and_never_by_client(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Very Secret Project").await;
    let id = project.job().await;
    project.get(&id).await.expect(200);
    project.get("nonsense").await.expect(404);
    app.client().get("/made-up-by-a-client").send().await.expect(404);
    app.client().request(Method::from_bytes(b"BREW").unwrap(), "/healthz").send().await.expect(405);
    let answer = app.client().get("/metrics").send().await.expect(200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = answer.text();
    let route = "/v2/agent/{projectId}/job/{id}";
    for line in [
        &format!("copydesk_http_requests_total{{method=\"GET\",route=\"{route}\",status=\"200\"}} 1"),
        &format!("copydesk_http_requests_total{{method=\"GET\",route=\"{route}\",status=\"404\"}} 1"),
        "copydesk_http_requests_total{method=\"POST\",route=\"/v2/agent/{projectId}/job\",status=\"201\"} 1",
        "copydesk_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"} 1",
        "copydesk_http_requests_total{method=\"other\",route=\"/healthz\",status=\"405\"} 1",
        "copydesk_queue_jobs{state=\"waiting\"} 1",
        "copydesk_queue_jobs{state=\"running\"} 0",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    for secret in [id.as_str(), "secret-project", "made-up", "BREW", &project.key.id, &project.key.secret] {
        assert!(!text.contains(secret), "{secret}\n{text}");
    }
}

async fn the_description_is_served_and_fits_the_settings(stage: &Stage) {
    let app = stage.app_with(|setup| setup.rules(|it| it.models = vec!["builtin".into(), "claude-x".into()])).await;
    let served = app.client().get("/openapi.json").send().await.expect(200);
    assert_eq!(served.json(), &document(&app.app().desk().jobs.rules().models));
    assert!(served["openapi"].as_str().unwrap().starts_with("3.1."));
    let models = &served["components"]["schemas"]["CreateJob"]["properties"]["model"]["enum"];
    assert_eq!(models, &json!(["builtin", "claude-x", null]));
    let described: Vec<_> = served["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    for path in ["/v2/agent/{projectId}/job", "/v2/agent/{projectId}/job/{id}/events", "/readyz"] {
        assert!(described.contains(&path), "{path}");
    }
}

/// A change of the interface is a visible diff.
#[test]
fn the_description_is_what_it_was() {
    run(Backend::Sqlite, 2, async |stage: &Stage| {
        let app = stage.app().await;
        let mut description = document(&app.app().desk().jobs.rules().models);
        assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
        description["info"]["version"] = json!("[version]");
        insta::with_settings!({ sort_maps => true }, { insta::assert_json_snapshot!("openapi", description) });
    });
}

/// Values of `src` and `href` in a page.
fn references(html: &str) -> Vec<String> {
    let after = |mark: &'static str| {
        html.split(mark).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    [after("src=\""), after("href=\"")].concat()
}

async fn the_page_of_the_interface_works_without_the_internet(stage: &Stage) {
    let app = stage.app().await;
    for path in ["/docs", "/docs/"] {
        let answer = app.client().get(path).send().await.expect(307);
        assert_eq!(answer.header("location"), Some("/docs/index.html"));
    }
    let page = app.client().get("/docs/index.html").send().await.expect(200);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    let files = references(&page.text());
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        assert!(!file.contains("//"), "{file} is elsewhere");
        let answer = app.client().get(&format!("/docs/{}", file.trim_start_matches("./"))).send().await.expect(200);
        // What the page is not allowed to fetch from elsewhere it cannot need.
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'self';") && !policy.contains("http") && !policy.contains('*'),
            "{policy}"
        );
        if !file.contains("bundle") && !file.contains("preset") && !file.ends_with(".png") {
            let text = answer.text();
            let outside = text.split("//").skip(1).filter(|rest| !rest.starts_with("www.w3.org/")).count();
            let comments = text.lines().filter(|line| line.trim_start().starts_with("//")).count();
            assert!(!text.contains("url(http") && !text.contains("@import"), "{file}");
            assert!(file.ends_with(".css") || outside == comments, "{file} names another host:\n{text}");
        }
    }
    let start = app.client().get("/docs/swagger-initializer.js").send().await.expect(200).text();
    assert!(start.contains("/openapi.json") && !start.contains("petstore"), "{start}");
}

/// "Try it out" sends them as they stand.
async fn the_examples_of_the_description_are_taken(stage: &Stage) {
    let app = stage.app().await;
    let project = app.project("Acme docs").await;
    let administrator = app.client().with_key(&app.key(None, Scope::Admin, None).await.secret);
    let description = document(&app.app().desk().jobs.rules().models);
    let job = project.job().await;
    let mut taken = 0;
    for (template, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            for parameter in parameters.filter(|it| it["name"] == "projectId" && it["in"] == "path") {
                // Whoever wants to change or delete a project names it.
                let example = if matches!(&**method, "get" | "post") { json!("acme-docs") } else { json!(null) };
                assert_eq!(parameter["example"], example, "{method} {template}");
            }
            let example = &operation["requestBody"]["content"]["application/json"]["example"];
            if example.is_null() {
                // Every body in JSON has one, but for those that only programs can sign.
                let has_body = operation["requestBody"]["content"]["application/json"].is_object();
                assert!(!has_body || template.starts_with("/drains/") || template.starts_with("/hooks/"), "{template}");
                continue;
            }
            if template.contains("{userId}") {
                continue;
            }
            let path = template.replace("{projectId}", &project.id).replace("{id}", &job);
            let client = if template.starts_with("/v1/admin/") { &administrator } else { project.client() };
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let answer = client.request(method, &path).json(example).send().await;
            assert!((200..300).contains(&answer.status), "{template}: {}", answer.text());
            taken += 1;
        }
    }
    assert_eq!(taken, 10);
}

fn gunzip(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&*answer.bytes).read_to_end(&mut plain).unwrap();
    plain
}

async fn large_answers_are_compressed_for_those_who_can_read_them(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for _ in 0..4 {
        project.job().await;
    }
    for path in [project.path("jobs"), "/openapi.json".to_owned(), "/docs/swagger-ui-bundle.js".to_owned()] {
        let plain = project.client().get(&path).send().await.expect(200);
        assert_eq!(plain.header("content-encoding"), None);
        let packed = project.client().get(&path).header("accept-encoding", "gzip").send().await.expect(200);
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{path}");
        assert!(packed.header("vary").unwrap().to_lowercase().contains("accept-encoding"));
        assert!(packed.bytes.len() < plain.bytes.len());
        assert_eq!(gunzip(&packed), plain.bytes);
    }
    let small = project.client().get(&project.job_path(&id, "")).header("accept-encoding", "gzip").send().await;
    assert_eq!(small.expect(200).header("content-encoding"), None);
    project.cancel(&id).await.expect(200);
    // A stream that was packed would arrive late.
    let stream = project.client().get(&project.job_path(&id, "/events")).header("accept-encoding", "gzip");
    assert_eq!(stream.stream().await.rest().await.len(), 2);
}

/// That every answer has an id is seen to by the client.
async fn a_well_formed_request_id_is_taken_over(stage: &Stage) {
    let project = stage.project().await;
    let key = ApiKey::generate();
    for path in ["/healthz", "/nowhere", &project.path("jobs"), &project.job_path("x", ""), &project.path("job")] {
        let ask = async |id: &[u8]| {
            let answer = project.client().get(path).header("x-request-id", id).send().await;
            answer.header("x-request-id").unwrap().to_owned()
        };
        for good in ["a", "My-own_id.7", "01890a5d-ac96-774b-bcce-b302099a8057", &"x".repeat(128)] {
            assert_eq!(ask(good.as_bytes()).await, good, "{path}");
        }
        for bad in [&b""[..], &[b'x'; 129], b"a b", b"a/b", b"a\"b", "ä".as_bytes(), b"a,b", key.reveal().as_bytes()] {
            let given = ask(bad).await;
            assert_ne!(given.as_bytes(), bad);
            assert_eq!(given.len(), 36, "a new one: {given}");
        }
    }
    let new = async || {
        let answer = project.list("").await;
        answer.header("x-request-id").unwrap().to_owned()
    };
    assert_ne!(new().await, new().await);
}

async fn every_answer_is_a_line_in_the_log(stage: &Stage) {
    let log = Log::listen();
    let project = stage.project().await;
    let created = project.create("Fix it.").await;
    project.client().without_key().get("/nowhere").header("x-request-id", "r-7").send().await.expect(404);
    stage.db.execute("ALTER TABLE jobs RENAME TO elsewhere").await;
    let broken = project.list("").await.expect(500);
    let lines = log.access();
    assert_eq!(lines.len(), 3, "{lines:?}");
    let fields: Vec<_> = lines.iter().map(|line| &line["fields"]).collect();
    assert_eq!((&fields[0]["method"], &fields[0]["status"]), (&json!("POST"), &json!(201)));
    assert_eq!(fields[0]["path"], json!(project.path("job")));
    assert_eq!(fields[0]["request_id"], created.header("x-request-id").unwrap());
    assert_eq!(fields[0]["key"], json!(project.key.id));
    assert!(fields[0]["ms"].as_f64().is_some_and(|ms| ms > 0.0));
    assert_eq!((&fields[1]["status"], &fields[1]["request_id"]), (&json!(404), &json!("r-7")));
    assert_eq!(fields[1].get("key"), None);
    assert_eq!((&lines[2]["level"], &fields[2]["status"]), (&json!("ERROR"), &json!(500)));
    assert_eq!(fields[2]["request_id"], broken.header("x-request-id").unwrap());
    assert!(fields[2]["cause"].as_str().unwrap().contains("jobs"), "the reason is here, under the id the client has");
}

async fn the_log_holds_no_secrets(stage: &Stage) {
    let log = Log::listen();
    let project = stage.project().await;
    let (key, stray) = (project.key.secret.clone(), ApiKey::generate());
    let stray = stray.reveal();
    let prompt = "The password is s3cret-in-a-prompt.";
    let call = project.creation().header("idempotency-key", "s3cret-in-a-header");
    let created = call.json(&json!({ "prompt": prompt })).send().await.expect(201);
    project.message(created["id"].as_str().unwrap(), prompt).await.expect(200);
    // A key in all the wrong places.
    let client = project.client();
    client.get(&project.path(&format!("jobs?cursor={key}"))).send().await.expect(400);
    client.get(&format!("/v2/agent/{key}/jobs")).send().await.expect(404);
    client.get(&format!("/{stray}")).send().await.expect(404);
    client.get(&project.job_path(stray, "")).send().await.expect(404);
    client.get("/healthz").header("x-request-id", stray).send().await.expect(200);
    client.with_key(stray).get(&project.path("jobs")).send().await.expect(401);
    project.creation().json_text(format!("{{\"{stray}\":1}}")).send().await.expect(400);
    project.creation().json_text(format!("{{\"prompt\":\"s3cret-in-bad-json{stray}")).send().await.expect(400);
    assert_eq!(log.access().len(), 10);
    let text = log.text();
    for secret in [&key[9..], &stray[9..], "s3cret"] {
        assert!(!text.contains(secret), "{secret} is in the log:\n{text}");
    }
}

behaviours!(
    health_and_readiness_need_no_key,
    readiness_says_that_everything_is_being_moved,
    figures_count_by_route_and_never_by_client,
    the_description_is_served_and_fits_the_settings,
    the_page_of_the_interface_works_without_the_internet,
    the_examples_of_the_description_are_taken,
    large_answers_are_compressed_for_those_who_can_read_them,
    a_well_formed_request_id_is_taken_over,
);

mod one_thread {
    use super::{every_answer_is_a_line_in_the_log, the_log_holds_no_secrets};

    behaviours!(1; every_answer_is_a_line_in_the_log, the_log_holds_no_secrets);
}
