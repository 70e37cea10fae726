//! An answer and what makes it one that is not to be relied on.

use copydesk_boxed::boxed;
use copydesk_domain::{Project, ProjectId};
use copydesk_views::store::{Loss, Question, StoreFuture, ViewStore, ViewsError};

use super::Readers;

/// How often a question is asked again because damage was found meanwhile.
const TRIES: usize = 5;

#[boxed]
impl Readers {
    /// Asks, and says what is missing from the answer.
    pub(super) async fn with_losses<'a, T>(
        &'a self,
        project: &Project,
        question: Question,
        ask: impl Fn(&'a dyn ViewStore) -> StoreFuture<'a, T>,
    ) -> Result<(T, Vec<Loss>), ViewsError> {
        with_losses(&*self.store, &project.id, question, ask).await
    }

    /// All that was lost, of whichever project.
    pub async fn all_losses(&self) -> Result<Vec<Loss>, ViewsError> {
        Ok(self.store.losses(None).await?.list)
    }
}

/// What was noted before and what was noted after the answer both count; if something was noted meanwhile, it may have been
/// put right already, but not for this answer: it is asked again.
async fn with_losses<'a, T>(
    store: &'a dyn ViewStore,
    project: &ProjectId,
    question: Question,
    ask: impl Fn(&'a dyn ViewStore) -> StoreFuture<'a, T>,
) -> Result<(T, Vec<Loss>), ViewsError> {
    let mut before = store.losses(Some(project)).await?;
    for _ in 0..TRIES {
        let answer = ask(store).await?;
        let mut after = store.losses(Some(project)).await?;
        if after.noted == before.noted {
            after.list.extend(before.list.into_iter().filter(|loss| !after.list.contains(loss)).collect::<Vec<_>>());
            after.list.retain(|loss| loss.concerns(project, question.from, question.to));
            return Ok((answer, after.list));
        }
        before = after;
    }
    Err(ViewsError::Unavailable("the view store finds more and more damage".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use copydesk_views::Bucket;
    use copydesk_views::store::{Losses, Sources, StoreCall, StoreReply};

    use super::*;

    /// Finds damage with so many of the next questions.
    struct Damaged {
        left: AtomicU64,
        noted: AtomicU64,
    }

    impl ViewStore for Damaged {
        fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
            Box::pin(async move {
                if let StoreCall::Losses { .. } = call {
                    return Ok(Losses { noted: self.noted.load(Ordering::Relaxed), list: Vec::new() }.into());
                }
                let finds = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                self.noted.fetch_add(u64::from(finds.is_ok()), Ordering::Relaxed);
                Ok(Vec::<String>::new().into())
            })
        }
    }

    #[tokio::test]
    async fn an_answer_that_damage_was_noted_meanwhile_to_is_none() {
        let question = Question { from: Bucket::MIN, to: Bucket::MAX, sources: Sources::default() };
        for (times, is_answered) in [(0, true), (TRIES - 1, true), (TRIES, false)] {
            let store = Damaged { left: AtomicU64::new(times as u64), noted: AtomicU64::new(0) };
            let asked = with_losses(&store, &ProjectId::from("docs"), question, |store| store.projects()).await;
            assert_eq!(asked.is_ok(), is_answered, "{times}");
        }
    }
}
