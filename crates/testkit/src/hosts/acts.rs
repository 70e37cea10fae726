//! What people do on a host, whatever it is called there: they speak, review, open issues and label them.

use copydesk_domain::PullRequestState;

use super::people::{Access, id_of};
use super::state::{Holder, Repo, State};
use super::talk::{Comment, Hunk, Issue, Label, Place, Remark, Review};

/// Something that is to be said.
pub(super) struct Said {
    pub(super) place: Place,
    pub(super) by: String,
    pub(super) body: String,
    /// The file and the line it is about.
    pub(super) at: Option<(String, u64)>,
    pub(super) review: Option<u64>,
}

impl Said {
    /// A comment in the conversation.
    pub(super) fn plainly(place: Place, by: &str, body: &str) -> Self {
        Self { place, by: by.to_owned(), body: body.to_owned(), at: None, review: None }
    }
}

impl State {
    /// The login of somebody the host knows, as it is written there.
    pub(super) fn known(&self, login: &str) -> Option<String> {
        self.logins().into_iter().find(|there| there.eq_ignore_ascii_case(login))
    }

    /// The login of whoever has this number.
    pub(super) fn known_by_id(&self, id: u64) -> Option<String> {
        self.logins().into_iter().find(|login| id_of(login) == id)
    }

    /// Everybody the host knows: who was made known to it, and who has a token.
    pub(super) fn logins(&self) -> Vec<String> {
        let holders = self.tokens.iter().filter_map(|token| match &token.holder {
            Holder::User { login, .. } => Some(login.clone()),
            _ => None,
        });
        let mut all: Vec<String> = self.people.iter().cloned().chain(holders).collect();
        all.sort();
        all.dedup();
        all
    }

    /// What somebody was given in a repository, by name or by the rights of a token; public or not.
    pub(super) fn access(&self, repo: &Repo, login: &str) -> Access {
        let by_name = repo.members.iter().find(|(there, _)| there.eq_ignore_ascii_case(login));
        let his = self.tokens.iter().filter(|token| {
            let mine = matches!(&token.holder, Holder::User { login: there, .. } if there.eq_ignore_ascii_case(login));
            mine && !token.revoked && token.repos.as_ref().is_none_or(|repos| repos.contains(&repo.id))
        });
        let by_token = his.map(|token| match token.rights {
            rights if rights.admin => Access::Admin,
            rights if rights.push => Access::Write,
            rights if rights.read => Access::Read,
            _ => Access::None,
        });
        by_token.chain(by_name.map(|(_, access)| *access)).max().unwrap_or(Access::None)
    }

    /// The same, with what everybody may in a public repository.
    pub(super) fn reach(&self, repo: &Repo, login: &str) -> Access {
        let access = self.access(repo, login);
        if repo.private { access } else { access.max(Access::Read) }
    }

    /// Says something and gives its id.
    pub(super) fn say(&mut self, repo: u64, said: Said) -> u64 {
        let (id, now) = (self.new_id(), self.now());
        let repo = self.by_id_mut(repo).unwrap();
        let hunk = said.at.as_ref().and_then(|(file, line)| repo.hunk(said.place, file, *line));
        let (file, line) = said.at.unzip();
        match said.place {
            Place::Pull(number) => repo.pull_mut(number).expect("there is such a pull request").updated_at = now,
            Place::Issue(number) => repo.talk.issue_mut(number).expect("there is such an issue").updated_at = now,
        }
        repo.talk.remarks.push(Remark {
            comment: Comment { id, by: said.by, body: said.body, file, line },
            place: said.place,
            review: said.review,
            hunk,
            created_at: now,
            updated_at: now,
            deleted: false,
        });
        id
    }

    /// Puts a review on record, or that one is asked for, and gives its id.
    pub(super) fn put_review(&mut self, repo: u64, pull: u64, by: &str, body: &str, requested: bool) -> u64 {
        let (id, now) = (self.new_id(), self.now());
        let repo = self.by_id_mut(repo).unwrap();
        let there = repo.pull_mut(pull).expect("there is such a pull request");
        there.updated_at = now;
        // Whoever has reviewed is waited for no longer.
        there.reviewers.retain(|login| login != by);
        if requested {
            there.reviewers.push(by.to_owned());
        }
        let head = there.head.clone();
        let commit = repo.tip(&head);
        let (by, body) = (by.to_owned(), body.to_owned());
        repo.talk.reviews.push(Review { id, pull, by, body, requested, commit, created_at: now });
        id
    }

    /// Opens an issue and gives its number.
    pub(super) fn put_issue(&mut self, repo: u64, by: &str, title: &str, body: &str) -> u64 {
        let (now, together) = (self.now(), self.numbers_together);
        let repo = self.by_id_mut(repo).unwrap();
        let pulls = repo.pulls.last().map_or(0, |pull| pull.number);
        let issues = repo.talk.issues.last().map_or(0, |issue| issue.number);
        let number = if together { pulls.max(issues) } else { issues } + 1;
        repo.talk.issues.push(Issue {
            number,
            title: title.to_owned(),
            body: body.to_owned(),
            author: by.to_owned(),
            labels: Vec::new(),
            created_at: now,
            updated_at: now,
            closed_at: None,
        });
        number
    }

    /// A label of a repository, made if it is not there.
    pub(super) fn put_label(&mut self, repo: u64, name: &str) -> Label {
        let there = self.by_id(repo).unwrap().talk.label(name).cloned();
        there.unwrap_or_else(|| {
            let label = Label { id: self.new_id(), name: name.to_owned() };
            self.by_id_mut(repo).unwrap().talk.labels.push(label.clone());
            label
        })
    }

    /// Adds a label to an issue or a pull request, or takes it away. It must be one that the repository has.
    pub(super) fn mark(&mut self, repo: u64, place: Place, label: &str, add: bool) {
        let now = self.now();
        let repo = self.by_id_mut(repo).unwrap();
        let (labels, updated) = match place {
            Place::Pull(number) => {
                let pull = repo.pull_mut(number).expect("there is such a pull request");
                (&mut pull.labels, &mut pull.updated_at)
            }
            Place::Issue(number) => {
                let issue = repo.talk.issue_mut(number).expect("there is such an issue");
                (&mut issue.labels, &mut issue.updated_at)
            }
        };
        *updated = now;
        labels.retain(|there| !there.eq_ignore_ascii_case(label));
        if add {
            labels.push(label.to_owned());
        }
    }

    /// What has a number where issues and pull requests are numbered together.
    pub(super) fn place(&self, repo: u64, number: u64) -> Option<Place> {
        let repo = self.by_id(repo)?;
        let issue = || repo.talk.issue(number).map(|_| Place::Issue(number));
        repo.pull(number).map(|_| Place::Pull(number)).or_else(issue)
    }
}

impl Repo {
    /// The piece of a pull request's difference that leads to a line.
    fn hunk(&self, place: Place, file: &str, line: u64) -> Option<Hunk> {
        let Place::Pull(number) = place else { return None };
        let pull = self.pull(number).filter(|pull| pull.state == PullRequestState::Open)?;
        let range = format!("refs/heads/{}...refs/heads/{}", pull.base, pull.head);
        Hunk::find(&self.git.git(&["diff", &range, "--", file]), line)
    }
}
