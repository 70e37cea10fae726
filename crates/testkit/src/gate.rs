use std::sync::Arc;

use copydesk_desk::runner::{Engine, Failure, Task};
use copydesk_domain::Outcome;
use copydesk_store::Finish;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::PATIENCE;

/// An engine whose every run waits for the test to say what becomes of it.
pub struct GateEngine {
    model: String,
    arrive: mpsc::UnboundedSender<Held>,
    arrived: Mutex<mpsc::UnboundedReceiver<Held>>,
}

/// A run that waits. It goes on waiting when this is dropped, until the runner drops it.
pub struct Held {
    pub job_id: String,
    /// The attempt it is run under.
    pub attempt: i64,
    /// All prompts that the run was given.
    pub prompts: Vec<String>,
    orders: mpsc::UnboundedSender<Order>,
    gone: oneshot::Receiver<()>,
}

enum Order {
    Step(&'static str, Value, oneshot::Sender<bool>),
    Finish(Finish),
    Fail(Failure),
    Panic,
}

impl GateEngine {
    /// An engine for the jobs of `model`.
    pub fn new(model: &str) -> Arc<Self> {
        let (arrive, arrived) = mpsc::unbounded_channel();
        Arc::new(Self { model: model.to_owned(), arrive, arrived: Mutex::new(arrived) })
    }

    /// The next run that began and has not been asked for; fails if none begins.
    pub async fn next(&self) -> Held {
        let held = tokio::time::timeout(PATIENCE, async { self.arrived.lock().await.recv().await }).await;
        held.expect("no run began").expect("the engine holds a sender itself")
    }

    /// Whether no run has begun that has not been asked for.
    pub async fn is_idle(&self) -> bool {
        self.arrived.lock().await.is_empty()
    }
}

impl Held {
    /// Lets the run record a step; false if it was told that the job is no longer its own.
    pub async fn step(&self, step: &'static str, data: Value) -> bool {
        let (tell, told) = oneshot::channel();
        self.order(Order::Step(step, data, tell));
        told.await.unwrap_or(false)
    }

    /// Lets the run end with `finish`, all its prompts taken in.
    pub fn finish(self, finish: Finish) {
        self.order(Order::Finish(finish));
    }

    /// Lets the run end well with nothing changed.
    pub fn complete(self) {
        self.finish(Finish::new(Outcome::NoChanges, "Nothing had to be changed.", 0));
    }

    /// Lets the run end well with a pull request.
    pub fn open_pull_request(self, branch: &str, link: &str) {
        let mut finish = Finish::new(Outcome::PrCreated, "The pull request is open.", 0);
        finish.branch = Some(branch.to_owned());
        finish.pr_link = Some(link.to_owned());
        self.finish(finish);
    }

    pub fn fail(self, failure: Failure) {
        self.order(Order::Fail(failure));
    }

    pub fn panic(self) {
        self.order(Order::Panic);
    }

    /// Waits until the runner has dropped the run; fails if it does not.
    pub async fn dropped(self) {
        // The sender lives in the run and goes with it.
        let gone = tokio::time::timeout(PATIENCE, self.gone).await;
        assert!(gone.expect("the run was not dropped").is_err());
    }

    fn order(&self, order: Order) {
        // Fails only when the run is gone, and then there is nobody to order about.
        let _ = self.orders.send(order);
    }
}

impl Engine for GateEngine {
    fn model(&self) -> &str {
        &self.model
    }

    fn run<'a>(&'a self, task: Task<'a>) -> BoxFuture<'a, Result<Finish, Failure>> {
        let (orders, mut wait) = mpsc::unbounded_channel();
        let (alive, gone) = oneshot::channel();
        let held = Held {
            job_id: task.job.id.to_string(),
            attempt: task.attempt(),
            prompts: task.messages.iter().map(|message| message.prompt.clone()).collect(),
            orders,
            gone,
        };
        // The engine holds a receiver itself.
        let _ = self.arrive.send(held);
        async move {
            let _alive = alive;
            loop {
                match wait.recv().await {
                    Some(Order::Step(step, data, tell)) => {
                        let recorded = task.step(step, data).await;
                        let _ = tell.send(recorded.is_ok());
                        recorded?;
                    }
                    Some(Order::Finish(finish)) => return Ok(Finish { taken_through: task.last_message(), ..finish }),
                    Some(Order::Fail(failure)) => return Err(failure),
                    Some(Order::Panic) => panic!("the test asked for it"),
                    None => std::future::pending().await,
                }
            }
        }
        .boxed()
    }
}
