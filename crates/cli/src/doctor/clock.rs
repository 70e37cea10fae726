//! The clock of this machine against those of others. Leases and signatures are only as good as the clocks agree.

use std::time::{Duration, UNIX_EPOCH};

use copydesk_domain::{Clock, Project, SystemClock, Timestamp};
use copydesk_store::Store;
use futures_util::future::join_all;
use reqwest::header::DATE;
use reqwest::redirect::Policy;
use url::Url;

use super::Visit;
use super::report::Finding;
use crate::engines;

const LIMIT: Duration = Duration::from_secs(10);
/// Dates in headers have whole seconds, and take their time to arrive.
const NOTHING: Duration = Duration::from_secs(3);
/// From here on leases are lost to others and signatures taken for old.
const TOO_MUCH: Duration = Duration::from_secs(15);
/// How many others are asked.
const ASKED: usize = 3;

pub(super) async fn check(visit: &Visit<'_>, store: &Store, projects: &[Project]) -> Vec<Finding> {
    let (of_database, of_others) = tokio::join!(database(visit, store), others(visit, projects));
    of_database.into_iter().chain(of_others).collect()
}

async fn database(visit: &Visit<'_>, store: &Store) -> Option<Finding> {
    let asking = async {
        let before = SystemClock.now();
        let said = store.server_clock().await.map_err(|error| error.to_string())?;
        Ok(said.map(|said| (middle(before, SystemClock.now()), said)))
    };
    match visit.within(LIMIT, || Err("the database does not answer".to_owned()), asking).await {
        // It has the clock of this machine.
        Ok(None) => None,
        Ok(Some((ours, theirs))) => Some(judged("that of the database", ours, theirs)),
        Err(why) => Some(Finding::unknown("clock", why)),
    }
}

/// Code hosts and the model: the one that agrees best counts, since any of them may be wrong itself.
async fn others(visit: &Visit<'_>, projects: &[Project]) -> Option<Finding> {
    let places = places(visit, projects);
    if places.is_empty() {
        return None;
    }
    let asked = async {
        let answers = join_all(places.iter().map(ask)).await;
        answers.into_iter().flatten().min_by_key(|(_, ours, theirs)| apart(*ours, *theirs))
    };
    let names: Vec<&str> = places.iter().filter_map(Url::host_str).collect();
    Some(match visit.within(LIMIT, || None, asked).await {
        Some((host, ours, theirs)) => judged(&format!("that of {host}"), ours, theirs),
        None => Finding::unknown("clock", format!("no time could be had from {}", names.join(", "))),
    })
}

fn places(visit: &Visit<'_>, projects: &[Project]) -> Vec<Url> {
    let mut places: Vec<Url> = Vec::new();
    let model = engines::model(visit.config).ok().flatten().map(|model| model.address().to_owned());
    let of_projects = projects.iter().map(|project| project.repository.clone_address().to_owned());
    for address in model.into_iter().chain(of_projects) {
        let Ok(mut url) = Url::parse(&address) else { continue };
        if url.scheme() == "file" || url.host_str().is_none() {
            continue;
        }
        let origin = match url.scheme() {
            "http" | "https" => url.join("/").ok(),
            // Who speaks SSH mostly has a web page too.
            _ => Url::parse(&format!("https://{}/", url.host_str().unwrap_or_default())).ok(),
        };
        let Some(place) = origin else { continue };
        url = place;
        let _ = url.set_username("");
        if places.len() < ASKED && !places.contains(&url) {
            places.push(url);
        }
    }
    places
}

async fn ask(place: &Url) -> Option<(String, Timestamp, Timestamp)> {
    let client = reqwest::Client::builder()
        .timeout(LIMIT / 2)
        .redirect(Policy::none())
        // With a clock that is far off every certificate seems to be invalid, and it is the clock that is looked at. Nothing
        // is shown to the host, and nothing but its time is taken from it.
        .tls_danger_accept_invalid_certs(true)
        .build()
        .ok()?;
    let before = SystemClock.now();
    let response = client.head(place.clone()).send().await.ok()?;
    let ours = middle(before, SystemClock.now());
    let date = httpdate::parse_http_date(response.headers().get(DATE)?.to_str().ok()?).ok()?;
    let seconds = i64::try_from(date.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()?;
    // The second is over half on average.
    Some((place.host_str()?.to_owned(), ours, Timestamp::from_millis(seconds.saturating_mul(1000).saturating_add(500))))
}

fn middle(from: Timestamp, to: Timestamp) -> Timestamp {
    from.plus(to.since(from) / 2)
}

fn apart(one: Timestamp, other: Timestamp) -> Duration {
    one.since(other).max(other.since(one))
}

fn judged(whose: &str, ours: Timestamp, theirs: Timestamp) -> Finding {
    let apart = apart(ours, theirs);
    let way = if ours > theirs { "ahead of" } else { "behind" };
    let far = format!("this machine is {:.1} seconds {way} {whose}", apart.as_secs_f64());
    let hint = "set the clocks by NTP (`timedatectl set-ntp true`)";
    if apart < NOTHING {
        Finding::ok("clock", format!("it agrees with {whose}"))
    } else if apart < TOO_MUCH {
        Finding::warning("clock", far).hint(hint)
    } else {
        Finding::failed("clock", far).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_judged_by_how_far_they_are_apart() {
        let at = |seconds: i64| Timestamp::from_millis(1_773_576_000_000 + seconds * 1000);
        let json = |theirs: i64| serde_json::to_value(judged("that of h", at(0), at(theirs))).unwrap();
        assert_eq!(json(2)["result"], "ok");
        assert_eq!(json(5)["result"], "warning");
        assert_eq!(json(5)["what"], "this machine is 5.0 seconds behind that of h");
        assert_eq!(json(-60)["result"], "failed");
        assert_eq!(json(-60)["what"], "this machine is 60.0 seconds ahead of that of h");
    }
}
