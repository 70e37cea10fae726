use std::time::Duration;

use copydesk_domain::TRACE_TARGET;
use secrecy::SecretString;
use serde_json::json;
use tracing::Instrument;

use super::client::{ModelClient, Question};
use super::failure::CallFailure;
use crate::said::Said;
use crate::{EditFailure, Notebook};

/// How often a call is made before it is given up, and how often where there is no connection: some minutes, in which a
/// server of one's own is up again.
const MOST_TRIES: u32 = 6;
const MOST_TRIES_UNREACHED: u32 = 8;
/// The longest that a job waits for a provider while it holds its place. What takes longer is put back.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Why there is no answer.
pub(super) enum NoAnswer {
    /// The talk is too long.
    TooLong,
    /// The round ends here.
    Failed(EditFailure),
}

/// Asks until there is an answer or no hope for one.
pub(super) async fn ask(
    client: &ModelClient,
    question: Question<'_>,
    key: Option<&SecretString>,
    pause: Duration,
    random: fn() -> f64,
    notebook: &dyn Notebook,
) -> Result<Said, NoAnswer> {
    let mut tries = 0;
    loop {
        tries += 1;
        let span = tracing::info_span!(
            target: TRACE_TARGET,
            "model call",
            kind = "client",
            server.address = client.host(),
            copydesk.tries = tries,
            gen_ai.usage.input_tokens = tracing::field::Empty,
            gen_ai.usage.output_tokens = tracing::field::Empty,
            failed = tracing::field::Empty,
        );
        let asked = client.ask(question, key).instrument(span.clone()).await;
        if let Ok(Some(tokens)) = asked.as_ref().map(|said| said.tokens) {
            span.record("gen_ai.usage.input_tokens", tokens.input);
            span.record("gen_ai.usage.output_tokens", tokens.output);
        }
        span.record("failed", asked.is_err());
        drop(span);
        let is_unreached = matches!(asked, Err(CallFailure::Unreached(_)));
        let (wait, sentence, ends_job) = match asked {
            Ok(said) => return Ok(said),
            Err(CallFailure::TooLong) => return Err(NoAnswer::TooLong),
            Err(CallFailure::Lasting(sentence)) => {
                tell_log(notebook, tries, &sentence);
                return Err(NoAnswer::Failed(EditFailure::Fatal(sentence)));
            }
            Err(CallFailure::Passing(wait, sentence)) => (wait, sentence, false),
            Err(CallFailure::Unreached(sentence)) => (None, sentence, true),
            Err(CallFailure::Garbled(why)) => {
                (None, format!("The model provider's answers could not be understood: {why}."), true)
            }
        };
        tell_log(notebook, tries, &sentence);
        let most = if is_unreached { MOST_TRIES_UNREACHED } else { MOST_TRIES };
        if tries >= most && ends_job {
            return Err(NoAnswer::Failed(EditFailure::Fatal(sentence)));
        }
        if tries >= most || wait.is_some_and(|wait| wait > LONGEST_WAIT) {
            return Err(NoAnswer::Failed(EditFailure::Retry(sentence)));
        }
        let wait = pause_before(tries, pause, random()).max(wait.unwrap_or_default());
        let told = json!({ "reason": sentence, "tries": tries, "nextInSeconds": wait.as_secs_f64().ceil() as u64 });
        notebook.tell("model_failed", told).await.map_err(|stopped| NoAnswer::Failed(stopped.into()))?;
        tokio::time::sleep(wait).await;
    }
}

fn tell_log(notebook: &dyn Notebook, tries: u32, why: &str) {
    tracing::warn!(job = notebook.job_id(), tries, why, "a call of the model did not work");
}

/// Twice as long each time, and by chance up to half of that longer, so that jobs do not come back all at once.
fn pause_before(tries: u32, first: Duration, random: f64) -> Duration {
    let pause = first.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(LONGEST_PAUSE);
    pause.mul_f64(1.0 + random.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_growing() {
        let second = Duration::from_secs(1);
        assert_eq!(pause_before(1, second, 0.0), second);
        assert_eq!(pause_before(3, second, 0.5), Duration::from_secs(5));
        assert_eq!(pause_before(60, second, 0.0), LONGEST_PAUSE);
    }
}
