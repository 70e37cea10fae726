use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::Value;

use crate::support::Desk;

const CHATGPT: &str = "Mozilla/5.0 (compatible; ChatGPT-User/1.0; +https://openai.com/bot)";

#[test]
fn a_verdict_is_explained() {
    let desk = Desk::new();
    let out = desk.run(&["classify", CHATGPT]).ok().out;
    for part in ["assistant", "ai", "ChatGPT-User", "OpenAI", "token:ChatGPT-User", "https://", "2026-"] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let asked = desk.run(&["classify", "Opener/1.8", "--accept", "text/markdown", "--json"]).json();
    assert_eq!((asked["class"].as_str(), asked["counts_as"].as_str()), (Some("markdown_fetch"), Some("ai")));
    let by_path = desk.run(&["classify", "Opener/1.8", "--path", "/guide.md", "--json"]).json();
    assert_eq!(by_path["rule"], "shape:markdown");
    let script = desk.run(&["classify", "axios/1.8.4", "--path", "/guide.md", "--json"]).json();
    assert_eq!((script["class"].as_str(), script["counts_as"].as_str()), (Some("library"), Some("other")));
    assert!(!desk.path().join("copydesk-data").exists(), "looking makes nothing");
    assert_eq!(desk.run(&["classify", "-"]).code, 2);
}

#[test]
fn what_keeps_all_lists_away_is_said_once() {
    let desk = Desk::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = desk.run(&["lists", "update", "--from", &format!("http://{closed}")]);
    let words = "no list was updated: 127.0.0.1 cannot be reached: it refuses the connection\n";
    assert!(ran.code == 1 && ran.out.starts_with(words), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("error sending"), "{}", ran.out);
}

#[test]
fn one_verdict_a_line() {
    let desk = Desk::new();
    let mut command = desk.command(&["classify", "--json", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"curl/8.5.0\n\nGPTBot/1.2\r\nbroken \xff\nlast").unwrap();
    let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let verdicts: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let classes: Vec<&str> = verdicts.iter().map(|verdict| verdict["class"].as_str().unwrap()).collect();
    assert_eq!(classes, ["library", "library", "training_crawler", "other_bot", "other_bot"]);
    assert_eq!(verdicts[2]["agent"], "GPTBot");
    assert_eq!(verdicts[2].as_object().unwrap().len(), 6);
    // Also by the name that it had before all JSON was written alike.
    assert_eq!((&verdicts[2]["countsAs"], &verdicts[2]["counts_as"]), (&"other".into(), &"other".into()));
}

/// A mirror that has one good list, one broken one, and nothing else.
fn mirror() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 2048];
            let read = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let (status, body) = match request.split(' ').nth(1).unwrap_or_default() {
                "/lists/ranges/openai-chatgpt-user.json" => {
                    ("200 OK", r#"{"prefixes":[{"ipv4Prefix":"192.0.2.0/24"}]}"#)
                }
                "/lists/ranges/openai-gptbot.json" => ("200 OK", "<!DOCTYPE html>"),
                _ => ("404 Not Found", ""),
            };
            let length = body.len();
            let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        }
    });
    address + "/lists"
}

#[test]
fn lists_are_renewed_from_a_mirror_and_what_is_broken_stays_as_it_was() {
    let desk = Desk::new();
    let ranges = desk.path().join("copydesk-data/lists/ranges");
    std::fs::create_dir_all(&ranges).unwrap();
    std::fs::write(ranges.join("openai-gptbot.json"), r#"{"prefixes":[{"ipv4Prefix":"198.51.100.0/24"}]}"#).unwrap();
    std::fs::write(ranges.join("openai-chatgpt-user.txt"), "203.0.113.0/24").unwrap();
    let ran = desk.run(&["lists", "update", "--from", &mirror()]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("openai-chatgpt-user: 1 entries"), "{}", ran.out);
    assert!(ran.out.contains("openai-gptbot: not updated"), "{}", ran.out);
    let from = |user_agent: &str, ip: &str| {
        let verdict = desk.run(&["classify", user_agent, "--ip", ip, "--json"]).json();
        verdict["evidence"].as_str().unwrap().to_owned()
    };
    assert_eq!(from(CHATGPT, "192.0.2.7"), "network");
    assert_eq!(from(CHATGPT, "203.0.113.1"), "spoofed", "the old form of the list is gone");
    assert_eq!(from("GPTBot/1.2", "198.51.100.1"), "network", "the old list is kept");
    let shown = desk.run(&["lists", "show", "--json"]).json();
    let list = shown["ranges"].as_array().unwrap().iter().find(|list| list["name"] == "openai-gptbot").unwrap();
    assert_eq!(list["size"], 1);
    assert!(desk.run(&["lists", "show"]).ok().out.contains("not fetched"));
}

#[test]
fn a_broken_list_is_named_with_its_line() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path().join("copydesk-data/lists")).unwrap();
    std::fs::write(desk.path().join("copydesk-data/lists/agents.toml"), "date = \"2026-01-01\"\n[[agent]]\n").unwrap();
    let ran = desk.run(&["classify", "x"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("agents.toml:2: "), "{}", ran.err);
}
