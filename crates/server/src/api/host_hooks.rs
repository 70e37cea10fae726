//! What code hosts tell by themselves: that something happened to a pull request, or that somebody asks for something.

use std::borrow::Cow;

use aws_lc_rs::{constant_time, hmac};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use copydesk_desk::Sender;
use copydesk_desk::asks::{self, Heard};
use copydesk_domain::{ProjectId, unhex};
use serde_json::Value;

use super::host_words;
use crate::app::App;
use crate::bodies::Whose;
use crate::body::{self, RequestBody};
use crate::problem::{ErrorBody, Problem};

/// The most that a host may send: a text of a pull request many times as long as any.
const MOST: usize = 4 * 1024 * 1024;
/// Headers in which hosts sign a body: HMAC-SHA256 in hexadecimal. GitHub, Bitbucket, Forgejo, Gitea.
const SIGNATURES: [&str; 4] = ["x-hub-signature-256", "x-hub-signature", "x-forgejo-signature", "x-gitea-signature"];
/// Bytes of an HMAC-SHA256.
const TAG: usize = 32;
/// The header in which GitLab names the secret.
const TOKEN: &str = "x-gitlab-token";

/// Receive a webhook from a code host
///
/// The address for webhooks of GitHub, GitLab, Forgejo, Gitea and Bitbucket about pull requests, comments on them and issues,
/// with the project's hook secret (`copydesk project hook ID` shows both). A delivery only says that it is time to look: what
/// the job shows is what the code host then answers. A comment that mentions Copydesk becomes a follow-up and an issue that
/// gets the project's label a job, once, if the host says that whoever asks may write to the repository.
#[utoipa::path(post, path = "/hooks/{projectId}", tag = "Agent jobs", operation_id = "hearFromHost", security(()),
    params(("projectId" = String, Path, description = "The project"),
        ("x-hub-signature-256" = Option<String>, Header, description = "`sha256=` and the HMAC-SHA256 of the body with the hook secret, in hexadecimal (GitHub)"),
        ("x-gitlab-token" = Option<String>, Header, description = "The hook secret (GitLab)")),
    request_body(content((Object = "application/json"), (Object = "application/x-www-form-urlencoded")),
        description = "What the code host sends, as JSON or as the field `payload` of a form"),
    responses((status = 202, description = "Heard"),
        (status = 400, description = "The body cannot be read", body = ErrorBody),
        (status = 403, description = "The signature or the secret is wrong, or there is no such project", body = ErrorBody),
        (status = 413, description = "The body has more than 4 MiB", body = ErrorBody),
        (status = 503, description = "Too many earlier messages are waiting; send it again later", body = ErrorBody)))]
pub(crate) async fn hear(
    State(app): State<App>,
    project: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<StatusCode, Problem> {
    let id = project.ok().and_then(|Path(id)| ProjectId::parse(&id).ok()).ok_or_else(forbidden)?;
    let Some(proof) = Proof::of(&headers) else { return Err(forbidden()) };
    let secrets = app.desk().senders.taken(&id, Sender::Hook).await?;
    // Somebody who names a wrong secret is not even listened to. Who signs is, in any case: nobody is to learn which
    // projects there are.
    let whose = match &proof {
        Proof::Named(_) if proof.holds(b"", &secrets) => Whose::Known,
        Proof::Signed(_) => Whose::Stranger,
        Proof::Named(_) => return Err(forbidden()),
    };
    let bytes = body::bounded(&app, &headers, body, whose, MOST, "4 MiB").await?;
    let payload = payload(&headers, &bytes);
    // Of a form, GitHub signs all that it sends, and Gitea what it means.
    if !proof.holds(&bytes, &secrets) && !proof.holds(&payload, &secrets) {
        return Err(forbidden());
    }
    let project = app.store().project(&id).await?.ok_or_else(forbidden)?;
    let delivery: Value = serde_json::from_slice(&payload).map_err(|_| {
        Problem::new(StatusCode::BAD_REQUEST, "invalid_json", "The request body is not the JSON of a webhook.")
    })?;
    let told = host_words::told(&delivery);
    if let Some(number) = host_words::pull(&delivery) {
        app.desk().jobs.pull_changed(project.clone(), number).await?;
    }
    if let Some(told) = told
        && asks::hear(app.store(), &project, told).await? == Heard::TooMuch
    {
        let sentence = "Too many earlier messages of the code host are still waiting; send it again later.";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", sentence));
    }
    Ok(StatusCode::ACCEPTED)
}

/// The JSON of a delivery, which some hosts send as the field `payload` of a form if they are set up so.
fn payload<'b>(headers: &HeaderMap, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    if body::essence(headers).as_deref() != Some("application/x-www-form-urlencoded") {
        return Cow::Borrowed(bytes);
    }
    let field = form_urlencoded::parse(bytes).find(|(name, _)| name == "payload");
    Cow::Owned(field.map(|(_, value)| value.into_owned().into_bytes()).unwrap_or_default())
}

/// What a delivery proves itself with.
enum Proof {
    /// An HMAC-SHA256 of the body.
    Signed(Vec<u8>),
    /// The secret itself.
    Named(Vec<u8>),
}

impl Proof {
    fn of(headers: &HeaderMap) -> Option<Self> {
        if let Some(token) = headers.get(TOKEN) {
            return Some(Self::Named(token.as_bytes().to_vec()));
        }
        let signature = SIGNATURES.iter().find_map(|name| headers.get(*name))?.to_str().ok()?;
        let tag = unhex(signature.strip_prefix("sha256=").unwrap_or(signature).as_bytes());
        tag.filter(|tag| tag.len() == TAG).map(Self::Signed)
    }

    /// Whether it is one of these secrets, or made with one of them.
    fn holds(&self, body: &[u8], secrets: &[String]) -> bool {
        secrets.iter().any(|secret| match self {
            Self::Named(named) => constant_time::verify_slices_are_equal(named, secret.as_bytes()).is_ok(),
            Self::Signed(tag) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
                hmac::verify(&key, body, tag).is_ok()
            }
        })
    }
}

fn forbidden() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "invalid_signature",
        "The signature or the secret of the webhook is not that of this project.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_holds_the_same_as_its_payload() {
        let of = |media: &str, body: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("content-type", media.parse().unwrap());
            String::from_utf8(payload(&headers, body.as_bytes()).into_owned()).unwrap()
        };
        let form = "a=b&payload=%7B%22pullrequest%22%3A%7B%22id%22%3A5%7D%7D";
        assert_eq!(of("application/x-www-form-urlencoded", form), r#"{"pullrequest":{"id":5}}"#);
        assert_eq!(of("Application/X-WWW-Form-Urlencoded; charset=utf-8", form), r#"{"pullrequest":{"id":5}}"#);
        assert_eq!(of("application/x-www-form-urlencoded", "a=b"), "");
        assert_eq!(of("application/json", "{}"), "{}");
    }

    #[test]
    fn a_proof_is_of_the_body_and_the_secret() {
        // printf '{}' | openssl dgst -sha256 -hmac secret
        let tag = "77325902caca812dc259733aacd046b73817372c777b8d95b402647474516e13";
        let other = "0000000000000000000000000000000000000000000000000000000000000000";
        for (name, value, right) in [
            ("x-hub-signature-256", format!("sha256={tag}"), true),
            ("x-gitea-signature", tag.to_owned(), true),
            ("x-hub-signature", format!("sha256={other}"), false),
            ("x-gitlab-token", "secret".to_owned(), true),
            ("x-gitlab-token", "Secret".to_owned(), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(
                Proof::of(&headers).unwrap().holds(b"{}", &["old".to_owned(), "secret".to_owned()]),
                right,
                "{name}: {value}"
            );
        }
        for (name, value) in
            [("x-hub-signature-256", "sha256=zz"), ("x-hub-signature", "sha1=00"), ("x-other", "secret")]
        {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert!(Proof::of(&headers).is_none(), "{name}: {value}");
        }
    }
}
