//! A host's interface as one project sees it: what is asked, with the project's credential.

use std::sync::Arc;

use copydesk_domain::{HostKind, PullRequest};
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::access::Access;
use super::exchange::{Failed, HostRequest, HostResponse};
use super::refusal::Act;
use super::subject::Subject;
use super::transport::Transport;
use crate::{ForgeError, PullWords};

/// How often a host is asked again before it is believed that it does not know a credential.
const SECOND_LOOKS: u32 = 2;
/// How many pages of a list are read.
const MOST_PAGES: usize = 20;

/// The interface of one host, about one repository.
pub(super) struct HostClient {
    pub(super) transport: Arc<Transport>,
    pub(super) access: Access,
}

/// A pull request as one kind of host shows it.
pub(super) trait HostPull: DeserializeOwned {
    fn view(&self) -> PullRequest;

    fn words(&self) -> PullWords;

    /// Whether it comes from that branch of the repository itself and not from a fork's branch of that name.
    fn is_from(&self, branch: &str) -> bool;
}

impl HostClient {
    pub(super) fn subject(&self) -> &Subject {
        &self.transport.subject
    }

    /// Asks, with a new token if the one at hand was refused before its time.
    pub(super) async fn ask(&self, request: &HostRequest) -> Result<HostResponse, Failed> {
        let mut answer = self.transport.send(request, &self.access.authorization().await?).await?;
        if answer.status == 401 && self.access.renew().await {
            return self.transport.send(request, &self.access.authorization().await?).await;
        }
        // So says Gitea too, of the best of tokens, while it is being stopped. A moment later it is gone.
        for tries in 1..=SECOND_LOOKS {
            if answer.status != 401 || self.subject().kind != HostKind::Forgejo {
                break;
            }
            self.transport.pause(tries, None).await;
            answer = self.transport.send(request, &self.access.authorization().await?).await?;
        }
        Ok(answer)
    }

    /// Asks for what is at `path`, which is escaped already.
    pub(super) async fn look(&self, path: &str) -> Result<HostResponse, Failed> {
        self.ask(&self.transport.request(Method::GET, path)?).await
    }

    /// Asks for a change and gives whatever comes of it.
    pub(super) async fn send(&self, method: Method, path: &str, body: Value) -> Result<HostResponse, Failed> {
        self.ask(&self.transport.request(method, path)?.with_body(body)).await
    }

    /// What an answer holds, or why it is a refusal.
    pub(super) fn read<T: DeserializeOwned>(&self, act: Act, answer: &HostResponse) -> Result<T, ForgeError> {
        self.transport.read(act, answer)
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, act: Act) -> Result<T, ForgeError> {
        self.read(act, &self.look(path).await?)
    }

    /// Goes through the pages of a list to the pull request from branch `head`; `page` gives what is on one, and where
    /// the next is.
    pub(super) async fn find_pull<P: HostPull>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        head: &str,
        page: impl Fn(&HostResponse) -> Result<(Vec<P>, Option<String>), ForgeError>,
    ) -> Result<Option<PullRequest>, ForgeError> {
        let is_it = |pulls: &[P]| pulls.iter().any(|pull| pull.is_from(head));
        let pulls = self.pages(path, query, page, is_it).await?;
        Ok(pulls.iter().find(|pull| pull.is_from(head)).map(HostPull::view))
    }

    /// What is on the pages of a list, up to the one that is enough, and as far as they are read.
    pub(super) async fn pages<T>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        page: impl Fn(&HostResponse) -> Result<(Vec<T>, Option<String>), ForgeError>,
        is_enough: impl Fn(&[T]) -> bool,
    ) -> Result<Vec<T>, ForgeError> {
        let mut request = self.transport.request(Method::GET, path)?.with_query(query);
        let mut all = Vec::new();
        for _ in 0..MOST_PAGES {
            let (some, next) = page(&self.ask(&request).await?)?;
            let is_last = is_enough(&some);
            all.extend(some);
            let Some(next) = next.filter(|_| !is_last).and_then(|address| request.for_page(&address)) else { break };
            request = next;
        }
        Ok(all)
    }
}
