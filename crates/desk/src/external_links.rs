//! Whether addresses of other hosts lead somewhere. Whoever writes a page chooses where this machine connects to, so the
//! guard of webhooks stands before every connection, also those that a redirect asks for.

use copydesk_boxed::boxed;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{Client, Method, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use url::Url;

use crate::webhooks::AllowPrivate;
use crate::webhooks::guard::{Guard, Refused};

/// How many hosts are asked at a time; each is asked for one address after the other.
const HOSTS: usize = 16;
/// More addresses than these are not asked for.
const MOST: usize = 20_000;
/// More redirects than these are not followed.
const REDIRECTS: usize = 8;
/// After so many failures to reach a host the rest of its addresses is left.
const PATIENCE: u32 = 3;
const NO_HOST: &str = "there is no host of that name";

/// What is known of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    There,
    /// Why there is nothing, as part of a sentence.
    Missing(String),
    /// Why nobody can tell.
    NotJudged(String),
}

#[derive(Debug, Clone)]
pub struct ExternalSettings {
    /// Whether addresses of this machine and of private networks are asked for.
    pub private: bool,
    /// Between two requests to one host.
    pub pause: Duration,
    /// For one request.
    pub request_time: Duration,
    /// For all of them.
    pub total_time: Duration,
}

impl Default for ExternalSettings {
    fn default() -> Self {
        Self {
            private: false,
            pause: Duration::from_millis(200),
            request_time: Duration::from_secs(15),
            total_time: Duration::from_secs(300),
        }
    }
}

/// Judges each address, which must be one of http or https.
#[boxed]
pub async fn judge_external(
    addresses: &[String],
    settings: &ExternalSettings,
) -> reqwest::Result<HashMap<String, Answer>> {
    let asker = Arc::new(Asker::new(settings)?);
    let mut hosts: BTreeMap<String, Vec<(String, Url)>> = BTreeMap::new();
    let mut answers = HashMap::new();
    for (number, address) in addresses.iter().enumerate() {
        match Url::parse(address) {
            _ if number >= MOST => {
                answers.insert(address.clone(), Answer::NotJudged(format!("there are more than {MOST} addresses")));
            }
            Ok(url) if url.has_host() => {
                let host = url.host_str().unwrap_or_default().to_owned();
                hosts.entry(host).or_default().push((address.clone(), url));
            }
            _ => {
                answers.insert(
                    address.clone(),
                    Answer::NotJudged("it is not an address that can be requested".to_owned()),
                );
            }
        }
    }
    let gathered = Arc::new(Mutex::new(answers));
    let room = Arc::new(Semaphore::new(HOSTS));
    let mut tasks = tokio::task::JoinSet::new();
    for list in hosts.into_values() {
        let (asker, gathered, room) = (Arc::clone(&asker), Arc::clone(&gathered), Arc::clone(&room));
        tasks.spawn(async move {
            let _seat = room.acquire().await;
            asker.host(list, &gathered).await;
        });
    }
    // Those that are not ready in time are dropped with the set.
    _ = timeout(settings.total_time, async { while tasks.join_next().await.is_some() {} }).await;
    drop(tasks);
    let mut answers = std::mem::take(&mut *gathered.lock().unwrap_or_else(PoisonError::into_inner));
    if !asker.names_work.load(Ordering::Relaxed) {
        doubt(&mut answers);
    }
    for address in addresses {
        let late = || Answer::NotJudged("there was no time left".to_owned());
        answers.entry(address.clone()).or_insert_with(late);
    }
    Ok(answers)
}

/// Where no host with a name has answered, names may not be looked up at all, as on a machine without a network.
fn doubt(answers: &mut HashMap<String, Answer>) {
    for answer in answers.values_mut().filter(|answer| **answer == Answer::Missing(NO_HOST.to_owned())) {
        *answer = Answer::NotJudged("no host with a name has answered, so names may not be looked up here".to_owned());
    }
}

struct Asker {
    guard: Guard,
    /// Whether a host has answered that was found by its name.
    names_work: AtomicBool,
    client: Client,
    pause: Duration,
}

impl Asker {
    fn new(settings: &ExternalSettings) -> reqwest::Result<Self> {
        let allowed = if settings.private { AllowPrivate::Yes } else { AllowPrivate::No };
        let guard = Guard::new(allowed);
        let client = Client::builder()
            .user_agent(concat!("Copydesk/", env!("CARGO_PKG_VERSION"), " (link check)"))
            .dns_resolver(guard.resolver(false))
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would look the name up by itself, past the guard.
            .no_proxy()
            .timeout(settings.request_time)
            .build()?;
        Ok(Self { guard, names_work: AtomicBool::new(false), client, pause: settings.pause })
    }

    /// Asks for the addresses of one host, one after the other.
    async fn host(&self, list: Vec<(String, Url)>, answers: &Mutex<HashMap<String, Answer>>) {
        let mut silent = 0;
        for (number, (address, url)) in list.into_iter().enumerate() {
            let answer = if silent >= PATIENCE {
                Answer::NotJudged("its host did not answer".to_owned())
            } else {
                if number > 0 {
                    sleep(self.pause).await;
                }
                let (answer, reached) = self.ask(url).await;
                silent = if reached { 0 } else { silent + 1 };
                answer
            };
            answers.lock().unwrap_or_else(PoisonError::into_inner).insert(address, answer);
        }
    }

    /// Asks by HEAD, and by GET if that is not answered well: many servers know only the other. Also says whether the
    /// host was reached.
    async fn ask(&self, url: Url) -> (Answer, bool) {
        match self.follow(Method::HEAD, url.clone()).await {
            Ok(status) if status.is_success() => (Answer::There, true),
            Ok(_) => match self.follow(Method::GET, url).await {
                Ok(status) => (of_status(status), true),
                Err(answer) => (answer, true),
            },
            Err(answer) => {
                let reached = matches!(answer, Answer::Missing(_));
                (answer, reached)
            }
        }
    }

    /// The status at the end of the redirects. Nothing of a body is read.
    async fn follow(&self, method: Method, mut url: Url) -> Result<StatusCode, Answer> {
        for _ in 0..=REDIRECTS {
            if !matches!(url.scheme(), "http" | "https") || !self.guard.admits_numbers(&url) {
                return Err(Answer::NotJudged("it leads to a private address".to_owned()));
            }
            url.set_fragment(None);
            let response = self.client.request(method.clone(), url.clone()).send().await.map_err(|error| of(&error))?;
            let status = response.status();
            if url.domain().is_some_and(|name| name != "localhost" && !name.ends_with(".localhost")) {
                self.names_work.store(true, Ordering::Relaxed);
            }
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            match location.filter(|_| status.is_redirection()).map(|location| url.join(location)) {
                None => return Ok(status),
                Some(Ok(next)) => url = next,
                Some(Err(_)) => return Err(Answer::NotJudged("its redirect leads to no address".to_owned())),
            }
        }
        Err(Answer::NotJudged("it redirects too often".to_owned()))
    }
}

fn of_status(status: StatusCode) -> Answer {
    match status.as_u16() {
        200..=299 => Answer::There,
        code @ (404 | 410) => Answer::Missing(format!("its host answers {code}")),
        code @ (401 | 403) => Answer::NotJudged(format!("its host refuses ({code})")),
        429 => Answer::NotJudged("its host was asked too often (429)".to_owned()),
        code => Answer::NotJudged(format!("its host answers {code}")),
    }
}

/// What an error says: only a name that does not exist is the address's own fault.
fn of(error: &reqwest::Error) -> Answer {
    const NO_NAME: [&str; 4] = [
        "Name or service not known",
        "nodename nor servname provided",
        "No address associated with hostname",
        "Name does not resolve",
    ];
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    let mut said = String::new();
    while let Some(error) = cause {
        if error.downcast_ref::<Refused>().is_some() {
            return Answer::NotJudged("it leads to a private address".to_owned());
        }
        said = format!("{said} {error}");
        cause = error.source();
    }
    if NO_NAME.iter().any(|words| said.contains(words)) {
        return Answer::Missing(NO_HOST.to_owned());
    }
    let is_tls = ["certificate", "tls", "handshake"].iter().any(|word| said.to_lowercase().contains(word));
    Answer::NotJudged(match () {
        () if error.is_timeout() => "its host did not answer in time".to_owned(),
        () if is_tls => "its certificate or encryption is not accepted".to_owned(),
        () if error.is_connect() => "its host cannot be reached".to_owned(),
        () => "the connection broke".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::TcpListener;

    use super::*;

    /// A server on this machine that answers by the path, and what it was asked.
    async fn server() -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    let (read, mut write) = stream.split();
                    let mut lines = BufReader::new(read).lines();
                    let Ok(Some(first)) = lines.next_line().await else { return };
                    while lines.next_line().await.is_ok_and(|line| line.is_some_and(|line| !line.is_empty())) {}
                    let request = first.rsplit_once(' ').unwrap().0.to_owned();
                    log.lock().unwrap().push(request.clone());
                    let (method, path) = request.split_once(' ').unwrap();
                    let head = match (method, path) {
                        (_, "/there") | ("GET", "/only-get") => "200 OK\r\n",
                        ("HEAD", "/only-get") => "404 Not Found\r\n",
                        (_, "/gone") => "410 Gone\r\n",
                        (_, "/moved") => "302 Found\r\nlocation: /there\r\n",
                        (_, "/lost") => "301 Moved Permanently\r\nlocation: /nowhere\r\n",
                        (_, "/round") => "302 Found\r\nlocation: /round\r\n",
                        (_, "/metadata") => "302 Found\r\nlocation: http://169.254.169.254/latest\r\n",
                        (_, "/file") => "302 Found\r\nlocation: file:///etc/passwd\r\n",
                        (_, "/secret") => "403 Forbidden\r\n",
                        (_, "/busy") => "429 Too Many Requests\r\n",
                        (_, "/broken") => "503 Service Unavailable\r\n",
                        (_, "/silent") => return std::future::pending().await,
                        _ => "404 Not Found\r\n",
                    };
                    let answer = format!("HTTP/1.1 {head}content-length: 0\r\nconnection: close\r\n\r\n");
                    _ = write.write_all(answer.as_bytes()).await;
                });
            }
        });
        (address, asked)
    }

    fn settings() -> ExternalSettings {
        let request_time = Duration::from_millis(500);
        ExternalSettings { private: true, pause: Duration::ZERO, request_time, ..ExternalSettings::default() }
    }

    #[tokio::test]
    async fn addresses_are_there_missing_or_not_judged() {
        let (server, asked) = server().await;
        let paths = [
            ("/there#part", Answer::There),
            ("/only-get", Answer::There),
            ("/moved", Answer::There),
            ("/gone", Answer::Missing("its host answers 410".to_owned())),
            ("/lost", Answer::Missing("its host answers 404".to_owned())),
            ("/round", Answer::NotJudged("it redirects too often".to_owned())),
            ("/secret", Answer::NotJudged("its host refuses (403)".to_owned())),
            ("/busy", Answer::NotJudged("its host was asked too often (429)".to_owned())),
            ("/broken", Answer::NotJudged("its host answers 503".to_owned())),
            ("/metadata", Answer::NotJudged("it leads to a private address".to_owned())),
            ("/file", Answer::NotJudged("it leads to a private address".to_owned())),
            ("/silent", Answer::NotJudged("its host did not answer in time".to_owned())),
        ];
        let addresses: Vec<String> = paths.iter().map(|(path, _)| format!("{server}{path}")).collect();
        let answers = judge_external(&addresses, &settings()).await.unwrap();
        for (path, expected) in paths {
            assert_eq!(answers[&format!("{server}{path}")], expected, "{path}");
        }
        let asked = asked.lock().unwrap();
        let of = |path: &str| asked.iter().filter(|it| it.ends_with(path)).map(String::as_str).collect::<Vec<_>>();
        assert_eq!(of("/only-get"), ["HEAD /only-get", "GET /only-get"]);
        assert!(of("/round").len() <= REDIRECTS + 1);
    }

    #[tokio::test]
    async fn private_addresses_are_not_asked() {
        let (server, asked) = server().await;
        let port = server.rsplit(':').next().unwrap();
        let addresses = [format!("{server}/there"), format!("http://localhost:{port}/there"), "mailto:a".to_owned()];
        let answers = judge_external(&addresses, &ExternalSettings { private: false, ..settings() }).await.unwrap();
        assert!(answers.values().all(|answer| matches!(answer, Answer::NotJudged(_))), "{answers:?}");
        assert!(asked.lock().unwrap().is_empty());
    }

    #[test]
    fn names_are_not_missing_where_none_was_found() {
        let of = |why: &str| ("a".to_owned(), Answer::Missing(why.to_owned()));
        let mut answers = HashMap::from([of(NO_HOST)]);
        doubt(&mut answers);
        assert!(matches!(answers["a"], Answer::NotJudged(_)));
        let mut answers = HashMap::from([of("its host answers 404")]);
        doubt(&mut answers);
        assert!(matches!(answers["a"], Answer::Missing(_)));
    }

    #[tokio::test]
    async fn what_there_is_no_time_for_is_not_judged() {
        let (server, _) = server().await;
        let addresses = [format!("{server}/silent")];
        let little = Duration::from_millis(20);
        let little = ExternalSettings { total_time: little, request_time: Duration::from_secs(600), ..settings() };
        let answers = judge_external(&addresses, &little).await.unwrap();
        assert_eq!(answers[&addresses[0]], Answer::NotJudged("there was no time left".to_owned()));
    }
}
