//! `copydesk model`

use std::process::ExitCode;

use copydesk_agent::ModelTrial;
use copydesk_desk::projects::{Trial, TrialView, works};
use copydesk_domain::ProjectId;
use serde_json::json;

use crate::args::ModelCommand;
use crate::config::Config;
use crate::failure::Failure;
use crate::{engines, host_flags, output};

pub(crate) async fn run(command: ModelCommand, config: &Config) -> Result<ExitCode, Failure> {
    let ModelCommand::Test { project: id, json } = command;
    let Some(model) = engines::model(config)? else {
        return Err(Failure::usage("no model is configured".to_owned())
            .hint("set `model.provider` and `model.name`; `copydesk config --sample` shows how"));
    };
    // An id names the file of a project's key, so it must be one.
    let id = id.map(|id| ProjectId::parse(&id)).transpose().map_err(|invalid| Failure::usage(invalid.to_string()))?;
    let asked = model.try_out(&id.unwrap_or_else(|| ProjectId::from(""))).await;
    let trials: Vec<Trial> = asked.into_iter().map(Trial::from).collect();
    let (works, trials) = (works(&trials), trials.iter().map(TrialView::from).collect::<Vec<_>>());
    if json {
        output::json(&json!({ "model": model.name(), "works": works, "trials": trials }))?;
    } else {
        trials.iter().for_each(|trial| output::line(&host_flags::trial_line(trial)));
        output::line(if works { "Jobs can use this model." } else { "Jobs cannot use this model; see above." });
    }
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
