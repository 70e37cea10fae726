//! What people ask for at the code host.

use std::time::Duration;

use copydesk_domain::{Comments, HostKind, HostSettings};
use copydesk_store::{AskState, Asked, ProjectChange};
use copydesk_testkit::eventually;
use copydesk_testkit::hosts::{Access, Delivery, Fault, Rights};
use futures_util::future::join_all;
use serde_json::Value;

use super::{KINDS, Place, REPOSITORY, app, branch, telling};
use crate::stage::Stage;

behaviours! {
    a_comment_that_mentions_it_is_one_follow_up,
    a_review_is_one_follow_up_with_its_lines,
    a_reply_at_a_line_is_its_writers_own,
    who_may_not_write_is_not_heard,
    a_team_that_may_only_read_is_not_heard,
    what_does_not_mention_it_asks_for_nothing_unless_all_do,
    a_comment_that_is_edited_into_a_mention_is_heard,
    nothing_is_added_to_a_merged_pull_request,
    a_label_is_one_job,
    a_label_of_somebody_without_rights_is_nothing,
    a_label_given_again_is_another_job,
    an_issue_that_was_edited_after_its_label_is_not_what_was_asked_for,
    labels_are_looked_at_where_the_host_shows_others,
    a_host_that_is_away_is_asked_again,
    an_hour_that_is_used_up_is_waited_for,
    labels_and_reviewers_are_on_the_pull_request,
    what_cannot_be_furnished_is_told,
}

/// Where issues can have labels.
const LABELLING: [HostKind; 3] = [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo];

impl Place {
    /// A project on each kind of host with people around it: `ada` may write, `eve` may read.
    async fn peopled(stage: &Stage, kinds: &[HostKind]) -> Vec<(HostKind, Self)> {
        let app = app(stage, telling()).await;
        let mut places = Vec::new();
        for kind in kinds {
            // Only administrators are told by Bitbucket who may do what.
            let rights = if *kind == HostKind::Bitbucket { Rights::ADMIN } else { Rights::ALL };
            let place = Self::on(app.clone(), *kind, rights).await;
            place.host.person(REPOSITORY, "ada", Access::Write);
            place.host.person(REPOSITORY, "eve", Access::Read);
            places.push((*kind, place));
        }
        places
    }

    async fn set(&self, how: impl FnOnce(&mut HostSettings)) {
        let mut host = self.app.store().project(&self.project.id).await.unwrap().unwrap().host;
        how(&mut host);
        let change = ProjectChange { host: Some(host), ..ProjectChange::default() };
        self.app.store().update_project(&self.project.id, change).await.unwrap().unwrap();
    }

    async fn secret(&self) -> String {
        self.app.hook_secret(&self.project.id).await
    }

    async fn tell(&self, delivery: &Delivery) {
        let address = format!("{}/hooks/{}", self.app.client().base(), self.project.id);
        assert_eq!(delivery.send(&address).await, Some(202));
    }

    async fn asks(&self) -> Vec<Asked> {
        self.app.store().asks(&self.project.id, 100).await.unwrap()
    }

    /// Waits until all that was asked for is refused or answered.
    async fn settled(&self) -> Vec<Asked> {
        eventually("everything is looked at", async || {
            let asks = self.asks().await;
            let is_open = |asked: &Asked| matches!(asked.state, AskState::Heard | AskState::Granted);
            (!asks.iter().any(is_open)).then_some(asks)
        })
        .await
    }

    fn commits(&self, job: &Value) -> usize {
        self.git.commits(branch(job), "main").len()
    }

    fn replies(&self) -> Vec<String> {
        let comments = self.host.comments(REPOSITORY, self.pulls()[0].number);
        comments.into_iter().map(|comment| comment.body).filter(|body| body.contains("Made by Copydesk")).collect()
    }
}

async fn a_comment_that_mentions_it_is_one_follow_up(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &KINDS).await {
        let job = place.ended("one", "completed").await;
        let pull = place.pulls()[0].number;
        let comment = place.host.comment(REPOSITORY, pull, "ada", "@copydesk Say two, please.");
        let delivery = place.host.comment_delivery(REPOSITORY, pull, comment, &place.secret().await);
        join_all((0..4).map(|_| place.tell(&delivery))).await;
        let [asked] = place.settled().await.try_into().unwrap();
        assert_eq!((asked.state, asked.note.as_deref()), (AskState::Answered, None), "{kind:?}");
        let now = place.project.until(job["id"].as_str().unwrap(), "completed").await;
        assert_eq!(now["prLink"], job["prLink"], "{kind:?}");
        // And late.
        place.tell(&delivery).await;
        let again = place.settled().await;
        assert_eq!(again[0].state, AskState::Answered, "{kind:?}");
        assert_eq!((place.commits(&job), place.pulls().len()), (2, 1), "{kind:?}");
        let messages = place.app.store().messages(&asked.job_id.unwrap()).await.unwrap();
        assert_eq!(messages.len(), 2, "{kind:?}");
        let prompt = messages[1].prompt.as_str();
        assert_eq!(prompt, "Say two, please.", "{kind:?}");
        let replies = place.replies();
        assert_eq!(replies.len(), 1, "{kind:?}: {replies:?}");
        assert!(replies[0].contains("Say two"), "{kind:?}: {}", replies[0]);
        place.host.assert_clean();
    }
}

async fn a_review_is_one_follow_up_with_its_lines(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &KINDS).await {
        place.ended("one", "completed").await;
        let pull = place.pulls()[0].number;
        let lines = [("docs/a.md", 3, "@copydesk Say two here.")];
        let review = place.host.review(REPOSITORY, pull, "ada", "", &lines);
        let delivery = place.host.review_delivery(REPOSITORY, pull, review, &place.secret().await);
        place.tell(&delivery).await;
        let granted = eventually("it is a follow-up", async || {
            let asks = place.settled().await;
            asks.into_iter().find(|asked| asked.state == AskState::Answered)
        })
        .await;
        place.tell(&delivery).await;
        place.settled().await;
        let messages = place.app.store().messages(&granted.job_id.unwrap()).await.unwrap();
        let prompts: Vec<&str> = messages.iter().map(|message| message.prompt.as_str()).collect();
        let expected = "On docs/a.md, line 3:\n\nSay two here.";
        assert_eq!(prompts, ["one", expected], "{kind:?}");
        place.host.assert_clean();
    }
}

async fn a_reply_at_a_line_is_its_writers_own(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &[HostKind::Forgejo]).await {
        let job = place.ended("one", "completed").await;
        let (pull, secret) = (place.pulls()[0].number, place.secret().await);
        let review = place.host.review(REPOSITORY, pull, "ada", "", &[("docs/a.md", 3, "Is that so?")]);
        let reviewed = place.host.review_delivery(REPOSITORY, pull, review, &secret);
        let bad = place.host.reply_at_line(REPOSITORY, pull, review, "eve", "@copydesk Say evil.");
        // The review is looked at with all that is there, and the reply by itself.
        place.tell(&reviewed).await;
        place.tell(&place.host.comment_delivery(REPOSITORY, pull, bad, &secret)).await;
        eventually("both are refused", async || {
            let asks = place.settled().await;
            (asks.len() == 2 && asks.iter().all(|asked| asked.state == AskState::Refused)).then_some(())
        })
        .await;
        assert_eq!((place.commits(&job), place.replies().len()), (1, 0), "{kind:?}");
        let good = place.host.reply_at_line(REPOSITORY, pull, review, "ada", "@copydesk Say two.");
        place.tell(&place.host.comment_delivery(REPOSITORY, pull, good, &secret)).await;
        let asks = place.settled().await;
        let asked = asks.into_iter().find(|asked| asked.state == AskState::Answered).unwrap();
        let messages = place.app.store().messages(&asked.job_id.unwrap()).await.unwrap();
        let prompt = messages[1].prompt.as_str();
        assert!(prompt.contains("On docs/a.md, line 3:\n\n") && prompt.ends_with("Say two."), "{kind:?}: {prompt}");
        assert!(!prompt.contains("Is that so?") && !prompt.contains("evil"), "{kind:?}: {prompt}");
        place.host.assert_clean();
    }
}

async fn who_may_not_write_is_not_heard(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &KINDS).await {
        let job = place.ended("one", "completed").await;
        let (pull, secret) = (place.pulls()[0].number, place.secret().await);
        for name in ["eve", "mallory"] {
            let comment = place.host.comment(REPOSITORY, pull, name, "@copydesk Say two.");
            place.tell(&place.host.comment_delivery(REPOSITORY, pull, comment, &secret)).await;
        }
        let asks = place.settled().await;
        assert_eq!(asks.len(), 2, "{kind:?}");
        for asked in asks {
            let note = asked.note.unwrap();
            assert_eq!(asked.state, AskState::Refused, "{kind:?}");
            assert!(note.contains("may not write to acme/docs"), "{kind:?}: {note}");
        }
        assert_eq!((place.commits(&job), place.replies().len()), (1, 0), "{kind:?}");
        // Nor is somebody who does not know the secret.
        let comment = place.host.comment(REPOSITORY, pull, "ada", "@copydesk Say three.");
        let forged = place.host.comment_delivery(REPOSITORY, pull, comment, "another secret");
        let address = format!("{}/hooks/{}", place.app.client().base(), place.project.id);
        assert_eq!(forged.send(&address).await, Some(403), "{kind:?}");
        assert_eq!(place.asks().await.len(), 2, "{kind:?}");
    }
}

async fn a_team_that_may_only_read_is_not_heard(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &[HostKind::Forgejo]).await {
        let job = place.ended("one", "completed").await;
        let (pull, secret) = (place.pulls()[0].number, place.secret().await);
        place.host.team(REPOSITORY, "writers", Access::Write, &["tea"]);
        place.host.team(REPOSITORY, "readers", Access::Read, &["tim"]);
        let say = async |name: &str| {
            let comment = place.host.comment(REPOSITORY, pull, name, "@copydesk Say two.");
            place.tell(&place.host.comment_delivery(REPOSITORY, pull, comment, &secret)).await;
            place.settled().await
        };
        let note = say("tim").await[0].note.clone().unwrap();
        assert!(note.contains("does not say whether tim may write to acme/docs"), "{kind:?}: {note}");
        assert!(note.contains("make tim a collaborator"), "{kind:?}: {note}");
        assert_eq!((place.commits(&job), place.replies().len()), (1, 0), "{kind:?}");
        // Where all teams may write, it is clear.
        place.host.team(REPOSITORY, "readers", Access::Write, &[]);
        assert!(say("tea").await.iter().any(|asked| asked.state == AskState::Answered), "{kind:?}");
        assert_eq!(place.commits(&job), 2, "{kind:?}");
        place.host.assert_clean();
    }
}

async fn what_does_not_mention_it_asks_for_nothing_unless_all_do(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &KINDS).await {
        let job = place.ended("one", "completed").await;
        let (pull, secret) = (place.pulls()[0].number, place.secret().await);
        let comment = place.host.comment(REPOSITORY, pull, "ada", "Looks good to me.");
        let delivery = place.host.comment_delivery(REPOSITORY, pull, comment, &secret);
        place.tell(&delivery).await;
        assert_eq!(place.asks().await, [], "{kind:?}");
        place.set(|host| host.comments = Comments::All).await;
        place.tell(&delivery).await;
        assert_eq!(place.settled().await[0].state, AskState::Answered, "{kind:?}");
        // Its own reply is a comment too.
        let own = place.host.comments(REPOSITORY, pull).last().unwrap().id;
        place.tell(&place.host.comment_delivery(REPOSITORY, pull, own, &secret)).await;
        let asks = place.settled().await;
        let of_own = asks.iter().find(|asked| asked.key.ends_with(&format!(" {own}"))).unwrap();
        assert_eq!(of_own.state, AskState::Refused, "{kind:?}");
        assert_eq!(place.commits(&job), 2, "{kind:?}");
        place.set(|host| host.comments = Comments::Off).await;
        let comment = place.host.comment(REPOSITORY, pull, "ada", "@copydesk Say three.");
        place.tell(&place.host.comment_delivery(REPOSITORY, pull, comment, &secret)).await;
        assert_eq!(place.asks().await.len(), 2, "{kind:?}");
    }
}

async fn a_comment_that_is_edited_into_a_mention_is_heard(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &[HostKind::Github, HostKind::Forgejo]).await {
        let job = place.ended("one", "completed").await;
        place.set(|host| host.mention = Some("docs-bot".to_owned())).await;
        let (pull, secret) = (place.pulls()[0].number, place.secret().await);
        let comment = place.host.comment(REPOSITORY, pull, "ada", "@docs-bot Say two.");
        let told = place.host.comment_delivery(REPOSITORY, pull, comment, &secret);
        // By the time it is looked at it says something else.
        place.host.edit_comment(REPOSITORY, comment, "Never mind.");
        place.tell(&told).await;
        assert_eq!(place.settled().await[0].state, AskState::Refused, "{kind:?}");
        place.host.edit_comment(REPOSITORY, comment, "@docs-bot Say three.");
        place.tell(&place.host.comment_delivery(REPOSITORY, pull, comment, &secret)).await;
        assert_eq!(place.settled().await[0].state, AskState::Answered, "{kind:?}");
        place.host.delete_comment(REPOSITORY, comment);
        place.tell(&told).await;
        place.settled().await;
        assert_eq!(place.commits(&job), 2, "{kind:?}");
    }
}

async fn nothing_is_added_to_a_merged_pull_request(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &KINDS).await {
        let job = place.ended("one", "completed").await;
        let pull = place.pulls()[0].number;
        place.host.merge(REPOSITORY, pull).await;
        let comment = place.host.comment(REPOSITORY, pull, "ada", "@copydesk Say two.");
        place.tell(&place.host.comment_delivery(REPOSITORY, pull, comment, &place.secret().await)).await;
        let [asked] = place.settled().await.try_into().unwrap();
        assert_eq!(asked.note.as_deref(), Some("the pull request is merged or closed"), "{kind:?}");
        assert_eq!(place.project.get(job["id"].as_str().unwrap()).await["status"], "completed", "{kind:?}");
    }
}

async fn a_label_is_one_job(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &LABELLING).await {
        place.set(|host| host.job_label = Some("docs wanted".to_owned())).await;
        let issue = place.host.issue(REPOSITORY, "mallory", "Say two", "It says one.");
        place.host.label(REPOSITORY, issue, "Docs Wanted");
        let delivery = place.host.label_delivery(REPOSITORY, issue, "Docs Wanted", "ada", true, &place.secret().await);
        join_all((0..4).map(|_| place.tell(&delivery))).await;
        let [asked] = place.settled().await.try_into().unwrap();
        assert_eq!((asked.state, asked.note), (AskState::Answered, None), "{kind:?}");
        place.tell(&delivery).await;
        place.settled().await;
        let jobs = place.project.list("").await;
        assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{kind:?}: {jobs:?}");
        let messages = place.app.store().messages(&asked.job_id.unwrap()).await.unwrap();
        let prompt = messages[0].prompt.as_str();
        assert_eq!(prompt, "Resolve this issue: Say two\n\nIt says one.", "{kind:?}");
        let [pull] = place.pulls().try_into().unwrap();
        assert!(pull.body.contains(&format!("Asked for in #{issue}.")), "{kind:?}: {}", pull.body);
        let link = jobs["jobs"][0]["prLink"].as_str().unwrap().to_owned();
        let [reply] = place.host.issue_comments(REPOSITORY, issue).try_into().unwrap();
        assert!(reply.body.contains(&link), "{kind:?}: {}", reply.body);
        place.host.assert_clean();
    }
}

async fn a_label_of_somebody_without_rights_is_nothing(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &LABELLING).await {
        let secret = place.secret().await;
        let issue = place.host.issue(REPOSITORY, "eve", "Say two", "");
        place.host.label(REPOSITORY, issue, "docs");
        let of = |by: &str| place.host.label_delivery(REPOSITORY, issue, "docs", by, true, &secret);
        place.tell(&of("ada")).await;
        assert_eq!(place.asks().await, [], "{kind:?}: no label was set up");
        place.set(|host| host.job_label = Some("docs".to_owned())).await;
        place.tell(&of("eve")).await;
        assert_eq!(place.settled().await[0].state, AskState::Refused, "{kind:?}");
        // Somebody comments on the issue; that is no pull request of ours.
        let talk = place.host.issue_comment_delivery(REPOSITORY, issue, "ada", "@copydesk do it", &secret);
        place.tell(&talk).await;
        // Somebody else gives it another label.
        place.host.label(REPOSITORY, issue, "later");
        let other = place.host.label_delivery(REPOSITORY, issue, "later", "eve", true, &secret);
        place.tell(&other).await;
        place.settled().await;
        assert_eq!(place.project.list("").await["jobs"].as_array().unwrap().len(), 0, "{kind:?}");
        if kind == HostKind::Forgejo {
            // It does not say which label was set, so that whoever sets another is not taken for who has set this one.
            place.tell(&of("ada")).await;
            assert_eq!(place.settled().await[0].state, AskState::Refused, "{kind:?}");
            place.host.unlabel(REPOSITORY, issue, "docs");
            place.tell(&place.host.label_delivery(REPOSITORY, issue, "docs", "ada", false, &secret)).await;
            eventually("the label is forgotten", async || place.asks().await.is_empty().then_some(())).await;
            place.host.label(REPOSITORY, issue, "docs");
        }
        place.tell(&of("ada")).await;
        assert_eq!(place.settled().await[0].state, AskState::Answered, "{kind:?}");
        assert_eq!(place.pulls().len(), 1, "{kind:?}");
    }
}

async fn an_issue_that_was_edited_after_its_label_is_not_what_was_asked_for(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &LABELLING).await {
        place.set(|host| host.job_label = Some("docs".to_owned())).await;
        let issue = place.host.issue(REPOSITORY, "mallory", "Say two", "It says one.");
        place.host.label(REPOSITORY, issue, "docs");
        let told = place.host.label_delivery(REPOSITORY, issue, "docs", "ada", true, &place.secret().await);
        place.host.edit_issue(REPOSITORY, issue, "Say two", "Replace everything.");
        place.tell(&told).await;
        let [asked] = place.settled().await.try_into().unwrap();
        assert!(asked.note.as_deref().unwrap().contains("was edited after the label"), "{kind:?}: {asked:?}");
        assert_eq!(place.pulls().len(), 0, "{kind:?}");
    }
}

async fn a_label_given_again_is_another_job(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &LABELLING).await {
        place.set(|host| host.job_label = Some("docs".to_owned())).await;
        let secret = place.secret().await;
        let issue = place.host.issue(REPOSITORY, "ada", "Say two", "");
        let told = |added| place.host.label_delivery(REPOSITORY, issue, "docs", "ada", added, &secret);
        place.host.label(REPOSITORY, issue, "docs");
        let given = told(true);
        place.tell(&given).await;
        place.settled().await;
        // Told of too late: it is there again.
        place.host.unlabel(REPOSITORY, issue, "docs");
        let taken = told(false);
        place.host.label(REPOSITORY, issue, "docs");
        place.tell(&taken).await;
        place.tell(&given).await;
        place.settled().await;
        assert_eq!(place.pulls().len(), 1, "{kind:?}");
        place.host.unlabel(REPOSITORY, issue, "docs");
        place.tell(&taken).await;
        eventually("the label is forgotten", async || place.asks().await.is_empty().then_some(())).await;
        place.tell(&given).await;
        eventually("nothing comes of it", async || place.asks().await.is_empty().then_some(())).await;
        place.host.label(REPOSITORY, issue, "docs");
        place.tell(&told(true)).await;
        assert_eq!(place.settled().await[0].state, AskState::Answered, "{kind:?}");
        assert_eq!(place.pulls().len(), 2, "{kind:?}");
        let replies = place.host.issue_comments(REPOSITORY, issue);
        assert_eq!(replies.len(), 2, "{kind:?}: each is answered: {replies:?}");
        place.host.assert_clean();
    }
}

async fn labels_are_looked_at_where_the_host_shows_others(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &[HostKind::Forgejo]).await {
        place.set(|host| host.job_label = Some("docs".to_owned())).await;
        let secret = place.secret().await;
        let issue = place.host.issue(REPOSITORY, "ada", "Say two", "");
        for jobs in 1..=2 {
            place.tell(&place.host.replace_labels(REPOSITORY, issue, "docs", "ada", &secret)).await;
            assert_eq!(place.settled().await[0].state, AskState::Answered, "{kind:?}");
            assert_eq!(place.pulls().len(), jobs, "{kind:?}");
            place.tell(&place.host.clear_labels(REPOSITORY, issue, "ada", &secret)).await;
            eventually("the label is forgotten", async || place.asks().await.is_empty().then_some(())).await;
        }
        // What has nothing to do with it asks for nothing.
        place.tell(&place.host.replace_labels(REPOSITORY, issue, "bug", "ada", &secret)).await;
        assert_eq!(place.settled().await, [], "{kind:?}");
        assert_eq!(place.pulls().len(), 2, "{kind:?}");
        place.host.assert_clean();
    }
}

async fn a_host_that_is_away_is_asked_again(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &KINDS).await {
        let job = place.ended("one", "completed").await;
        let pull = place.pulls()[0].number;
        let comment = place.host.comment(REPOSITORY, pull, "ada", "@copydesk Say two.");
        place.host.fail(1000, "*", "/", Fault::Status(502));
        place.tell(&place.host.comment_delivery(REPOSITORY, pull, comment, &place.secret().await)).await;
        eventually("it is put off", async || place.asks().await[0].note.clone()).await;
        place.host.recover();
        eventually("it is answered", async || {
            let state = place.asks().await[0].state;
            // Not while its job runs, whose lease would end.
            if state == AskState::Heard {
                stage.advance(Duration::from_secs(60));
            }
            (state == AskState::Answered).then_some(())
        })
        .await;
        assert_eq!((place.commits(&job), place.replies().len()), (2, 1), "{kind:?}");
        // One that stays away is given up after a day.
        let comment = place.host.comment(REPOSITORY, pull, "ada", "@copydesk Say three.");
        place.host.fail(1000, "*", "/", Fault::Status(502));
        place.tell(&place.host.comment_delivery(REPOSITORY, pull, comment, &place.secret().await)).await;
        eventually("it is given up", async || {
            stage.advance(Duration::from_secs(6 * 3600));
            (place.asks().await[0].state == AskState::Refused).then_some(())
        })
        .await;
        place.host.recover();
    }
}

async fn an_hour_that_is_used_up_is_waited_for(stage: &Stage) {
    let places = Place::peopled(stage, &[HostKind::Github]).await;
    let (_, place) = &places[0];
    let change = ProjectChange { jobs_per_hour: Some(Some(1)), ..ProjectChange::default() };
    place.app.store().update_project(&place.project.id, change).await.unwrap().unwrap();
    let job = place.ended("one", "completed").await;
    let pull = place.pulls()[0].number;
    let comment = place.host.comment(REPOSITORY, pull, "ada", "@copydesk Say two.");
    place.tell(&place.host.comment_delivery(REPOSITORY, pull, comment, &place.secret().await)).await;
    let note = eventually("it is put off", async || place.asks().await[0].note.clone()).await;
    assert!(note.contains("used up"), "{note}");
    assert_eq!(place.commits(&job), 1);
    stage.advance(Duration::from_secs(3600));
    assert_eq!(place.settled().await[0].state, AskState::Answered);
    assert_eq!(place.commits(&job), 2);
}

async fn labels_and_reviewers_are_on_the_pull_request(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &KINDS).await {
        let reviewer = if kind == HostKind::Bitbucket { place.host.person_uuid("ada") } else { "ada".to_owned() };
        let labels =
            if kind == HostKind::Bitbucket { vec![] } else { vec!["docs".to_owned(), "by copydesk".to_owned()] };
        for label in labels.iter().filter(|_| kind == HostKind::Forgejo) {
            place.host.new_label(REPOSITORY, label);
        }
        place.set(|host| (host.labels, host.reviewers) = (labels.clone(), vec![reviewer])).await;
        let job = place.ended("one", "completed").await;
        let [pull] = place.pulls().try_into().unwrap();
        assert_eq!((pull.labels, pull.reviewers), (labels, vec!["ada".to_owned()]), "{kind:?}");
        // What a maintainer takes off stays off.
        place.host.unfurnish(REPOSITORY, pull.number);
        place.followed(&job, "two", "completed").await;
        let [pull] = place.pulls().try_into().unwrap();
        assert_eq!((pull.labels.len(), pull.reviewers.len()), (0, 0), "{kind:?}");
        place.host.assert_clean();
    }
}

async fn what_cannot_be_furnished_is_told(stage: &Stage) {
    for (kind, place) in Place::peopled(stage, &KINDS).await {
        let unknown = if kind == HostKind::Bitbucket { "{00000000-0000-4000-8000-000000000000}" } else { "nobody" };
        place.set(|host| host.reviewers = vec![unknown.to_owned()]).await;
        let job = place.ended("one", "completed").await;
        assert_eq!(job["outcome"], "pr_created", "{kind:?}: {job}");
        let events = place.project.events(job["id"].as_str().unwrap()).await;
        let told = events.iter().find(|event| event["type"] == "not_furnished").unwrap();
        let reason = told["data"]["reasons"][0].as_str().unwrap();
        assert!(reason.contains("asked to review"), "{kind:?}: {reason}");
        place.host.take_violations();
    }
}
