//! Receivers can tell that a delivery is Copydesk's, and is new.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use copydesk_domain::Clock;
use copydesk_testkit::{Received, Receiver};

use super::{HOUR, SECOND, add};
use crate::stage::Stage;

/// As a receiver would: whether one of the signatures was made with this secret.
fn verifies(received: &Received, secret: &str) -> bool {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    assert!((24..=64).contains(&key.len()));
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let (id, timestamp) = (received.header("webhook-id"), received.header("webhook-timestamp"));
    let content = format!("{id}.{timestamp}.{}", received.body);
    received.header("webhook-signature").split(' ').any(|signature| {
        let tag = STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
        hmac::verify(&key, content.as_bytes(), &tag).is_ok()
    })
}

async fn deliveries_are_signed_with_the_secret_of_the_webhook(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let (one, other) = (add(&project, &receiver).await, add(&project, &Receiver::start().await).await);
    assert_ne!(one.secret, other.secret);
    one.post("/test").await.expect(200);
    let received = receiver.expect(1).await.remove(0);
    assert!(verifies(&received, &one.secret) && !verifies(&received, &other.secret));
    let seconds = stage.clock.now().as_millis() / 1000;
    assert_eq!(received.header("webhook-timestamp"), seconds.to_string());
    let mut forged = received.clone();
    forged.body.push(' ');
    assert!(!verifies(&forged, &one.secret));
    forged = received.clone();
    forged.headers.insert("webhook-timestamp", (seconds + 1).to_string().parse().unwrap());
    assert!(!verifies(&forged, &one.secret));
}

async fn after_a_rotation_both_secrets_sign_for_a_day(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    let rotated = hook.post("/rotate").await.expect(200);
    let new = rotated["secret"].as_str().unwrap();
    assert_ne!(new, hook.secret);
    assert!(!rotated["oldSecretUntil"].is_null());
    hook.post("/test").await.expect(200);
    let both = receiver.expect(1).await.remove(0);
    assert!(verifies(&both, new) && verifies(&both, &hook.secret));
    assert_eq!(both.header("webhook-signature").split(' ').count(), 2);
    stage.advance(HOUR * 24 - SECOND);
    hook.post("/test").await.expect(200);
    assert!(verifies(&receiver.expect(2).await[1], &hook.secret));
    stage.advance(SECOND);
    hook.post("/test").await.expect(200);
    let one = receiver.expect(3).await.remove(2);
    assert!(verifies(&one, new) && !verifies(&one, &hook.secret));
}

behaviours!(deliveries_are_signed_with_the_secret_of_the_webhook, after_a_rotation_both_secrets_sign_for_a_day,);
