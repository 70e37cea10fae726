//! What a host's refusal means, as one sentence that a user can act on.

use copydesk_domain::HostKind;

use super::exchange::HostResponse;
use super::host_message::with_message;
use super::subject::{CredentialKind, Subject};
use crate::ForgeError;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// To see the repository.
    Look,
    /// To see pull requests.
    Read,
    /// To open or change a pull request.
    Write,
    /// To push a branch.
    Push,
}

/// Why an answer is a refusal.
pub(super) fn refused(subject: &Subject, act: Act, answer: &HostResponse) -> ForgeError {
    let (host, name, credential) = (subject.host(), &subject.repository, subject.credential.title());
    let words = answer.message();
    let lasting = |sentence: String| ForgeError::lasting(with_message(&sentence, &words));
    match answer.status {
        401 if subject.credential != CredentialKind::None => lasting(format!(
            "{host} does not accept the {}: it is wrong, expired or revoked; give the project a new one",
            credential
        )),
        401 => lasting(format!("{host} wants a credential for {name}; give the project a token")),
        403 if wants_sign_on(answer, &words) => lasting(format!(
            "the organisation of {name} wants single sign-on; allow the token for it in the settings of {host}"
        )),
        // Comments and labels of pull requests are among the issues there.
        403 if subject.kind == HostKind::Forgejo && words.contains(":issue") => lasting(format!(
            "{host} does not allow the {credential} to read and write comments, labels and issues in {name}; it needs the \
             scope `write:issue`"
        )),
        403 => lasting(format!(
            "{host} does not allow the {} to {} in {name}; it needs {}",
            credential,
            doing(act),
            needed(subject.kind, act)
        )),
        404 | 410 if act == Act::Look => lasting(format!(
            "{host} shows no repository {name}: the address is wrong, or the {} may not see it",
            credential
        )),
        404 | 410 if act == Act::Read => {
            lasting(format!("{host} shows no such pull request in {name}, or the {} may not see it", credential))
        }
        404 | 410 => lasting(format!(
            "{host} does not find what was asked for in {name}: it is gone, or the {} needs {}",
            credential,
            needed(subject.kind, act)
        )),
        406 | 415 => lasting(format!("{host} does not speak the form of its interface that Copydesk uses")),
        // So says Gitea of what is archived.
        423 => lasting(format!("{name} is archived or locked on {host}; nothing can be changed in it")),
        408 | 409 | 425 => ForgeError::passing(with_message(&format!("{host} is busy with {name}; try again"), &words)),
        status @ 500.. => {
            ForgeError::away(with_message(&format!("{host} has an internal error ({status}); try again later"), &words))
        }
        status => lasting(format!("{host} refuses to {} in {name} ({status})", doing(act))),
    }
}

fn wants_sign_on(answer: &HostResponse, words: &str) -> bool {
    let low = words.to_ascii_lowercase();
    answer.header("x-github-sso").is_some() || low.contains("saml") || low.contains("single sign-on")
}

fn doing(act: Act) -> &'static str {
    match act {
        Act::Look => "read the repository",
        Act::Read => "read pull requests",
        Act::Write => "open or change a pull request",
        Act::Push => "push a branch",
    }
}

/// The permission that a host wants for something, in its own terms.
pub(super) fn needed(kind: HostKind, act: Act) -> &'static str {
    match (kind, act) {
        (HostKind::Github, Act::Look) => "the permission `Metadata: read`, or the scope `repo` of a classic token",
        (HostKind::Github, Act::Read) => "the permission `Pull requests: read`, or the scope `repo` of a classic token",
        (HostKind::Github, Act::Write) => {
            "the permission `Pull requests: read and write`, or the scope `repo` of a classic token"
        }
        (HostKind::Github, Act::Push) => "the permission `Contents: read and write`, or the role Write",
        (HostKind::Gitlab, Act::Look | Act::Read) => "the scope `api` and at least the role Reporter",
        (HostKind::Gitlab, Act::Write | Act::Push) => "the scope `api` and at least the role Developer",
        (HostKind::Forgejo, Act::Look | Act::Read) => "the scope `read:repository`",
        (HostKind::Forgejo, Act::Write) => "the scope `write:repository` and the right to write to the repository",
        (HostKind::Forgejo, Act::Push) => "the right to write to the repository, as a collaborator or in a team",
        (HostKind::Bitbucket, Act::Look) => "the scope `repository`",
        (HostKind::Bitbucket, Act::Read) => "the scope `pullrequest`",
        (HostKind::Bitbucket, Act::Write) => "the scopes `pullrequest:write` and `repository:write`",
        (HostKind::Bitbucket, Act::Push) => "the scope `repository:write`",
        (HostKind::Git | HostKind::Local, _) => "more rights",
    }
}

/// Why a pull request cannot be opened from one branch to another, if what the host says tells.
pub(super) fn of_branches(subject: &Subject, words: &str, head: &str, base: &str) -> Option<ForgeError> {
    // The name of a branch may hold the words that are looked for.
    let (host, low) = (subject.host(), words.to_lowercase().replace(&head.to_lowercase(), ""));
    let any = |needles: &[&str]| needles.iter().any(|needle| low.contains(needle));
    if any(&["no commits between", "no changes", "nothing to compare", "identical"]) {
        let sentence = format!("there is nothing to merge from `{head}` into `{base}`: {base} has all of it already");
        return Some(ForgeError::lasting(sentence));
    }
    let is_missing = any(&["invalid", "not exist", "not found", "doesn't exist", "blank", "could not be found"]);
    if is_missing && any(&["base", "target", "destination"]) {
        return Some(ForgeError::lasting(format!(
            "{host} finds no branch `{base}` to merge into; set the base branch of the project to one that is there"
        )));
    }
    if is_missing && any(&["head", "source"]) {
        return Some(ForgeError::passing(format!("{host} does not find the branch `{head}` that was just pushed")));
    }
    None
}

/// A repository without a commit has no main branch.
pub(super) fn no_main_branch(subject: &Subject) -> ForgeError {
    ForgeError::lasting(format!("{} is empty; push a first commit to it", subject.repository))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;
    use crate::ForgeErrorKind;

    fn told(kind: HostKind, act: Act, status: u16, body: &str, header: Option<(&'static str, &str)>) -> ForgeError {
        let headers =
            header.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        let masks = vec!["planted-secret".into()];
        let answer = HostResponse { status, headers: headers.into_iter().collect(), body: body.into(), masks };
        refused(&Subject::for_test(kind), act, &answer)
    }

    #[test]
    fn statuses_become_sentences_that_say_what_to_do() {
        use ForgeErrorKind::{Away, Lasting, Passing};
        for (kind, act, status, error_kind, words) in [
            (HostKind::Github, Act::Look, 401, Lasting, "GitHub does not accept the token: it is wrong"),
            (HostKind::Github, Act::Write, 403, Lasting, "`Pull requests: read and write`"),
            (HostKind::Github, Act::Look, 404, Lasting, "GitHub shows no repository acme/docs"),
            (HostKind::Gitlab, Act::Write, 403, Lasting, "the role Developer"),
            (HostKind::Gitlab, Act::Write, 404, Lasting, "it is gone, or the token needs the scope `api`"),
            (HostKind::Forgejo, Act::Write, 403, Lasting, "`write:repository`"),
            (HostKind::Bitbucket, Act::Write, 403, Lasting, "`pullrequest:write`"),
            (HostKind::Bitbucket, Act::Read, 409, Passing, "busy"),
            (HostKind::Forgejo, Act::Write, 423, Lasting, "acme/docs is archived"),
            (HostKind::Gitlab, Act::Read, 502, Away, "GitLab has an internal error (502)"),
            (HostKind::Github, Act::Read, 406, Lasting, "does not speak the form"),
            (HostKind::Github, Act::Write, 400, Lasting, "GitHub refuses to open or change a pull request"),
        ] {
            let error = told(kind, act, status, "{}", None);
            assert_eq!(error.kind, error_kind, "{status}: {error}");
            assert!(error.message.contains(words), "{status}: {error}");
        }
    }

    #[test]
    fn single_sign_on_is_named() {
        let body = r#"{"message":"Resource protected by organization SAML enforcement."}"#;
        assert!(told(HostKind::Github, Act::Look, 403, body, None).message.contains("single sign-on"));
        let header = Some(("x-github-sso", "required; url=https://github.com/orgs/acme/sso"));
        assert!(told(HostKind::Github, Act::Look, 403, "{}", header).message.contains("single sign-on"));
    }

    #[test]
    fn the_scope_for_issues_is_named() {
        let body = r#"{"message":"token does not have at least one of required scope(s), required=[read:issue], token scope=write:repository"}"#;
        let message = told(HostKind::Forgejo, Act::Read, 403, body, None).message;
        assert!(message.contains("needs the scope `write:issue`; it says: token does not have"), "{message}");
    }

    #[test]
    fn a_host_is_quoted_without_the_credential_and_not_at_length() {
        let body = format!(r#"{{"message":"bad planted-secret {}"}}"#, "x ".repeat(2000));
        for status in [400, 401, 403, 404, 409, 422, 500] {
            let message = told(HostKind::Github, Act::Write, status, &body, None).message;
            assert!(!message.contains("planted-secret") && message.len() < 700, "{message}");
            assert!(message.contains("; it says: bad …"), "{message}");
        }
    }

    #[test]
    fn troubles_with_branches_are_told_apart() {
        let subject = Subject::for_test(HostKind::Github);
        let told = |words| of_branches(&subject, words, "copydesk/x", "main").map(|error| error.message);
        assert!(told("Validation Failed; No commits between main and x").unwrap().contains("nothing to merge"));
        assert!(told("Validation Failed; code invalid; field base").unwrap().contains("no branch `main`"));
        assert!(told("Validation Failed; code invalid; field head").unwrap().contains("`copydesk/x`"));
        assert!(told("destination branch not found").unwrap().contains("no branch `main`"));
        assert_eq!(told("title is too long"), None);
        let named = of_branches(&subject, "source: branch not found: copydesk/database", "copydesk/database", "main");
        assert!(named.unwrap().message.contains("`copydesk/database`"));
    }
}
