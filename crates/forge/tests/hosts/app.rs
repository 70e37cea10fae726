use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use copydesk_domain::HostKind;
use copydesk_forge::{Ability, Credential, ForgeErrorKind, HostSecret, Hosts, HostsSettings};
use serde_json::{Value, json};

use crate::server::{HandClock, NOW, Reply, Seen, Server, github_repository, json_reply, settings, with};

const TOKENS: &str = "/api/v3/app/installations/42/access_tokens";
const INSTALLATION: &str = "/api/v3/repos/acme/docs/installation";

/// An App with a key of its own.
struct Identity {
    secret: HostSecret,
    public: Vec<u8>,
}

fn identity(installation_id: Option<u64>) -> Identity {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
    let private_key =
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der.as_ref()));
    let secret =
        HostSecret::GithubApp { app_id: "Iv1.planted".to_owned(), installation_id, private_key: private_key.into() };
    Identity { secret, public: pair.public_key().as_ref().to_vec() }
}

/// The claims of the token in a request, if the key has signed it.
fn claims(seen: &Seen, public: &[u8]) -> Option<Value> {
    let jwt = seen.authorization.as_deref()?.strip_prefix("Bearer ")?;
    let (signed, signature) = jwt.rsplit_once('.')?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public).verify(signed.as_bytes(), &signature).ok()?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(signed.split_once('.')?.1).ok()?).ok()
}

/// GitHub two hours ahead of us, as it treats an App.
fn github(seen: &Seen, public: &[u8], ahead: i64) -> Reply {
    let theirs = NOW.as_millis() / 1000 + ahead;
    let date =
        jiff::fmt::rfc2822::to_string(&jiff::Timestamp::from_second(theirs).unwrap().to_zoned(jiff::tz::TimeZone::UTC));
    let date = date.unwrap().replace("+0000", "GMT");
    let reply = if seen.is("GET", INSTALLATION) || seen.is("POST", TOKENS) {
        let Some(claims) = claims(seen, public) else {
            return json_reply(401, &json!({ "message": "A JSON web token could not be decoded" }));
        };
        let at = |name: &str| claims[name].as_i64().unwrap();
        if at("iat") > theirs || at("exp") <= theirs || at("exp") > theirs + 600 {
            let words = "'Expiration time' claim ('exp') must be a numeric value representing the future time";
            json_reply(401, &json!({ "message": words }))
        } else if seen.method == "GET" {
            json_reply(200, &json!({ "id": 42 }))
        } else {
            let until = jiff::Timestamp::from_second(theirs + 3600).unwrap().to_string();
            json_reply(201, &json!({ "token": "ghs_installation", "expires_at": until }))
        }
    } else if seen.authorization.as_deref() == Some("Bearer ghs_installation") {
        json_reply(200, &github_repository())
    } else {
        json_reply(401, &json!({ "message": "Bad credentials" }))
    };
    with(reply, "date", date)
}

async fn server(public: Vec<u8>, ahead: i64) -> Server {
    Server::start(move |seen, _| github(seen, &public, ahead)).await
}

#[tokio::test]
async fn a_token_for_one_repository_is_fetched_and_kept() {
    let app = identity(None);
    let server = server(app.public, 0).await;
    let clock = Arc::new(HandClock(Mutex::new(NOW)));
    let hosts = Hosts::new(HostsSettings { clock: clock.clone(), ..settings() });
    let connection = server.connect(&hosts, HostKind::Github, Some(app.secret.clone()));
    assert_eq!(connection.interface().unwrap().default_branch().await.unwrap(), "main");
    let remote = connection.remote().await.unwrap();
    assert_eq!(remote.credential, Some(Credential::new("x-access-token", "ghs_installation")));
    // Another connection of the process has it, too.
    server.connect(&hosts, HostKind::Github, Some(app.secret.clone())).remote().await.unwrap();
    let seen = server.seen();
    let posts: Vec<&Seen> = seen.iter().filter(|seen| seen.method == "POST").collect();
    assert_eq!(posts.len(), 1);
    let wish = json!({
        "repositories": ["docs"],
        "permissions": { "contents": "write", "pull_requests": "write", "metadata": "read" },
    });
    assert_eq!(posts[0].body, wish);

    *clock.0.lock().unwrap() = NOW.plus(Duration::from_secs(54 * 60));
    connection.remote().await.unwrap();
    assert_eq!(server.count("POST"), 1);
    // In its last minutes it is not used any more. The host, whose clock stands still, corrects ours.
    *clock.0.lock().unwrap() = NOW.plus(Duration::from_secs(56 * 60));
    connection.remote().await.unwrap();
    assert!(server.count("POST") > 1);
}

#[tokio::test]
async fn callers_at_the_same_time_share_a_token() {
    let app = identity(Some(42));
    let server = server(app.public, 0).await;
    let hosts = Hosts::new(settings());
    let connection = server.connect(&hosts, HostKind::Github, Some(app.secret));
    let all = futures_util::future::join_all((0..8).map(|_| connection.remote())).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_wrong_clock_is_corrected_by_the_clock_of_the_host_once() {
    for ahead in [7200, -7200] {
        let app = identity(Some(42));
        let server = server(app.public, ahead).await;
        let hosts = Hosts::new(settings());
        let connection = server.connect(&hosts, HostKind::Github, Some(app.secret));
        connection.remote().await.unwrap();
        assert_eq!(server.count("POST"), 2, "{ahead}");
        // The token holds for an hour from then, by the clock of the host.
        connection.remote().await.unwrap();
        assert_eq!(server.count("POST"), 2, "{ahead}");
    }
    let app = identity(Some(42));
    let stubborn =
        Server::start(|_, _| json_reply(401, &json!({ "message": "'Issued at' claim ('iat') is wrong" }))).await;
    let connection = stubborn.connect(&Hosts::new(settings()), HostKind::Github, Some(app.secret));
    let error = connection.remote().await.unwrap_err();
    assert!(error.message.contains("the clock of this machine is wrong"), "{error}");
    assert_eq!(stubborn.count("POST"), 2);
}

#[tokio::test]
async fn a_token_that_was_revoked_is_replaced() {
    let app = identity(Some(42));
    let public = app.public;
    let server = Server::start(move |seen, before| match before {
        // The first use of the first token.
        1 => json_reply(401, &json!({ "message": "Bad credentials" })),
        _ => github(seen, &public, 0),
    })
    .await;
    let connection = server.connect(&Hosts::new(settings()), HostKind::Github, Some(app.secret));
    assert_eq!(connection.interface().unwrap().default_branch().await.unwrap(), "main");
    assert_eq!(server.count("POST"), 2);
}

#[tokio::test]
async fn what_is_wrong_with_an_app_is_said() {
    for (installation, status, message, words) in [
        (None, 404, "Not Found", "is not installed for acme/docs"),
        (Some(42), 404, "Not Found", "has no installation 42"),
        (
            Some(42),
            422,
            "The permissions requested are not granted to this installation.",
            "`Contents: read and write`",
        ),
        (
            Some(42),
            422,
            "There is at least one repository that does not exist",
            "add the repository to its installation",
        ),
        (Some(42), 403, "This installation has been suspended", "suspended"),
        (Some(42), 401, "A JSON web token could not be decoded", "check its id"),
    ] {
        let app = identity(installation);
        let server = Server::start(move |_, _| json_reply(status, &json!({ "message": message }))).await;
        let connection = server.connect(&Hosts::new(settings()), HostKind::Github, Some(app.secret));
        let error = connection.remote().await.unwrap_err();
        assert_eq!(error.kind, ForgeErrorKind::Lasting);
        assert!(error.message.contains(words), "{error}");
        assert_eq!(server.seen().len(), 1);
        let abilities = connection.interface().unwrap().abilities(false).await;
        assert_eq!(abilities.reachable, Ability::Yes);
        assert!(matches!(abilities.readable, Ability::No(why) if why.contains(words)));
    }
}
