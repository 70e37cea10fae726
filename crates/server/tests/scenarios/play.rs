//! One scenario.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use copydesk_agent::{KeySource, ModelEditor, ModelSettings, Provider, SecretString};
use copydesk_domain::{ChangeRange, OnFindings, Repository, SystemClock};
use copydesk_testkit::model::scenario::{Entry, Expect, Files, Policy, Scenario};
use copydesk_testkit::model::{ANTHROPIC_MODEL, Api, Item, ModelServer, OPENAI_MODEL};
use copydesk_testkit::{GitEntry, GitRepo, PATIENCE, ProjectClient, TestApp, TestDatabase};
use serde_json::{Value, json};

/// Plays a scenario, and fails where it does not go as it is written.
pub async fn play(scenario: &Scenario, api: Api, server: &ModelServer, database: Arc<TestDatabase>) {
    let repo = GitRepo::with(scenario.before.iter().map(|(path, entry)| (path.clone(), stored(entry))));
    let setup = TestApp::over(database).clock(Arc::new(SystemClock));
    let app = setup.editors(1, vec![Arc::new(editor(scenario, api, server))]).start().await;
    let project = app
        .project_with("Docs", |new| {
            new.repository = Repository::parse(&repo.address(), repo.path()).unwrap();
            new.docs_paths = scenario.project.docs_paths.clone();
            new.on_findings = match scenario.project.on_findings {
                Policy::Draft => OnFindings::Draft,
                Policy::Fail => OnFindings::Fail,
            };
        })
        .await;
    let sources: Vec<GitRepo> = scenario.sources.values().map(|commits| source(commits)).collect();
    for (name, source) in scenario.sources.keys().zip(&sources) {
        app.add_source(&project.id, name, &source.address(), None).await;
    }
    let mut id = String::new();
    let last = scenario.prompts.len() - 1;
    for number in 0..=last {
        let prompt = scenario.prompt(number, "a");
        id = match number {
            0 => create(&project, scenario, &prompt).await,
            _ => send(&project, &id, &prompt).await,
        };
        let expect = if number == last { Some(&scenario.expect) } else { scenario.earlier.get(number) };
        let within = expect.map_or(PATIENCE, Expect::within);
        let job = ended(&project, &id, within).await;
        if let Some(expect) = expect {
            check(scenario, expect, &job, &project, &repo, server).await;
        }
    }
    if !scenario.job.open_pull_request {
        assert_eq!(repo.branches(), ["main"], "nothing is pushed before somebody asks for it");
        if scenario.expect.outcome == "changes_ready" {
            project.client().post(&project.job_path(&id, "/pull-request")).send().await.expect(200);
        }
    }
    check_repository(scenario, &repo);
    app.stop().await;
}

/// A repository with these commits, each with a tag and a message that tells of a pull request.
fn source(commits: &[(String, Files)]) -> GitRepo {
    let entries = |files: &Files| files.iter().map(|(path, entry)| (path.clone(), stored(entry))).collect::<Vec<_>>();
    let repo = GitRepo::with(entries(&commits[0].1));
    repo.git(&["tag", &commits[0].0, "main"]);
    for (number, (tag, files)) in commits.iter().enumerate().skip(1) {
        repo.commit("main", &format!("Release {tag} (#{number})"), entries(files));
        repo.git(&["tag", tag, "main"]);
    }
    repo
}

fn editor(scenario: &Scenario, api: Api, server: &ModelServer) -> ModelEditor {
    let (provider, name, url) = match api {
        Api::OpenAi => (Provider::OpenAi, OPENAI_MODEL, format!("{}/v1", server.url())),
        Api::Anthropic => (Provider::Anthropic, ANTHROPIC_MODEL, format!("{}/v1", server.url())),
        Api::Responses => panic!("no engine speaks it"),
    };
    let usual = ModelSettings::new(provider, name);
    let limits = &scenario.model;
    ModelEditor::new(ModelSettings {
        base_url: Some(url),
        keys: KeySource::one(SecretString::from(limits.api_key.as_str())),
        turns: limits.turns.unwrap_or(usual.turns),
        tokens: limits.tokens.unwrap_or(usual.tokens),
        context_tokens: limits.context_tokens.unwrap_or(usual.context_tokens),
        pause: Duration::from_millis(5),
        ..usual
    })
    .unwrap()
}

fn stored(entry: &Entry) -> GitEntry {
    match entry {
        Entry::File(bytes) => GitEntry::File(bytes.clone()),
        Entry::Symlink(target) => GitEntry::Symlink(target.clone()),
        Entry::Submodule(commit) => GitEntry::Submodule(commit.clone()),
    }
}

async fn create(project: &ProjectClient, scenario: &Scenario, prompt: &str) -> String {
    let mut body = json!({
        "prompt": prompt,
        "openPullRequest": scenario.job.open_pull_request,
        "draft": scenario.job.draft,
    });
    if let Some(range) = &scenario.job.changes {
        let ChangeRange { source, from, to } = ChangeRange::parse(range).unwrap();
        body["changes"] = json!({ "source": source, "from": from, "to": to });
    }
    project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned()
}

async fn send(project: &ProjectClient, id: &str, prompt: &str) -> String {
    project.message(id, prompt).await.expect(200);
    id.to_owned()
}

async fn ended(project: &ProjectClient, id: &str, within: Duration) -> Value {
    let deadline = tokio::time::Instant::now() + within;
    loop {
        let job = project.get(id).await.expect(200).json().clone();
        if job["status"] != "active" {
            return job;
        }
        assert!(tokio::time::Instant::now() < deadline, "the job has not ended after {within:?}: {job}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn check(
    scenario: &Scenario,
    expect: &Expect,
    job: &Value,
    project: &ProjectClient,
    repo: &GitRepo,
    server: &ModelServer,
) {
    let id = job["id"].as_str().unwrap();
    assert_eq!((&job["status"], &job["outcome"]), (&json!(expect.status), &json!(expect.outcome)), "{job}");
    if let Some(title) = &expect.title {
        assert_eq!(job["title"], json!(title), "the title");
    }
    let message = job["message"].as_str().unwrap_or_default();
    holds("the message", message, &expect.message_contains, &expect.message_lacks);
    assert_eq!(job["prLink"].is_string(), expect.has_pull_request(), "the link: {job}");
    check_findings(expect, job);
    for (what, expected, counted) in [
        ("model calls", expect.model_calls, &job["usage"]["modelCalls"]),
        ("input tokens", expect.input_tokens, &job["usage"]["inputTokens"]),
        ("output tokens", expect.output_tokens, &job["usage"]["outputTokens"]),
    ] {
        assert!(expected.is_none_or(|expected| counted == &json!(expected)), "{what}: {counted}, not {expected:?}");
    }
    let conversation = scenario.conversation("a");
    if let Some(requests) = expect.requests {
        // One with a wrong key is turned away before it is known which conversation it belongs to.
        assert_eq!(server.calls_of(&conversation).len(), requests, "requests that the model server received");
    }
    let told: String = server.conversation(&conversation).iter().filter_map(told).collect::<Vec<_>>().join("\n");
    holds("what the model was told", &told, &expect.told, &[]);
    let kinds = project.event_types(id).await;
    for kind in &expect.events {
        assert!(kinds.contains(kind), "there is no event {kind}: {kinds:?}");
    }
    for kind in &expect.no_events {
        assert!(!kinds.contains(kind), "there is an event {kind}: {kinds:?}");
    }
    if expect.has_pull_request() {
        check_pull_request(expect, job, project, repo).await;
    }
}

fn told(item: &Item) -> Option<&str> {
    match item {
        Item::User(text) => Some(text),
        Item::Result { text, .. } => Some(text),
        _ => None,
    }
}

fn check_findings(expect: &Expect, job: &Value) {
    let mut found = BTreeMap::new();
    for check in job["checks"].as_array().unwrap() {
        let count = check["newFindings"].as_u64().unwrap() as usize;
        if count > 0 {
            found.insert(check["check"].as_str().unwrap().to_owned(), count);
        }
    }
    assert_eq!(found, expect.findings, "new findings: {}", job["checks"]);
}

async fn check_pull_request(expect: &Expect, job: &Value, project: &ProjectClient, repo: &GitRepo) {
    let path = job["prLink"].as_str().unwrap().strip_prefix(project.client().base()).unwrap();
    let page = project.client().without_key().get(path).send().await.expect(200).text();
    let page = page.replace("&quot;", "\"").replace("&#39;", "'").replace("&lt;", "<").replace("&gt;", ">");
    let page = page.replace("&amp;", "&");
    let body = page.split("<h2>Merge</h2>").next().unwrap();
    holds("the pull request", body, &expect.body_contains, &expect.body_lacks);
    let state = if expect.draft { "draft" } else { "open" };
    assert!(body.contains(&format!("\">{state}</span></div>")), "it is not {state}: {body}");
    if let Some(commits) = expect.commits {
        let branch = job["branch"].as_str().unwrap();
        assert_eq!(repo.commits(branch, "main").len(), commits, "commits");
    }
}

fn holds(what: &str, text: &str, contains: &[String], lacks: &[String]) {
    for part in contains {
        assert!(text.contains(part), "{what} does not hold {part:?}: {text}");
    }
    for part in lacks {
        assert!(!text.contains(part), "{what} holds {part:?}: {text}");
    }
}

/// What is on the one branch, or that there is none.
fn check_repository(scenario: &Scenario, repo: &GitRepo) {
    repo.git(&["fsck", "--strict"]);
    let branches: Vec<String> = repo.branches().into_iter().filter(|branch| branch != "main").collect();
    let Some(after) = &scenario.after else {
        assert!(branches.is_empty(), "there must be no branch: {branches:?}");
        return;
    };
    let [branch] = branches.as_slice() else { panic!("there must be one branch: {branches:?}") };
    assert!(branch.starts_with("copydesk/"), "{branch}");
    compare(&repo.files(branch), after);
    compare(&repo.files("main"), &scenario.before);
}

fn compare(found: &BTreeMap<String, GitEntry>, expected: &Files) {
    let expected: BTreeMap<String, GitEntry> =
        expected.iter().map(|(path, entry)| (path.clone(), stored(entry))).collect();
    let paths = |files: &BTreeMap<String, GitEntry>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(found), paths(&expected), "the files of the branch");
    for (path, entry) in found {
        if Some(entry) != expected.get(path) {
            panic!("{path} is\n{}\nnot\n{}", shown(entry), shown(&expected[path]));
        }
    }
}

fn shown(entry: &GitEntry) -> String {
    match entry {
        GitEntry::File(bytes) | GitEntry::Executable(bytes) => {
            String::from_utf8_lossy(bytes).chars().take(3000).collect()
        }
        other => format!("{other:?}"),
    }
}
