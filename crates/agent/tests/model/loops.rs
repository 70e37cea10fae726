use copydesk_agent::{ModelEditor, Provider};
use copydesk_domain::{Budgets, Dollars};
use serde_json::json;

use crate::desk::{Pages, edit, editor, fatal, round_of_at_most, round_within, settings, text};
use crate::stub::{self, Reply, Stub, finish, openai, openai_stream};

#[tokio::test]
async fn a_model_that_never_stops_is_stopped() {
    let stub =
        Stub::new((0..99).map(|at| openai("", &[("c", "read_file", json!({"path": format!("docs/{at}.md")}))]))).await;
    let mut settings = settings(&stub, Provider::OpenAi);
    settings.turns = 7;
    let pages = Pages::with_prompt("Go.");
    let sentence = fatal(edit(&ModelEditor::new(settings).unwrap(), &pages).await);
    assert_eq!((sentence.as_str(), stub.asked().len()), ("The model did not come to an end within 7 answers.", 7));
    assert!(stub.asked()[4].body.to_string().contains("You have 3 answers left"));
}

#[tokio::test]
async fn tokens_and_cost_are_limited() {
    let script = || (0..99).map(|at| openai("", &[("c", "read_file", json!({"path": format!("docs/{at}.md")}))]));
    let stub = Stub::new(script()).await;
    let mut limited = settings(&stub, Provider::OpenAi);
    limited.tokens = 300;
    let sentence = fatal(edit(&ModelEditor::new(limited).unwrap(), &Pages::with_prompt("Go.")).await);
    assert_eq!(
        (sentence.as_str(), stub.asked().len()),
        ("The job has used 330 tokens for this prompt; 300 are allowed.", 3)
    );
    let stub = Stub::new(script()).await;
    let mut limited = settings(&stub, Provider::OpenAi);
    (limited.input_price, limited.output_price) = (Some(3_000.0), Some(10_000.0));
    limited.cost = Some(Dollars::rounded(1.0));
    let sentence = fatal(edit(&ModelEditor::new(limited).unwrap(), &Pages::with_prompt("Go.")).await);
    assert_eq!(
        (sentence.as_str(), stub.asked().len()),
        ("The job has cost 1.20 US dollars for this prompt; 1.00 are allowed on this server (`limits.job_cost`).", 3)
    );
}

#[tokio::test]
async fn the_smallest_budget_holds_and_is_named() {
    let script = || (0..99).map(|at| openai("", &[("c", "read_file", json!({"path": format!("docs/{at}.md")}))]));
    let dollars = |amount| Some(Dollars::rounded(amount));
    // Each answer costs 0.40.
    for (server, project, job, answers, whose) in [
        (None, dollars(1.0), None, 3, "1.00 are allowed by the settings of the project."),
        (dollars(1.0), dollars(0.5), dollars(0.75), 2, "0.50 are allowed by the settings of the project."),
        (dollars(1.0), dollars(0.5), dollars(0.25), 1, "0.25 are allowed by the job's own `maxCost`."),
        (dollars(0.25), dollars(0.5), dollars(9.0), 1, "0.25 are allowed on this server (`limits.job_cost`)."),
    ] {
        let stub = Stub::new(script()).await;
        let mut settings = settings(&stub, Provider::OpenAi);
        (settings.cost, settings.input_price, settings.output_price) = (server, Some(3_000.0), Some(10_000.0));
        let budgets = Budgets { server: None, project, job };
        let pages = Pages::with_prompt("Go.");
        let sentence = fatal(round_within(budgets, &ModelEditor::new(settings).unwrap(), &pages).await);
        assert!(sentence.ends_with(whose), "{sentence}");
        assert_eq!(stub.asked().len(), answers, "{sentence}");
    }
}

#[tokio::test]
async fn a_job_with_a_budget_asks_no_model_of_unknown_price() {
    let stub = Stub::new([openai("", &[finish("")])]).await;
    let budgets = Budgets { job: Some(Dollars::rounded(5.0)), ..Budgets::default() };
    let pages = Pages::with_prompt("Go.");
    let sentence = fatal(round_within(budgets, &editor(&stub, Provider::OpenAi), &pages).await);
    assert!(sentence.contains("does not know the price") && sentence.contains("`model.input_price`"), "{sentence}");
    assert_eq!(stub.asked().len(), 0);
    // That of a project is said not to hold where it is set.
    let budgets = Budgets { project: Some(Dollars::rounded(0.1)), ..Budgets::default() };
    round_within(budgets, &editor(&stub, Provider::OpenAi), &pages).await.unwrap();
}

#[tokio::test]
async fn nonsense_is_corrected_and_then_ended() {
    let stub = Stub::new([
        openai("", &[("", "no_such_tool", json!({}))]),
        openai("", &[("c1", "edit_file", json!("{\"path\": \"docs/a.md\", \"old_te"))]),
        openai("", &[("c1", "read_file", json!({"path": "docs/a.md"}))]),
        Reply::Stream(openai_stream("", &[], "stop")),
        Reply::Stream(openai_stream("I was about to", &[], "length")),
        openai("", &[("c1", "read_file", json!({"file": 3}))]),
    ])
    .await;
    let sentence = fatal(edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await);
    assert!(sentence.contains("called them wrongly"), "{sentence}");
    let asked = stub.asked();
    let result = |at: usize, of: usize| asked[at].body["messages"][of]["content"].as_str().unwrap().to_owned();
    assert!(result(1, 3).contains("there is no tool `no_such_tool`. The tools are: list_files"), "{}", result(1, 3));
    assert!(result(2, 5).contains("not a JSON object"), "{}", result(2, 5));
    assert_eq!(asked[2].body["messages"][4]["tool_calls"][0]["function"]["arguments"], "{}");
    assert!(result(4, 8).contains("Your answer was empty"), "{}", result(4, 8));
    assert!(result(5, 10).contains("cut off"), "{}", result(5, 10));
}

#[tokio::test]
async fn refusals_end_with_what_the_model_says() {
    let refused = "data: {\"choices\":[{\"delta\":{\"refusal\":\"I cannot do that.\"}}]}\n\n\
                   data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let stub = Stub::new((0..3).map(|_| Reply::Stream(refused.to_owned()))).await;
    let sentence = fatal(edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await);
    assert_eq!(sentence, "The model refused the request: I cannot do that.");
}

#[tokio::test]
async fn the_same_call_again_and_again_is_ended() {
    let stub = Stub::new((0..9).map(|_| openai("", &[("c", "read_file", json!({"path": "docs/a.md"}))]))).await;
    let sentence = fatal(edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await);
    assert_eq!(sentence, "The model was going in circles: it called `read_file` again and again.");
    let asked = stub.asked();
    assert_eq!(asked.len(), 5);
    let said = |at: usize| asked[at].body.to_string().contains("this same call three times");
    assert!(!said(2) && said(3));
}

#[tokio::test]
async fn text_alone_ends_the_work_after_a_nudge() {
    let stub = Stub::new([
        openai("", &[stub::edit("c1", "Old text.", "New text.")]),
        openai("I changed A.", &[]),
        openai("Renewed the text of A.\n\nThat is all.", &[]),
    ])
    .await;
    let edited = edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await.unwrap();
    assert_eq!(edited.title, "Renewed the text of A.");
    assert_eq!(text(&edited, "docs/a.md"), "# A\n\nNew text.\n");
    assert!(stub.asked()[2].body.to_string().contains("You called no tool"));
}

#[tokio::test]
async fn what_may_not_be_touched_is_refused_in_words() {
    let write = |path: &str| ("c", "write_file", json!({"path": path, "text": "x"}));
    let paths = ["../x", ".git/config", ".github/workflows/ci.yml", "docs/link.md", "docs/logo.png", "/etc/passwd"];
    let calls: Vec<_> = paths.iter().map(|path| write(path)).collect();
    let stub = Stub::new([openai("", &calls), openai("", &[finish("")])]).await;
    let edited = edit(&editor(&stub, Provider::OpenAi), &Pages::with_prompt("Go.")).await.unwrap();
    assert!(edited.workspace.is_unchanged() && edited.title.is_empty());
    let messages = stub.asked()[1].body["messages"].clone();
    let results: Vec<String> = (3..9).map(|at| messages[at]["content"].as_str().unwrap().to_owned()).collect();
    let words =
        ["leaves the repository", "git's own", "not documentation", "symbolic link", "not a text file", "not relative"];
    for (result, word) in results.iter().zip(words) {
        assert!(result.starts_with("Error: ") && result.contains(word), "{result} {word}");
    }
}

#[tokio::test]
async fn what_the_change_breaks_is_repaired_once() {
    let broken = || openai("", &[stub::edit("c1", "Old text.", "See [it](gone.md).")]);
    let stub = Stub::new([
        broken(),
        openai("", &[finish("First")]),
        openai("", &[stub::edit("c3", "See [it](gone.md).", "New text.")]),
        openai("", &[finish("Second")]),
    ])
    .await;
    let pages = Pages::with_prompt("Go.");
    let edited = edit(&editor(&stub, Provider::OpenAi), &pages).await.unwrap();
    assert_eq!((edited.title.as_str(), text(&edited, "docs/a.md").as_str()), ("Second", "# A\n\nNew text.\n"));
    assert!(stub.asked()[2].body["messages"][5]["content"].as_str().unwrap().contains("gone.md"));
    assert!(pages.kinds().contains(&"repairing".to_owned()));
    // One that stays broken is finished as it is, after at most eight more answers.
    let look = |at: usize| openai("", &[("c", "read_file", json!({"path": format!("docs/{at}.md")}))]);
    let script = [broken(), openai("", &[finish("First")])].into_iter().chain((0..20).map(look));
    let stub = Stub::new(script).await;
    let edited = edit(&editor(&stub, Provider::OpenAi), &pages_anew()).await.unwrap();
    assert_eq!((edited.title.as_str(), stub.asked().len()), ("First", 10));
}

#[tokio::test]
async fn the_docs_checks_find_a_link_that_leads_nowhere_any_more() {
    let rename = |from: &str, to: &str| ("m", "move_file", json!({"from": from, "to": to}));
    let stub = Stub::new([
        openai("", &[rename("docs/a.md", "docs/c.md"), ("k", "check_docs", json!({}))]),
        openai("", &[finish("Move A")]),
        openai("", &[("e", "edit_file", json!({"path": "docs/b.md", "old_text": "(a.md)", "new_text": "(c.md)"}))]),
        openai("", &[finish("Move A")]),
    ])
    .await;
    let pages = Pages::with_prompt("Go.");
    let edited = edit(&editor(&stub, Provider::OpenAi), &pages).await.unwrap();
    assert_eq!(text(&edited, "docs/b.md"), "# B\n\nSee [A](c.md).\n");
    let messages = stub.asked()[2].body["messages"].clone();
    for at in [4, 6] {
        assert!(messages[at]["content"].as_str().unwrap().contains("docs/b.md:3:"), "{}", messages[at]["content"]);
    }
    assert_eq!(stub.left(), 0);
}

#[tokio::test]
async fn the_limit_of_files_is_that_of_the_assignment() {
    let write = |id: &'static str| (id, "write_file", json!({"path": format!("docs/new-{id}.md"), "text": "# N\n"}));
    let stub = Stub::new([openai("", &[write("a"), write("b")]), openai("", &[finish("New pages")])]).await;
    let editor = editor(&stub, Provider::OpenAi);
    let edited = round_of_at_most(1, &editor, &Pages::with_prompt("Go."), 1, 1).await.unwrap();
    assert_eq!(edited.workspace.changed_paths().collect::<Vec<_>>(), ["docs/new-a.md"]);
    let refused = stub.asked()[1].body["messages"][4]["content"].as_str().unwrap().to_owned();
    assert!(refused.contains("at most 1 may be changed"), "{refused}");
    // More than the docs checks would allow by themselves.
    let write = |at: usize| ("w", "write_file", json!({"path": format!("docs/new-{at:03}.md"), "text": "# N\n"}));
    let answer = |from: usize| openai("", &(from..from + 30).map(write).collect::<Vec<_>>());
    let check = openai("", &[("k", "check_docs", json!({}))]);
    let stub = Stub::new((0..4).map(|at| answer(30 * at)).chain([check, openai("", &[finish("New pages")])])).await;
    let editor = self::editor(&stub, Provider::OpenAi);
    let edited = round_of_at_most(120, &editor, &Pages::with_prompt("Go."), 1, 1).await.unwrap();
    assert_eq!((edited.workspace.changed_paths().count(), stub.asked().len()), (120, 6));
    let messages = stub.asked()[5].body["messages"].as_array().unwrap().clone();
    assert_eq!(messages.last().unwrap()["content"], "No new problems.");
}

fn pages_anew() -> Pages {
    Pages::with_prompt("Go.")
}
