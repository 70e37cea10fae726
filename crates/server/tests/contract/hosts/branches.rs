//! Branches of jobs on a code host: brought up to date, and left alone or taken back at the right time.

use std::time::Duration;

use copydesk_domain::HostKind;
use copydesk_testkit::TestEditor;
use copydesk_testkit::hosts::{Fault, Pause};
use serde_json::json;

use super::{KINDS, Place, REPOSITORY, branch};
use crate::stage::Stage;

behaviours! {
    a_work_branch_is_brought_up_to_date,
    a_conflict_is_resolved_once_or_said,
    commits_of_others_are_kept,
    a_branch_that_is_only_behind_is_brought_up_to_date_too,
    what_one_side_has_deleted_is_for_people,
    a_branch_that_was_taken_back_stays_there,
    nothing_is_added_to_what_is_merged_or_closed,
    nothing_is_pushed_for_what_is_merged_meanwhile,
    a_branch_without_a_pull_request_is_taken_back,
    a_branch_that_somebody_has_added_to_stays,
    a_merge_that_deletes_the_branch_during_a_follow_up_is_final,
    commits_that_come_too_late_for_a_merge_leave_no_branch,
    a_branch_stays_if_it_cannot_be_told_whether_it_has_a_pull_request,
    commits_that_were_squashed_are_not_taken_back,
    commits_that_come_too_late_for_a_squash_leave_no_branch,
}

async fn a_work_branch_is_brought_up_to_date(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    place.commit("main", "docs/b.md", "# B\n\nMoved on.\n");
    let again = place.followed(&job, "docs/c.md = # C\\n", "completed").await;
    let branch = branch(&job);
    assert_eq!(again["outcome"], "pr_created", "{again}");
    assert_eq!(place.git.text(branch, "docs/b.md").unwrap(), "# B\n\nMoved on.\n");
    assert_eq!(place.git.text(branch, "docs/a.md").unwrap(), "# A\n\nTwo.\n");
    assert_eq!(place.git.text(branch, "docs/c.md").unwrap(), "# C\n");
    let changed = place.git.git(&["diff", "--name-only", &format!("main...{branch}")]);
    assert_eq!(changed, "docs/a.md\ndocs/c.md\n", "only what the job did is in the pull request");
    assert_eq!(place.git.git(&["rev-list", "--merges", "--count", branch]).trim(), "1");
    assert_eq!(place.pulls().len(), 1);
    place.git.git(&["fsck", "--strict"]);
    let diff = place.project.client().get(&place.project.job_path(job["id"].as_str().unwrap(), "/diff")).send().await;
    assert!(!diff.expect(200).text().contains("Moved on"), "what others did is not the job's");
    // Nothing has moved since: no further merge.
    place.followed(&job, "docs/d.md = # D\\n", "completed").await;
    assert_eq!(place.git.git(&["rev-list", "--merges", "--count", branch]).trim(), "1");
}

async fn a_conflict_is_resolved_once_or_said(stage: &Stage) {
    // Keeps both sides, unless it is told to leave the marks.
    let editor = TestEditor::new("resolver", |workspace, prompt| {
        let text = workspace.text("docs/a.md").unwrap();
        let is_mark = |line: &&str| ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark));
        let resolved: Vec<&str> = text.lines().filter(|line| !is_mark(line)).collect();
        if prompt != "Leave it." {
            workspace.write("docs/a.md", format!("{}\n{prompt}\n", resolved.join("\n"))).unwrap();
        } else {
            workspace.write("docs/b.md", "# B\n\nElse.\n".to_owned()).unwrap();
        }
        Ok(("Add a line".to_owned(), "I added it.".to_owned()))
    });
    let place = Place::new(stage, HostKind::Gitlab, editor).await;
    let job = place.ended("Two.", "completed").await;
    place.commit("main", "docs/a.md", "# A\n\nOne.\nTheirs.\n");
    let branch = branch(&job);
    let before = place.git.git(&["rev-parse", branch]);
    let failed = place.followed(&job, "Leave it.", "failed").await;
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("docs/a.md") && message.contains("by hand"), "{message}");
    assert_eq!(place.git.git(&["rev-parse", branch]), before, "nothing went out");
    let again = place.followed(&job, "Three.", "completed").await;
    assert_eq!(again["outcome"], "pr_created", "{again}");
    assert_eq!(place.git.text(branch, "docs/a.md").unwrap(), "# A\n\nOne.\nTwo.\nTheirs.\nThree.\n");
    assert!(!place.git.git(&["log", "-p", "-m", branch]).contains("+<<<<<<<"), "the marks never went out");
    assert_eq!(place.pulls().len(), 1);
}

async fn commits_of_others_are_kept(stage: &Stage) {
    let place = Place::new(stage, HostKind::Forgejo, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    place.commit(branch(&job), "docs/b.md", "# B\n\nBy hand.\n");
    place.followed(&job, "docs/c.md = # C\\n", "completed").await;
    assert_eq!(place.git.text(branch(&job), "docs/b.md").unwrap(), "# B\n\nBy hand.\n");
    assert_eq!(place.git.text(branch(&job), "docs/c.md").unwrap(), "# C\n");
    assert_eq!(place.git.commits(branch(&job), "main").len(), 3);
}

async fn a_branch_that_is_only_behind_is_brought_up_to_date_too(stage: &Stage) {
    let editor = TestEditor::new("once", |workspace, prompt| {
        if prompt == "Begin." {
            workspace.write("docs/a.md", "# A\n\nTwo.\n".to_owned()).unwrap();
            return Ok(("Say two".to_owned(), "I said two.".to_owned()));
        }
        Ok((String::new(), "There was nothing to do.".to_owned()))
    });
    let place = Place::new(stage, HostKind::Github, editor).await;
    let job = place.ended("Begin.", "completed").await;
    place.commit("main", "docs/b.md", "# B\n\nMoved on.\n");
    let again = place.followed(&job, "Bring it up to date.", "completed").await;
    assert_eq!((&again["outcome"], &again["prLink"]), (&json!("pr_created"), &job["prLink"]), "{again}");
    assert_eq!(place.git.text(branch(&job), "docs/b.md").unwrap(), "# B\n\nMoved on.\n");
    assert_eq!(place.git.git(&["rev-list", "--merges", "--count", branch(&job)]).trim(), "1");
    let pushes = place.host.pushes();
    let third = place.followed(&job, "Bring it up to date.", "completed").await;
    assert_eq!(third["outcome"], "no_changes", "there is nothing to bring: {third}");
    assert_eq!(place.host.pushes(), pushes);
}

async fn what_one_side_has_deleted_is_for_people(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    place.git.delete("main", "docs/a.md");
    let before = place.git.git(&["rev-parse", branch(&job)]);
    let failed = place.followed(&job, "docs/c.md = # C\\n", "failed").await;
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("docs/a.md") && message.contains("deleting") && message.contains("by hand"), "{message}");
    assert_eq!(place.git.git(&["rev-parse", branch(&job)]), before, "nothing went out");
}

async fn a_branch_that_was_taken_back_stays_there(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    let first = place.git.git(&["rev-parse", branch(&job)]);
    place.followed(&job, "docs/b.md = # B\\n\\nUnwanted.\\n", "completed").await;
    place.git.git(&["update-ref", &format!("refs/heads/{}", branch(&job)), first.trim()]);
    place.followed(&job, "docs/c.md = # C\\n", "completed").await;
    assert_eq!(place.git.text(branch(&job), "docs/b.md").unwrap(), "# B\n\nOne.\n", "it was taken back by a person");
    assert_eq!(place.git.text(branch(&job), "docs/c.md").unwrap(), "# C\n");
}

async fn nothing_is_added_to_what_is_merged_or_closed(stage: &Stage) {
    for (kind, place) in Place::all(stage).await {
        let merged = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let closed = place.ended("docs/b.md = # B\\n\\nTwo.\\n", "completed").await;
        place.host.merge(REPOSITORY, 1).await;
        place.host.close(REPOSITORY, 2).await;
        let pushes = place.host.pushes();
        for (job, word) in [(&merged, "merged"), (&closed, "closed")] {
            let failed = place.followed(job, "docs/c.md = # C\\n", "failed").await;
            let message = failed["message"].as_str().unwrap();
            assert!(message.contains(word) && message.contains("create a new job"), "{kind:?}: {message}");
            assert_eq!(failed["pullRequest"]["state"], word, "{kind:?}");
        }
        assert_eq!((place.pulls().len(), place.host.pushes()), (2, pushes), "{kind:?}");
    }
}

async fn nothing_is_pushed_for_what_is_merged_meanwhile(stage: &Stage) {
    let (editor, mut gate) = TestEditor::writing().gated();
    let place = Place::new(stage, HostKind::Gitlab, editor).await;
    gate.open();
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    gate.arrived().await;
    let id = job["id"].as_str().unwrap();
    place.project.message(id, "docs/b.md = # B\\n\\nTwo.\\n").await.expect(200);
    gate.arrived().await;
    place.host.merge(REPOSITORY, 1).await;
    place.git.git(&["update-ref", "-d", &format!("refs/heads/{}", branch(&job))]);
    let pushes = place.host.pushes();
    gate.open();
    let failed = place.project.until(id, "failed").await;
    assert!(failed["message"].as_str().unwrap().contains("merged"), "{:?}", failed.json());
    assert_eq!((place.host.pushes(), place.pulls().len()), (pushes, 1));
    assert_eq!(place.git.branches(), ["main"], "no branch that nobody looks at");
}

async fn a_branch_without_a_pull_request_is_taken_back(stage: &Stage) {
    for (kind, place) in Place::all(stage).await {
        let path = match kind {
            HostKind::Gitlab => "/merge_requests",
            HostKind::Bitbucket => "/pullrequests",
            _ => "/pulls",
        };
        // Nothing said so before.
        place.host.fail(1, "POST", path, Fault::Status(403));
        let failed = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "failed").await;
        assert_eq!(place.git.branches(), ["main"], "{kind:?}: {failed}");
        assert_eq!((&failed["branch"], &failed["prLink"]), (&json!(null), &json!(null)), "{kind:?}: {failed}");
        assert_eq!(place.host.pushes(), 2, "{kind:?}: there and back");
        // What was made is not lost.
        let again = place.followed(&failed, "docs/b.md = # B\\n\\nTwo.\\n", "completed").await;
        assert_eq!(again["outcome"], "pr_created", "{kind:?}: {again}");
        assert_eq!(place.git.text(branch(&again), "docs/a.md").unwrap(), "# A\n\nTwo.\n", "{kind:?}");
        assert_eq!(place.git.branches().len(), 2, "{kind:?}");
    }
}

async fn a_branch_that_somebody_has_added_to_stays(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    place.host.fail(1, "POST", "/pulls", Fault::Status(403));
    // The look for a pull request, before one is opened: the branch is there by then.
    let mut hold = place.host.hold_path("GET", "/pulls?", Pause::Before);
    let id = place.project.create("docs/a.md = # A\\n\\nTwo.\\n").await["id"].as_str().unwrap().to_owned();
    hold.arrived().await;
    let branch = place.git.branches().into_iter().find(|branch| branch != "main").unwrap();
    place.commit(&branch, "docs/b.md", "# B\n\nBy hand.\n");
    hold.go_on().await;
    let failed = place.project.until(&id, "failed").await;
    assert_eq!(place.git.text(&branch, "docs/b.md").unwrap(), "# B\n\nBy hand.\n", "{:?}", failed.json());
}

async fn a_merge_that_deletes_the_branch_during_a_follow_up_is_final(stage: &Stage) {
    for kind in KINDS {
        let place = Place::new(stage, kind, TestEditor::writing()).await;
        let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let id = job["id"].as_str().unwrap();
        // The push itself: how the pull request stands was asked just before.
        let mut push = place.host.hold_path("GET", "service=git-receive-pack", Pause::Before);
        place.project.message(id, "docs/b.md = # B\\n\\nTwo.\\n").await.expect(200);
        push.arrived().await;
        place.host.merge(REPOSITORY, 1).await;
        place.git.git(&["update-ref", "-d", &format!("refs/heads/{}", branch(&job))]);
        push.go_on().await;
        let failed = place.project.until(id, "failed").await;
        assert!(failed["message"].as_str().unwrap().contains("is merged"), "{kind:?}: {:?}", failed.json());
        assert_eq!(place.git.branches(), ["main"], "{kind:?}: a branch that was deleted stays so");
    }
}

async fn commits_that_come_too_late_for_a_merge_leave_no_branch(stage: &Stage) {
    for kind in KINDS {
        let place = Place::new(stage, kind, TestEditor::writing()).await;
        let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let id = job["id"].as_str().unwrap();
        // Git has seen where the branch is; the merge comes before its commits.
        let mut push = place.host.hold_path("POST", "/git-receive-pack", Pause::Before);
        place.project.message(id, "docs/b.md = # B\\n\\nTwo.\\n").await.expect(200);
        push.arrived().await;
        place.host.merge(REPOSITORY, 1).await;
        push.go_on().await;
        let failed = place.project.until(id, "failed").await;
        assert!(failed["message"].as_str().unwrap().contains("is merged"), "{kind:?}: {:?}", failed.json());
        assert_eq!(place.git.branches(), ["main"], "{kind:?}");
        assert_eq!(place.git.text("main", "docs/b.md").unwrap(), "# B\n\nOne.\n", "{kind:?}: it came too late");
    }
}

async fn a_branch_stays_if_it_cannot_be_told_whether_it_has_a_pull_request(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    place.host.fail(100, "POST", "/pulls", Fault::Status(500));
    let id = place.project.create("docs/a.md = # A\\n\\nTwo.\\n").await["id"].as_str().unwrap().to_owned();
    place.until_put_back_so_often(&id, 1, stage, Duration::ZERO).await;
    assert_eq!(place.git.branches().len(), 2, "it is pushed");
    // Its permission was taken away meanwhile, and somebody may have opened one by hand.
    place.host.recover();
    place.host.fail(100, "GET", "/pulls?", Fault::Status(403));
    stage.advance(Duration::from_secs(3600));
    let failed = place.project.until(&id, "failed").await;
    assert_eq!(place.git.branches().len(), 2, "{:?}", failed.json());
}

async fn commits_that_were_squashed_are_not_taken_back(stage: &Stage) {
    let place = Place::new(stage, HostKind::Gitlab, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    let id = job["id"].as_str().unwrap();
    let mut push = place.host.hold_path("POST", "/git-receive-pack", Pause::After);
    place.project.message(id, "docs/b.md = # B\\n\\nTwo.\\n").await.expect(200);
    push.arrived().await;
    place.host.squash(REPOSITORY, 1);
    push.go_on().await;
    let failed = place.project.until(id, "failed").await;
    assert_eq!(place.git.text("main", "docs/b.md").unwrap(), "# B\n\nTwo.\n", "{:?}", failed.json());
    assert_eq!(place.git.branches().len(), 2, "the host deletes it, or whoever has merged");
    assert!(!place.project.event_types(id).await.contains(&"taken_back".to_owned()));
}

async fn commits_that_come_too_late_for_a_squash_leave_no_branch(stage: &Stage) {
    let place = Place::new(stage, HostKind::Gitlab, TestEditor::writing()).await;
    for (number, file) in (1..).zip(["docs/a.md", "docs/b.md"]) {
        let job = place.ended(&format!("docs/a.md = # A\\n\\n{number}.\\n"), "completed").await;
        let id = job["id"].as_str().unwrap();
        let mut push = place.host.hold_path("POST", "/git-receive-pack", Pause::Before);
        place.project.message(id, &format!("{file} = # Late\\n")).await.expect(200);
        push.arrived().await;
        place.host.squash(REPOSITORY, number);
        push.go_on().await;
        let failed = place.project.until(id, "failed").await;
        assert_eq!(place.git.branches(), ["main"], "{file}: {:?}", failed.json());
    }
}
