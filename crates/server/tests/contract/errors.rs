//! Errors of the router: addresses that are none, and methods that they do not take. The shape of every error, here and
//! in every other test, is held against the contract by the client.

use copydesk_testkit::Wire;
use reqwest::Method;

use crate::stage::Stage;

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"];

async fn unknown_addresses_are_not_found_for_any_method(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let mut paths = vec![
        "/v2".to_owned(),
        "/v2/agent".to_owned(),
        "/v3/agent/docs/jobs".to_owned(),
        "/favicon.ico".to_owned(),
        "/docs/no-such-file.js".to_owned(),
        "/%ff".to_owned(),
        "/HEALTHZ".to_owned(),
    ];
    paths.extend(["", "jobs/", "job/", "Job", "job/x/y/z"].map(|rest| project.path(rest)));
    paths.extend(["/", "/cancel/", "/nonsense"].map(|rest| project.job_path(&id, rest)));
    for path in paths {
        let get = project.client().get(&path).send().await.refused(404, "not_found");
        let without_key = project.client().without_key().get(&path).send().await.refused(404, "not_found");
        assert_eq!(get.bytes, without_key.bytes);
        if !path.starts_with("/docs/") {
            project.client().post(&path).body("x").send().await.refused(404, "not_found");
            project.client().request(Method::from_bytes(b"BREW").unwrap(), &path).send().await.expect(404);
        }
    }
}

async fn wrong_method_names_the_allowed_ones(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let mut routes = project.client().description().routes();
    let get = |path: &str| (path.to_owned(), vec!["GET".to_owned()]);
    routes.extend([get("/openapi.json"), get("/docs"), get("/docs/"), get("/docs/index.html")]);
    assert!(routes.len() >= 14, "all of them");
    for (template, mut allowed) in routes {
        if allowed.contains(&"GET".to_owned()) {
            allowed.push("HEAD".to_owned());
        }
        allowed.sort();
        let path = template.replace("{projectId}", &project.id).replace("{id}", &id);
        for method in METHODS.iter().filter(|method| !allowed.contains(&(**method).to_owned())) {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            for client in [project.client(), &project.client().without_key()] {
                let answer = client.request(method.clone(), &path).send().await.expect(405);
                let mut named: Vec<_> =
                    answer.header("allow").unwrap().split(',').map(|it| it.trim().to_owned()).collect();
                named.sort();
                assert_eq!(named, allowed, "{method} {path}");
                if method != Method::HEAD {
                    answer.refused(405, "method_not_allowed");
                }
            }
        }
    }
    assert_eq!(project.event_types(&id).await, ["created"], "and nothing was done");
}

/// Whatever a client writes into the request line, it gets an answer in the one shape.
async fn strange_addresses_get_the_same_shape(stage: &Stage) {
    let project = stage.project().await;
    for (method, path) in [
        ("GET", "/v2/agent/%/jobs"),
        ("GET", "/v2/agent/docs/jobs%"),
        ("GET", "//"),
        ("GET", "/../../etc/passwd"),
        ("GET", "/v2/agent/docs/job/..%2f..%2f"),
        ("GET", "/v2/agent/%ff/job/%ff"),
        ("OPTIONS", "*"),
        ("CONNECT", "example.com:443"),
        ("GET", "http://example.com/nowhere"),
    ] {
        let mut wire = Wire::connect(project.client()).await;
        wire.send(format!("{method} {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let answer = wire.answer(method, path).await;
        assert!([401, 404].contains(&answer.status), "{path}: {}", answer.text());
    }
    let long = format!("/{}", "a".repeat(8000));
    project.client().get(&long).send().await.refused(404, "not_found");
}

behaviours!(
    unknown_addresses_are_not_found_for_any_method,
    wrong_method_names_the_allowed_ones,
    strange_addresses_get_the_same_shape,
);
