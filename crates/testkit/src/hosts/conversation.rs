//! What tests let people say and do on a host, and what the host then tells.

use copydesk_domain::HostKind;

use super::FakeHost;
use super::acts::Said;
use super::hooks::Delivery;
use super::news::{News, Telling};
use super::people::{Access, Team, id_of, uuid_of};
use super::state::{Hook, Repo};
use super::talk::{Comment, Place, Remark};

impl FakeHost {
    /// Makes somebody known to the host who may do this much in a repository. Whoever holds a token or says something is
    /// known too.
    pub fn person(&self, path: &str, login: &str, access: Access) {
        self.meet(login);
        self.change(path, |repo| repo.members.insert(login.to_owned(), access));
    }

    /// Makes the repository one of an organisation, with a team.
    pub fn team(&self, path: &str, name: &str, access: Access, logins: &[&str]) {
        logins.iter().for_each(|login| self.meet(login));
        let logins = logins.iter().map(|&login| login.to_owned()).collect();
        self.change(path, |repo| repo.teams.insert(name.to_owned(), Team { access, logins }));
    }

    /// The number that the host knows somebody by.
    pub fn person_id(&self, login: &str) -> u64 {
        id_of(login)
    }

    /// What Bitbucket knows somebody by.
    pub fn person_uuid(&self, login: &str) -> String {
        uuid_of(login)
    }

    /// Takes labels and reviewers off a pull request, as a maintainer would.
    pub fn unfurnish(&self, path: &str, pull: u64) {
        self.change(path, |repo| {
            let pull = repo.pull_mut(pull).unwrap();
            pull.labels.clear();
            pull.reviewers.clear();
        });
    }

    /// Lets somebody comment in the conversation of a pull request, and gives the comment's id.
    pub fn comment(&self, path: &str, pull: u64, by: &str, body: &str) -> u64 {
        let body = self.typed(body);
        self.say(path, Said::plainly(Place::Pull(pull), by, &body))
    }

    /// Lets somebody review a pull request, with comments at lines of files (file, line, text), and gives the review's id.
    /// GitLab and Bitbucket only know the comments; there it is the id of the last one.
    pub fn review(&self, path: &str, pull: u64, by: &str, body: &str, lines: &[(&str, u64, &str)]) -> u64 {
        self.meet(by);
        let place = Place::Pull(pull);
        let review = match self.kind {
            HostKind::Github | HostKind::Forgejo => {
                let (mut state, body) = (self.host.state(), self.typed(body));
                let repo = state.find(path).unwrap().id;
                Some(state.put_review(repo, pull, by, &body, false))
            }
            _ => None,
        };
        let mut last = review;
        if review.is_none() && !body.is_empty() {
            last = Some(self.comment(path, pull, by, body));
        }
        for (file, line, text) in lines {
            let (at, body) = (Some(((*file).to_owned(), *line)), self.typed(text));
            let id = self.say(path, Said { place, by: by.to_owned(), body, at, review });
            last = review.or(Some(id));
        }
        last.expect("a review says something")
    }

    /// Lets somebody reply to the first thing that a review says of a line, and gives the reply's id. On Forgejo it
    /// becomes a part of that review, and is told of like a comment.
    pub fn reply_at_line(&self, path: &str, pull: u64, review: u64, by: &str, body: &str) -> u64 {
        let mut at = None;
        self.change(path, |repo| {
            let first = repo.talk.remarks.iter().find(|remark| remark.review == Some(review)).unwrap();
            at = first.comment.file.clone().zip(first.comment.line);
        });
        let (by, body) = (by.to_owned(), self.typed(body));
        self.say(path, Said { place: Place::Pull(pull), by, body, at, review: Some(review) })
    }

    /// Gives a comment another text, as who wrote it would.
    pub fn edit_comment(&self, path: &str, id: u64, body: &str) {
        let (now, body) = (self.host.state().now(), self.typed(body));
        self.change(path, |repo| {
            let remark = remark_mut(repo, id);
            (remark.comment.body, remark.updated_at) = (body, now);
        });
    }

    /// Takes a comment away. Bitbucket still shows that it was there.
    pub fn delete_comment(&self, path: &str, id: u64) {
        let shown = self.kind == HostKind::Bitbucket;
        self.change(path, |repo| {
            let remark = remark_mut(repo, id);
            (remark.comment.body, remark.deleted) = (String::new(), true);
            repo.talk.remarks.retain(|remark| shown || !remark.deleted);
        });
    }

    /// Lets somebody open an issue, and gives its number.
    pub fn issue(&self, path: &str, by: &str, title: &str, body: &str) -> u64 {
        self.meet(by);
        let (mut state, body) = (self.host.state(), self.typed(body));
        let repo = state.find(path).unwrap().id;
        state.put_issue(repo, by, title, &body)
    }

    /// Gives an issue another title and text, as its author can.
    pub fn edit_issue(&self, path: &str, issue: u64, title: &str, body: &str) {
        let (now, body) = (self.host.state().now(), self.typed(body));
        self.change(path, |repo| {
            let issue = repo.talk.issues.iter_mut().find(|there| there.number == issue).unwrap();
            (issue.title, issue.body, issue.updated_at) = (title.to_owned(), body, now);
        });
    }

    /// A label that a repository has from now on, and its id; nothing wears it yet.
    pub fn new_label(&self, path: &str, label: &str) -> u64 {
        self.expect_labels();
        let mut state = self.host.state();
        let repo = state.find(path).unwrap().id;
        state.put_label(repo, label).id
    }

    /// Gives an issue a label.
    pub fn label(&self, path: &str, issue: u64, label: &str) {
        self.new_label(path, label);
        self.mark(path, issue, label, true);
    }

    /// Takes a label from an issue.
    pub fn unlabel(&self, path: &str, issue: u64, label: &str) {
        self.expect_labels();
        self.mark(path, issue, label, false);
    }

    /// Closes an issue as somebody who has done with it.
    pub fn close_issue(&self, path: &str, issue: u64) {
        let now = self.host.state().now();
        self.change(path, |repo| {
            let issue = repo.talk.issue_mut(issue).expect("there is such an issue");
            (issue.updated_at, issue.closed_at) = (now, Some(now));
        });
    }

    /// What was said on a pull request, in its conversation and at lines, the oldest first.
    pub fn comments(&self, path: &str, pull: u64) -> Vec<Comment> {
        self.said(path, Place::Pull(pull))
    }

    /// What was said on an issue, the oldest first.
    pub fn issue_comments(&self, path: &str, issue: u64) -> Vec<Comment> {
        self.said(path, Place::Issue(issue))
    }

    /// What the host would send of a comment on a pull request, signed with this secret.
    pub fn comment_delivery(&self, path: &str, pull: u64, comment: u64, secret: &str) -> Delivery {
        self.tell_of(path, secret, |repo| {
            let remark = repo.talk.remark(comment).expect("there is such a comment");
            assert_eq!(remark.place, Place::Pull(pull), "the comment stands elsewhere");
            News::Comment { pull: repo.pull(pull).unwrap(), remark }
        })
    }

    /// What the host would send of a review; with GitLab and Bitbucket of the comment that has this id.
    pub fn review_delivery(&self, path: &str, pull: u64, review: u64, secret: &str) -> Delivery {
        if !matches!(self.kind, HostKind::Github | HostKind::Forgejo) {
            return self.comment_delivery(path, pull, review, secret);
        }
        self.tell_of(path, secret, |repo| {
            let review = repo.talk.review(pull, review).expect("there is such a review");
            News::Review { pull: repo.pull(pull).unwrap(), review }
        })
    }

    /// What the host would send when `by` has given an issue a label, or taken it away, which must have happened.
    pub fn label_delivery(&self, path: &str, issue: u64, label: &str, by: &str, added: bool, secret: &str) -> Delivery {
        self.expect_labels();
        self.meet(by);
        self.tell_of(path, secret, |repo| {
            let issue = repo.talk.issue(issue).expect("there is such an issue");
            let worn = issue.labels.iter().any(|there| there.eq_ignore_ascii_case(label));
            assert_eq!(worn, added, "the label {label:?} must be added or removed first");
            News::Label { issue, label: label.to_owned(), by: by.to_owned(), added }
        })
    }

    /// Takes all labels of an issue away, and gives what Forgejo sends of that: it shows those that were there before.
    pub fn clear_labels(&self, path: &str, issue: u64, by: &str, secret: &str) -> Delivery {
        self.meet(by);
        let mut shown = Vec::new();
        self.change(path, |repo| shown = std::mem::take(&mut repo.talk.issue_mut(issue).unwrap().labels));
        self.tell_of(path, secret, |repo| {
            let issue = repo.talk.issue(issue).unwrap();
            News::Relabel { issue, shown, by: by.to_owned(), cleared: true }
        })
    }

    /// Gives an issue this label and no other, and gives what Forgejo sends of that: it shows none.
    pub fn replace_labels(&self, path: &str, issue: u64, label: &str, by: &str, secret: &str) -> Delivery {
        self.meet(by);
        self.change(path, |repo| repo.talk.issue_mut(issue).unwrap().labels.clear());
        self.label(path, issue, label);
        self.tell_of(path, secret, |repo| {
            let issue = repo.talk.issue(issue).unwrap();
            News::Relabel { issue, shown: Vec::new(), by: by.to_owned(), cleared: false }
        })
    }

    /// Lets somebody comment on an issue that is no pull request, and gives what the host would send.
    pub fn issue_comment_delivery(&self, path: &str, issue: u64, by: &str, body: &str, secret: &str) -> Delivery {
        let body = self.typed(body);
        let id = self.say(path, Said::plainly(Place::Issue(issue), by, &body));
        self.tell_of(path, secret, |repo| {
            let remark = repo.talk.remark(id).unwrap();
            News::IssueComment { issue: repo.talk.issue(issue).unwrap(), remark }
        })
    }

    /// A text as it comes out of a form in a browser, where the host's pages send one.
    fn typed(&self, text: &str) -> String {
        match self.kind {
            HostKind::Github | HostKind::Forgejo => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            _ => text.to_owned(),
        }
    }

    fn meet(&self, login: &str) {
        let mut state = self.host.state();
        let namesake = state.known_by_id(id_of(login));
        assert!(namesake.is_none_or(|there| there == login), "{login} has the id of somebody else");
        state.people.insert(login.to_owned());
    }

    fn say(&self, path: &str, said: Said) -> u64 {
        self.meet(&said.by);
        let mut state = self.host.state();
        let repo = state.find(path).unwrap().id;
        state.say(repo, said)
    }

    fn said(&self, path: &str, place: Place) -> Vec<Comment> {
        let state = self.host.state();
        let said = state.find(path).unwrap().talk.said(place);
        said.into_iter().filter(|remark| !remark.deleted).map(|remark| remark.comment.clone()).collect()
    }

    fn mark(&self, path: &str, issue: u64, label: &str, add: bool) {
        let mut state = self.host.state();
        let repo = state.find(path).unwrap().id;
        let place = if state.numbers_together { state.place(repo, issue) } else { Some(Place::Issue(issue)) };
        state.mark(repo, place.expect("there is such an issue"), label, add);
    }

    fn expect_labels(&self) {
        assert_ne!(self.kind, HostKind::Bitbucket, "Bitbucket's issues have no labels");
    }

    fn tell_of(&self, path: &str, secret: &str, news: impl FnOnce(&Repo) -> News<'_>) -> Delivery {
        let mut state = self.host.state();
        let serial = state.new_id();
        let repo = state.find(path).unwrap();
        let hook = Hook { address: String::new(), secret: secret.to_owned() };
        let telling = Telling { repo, hook: &hook, origin: &self.host.origin, serial };
        self.host.dialect.told(&news(repo), &telling)
    }
}

fn remark_mut(repo: &mut Repo, id: u64) -> &mut Remark {
    repo.talk.remarks.iter_mut().find(|remark| remark.comment.id == id).expect("there is such a comment")
}
