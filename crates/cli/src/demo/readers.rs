//! Readers of the documentation: people, AI agents and a crawler, as a web server would tell of them.

use serde_json::{Value, json};

use crate::client::Client;
use crate::failure::Failure;
use crate::output::{line, printable};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const SAFARI: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15";
const CHATGPT: &str =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot";
const GPTBOT: &str =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot";

/// What was read, by whom.
const READ: [(&str, &str); 7] = [
    ("/guides/webhooks", FIREFOX),
    ("/guides/webhooks/", SAFARI),
    ("/guides/webhooks?utm_source=mail", FIREFOX),
    ("/guides/webhooks.md", CHATGPT),
    ("/", SAFARI),
    ("/", GPTBOT),
    ("/logo.svg", FIREFOX),
];

pub(super) async fn send(client: &Client, project: &str) -> Result<(), Failure> {
    let event = |(number, (path, user_agent)): (usize, &(&str, &str))| json!({ "id": format!("demo-{number}"), "path": path, "userAgent": user_agent });
    let events: Vec<Value> = READ.iter().enumerate().map(event).collect();
    line(&format!("   POST /v1/analytics/{project}/events"));
    let answer = client.send_events(&Value::from(events)).await?;
    line(&format!("   {}", printable(&answer.to_string())));
    line(&format!("   GET /v1/analytics/{project}/views"));
    Ok(())
}

pub(super) async fn show(client: &Client) -> Result<(), Failure> {
    let views = client.views().await?;
    let row = |path: &str, of: &Value| {
        let [total, human, ai] = ["total", "human", "ai"].map(|name| of[name].to_string());
        line(&format!("   {total:>6} {human:>6} {ai:>6}  {path}"));
    };
    line(&format!("   {:>6} {:>6} {:>6}", "total", "human", "ai"));
    row("(all pages)", &views["totals"]);
    for page in views["views"].as_array().into_iter().flatten() {
        row(&printable(page["path"].as_str().unwrap_or_default()), page);
    }
    Ok(())
}
