//! Git over HTTP as people run it without a code host: Debian's nginx before `git http-backend`.

use std::path::Path;
use std::process::Command;

use base64::Engine;
use tempfile::TempDir;

use super::git_http::{backend, prepare};
use super::programs::{Running, find, free_port, listens};
use crate::GitRepo;

/// The user whom nginx lets in.
pub const USER: &str = "docs-writer";

/// An nginx with fcgiwrap over one repository.
pub struct Nginx {
    // Dropped in this order: nginx before what it talks to, both before their folder.
    _nginx: Running,
    _wrap: Running,
    _folder: TempDir,
    port: u16,
}

impl Nginx {
    /// Serves a repository to [`USER`] with this password; none if Debian's packages `nginx-light` and `fcgiwrap` are
    /// not installed.
    pub fn start(git: &GitRepo, password: &str) -> Option<Self> {
        let (nginx, wrap) = (find("nginx")?, find("fcgiwrap")?);
        prepare(git);
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("fcgi.sock");
        let mut wrapping = Running::start(Command::new(wrap).arg("-s").arg(format!("unix:{}", socket.display())));
        wrapping.wait("fcgiwrap", || socket.exists());
        let port = free_port();
        std::fs::write(folder.path().join("users"), format!("{USER}:{}\n", hashed(password))).unwrap();
        std::fs::write(folder.path().join("nginx.conf"), settings(folder.path(), git.path(), port)).unwrap();
        let mut command = Command::new(nginx);
        command.arg("-p").arg(folder.path()).arg("-c").arg(folder.path().join("nginx.conf"));
        let mut serving = Running::start(command.arg("-e").arg(folder.path().join("error.log")));
        serving.wait("nginx", || listens(port));
        Some(Self { _nginx: serving, _wrap: wrapping, _folder: folder, port })
    }

    /// What git clones from.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/docs.git", self.port)
    }
}

/// A password as nginx keeps it (RFC 2307).
fn hashed(password: &str) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
    format!("{{SHA}}{}", base64::engine::general_purpose::STANDARD.encode(digest))
}

/// One process does all, as whoever runs the test: nothing is left behind when it is killed.
fn settings(folder: &Path, git: &Path, port: u16) -> String {
    let (folder, git) = (folder.display(), git.display());
    let backend = backend().display();
    format!(
        r#"
daemon off;
master_process off;
pid {folder}/nginx.pid;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 0;
  server {{
    listen 127.0.0.1:{port};
    location ~ ^/docs\.git(/.*)$ {{
      auth_basic "git";
      auth_basic_user_file {folder}/users;
      fastcgi_pass unix:{folder}/fcgi.sock;
      fastcgi_param SCRIPT_FILENAME {backend};
      fastcgi_param GIT_PROJECT_ROOT {git};
      fastcgi_param GIT_HTTP_EXPORT_ALL "";
      fastcgi_param GIT_PROTOCOL $http_git_protocol;
      fastcgi_param PATH_INFO $1;
      fastcgi_param REMOTE_USER $remote_user;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
    }}
  }}
}}
"#
    )
}
