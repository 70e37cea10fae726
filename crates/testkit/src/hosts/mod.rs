//! Code hosts for tests: they keep repositories, pull requests and what people say, speak the wire format of the real
//! ones, and serve the same repositories to git over HTTP. They are strict: what a real host would refuse they refuse in its
//! words, and what it would let pass but no client should send makes the test fail.

mod acts;
mod app;
mod bitbucket;
mod bitbucket_errors;
mod bitbucket_query;
mod bitbucket_talk;
mod bitbucket_talk_views;
mod bitbucket_views;
mod conversation;
mod dialect;
mod exchange;
mod faults;
mod forgejo;
mod forgejo_errors;
mod forgejo_talk;
mod forgejo_talk_views;
mod forgejo_views;
mod git_http;
mod github;
mod gitlab;
mod gitlab_fields;
mod gitlab_talk;
mod gitlab_talk_views;
mod gitlab_views;
mod hold;
mod hooks;
mod host;
mod news;
mod nginx;
mod people;
mod programs;
mod server;
mod sshd;
mod state;
mod talk;

use std::sync::Arc;

use copydesk_domain::{Clock, HostKind, SystemClock};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use app::FakeApp;
pub use faults::Fault;
pub use hold::{Hold, Pause};
pub use hooks::Delivery;
pub use nginx::{Nginx, USER as NGINX_USER};
pub use people::Access;
pub use sshd::Sshd;
pub use state::{Holder, Pull, Rights, Seen};
pub use talk::Comment;

use crate::GitRepo;
use app::{App, Keys};
use dialect::Dialect;
use faults::Queued;
use hold::Held;
use host::Host;
use state::{Hook, Repo, State, Token};

/// A code host on this machine. It stops when it is dropped; a test that drops it with violations that nobody has looked
/// at fails.
pub struct FakeHost {
    kind: HostKind,
    host: Arc<Host>,
    task: JoinHandle<()>,
}

impl FakeHost {
    /// Starts a host of this kind on a port of its own.
    pub async fn start(kind: HostKind) -> Self {
        Self::with_clock(kind, Arc::new(SystemClock)).await
    }

    /// Starts a host that goes by this clock.
    pub async fn with_clock(kind: HostKind, clock: Arc<dyn Clock>) -> Self {
        let dialect: Box<dyn Dialect> = match kind {
            HostKind::Github => Box::new(github::Github),
            HostKind::Gitlab => Box::new(gitlab::Gitlab),
            HostKind::Forgejo => Box::new(forgejo::Forgejo),
            HostKind::Bitbucket => Box::new(bitbucket::Bitbucket),
            HostKind::Git | HostKind::Local => panic!("there is no fake of {}", kind.title()),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let mut state = State::new(clock);
        state.numbers_together = matches!(kind, HostKind::Github | HostKind::Forgejo);
        let host = Arc::new(Host { dialect, state: state.into(), origin });
        let task = tokio::spawn(server::serve(listener, host.clone()));
        Self { kind, host, task }
    }

    pub fn kind(&self) -> HostKind {
        self.kind
    }

    /// Where it is, without a path.
    pub fn url(&self) -> &str {
        &self.host.origin
    }

    pub fn api_url(&self) -> String {
        format!("{}{}", self.host.origin, self.host.dialect.prefix())
    }

    /// What git clones a repository from.
    pub fn address(&self, path: &str) -> String {
        format!("{}/{path}.git", self.host.origin)
    }

    /// Takes a repository in at a path (`acme/docs`), for everybody to see.
    pub fn add(&self, path: &str, git: GitRepo) -> Arc<GitRepo> {
        git_http::prepare(&git);
        git_http::protect(&git, std::iter::empty());
        let git = Arc::new(git);
        let default_branch = git.git(&["symbolic-ref", "--short", "HEAD"]).trim().to_owned();
        let mut state = self.host.state();
        let repo = Repo {
            id: state.new_id(),
            path: path.to_owned(),
            git: git.clone(),
            default_branch,
            private: false,
            archived: false,
            takes_pulls: true,
            drafts: true,
            protected: Default::default(),
            pulls: Vec::new(),
            hooks: Vec::new(),
            members: Default::default(),
            teams: Default::default(),
            talk: Default::default(),
        };
        state.repos.push(repo);
        git
    }

    /// Lets only those see a repository who have the right to.
    pub fn make_private(&self, path: &str) {
        self.change(path, |repo| repo.private = true);
    }

    /// Closes a repository to all changes, or opens it again.
    pub fn archive(&self, path: &str, archived: bool) {
        self.change(path, |repo| repo.archived = archived);
    }

    /// Switches the pull requests of a repository off, or on again.
    pub fn take_pulls(&self, path: &str, takes: bool) {
        self.change(path, |repo| repo.takes_pulls = takes);
    }

    /// Lets nobody open drafts in a repository.
    pub fn forbid_drafts(&self, path: &str) {
        self.change(path, |repo| repo.drafts = false);
    }

    /// Refuses pushes to a branch, in the host's words.
    pub fn protect(&self, path: &str, branch: &str) {
        self.change(path, |repo| {
            repo.protected.insert(branch.to_owned());
            let words = |branch: &String| self.host.dialect.protected(branch);
            git_http::protect(&repo.git, repo.protected.iter().map(|branch| (branch, words(branch))));
        });
    }

    /// Moves a repository to another path. The old one leads to it.
    pub fn rename(&self, path: &str, to: &str) {
        let id = self.change(path, |repo| {
            repo.path = to.to_owned();
            repo.id
        });
        self.host.state().moved.insert(path.to_ascii_lowercase(), id);
    }

    /// A new token of somebody who may do this much in all repositories.
    pub fn token(&self, rights: Rights) -> String {
        let user = Holder::User { login: "docs-writer".to_owned(), email: "writer@acme.example".to_owned() };
        self.token_of(user, rights)
    }

    /// A new token of this holder.
    pub fn token_of(&self, holder: Holder, rights: Rights) -> String {
        let mut state = self.host.state();
        let secret = self.host.dialect.new_token(state.new_id());
        state.tokens.push(Token { secret: secret.clone(), holder, rights, repos: None, revoked: false, expires: None });
        secret
    }

    /// Every token that the host has given out, also to installations of Apps.
    pub fn tokens(&self) -> Vec<String> {
        self.host.state().tokens.iter().map(|token| token.secret.clone()).collect()
    }

    pub fn revoke(&self, secret: &str) {
        let mut state = self.host.state();
        state.tokens.iter_mut().filter(|token| token.secret == secret).for_each(|token| token.revoked = true);
    }

    /// Takes all tokens back that were given to installations of Apps.
    pub fn revoke_installation_tokens(&self) {
        let mut state = self.host.state();
        let given = state.tokens.iter_mut().filter(|token| token.holder == Holder::Installation);
        given.for_each(|token| token.revoked = true);
    }

    /// A GitHub App with a key of its own, installed for these repositories, with this much allowed.
    pub fn app(&self, paths: &[&str], rights: Rights) -> FakeApp {
        let keys = Keys::generate();
        let mut state = self.host.state();
        let (id, installation) = (state.new_id(), state.new_id());
        let level = |write: bool| if write { "write" } else { "read" };
        let mut permissions =
            json!({ "metadata": "read", "contents": level(rights.push), "pull_requests": level(rights.open) });
        if rights.issues {
            permissions["issues"] = json!("write");
        }
        let client_id = format!("Iv23li{id:014}");
        let app = App {
            id,
            client_id: client_id.clone(),
            public_key: keys.public,
            owner: paths[0].split('/').next().unwrap_or_default().to_owned(),
            installation,
            repos: paths.iter().map(|path| state.find(path).unwrap().id).collect(),
            permissions: permissions.as_object().unwrap().clone(),
            suspended: false,
        };
        state.apps.push(app);
        FakeApp { id, client_id, installation, private_key: keys.pkcs1, private_key_pkcs8: keys.pkcs8 }
    }

    /// Takes what an App may do back for now.
    pub fn suspend(&self, app: &FakeApp) {
        let mut state = self.host.state();
        state.apps.iter_mut().filter(|there| there.id == app.id).for_each(|app| app.suspended = true);
    }

    /// Puts the host's clock ahead by this many seconds, or behind.
    pub fn skew(&self, seconds: i64) {
        self.host.state().skew = seconds;
    }

    /// Lets the next `count` requests fail whose method is `method` (`*` for any) and whose path and query hold `path`.
    pub fn fail(&self, count: usize, method: &str, path: &str, fault: Fault) {
        let queued = Queued { left: count, method: method.to_owned(), path: path.to_owned(), fault };
        self.host.state().faults.push(queued);
    }

    /// Ends all faults that still wait for requests.
    pub fn recover(&self) {
        self.host.state().faults.clear();
    }

    /// Holds up the request with this number from now, from 1. Only one is waited for at a time.
    pub fn hold(&self, number: usize, pause: Pause) -> Hold {
        let (held, hold) = Held::new(number, "*", "", pause);
        self.host.state().held = Some(held);
        hold
    }

    /// Holds up the next request with this method (`*` for any) and this in its path and query.
    pub fn hold_path(&self, method: &str, path: &str, pause: Pause) -> Hold {
        let (held, hold) = Held::new(1, method, path, pause);
        self.host.state().held = Some(held);
        hold
    }

    /// Where people look at a pull request.
    pub fn pull_url(&self, path: &str, number: u64) -> String {
        let folder = match self.kind {
            HostKind::Gitlab => "-/merge_requests",
            HostKind::Bitbucket => "pull-requests",
            HostKind::Forgejo => "pulls",
            _ => "pull",
        };
        format!("{}/{path}/{folder}/{number}", self.host.origin)
    }

    /// The pull requests of a repository, the oldest first.
    pub fn pulls(&self, path: &str) -> Vec<Pull> {
        self.host.state().find(path).unwrap().pulls.clone()
    }

    /// Merges a pull request as a reviewer would, tells whoever wants to know, and gives what they answered.
    pub async fn merge(&self, path: &str, number: u64) -> Vec<Option<u16>> {
        {
            let mut state = self.host.state();
            let repo = state.find(path).unwrap().id;
            state.merge(repo, number, false);
        }
        self.tell(path, number).await
    }

    /// Merges a pull request with one commit that has all of its changes and none of its commits.
    pub fn squash(&self, path: &str, number: u64) {
        let mut state = self.host.state();
        let repo = state.find(path).unwrap().id;
        state.merge(repo, number, true);
    }

    /// Closes a pull request as a reviewer would, tells whoever wants to know, and gives what they answered.
    pub async fn close(&self, path: &str, number: u64) -> Vec<Option<u16>> {
        {
            let mut state = self.host.state();
            let repo = state.find(path).unwrap().id;
            state.set_open(repo, number, false);
        }
        self.tell(path, number).await
    }

    /// Gives a pull request another title and text, as a maintainer would. What is none stays.
    pub fn reword(&self, path: &str, number: u64, title: Option<&str>, body: Option<&str>) {
        self.change(path, |repo| {
            let pull = repo.pulls.iter_mut().find(|pull| pull.number == number).unwrap();
            pull.title = title.unwrap_or(&pull.title).to_owned();
            // As browsers send what was written in a form.
            pull.body = body.map_or_else(|| pull.body.clone(), |body| body.replace('\n', "\r\n"));
        });
    }

    /// Tells an address of every pull request of a repository that is merged or closed from now on.
    pub fn hook(&self, path: &str, address: &str, secret: &str) {
        let hook = Hook { address: address.to_owned(), secret: secret.to_owned() };
        self.change(path, |repo| repo.hooks.push(hook));
    }

    /// What the host would send of a pull request as it is now, signed with this secret.
    pub fn delivery(&self, path: &str, number: u64, secret: &str) -> Delivery {
        let state = self.host.state();
        let repo = state.find(path).unwrap();
        let hook = Hook { address: String::new(), secret: secret.to_owned() };
        self.host.dialect.delivery(repo, repo.pull(number).unwrap(), &hook, &self.host.origin)
    }

    /// Every request so far, the oldest first.
    pub fn seen(&self) -> Vec<Seen> {
        self.host.state().seen.clone()
    }

    /// How many requests there were with this method (`*` for any) and this in their path and query.
    pub fn count(&self, method: &str, path: &str) -> usize {
        let fits = |seen: &&Seen| (method == "*" || seen.method == method) && seen.path.contains(path);
        self.host.state().seen.iter().filter(fits).count()
    }

    /// How many packs were asked for: the fetches and clones that were not served by what was there already.
    pub fn fetches(&self) -> usize {
        self.count("POST", "/git-upload-pack")
    }

    /// How many packs were sent: the pushes that came as far as their content.
    pub fn pushes(&self) -> usize {
        self.count("POST", "/git-receive-pack")
    }

    /// Takes what clients did that none should do; the test then answers for it.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.host.state().violations)
    }

    /// Fails if a client did anything that none should do.
    pub fn assert_clean(&self) {
        let violations = self.take_violations();
        assert!(violations.is_empty(), "{}: {violations:#?}", self.kind.title());
    }

    async fn tell(&self, path: &str, number: u64) -> Vec<Option<u16>> {
        let deliveries: Vec<(String, Delivery)> = {
            let state = self.host.state();
            let repo = state.find(path).unwrap();
            let pull = repo.pull(number).unwrap();
            let about = |hook: &Hook| self.host.dialect.delivery(repo, pull, hook, &self.host.origin);
            repo.hooks.iter().map(|hook| (hook.address.clone(), about(hook))).collect()
        };
        let mut answers = Vec::new();
        for (address, delivery) in deliveries {
            answers.push(delivery.send(&address).await);
        }
        answers
    }

    fn change<T>(&self, path: &str, how: impl FnOnce(&mut Repo) -> T) -> T {
        let mut state = self.host.state();
        let id = state.find(path).unwrap().id;
        how(state.by_id_mut(id).unwrap())
    }
}

impl Drop for FakeHost {
    fn drop(&mut self) {
        self.task.abort();
        if !std::thread::panicking() {
            self.assert_clean();
        }
    }
}
