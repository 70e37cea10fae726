use std::time::Duration;

use copydesk_domain::HostKind;
use copydesk_forge::{ForgeErrorKind, Hosts, HostsSettings};
use serde_json::json;

use crate::server::{Reply, Server, github_repository, hosts, json_reply, new_pull, settings, token, with};

#[tokio::test]
async fn a_host_that_fails_is_asked_again() {
    let server = Server::start(|_, before| match before {
        0 => Reply::Say(502, Vec::new(), "<html>bad gateway</html>".to_owned()),
        1 => Reply::Cut,
        _ => json_reply(200, &github_repository()),
    })
    .await;
    assert_eq!(server.host(HostKind::Github).default_branch().await.unwrap(), "main");
    assert_eq!(server.count("GET"), 3);
}

#[tokio::test]
async fn but_not_for_ever() {
    let server = Server::start(|_, _| json_reply(503, &json!({ "message": "down planted-secret" }))).await;
    let error = server.host(HostKind::Gitlab).default_branch().await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Away);
    assert_eq!(error.message, "GitLab has an internal error (503); try again later; it says: down …");
    assert_eq!(server.count("GET"), 3);
}

#[tokio::test]
async fn a_host_that_is_silent_or_absent_is_said_to_be() {
    let server = Server::start(|_, _| Reply::Hang).await;
    let impatient = HostsSettings { time_limit: Duration::from_secs(1), tries: 2, ..settings() };
    let connection = server.connect(&Hosts::new(impatient), HostKind::Github, token());
    let error = connection.interface().unwrap().default_branch().await.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ForgeErrorKind::Away, "GitHub does not answer within 1 seconds"));
    assert_eq!(server.count("GET"), 2);

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let repository =
        copydesk_domain::Repository::parse(&format!("http://{closed}/a/b"), std::path::Path::new("/")).unwrap();
    let of_github =
        copydesk_domain::HostSettings { kind: Some(HostKind::Github), ..copydesk_domain::HostSettings::default() };
    let host = hosts().connect(&repository, &of_github, token()).unwrap().code_host().unwrap();
    let error = host.open(&new_pull(false)).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ForgeErrorKind::Away, "GitHub refuses the connection, or nothing listens there")
    );
}

#[tokio::test]
async fn a_short_wait_is_waited_and_a_long_one_is_told() {
    let limited = |wait: &'static str| {
        move |_: &_, before| match before {
            0 => with(json_reply(429, &json!({})), "retry-after", wait),
            _ => json_reply(200, &github_repository()),
        }
    };
    let server = Server::start(limited("1")).await;
    let began = std::time::Instant::now();
    assert_eq!(server.host(HostKind::Github).default_branch().await.unwrap(), "main");
    assert!(began.elapsed() >= Duration::from_secs(1));

    let server = Server::start(limited("3600")).await;
    let error = server.host(HostKind::Github).default_branch().await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Away);
    let words = "GitHub has had too many requests; it takes them again at 2026-11-15T02:34:56.000Z";
    assert_eq!(error.message, words);
    assert_eq!(server.count("GET"), 1);
}

#[tokio::test]
async fn limits_come_with_403_and_without_a_word_when() {
    let server = Server::start(|_, before| {
        let refusal = json_reply(403, &json!({ "message": "You have exceeded a secondary rate limit." }));
        match before {
            0 => refusal,
            _ => {
                let dated = with(refusal, "date", "Sun, 15 Nov 2026 01:34:56 GMT");
                with(with(dated, "x-ratelimit-remaining", "0"), "x-ratelimit-reset", "1794706556")
            }
        }
    })
    .await;
    let host = server.host(HostKind::Github);
    let error = host.default_branch().await.unwrap_err();
    let words = "GitHub has had too many requests; try again in some minutes";
    assert_eq!((error.kind, error.message.as_str()), (ForgeErrorKind::Away, words));
    let error = host.default_branch().await.unwrap_err();
    assert!(error.message.contains("again at 2026-11-15T01:35:57"), "{error}");
    assert_eq!(server.count("GET"), 2);
}

#[tokio::test]
async fn a_limit_without_a_word_when_is_tried_a_few_times() {
    let server = Server::start(|_, _| json_reply(429, &json!({}))).await;
    let error = server.host(HostKind::Bitbucket).default_branch().await.unwrap_err();
    let words = "Bitbucket has had too many requests; try again in some minutes";
    assert_eq!((error.kind, error.message.as_str()), (ForgeErrorKind::Away, words));
    assert_eq!(server.count("GET"), 3);
}

#[tokio::test]
async fn a_wish_that_was_refused_for_its_limit_is_made_again() {
    let server = Server::start(|seen, before| match (seen.method.as_str(), before) {
        ("POST", 0) => with(json_reply(403, &json!({})), "retry-after", "0"),
        _ => json_reply(201, &crate::server::github_pull(7, "open", Some(1))),
    })
    .await;
    assert_eq!(server.host(HostKind::Github).open(&new_pull(false)).await.unwrap().number, 7);
    assert_eq!((server.count("POST"), server.count("GET")), (2, 0));
}

#[tokio::test]
async fn answers_that_are_none_are_refused() {
    for (reply, trouble, words) in [
        (
            Reply::Say(200, vec![("content-type", "text/html".to_owned())], "<html>".to_owned()),
            ForgeErrorKind::Lasting,
            "--host-api-url",
        ),
        (json_reply(200, &json!({ "default_branch": 7 })), ForgeErrorKind::Passing, "not understood"),
        (Reply::Say(200, Vec::new(), " ".repeat(8 * 1024 * 1024 + 1)), ForgeErrorKind::Lasting, "too large"),
    ] {
        let reply = std::sync::Mutex::new(Some(reply));
        let server = Server::start(move |_, _| reply.lock().unwrap().take().unwrap()).await;
        let error = server.host(HostKind::Github).default_branch().await.unwrap_err();
        assert_eq!(error.kind, trouble, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert_eq!(server.count("GET"), 1);
    }
}

#[tokio::test]
async fn github_is_asked_for_its_own_media_type() {
    let server = Server::start(|_, _| json_reply(200, &github_repository())).await;
    server.host(HostKind::Github).default_branch().await.unwrap();
    assert!(server.host(HostKind::Forgejo).default_branch().await.is_ok());
    let asked: Vec<String> = server.seen().into_iter().map(|seen| seen.accept).collect();
    assert_eq!(asked, ["application/vnd.github+json", "application/json"]);
}
