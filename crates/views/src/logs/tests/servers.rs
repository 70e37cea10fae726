//! Logs that real servers wrote: nginx 1.22 and Apache 2.4, asked the same ten things.

use std::sync::Arc;

use copydesk_domain::{Clock, Timestamp};

use super::super::testing::{ListStore, run, stream};
use super::super::{Format, LogLine, Options, Parser};

/// After all of them were written: 2027-01-01T00:00:00Z.
#[derive(Debug)]
struct Later;

impl Clock for Later {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_798_761_600_000)
    }
}

const NGINX_OWN: &str = "$msec|$request_method|$request_uri|$status|$http_user_agent|$http_accept";
const APACHE_OWN: &str = r#"%{msec}t %a %m %U%q %>s \"%{User-Agent}i\" \"%{Accept}i\""#;

const LOGS: [(&str, &[u8], Option<&str>); 8] = [
    ("combined", include_bytes!("fixtures/nginx-combined.log"), None),
    ("vhost_combined", include_bytes!("fixtures/nginx-vhost.log"), None),
    ("json", include_bytes!("fixtures/nginx-json.log"), None),
    ("format string", include_bytes!("fixtures/nginx-own.log"), Some(NGINX_OWN)),
    ("combined", include_bytes!("fixtures/apache-combined.log"), None),
    ("vhost_combined", include_bytes!("fixtures/apache-vhost.log"), None),
    ("common", include_bytes!("fixtures/apache-common.log"), None),
    ("format string", include_bytes!("fixtures/apache-own.log"), Some(APACHE_OWN)),
];

#[tokio::test]
async fn every_format_says_the_same() {
    for (name, log, format) in LOGS {
        let format = format.map(|format| format.parse().unwrap());
        let options = Options { format, ..Options::new("docs", Arc::new(Later)) };
        let store = ListStore::default();
        let report = run(&store, vec![stream(log)], &options).await;
        let file = &report.files[0];
        assert_eq!(file.format.as_ref().map(ToString::to_string).as_deref(), Some(name), "{file:?}");
        let tally = &file.tally;
        assert_eq!(
            (tally.lines, tally.views(), tally.assets, tally.errors, tally.methods),
            (10, 4, 1, 3, 2),
            "{file:?}"
        );
        assert_eq!(tally.unparsable, 0);
        let pages = store.pages();
        assert_eq!((pages["/"], pages["/guide"]), (2, 2));
    }
}

#[test]
fn user_agents_come_out_as_they_were_sent() {
    for (name, log, format) in LOGS.into_iter().filter(|(name, ..)| *name != "common") {
        let format = format.map_or_else(|| Format::detect(log).unwrap(), |format| format.parse().unwrap());
        let mut parser = Parser::new(&format);
        let agents: Vec<String> = log
            .split(|&byte| byte == b'\n')
            .filter_map(|line| match parser.parse(line) {
                LogLine::Hit(entry) => Some(entry.user_agent.into_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(agents[1], r#"Mozilla/5.0 "quoted" \ back"#, "{name}");
        assert_eq!(agents[8], "café \u{fffd}\tend", "{name}");
        assert_eq!(agents[9], "", "{name}");
    }
}
