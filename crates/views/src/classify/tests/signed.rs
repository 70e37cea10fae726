use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::*;
use crate::BotSignature;
use crate::classify::keys::thumbprint;

const NOW: i64 = 1_790_000_000;
const AGENT: &str = "\"https://chatgpt.com\"";

fn pair() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

/// A classifier that knows ChatGPT's key.
fn classifier() -> Classifier {
    let x = URL_SAFE_NO_PAD.encode(pair().public_key().as_ref());
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("keys")).unwrap();
    let keys = format!(
        r#"{{"keys":[{{"kty":"RSA","n":"x","e":"AQAB"}},{{"kty":"OKP","crv":"Ed25519","x":"{x}","use":"sig"}}]}}"#
    );
    std::fs::write(folder.path().join("keys/chatgpt.json"), keys).unwrap();
    Classifier::load(Some(folder.path())).unwrap()
}

struct Signed {
    signature: String,
    input: String,
}

/// Signs as the draft says: `components` with their values, and the parameters.
fn sign(components: &[(&str, &str)], created: i64, expires: i64, tag: &str) -> Signed {
    let names: Vec<&str> = components.iter().map(|(name, _)| *name).collect();
    let key = thumbprint(pair().public_key().as_ref());
    let parameters = format!(
        "({});created={created};expires={expires};keyid=\"{key}\";alg=\"ed25519\";nonce=\"a,b;c)\";tag=\"{tag}\"",
        names.join(" ")
    );
    let mut base: String = components.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    base.push_str(&format!("\"@signature-params\": {parameters}"));
    let signature = STANDARD.encode(pair().sign(base.as_bytes()));
    Signed { signature: format!("other=:AAAA:, sig1=:{signature}:"), input: format!("sig1={parameters}") }
}

fn usual() -> Signed {
    sign(&[("\"@authority\"", "docs.example.com"), ("\"signature-agent\"", AGENT)], NOW - 10, NOW + 290, "web-bot-auth")
}

fn headers<'a>(signed: &'a Signed, agent: Option<&'a str>, authority: &'a str) -> BotSignature<'a> {
    BotSignature {
        signature: signed.signature.as_str().into(),
        input: signed.input.as_str().into(),
        agent: agent.map(Into::into),
        authority: authority.into(),
        method: Some("GET".into()),
        target: Some("/guide?a=b".into()),
    }
}

fn seen(signed: &Signed, agent: Option<&str>, authority: &str, now: i64) -> Verdict {
    let signature = headers(signed, agent, authority);
    judge(&classifier(), &Probe { signature: Some(&signature), now, ..Probe::of(CHROME) })
}

#[test]
fn a_valid_signature_proves_an_agent_that_looks_like_a_browser() {
    let verdict = seen(&usual(), Some(AGENT), "docs.example.com", NOW);
    assert_eq!(told(&verdict), "assistant signature:chatgpt");
    assert_eq!(verdict.counts_as(), crate::CountsAs::Ai);
    assert_eq!(told(&seen(&usual(), Some(AGENT), "DOCS.example.com", NOW)), "assistant signature:chatgpt");
}

#[test]
fn the_thumbprint_is_that_of_rfc_8037() {
    let public = URL_SAFE_NO_PAD.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").unwrap();
    assert_eq!(thumbprint(&public), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

#[test]
fn one_member_of_the_agents_can_be_signed() {
    let agent = "a=\"https://other.example\", b=\"https://chatgpt.com\"";
    let components =
        [("\"@authority\"", "docs.example.com"), ("\"signature-agent\";key=\"b\"", "\"https://chatgpt.com\"")];
    let signed = sign(&components, NOW, NOW + 60, "web-bot-auth");
    assert_eq!(told(&seen(&signed, Some(agent), "docs.example.com", NOW)), "assistant signature:chatgpt");
    assert_eq!(told(&seen(&signed, Some(AGENT), "docs.example.com", NOW)), "human browser");
}

#[test]
fn what_is_not_a_valid_signature_proves_nothing() {
    let authority = ("\"@authority\"", "docs.example.com");
    let agent = ("\"signature-agent\"", AGENT);
    let invalid = |what: &str, signed: &Signed, header: Option<&str>, host: &str, now: i64| {
        assert_eq!(told(&seen(signed, header, host, now)), "human browser", "{what}");
    };
    let host = "docs.example.com";
    invalid("for another host", &usual(), Some(AGENT), "evil.example", NOW);
    invalid("with another agent", &usual(), Some("\"https://evil.example\""), host, NOW);
    invalid("with the agent left out", &usual(), None, host, NOW);
    invalid("expired", &usual(), Some(AGENT), host, NOW + 400);
    invalid("from the future", &usual(), Some(AGENT), host, NOW - 100);
    invalid("for another purpose", &sign(&[authority, agent], NOW, NOW + 60, "payment"), Some(AGENT), host, NOW);
    invalid("without the host", &sign(&[agent], NOW, NOW + 60, "web-bot-auth"), Some(AGENT), host, NOW);
    invalid("without the agent", &sign(&[authority], NOW, NOW + 60, "web-bot-auth"), Some(AGENT), host, NOW);
    invalid("for a month", &sign(&[authority, agent], NOW, NOW + 2_600_000, "web-bot-auth"), Some(AGENT), host, NOW);
    let more = sign(&[authority, agent, ("\"@path\"", "/other")], NOW, NOW + 60, "web-bot-auth");
    invalid("for another page", &more, Some(AGENT), host, NOW);
    let more = sign(&[authority, agent, ("\"accept\"", "text/html")], NOW, NOW + 60, "web-bot-auth");
    invalid("over what is not known", &more, Some(AGENT), host, NOW);
    let mut changed = usual();
    changed.input = changed.input.replace("nonce=\"a", "nonce=\"b");
    invalid("changed afterwards", &changed, Some(AGENT), host, NOW);
    let mut empty = usual();
    empty.signature = "sig1=::".to_owned();
    invalid("empty", &empty, Some(AGENT), host, NOW);
    for nonsense in ["", "sig1", "sig1=(", "sig1=(\"@authority", "=;;,,", "sig1=();tag=\"web-bot-auth\"", "é=(\"é\")"]
    {
        let signed = Signed { signature: nonsense.to_owned(), input: nonsense.to_owned() };
        invalid(nonsense, &signed, Some(nonsense), host, NOW);
    }
}

#[test]
fn a_signature_without_the_header_needs_only_the_host() {
    let signed = sign(&[("\"@authority\"", "docs.example.com")], NOW, NOW + 60, "web-bot-auth");
    assert_eq!(told(&seen(&signed, None, "docs.example.com", NOW)), "assistant signature:chatgpt");
}

#[test]
fn an_unknown_key_proves_nothing() {
    let builtin = Classifier::builtin();
    let signed = usual();
    let signature = headers(&signed, Some(AGENT), "docs.example.com");
    let verdict = judge(&builtin, &Probe { signature: Some(&signature), now: NOW, ..Probe::of(CHROME) });
    assert_eq!(told(&verdict), "human browser");
}

#[test]
fn method_path_and_query_can_be_signed_too() {
    let host = ("\"@authority\"", "docs.example.com");
    let agent = ("\"signature-agent\"", AGENT);
    for more in [("\"@method\"", "GET"), ("\"@path\"", "/guide"), ("\"@query\"", "?a=b")] {
        let signed = sign(&[host, agent, more], NOW, NOW + 60, "web-bot-auth");
        assert_eq!(
            told(&seen(&signed, Some(AGENT), "docs.example.com", NOW)),
            "assistant signature:chatgpt",
            "{more:?}"
        );
    }
}

#[test]
fn without_a_nonce_a_signature_must_be_short() {
    let key = thumbprint(pair().public_key().as_ref());
    let signed = |lives: i64| {
        let parameters = format!(
            "(\"@authority\");created={NOW};expires={};keyid=\"{key}\";alg=\"ed25519\";tag=\"web-bot-auth\"",
            NOW + lives
        );
        let base = format!("\"@authority\": docs.example.com\n\"@signature-params\": {parameters}");
        let signature = STANDARD.encode(pair().sign(base.as_bytes()));
        Signed { signature: format!("sig1=:{signature}:"), input: format!("sig1={parameters}") }
    };
    assert_eq!(told(&seen(&signed(600), None, "docs.example.com", NOW)), "assistant signature:chatgpt");
    assert_eq!(told(&seen(&signed(601), None, "docs.example.com", NOW)), "human browser");
}
