//! What browsers send: Plausible's events, the pixel, and the script that they load.

use std::io::Read;
use std::time::Duration;

use copydesk_testkit::{Answer, Call, ProjectClient, TestApp};
use reqwest::Method;
use serde_json::{Value, json};

use super::{CHROME, gzip, site};
use crate::stage::Stage;

behaviours! {
    plausibles_event_is_counted,
    an_event_names_its_project_by_domain_or_id,
    what_is_no_view_of_the_site_is_dropped,
    an_event_that_cannot_be_read_is_refused,
    the_same_page_in_a_moment_counts_once,
    browsers_may_ask_first,
    the_pixel_counts_and_is_always_a_picture,
    fetching_ahead_is_no_view,
    the_script_is_small_and_can_be_cached,
    views_that_cannot_be_kept,
    a_project_that_is_gone_takes_nothing,
    a_page_may_be_named_after_a_file,
    one_network_tells_of_so_many_a_minute,
}

/// A browser's request, from an address of its own.
fn from(call: Call, ip: &str) -> Call {
    call.header("user-agent", CHROME).header("x-forwarded-for", ip)
}

async fn event(app: &TestApp, ip: &str, body: Value) -> Answer {
    let call = app.client().post("/api/event").header("content-type", "text/plain").body(body.to_string());
    from(call, ip).send().await
}

/// Whether an answer takes an event for a view. It does not say whether that was counted: that would tell which projects
/// there are.
fn taken(answer: Answer) -> bool {
    let answer = answer.expect(202);
    assert_eq!(answer.text(), "ok");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    match answer.header("x-plausible-dropped") {
        None => true,
        Some("1") => false,
        other => panic!("{other:?}"),
    }
}

fn page(path: &str, project: &str) -> Value {
    json!({ "n": "pageview", "u": format!("https://docs.example.com{path}"), "d": project })
}

async fn one_network_tells_of_so_many_a_minute(stage: &Stage) {
    let app = stage.app_with(|setup| setup.views(|views| views.per_network = 3)).await;
    let project = app.project("Docs").await;
    let tell = async |ip: &str, path: &str| event(&app, ip, page(path, &project.id)).await;
    for last in 1..=3 {
        assert!(taken(tell(&format!("192.0.2.{last}"), "/a").await));
    }
    let refused = tell("192.0.2.4", "/a").await.refused(429, "rate_limited");
    assert_eq!(refused.header("access-control-allow-origin"), Some("*"), "the page's script can read it");
    assert_eq!(refused.number("retry-after"), 20);
    let pixel = |ip: &str| from(app.client().get(&format!("/pixel/{}.gif?u=/b", project.id)), ip);
    pixel("192.0.2.5").send().await.refused(429, "rate_limited");
    assert!(taken(tell("198.51.100.1", "/a").await), "others are not held up");
    app.client().get("/js/view.js").header("x-forwarded-for", "192.0.2.5").send().await.expect(200);
    stage.advance(Duration::from_secs(20));
    pixel("192.0.2.5").send().await.expect(200);
    pixel("192.0.2.5").send().await.expect(429);
}

async fn plausibles_event_is_counted(stage: &Stage) {
    let (app, project) = site(stage).await;
    let full = json!({ "n": "pageview", "u": "https://docs.example.com/x/?utm_source=a#b", "d": "docs.example.com",
        "r": "https://a.b/", "w": 1280, "h": 0, "v": 36, "p": { "author": "x" } });
    assert!(taken(event(&app, "192.0.2.1", full).await));
    let long = json!({ "name": "pageview", "url": "https://docs.example.com/x", "domain": "docs.example.com" });
    let call = from(app.client().post("/api/event").json(&long), "192.0.2.2");
    assert!(taken(call.send().await));
    assert_eq!(app.views().of(&project.id, "/x").await, (2, 0));
}

async fn an_event_names_its_project_by_domain_or_id(stage: &Stage) {
    let (app, project) = site(stage).await;
    let open = app.project("Open").await;
    assert!(taken(event(&app, "192.0.2.1", page("/id", &project.id)).await));
    assert!(taken(event(&app, "192.0.2.1", page("/domain", "Docs.Example.com")).await));
    let host = json!({ "n": "pageview", "u": "https://docs.example.com/host" });
    assert!(taken(event(&app, "192.0.2.1", host).await), "by the host of the page");
    let dot =
        json!({ "n": "pageview", "u": "https://docs.example.com./dot", "d": "docs.example.com.,docs.example.com" });
    assert!(taken(event(&app, "192.0.2.1", dot).await), "the same host");
    assert!(taken(event(&app, "192.0.2.1", page("/both", "docs.example.com, open, nobody")).await));
    assert_eq!(app.views().all(&project.id).await, 5);
    assert_eq!(app.views().of(&open.id, "/both").await, (1, 0), "it names no domains, so it takes all");
    assert!(taken(event(&app, "192.0.2.1", page("/x", "nobody.example.com")).await));
    assert!(taken(event(&app, "192.0.2.1", page("/x", "a\0b")).await));
}

async fn what_is_no_view_of_the_site_is_dropped(stage: &Stage) {
    let (app, project) = site(stage).await;
    let other = |n: &str, u: &str| json!({ "n": n, "u": u, "d": project.id });
    assert!(!taken(event(&app, "192.0.2.1", other("engagement", "https://docs.example.com/x")).await));
    assert!(!taken(event(&app, "192.0.2.1", other("Sign up", "https://docs.example.com/x")).await));
    assert!(taken(event(&app, "192.0.2.1", other("pageview", "https://evil.example/x")).await));
    assert!(taken(event(&app, "192.0.2.1", other("pageview", "https://sub.docs.example.com/x")).await));
    assert_eq!(app.views().all(&project.id).await, 0);
}

async fn an_event_that_cannot_be_read_is_refused(stage: &Stage) {
    let (app, project) = site(stage).await;
    for (body, code) in [
        (json!({}), "invalid_event"),
        (json!([]), "invalid_json"),
        (json!({ "n": "pageview", "u": "/x", "d": project.id }), "invalid_event"),
        (json!({ "n": "pageview", "u": 1, "d": project.id }), "invalid_event"),
        (page(&format!("/{}", "x".repeat(3000)), &project.id), "path_too_long"),
    ] {
        let answer = event(&app, "192.0.2.1", body).await.refused(400, code);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    }
    let padded = |length: usize| {
        let mut body = page("/x", &project.id).to_string().into_bytes();
        body.resize(length, b' ');
        from(app.client().post("/api/event").body(body), "192.0.2.1")
    };
    padded(16 * 1024 + 1).send().await.refused(413, "body_too_large");
    assert!(taken(padded(16 * 1024).send().await));
    let bomb = gzip(&vec![b' '; 10_000_000]);
    let call = app.client().post("/api/event").header("content-encoding", "gzip").body(bomb);
    call.send().await.refused(413, "body_too_large");
}

async fn the_same_page_in_a_moment_counts_once(stage: &Stage) {
    let (app, project) = site(stage).await;
    assert!(taken(event(&app, "192.0.2.1", page("/x", &project.id)).await));
    assert!(taken(event(&app, "192.0.2.1", page("/x/?again", &project.id)).await), "the script is there twice");
    let pixel = format!("/pixel/{}.gif?u=/x", project.id);
    from(app.client().get(&pixel), "192.0.2.1").send().await.expect(200);
    assert_eq!(app.views().all(&project.id).await, 1, "and the pixel beside it");
    assert!(taken(event(&app, "192.0.2.2", page("/x", &project.id)).await), "another reader");
    assert!(taken(event(&app, "192.0.2.1", page("/y", &project.id)).await), "another page");
    assert!(taken(event(&app, "192.0.2.1", page("/x", &project.id)).await), "and back");
    stage.advance(Duration::from_secs(2));
    assert!(taken(event(&app, "192.0.2.1", page("/x", &project.id)).await), "later");
    // What a reader writes into the header itself is not believed: our proxy adds the address that it sees.
    assert!(taken(event(&app, "198.51.100.9, 192.0.2.1", page("/x", &project.id)).await));
    assert_eq!(app.views().all(&project.id).await, 5);
}

async fn browsers_may_ask_first(stage: &Stage) {
    let app = stage.app().await;
    let call = app.client().request(Method::OPTIONS, "/api/event").header("origin", "https://docs.example.com");
    let answer = call.header("access-control-request-method", "POST").send().await.expect(204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert!(answer.header("access-control-allow-methods").unwrap().contains("POST"));
    assert!(answer.header("access-control-allow-headers").unwrap().contains("content-type"));
}

async fn the_pixel_counts_and_is_always_a_picture(stage: &Stage) {
    let (app, project) = site(stage).await;
    let load = async |path: &str, referer: Option<&str>| {
        let mut call = from(app.client().get(path), "192.0.2.1");
        if let Some(referer) = referer {
            call = call.header("referer", referer);
        }
        let answer = call.send().await.expect(200);
        assert_eq!(answer.header("content-type"), Some("image/gif"));
        assert!(answer.header("cache-control").unwrap().contains("no-store"));
        assert!(answer.bytes.starts_with(b"GIF89a") && answer.bytes.ends_with(b";") && answer.bytes.len() < 60);
        app.views().all(&project.id).await
    };
    let gif = format!("/pixel/{}.gif", project.id);
    assert_eq!(load(&gif, Some("https://docs.example.com/by-referer?x")).await, 1);
    assert_eq!(load(&format!("{gif}?u=/by-path"), None).await, 2);
    assert_eq!(
        load(&format!("{gif}?u=https%3A%2F%2Fdocs.example.com%2Fby-address"), Some("https://proxy.example/")).await,
        3
    );
    assert_eq!(load("/pixel/docs.example.com.gif?u=/by-domain", None).await, 4);
    for path in ["/by-referer", "/by-path", "/by-address", "/by-domain"] {
        assert_eq!(app.views().of(&project.id, path).await, (1, 0), "{path}");
    }
    for (path, referer) in [
        (gif.as_str(), None),
        (gif.as_str(), Some("https://elsewhere.example/x")),
        (&format!("{gif}?u=/x"), Some("https://elsewhere.example/x")),
        (&format!("{gif}?u=nonsense"), None),
        ("/pixel/nobody.gif?u=/x", None),
        ("/pixel/%00.gif?u=/x", None),
        ("/pixel/%ff?u=/x", None),
    ] {
        assert_eq!(load(path, referer).await, 4, "{path} {referer:?}");
    }
    from(app.client().request(Method::HEAD, &format!("{gif}?u=/head")), "192.0.2.1").send().await.expect(200);
    assert_eq!(app.views().all(&project.id).await, 4, "HEAD shows nobody anything");
}

async fn fetching_ahead_is_no_view(stage: &Stage) {
    let (app, project) = site(stage).await;
    for (name, value) in [
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("purpose", "prefetch"),
        ("x-moz", "prefetch"),
    ] {
        let call = app.client().post("/api/event").body(page("/x", &project.id).to_string()).header(name, value);
        assert!(!taken(from(call, "192.0.2.1").send().await), "{name}: {value}");
        let call = app.client().get(&format!("/pixel/{}.gif?u=/x", project.id)).header(name, value);
        from(call, "192.0.2.1").send().await.expect(200);
    }
    assert_eq!(app.views().all(&project.id).await, 0);
    assert!(taken(event(&app, "192.0.2.1", page("/x", &project.id)).await), "and now it is seen");
}

async fn the_script_is_small_and_can_be_cached(stage: &Stage) {
    let app = stage.app().await;
    let script = app.client().get("/js/view.js").send().await.expect(200);
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("cache-control"), Some("public, max-age=86400"));
    assert_eq!(script.header("access-control-allow-origin"), Some("*"));
    assert!(!script.text().contains("cookie") && !script.text().contains("Storage"));
    let packed = app.client().get("/js/view.js").header("accept-encoding", "gzip").send().await.expect(200);
    assert!(packed.bytes.len() < 1000, "{} bytes", packed.bytes.len());
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&*packed.bytes).read_to_string(&mut plain).unwrap();
    assert_eq!(plain, script.text());
    for name in ["script.js", "script.local.js", "script.hash.outbound-links.js", "plausible.js"] {
        assert_eq!(app.client().get(&format!("/js/{name}")).send().await.expect(200).bytes, script.bytes);
    }
    let tag = script.header("etag").unwrap();
    app.client().get("/js/view.js").header("if-none-match", tag).send().await.expect(304);
    app.client().get("/js/view.js").header("if-none-match", "\"other\"").send().await.expect(200);
    for name in ["other.js", "view.js.map", "..%2Fview.js"] {
        app.client().get(&format!("/js/{name}")).send().await.refused(404, "not_found");
    }
}

async fn views_that_cannot_be_kept(stage: &Stage) {
    let (app, project) = site(stage).await;
    let project: &ProjectClient = &project;
    app.views().break_down(true);
    let answer = event(&app, "192.0.2.1", page("/x", &project.id)).await.refused(503, "unavailable");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let pixel = app.client().get(&format!("/pixel/{}.gif?u=/y", project.id));
    from(pixel, "192.0.2.1").send().await.expect(200);
    app.views().break_down(false);
    assert_eq!(app.views().all(&project.id).await, 0);
}

async fn a_project_that_is_gone_takes_nothing(stage: &Stage) {
    let (app, project) = site(stage).await;
    for name in [project.id.as_str(), "docs.example.com"] {
        assert!(taken(event(&app, "192.0.2.1", page(&format!("/{name}"), name)).await), "{name}");
    }
    assert!(app.store().delete_project(&project.id).await.unwrap());
    for name in [project.id.as_str(), "docs.example.com"] {
        assert!(taken(event(&app, "192.0.2.2", page("/x", name)).await), "{name}");
        from(app.client().get(&format!("/pixel/{name}.gif?u=/x")), "192.0.2.3").send().await.expect(200);
    }
    assert_eq!(app.views().of(&project.id, "/x").await, (0, 0), "a later project of that id would inherit them");
}

async fn a_page_may_be_named_after_a_file(stage: &Stage) {
    let (app, project) = site(stage).await;
    for path in ["/docs/next.js", "/guides/vue.ts", "/logo.png"] {
        assert!(taken(event(&app, "192.0.2.1", page(&format!("{path}?x"), &project.id)).await), "{path}");
        assert!(taken(event(&app, "192.0.2.1", page(path, &project.id)).await), "{path} in a moment");
        assert_eq!(app.views().of(&project.id, path).await, (1, 0), "{path}");
    }
}
