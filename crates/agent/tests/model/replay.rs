use copydesk_agent::{EditFailure, Provider};
use serde_json::{Value, json};

use crate::desk::{Pages, edit, editor, round, text};
use crate::stub::{self, Reply, Stub, anthropic, finish, openai};

fn script() -> Vec<Reply> {
    vec![
        openai(
            "I look.",
            &[("c1", "read_file", json!({"path": "docs/a.md"})), ("c2", "search", json!({"pattern": "A"}))],
        ),
        openai(
            "",
            &[("c1", "write_file", json!({"path": "docs/c.md", "text": "# C\n"})), stub::edit("c4", "Old", "New")],
        ),
        openai("", &[("c5", "no_such_tool", json!({}))]),
        openai("I am done.", &[]),
        openai("", &[("c6", "move_file", json!({"from": "docs/b.md", "to": "docs/d.md"})), finish("T")]),
    ]
}

#[tokio::test]
async fn a_round_that_is_cut_off_anywhere_ends_the_same_and_pays_nothing_twice() {
    let whole = Stub::new(script()).await;
    let pages = Pages::with_prompt("Go.");
    let edited = edit(&editor(&whole, Provider::OpenAi), &pages).await.unwrap();
    let changes = edited.workspace.changes();
    let calls = whole.asked().len();
    let answers = pages.answers.lock().unwrap().clone();
    assert_eq!((calls, changes.len()), (5, 4));
    for cut in 1..=5 {
        let stub = Stub::new(script()).await;
        let editor = editor(&stub, Provider::OpenAi);
        let pages = Pages::with_prompt("Go.");
        *pages.lost_after.lock().unwrap() = cut;
        assert!(matches!(edit(&editor, &pages).await, Err(EditFailure::Stopped(_))));
        *pages.lost_after.lock().unwrap() = 0;
        let told = pages.kinds().len();
        let edited = edit(&editor, &pages).await.unwrap();
        assert_eq!((edited.workspace.changes(), edited.title.as_str()), (changes.clone(), "T"));
        assert_eq!((stub.asked().len(), stub.left()), (calls, 0), "cut after {cut}");
        assert_eq!(*pages.answers.lock().unwrap(), answers);
        // The requests are the same as well, so a provider's cache is of use.
        for (one, other) in stub.asked().iter().zip(whole.asked()) {
            assert_eq!(one.body, other.body, "cut after {cut}");
        }
        let replayed = pages.kinds()[told..].iter().filter(|kind| *kind == "model_call").count();
        assert_eq!(replayed, 5 - cut);
        let resumed = pages.kinds()[told..].iter().filter(|kind| *kind == "resumed").count();
        assert_eq!((pages.kinds()[told].as_str(), resumed), ("resumed", 1), "what is not paid for twice is told first");
    }
}

#[tokio::test]
async fn prompts_that_come_in_meanwhile_are_shown_before_the_next_call() {
    let stub = Stub::new([
        openai("", &[("c1", "read_file", json!({"path": "docs/a.md"}))]),
        openai("", &[stub::edit("c2", "Old", "New")]),
        openai("", &[finish("T")]),
    ])
    .await;
    let editor = editor(&stub, Provider::OpenAi);
    let pages = Pages::with_prompt("First wish.");
    *pages.lost_after.lock().unwrap() = 2;
    assert!(edit(&editor, &pages).await.is_err());
    pages.prompt("Second wish.");
    *pages.lost_after.lock().unwrap() = 0;
    let edited = edit(&editor, &pages).await.unwrap();
    assert_eq!(edited.taken_through, 2);
    let seen: Vec<u32> = pages.answers.lock().unwrap().iter().map(|answer| answer.seen_through).collect();
    assert_eq!(seen, [1, 1, 2]);
    let asked = stub.asked();
    assert!(!asked[1].body.to_string().contains("Second wish."));
    assert!(asked[2].body["messages"][6]["content"].as_str().unwrap().contains("Second wish."));
    // One that comes after the last call is not taken in.
    pages.prompt("Third wish.");
    let again = edit(&editor, &pages).await.unwrap();
    assert_eq!((again.taken_through, stub.asked().len()), (2, 3));
}

#[tokio::test]
async fn a_follow_up_goes_on_with_the_same_talk() {
    for (provider, answer) in
        [(Provider::OpenAi, openai as fn(&str, &[stub::Call<'_>]) -> Reply), (Provider::Anthropic, anthropic)]
    {
        let stub = Stub::new([
            answer("I look.", &[("c1", "read_file", json!({"path": "docs/a.md"}))]),
            answer("", &[finish("T")]),
            answer("", &[("c1", "edit_file", json!({"path": "docs/a.md", "old_text": "Old", "new_text": "New"}))]),
            answer("", &[("f1", "finish", json!({"title": "U", "summary": "Done."}))]),
        ])
        .await;
        let editor = editor(&stub, provider);
        let pages = Pages::with_prompt("First wish.");
        edit(&editor, &pages).await.unwrap();
        pages.prompt("A wish that was cancelled.");
        pages.prompt("Last wish.");
        let edited = round(&editor, &pages, 2, 3).await.unwrap();
        assert_eq!((edited.title.as_str(), edited.taken_through), ("U", 3));
        assert_eq!(text(&edited, "docs/a.md"), "# A\n\nNew text.\n");
        let body = stub.asked()[3].body.to_string();
        assert!(body.contains("done in an earlier turn"), "{body}");
        let place = |words: &str| body.find(words).unwrap_or_else(|| panic!("{words}: {body}"));
        let order = ["First wish.", "was cancelled.", "What was asked before this is over", "Last wish."].map(place);
        assert!(order.is_sorted(), "{order:?}");
        // The id `c1` was there before, so the call got another one, and so did its result.
        assert_eq!(body.matches("\"c1\"").count(), 2, "{body}");
    }
}

#[tokio::test]
async fn answers_of_another_engine_are_passed_over() {
    let stub = Stub::new([openai("No change is needed.", &[])]).await;
    let pages = Pages::with_prompt("First wish.");
    pages.prompt("Second wish.");
    let answer =
        |said: Value| copydesk_agent::RecordedAnswer { round: 1, seen_through: 1, said, usage: Default::default() };
    *pages.answers.lock().unwrap() = vec![answer(json!("odd")), answer(json!({"text": 3})), answer(Value::Null)];
    round(&editor(&stub, Provider::OpenAi), &pages, 2, 2).await.unwrap();
    assert_eq!(stub.asked()[0].body["messages"].as_array().unwrap().len(), 2);
}
