//! Private keys and known hosts as files hold them: checked for what would fail only when a job needs them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What OpenSSH's own format begins with, before the name of the cipher.
const OPENSSH_MAGIC: &[u8] = b"openssh-key-v1\0";

/// What is wrong, as the end of a sentence that holds nothing of the key.
type Wrong = &'static str;

/// A private key in PEM, with plain ends of lines.
pub fn pem(text: &str) -> Result<String, Wrong> {
    let text = lines(text)?;
    if text.starts_with("ssh-") || text.contains("-----BEGIN PUBLIC KEY") || text.contains("-----BEGIN CERTIFICATE") {
        return Err("is a public key; the private one is needed");
    }
    let first = text.lines().next().unwrap_or_default();
    let whole = first.starts_with("-----BEGIN ") && first.ends_with("PRIVATE KEY-----") && text.contains("\n-----END ");
    if !whole {
        return Err("is not a private key in PEM, from its BEGIN to its END line");
    }
    if first.contains("ENCRYPTED") || text.contains("\nProc-Type: 4,ENCRYPTED") {
        return Err("has a passphrase, which nobody could type; use one without");
    }
    Ok(text)
}

/// A private key for SSH, with the end of line that OpenSSH insists on.
pub fn ssh(text: &str) -> Result<String, Wrong> {
    let text = pem(text)?;
    if text.starts_with("-----BEGIN OPENSSH PRIVATE KEY-----") {
        let body: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
        let bytes = STANDARD.decode(body.trim()).map_err(|_| "is damaged")?;
        match cipher(&bytes) {
            Some(b"none") => {}
            Some(_) => return Err("has a passphrase, which nobody could type; use one without"),
            None => return Err("is damaged"),
        }
    }
    Ok(text)
}

/// Lines of known_hosts, with plain ends.
pub fn known_hosts(text: &str) -> Result<String, Wrong> {
    let text = text.replace("\r\n", "\n");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    // A host, a kind of key and a key, at the least.
    let mut fields = lines.map(|line| line.split_whitespace().count()).peekable();
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if fields.peek().is_none() || fields.any(|count| count < 3) || text.contains(control) {
        return Err("holds something else than lines of known_hosts");
    }
    Ok(text)
}

/// The name of the cipher, a text behind its length.
fn cipher(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(OPENSSH_MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

fn lines(text: &str) -> Result<String, Wrong> {
    let text = text.trim().replace("\r\n", "\n");
    if text.is_empty() {
        return Err("is empty");
    }
    if text.contains(|c: char| c.is_control() && c != '\n') {
        return Err("holds control characters");
    }
    Ok(format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openssh(cipher: &str) -> String {
        let length = u32::try_from(cipher.len()).unwrap().to_be_bytes();
        let body = [OPENSSH_MAGIC, &length, cipher.as_bytes(), b"rest of the key"].concat();
        let body = STANDARD.encode(body);
        let (one, two) = body.split_at(20);
        format!("-----BEGIN OPENSSH PRIVATE KEY-----\r\n{one}\r\n{two}\r\n-----END OPENSSH PRIVATE KEY-----")
    }

    #[test]
    fn keys_without_a_passphrase_are_taken_with_plain_lines() {
        let key = ssh(&openssh("none")).unwrap();
        assert!(key.ends_with("KEY-----\n") && !key.contains('\r'));
        let rsa = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        assert_eq!(pem(rsa).as_deref(), Ok(rsa));
        assert_eq!(ssh(rsa).as_deref(), Ok(rsa));
    }

    #[test]
    fn what_would_fail_later_is_refused_now() {
        let locked = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        let cut = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n";
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        for (text, problem) in [
            ("", "empty"),
            ("hello", "not a private key"),
            ("-----BEGIN RSA PRIVATE KEY-----\nAAAA", "not a private key"),
            ("ssh-ed25519 AAAA me@here", "public key"),
            ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "public key"),
            ("a\0b", "control"),
            (locked, "passphrase"),
            (encrypted, "passphrase"),
            (&openssh("aes256-ctr"), "passphrase"),
            (cut, "damaged"),
        ] {
            let said = ssh(text).unwrap_err();
            assert!(said.contains(problem), "{text}: {said}");
        }
    }
}
