//! Reads a credential from where it is no argument: a file, a variable, standard input, or a terminal without echo.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;

use copydesk_desk::credentials::{self, MAX_CREDENTIAL_BYTES, private_key, token};
use copydesk_domain::SecretText;
use copydesk_forge::HostSecret;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::args::{CredentialFlags, TokenFlags};
use crate::failure::Failure;

/// One byte more than a credential may have with the end of its line: enough to see that it is too long.
const READ_BYTES: u64 = MAX_CREDENTIAL_BYTES as u64 + 3;

/// The credential that the flags tell of.
pub(crate) fn read(flags: CredentialFlags, environment: &[(OsString, OsString)]) -> Result<HostSecret, Failure> {
    if let (Some(app_id), Some(file)) = (flags.github_app, &flags.private_key_file) {
        let app_id = plain_word("--github-app", app_id)?;
        let private_key = private_key::pem(&file_text("--private-key-file", file)?)
            .map_err(|problem| Failure::usage(format!("the private key in {} {problem}", file.display())))?;
        return Ok(HostSecret::GithubApp {
            app_id,
            installation_id: flags.installation,
            private_key: private_key.into(),
        });
    }
    if let Some(file) = &flags.ssh_key_file {
        let private_key = private_key::ssh(&file_text("--ssh-key-file", file)?)
            .map_err(|problem| Failure::usage(format!("the SSH key in {} {problem}", file.display())))?;
        let known_hosts = flags.known_hosts_file.as_deref().map(known_hosts).transpose()?;
        let token = given_token(&flags.token, environment)?.map(SecretText::from);
        return Ok(HostSecret::SshKey { private_key: private_key.into(), known_hosts, token });
    }
    let username = flags.username.map(|name| plain_word("--username", name)).transpose()?;
    let token = match given_token(&flags.token, environment)? {
        Some(token) => token,
        None => entered()?,
    };
    Ok(HostSecret::Token { username, token: token.into() })
}

/// The token in the file or variable that was named, if one was.
fn given_token(flags: &TokenFlags, environment: &[(OsString, OsString)]) -> Result<Option<String>, Failure> {
    if let Some(file) = &flags.token_file {
        return checked(&format!("in {}", file.display()), &file_text("--token-file", file)?).map(Some);
    }
    let Some(name) = &flags.token_env else { return Ok(None) };
    let missing = || Failure::usage(format!("--token-env: there is no variable {name:?}"));
    let (_, value) = environment.iter().find(|(variable, _)| variable == name.as_str()).ok_or_else(missing)?;
    let text = value.to_str().ok_or_else(|| Failure::usage(format!("the token in {name} is not Unicode")))?;
    checked(&format!("in {name}"), text).map(Some)
}

/// The token on standard input, or what is typed at a terminal.
fn entered() -> Result<String, Failure> {
    let place = if io::stdin().is_terminal() { "that was typed" } else { "on standard input" };
    checked(place, &hidden("Token", "token")?)
}

/// What is on standard input, or is typed at a terminal, where it is not shown.
pub(crate) fn hidden(prompt: &str, what: &str) -> Result<String, Failure> {
    let told = |error: io::Error| Failure::error(format!("cannot read the {what}: {error}"));
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let bytes = at_most(stdin.lock()).map_err(told)?;
        return text(&format!("the {what} on standard input"), bytes);
    }
    let typed = without_echo(|| {
        eprint!("{prompt} (not shown): ");
        io::stderr().flush()?;
        let mut line = Vec::new();
        stdin.lock().take(READ_BYTES).read_until(b'\n', &mut line).map(|_| line)
    });
    eprintln!();
    text(&format!("the {what}"), typed.map_err(told)?)
}

/// Runs `read` while the terminal shows nothing of what is typed.
fn without_echo<T>(read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let terminal = io::stdin();
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    silent.local_modes.insert(LocalModes::ECHONL);
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let read = read();
    tcsetattr(&terminal, OptionalActions::Now, &before)?;
    read
}

fn checked(place: &str, text: &str) -> Result<String, Failure> {
    token(text).map_err(|problem| Failure::usage(format!("the token {place} {problem}")))
}

fn known_hosts(file: &Path) -> Result<String, Failure> {
    private_key::known_hosts(&file_text("--known-hosts-file", file)?)
        .map_err(|problem| Failure::usage(format!("{} {problem}", file.display())))
}

fn plain_word(flag: &str, word: String) -> Result<String, Failure> {
    credentials::plain_word("word", word).map_err(|invalid| Failure::usage(format!("{flag} {}", invalid.message)))
}

fn file_text(flag: &str, path: &Path) -> Result<String, Failure> {
    let told = |error: io::Error| Failure::usage(format!("{flag} {}: {error}", path.display()));
    let bytes = File::open(path).and_then(at_most).map_err(told)?;
    text(&path.display().to_string(), bytes)
}

fn at_most(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What is wrong is said without anything of the text.
fn text(what: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    if bytes.len() > MAX_CREDENTIAL_BYTES + 2 {
        return Err(Failure::usage(format!("{what} is longer than 64 KiB")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{what} is not text")))
}
