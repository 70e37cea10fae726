//! The program `copydesk`: serves, works on jobs, manages projects and keys, and talks to a server as a client.

mod args;
mod backup;
mod check;
mod classify;
mod client;
mod config;
mod credential;
mod data_folder;
mod demo;
mod doctor;
mod engines;
mod failure;
mod files;
mod health;
mod host_flags;
mod import;
mod job;
mod key;
mod lists;
mod logging;
mod manual;
mod mcp;
mod model;
mod moving;
mod output;
mod owner;
mod project;
mod remote;
mod restore;
mod secrets;
mod serve;
mod sign_in;
mod source;
mod store;
mod telemetry;
mod terminal;
mod user;
mod views;
mod webhook;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use args::{Args, Command};
use config::{Config, Sources, sample};
use failure::Failure;
use remote::Remote;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many jobs work on their repositories at the same moment; the others wait for their turn.
const BLOCKING_THREADS: usize = 64;

/// How long the end of the process waits for threads that nobody needs any more.
const LAST_WAIT: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let args = args::parse();
    terminal::choose(args.color);
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    match run(args, environment) {
        Ok(code) => code,
        Err(failure) => {
            eprint!("{failure}");
            failure.exit_code()
        }
    }
}

fn run(mut args: Args, environment: Vec<(OsString, OsString)>) -> Result<ExitCode, Failure> {
    args.command.fill_in_project(client::project(&environment));
    let working_dir =
        std::env::current_dir().map_err(|error| Failure::error(format!("cannot find the current folder: {error}")))?;
    let load = |flags| {
        let config_file = args.config.clone();
        Config::load(Sources { config_file, working_dir: working_dir.clone(), environment: environment.clone(), flags })
            .map_err(|errors| Failure::usage(errors.to_string()))
    };
    // For commands beside the service; who that runs as, whoever starts it decides.
    let beside = |flags| {
        let config = load(flags)?;
        owner::check(&config)?;
        Ok::<_, Failure>(config)
    };
    // For commands that ask a server, and are not told which.
    let served_here = || Ok(health::here(load(Vec::new())?.listen));
    let base = args.base_flags();
    let runtime = runtime()?;
    // Jobs have always been asked for elsewhere, with flags of their own.
    if let Some(url) = args.url.as_deref().filter(|_| !matches!(args.command, Command::Job(_) | Command::Mcp(_))) {
        let remote = Remote::new(url, &environment)?;
        return match args.command {
            Command::Project(command) => runtime.block_on(remote::run_project(*command, &remote)),
            Command::Key(command) => runtime.block_on(remote::run_key(command, &remote)),
            _ => Err(remote::only_there()),
        };
    }
    let ended = match args.command {
        Command::Serve(flags) => {
            let config = load([base, flags.values()].concat())?;
            owner::check_service(&config)?;
            runtime.block_on(serve::serve(config, &environment))
        }
        Command::Worker(flags) => {
            let config = load([base, flags.values()].concat())?;
            owner::check_service(&config)?;
            runtime.block_on(serve::worker(config, &environment))
        }
        Command::Migrate => runtime.block_on(store::migrate(&beside(base)?)),
        Command::Config { json, sample: true } if !json => {
            output::line(sample().trim_end());
            Ok(ExitCode::SUCCESS)
        }
        Command::Config { json, .. } => output::config(&load(base)?, json),
        Command::Openapi => output::json(&copydesk_server::api::document(&load(base)?.jobs.models)),
        Command::Project(command) => {
            runtime.block_on(project::run(*command, &beside(base)?, &working_dir, &environment))
        }
        Command::Credentials(command) => runtime.block_on(credential::manage(command, &beside(base)?)),
        Command::Key(command) => runtime.block_on(key::run(command, &beside(base)?)),
        Command::User(command) => runtime.block_on(user::run(command, &beside(base)?)),
        Command::Webhook(command) => runtime.block_on(webhook::run(command, &beside(base)?)),
        Command::Model(command) => runtime.block_on(model::run(command, &load(base)?)),
        Command::Job(command) => runtime.block_on(job::run(command, &environment, served_here)),
        Command::Mcp(flags) => runtime.block_on(mcp::run(&flags, &environment, served_here)),
        Command::Views(command) => runtime.block_on(views::run(command, &beside(base)?)),
        Command::Reclassify(flags) => runtime.block_on(views::reclassify(flags, &beside(base)?)),
        Command::Backup(flags) => runtime.block_on(backup::run(flags, || beside(base))),
        Command::Restore { folder, json } => runtime.block_on(restore::restore(folder, json, &beside(base)?)),
        Command::Move(flags) => runtime.block_on(moving::run(flags, &beside(base)?, &environment)),
        Command::Wake { json } => runtime.block_on(restore::wake(json, &beside(base)?)),
        Command::Classify(flags) => classify::run(&flags, &load(base)?),
        Command::Lists(command) => runtime.block_on(lists::run(command, &beside(base)?)),
        Command::Import(flags) => runtime.block_on(import::run(flags, &beside(base)?)),
        Command::Check(flags) => check::run(&flags, &runtime, &environment),
        Command::Demo(options) => runtime.block_on(demo::run(options)),
        Command::Doctor(flags) => runtime.block_on(doctor::run(&flags, &load(base)?, &environment)),
        Command::Health { url: Some(url) } => runtime.block_on(health::ask(&url)),
        Command::Health { url: None } => runtime.block_on(health::ask(&health::address(&load(base)?))),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { folder } => manual::pages(&folder),
    };
    // What is left of jobs that were cancelled or handed back may be busy for long, and nobody waits for it.
    runtime.shutdown_timeout(LAST_WAIT);
    ended
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        // Work on repositories is done on these. Hundreds of them would hold gigabytes and be no faster.
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(|error| Failure::error(format!("cannot start: {error}")))
}
