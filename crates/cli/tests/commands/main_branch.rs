use copydesk_domain::HostKind;
use copydesk_testkit::GitRepo;
use copydesk_testkit::hosts::{FakeHost, Rights};

use crate::support::{Desk, Ran};

fn create(desk: &Desk, repository: &str, flags: &[&str]) -> Ran {
    let base = ["project", "create", "--name", "x", "--repository", repository, "--json"];
    desk.run(&[&base[..], flags].concat())
}

fn on_trunk() -> GitRepo {
    let git = GitRepo::new([("docs/index.md", "# Docs\n")]);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_project_whose_account_may_only_read_does_not_pass_its_test() {
    let desk = Desk::new();
    for (number, kind) in
        [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket].iter().enumerate()
    {
        let host = FakeHost::start(*kind).await;
        host.add("acme/docs", GitRepo::new([("docs/index.md", "# Docs\n")]));
        let (address, api) = (host.address("acme/docs"), host.api_url());
        let kind_flag = if *kind == HostKind::Forgejo { "gitea" } else { kind.as_str() };
        let made =
            create(&desk, &address, &["--host", kind_flag, "--host-api-url", &api, "--id", &format!("p{number}")]);
        let id = made.json()["id"].as_str().unwrap().to_owned();
        for (rights, code, words) in [(Rights::READ, 1, "A job would fail"), (Rights::ALL, 0, "A job can run.")] {
            let token = host.token(rights);
            // Bitbucket takes the token of a person with the address of that person.
            let person = [("T", token.as_str())];
            let user: &[&str] = if *kind == HostKind::Bitbucket { &["--username", "writer@acme.example"] } else { &[] };
            let set = ["project", "credential", "set", &id, "--token-env", "T"];
            desk.run_with(&[&set[..], user].concat(), &person).ok();
            let tested = desk.run(&["project", "test", &id]);
            assert_eq!(tested.code, code, "{kind:?} {rights:?}: {}", tested.out);
            assert!(tested.out.contains(words), "{kind:?}: {}", tested.out);
            assert_eq!(tested.out.contains("NO   git may push a branch"), code == 1, "{kind:?}: {}", tested.out);
        }
        host.archive("acme/docs", true);
        if *kind != HostKind::Bitbucket {
            let tested = desk.run(&["project", "test", &id]);
            assert!(tested.code == 1 && tested.out.contains("archived"), "{kind:?}: {}", tested.out);
        }
        host.take_violations();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_does_not_tell_its_kind_says_what_to_type() {
    let desk = Desk::new();
    let host = FakeHost::start(HostKind::Forgejo).await;
    host.add("acme/docs", GitRepo::new([("docs/index.md", "# Docs\n")]));
    let made = create(&desk, &host.address("acme/docs"), &[]);
    assert!(made.err.contains("open no pull request") && made.err.contains("`--host`"), "{}", made.err);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let token = host.token(Rights::ALL);
    desk.run_with(&["project", "credential", "set", &id, "--token-env", "T"], &[("T", token.as_str())]).ok();
    let tested = desk.run(&["project", "test", &id]);
    assert!(tested.out.contains("A job can run, but it will not open a pull request"), "{}", tested.out);
    assert!(!tested.out.contains("A job can run.\n") && tested.out.contains("`--host`"), "{}", tested.out);
}

#[test]
fn a_repository_without_the_docs_folder_says_so_and_what_is_there() {
    let desk = Desk::new();
    let git = GitRepo::new([
        ("README.md", "# Code\n"),
        ("site/content/a.md", "# A\n"),
        ("site/mkdocs.yml", "site_name: A\n"),
    ]);
    git.git(&["branch", "-m", "main", "trunk"]);
    let path = git.path().to_str().unwrap();
    let words = "the repository has no `docs` on its branch `trunk`; pages are in `site/content`; `site/mkdocs.yml` configures a \
                 site; say where the documentation is with `copydesk project update --docs-path` or in the settings of the project";
    for flags in [&["--id", "asked"][..], &["--id", "named", "--base-ref", "trunk"]] {
        let made = create(&desk, path, flags).ok();
        assert!(made.err.contains(words), "{}", made.err);
    }
    let tested = desk.run(&["project", "test", "asked"]);
    let line = format!("NO   the documentation is where the project says: {words}\n");
    assert!(tested.code == 1 && tested.out.contains(&line), "{}", tested.out);

    let key = desk.run(&["key", "create", "--project", "asked", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let server = desk.serve(&[]);
    let environment =
        [("COPYDESK_URL", server.url.as_str()), ("COPYDESK_PROJECT", "asked"), ("COPYDESK_API_KEY", &key)];
    let job = || desk.run_with(&["job", "create", "Fix the typos", "--wait", "--json"], &environment);
    let failed = job();
    let said: serde_json::Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!((failed.code, &said["status"]), (1, &"failed".into()), "{said}");
    assert!(said["message"].as_str().unwrap().contains("he repository has no `docs` on its branch `trunk`;"), "{said}");

    // Paths that are there are right, be it one file of them or all.
    for docs_path in ["site/content", "README.md", "."] {
        desk.run(&["project", "update", "asked", "--docs-path", docs_path]).ok();
        let tested = desk.run(&["project", "test", "asked"]).ok();
        assert!(tested.out.contains("yes  the documentation is where the project says\n"), "{}", tested.out);
        assert_eq!(job().json()["outcome"], "no_changes", "{docs_path}");
    }
}

#[test]
fn files_that_cannot_be_listed_are_not_passed_over() {
    let desk = Desk::new();
    let git = GitRepo::new([("docs/a.md", "# A\n")]);
    let made = create(&desk, git.path().to_str().unwrap(), &["--id", "gone", "--base-ref", "gone"]).ok();
    assert!(made.err.contains("it could not be checked whether the documentation is there: "), "{}", made.err);
}

#[test]
fn where_no_page_is_anywhere_the_first_can_be_written() {
    let desk = Desk::new();
    let git = GitRepo::new([("README.md", "# Code\n"), ("src/main.rs", "fn main() {}\n")]);
    let made = create(&desk, git.path().to_str().unwrap(), &["--id", "code"]).ok();
    let words = "the repository has no `docs` on its branch `main`, and elsewhere only pages such as `README.md`; \
                 `copydesk project update --docs-path .` has jobs work on those; otherwise name another branch or folder, or \
                 have a model write the first page";
    assert!(made.err.contains(words), "{}", made.err);
    // What is built in writes no pages of its own; a model may.
    let tested = desk.run(&["project", "test", "code"]);
    let line =
        format!("NO   the documentation is where the project says: {words}; no model is configured, and `builtin`");
    assert!(
        tested.code == 1 && tested.out.contains(&line) && tested.out.contains("A job would fail"),
        "{}",
        tested.out
    );
    let tested = desk.run_with(&["project", "test", "code"], &[("COPYDESK_JOBS__MODELS", "builtin,some-model")]).ok();
    let line = format!("?    the documentation is where the project says: {words}\n");
    assert!(tested.out.contains(&line), "{}", tested.out);

    let key = desk.run(&["key", "create", "--project", "code", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let server = desk.serve(&[]);
    let environment = [("COPYDESK_URL", server.url.as_str()), ("COPYDESK_PROJECT", "code"), ("COPYDESK_API_KEY", &key)];
    let job = |prompt: &str| desk.run_with(&["job", "create", prompt, "--wait", "--json"], &environment);
    let failed = job("Fix the typos");
    let said: serde_json::Value = serde_json::from_str(&failed.out).unwrap();
    let words = "The repository has no `docs` on the branch that the job starts from, so there are no pages to work on";
    assert!(failed.code == 1 && said["message"].as_str().unwrap().starts_with(words), "{said}");
    assert_eq!(job("Add a page \"Start\" at docs/start.md").json()["outcome"], "pr_created");
}

#[test]
fn documentation_in_a_format_that_is_not_read_is_no_success() {
    let desk = Desk::new();
    let git = GitRepo::new([("README.md", "# Code\n"), ("docs/conf.py", ""), ("docs/index.rst", "A\n=\n")]);
    let made = create(&desk, git.path().to_str().unwrap(), &["--id", "flask"]).ok();
    let words = "`docs` has 1 .rst file, which Copydesk does not read";
    assert!(made.err.contains(words), "{}", made.err);
    let tested = desk.run(&["project", "test", "flask"]);
    let line = format!("NO   the documentation is where the project says: {words}");
    assert!(tested.code == 1 && tested.out.contains(&line), "{}", tested.out);
    let key = desk.run(&["key", "create", "--project", "flask", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let server = desk.serve(&[]);
    let environment =
        [("COPYDESK_URL", server.url.as_str()), ("COPYDESK_PROJECT", "flask"), ("COPYDESK_API_KEY", &key)];
    let job = || desk.run_with(&["job", "create", "Fix the typos", "--wait", "--json"], &environment);
    let ended = job();
    let said: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &said["status"], &said["outcome"]), (1, &"failed".into(), &"error".into()), "{said}");
    assert!(said["message"].as_str().unwrap().contains(words), "{said}");
    // Files of that format that the project allows by name may be written.
    desk.run(&["project", "update", "flask", "--allow", "docs/**/*.rst"]).ok();
    assert_eq!(job().json()["status"], "completed");
}

#[test]
fn a_branch_that_is_not_there_is_told_as_such_when_a_project_is_made() {
    let desk = Desk::new();
    let git = GitRepo::new([("docs/a.md", "# A\n")]);
    let made = create(&desk, git.path().to_str().unwrap(), &["--id", "gone", "--base-ref", "gone"]).ok();
    assert!(made.err.contains("is there: the repository has no branch `gone`; "), "{}", made.err);
    let empty = desk.path().join("empty.git");
    let init = std::process::Command::new("git").args(["init", "-q", "--bare"]).arg(&empty).output().unwrap();
    assert!(init.status.success(), "{init:?}");
    let made = create(&desk, empty.to_str().unwrap(), &["--id", "empty", "--base-ref", "main"]).ok();
    assert!(made.err.contains("the repository is empty; push a first commit to `main`"), "{}", made.err);
    assert!(!made.err.contains("remote ref"), "{}", made.err);
}

#[test]
fn what_keeps_git_from_a_repository_is_told_apart_in_its_own_words() {
    let desk = Desk::new();
    let damaged = GitRepo::new([("docs/index.md", "# Docs\n")]);
    let id = damaged.git(&["rev-parse", "HEAD:docs/index.md"]);
    let found = std::fs::read_dir(damaged.path()).unwrap().flatten().any(|entry| entry.file_name() == ".git");
    let git_folder = if found { damaged.path().join(".git") } else { damaged.path().to_owned() };
    let object = git_folder.join("objects").join(&id[..2]).join(id[2..].trim());
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, "garbage").unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (number, (repository, words)) in [
        (
            damaged.path().display().to_string(),
            "the repository is damaged where it is kept; run `git fsck --no-dangling` there; it says: fatal: ",
        ),
        (
            format!("http://{closed}/x"),
            "the repository's host refuses the connection, or nothing listens there; git says: ",
        ),
        ("http://nowhere.invalid/x".to_owned(), "the repository's host name cannot be resolved; git says: "),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("p{number}");
        let host = if repository.starts_with("http") { "git" } else { "auto" };
        create(&desk, &repository, &["--id", &id, "--base-ref", "main", "--host", host]).ok();
        let tested = desk.run(&["project", "test", &id]);
        assert!(tested.code == 1 && tested.out.contains(words), "{}", tested.out);
    }
    // The job says the same to its reader, and the log to the operator.
    let key = desk.run(&["key", "create", "--project", "p1", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let server = desk.serve(&[("COPYDESK_LIMITS__HOST_WAIT", "0s"), ("COPYDESK_RUNNER__ATTEMPTS", "1")]);
    let environment = [("COPYDESK_URL", server.url.as_str()), ("COPYDESK_PROJECT", "p1"), ("COPYDESK_API_KEY", &key)];
    let failed = desk.run_with(&["job", "create", "Fix the typos", "--wait", "--json"], &environment);
    let job: serde_json::Value = serde_json::from_str(&failed.out).unwrap();
    assert!(
        job["message"].as_str().unwrap().contains("refuses the connection, or nothing listens there; git says: "),
        "{job}"
    );
    let (_, log) = server.terminate();
    let line = log.iter().find(|line| line.contains("\"git failed\"")).unwrap_or_else(|| panic!("{log:?}"));
    assert!(line.contains("\"said\":\"fatal: unable to access") && line.contains("\"level\":\"WARN\""), "{line}");
}
