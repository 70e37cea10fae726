//! How the lines are written.

use super::book::Line;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Combined,
    Json,
    /// Of our own, and so that half a line is one as well: of another page.
    OpenEnded,
}

impl Format {
    pub(super) const ALL: [Self; 3] = [Self::Combined, Self::Json, Self::OpenEnded];

    /// What `copydesk import` calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Json => "json",
            Self::OpenEnded => r#"$msec $remote_addr "$http_user_agent" $status $request_uri"#,
        }
    }

    pub(super) fn line(self, line: &Line) -> String {
        let Line { second, address, agent, page, .. } = line;
        match self {
            Self::Combined => {
                let (day, of_day) = (1 + second / 86_400 % 31, second % 86_400);
                let time = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
                let at = format!("{day:02}/Jan/2026:{time} +0000");
                format!("{address} - - [{at}] \"GET {page} HTTP/1.1\" 200 {} \"-\" \"{agent}\"\n", line.number % 9000)
            }
            Self::Json => {
                let ts = super::book::FIRST_SECOND + second;
                format!(
                    "{{\"ts\":{ts},\"ip\":\"{address}\",\"userAgent\":\"{agent}\",\"status\":200,\"path\":\"{page}\"}}\n"
                )
            }
            Self::OpenEnded => {
                let at = super::book::FIRST_SECOND + second;
                format!("{at}.000 {address} \"{agent}\" 200 {page}\n")
            }
        }
    }
}
