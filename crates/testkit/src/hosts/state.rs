//! What a code host remembers, whatever it is called: repositories, tokens, pull requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{Clock, PullRequestState, Timestamp};

use super::app::App;
use super::faults::Queued;
use super::hold::Held;
use super::people::{Access, Team};
use super::talk::Talk;
use crate::GitRepo;

pub(super) struct State {
    pub(super) clock: Arc<dyn Clock>,
    /// By how much the host's clock is ahead, in seconds.
    pub(super) skew: i64,
    pub(super) repos: Vec<Repo>,
    pub(super) tokens: Vec<Token>,
    pub(super) apps: Vec<App>,
    /// Where repositories were before they were renamed.
    pub(super) moved: BTreeMap<String, u64>,
    pub(super) seen: Vec<Seen>,
    pub(super) violations: Vec<String>,
    pub(super) faults: Vec<Queued>,
    pub(super) held: Option<Held>,
    pub(super) next_id: u64,
    /// The logins of people that tests have made known.
    pub(super) people: BTreeSet<String>,
    /// Whether issues and pull requests share their numbers.
    pub(super) numbers_together: bool,
}

pub(super) struct Repo {
    pub(super) id: u64,
    /// Owner and name: `acme/docs`; with GitLab as many groups as there are.
    pub(super) path: String,
    pub(super) git: Arc<GitRepo>,
    pub(super) default_branch: String,
    pub(super) private: bool,
    pub(super) archived: bool,
    /// Whether pull requests are switched on.
    pub(super) takes_pulls: bool,
    /// Whether drafts can be opened; GitHub sells them for private repositories.
    pub(super) drafts: bool,
    pub(super) protected: BTreeSet<String>,
    pub(super) pulls: Vec<Pull>,
    pub(super) hooks: Vec<Hook>,
    /// What people were given here, by their logins.
    pub(super) members: BTreeMap<String, Access>,
    /// Teams by their names; a repository that has none is no organisation's.
    pub(super) teams: BTreeMap<String, Team>,
    pub(super) talk: Talk,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    pub number: u64,
    pub head: String,
    pub base: String,
    /// The title as it is stored.
    pub title: String,
    pub body: String,
    pub draft: bool,
    pub state: PullRequestState,
    pub author: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub merged_at: Option<Timestamp>,
    /// When it was closed, by a merge too.
    pub closed_at: Option<Timestamp>,
    pub merge_commit: Option<String>,
    pub labels: Vec<String>,
    /// The logins of those who are asked for a review.
    pub reviewers: Vec<String>,
}

/// Whom to tell of what becomes of pull requests.
#[derive(Debug, Clone)]
pub(super) struct Hook {
    pub(super) address: String,
    pub(super) secret: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    pub read: bool,
    pub push: bool,
    /// Open, change and comment on pull requests.
    pub open: bool,
    /// Comment on issues and label them, which hosts let a token do by itself or not: GitHub's permission `issues`,
    /// Forgejo's scope `write:issue`, which comments on pull requests need there too.
    pub issues: bool,
    /// Look after the repository, and see who may do what in it.
    pub admin: bool,
}

impl Rights {
    /// Everything but looking after the repository.
    pub const ALL: Self = Self { read: true, push: true, open: true, issues: true, admin: false };
    pub const ADMIN: Self = Self { admin: true, ..Self::ALL };
    pub const READ: Self = Self { read: true, ..Self::NONE };
    /// Pushing, but no pull requests.
    pub const PUSH: Self = Self { push: true, ..Self::READ };
    /// Nothing but what everybody may.
    pub const NONE: Self = Self { read: false, push: false, open: false, issues: false, admin: false };
}

/// Whose token it is, which decides how it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A person, or what the host counts as one.
    User {
        login: String,
        /// The e-mail address: the user name of Bitbucket's interface.
        email: String,
    },
    /// A repository, project or workspace: Bitbucket's access tokens.
    Repository,
    /// An installation of a GitHub App.
    Installation,
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) secret: String,
    pub(super) holder: Holder,
    pub(super) rights: Rights,
    /// The repositories it is good for; none: all.
    pub(super) repos: Option<Vec<u64>>,
    pub(super) revoked: bool,
    pub(super) expires: Option<Timestamp>,
}

impl Token {
    /// The name under which it acts.
    pub(super) fn login(&self) -> &str {
        match &self.holder {
            Holder::User { login, .. } => login,
            Holder::Repository => "docs-token",
            Holder::Installation => "copydesk-test[bot]",
        }
    }
}

/// Somebody who may do something in a repository.
pub(super) struct Visit {
    pub(super) repo: u64,
    pub(super) token: Option<Token>,
    pub(super) rights: Rights,
}

impl Visit {
    pub(super) fn repo<'a>(&self, state: &'a State) -> &'a Repo {
        state.by_id(self.repo).unwrap()
    }

    /// The number of a pull request as it stands in a path, if there is such a one.
    pub(super) fn number(&self, text: &str, state: &State) -> Option<u64> {
        let number = text.parse().ok()?;
        self.repo(state).pull(number).map(|pull| pull.number)
    }
}

/// A request that the fake has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub method: String,
    pub path: String,
    /// What was answered; none if nothing was.
    pub status: Option<u16>,
}

pub(super) struct Opening {
    pub(super) head: String,
    pub(super) base: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) draft: bool,
    pub(super) author: String,
}

/// Why a pull request cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    NoHead,
    NoBase,
    SameBranch,
    NoCommits,
    Exists(u64),
}

impl State {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            skew: 0,
            repos: Vec::new(),
            tokens: Vec::new(),
            apps: Vec::new(),
            moved: BTreeMap::new(),
            seen: Vec::new(),
            violations: Vec::new(),
            faults: Vec::new(),
            held: None,
            next_id: 4100,
            people: BTreeSet::new(),
            numbers_together: false,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        let skew = Duration::from_secs(self.skew.unsigned_abs());
        if self.skew < 0 { self.clock.now().minus(skew) } else { self.clock.now().plus(skew) }
    }

    /// A number that nothing else has.
    pub(super) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Puts something on record that no client should do.
    pub(super) fn violate(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }

    /// The repository at a path, whatever the case of its letters.
    pub(super) fn find(&self, path: &str) -> Option<&Repo> {
        self.repos.iter().find(|repo| repo.path.eq_ignore_ascii_case(path))
    }

    /// The repository that was at a path before it was renamed.
    pub(super) fn find_moved(&self, path: &str) -> Option<&Repo> {
        let id = self.moved.get(&path.to_ascii_lowercase())?;
        self.by_id(*id)
    }

    /// The repository of a number.
    pub(super) fn by_id(&self, id: u64) -> Option<&Repo> {
        self.repos.iter().find(|repo| repo.id == id)
    }

    /// The repository of a number, to change it.
    pub(super) fn by_id_mut(&mut self, id: u64) -> Option<&mut Repo> {
        self.repos.iter_mut().find(|repo| repo.id == id)
    }

    /// The token of a secret, if it is good.
    pub(super) fn token(&self, secret: &str) -> Option<Token> {
        let token = self.tokens.iter().find(|token| token.secret == secret)?;
        let alive = !token.revoked && token.expires.is_none_or(|expires| self.now() < expires);
        alive.then(|| token.clone())
    }

    /// Whether there was ever such a token.
    pub(super) fn was_revoked(&self, secret: &str) -> bool {
        self.tokens.iter().any(|token| token.secret == secret && token.revoked)
    }

    /// What a caller may do in a repository.
    pub(super) fn rights(&self, token: Option<&Token>, repo: &Repo) -> Rights {
        let mut rights = match token {
            Some(token) if token.repos.as_ref().is_none_or(|repos| repos.contains(&repo.id)) => token.rights,
            _ => Rights::NONE,
        };
        rights.read |= !repo.private;
        rights
    }

    /// Opens a pull request by the rules that all hosts share; those who let empty ones pass say so.
    pub(super) fn open(&mut self, repo: u64, new: Opening, empty: bool) -> Result<Pull, Refused> {
        let (now, together) = (self.now(), self.numbers_together);
        let repo = self.by_id_mut(repo).unwrap();
        if new.head == new.base {
            return Err(Refused::SameBranch);
        }
        if repo.tip(&new.head).is_none() {
            return Err(Refused::NoHead);
        }
        if repo.tip(&new.base).is_none() {
            return Err(Refused::NoBase);
        }
        let same =
            |pull: &&Pull| pull.state == PullRequestState::Open && pull.head == new.head && pull.base == new.base;
        if let Some(pull) = repo.pulls.iter().find(same) {
            return Err(Refused::Exists(pull.number));
        }
        if !empty && repo.commits(&new.head, &new.base) == 0 {
            return Err(Refused::NoCommits);
        }
        let issues = repo.talk.issues.last().filter(|_| together).map_or(0, |issue| issue.number);
        let pull = Pull {
            number: repo.pulls.last().map_or(0, |pull| pull.number).max(issues) + 1,
            head: new.head,
            base: new.base,
            title: new.title,
            body: new.body,
            draft: new.draft,
            state: PullRequestState::Open,
            author: new.author,
            created_at: now,
            updated_at: now,
            merged_at: None,
            closed_at: None,
            merge_commit: None,
            labels: Vec::new(),
            reviewers: Vec::new(),
        };
        repo.pulls.push(pull.clone());
        Ok(pull)
    }

    /// Closes or opens a pull request again.
    pub(super) fn set_open(&mut self, repo: u64, number: u64, open: bool) {
        let now = self.now();
        let pull = self.by_id_mut(repo).and_then(|repo| repo.pull_mut(number)).unwrap();
        let state = if open { PullRequestState::Open } else { PullRequestState::Closed };
        if pull.state != state && pull.state != PullRequestState::Merged {
            (pull.state, pull.updated_at) = (state, now);
            pull.closed_at = (!open).then_some(now);
        }
    }

    /// Merges a pull request, in the repository too; with its commits, or squashed into one.
    pub(super) fn merge(&mut self, repo: u64, number: u64, squashed: bool) {
        let now = self.now();
        let repo = self.by_id_mut(repo).unwrap();
        let pull = repo.pull(number).unwrap().clone();
        assert_eq!(pull.state, PullRequestState::Open, "only an open pull request can be merged");
        let commit = repo.merge(&pull, squashed);
        let pull = repo.pull_mut(number).unwrap();
        pull.state = PullRequestState::Merged;
        pull.merge_commit = Some(commit);
        pull.updated_at = now;
        (pull.merged_at, pull.closed_at) = (Some(now), Some(now));
    }
}

impl Repo {
    /// Who it belongs to.
    pub(super) fn owner(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(owner, _)| owner)
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }

    /// The commit at the end of a branch.
    pub(super) fn tip(&self, branch: &str) -> Option<String> {
        let listing = self.git.git(&["for-each-ref", "--format=%(objectname) %(refname:strip=2)", "refs/heads"]);
        let mut lines = listing.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(_, name)| *name == branch).map(|(id, _)| id.to_owned())
    }

    /// How many commits `head` has that `base` has not.
    pub(super) fn commits(&self, head: &str, base: &str) -> usize {
        self.git.commits(&format!("refs/heads/{head}"), &format!("refs/heads/{base}")).len()
    }

    pub(super) fn pull(&self, number: u64) -> Option<&Pull> {
        self.pulls.iter().find(|pull| pull.number == number)
    }

    /// A pull request, to change it.
    pub(super) fn pull_mut(&mut self, number: u64) -> Option<&mut Pull> {
        self.pulls.iter_mut().find(|pull| pull.number == number)
    }

    /// Joins the branches of a pull request with a commit, and gives its id.
    fn merge(&self, pull: &Pull, squashed: bool) -> String {
        let (base, head) = (self.tip(&pull.base).unwrap(), self.tip(&pull.head).unwrap());
        let tree = self.git.git(&["merge-tree", "--write-tree", &base, &head]);
        let message = format!("Merge pull request #{} from {}", pull.number, pull.head);
        let mut command = vec![
            "-c",
            "user.name=Acme",
            "-c",
            "user.email=docs@acme.example",
            "commit-tree",
            "-m",
            &message,
            "-p",
            &base,
        ];
        if !squashed {
            command.extend(["-p", &head]);
        }
        command.push(tree.trim());
        let commit = self.git.git(&command);
        let commit = commit.trim().to_owned();
        self.git.git(&["update-ref", &format!("refs/heads/{}", pull.base), &commit, &base]);
        commit
    }
}
