use super::*;
use crate::{Channel, Class, CountsAs};

#[test]
fn agents_of_the_list() {
    for (user_agent, wanted) in [
        (CHATGPT, "assistant token:ChatGPT-User"),
        (GPTBOT, "training_crawler token:GPTBot"),
        ("Claude-User (claude-code/2.1.86; +https://support.anthropic.com/)", "coding_agent token:Claude Code"),
        ("claude-cli/2.0.1 (external, cli)", "coding_agent token:Claude Code"),
        ("glab/v1.97.0 (darwin, arm64) Coding-Agent/claude-code", "coding_agent token:Claude Code"),
        ("GeminiCLI/0.1.0 Node.js/v22.14.0 (darwin; arm64)", "coding_agent token:Gemini CLI"),
        ("opencode/latest/1.2.3/cli", "coding_agent token:opencode"),
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Code/1.104.0 Chrome/138.0.0.0 \
             Electron/37.3.1 Safari/537.36",
            "coding_agent token:VS Code agent",
        ),
        ("Mozilla/5.0 (compatible; Applebot/0.1; +http://www.apple.com/go/applebot)", "search_engine token:Applebot"),
        ("facebookexternalhit/1.1 Facebot Twitterbot/1.0", "preview token:facebookexternalhit"),
        ("python-requests/2.31.0", "library library:python-requests"),
        ("python-httpx/0.27.0", "library library:python-httpx"),
        ("curl/8.5.0", "library library:curl"),
        ("", "library library:no-user-agent"),
        (CHROME, "human browser"),
    ] {
        assert_eq!(told(&verdict(user_agent)), wanted, "{user_agent}");
    }
}

#[test]
fn names_that_are_on_no_list() {
    for (user_agent, wanted) in [
        ("Mozilla/5.0 (compatible; Novita-User/1.0; +https://example.com/bot)", "assistant name:*-User"),
        ("Zeta-SearchBot/2.0", "ai_search name:*-SearchBot"),
        ("Mozilla/5.0 (compatible; FooGPTBot/1.0; +https://example.com)", "training_crawler name:ai+crawler"),
        ("Mozilla/5.0 (compatible; SomeCrawler/1.0; +https://some.ai/crawler)", "training_crawler name:ai+crawler"),
        ("ByteDance-User/1.0", "assistant name:*-User"),
        ("GrokUser/1.0", "assistant name:*-User"),
        ("Qwen-SearchBot/1.0", "ai_search name:*-SearchBot"),
        ("QwenBot/1.0", "training_crawler name:ai+crawler"),
        ("TrainingDataBot/1.0", "training_crawler name:train"),
        ("Google-Gemini-CLI/1.0", "coding_agent name:ai+code"),
        ("acme-llm-cli/0.3", "coding_agent name:ai+code"),
        ("Mozilla/5.0 (compatible; ExampleBot/1.0; +https://example.com/bot)", "other_bot bot:bot"),
        ("Mozilla/5.0 (compatible; Example; +https://example.com)", "other_bot bot:contact"),
        ("Example Monitor/1.0", "monitor bot:monitor"),
        ("ExampleRSSReader/3.0", "feed_reader bot:rssread"),
        ("ExampleLinkPreview/1.0", "preview bot:preview"),
        ("acme-http-client/1.0", "library library:-http"),
        ("Mozilla/5.0", "other_bot bot:no-engine"),
        ("Frobnicator/1.0", "other_bot bot:no-browser"),
    ] {
        assert_eq!(told(&verdict(user_agent)), wanted, "{user_agent}");
    }
}

#[test]
fn people_are_not_machines() {
    for user_agent in [
        CHROME,
        "Mozilla/5.0 (Linux; Android 9; CUBOT_X18_Plus) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 6.0; IDbot553 Build/MRA58K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/63.0 Mobile Safari/537.36",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 ChatGPT/1.2026.1",
        "Mozilla/5.0 (Linux; Android 15; Pixel 9; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/142.0 Mobile Safari/537.36 Viber/25.1",
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Mobile Safari/537.36 (Ecosia android@150.0.0.0)",
        "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 5.1; Trident/4.0; EasyBits GO v1.0; .NET CLR 2.0.50727)",
        "Mozilla/5.0 (compatible; Konqueror/4.4; Linux) KHTML/4.4.5 (like Gecko) Kubuntu",
        "Opera/9.80 (Windows NT 6.1; U; en) Presto/2.8.131 Version/11.11",
        "Mozilla/5.0+(Windows+NT+10.0;+Win64;+x64)+AppleWebKit/537.36+(KHTML,+like+Gecko)+Chrome/120.0+Safari/537.36",
        "Lynx/2.8.9rel.1 libwww-FM/2.14",
    ] {
        assert_eq!(verdict(user_agent).counts_as(), CountsAs::Human, "{user_agent}: {:?}", verdict(user_agent));
    }
}

#[test]
fn what_asks_for_markdown_and_is_no_known_crawler_is_ai() {
    let classifier = Classifier::builtin();
    let by_path = |user_agent| judge(&classifier, &Probe { markdown_path: true, ..Probe::of(user_agent) });
    for unknown in ["", "axios/1.8.4", CHROME, "Frobnicator/1.0", "SomeBot/1.0 (+https://example.com)"] {
        assert_eq!(told(&by_path(unknown)), "markdown_fetch shape:markdown", "{unknown}");
        assert_eq!(by_path(unknown).counts_as(), CountsAs::Ai);
    }
    assert_eq!(told(&by_path(GPTBOT)), "training_crawler token:GPTBot");
    assert_eq!(told(&by_path(CHATGPT)), "assistant token:ChatGPT-User");
    let accept = Some("text/markdown, text/html, */*");
    assert_eq!(judge(&classifier, &Probe { accept, ..Probe::of("axios/1.8.4") }).class, Class::MarkdownFetch);
    let accept = Some("text/html,application/xhtml+xml,*/*;q=0.8");
    assert_eq!(judge(&classifier, &Probe { accept, ..Probe::of(CHROME) }).class, Class::Human);
}

#[test]
fn a_page_that_runs_a_script_is_seen_by_a_browser() {
    let classifier = Classifier::builtin();
    let in_script = |probe: Probe<'_>| judge(&classifier, &Probe { channel: Channel::Script, ..probe });
    assert_eq!(in_script(Probe { markdown_path: true, ..Probe::of(CHROME) }).class, Class::Human);
    assert_eq!(told(&in_script(Probe::of(""))), "library library:no-user-agent", "every browser says what it is");
    assert_eq!(in_script(Probe::of("Mozilla/5.0 HeadlessChrome/1")).class, Class::OtherBot);
}

#[test]
fn words_for_robots_txt_are_not_user_agents() {
    let classifier = Classifier::builtin();
    let tokens = || classifier.agents().iter().flat_map(|agent| &agent.tokens);
    assert!(tokens().all(|token| !token.to_ascii_lowercase().ends_with("-extended") || token == "webzio-extended"));
    for word in ["Google-Extended", "Applebot-Extended"] {
        let forged = verdict(&format!("Mozilla/5.0 (compatible; {word}/1.0; +http://www.google.com/bot.html)"));
        assert_eq!(forged.counts_as(), CountsAs::Other);
        assert!(!matches!(forged.class, Class::TrainingCrawler | Class::AiSearch), "{forged:?}");
    }
}

#[test]
fn every_agent_is_found_by_each_of_its_tokens() {
    let classifier = Classifier::builtin();
    for agent in classifier.agents() {
        for token in &agent.tokens {
            let found = judge(&classifier, &Probe::of(&format!("{token}/1.0 (+https://example.com)")));
            assert_eq!(found.class, agent.class, "{token} of {}: {found:?}", agent.name);
        }
        assert!(!agent.purpose.is_empty() && !agent.operator.is_empty(), "{}", agent.name);
    }
}
