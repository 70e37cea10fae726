//! Web Bot Auth: HTTP Message Signatures (RFC 9421) with `tag="web-bot-auth"`.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::BotSignature;

/// How far the clocks of signer and reader may be apart.
const SKEW: i64 = 60;
/// Signatures that live longer are not taken: a request that carried one could be sent again by others all that time.
const LONGEST: i64 = 24 * 60 * 60;
/// The same for those without a nonce, of which nobody can tell whether they were seen before.
const LONGEST_WITHOUT_NONCE: i64 = 10 * 60;
/// No `Signature-Input` is longer.
const MAX_HEADER: usize = 8 * 1024;

/// One member of `Signature-Input`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SignatureInput<'a> {
    label: &'a str,
    /// `("@authority" "signature-agent");created=…`, as it was sent and signed.
    parameters: &'a str,
    /// What was signed: names with their own parameters.
    components: Vec<(&'a str, &'a str)>,
    created: Option<i64>,
    expires: Option<i64>,
    key_id: Option<&'a str>,
    tag: Option<&'a str>,
    algorithm: Option<&'a str>,
    nonce: Option<&'a str>,
}

impl<'a> SignatureInput<'a> {
    /// Those of a header that are meant for this: other signatures may stand beside them.
    pub(super) fn all(header: &'a str) -> Vec<Self> {
        if header.len() > MAX_HEADER {
            return Vec::new();
        }
        let members = members(header).into_iter();
        members
            .filter_map(|(label, value)| Self::parse(label, value))
            .filter(|input| input.tag == Some("web-bot-auth"))
            .collect()
    }

    pub(super) fn key_id(&self) -> Option<&'a str> {
        self.key_id
    }

    pub(super) fn nonce(&self) -> Option<&'a str> {
        self.nonce
    }

    /// When it may be forgotten: nobody takes it any more.
    pub(super) fn ends(&self) -> i64 {
        self.expires.unwrap_or_default().saturating_add(SKEW)
    }

    fn parse(label: &'a str, value: &'a str) -> Option<Self> {
        let list = value.strip_prefix('(')?;
        let end = unquoted(list, |byte| byte == b')')?;
        let mut input = Self {
            label,
            parameters: value,
            components: components(&list[..end])?,
            created: None,
            expires: None,
            key_id: None,
            tag: None,
            algorithm: None,
            nonce: None,
        };
        for (name, value) in parameters(&list[end + 1..]) {
            match name {
                "created" => input.created = Some(value.parse().ok()?),
                "expires" => input.expires = Some(value.parse().ok()?),
                "keyid" => input.key_id = Some(string(value)?),
                "tag" => input.tag = Some(string(value)?),
                "alg" => input.algorithm = Some(string(value)?),
                "nonce" => input.nonce = Some(string(value)?),
                _ => {}
            }
        }
        Some(input)
    }

    /// Whether it was made in time: not in the future, not expired, and not made to last.
    fn is_current(&self, now: i64) -> bool {
        let (Some(created), Some(expires)) = (self.created, self.expires) else { return false };
        let longest = if self.nonce.is_some() { LONGEST } else { LONGEST_WITHOUT_NONCE };
        created <= now.saturating_add(SKEW)
            && now <= expires.saturating_add(SKEW)
            && created < expires
            && expires.saturating_sub(created) <= longest
    }

    /// What was signed, as RFC 9421 puts it together; none if something was signed that is not known here.
    fn base(&self, request: &BotSignature<'_>) -> Option<String> {
        let mut base = String::new();
        let mut covers = (false, request.agent.is_none());
        for (name, its) in &self.components {
            let value = match *name {
                "@authority" if its.is_empty() => {
                    covers.0 = true;
                    request.authority.to_ascii_lowercase()
                }
                "signature-agent" => {
                    covers.1 = true;
                    agent_value(request.agent.as_deref()?, its)?
                }
                "@method" if its.is_empty() => request.method.as_deref()?.to_ascii_uppercase(),
                "@path" if its.is_empty() => path_and_query(request)?.0.to_owned(),
                "@query" if its.is_empty() => path_and_query(request)?.1.to_owned(),
                _ => return None,
            };
            base.push_str(&format!("\"{name}\"{its}: {value}\n"));
        }
        base.push_str(&format!("\"@signature-params\": {}", self.parameters));
        // Without the host it could be sent on to another; without the header it could be put under another's name.
        (covers.0 && covers.1).then_some(base)
    }
}

/// The path and the query, with its question mark, as they were asked for.
fn path_and_query<'a>(request: &'a BotSignature<'_>) -> Option<(&'a str, &'a str)> {
    let target = request.target.as_deref().filter(|target| target.starts_with('/'))?;
    let end = target.find('#').unwrap_or(target.len());
    let at = target[..end].find('?');
    Some((&target[..at.unwrap_or(end)], at.map_or("?", |at| &target[at..end])))
}

/// Whether `request` carries the signature that `input` announces, made with `public` and valid at `now`.
pub(super) fn is_signed_by(input: &SignatureInput<'_>, request: &BotSignature<'_>, public: &[u8], now: i64) -> bool {
    let check = || {
        if !input.is_current(now) || input.algorithm.is_some_and(|name| name != "ed25519") {
            return None;
        }
        let base = input.base(request)?;
        if request.signature.len() > MAX_HEADER {
            return None;
        }
        let (_, value) = members(&request.signature).into_iter().find(|(label, _)| *label == input.label)?;
        let encoded = value.strip_prefix(':')?.strip_suffix(':')?;
        let signature = STANDARD.decode(encoded).ok()?;
        UnparsedPublicKey::new(&ED25519, public).verify(base.as_bytes(), &signature).ok()
    };
    check().is_some()
}

/// `Signature-Agent` as it was signed: all of it, or with `;key="…"` one member.
fn agent_value(header: &str, its: &str) -> Option<String> {
    let Some((_, key)) = parameters(its).into_iter().find(|(name, _)| *name == "key") else {
        return its.is_empty().then(|| header.trim().to_owned());
    };
    let key = string(key)?;
    members(header).into_iter().find(|(label, _)| *label == key).map(|(_, value)| value.to_owned())
}

/// The members of a dictionary: `a=…, b=…`.
fn members(header: &str) -> Vec<(&str, &str)> {
    split(header, b',').into_iter().filter_map(|member| member.trim().split_once('=')).collect()
}

/// `;name=value` after an item or a list.
fn parameters(text: &str) -> Vec<(&str, &str)> {
    let parts = split(text, b';').into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect()
}

/// `"@authority" "signature-agent";key="a"` as names with their parameters.
fn components(text: &str) -> Option<Vec<(&str, &str)>> {
    let items = split(text, b' ').into_iter().filter(|item| !item.is_empty());
    items
        .map(|item| {
            let rest = item.strip_prefix('"')?;
            let end = rest.find('"')?;
            Some((&rest[..end], &rest[end + 1..]))
        })
        .collect()
}

fn string(value: &str) -> Option<&str> {
    value.trim().strip_prefix('"')?.strip_suffix('"')
}

/// Splits where `at` stands outside of quotes and of lists.
fn split(text: &str, at: u8) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(end) = unquoted(rest, |byte| byte == at) {
        parts.push(&rest[..end]);
        rest = &rest[end + 1..];
    }
    parts.push(rest);
    parts
}

/// The first byte outside of quotes and of lists that `wanted` takes. It must be ASCII, as all that divides headers is.
fn unquoted(text: &str, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            byte if depth == 0 && wanted(byte) => return Some(at),
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
