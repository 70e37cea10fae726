use std::path::Path;

use super::*;
use crate::{Channel, Class, Network};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn load(files: &[(&str, &str)]) -> Result<Classifier, String> {
    Classifier::load(Some(folder(files).path())).map_err(|error| error.to_string())
}

const OPENAI: (&str, &str) = (
    "ranges/openai-chatgpt-user.json",
    r#"{"creationTime": "2026-11-01T10:00:00.000", "prefixes": [{"ipv4Prefix": "23.98.142.176/28"}]}"#,
);

fn from(classifier: &Classifier, user_agent: &str, ip: &str) -> String {
    told(&judge(classifier, &Probe { ip: Some(ip.parse().unwrap()), ..Probe::of(user_agent) }))
}

#[test]
fn an_agent_from_its_operators_addresses_and_from_others() {
    let classifier = load(&[OPENAI]).unwrap();
    assert_eq!(from(&classifier, CHATGPT, "23.98.142.180"), "assistant network:openai-chatgpt-user");
    assert_eq!(from(&classifier, CHATGPT, "192.0.2.1"), "assistant spoofed:openai-chatgpt-user");
    let spoofed = judge(&classifier, &Probe { ip: Some("192.0.2.1".parse().unwrap()), ..Probe::of(CHATGPT) });
    assert_eq!((spoofed.evidence, spoofed.counts_as()), (Evidence::Spoofed, crate::CountsAs::Other));
    assert_eq!(from(&classifier, GPTBOT, "192.0.2.1"), "training_crawler token:GPTBot", "there is no list for it");
    assert_eq!(from(&classifier, CHROME, "23.98.142.180"), "human browser", "its name decides whose list counts");
    assert!(classifier.asks_for_address(CHATGPT) && !classifier.asks_for_address(CHROME));
    assert!(!Classifier::builtin().asks_for_address(CHATGPT));
}

#[test]
fn an_agent_from_outside_its_operators_addresses_is_not_what_it_says() {
    let classifier = load(&[("ranges/anthropic.txt", "216.73.216.0/22\n2607:6bc0::/48")]).unwrap();
    assert_eq!(from(&classifier, "Claude-User/1.0", "216.73.216.9"), "assistant network:anthropic");
    assert_eq!(from(&classifier, "Claude-User/1.0", "192.0.2.1"), "assistant spoofed:anthropic");
    assert_eq!(from(&classifier, "ClaudeBot/1.0", "2001:db8::1"), "training_crawler spoofed:anthropic");
    let code = "Claude-User (claude-code/2.1.86; +https://support.anthropic.com/)";
    let elsewhere = from(&classifier, code, "192.0.2.1");
    assert_eq!(elsewhere, "coding_agent token:Claude Code", "it runs on the developer's machine");
}

#[test]
fn a_list_that_is_not_all_of_the_addresses_proves_only_what_is_on_it() {
    let classifier = load(&[("ranges/ahrefs-crawlers.txt", "198.51.100.0/24")]).unwrap();
    let ahrefs = "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)";
    assert!(from(&classifier, ahrefs, "198.51.100.7").ends_with(" network:ahrefs-crawlers"));
    assert!(from(&classifier, ahrefs, "192.0.2.1").ends_with(" token:AhrefsBot"));
}

#[test]
fn an_address_that_is_not_the_readers_makes_nobody_a_liar() {
    let classifier = load(&[OPENAI]).unwrap();
    for near in ["10.0.0.1", "127.0.0.1", "100.64.3.4", "::1", "fd00::1", "::ffff:192.168.0.1"] {
        assert_eq!(from(&classifier, CHATGPT, near), "assistant token:ChatGPT-User", "{near}");
    }
    for theirs in ["::ffff:23.98.142.180", "64:ff9b::23.98.142.180"] {
        assert_eq!(from(&classifier, CHATGPT, theirs), "assistant network:openai-chatgpt-user", "{theirs}");
    }
    assert_eq!(from(&classifier, CHATGPT, "64:ff9b::192.0.2.1"), "assistant spoofed:openai-chatgpt-user");
}

const MINE: &str = r#"
date = "2027-01-02"
remove = ["curl"]

[[agent]]
name = "AcmeReader"
operator = "Acme"
purpose = "Reads our handbook aloud"
class = "assistant"
docs = "https://acme.example/reader"
ranges = "acme"
by_address = true

[[agent]]
name = "GPTBot"
operator = "OpenAI"
purpose = "What we think of it"
class = "other_bot"
docs = "https://acme.example/why"
"#;

#[test]
fn an_own_list_adds_replaces_and_removes() {
    let classifier = load(&[("agents.toml", MINE), ("ranges/acme.txt", "198.51.100.0/24")]).unwrap();
    assert_eq!(from(&classifier, "AcmeReader/2", "192.0.2.1"), "assistant spoofed:acme");
    assert_eq!(from(&classifier, CHROME, "198.51.100.7"), "assistant network:acme", "known by its address alone");
    assert!(classifier.asks_for_address(CHROME));
    assert_eq!(from(&classifier, GPTBOT, "192.0.2.1"), "other_bot token:GPTBot");
    assert_eq!(from(&classifier, "curl/8.5.0", "192.0.2.1"), "library library:curl", "by its name, not by the list");
    assert!(classifier.agent("curl").is_none());
    let summary = classifier.summary();
    assert_eq!(summary.date, "2027-01-02");
    let acme = summary.ranges.iter().find(|list| list.name == "acme").unwrap();
    assert_eq!((acme.size, acme.url.as_deref()), (Some(1), None));
}

#[test]
fn a_summary_says_what_is_there_and_how_old_it_is() {
    let classifier = load(&[OPENAI]).unwrap();
    let summary = classifier.summary();
    let list = summary.ranges.iter().find(|list| list.name == "openai-chatgpt-user").unwrap();
    assert_eq!((list.size, list.date.as_deref()), (Some(1), Some("2026-11-01")));
    assert!(summary.ranges.iter().any(|list| list.size.is_none() && list.url.is_some()), "others are not fetched");
    assert_eq!(
        Classifier::load(None).unwrap().summary(),
        Classifier::load(Some(Path::new("/no/such"))).unwrap().summary()
    );
    assert_eq!(summary.agents, Classifier::builtin().agents().len());
}

#[test]
fn what_is_wrong_is_said_with_file_and_line() {
    let wrong = |name: &str, text: &str| {
        let error = load(&[(name, text)]).unwrap_err();
        let start = error.find(name.rsplit('/').next().unwrap()).unwrap();
        error[start..].to_owned()
    };
    let entry = |lines: &str| {
        format!("date = \"2027-01-02\"\n[[agent]]\nname = \"A-B\"\noperator = \"x\"\npurpose = \"y\"\n{lines}")
    };
    assert!(wrong("agents.toml", "date = ").starts_with("agents.toml:1: "));
    assert!(wrong("agents.toml", "date = \"yesterday\"").contains("day such as"));
    let unknown = wrong("agents.toml", &entry("docs = \"\"\nclass = \"robot\""));
    assert!(unknown.starts_with("agents.toml:7: there is no class “robot”"), "{unknown}");
    let extended = wrong("agents.toml", &entry("docs = \"\"\nclass = \"ai_search\"\ntokens = [\"Google-Extended\"]"));
    assert!(extended.contains("robots.txt"), "{extended}");
    let versioned = wrong("agents.toml", &entry("docs = \"\"\nclass = \"ai_search\"\ntokens = [\"Foo/1.0\"]"));
    assert!(versioned.contains("“Foo” is kept"), "{versioned}");
    assert!(
        wrong("agents.toml", &entry("docs = \"\"\nclass = \"monitor\"\nby_address = true")).contains("need ranges")
    );
    assert!(
        wrong("agents.toml", &entry("docs = \"\"\nclass = \"monitor\"\ncolour = 1")).starts_with("agents.toml:8: ")
    );
    assert!(
        wrong("agents.toml", "date = \"2027-01-02\"\n[[ranges]]\nname = \"../x\"\nurl = \"https://a\"")
            .contains("file")
    );
    assert!(
        wrong("agents.toml", "date = \"2027-01-02\"\n[[keys]]\nname = \"x\"\nurl = \"http://a\"")
            .contains("must begin")
    );
    assert!(wrong("ranges/x.txt", "192.0.2.0/24\nnonsense").starts_with("x.txt:2: "));
    assert!(wrong("keys/x.json", "{\n  nonsense").starts_with("x.json:2: "));
    assert!(wrong("keys/x.json", "{\"keys\": []}").contains("no Ed25519 key"));
}

#[test]
fn history_is_judged_by_what_was_kept_even_when_the_list_is_gone() {
    let facts = |network| crate::Facts {
        user_agent: "ChatGPT-User".to_owned(),
        markdown: false,
        network,
        signed_by: None,
        channel: Channel::Server,
    };
    let classifier = Classifier::builtin();
    let list = || "openai-chatgpt-user".to_owned();
    assert_eq!(classifier.verdict(&facts(Network::Inside(list()))).evidence, Evidence::Network);
    assert_eq!(classifier.verdict(&facts(Network::Outside(list()))).evidence, Evidence::Spoofed);
    let other = classifier.verdict(&facts(Network::Outside("another".to_owned())));
    assert_eq!((other.class, other.evidence), (Class::Assistant, Evidence::Token));
}
