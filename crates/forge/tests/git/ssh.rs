use std::path::Path;
use std::process::Command;

use copydesk_forge::{Remote, SshKey};

use crate::push::make_executable;
use crate::sandbox::Sandbox;

const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\r\nplanted\r\n-----END OPENSSH PRIVATE KEY-----";

/// Runs this test in a process whose `ssh` is a script that writes down how it was called, with which key, and then
/// serves the repository from this machine.
fn in_child(name: &str, folder: &Path) {
    let script = format!(
        "#!/bin/sh\ncd_from=$(pwd)\nprintf '%s\\n' \"$@\" > '{0}/arguments'\nstat -c '%a' key > '{0}/mode'\nstat -c '%a' . >> '{0}/mode'\n\
         cat key > '{0}/key'\ncat known_hosts > '{0}/known_hosts'\nenv > '{0}/environment'\necho \"$cd_from\" > '{0}/folder'\n\
         for last; do :; done\neval \"exec $last\"\n",
        folder.display()
    );
    let path = folder.join("bin/ssh");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, script).unwrap();
    make_executable(&path);
    let search = format!("{}:{}", path.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("ssh::{name}"), "--nocapture"]).env("COPYDESK_TEST_CHILD", folder);
    let output = command.env("PATH", search).env("SSH_AUTH_SOCK", "/nowhere").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
async fn a_key_is_in_a_closed_file_for_as_long_as_the_command_runs() {
    if std::env::var_os("COPYDESK_TEST_CHILD").is_none() {
        let folder = tempfile::TempDir::new().unwrap();
        in_child("a_key_is_in_a_closed_file_for_as_long_as_the_command_runs", folder.path());
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("mode"), "600\n700\n");
        assert_eq!(read("key"), format!("{}\n", KEY.replace("\r\n", "\n")));
        assert_eq!(read("known_hosts"), "host.example ssh-ed25519 AAAA\n");
        let arguments = read("arguments");
        for wanted in ["-i\nkey\n", "IdentitiesOnly=yes", "UserKnownHostsFile=known_hosts", "StrictHostKeyChecking=yes"]
        {
            assert!(arguments.contains(wanted), "{arguments}");
        }
        assert!(!arguments.contains("planted"), "{arguments}");
        let environment = read("environment");
        assert!(!environment.contains("planted") && !environment.contains("SSH_AUTH_SOCK"), "{environment}");
        assert!(!Path::new(read("folder").trim()).exists());
        return;
    }
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let address = format!("ssh://git@host.example{}", sandbox.path("remote.git").display());
    let ssh_key = Some(SshKey::new(KEY, Some("host.example ssh-ed25519 AAAA")));
    let remote = Remote { ssh_key, ..Remote::at(address) };
    assert!(!format!("{remote:?}").contains("planted"));
    let mirror = sandbox.forge().mirror(&remote).await.unwrap();
    let tip = mirror.fetch("main").await.unwrap();
    mirror.push(&tip, "x", None).await.unwrap();
    assert_eq!(sandbox.remote(&["rev-parse", "x"]).trim(), tip.to_string());
    let left = std::fs::read_dir(sandbox.path("mirrors")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_str().unwrap().contains(".ssh-")));
}

#[tokio::test]
async fn keys_that_a_crash_has_left_are_swept_away() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let name = sandbox.mirror_folder().file_stem().unwrap().to_str().unwrap().to_owned();
    for (kind, age) in [("old", 7), ("new", 1)] {
        let folder = sandbox.path("mirrors").join(format!("{name}.ssh-{kind}"));
        std::fs::create_dir(&folder).unwrap();
        let then = std::fs::metadata(&folder).unwrap().modified().unwrap() - std::time::Duration::from_secs(age * 3600);
        std::fs::File::open(&folder).unwrap().set_modified(then).unwrap();
    }
    mirror.fetch("main").await.unwrap();
    assert!(!sandbox.path("mirrors").join(format!("{name}.ssh-old")).exists());
    assert!(sandbox.path("mirrors").join(format!("{name}.ssh-new")).exists());
}
