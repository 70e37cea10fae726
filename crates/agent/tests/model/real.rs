use copydesk_agent::{ModelEditor, ModelSettings, Provider};
use crate::desk::{Pages, edit};
#[tokio::test]
async fn real() {
    let mut settings = ModelSettings::new(Provider::OpenAi, "smollm2");
    settings.base_url = Some("http://127.0.0.1:18931/v1".to_owned());
    settings.context_tokens = 8192;
    settings.max_output_tokens = 300;
    settings.turns = 6;
    let editor = ModelEditor::new(settings).unwrap();
    for prompt in ["In docs/a.md replace Old with New.", "What is 2+2?", "Delete docs/b.md"] {
        let pages = Pages::with_prompt(prompt);
        let before = std::time::Instant::now();
        match edit(&editor, &pages).await {
            Ok(e) => println!("OK {:?} {:?} changed {:?}", e.title, e.summary, e.workspace.changed_paths().collect::<Vec<_>>()),
            Err(e) => println!("ERR {e:?}"),
        }
        println!("{:?} told {:?}", before.elapsed(), pages.told.lock().unwrap());
        for a in pages.answers.lock().unwrap().iter() { println!("  {} {:?}", a.said, a.usage); }
    }
    // cancel
    let pages = Pages::with_prompt("Write a long page about cats.");
    let r = tokio::time::timeout(std::time::Duration::from_secs(4), edit(&editor, &pages)).await;
    println!("cancelled {}", r.is_err());
}
