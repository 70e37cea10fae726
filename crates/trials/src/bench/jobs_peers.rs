//! Other agents that make the same edit and commit it, in a work tree, against the same scripted model.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use copydesk_testkit::GitRepo;
use copydesk_testkit::model::{KEY, ModelServer, OPENAI_MODEL, Reply, Request};
use serde_json::json;
use tempfile::TempDir;

use super::jobs_git::git;
use super::jobs_sample::Change;
use crate::args::absolute;
use crate::figures::{Latencies, millis};
use crate::process::megabytes;

// Where the other agents are.
#[derive(Debug, Clone, clap::Args)]
pub struct Peers {
    /// The program `codex`; without it and the next two, other agents are left out.
    #[arg(long, required = false, requires_all = ["aider", "home"], value_parser = absolute)]
    pub codex: PathBuf,
    /// The program `aider`.
    #[arg(long, required = false, requires = "codex", value_parser = absolute)]
    pub aider: PathBuf,
    /// The folder that is home to both; not in the folder for temporary files, which codex does not take.
    #[arg(long, required = false, requires = "codex", value_parser = absolute)]
    pub home: PathBuf,
}

/// The other agents, ready to be asked.
pub(super) struct Rivals {
    pub(super) codex: Rival,
    pub(super) aider: Rival,
    _model: ModelServer,
}

/// An agent, its work tree, and what was measured.
pub(super) struct Rival {
    name: &'static str,
    command: fn(&Rival, &Change) -> Command,
    program: PathBuf,
    home: PathBuf,
    model: String,
    tree: TempDir,
    pub(super) times: Latencies,
    memory: Vec<u64>,
}

impl Rivals {
    pub(super) async fn new(peers: &Peers, repository: &GitRepo, pages: usize) -> Self {
        let model = ModelServer::builder().program(move |request| reply(request, pages)).start().await;
        let rival = |name, command, program: &Path| Rival {
            name,
            command,
            program: program.to_owned(),
            home: peers.home.join(name),
            model: format!("{}/v1", model.url()),
            tree: work_tree(repository),
            times: Latencies::default(),
            memory: Vec::new(),
        };
        let codex = rival("codex", codex, &peers.codex);
        let aider = rival("aider", aider, &peers.aider);
        codex.write("config.toml", &codex_config(&codex.model));
        let known = json!({format!("openai/{OPENAI_MODEL}"): {"litellm_provider": "openai", "mode": "chat",
            "max_tokens": 8192, "max_input_tokens": 128_000, "max_output_tokens": 8192}});
        aider.write("models.json", &known.to_string());
        Self { codex, aider, _model: model }
    }
}

impl Rival {
    /// Asks for a change; fails unless it is committed then.
    pub(super) fn run(&mut self, change: &Change) {
        let report = self.home.join("memory");
        let command = (self.command)(self, change);
        // GNU time tells the peak memory of the program and of those that it started.
        let mut timed = Command::new("/usr/bin/time");
        timed.args(["-f", "%M", "-o"]).arg(&report).arg(command.get_program()).args(command.get_args());
        timed.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        timed.env("HOME", &self.home).current_dir(self.tree.path()).stdin(Stdio::null());
        let started = Instant::now();
        let output = timed.output().unwrap();
        let took = started.elapsed();
        let page = git(self.tree.path(), &["cat-file", "blob", &format!("HEAD:{}", change.path)], None);
        let said = || format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && page.contains(&change.new), "{}: {}", self.name, said());
        self.times.add(took);
        self.memory.push(std::fs::read_to_string(&report).unwrap().trim().parse::<u64>().unwrap() * 1024);
    }

    /// The same, and it does not count.
    pub(super) fn warm_up(&mut self, change: &Change) {
        self.run(change);
        (self.times, self.memory) = Default::default();
    }

    /// Prints what was measured, and gives the median time.
    pub(super) fn report(&self) -> Duration {
        let median = self.times.within(0.5);
        println!(
            "jobs, {}, {} runs, edit and commit alone: median {}, worst {}; peak memory {}",
            self.name,
            self.times.count(),
            millis(median),
            millis(self.times.within(1.0)),
            megabytes(self.memory.iter().copied().max().unwrap_or_default()),
        );
        median
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(&self.home).unwrap();
        std::fs::write(self.home.join(name), text).unwrap();
    }
}

fn work_tree(repository: &GitRepo) -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    git(tree.path(), &["clone", "-q", &repository.address(), "."], None);
    git(tree.path(), &["config", "user.name", "Acme"], None);
    git(tree.path(), &["config", "user.email", "docs@acme.example"], None);
    tree
}

/// No approvals, no sandbox, nothing that is sent anywhere but to the model.
fn codex_config(model: &str) -> String {
    format!(
        "model = \"{OPENAI_MODEL}\"\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{model}\"\nwire_api = \"responses\"\n\
         env_key = \"SCRIPTED_KEY\"\nsupports_websockets = false\n\
         [analytics]\nenabled = false\n[feedback]\nenabled = false\n[history]\npersistence = \"none\"\n"
    )
}

fn codex(rival: &Rival, change: &Change) -> Command {
    let mut command = Command::new(&rival.program);
    command.args(["exec", &change.prompt()]).env("CODEX_HOME", &rival.home).env("SCRIPTED_KEY", KEY);
    command
}

fn aider(rival: &Rival, change: &Change) -> Command {
    let mut command = Command::new(&rival.program);
    command.args(["--model", &format!("openai/{OPENAI_MODEL}"), "--edit-format", "diff", "--yes-always"]);
    command.args(["--analytics-disable", "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings"]);
    command.args(["--no-gitignore", "--no-pretty", "--no-detect-urls", "--model-metadata-file"]);
    command.arg(rival.home.join("models.json")).args(["--message", &change.prompt(), &change.path]);
    command.env("OPENAI_API_BASE", &rival.model).env("OPENAI_API_KEY", KEY);
    command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    command
}

/// What the model says to them: one command for codex, one edit and a commit message for aider.
fn reply(request: &Request, pages: usize) -> Reply {
    if request.system.contains("commit message") {
        return Reply::text("docs: revise the release");
    }
    let asked = request.user_texts().filter_map(|text| Change::of_prompt(text, pages)).last();
    let Some(change) = asked else { return Reply::text("Which change?") };
    let Change { path, old, new, .. } = &change;
    if request.has_called("exec_command") {
        return Reply::text("The release is revised.");
    }
    if request.tools.iter().any(|tool| tool == "exec_command") {
        let command = format!("sed -i 's/{old}/{new}/' {path} && git commit -qam 'Revise the release'");
        return Reply::of_call("exec_command", json!({"cmd": command}));
    }
    Reply::text(format!("{path}\n```\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n"))
}
