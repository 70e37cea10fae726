use proptest::prelude::*;

use super::*;
use crate::classify::reduce::is_plain_browser;
use crate::classify::{MAX_REDUCED, reduce};

#[test]
fn what_is_kept() {
    for (user_agent, wanted) in [
        (CHROME, "Chrome"),
        (GPTBOT, "AppleWebKit compatible; GPTBot; +openai.com"),
        ("curl/8.5.0", "curl"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.6 \
             Mobile/15E148 Safari/604.1",
            "Safari mobile",
        ),
        (
            "Mozilla/5.0 (Linux; Android 16; SM-S926U Build/BP2A.250605.031; wv) AppleWebKit/537.36 (KHTML, like Gecko) \
             Version/4.0 Chrome/142.0 Mobile Safari/537.36 Instagram 406.0.0.58.159 Android (35/15; 450dpi; 1080x2340; \
             samsung; SM-S926U; e2s; s5e9945; en_US; 820031847; IABMV/1)",
            "Chrome mobile; Instagram; IABMV",
        ),
        ("Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0", "Firefox"),
        (
            "MyReader/1.0 (Jane Doe; jane.doe@example.com; +https://jane.example/~jane)",
            "MyReader; +mail; +jane.example",
        ),
        ("bot-7f3a9c0e1b2d4f5a/1.0 build 20260101123456", "build"),
        ("Thing/1.0 (id 550e8400-e29b-41d4-a716-446655440000; device 358240051111110)", "Thing"),
        ("", ""),
    ] {
        assert_eq!(reduce(user_agent), wanted, "{user_agent}");
    }
}

#[test]
fn what_matters_is_kept_when_there_is_too_much() {
    let long = format!("{} GPTBot/1.0", "Word".repeat(8).to_owned() + " " + &"longer-word; ".repeat(30));
    let many: Vec<String> = (b'a'..=b'z').map(|letter| format!("Wordy{}", char::from(letter))).collect();
    for user_agent in [long, format!("Mozilla/5.0 ({}; Claude-User/1.0)", many.join("; "))] {
        let reduced = reduce(&user_agent);
        assert!(reduced.len() <= MAX_REDUCED, "{reduced}");
        assert!(reduced.contains("GPTBot") || reduced.contains("Claude-User"), "{reduced}");
    }
}

/// User agents as they are put together: names, versions, comments, contacts, and noise.
fn user_agent() -> impl Strategy<Value = String> {
    let names: Vec<String> = BUILTIN.agents().iter().flat_map(|agent| agent.tokens.clone()).collect();
    let part = prop_oneof![
        prop::sample::select(names),
        prop::sample::select(vec![
            "Mozilla/5.0",
            "AppleWebKit/537.36",
            "(KHTML, like Gecko)",
            "Chrome/1.0",
            "Safari/5",
            "compatible",
            "(compatible;",
            ")",
            "(",
            ";",
            "(X11; Linux x86_64)",
            "+https://a.ai/bot",
            "bots@example.com",
            "Foo-User/1.0",
            "v2",
            "Bot-v2.1",
            "Android 9; SM-1 Build/2",
            "MSIE 6.0",
            "a@b",
            "%20",
            "x::y",
            "Mobile",
            "http://",
            "www.",
            "+",
            "[FBAN/FBIOS;FBDV/x]",
            "1.2.3.4",
            "ABCDEF0123456789",
            "é",
            "\u{0}",
            "-",
            "User",
            "AI",
            "Bot",
            "Chrome",
            "Firefox/3.6/Nutch-1.7",
            "mozilla/5.0 (linux; android 9) chrome/1",
            "Code/1.60.2",
            "(KHTML, like Gecko; Some Name)",
            "(Linux; Android 9; M bot 54)",
            "Mozilla/4.7 [en] (Win98; I)",
            "${jndi:x}",
            "'+(select",
            "OpenAI/JS",
            "Edg/1/null",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,12}",
        "\\PC{0,8}",
    ];
    (prop::collection::vec((part, prop::sample::select(vec![" ", "", "/1.0 ", "; ", ", ", "("])), 0..12))
        .prop_map(|parts| parts.into_iter().map(|(part, end)| part + end).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_verdict_on_what_is_kept_is_the_verdict_on_what_was_sent(user_agent in user_agent()) {
        let reduced = reduce(&user_agent);
        prop_assert!(reduced.len() <= MAX_REDUCED);
        prop_assert_eq!(&reduce(&reduced), &reduced, "of {:?}", user_agent);
        let facts = BUILTIN.facts(&Probe::of(&user_agent));
        let raw = crate::Facts { user_agent: user_agent.clone(), ..facts.clone() };
        // The mere name of a browser is what is kept of one, and of nobody who sends that.
        if !is_plain_browser(user_agent.trim_ascii()) {
            prop_assert_eq!(BUILTIN.verdict(&facts), BUILTIN.verdict(&raw));
        }
    }

    #[test]
    fn no_mail_address_and_no_number_is_kept(name in "[a-z]{3,8}", number in 10_000_u64.., place in 0..3) {
        let user_agent = match place {
            0 => format!("Reader/1.0 ({name}@{name}.com; {number})"),
            1 => format!("Reader {name}@{name}.com id-{number}"),
            _ => format!("Mozilla/5.0 (X11; {name}@{name}.org; {number}) Chrome/1.0 u{number}"),
        };
        let reduced = reduce(&user_agent);
        prop_assert!(!reduced.contains('@') && !reduced.contains(&number.to_string()), "{}", reduced);
    }
}
