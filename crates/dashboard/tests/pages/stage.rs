//! What every behaviour starts from: a server with nobody in it, and somebody to be.

use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::people::{Newcomer, Visitor};
use copydesk_domain::{ProjectId, Repository, Role, User};
use copydesk_testkit::{
    Backend, GitRepo, ManualClock, ProjectClient, Setup, TestApp, TestDatabase, TestEditor, Who, see,
};

use crate::browser::Browser;

pub const PASSWORD: &str = "four words put together";

/// A server, and the clock it goes by.
pub struct Stage {
    pub app: TestApp,
    pub clock: Arc<ManualClock>,
    pub database: Arc<TestDatabase>,
}

/// Runs one behaviour on a database of its own. A behaviour that hangs fails.
pub fn run<F: Future<Output = ()>>(backend: Backend, behaviour: fn(Stage) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let whole = async {
        let database = Arc::new(TestDatabase::new(backend).await);
        let clock = Arc::new(ManualClock::new());
        let app = TestApp::over(database.clone()).clock(clock.clone()).start().await;
        behaviour(Stage { app, clock, database: database.clone() }).await;
        database.destroy().await;
    };
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(180), whole).await }).expect("it came to no end");
}

impl Stage {
    /// A browser in which nobody is signed in.
    pub fn browser(&self) -> Browser {
        Browser::new(self.app.client().base())
    }

    /// Another server over the same database.
    pub async fn another(&self, change: impl FnOnce(Setup) -> Setup) -> Self {
        let setup = change(TestApp::over(self.database.clone()).clock(self.clock.clone()));
        Self { app: setup.start().await, clock: self.clock.clone(), database: self.database.clone() }
    }

    /// The same with a worker on that editor.
    pub async fn working(&self, editor: TestEditor) -> Self {
        self.another(|setup| setup.editors(1, vec![Arc::new(editor)])).await
    }

    pub async fn project(&self, name: &str) -> ProjectClient {
        self.app.project(name).await
    }

    /// A project on a repository.
    pub async fn project_on(&self, repo: &GitRepo) -> ProjectClient {
        let repository = Repository::parse(&repo.address(), repo.path()).unwrap();
        self.app.project_with("Docs", |new| new.repository = repository).await
    }

    /// Views of a page at an instant.
    pub async fn saw(&self, project: &ProjectClient, path: &str, at: &str, who: Who, count: u32) {
        see(self.app.views(), &project.id, path, at, who, count).await;
    }

    pub async fn user(&self, email: &str, is_admin: bool) -> User {
        let newcomer = Newcomer { email: email.to_owned(), name: "Ada Lovelace".to_owned(), password: PASSWORD.into() };
        self.app.app().desk().people.add(self.app.store(), newcomer, is_admin).await.unwrap().unwrap()
    }

    /// A browser in which that user is signed in, without the time that a password takes.
    pub async fn browser_of(&self, user: &User) -> Browser {
        let people = &self.app.app().desk().people;
        let arrived = people.admit(user.clone(), "password", &Visitor::default()).await.unwrap();
        self.browser().with_session(arrived.token.expose())
    }

    /// A browser of an administrator.
    pub async fn admin(&self) -> Browser {
        let user = self.user("admin@example.com", true).await;
        self.browser_of(&user).await
    }

    /// The same, also if there is one already.
    pub async fn admin_again(&self) -> Browser {
        match self.app.store().user_at("admin@example.com").await.unwrap() {
            Some((user, _)) => self.browser_of(&user).await,
            None => self.admin().await,
        }
    }

    /// Lets whoever sits at a browser show again that it is they.
    pub async fn browser_confirmed(&self, browser: &Browser, page: &str) {
        browser.post(page, &[("_password", PASSWORD)]).await.is(422);
    }

    /// A browser of somebody with that role in that project.
    pub async fn member(&self, project: &ProjectId, role: Role) -> Browser {
        let user = self.user(&format!("{}-of-{project}@example.com", role.as_str()), false).await;
        self.app.store().set_member(project, &user.id, role).await.unwrap().unwrap();
        self.browser_of(&user).await
    }
}
