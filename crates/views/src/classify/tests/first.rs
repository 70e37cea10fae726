use crate::classify::{Classifier, Probe, reduce};

#[test]
fn look() {
    let classifier = Classifier::builtin();
    for agent in [
        "",
        "curl/8.1",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.0; +https://openai.com/gptbot)",
        "Claude-User (claude-code/2.1.86; +https://support.anthropic.com/)",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36",
        "Mozilla/5.0 (Linux; Android 9; CUBOT_X18_Plus) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Mobile Safari/537.36",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Code/1.104.0 Chrome/138.0.0.0 Electron/37.3.1 Safari/537.36",
        "glab/v1.97.0 (darwin, arm64) Coding-Agent/claude-code",
        "Mozilla/5.0 (compatible; Thinkbot/0.5.8; +In_the_test_phase,_if_the_Thinkbot_brings_you_trouble,_please_block_its_IP_address._Thank_you.)",
    ] {
        let facts = classifier.facts(&Probe::of(agent));
        eprintln!("{:?} -> {:?}", reduce(agent), classifier.verdict(&facts));
    }
}
