//! A small documentation site to show a job on, with things in it that want doing.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

const FILES: [(&str, &str); 6] = [
    ("README.md", "# Acme documentation\n\nThe sources of the Acme documentation. The pages are in `docs/`.\n"),
    (
        "docs/docs.json",
        concat!(
            "{\n",
            "  \"name\": \"Acme\",\n",
            "  \"navigation\": {\n",
            "    \"groups\": [\n",
            "      { \"group\": \"Start\", \"pages\": [\"index\", \"quickstart\"] },\n",
            "      { \"group\": \"Guides\", \"pages\": [\"guides/webhooks\", \"guides/limits\"] }\n",
            "    ]\n",
            "  }\n",
            "}\n",
        ),
    ),
    (
        "docs/index.mdx",
        concat!(
            "---\ntitle: Welcome\ndescription: What Acme Cloud is and where to begin.\n---\n\n",
            "Acme Cloud runs your programs close to your users. Begin with the [quickstart](/quickstart), or read\n",
            "about [webhooks](/guides/webhooks).\n\n",
            "<Card title=\"Limits\" href=\"/guides/limits\">\n",
            "  What Acme Cloud allows, and what happens when you recieve an error.\n",
            "</Card>\n",
        ),
    ),
    (
        "docs/quickstart.mdx",
        concat!(
            "---\ntitle: Quickstart\ndescription: Your first program in five minutes.\n---\n\n",
            "## Install the command line\n\n",
            "Install it on your machine; no account is neccessary to try it.\n\n",
            "```sh\nacme-cloud login\nacme-cloud deploy\n```\n\n",
            "## Look at the result\n\n",
            "Acme Cloud prints the address of your program.\n",
        ),
    ),
    (
        "docs/guides/webhooks.mdx",
        concat!(
            "---\ntitle: Webhooks\ndescription: Be told when something happens.\n---\n\n",
            "Acme Cloud calls an address of yours when something happens. The body is JSON, and the signature is in\n",
            "the header `Acme-Cloud-Signature`.\n\n",
            "## Retries\n\nAn address that does not answer is tried again for a day.\n",
        ),
    ),
    (
        "docs/guides/limits.mdx",
        concat!(
            "---\ntitle: Limits\ndescription: How much of everything there is.\n---\n\n",
            "| What | Limit |\n|---|---|\n| Programs | 20 |\n| Requests a second | 500 |\n\n",
            "More is possible; see [webhooks](/guides/webhooks#retries) for how to be told before you reach a limit.\n",
        ),
    ),
];

/// Makes a git repository with the site in it.
pub(super) fn write(folder: &Path) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::error(format!("cannot write the sample repository: {error}"));
    for (path, text) in FILES {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(cannot)?;
        }
        std::fs::write(path, text).map_err(cannot)?;
    }
    git(folder, &["init", "-q", "-b", "main"])?;
    git(folder, &["add", "-A"])?;
    git(folder, &["commit", "-q", "-m", "Write the documentation"])
}

/// Runs git on the sample, whatever the user's own configuration says.
fn git(folder: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]).args(arguments);
    for name in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{name}_NAME"), "Acme").env(format!("GIT_{name}_EMAIL"), "docs@acme.example");
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null());
    let output = command.output().map_err(|error| {
        Failure::error(format!("cannot run git: {error}")).hint("Copydesk needs git; install it and try again")
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(Failure::error(format!("git failed: {}", String::from_utf8_lossy(&output.stderr).trim())))
}
