//! Git over HTTP: `git http-backend` as CGI, behind the host's own rules for who may.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::dialect::GitRefusal;
use super::exchange::{Reply, Request};
use super::host::Host;
use super::state::Repo;
use crate::GitRepo;

/// What git may ask for: the path behind the repository's, and whether it is for a push.
const SERVICES: [(&str, &str, bool); 4] = [
    ("/info/refs", "service=git-upload-pack", false),
    ("/info/refs", "service=git-receive-pack", true),
    ("/git-upload-pack", "", false),
    ("/git-receive-pack", "", true),
];

struct Asked {
    repo: String,
    ending: &'static str,
    push: bool,
}

/// What the hook of a repository is to refuse a push with, whatever is pushed.
const REFUSAL: &str = "COPYDESK_FAKE_REFUSAL";

/// Serves git; with `refusal` the hook refuses what is pushed, in these words.
pub(super) async fn serve(request: Request, host: Arc<Host>, refusal: Option<&'static str>) -> Reply {
    let Some(asked) = asked(&request) else {
        host.state().violate(request.violation("git asks for no such thing"));
        return Reply::text(404, "Not Found");
    };
    let admitted = admit(&asked, &request, &host);
    match admitted {
        Ok(admitted) => run(&admitted, refusal.or(admitted.refusal), asked.ending, request).await,
        Err(reply) => reply,
    }
}

fn asked(request: &Request) -> Option<Asked> {
    let fits = |(ending, query, _): &&(&str, &str, bool)| request.path.ends_with(ending) && request.raw_query == *query;
    let (ending, _, push) = SERVICES.iter().find(fits)?;
    let repo = request.path.strip_suffix(ending)?.trim_matches('/');
    Some(Asked { repo: repo.strip_suffix(".git").unwrap_or(repo).to_owned(), ending, push: *push })
}

/// Whom git is served to, and how.
struct Admitted {
    git: Arc<GitRepo>,
    /// The name of the caller.
    user: String,
    /// What the hook refuses a push with.
    refusal: Option<&'static str>,
}

/// Who is let in; or what the host says instead.
fn admit(asked: &Asked, request: &Request, host: &Host) -> Result<Admitted, Reply> {
    let state = host.state();
    let refuse = |refusal| Err(host.dialect.git_refusal(refusal, &asked.repo));
    let token = match request.basic() {
        None if request.header("authorization").is_some() => return refuse(GitRefusal::Unknown),
        None => None,
        Some((user, password)) => match host.dialect.git_token(&user, &password, &state) {
            None => return refuse(GitRefusal::Unknown),
            token => token,
        },
    };
    let Some(repo) = state.find(&asked.repo) else {
        return match state.find_moved(&asked.repo) {
            Some(repo) => Err(redirect(repo, request, asked)),
            None if token.is_none() => refuse(GitRefusal::Anonymous),
            None => refuse(GitRefusal::Hidden),
        };
    };
    let rights = state.rights(token.as_ref(), repo);
    let late = host.dialect.refuses_readers_late().filter(|_| !rights.push);
    if asked.push && repo.archived && rights.read {
        return Err(Reply::text(403, host.dialect.archived()));
    }
    match (&token, rights.read, asked.push && !rights.push) {
        (Some(_), true, true) if late.is_none() => refuse(GitRefusal::ReadOnly),
        (Some(_), false, _) => refuse(GitRefusal::Hidden),
        (None, false, _) | (None, _, true) => refuse(GitRefusal::Anonymous),
        (_, true, _) => {
            let user = token.as_ref().map_or("", |token| token.login()).to_owned();
            Ok(Admitted { git: repo.git.clone(), user, refusal: late })
        }
    }
}

/// All hosts send git on to where a renamed repository is now.
fn redirect(repo: &Repo, request: &Request, asked: &Asked) -> Reply {
    let location = request.moved_to(&format!("{}/{}.git{}", request.origin, repo.path, asked.ending), &[]);
    Reply::text(301, "Moved Permanently").with("location", location)
}

/// The program itself. Started by `git`, it would outlive that when a request is given up, and then waits for the rest of
/// the body for ever, and busily.
pub(super) fn backend() -> &'static Path {
    static BACKEND: OnceLock<PathBuf> = OnceLock::new();
    BACKEND.get_or_init(|| {
        let asked = std::process::Command::new("git").arg("--exec-path").output().unwrap();
        Path::new(String::from_utf8(asked.stdout).unwrap().trim()).join("git-http-backend")
    })
}

/// Runs `git http-backend` for one request.
async fn run(admitted: &Admitted, refusal: Option<&str>, path: &str, request: Request) -> Reply {
    let git = &admitted.git;
    let mut command = tokio::process::Command::new(backend());
    command.env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    command.env("GIT_PROJECT_ROOT", git.path()).env("GIT_HTTP_EXPORT_ALL", "1").env("PATH_INFO", path);
    command.env("REQUEST_METHOD", request.method.as_str()).env("QUERY_STRING", &request.raw_query);
    command.env("CONTENT_LENGTH", request.body.len().to_string()).env("REMOTE_ADDR", "127.0.0.1");
    command.env("REMOTE_USER", &admitted.user).env(REFUSAL, refusal.unwrap_or_default());
    for (variable, header) in [
        ("CONTENT_TYPE", "content-type"),
        ("HTTP_CONTENT_ENCODING", "content-encoding"),
        ("GIT_PROTOCOL", "git-protocol"),
    ] {
        if let Some(value) = request.header(header) {
            command.env(variable, value);
        }
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answer = Vec::new();
    let feed = async move {
        // It may stop reading when it has heard enough.
        let _ = input.write_all(&request.body).await;
    };
    let (_, read) = tokio::join!(feed, output.read_to_end(&mut answer));
    read.unwrap();
    child.wait().await.unwrap();
    parse(&answer)
}

/// What a CGI program says, as an answer.
fn parse(output: &[u8]) -> Reply {
    let end = output.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else { return Reply::text(500, "git http-backend said nothing") };
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let mut reply = Reply { status: 200, headers: Vec::new(), body: output[end + 4..].to_vec().into() };
    for (name, value) in head.split("\r\n").filter_map(|line| line.split_once(": ")) {
        match name {
            "Status" => reply.status = value.get(..3).and_then(|code| code.parse().ok()).unwrap_or(500),
            _ => reply = reply.with(&name.to_ascii_lowercase(), value),
        }
    }
    reply
}

/// What a repository needs to be served like that.
pub(super) fn prepare(git: &GitRepo) {
    for (name, value) in
        [("http.receivepack", "true"), ("uploadpack.allowFilter", "true"), ("uploadpack.allowAnySHA1InWant", "true")]
    {
        git.git(&["config", name, value]);
    }
}

/// Puts a hook into place that refuses pushes to these branches, each with what the host says to it; and all of them
/// while there is a reason to.
pub(super) fn protect<'a>(git: &GitRepo, branches: impl Iterator<Item = (&'a String, String)>) {
    let mut script = format!("#!/bin/sh\nif [ \"${REFUSAL}\" ]; then echo \"error: ${REFUSAL}\" >&2; exit 1; fi\n");
    script.push_str("status=0\nwhile read -r old new ref; do\n  case $ref in\n");
    for (branch, words) in branches {
        script.push_str(&format!("    'refs/heads/{branch}') echo '{}' >&2; status=1 ;;\n", words.replace('\'', "")));
    }
    script.push_str("  esac\ndone\nexit $status\n");
    git.hook("pre-receive", &script);
}
