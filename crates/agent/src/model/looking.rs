//! Calls that change nothing, some of them at once.

use std::io;
use std::sync::Arc;

use copydesk_forge::Workspace;
use futures_util::stream::{self, Stream, StreamExt};
use tracing::Instrument;

use crate::said::{Call, Ran};
use crate::sources::CodeSources;
use crate::{EditFailure, History, seated, tools};

/// How many calls of one answer run at once. More would keep the threads from other jobs.
const AT_ONCE: usize = 4;

/// What calls look at.
#[derive(Clone)]
pub(super) struct View<'a> {
    pub(super) workspace: Arc<Workspace>,
    pub(super) sources: CodeSources,
    pub(super) history: &'a dyn History,
}

/// What comes out of calls that change nothing, in the order of the calls: nobody can see which was ready first.
pub(super) fn look<'a>(view: &View<'a>, calls: &[Call]) -> impl Stream<Item = Result<Ran, EditFailure>> + use<'a> {
    let looks: Vec<_> =
        calls.iter().map(|call| look_once(view.clone(), call.clone()).instrument(tools::span(call))).collect();
    stream::iter(looks).buffered(AT_ONCE)
}

async fn look_once(view: View<'_>, call: Call) -> Result<Ran, EditFailure> {
    let View { workspace, sources, history } = view;
    if call.name == tools::HISTORY {
        return Ok(past(history, &sources, &call).await);
    }
    let done = seated(move |_| tools::look(&workspace, &sources, &call));
    done.await.map_err(|_| broken())?.map_err(unreadable)
}

/// What a question about the past is answered with.
pub(super) async fn past(history: &dyn History, sources: &CodeSources, call: &Call) -> Ran {
    match tools::question(call, sources) {
        Ok((source, asked)) => tools::answered(history.past(source.as_deref(), &asked).await),
        Err(ran) => ran,
    }
}

pub(super) fn broken() -> EditFailure {
    EditFailure::Fatal("A tool broke down.".to_owned())
}

pub(super) fn unreadable(_: io::Error) -> EditFailure {
    EditFailure::Retry("The repository could not be read.".to_owned())
}
