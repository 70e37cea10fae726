//! Page views that a test puts straight into the store, without asking who it was.

use std::sync::Arc;

use copydesk_views::store::ViewStore;
use copydesk_views::{Batch, Bucket, Channel, Class, Client, Evidence, Facts, Network, Verdict, View};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A person, seen by the script.
    Person,
    /// A person, seen by the server side.
    PersonInLog,
    /// An assistant, seen by the script.
    AssistantInBrowser,
    /// An assistant, seen by the server side.
    Assistant,
    /// A crawler, seen by the server side: in neither figure.
    Crawler,
}

impl Who {
    /// As the store keeps it.
    pub fn client(self) -> Arc<Client> {
        let (channel, class, agent, evidence) = match self {
            Self::Person => (Channel::Script, Class::Human, None, Evidence::Browser),
            Self::PersonInLog => (Channel::Server, Class::Human, None, Evidence::Browser),
            Self::AssistantInBrowser => (Channel::Script, Class::Assistant, Some("ChatGPT-User"), Evidence::Token),
            Self::Assistant => (Channel::Server, Class::Assistant, Some("ChatGPT-User"), Evidence::Token),
            Self::Crawler => (Channel::Server, Class::TrainingCrawler, Some("GPTBot"), Evidence::Token),
        };
        let facts = Facts {
            user_agent: agent.unwrap_or("Firefox").to_owned(),
            markdown: false,
            network: Network::Unknown,
            signed_by: None,
            channel,
        };
        let rule = agent.map_or("browser".to_owned(), |agent| format!("token:{agent}"));
        Arc::new(Client { facts, verdict: Verdict { class, agent: agent.map(str::to_owned), evidence, rule } })
    }
}

/// Puts `count` views of a page at an instant (`2026-03-14T10:00:00Z`) into a store.
pub async fn see(store: &dyn ViewStore, project: &str, path: &str, at: &str, who: Who, count: u32) {
    let at: jiff::Timestamp = at.parse().unwrap();
    let view =
        View { bucket: Bucket::of_seconds(at.as_second()), path: path.into(), client: who.client(), count, id: None };
    store.append(Batch { project: project.to_owned(), views: vec![view], ..Batch::default() }).await.unwrap();
}
