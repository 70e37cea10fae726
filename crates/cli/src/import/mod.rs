//! `copydesk import`: reads logs of web servers into the page views.

mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::SystemClock;
use copydesk_views::classify::Classifier;
use copydesk_views::logs::{self, Cancel, Follow, Format, Options, Report, Source};
use copydesk_views::store::ViewStore;

use crate::args::{ImportFlags, needed};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, printable};
use crate::serve::stop_signal;
use crate::store;
use crate::views::{lists, open_views};

/// How often a file that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(crate) async fn run(flags: ImportFlags, config: &Config) -> Result<ExitCode, Failure> {
    let project = needed(flags.project.clone())?;
    let options = options(&flags, &project)?;
    check_files(&flags)?;
    store::project(&store::open_ready(config).await?, &project).await?;
    let (views, lists) = (open_views(config).await?, lists(config)?);
    let report = if flags.follow {
        follow(&*views, &lists, &flags, &options).await
    } else {
        import(&*views, &lists, &flags, &options).await
    };
    views.close().await;
    if flags.json {
        output::json(&serde_json::to_value(&report).unwrap_or_default())?;
    } else {
        show::report(&report, flags.dry_run);
    }
    Ok(if report.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn options(flags: &ImportFlags, project: &str) -> Result<Options, Failure> {
    let told = |error| {
        let names: Vec<&str> = Format::names().collect();
        Failure::usage(format!("--format: {error}"))
            .hint(format!("name one of {}, or give a format string as nginx or Apache has it", names.join(", ")))
    };
    let format = flags.format.as_deref().map(str::parse).transpose().map_err(told)?;
    Ok(Options {
        format,
        hosts: flags.only_host.clone(),
        dry_run: flags.dry_run,
        complete: flags.complete,
        ..Options::new(project, Arc::new(SystemClock))
    })
}

fn check_files(flags: &ImportFlags) -> Result<(), Failure> {
    let streams = flags.files.iter().filter(|path| is_stdin(path)).count();
    if streams > 1 {
        return Err(Failure::usage("standard input can be read only once"));
    }
    if flags.follow && (streams > 0 || flags.files.len() > 1) {
        return Err(Failure::usage("--follow follows one file").hint("run one `copydesk import --follow` for each"));
    }
    Ok(())
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

async fn import(views: &dyn ViewStore, lists: &Arc<Classifier>, flags: &ImportFlags, options: &Options) -> Report {
    let source = |path: &PathBuf| if is_stdin(path) { Source::Stdin } else { Source::File(path.clone()) };
    let sources = flags.files.iter().map(source).collect();
    let cancel = Cancel::default();
    let stop = tokio::spawn({
        let cancel = cancel.clone();
        async move {
            stop_signal().await;
            cancel.cancel();
        }
    });
    let mut progress = show::Bar::new();
    let report = logs::import(views, lists, sources, options, &mut |at| progress.tell(at), &cancel).await;
    progress.end();
    stop.abort();
    report
}

async fn follow(views: &dyn ViewStore, lists: &Arc<Classifier>, flags: &ImportFlags, options: &Options) -> Report {
    let path = flags.files.first().cloned().unwrap_or_default();
    eprintln!("Following {}. Press Ctrl-C to stop.", printable(&path.display().to_string()));
    let mut stopped = std::pin::pin!(stop_signal());
    let tick = async || {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => true,
            () = &mut stopped => false,
        }
    };
    let mut last_trouble: Option<String> = None;
    let mut told = |polled: Result<&logs::Polled, &logs::FollowError>| {
        for note in polled.iter().flat_map(|polled| &polled.notes) {
            eprintln!("copydesk: {}", printable(note));
        }
        let trouble = polled.err().map(ToString::to_string);
        // The same trouble four times a second would be told once.
        if let Some(trouble) = &trouble
            && last_trouble.as_ref() != Some(trouble)
        {
            eprintln!("copydesk: {}", printable(trouble));
        }
        last_trouble = trouble;
    };
    let file = Follow::new(views, lists, path, options).run(tick, &mut told).await;
    Report { total: file.tally.clone(), files: vec![file] }
}
