//! What a package brings beside the program: completions and manual pages, made from the flags themselves.

use std::path::Path;
use std::process::ExitCode;

use clap_complete::Shell;

use crate::args;
use crate::failure::Failure;
use crate::output;

pub(crate) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "copydesk", &mut script);
    output::raw(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn pages(folder: &Path) -> Result<ExitCode, Failure> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(args::command(), folder))
        .map_err(|error| Failure::error(format!("cannot write into {}: {error}", folder.display())))?;
    Ok(ExitCode::SUCCESS)
}
