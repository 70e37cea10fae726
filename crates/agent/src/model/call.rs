use std::time::Duration;

use secrecy::SecretString;

use super::client::ModelClient;
use super::failure::CallFailure;
use crate::EditFailure;
use crate::machine::Talk;
use crate::said::Said;

/// How often a call is made before it is given up.
const MOST_TRIES: u32 = 6;
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
    talk: &Talk,
    key: Option<&SecretString>,
    pause: Duration,
    random: fn() -> f64,
) -> Result<Said, NoAnswer> {
    let mut tries = 0;
    loop {
        tries += 1;
        let (wait, sentence, garbled) = match client.ask(talk, key).await {
            Ok(said) => return Ok(said),
            Err(CallFailure::TooLong) => return Err(NoAnswer::TooLong),
            Err(CallFailure::Lasting(sentence)) => return Err(NoAnswer::Failed(EditFailure::Fatal(sentence))),
            Err(CallFailure::Passing(wait, sentence)) => (wait, sentence, false),
            Err(CallFailure::Garbled(why)) => {
                (None, format!("The model provider's answers could not be understood: {why}."), true)
            }
        };
        tracing::warn!(tries, why = sentence, "a call of the model did not work");
        if tries >= MOST_TRIES && garbled {
            return Err(NoAnswer::Failed(EditFailure::Fatal(sentence)));
        }
        if tries >= MOST_TRIES || wait.is_some_and(|wait| wait > LONGEST_WAIT) {
            return Err(NoAnswer::Failed(EditFailure::Retry(sentence)));
        }
        tokio::time::sleep(pause_before(tries, pause, random()).max(wait.unwrap_or_default())).await;
    }
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
