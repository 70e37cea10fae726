//! An answer and what makes it one that is not to be relied on.

use copydesk_domain::Project;
use copydesk_views::store::{Loss, Question, StoreFuture, ViewStore, ViewsError};

use super::Readers;

/// How often a question is asked again because damage was found meanwhile.
const TRIES: usize = 5;

impl Readers {
    /// Asks, and says what is missing from the answer. What was noted before and what was noted after it both count; if
    /// something was noted meanwhile, it may have been put right already, but not for this answer: it is asked again.
    pub(super) async fn with_losses<'a, T>(
        &'a self,
        project: &Project,
        question: Question,
        ask: impl Fn(&'a dyn ViewStore) -> StoreFuture<'a, T>,
    ) -> Result<(T, Vec<Loss>), ViewsError> {
        let mut before = self.store.losses(Some(&project.id)).await?;
        for last in (0..TRIES).rev() {
            let answer = ask(&*self.store).await?;
            let mut after = self.store.losses(Some(&project.id)).await?;
            if after.noted == before.noted || last == 0 {
                after
                    .list
                    .extend(before.list.into_iter().filter(|loss| !after.list.contains(loss)).collect::<Vec<_>>());
                after.list.retain(|loss| loss.concerns(&project.id, question.from, question.to));
                return Ok((answer, after.list));
            }
            before = after;
        }
        Err(ViewsError::Unavailable("the view store finds more and more damage".to_owned()))
    }

    /// All that was lost, of whichever project.
    pub async fn all_losses(&self) -> Result<Vec<Loss>, ViewsError> {
        Ok(self.store.losses(None).await?.list)
    }
}
