//! The examples at the end of every help, each a command that works as it stands.

use clap::Command;
use clap::builder::StyledStr;

/// A command, by its words after `copydesk`, and what its help shows.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "copydesk demo",
            "copydesk project create --name \"Acme Docs\" --repository ./acme-docs",
            "copydesk serve",
            "copydesk job create \"Fix the typos in docs/\" --project acme-docs --wait",
        ],
    ),
    ("serve", &["copydesk serve", "copydesk serve --listen 0.0.0.0:8080 --public-url https://copydesk.example.com"]),
    ("worker", &["copydesk worker --workers 4 --admin-listen 127.0.0.1:4401"]),
    (
        "move",
        &[
            "copydesk move --to-database-url postgres://copydesk@db.example.com/copydesk --to-views database",
            "copydesk move --to-database-url-file new-database --to-views embedded",
            "copydesk move --to-views database",
            "copydesk move --cancel",
        ],
    ),
    ("migrate", &["copydesk migrate", "copydesk migrate --data-dir /var/lib/copydesk"]),
    ("config", &["copydesk config", "copydesk config --sample > copydesk.toml"]),
    ("openapi", &["copydesk openapi > openapi.json"]),
    ("project", &["copydesk project list", "copydesk project create --name \"Acme Docs\" --repository ./acme-docs"]),
    (
        "project create",
        &[
            "copydesk project create --name \"Acme Docs\" --repository ./acme-docs",
            "copydesk project create --name \"Acme Docs\" --repository https://github.com/acme/docs --docs-path docs",
        ],
    ),
    ("project list", &["copydesk project list", "copydesk project list --url https://copydesk.example.com --json"]),
    ("project show", &["copydesk project show acme-docs"]),
    (
        "project update",
        &[
            "copydesk project update acme-docs --docs-path docs --docs-path guides",
            "copydesk project update acme-docs --time-limit 45m --on-findings fail",
        ],
    ),
    ("project test", &["copydesk project test acme-docs"]),
    ("project hook", &["copydesk project hook acme-docs", "copydesk project hook acme-docs --rotate"]),
    ("project asks", &["copydesk project asks acme-docs --limit 10"]),
    ("project delete", &["copydesk project delete acme-docs"]),
    (
        "project credential",
        &["copydesk project credential set acme-docs --token-file token", "copydesk project credential show acme-docs"],
    ),
    (
        "project credential set",
        &[
            "copydesk project credential set acme-docs",
            "copydesk project credential set acme-docs --token-env GITHUB_TOKEN",
            "copydesk project credential set acme-docs --github-app 12345 --private-key-file app.pem",
        ],
    ),
    ("project credential show", &["copydesk project credential show acme-docs"]),
    ("project credential remove", &["copydesk project credential remove acme-docs"]),
    (
        "project source",
        &[
            "copydesk project source add acme-docs sdk https://github.com/acme/sdk",
            "copydesk project source list acme-docs",
        ],
    ),
    (
        "project source add",
        &[
            "copydesk project source add acme-docs sdk https://github.com/acme/sdk",
            "copydesk project source add acme-docs api https://gitlab.com/acme/api --ref main --token-file token",
        ],
    ),
    ("project source list", &["copydesk project source list acme-docs"]),
    ("project source remove", &["copydesk project source remove acme-docs sdk"]),
    ("project source test", &["copydesk project source test acme-docs sdk"]),
    ("credentials", &["copydesk credentials rotate"]),
    ("credentials rotate", &["copydesk credentials rotate"]),
    ("key", &["copydesk key create --project acme-docs > copydesk-key", "copydesk key list"]),
    (
        "key create",
        &[
            "copydesk key create --project acme-docs > copydesk-key",
            "copydesk key create --project acme-docs --scope read --expires 90d --name \"Monthly report\"",
            "copydesk key create --all-projects --scope admin",
        ],
    ),
    ("key list", &["copydesk key list", "copydesk key list --project acme-docs --json"]),
    ("key revoke", &["copydesk key revoke KEY_ID"]),
    ("user", &["copydesk user add ada@example.com --admin", "copydesk user list"]),
    ("user list", &["copydesk user list"]),
    ("user add", &["copydesk user add ada@example.com --name Ada --admin"]),
    ("user password", &["copydesk user password ada@example.com"]),
    ("user link", &["copydesk user link", "copydesk user link ada@example.com"]),
    ("user remove", &["copydesk user remove ada@example.com"]),
    (
        "webhook",
        &["copydesk webhook add acme-docs https://example.com/hooks/copydesk", "copydesk webhook list acme-docs"],
    ),
    (
        "webhook add",
        &[
            "copydesk webhook add acme-docs https://example.com/hooks/copydesk",
            "copydesk webhook add acme-docs https://example.com/hooks/copydesk --event job.failed",
        ],
    ),
    ("webhook list", &["copydesk webhook list", "copydesk webhook list acme-docs --json"]),
    ("webhook remove", &["copydesk webhook remove WEBHOOK_ID"]),
    ("webhook pause", &["copydesk webhook pause WEBHOOK_ID"]),
    ("webhook resume", &["copydesk webhook resume WEBHOOK_ID"]),
    ("webhook rotate", &["copydesk webhook rotate WEBHOOK_ID"]),
    ("webhook test", &["copydesk webhook test WEBHOOK_ID"]),
    ("webhook deliveries", &["copydesk webhook deliveries WEBHOOK_ID --failed"]),
    ("webhook redeliver", &["copydesk webhook redeliver DELIVERY_ID"]),
    ("model", &["copydesk model test"]),
    ("model test", &["copydesk model test", "copydesk model test --project acme-docs"]),
    (
        "job",
        &[
            "copydesk job create \"Fix the typos in docs/\" --project acme-docs --wait",
            "copydesk job list --project acme-docs",
        ],
    ),
    (
        "job create",
        &[
            "copydesk job create \"Fix the typos in docs/\" --project acme-docs --wait",
            "copydesk job create - --project acme-docs --draft < prompt.txt",
            "copydesk job create \"Document what is new\" --project acme-docs --changes sdk:v1.4..v1.5",
        ],
    ),
    ("job get", &["copydesk job get JOB_ID --project acme-docs --wait"]),
    ("job list", &["copydesk job list --project acme-docs --status failed"]),
    ("job diff", &["copydesk job diff JOB_ID --project acme-docs"]),
    ("job open", &["copydesk job open JOB_ID --project acme-docs"]),
    ("job message", &["copydesk job message JOB_ID \"Shorten the title\" --project acme-docs --wait"]),
    ("job cancel", &["copydesk job cancel JOB_ID --project acme-docs"]),
    ("job revoke-link", &["copydesk job revoke-link JOB_ID --project acme-docs"]),
    ("job archive", &["copydesk job archive JOB_ID --project acme-docs"]),
    (
        "mcp",
        &["copydesk mcp --project acme-docs", "copydesk mcp --url https://copydesk.example.com --project acme-docs"],
    ),
    ("views", &["copydesk views top acme-docs --from 2026-01-01", "copydesk views status"]),
    ("views top", &["copydesk views top acme-docs --from 2026-01-01 --to 2026-02-01 --limit 10"]),
    ("views agents", &["copydesk views agents acme-docs --path /install"]),
    ("views drain", &["copydesk views drain acme-docs"]),
    ("views status", &["copydesk views status", "copydesk views status acme-docs --json"]),
    ("views verify", &["copydesk views verify"]),
    ("views repair", &["copydesk views repair"]),
    ("views restore", &["copydesk views restore acme-docs"]),
    ("reclassify", &["copydesk reclassify", "copydesk reclassify --project acme-docs --yes"]),
    (
        "backup",
        &[
            "copydesk backup /var/backups/copydesk/monday --verify",
            "copydesk backup /var/backups/copydesk/monday --only-verify",
        ],
    ),
    ("restore", &["copydesk restore /var/backups/copydesk/monday --data-dir /var/lib/copydesk"]),
    ("wake", &["copydesk wake --data-dir /var/lib/copydesk"]),
    (
        "classify",
        &["copydesk classify \"ChatGPT-User/1.0\"", "copydesk classify \"curl/8.5.0\" --path /install.md --json"],
    ),
    ("lists", &["copydesk lists show", "copydesk lists update"]),
    ("lists show", &["copydesk lists show"]),
    ("lists update", &["copydesk lists update", "copydesk lists update --from https://mirror.example.com/lists"]),
    (
        "import",
        &[
            "copydesk import --project acme-docs /var/log/nginx/access.log",
            "copydesk import --project acme-docs --follow --only-host docs.example.com /var/log/nginx/access.log",
        ],
    ),
    (
        "check",
        &[
            "copydesk check",
            "copydesk check --docs-path docs --base origin/main --format github",
            "copydesk check ./acme-docs --external",
        ],
    ),
    ("demo", &["copydesk demo", "copydesk demo --folder my-demo --exit"]),
    ("doctor", &["copydesk doctor", "copydesk doctor --project acme-docs --call-model"]),
    ("health", &["copydesk health", "copydesk health http://127.0.0.1:4400"]),
    (
        "completions",
        &[
            "copydesk completions bash > ~/.local/share/bash-completion/completions/copydesk",
            "copydesk completions fish > ~/.config/fish/completions/copydesk.fish",
        ],
    ),
    ("man", &["copydesk man ~/.local/share/man/man1"]),
];

/// Gives every command the examples that the list has for it.
pub(super) fn add(command: Command) -> Command {
    add_below(command, "")
}

fn add_below(command: Command, words: &str) -> Command {
    let examples = EXAMPLES.iter().find(|(of, _)| *of == words).map(|(_, lines)| shown(lines));
    let command = match examples {
        Some(examples) => command.after_help(examples),
        None => command,
    };
    command.mut_subcommands(|below| {
        let words = format!("{words} {}", below.get_name());
        add_below(below, words.trim_start())
    })
}

fn shown(lines: &[&str]) -> StyledStr {
    let heading = clap::builder::Styles::default().get_header().to_owned();
    let lines = lines.iter().map(|line| format!("\n  {line}")).collect::<String>();
    format!("{heading}Examples:{heading:#}{lines}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a line as a shell reads it, without redirections.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(std::mem::take(&mut word)),
                '>' | '<' if !quoted => break,
                _ => word.push(c),
            }
        }
        assert!(!quoted, "{line}");
        words.push(word);
        words.retain(|word| !word.is_empty());
        words
    }

    fn all(command: &Command, above: &str, found: &mut Vec<(String, String)>) {
        for below in command.get_subcommands() {
            let words = format!("{above} {}", below.get_name()).trim_start().to_owned();
            all(below, &words, found);
        }
        found.push((above.to_owned(), command.get_after_help().map(ToString::to_string).unwrap_or_default()));
    }

    #[test]
    fn every_command_has_examples_and_each_of_them_is_a_command_line() {
        let mut found = Vec::new();
        all(&super::super::command(), "", &mut found);
        assert_eq!(found.len(), EXAMPLES.len(), "an example is of a command that is gone, or there twice");
        for (command, help) in found {
            let lines: Vec<&str> = help.lines().skip(1).map(str::trim).collect();
            assert!(!lines.is_empty(), "`{command}` has no example; see EXAMPLES");
            for line in lines {
                let words = words(line);
                let parsed = super::super::command().try_get_matches_from(&words);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                let starts = words[1..].join(" ").starts_with(&command);
                assert!(words[0] == "copydesk" && starts, "{line} is no example of `{command}`");
                assert!(line.len() <= 110, "too long for a line: {line}");
            }
        }
    }

    #[test]
    fn every_command_that_is_named_beside_alerts_is_one() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/prometheus");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            for line in text.split('`').filter(|part| part.starts_with("copydesk ")) {
                let parsed = super::super::command().try_get_matches_from(words(line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                count += 1;
            }
        }
        assert!(count > 2, "{count}");
    }

    #[test]
    fn what_commands_share_comes_after_their_own_flags() {
        let mut command = super::super::command();
        command.build();
        let help = command.find_subcommand_mut("job").and_then(|it| it.find_subcommand_mut("create"));
        let help = help.unwrap().render_help().to_string();
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text} in {help}"));
        let order =
            ["Arguments:", "Options:", "--wait", "--idempotency-key", "Global options:", "--project", "--config"];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{help}");
        for shared in ["--url", "--json", "--data-dir", "--color", "--help", "--version"] {
            assert!(at(shared) > at("Global options:"), "{shared} in {help}");
        }
        assert!(at("Examples:") > at("--version"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
    }
}
