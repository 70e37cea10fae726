use copydesk_domain::HostKind;
use copydesk_testkit::GitRepo;
use copydesk_testkit::hosts::FakeHost;

use crate::support::{Desk, Ran};

fn create(desk: &Desk, repository: &str, flags: &[&str]) -> Ran {
    let base = ["project", "create", "--name", "x", "--repository", repository, "--json"];
    desk.run(&[&base[..], flags].concat())
}

fn on_trunk() -> GitRepo {
    let git = GitRepo::new([("index.md", "# Docs\n")]);
    git.git(&["branch", "-m", "main", "trunk"]);
    git
}

fn assert_taken(made: Ran, branch: &str, why: &str) {
    let said = made.err.clone();
    assert_eq!(made.json()["baseRef"], branch, "{said}");
    assert!(said.contains(&format!("jobs start from `{branch}`")) && said.contains(why), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_host_is_asked_for_its_main_branch() {
    let desk = Desk::new();
    for kind in [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket] {
        let host = FakeHost::start(kind).await;
        host.add("acme/docs", on_trunk());
        let (address, api) = (host.address("acme/docs"), host.api_url());
        let flags = ["--host", kind.as_str(), "--host-api-url", &api];
        assert_taken(create(&desk, &address, &flags), "trunk", "the main branch of the repository");
        assert!(host.seen().iter().all(|seen| !seen.path.contains("info/refs")), "{kind:?}: git is not needed");
        let by_git = create(&desk, &address, &["--host", "git"]);
        assert_taken(by_git, "trunk", "the main branch of the repository");
        assert!(host.seen().iter().any(|seen| seen.path.contains("info/refs")), "{kind:?}");

        let before = host.seen().len();
        let named = create(&desk, &address, &[&flags[..], &["--base-ref", "docs/v2"]].concat());
        assert!(!named.err.contains("jobs start from"), "{}", named.err);
        assert_eq!(named.json()["baseRef"], "docs/v2");
        assert_eq!(host.seen().len(), before, "{kind:?}: nobody is asked for a branch that is named");

        // There is no credential yet.
        host.make_private("acme/docs");
        assert_taken(create(&desk, &address, &flags), "main", "name the base branch");
        host.assert_clean();
    }
}

#[test]
fn a_repository_on_this_machine_is_read() {
    let desk = Desk::new();
    let git = on_trunk();
    let path = git.path().to_str().unwrap();
    assert_taken(create(&desk, path, &[]), "trunk", "the main branch of the repository");
    // No branch is checked out.
    let commit = git.git(&["rev-parse", "trunk"]);
    git.git(&["update-ref", "--no-deref", "HEAD", commit.trim()]);
    assert_taken(create(&desk, path, &[]), "main", "does not say which branch is its main one");
    let empty = desk.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert_taken(create(&desk, empty.to_str().unwrap(), &[]), "main", "no git repository");
    let mirrors = desk.path().join("copydesk-data/mirrors");
    assert!(!mirrors.exists(), "asking leaves nothing behind");
}

#[test]
fn a_host_that_is_not_there_is_no_reason_to_fail() {
    let desk = Desk::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let made = create(&desk, &format!("http://{closed}/acme/docs"), &["--host", "github"]);
    assert_taken(made, "main", "the repository's host");
}
