use copydesk_forge::{ForgeErrorKind, Kind, PastQuestion, Remote};

use crate::sandbox::{NOW, Sandbox, put, run};

#[tokio::test]
async fn a_fetched_commit_is_read_without_a_checkout() {
    let sandbox = Sandbox::with(&[("README.md", "# Hi\n"), ("docs/a.md", "A\n"), ("docs/b/c.md", "C\n")]);
    let head = sandbox.publish("same");
    let mirror = sandbox.mirror().await;
    let commit = mirror.fetch("main").await.unwrap();
    assert_eq!(commit, head);
    // Objects arrive as a pack that appears as a whole.
    let mut kept =
        std::fs::read_dir(sandbox.mirror_folder().join("objects")).unwrap().map(|it| it.unwrap().file_name());
    assert!(kept.all(|name| name == "pack" || name == "info"));
    let tree = mirror.tree(&commit).unwrap();
    assert_eq!(tree.list("").unwrap(), ["README.md", "docs/a.md", "docs/b/c.md"]);
    assert_eq!(tree.list("docs/b").unwrap(), ["docs/b/c.md"]);
    assert!(tree.list("nowhere").unwrap().is_empty());
    assert_eq!(tree.read("docs/a.md").unwrap().unwrap(), b"A\n");
    assert_eq!(tree.read("docs").unwrap(), None);
    assert_eq!(tree.read("docs/a.md/x").unwrap(), None);
    assert_eq!(tree.entry("docs/b").unwrap().unwrap().kind, Kind::Folder);
    assert_eq!(tree.entry("docs/a.md").unwrap().unwrap().size, 2);
    assert_eq!(tree.folder("docs").unwrap(), [("a.md".to_owned(), Kind::File), ("b".to_owned(), Kind::Folder)]);
    for nothing in ["docs/", "/docs", "docs//a.md", "./README.md", "docs/../README.md"] {
        assert_eq!(tree.entry(nothing).unwrap(), None, "{nothing}");
    }
}

#[tokio::test]
async fn links_submodules_and_programs_are_what_they_are() {
    let sandbox = Sandbox::with(&[("run.sh", "#!/bin/sh\n"), ("a.md", "a\n")]);
    std::os::unix::fs::symlink("a.md", sandbox.path("work/link.md")).unwrap();
    std::os::unix::fs::symlink("/etc", sandbox.path("work/etc")).unwrap();
    sandbox.work(&["update-index", "--add", "--chmod=+x", "run.sh"]);
    let other = sandbox.work(&["rev-parse", "HEAD"]);
    sandbox.work(&["add", "-A"]);
    sandbox.work(&["update-index", "--chmod=+x", "run.sh"]);
    sandbox.work(&["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", other.trim())]);
    sandbox.work(&["commit", "-qm", "kinds"]);
    sandbox.work(&["push", "-q", "../remote.git", "HEAD:main"]);
    let mirror = sandbox.mirror().await;
    let tree = mirror.tree(&mirror.fetch("main").await.unwrap()).unwrap();
    let kind = |path: &str| tree.entry(path).unwrap().map(|entry| entry.kind);
    assert_eq!(kind("run.sh"), Some(Kind::Executable));
    assert_eq!(kind("link.md"), Some(Kind::Symlink));
    assert_eq!(kind("sub"), Some(Kind::Submodule));
    assert_eq!(kind("etc/passwd"), None);
    assert_eq!(tree.read("link.md").unwrap(), None);
    assert_eq!(tree.list("").unwrap(), ["a.md", "run.sh"]);
}

#[tokio::test]
async fn a_fetch_sees_what_is_new_packed_or_not() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    for number in 2..5 {
        sandbox.write(&[("a.md", &format!("{number}\n"))]);
        let head = sandbox.publish("more");
        sandbox.remote(&["pack-refs", "--all"]);
        assert_eq!(mirror.fetch("main").await.unwrap(), head);
        let content = mirror.tree(&head).unwrap().read("a.md").unwrap().unwrap();
        assert_eq!(content, format!("{number}\n").as_bytes());
    }
}

#[tokio::test]
async fn branches_of_any_name_live_side_by_side() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    sandbox.remote(&["branch", "one", "main"]);
    let first = mirror.fetch("one").await.unwrap();
    sandbox.remote(&["branch", "-D", "one"]);
    sandbox.write(&[("a.md", "2\n")]);
    let second = sandbox.publish("second");
    sandbox.remote(&["branch", "one/two", "main"]);
    assert_eq!(mirror.fetch("one/two").await.unwrap(), second);
    assert_ne!(first, second);
    assert_eq!(mirror.find_branch("one").await.unwrap(), None);
}

#[tokio::test]
async fn what_is_missing_is_said_clearly() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let error = sandbox.mirror().await.fetch("nope").await.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ForgeErrorKind::Lasting, "the repository has no branch `nope`"));

    let error = Sandbox::empty().mirror().await.fetch("main").await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Lasting);
    assert_eq!(error.message, "the repository is empty; push a first commit to `main`");

    let nowhere = sandbox.forge().mirror(&sandbox.address_of("nowhere.git")).await.unwrap();
    let error = nowhere.fetch("main").await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Lasting);
    assert!(error.message.starts_with("there is no git repository at the address"), "{error}");

    let error = sandbox.mirror().await.fetch("../../x").await.unwrap_err();
    assert_eq!(error.message, "that is not a branch name that git accepts");
}

#[tokio::test]
async fn a_sha256_repository_is_refused() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    run(&sandbox.path(""), &["init", "-q", "--object-format=sha256", "-b", "main", "wide"]);
    run(&sandbox.path("wide"), &["commit", "-q", "--allow-empty", "-m", "x"]);
    let mirror = sandbox.forge().mirror(&sandbox.address_of("wide")).await.unwrap();
    let error = mirror.fetch("main").await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Lasting);
    assert!(error.message.contains("SHA-256"), "{error}");
}

#[tokio::test]
async fn a_work_tree_and_a_linked_one_are_repositories_too() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let head = sandbox.publish("again");
    sandbox.work(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    for name in ["work", "linked"] {
        let mirror = sandbox.forge().mirror(&sandbox.address_of(name)).await.unwrap();
        assert_eq!(mirror.fetch("main").await.unwrap(), head, "{name}");
        assert_eq!(mirror.find_branch("side").await.unwrap(), Some(head), "{name}");
        assert_eq!(mirror.find_branch("none").await.unwrap(), None, "{name}");
    }
}

#[tokio::test]
async fn a_remote_with_another_way_to_keep_references_is_read_by_git() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let (has_reftable, _) =
        crate::sandbox::try_run(&sandbox.path(""), &["init", "-q", "--ref-format=reftable", "-b", "main", "table"]);
    if !has_reftable {
        // Older gits do not know it, so nobody can have such a repository there.
        return;
    }
    run(&sandbox.path("table"), &["commit", "-q", "--allow-empty", "-m", "x"]);
    let mirror = sandbox.forge().mirror(&sandbox.address_of("table")).await.unwrap();
    assert_eq!(
        mirror.fetch("main").await.unwrap().to_string(),
        run(&sandbox.path("table"), &["rev-parse", "HEAD"]).trim()
    );
    assert_eq!(mirror.find_branch("other").await.unwrap(), None);
}

#[tokio::test]
async fn a_broken_mirror_is_made_anew() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    sandbox.mirror().await.fetch("main").await.unwrap();
    // A crash before the configuration was there.
    std::fs::remove_file(sandbox.mirror_folder().join("config")).unwrap();
    sandbox.write(&[("a.md", "2\n")]);
    let head = sandbox.publish("second");
    let mirror = sandbox.mirror().await;
    assert_eq!(mirror.fetch("main").await.unwrap(), head);

    // Packs that are cut off: what is read fails, and the next fetch mends it.
    for entry in std::fs::read_dir(sandbox.mirror_folder().join("objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        let mut permissions = path.metadata().unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
        std::fs::set_permissions(&path, permissions).unwrap();
        let content = std::fs::read(&path).unwrap();
        std::fs::write(&path, &content[..content.len() / 2]).unwrap();
    }
    sandbox.write(&[("a.md", "3\n")]);
    let head = sandbox.publish("third");
    let mirror = sandbox.mirror().await;
    assert_eq!(mirror.fetch("main").await.unwrap(), head);
    assert_eq!(mirror.tree(&head).unwrap().read("a.md").unwrap().unwrap(), b"3\n");
    let left: Vec<_> = std::fs::read_dir(sandbox.path("mirrors")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "only the mirror and its locks: {left:?}");
}

#[tokio::test]
async fn a_broken_remote_does_not_cost_the_mirror() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let unpushed = mirror.commit(&base, &[put("b.md", "b\n")], "B", NOW).unwrap();
    sandbox.write(&[("a.md", "2\n")]);
    sandbox.publish("second");
    let blob = sandbox.remote(&["rev-parse", "main:a.md"]).trim().to_owned();
    let (start, rest) = blob.split_at(2);
    let object = sandbox.path("remote.git/objects").join(start).join(rest);
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, "").unwrap();
    mirror.fetch("main").await.unwrap_err();
    assert!(mirror.has_commit(&unpushed));
}

#[tokio::test]
async fn leftovers_of_a_killed_git_do_no_harm() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    mirror.fetch("main").await.unwrap();
    let folder = sandbox.mirror_folder();
    let reference = std::fs::read_dir(folder.join("refs/copydesk")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(reference.with_extension("lock"), "").unwrap();
    std::fs::write(folder.join("packed-refs.lock"), "").unwrap();
    std::fs::write(folder.join("objects/pack/tmp_pack_abc"), "half").unwrap();
    sandbox.write(&[("a.md", "2\n")]);
    let head = sandbox.publish("second");
    assert_eq!(mirror.fetch("main").await.unwrap(), head);
    assert!(!folder.join("objects/pack/tmp_pack_abc").exists());
}

#[tokio::test]
async fn many_packs_become_few_and_nothing_is_lost() {
    let sandbox = Sandbox::with(&[("a.md", "0\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let unpushed = mirror.commit(&base, &[put("b.md", "mine\n")], "Mine", NOW).unwrap();
    // Packs as many fetches would leave them, made in a cheaper way.
    let folder = sandbox.mirror_folder();
    for number in 0..51 {
        let tree = mirror.commit(&base, &[put("n.md", &format!("{number}"))], "n", NOW).unwrap().to_string();
        let list = sandbox.path("list");
        std::fs::write(&list, &tree).unwrap();
        let script = format!("git pack-objects -q objects/pack/pack < '{}'", list.display());
        let status = std::process::Command::new("sh").args(["-c", &script]).current_dir(&folder).output().unwrap();
        assert!(status.status.success());
    }
    let packs = || {
        std::fs::read_dir(folder.join("objects/pack"))
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|it| it == "pack"))
            .count()
    };
    assert!(packs() > 50);
    let tree = mirror.tree(&unpushed).unwrap();
    sandbox.write(&[("a.md", "1\n")]);
    let head = sandbox.publish("second");
    assert_eq!(mirror.fetch("main").await.unwrap(), head);
    assert!(packs() < 10, "{}", packs());
    assert_eq!(tree.read("b.md").unwrap().unwrap(), b"mine\n");
    assert!(sandbox.mirror().await.has_commit(&unpushed));
    sandbox.mirror_git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn a_tree_that_unfolds_without_end_is_refused() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mut tree = sandbox.work(&["rev-parse", "HEAD^{tree}"]).trim().to_owned();
    for _ in 0..9 {
        let listing: String = (0..10).map(|n| format!("040000 tree {tree}\td{n}\n")).collect();
        std::fs::write(sandbox.path("listing"), listing).unwrap();
        let script = format!("git mktree < '{}'", sandbox.path("listing").display());
        let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(sandbox.path("work")).output();
        tree = String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned();
    }
    let commit = sandbox.work(&["commit-tree", &tree, "-m", "bomb"]).trim().to_owned();
    sandbox.work(&["push", "-q", "../remote.git", &format!("{commit}:refs/heads/bomb")]);
    let mirror = sandbox.mirror().await;
    let tree = mirror.tree(&mirror.fetch("bomb").await.unwrap()).unwrap();
    let error = tree.list("").unwrap_err();
    assert!(error.to_string().contains("more than"), "{error}");
    assert!(tree.entry("d1/d2/d3").unwrap().is_some());
}

#[tokio::test]
async fn addresses_that_git_must_not_be_given_are_refused() {
    let sandbox = Sandbox::empty();
    for address in ["ext::sh -c id", "-uroot", "git://host/x", "ssh://-oProxyCommand=id/x", "https://me:pw@host/x", "x"]
    {
        let remote = Remote::at(address);
        let error = sandbox.forge().mirror(&remote).await.err().unwrap();
        assert_eq!(error.message, "the repository's address is not one that git may use", "{address}");
    }
}

#[tokio::test]
async fn the_history_tells_where_files_have_gone() {
    let long = "A line of a page that is long enough to be known again.\n".repeat(20);
    let sandbox = Sandbox::with(&[("docs/a.md", &long), ("docs/x.md", "other\n")]);
    sandbox.work(&["mv", "docs/a.md", "docs/b.md"]);
    sandbox.publish("move");
    sandbox.work(&["mv", "docs/b.md", "docs/c d.md"]);
    sandbox.write(&[("docs/c d.md", &format!("{long}One line more.\n"))]);
    let head = sandbox.publish("move again");
    let mirror = sandbox.mirror().await;
    mirror.fetch("main").await.unwrap();
    let renames = mirror.renames(&head).await.unwrap();
    let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
    assert_eq!(renames.pairs, [pair("docs/b.md", "docs/c d.md"), pair("docs/a.md", "docs/b.md")]);
    assert_eq!(renames.cut, None);
}

#[tokio::test]
async fn a_history_that_is_cut_off_is_said_to_be() {
    let sandbox = Sandbox::with(&[("docs/a.md", "A\n")]);
    let head = sandbox.publish("more");
    let mirror = sandbox.mirror().await;
    mirror.fetch("main").await.unwrap();
    std::fs::write(sandbox.mirror_folder().join("shallow"), format!("{head}\n")).unwrap();
    let renames = mirror.renames(&head).await.unwrap();
    assert!(renames.pairs.is_empty() && renames.cut.is_some_and(|why| why.contains("not all here")));
}

#[tokio::test]
async fn the_past_is_told_and_only_that_of_the_branch() {
    let sandbox = Sandbox::with(&[("docs/a.md", "# Old name\n"), ("docs/[b].md", "b\n")]);
    sandbox.publish("Begin");
    sandbox.write(&[("docs/a.md", "# New name\n")]);
    sandbox.publish("Rename the heading");
    sandbox.write(&[("docs/[b].md", "bb\n"), ("deploy/.env", "TOKEN=planted\n"), ("deploy/tls.key", "planted\n")]);
    let head = sandbox.publish("Say more");
    sandbox.work(&["checkout", "-q", "-b", "other", "HEAD~2"]);
    sandbox.work(&["commit", "-q", "--allow-empty", "-m", "Secret plans"]);
    let foreign = sandbox.work(&["rev-parse", "HEAD"]);
    sandbox.work(&["push", "-q", "../remote.git", "HEAD:other"]);
    let mirror = sandbox.mirror().await;
    mirror.fetch("main").await.unwrap();
    mirror.fetch("other").await.unwrap();
    let ask = async |path: &str, text: &str, commit: &str| {
        let given = |it: &str| (!it.is_empty()).then(|| it.to_owned());
        let asked = PastQuestion { path: given(path), text: given(text), commit: given(commit) };
        mirror.past(&head, &asked).await.map_err(|error| error.to_string())
    };
    let all = ask("", "", "").await.unwrap();
    assert!(all.lines().count() >= 3 && all.contains("Rename the heading") && !all.contains("Secret"), "{all}");
    assert!(ask("docs/[b].md", "", "").await.unwrap().lines().next().unwrap().ends_with(": Say more"));
    let renamed = ask("", "# Old name", "").await.unwrap();
    assert!(renamed.lines().next().unwrap().ends_with(": Rename the heading"), "{renamed}");
    let id = renamed.split(' ').next().unwrap();
    let shown = ask("", "", id).await.unwrap();
    assert!(shown.contains("-# Old name") && shown.contains("+# New name"), "{shown}");
    assert!(!ask("docs/[b].md", "", id).await.unwrap().contains("New name"));
    let last = ask("", "", &head.to_string()).await.unwrap();
    assert!(last.contains("+bb") && !last.contains("planted"), "{last}");
    assert!(ask("deploy/.env", "", "").await.unwrap_err().contains("not shown"));
    assert!(ask("", "", foreign.trim()).await.unwrap_err().contains("no commit"));
    for (path, commit, word) in [("../x", "", "leaves"), ("", "HEAD", "not the id"), ("", "--all", "not the id")] {
        assert!(ask(path, "", commit).await.unwrap_err().contains(word), "{path}{commit}");
    }
}
