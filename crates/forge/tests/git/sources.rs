//! Repositories that are only read: a branch with all tags, commits by any name, and what leads from one to another.

use copydesk_forge::{CommitId, DiffKind};

use crate::sandbox::Sandbox;

fn tag(sandbox: &Sandbox, name: &str) {
    sandbox.work(&["tag", "-f", "-m", name, name]);
    sandbox.work(&["push", "-q", "--force", "../remote.git", &format!("refs/tags/{name}")]);
}

fn delete_tag(sandbox: &Sandbox, name: &str) {
    sandbox.work(&["tag", "-d", name]);
    sandbox.remote(&["tag", "-d", name]);
}

#[tokio::test]
async fn a_branch_comes_with_its_tags() {
    let sandbox = Sandbox::with(&[("a.rs", "1\n")]);
    let first: CommitId = sandbox.work(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    tag(&sandbox, "v1");
    sandbox.write(&[("a.rs", "2\n")]);
    let second = sandbox.publish("second");
    let mirror = sandbox.mirror().await;
    assert_eq!(mirror.fetch_with_tags(None).await.unwrap(), second, "the main branch");
    assert_eq!(mirror.fetch_with_tags(Some("main")).await.unwrap(), second);
    assert_eq!(mirror.find_commit("v1", &second).await.unwrap(), Some(first), "an annotated tag leads to its commit");
    // Without a new commit: the branch alone does not tell that there is something new.
    delete_tag(&sandbox, "v1");
    tag(&sandbox, "v1/next");
    mirror.fetch_with_tags(Some("main")).await.unwrap();
    assert_eq!(mirror.known_commit("v1", &second).await.unwrap(), None);
    assert_eq!(mirror.known_commit("v1/next", &second).await.unwrap(), Some(second));
    assert_eq!(mirror.fetch("main").await.unwrap(), second, "the mirror serves as before");
}

#[tokio::test]
async fn a_lock_that_a_killed_git_has_left_is_swept_away() {
    let sandbox = Sandbox::with(&[("a.rs", "1\n")]);
    let mirror = sandbox.mirror().await;
    tag(&sandbox, "lib/v1");
    let tip = mirror.fetch_with_tags(None).await.unwrap();
    let lock = sandbox.mirror_folder().join("refs/copydesk-tags/lib/v2.lock");
    std::fs::write(&lock, "").unwrap();
    tag(&sandbox, "lib/v2");
    mirror.fetch_with_tags(None).await.unwrap();
    assert_eq!(mirror.known_commit("lib/v2", &tip).await.unwrap(), Some(tip));
}

#[tokio::test]
async fn a_commit_is_found_by_tag_id_or_branch_and_by_nothing_else() {
    let sandbox = Sandbox::with(&[("a.rs", "1\n")]);
    let first: CommitId = sandbox.work(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    sandbox.work(&["push", "-q", "../remote.git", "HEAD:refs/heads/release/1"]);
    sandbox.write(&[("a.rs", "2\n")]);
    let tip = sandbox.publish("second");
    let mirror = sandbox.mirror().await;
    mirror.fetch_with_tags(None).await.unwrap();
    let find = async |name: &str| mirror.find_commit(name, &tip).await.unwrap();
    assert_eq!(find(&first.to_string()).await, Some(first));
    assert_eq!(find(&first.to_string()[..8]).await, Some(first));
    assert_eq!(find("release/1").await, Some(first));
    for nothing in ["v9", "cafe", "refs/heads/main", "copydesk-tags/v1", &"0".repeat(40), &tip.to_string()[..6]] {
        assert_eq!(find(nothing).await, None, "{nothing}");
    }
    for wrong in ["-x", "a..b", "main~1", "@{u}", "HEAD^", ""] {
        assert!(mirror.find_commit(wrong, &tip).await.is_err(), "{wrong}");
    }
    // What a job has made and not pushed is nobody's to read.
    let change = crate::sandbox::put("a.rs", "mine\n");
    let own = mirror.commit(&tip, &[change], "Not pushed", crate::sandbox::NOW).unwrap();
    assert_eq!(find(&own.to_string()).await, None);
}

#[tokio::test]
async fn a_commit_that_no_branch_leads_to_is_fetched_by_its_id() {
    let sandbox = Sandbox::with(&[("a.rs", "1\n")]);
    let gone = sandbox.publish("to be rewritten");
    sandbox.work(&["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.publish("instead");
    let mirror = sandbox.mirror().await;
    mirror.fetch_with_tags(None).await.unwrap();
    assert!(!mirror.has_commit(&gone));
    assert!(mirror.fetch_commit(&gone).await.unwrap());
    assert_eq!(mirror.tree(&gone).unwrap().list("").unwrap(), ["a.rs"]);
    let never: CommitId = "1".repeat(40).parse().unwrap();
    assert!(!mirror.fetch_commit(&never).await.unwrap());
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let sandbox = Sandbox::with(&[("a.rs", "1\n")]);
    let error = sandbox.mirror().await.fetch_with_tags(Some("nope")).await.unwrap_err();
    assert_eq!(error.message, "the repository has no branch `nope`");
    let error = Sandbox::empty().mirror().await.fetch_with_tags(None).await.unwrap_err();
    assert!(error.message.starts_with("the repository is empty"), "{error}");
    sandbox.remote(&["symbolic-ref", "HEAD", "refs/heads/nowhere"]);
    let error = sandbox.mirror().await.fetch_with_tags(None).await.unwrap_err();
    assert!(error.message.contains("name the branch to read"), "{error}");
}

#[tokio::test]
async fn a_range_tells_its_commits_pull_requests_and_files() {
    let sandbox = Sandbox::with(&[("src/a.rs", "one\ntwo\nthree\n"), ("src/b.rs", "b\n"), (".env", "KEY=1\n")]);
    let from: CommitId = sandbox.work(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    sandbox.write(&[("src/a.rs", "one\n2\nthree\n"), (".env", "KEY=planted\n"), ("new.rs", "n\n")]);
    sandbox.publish("Count in digits (#7)");
    std::fs::remove_file(sandbox.path("work/src/b.rs")).unwrap();
    let to = sandbox.publish("Remove b");
    let mirror = sandbox.mirror().await;
    mirror.fetch_with_tags(None).await.unwrap();
    let range = mirror.range_commits(&from, &to, None).await.unwrap();
    assert_eq!((range.commits, range.left_behind), (2, 0));
    let subjects: Vec<&str> = range.newest.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["Remove b", "Count in digits (#7)"]);
    assert_eq!(range.newest[1].pull.as_ref().unwrap().number, "#7");
    let (files, truncated) = mirror.range_files(&from, &to, None).unwrap();
    let told: Vec<_> = files.iter().map(|file| (file.summary.path.as_str(), file.summary.kind)).collect();
    assert_eq!(told, [("new.rs", DiffKind::Added), ("src/a.rs", DiffKind::Changed), ("src/b.rs", DiffKind::Deleted)]);
    assert!(!truncated && files.iter().all(|file| !file.text.as_ref().unwrap().contains("planted")));
    assert!(files[1].text.as_ref().unwrap().contains("-two\n+2\n"));
    let (files, _) = mirror.range_files(&from, &to, Some("src")).unwrap();
    assert_eq!(files.len(), 2);
    assert!(mirror.range_files(&from, &to, Some("sr")).unwrap().0.is_empty());
    let back = mirror.range_commits(&to, &from, None).await.unwrap();
    assert_eq!((back.commits, back.left_behind), (0, 2));
    let in_folder = mirror.range_commits(&from, &to, Some("src")).await.unwrap();
    assert_eq!((in_folder.commits, in_folder.newest.len()), (2, 2), "commits of a folder");
    let of_file = mirror.range_commits(&from, &to, Some("src/b.rs")).await.unwrap();
    assert_eq!((of_file.commits, of_file.newest[0].subject.as_str()), (1, "Remove b"));
}
