use copydesk_domain::Outcome;
use copydesk_store::Finish;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::{Engine, Failure, Task};

/// Reads the prompts and changes nothing: shows that an installation takes a job through to its end.
pub struct Noop;

impl Engine for Noop {
    fn model(&self) -> &str {
        "noop"
    }

    fn run<'a>(&'a self, task: Task<'a>) -> BoxFuture<'a, Result<Finish, Failure>> {
        async move {
            task.step("read", json!({ "prompts": task.messages.len() })).await?;
            let message = "The no-op engine changes nothing: the job went through the queue and back.";
            Ok(Finish::new(Outcome::NoChanges, message, task.last_message()))
        }
        .boxed()
    }
}
