//! The one list of settings: the struct [`Config`], parsing, `copydesk config` and the sample file all come from it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use secrecy::SecretString;

use super::database::{ClickHouseUrl, DatabaseUrl};
use super::kind::{
    UNSET, api_key, choice, clickhouse, database, dollars, header, line, listen, model, models, networks, optional,
    path, postgres, ranges, switch, time, web_address, whole,
};
use super::origin::Origin;
use super::table::{Setting, default_value, settings};
use super::values::{LogFormat, LogLevel, NewUsers, Provider, ViewsPlace};

impl Config {
    /// Address under which users reach the server, without a trailing slash.
    pub fn public_url(&self) -> String {
        self.public_url.clone()
    }

    /// Whether somebody has set that address.
    pub fn says_public_url(&self) -> bool {
        !matches!(self.origin("public_url"), Some(Origin::Default))
    }

    /// The same for a server that listens there, which may be another port than was asked for.
    pub fn public_url_at(&self, listening: SocketAddr) -> String {
        match self.origin("public_url") {
            Some(Origin::Default) => format!("http://{listening}"),
            _ => self.public_url(),
        }
    }

    /// The database to open.
    pub fn database(&self) -> DatabaseUrl {
        self.database_url.clone()
    }

    /// The same installation at another place.
    pub fn at(&self, database: DatabaseUrl, views: ViewsPlace) -> Self {
        let mut other = self.clone();
        if other.database_url != database {
            // It leads to the database that is left.
            other.database_listen_url = None;
        }
        other.database_url = database;
        other.views.store = views;
        other
    }

    /// Where the wake-ups of the database are heard, if that is another address.
    pub fn database_listen(&self) -> Option<String> {
        match &self.database_listen_url {
            Some(DatabaseUrl::Postgres(address)) => Some(address.clone()),
            Some(DatabaseUrl::Sqlite(_)) | None => None,
        }
    }

    /// The folder of the page views.
    pub fn views_folder(&self) -> PathBuf {
        self.data_dir.join("views")
    }

    /// The folder of newer lists of agents.
    pub fn lists_folder(&self) -> PathBuf {
        self.views.lists.clone().unwrap_or_else(|| self.data_dir.join("lists"))
    }

    /// The file with the secret that earlier versions made; see `secrets::adopt`.
    pub fn secret_path(&self) -> PathBuf {
        self.secret_file.clone().unwrap_or_else(|| self.data_dir.join("secret.key"))
    }

    /// The file with the keys that secrets are sealed with.
    pub fn credentials_key_path(&self) -> PathBuf {
        self.credentials.key_file.clone().unwrap_or_else(|| self.data_dir.join("credentials.key"))
    }

    /// The configuration file, by the path that it was given with; none if nothing comes from one.
    pub fn file(&self) -> Option<&Path> {
        self.origins.iter().find_map(|origin| match origin {
            Origin::File { path, .. } => Some(path.as_path()),
            _ => None,
        })
    }

    /// Where the value of a setting comes from; `None` for an unknown key.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.origins.get(position(key)?)
    }
}

/// Place of a setting in [`SETTINGS`].
pub(super) fn position(key: &str) -> Option<usize> {
    SETTINGS.iter().position(|setting| setting.key == key)
}

pub(super) fn is_section(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.section() == name)
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

const fn mins(count: u64) -> Duration {
    Duration::from_mins(count)
}

const fn hours(count: u64) -> Duration {
    Duration::from_hours(count)
}

settings! {
    Config {
        /// Folder for everything that this process stores on disk
        pub data_dir: PathBuf = path(), default "copydesk-data";
        /// Address the server listens on
        pub listen: SocketAddr = listen(), default "127.0.0.1:4400";
        /// Extra address of serve and worker for /healthz, /readyz and /metrics only; do not expose it to the public
        pub admin_listen: Option<SocketAddr> = optional(listen());
        /// Address at which people reach the server; links to pull requests begin with it
        pub(super) public_url: String = web_address(), default "http://127.0.0.1:4400",
            derived "http:// and the value of listen";
        /// Database of this process
        pub(super) database_url: DatabaseUrl = database(), default "sqlite:copydesk-data/copydesk.db",
            derived "the SQLite file copydesk.db in data_dir";
        /// Maximum number of PostgreSQL connections of this process, by default 10, and 3 for copydesk worker; page views
        /// in the database take half as many more
        // One is taken by the wake-ups.
        pub database_connections: Option<u32> = optional(whole(2, 500));
        /// Address of the same PostgreSQL server for wake-ups, if database_url leads to a connection pooler such as
        /// PgBouncer: they need a connection of their own
        pub(super) database_listen_url: Option<DatabaseUrl> = optional(postgres());
        /// Only after an upgrade: file with the secret of an earlier version, by default secret.key in data_dir; its
        /// secrets are encrypted again with credentials.key_file
        pub secret_file: Option<PathBuf> = optional(path());
        /// Lowest level that is logged
        pub log: LogLevel = choice(), default "info";
        /// Format of log lines; auto is text if standard error is a terminal, and json otherwise
        pub log_format: LogFormat = choice(), default "auto";
        /// Whether every request is a line in the log; requests that fail with a status of 500 or more always are
        pub access_log: bool = switch(), default "true";
    }

    limits: Limits {
        /// Jobs and messages that a project may create in an hour; 0 for no limit
        pub jobs_per_hour: u32 = whole(0, 1_000_000), default "100";
        /// Analytics requests that a key may make in a minute; 0 for no limit
        pub analytics_per_minute: u32 = whole(0, 1_000_000), default "100";
        /// Page views that one network (an IPv4 /24, an IPv6 /48) may report in a minute without a key; 0 for no
        /// limit
        pub events_per_minute: u32 = whole(0, 100_000_000), default "3000";
        /// Jobs of one project that may run at once; 0 for no limit
        pub running_per_project: u32 = whole(0, 1000), default "4";
        /// Model calls that a job may make for one prompt
        pub job_turns: u32 = whole(1, 10_000), default "60";
        /// Tokens that a job may read and write for one prompt
        pub job_tokens: u32 = whole(1000, 1_000_000_000), default "2000000";
        /// US dollars that one prompt of a job may cost, if the prices of the model are set; a project or a job can
        /// only lower it
        pub job_cost: Option<f64> = optional(dollars());
        /// Files that a job may change
        pub changed_files: u32 = whole(1, 100_000), default "100";
        /// Lines that a job may add and remove
        pub changed_lines: u32 = whole(1, 10_000_000), default "10000";
        /// Time a job may run
        pub job_time: Duration = time(secs(1), hours(7 * 24)), default "30m";
        /// Time a job waits for a code host that is away, in addition to the time it may run; with 0s it is tried
        /// only as often as after any other failure
        pub host_wait: Duration = time(secs(0), hours(30 * 24)), default "1h";
        /// Time a job may wait for a worker
        pub queue_time: Duration = time(mins(1), hours(30 * 24)), default "24h";
        /// Time a request may take
        pub request_time: Duration = time(secs(1), mins(10)), default "30s";
        /// Time to receive the head of a request
        pub head_time: Duration = time(secs(1), mins(10)), default "10s";
        /// Connections the server holds open at once; idle and slow ones give way to new ones
        pub connections: u32 = whole(1, 100_000), default "1024";
        /// Connections of one address among these; 0 for no limit. The proxies in views.proxies have no limit
        pub connections_per_peer: u32 = whole(0, 100_000), default "256";
        /// Megabytes of memory for the bodies of all requests
        pub body_memory: u32 = whole(128, 1_000_000), default "256";
        /// Bytes per second that the sender of a body must reach
        pub body_rate: u32 = whole(1, 1_000_000_000), default "2000";
        /// Whether /metrics is on the public listener too
        pub public_metrics: bool = switch(), default "false";
        /// Time that open requests and jobs have to finish at shutdown
        pub shutdown_time: Duration = time(secs(0), mins(10)), default "30s";
    }

    runner: RunnerConfig {
        /// Jobs this process runs at once; 0 to run none
        pub workers: u32 = whole(0, 10_000), default "2";
        /// Time after which the job of a silent worker goes to another
        pub lease: Duration = time(Duration::from_millis(500), mins(10)), default "15s";
        /// Attempts before a job fails
        pub attempts: u32 = whole(1, 100), default "10";
    }

    jobs: JobsConfig {
        /// Model or engine of a job that names none; a configured model replaces this default
        pub default_model: String = model(), default "builtin";
        /// Models and engines that a job may name; a configured model is added to this default
        pub models: Vec<String> = models(), default "builtin,noop";
    }

    // There is a model if `provider` and `name` are set, and then both are.
    model: ModelConfig {
        /// Provider of the model that runs jobs; openai is every server that speaks OpenAI's chat interface
        pub provider: Option<Provider> = optional(choice());
        /// Name of the model
        pub name: Option<String> = optional(model());
        /// Address of the model's interface, if it is not the provider's usual one
        pub base_url: Option<String> = optional(web_address());
        /// Key for the model's interface
        pub api_key: Option<SecretString> = optional(api_key());
        /// Folder with keys for single projects: one file each, with the id of the project as its name
        pub project_keys: Option<PathBuf> = optional(path());
        /// Tokens that the model can read at once
        pub context_tokens: u32 = whole(2000, 10_000_000), default "128000";
        /// Tokens that the model may write in one answer
        pub output_tokens: u32 = whole(100, 1_000_000), default "8192";
        /// US dollars for a million tokens that the model reads
        pub input_price: Option<f64> = optional(dollars());
        /// US dollars for a million tokens that the model reads from its cache; a part of input_price by default
        pub cached_input_price: Option<f64> = optional(dollars());
        /// US dollars for a million tokens that the model writes
        pub output_price: Option<f64> = optional(dollars());
        /// Time without output from the model after which a call is tried again
        pub silence: Duration = time(secs(1), hours(1)), default "2m";
    }

    retention: RetentionConfig {
        /// Days that jobs are kept after they ended; 0 to keep them forever. Jobs whose pull request is open stay
        pub jobs: u32 = whole(0, 36_500), default "0";
        /// Days that the events of jobs that ended are kept; 0 to keep them as long as the jobs. The first, the last and those that say how a run ended stay
        pub events: u32 = whole(0, 36_500), default "0";
    }

    views: ViewsConfig {
        /// Where page views are kept: embedded for a folder in data_dir; database for the PostgreSQL database, which the
        /// servers of several machines count into; clickhouse for ClickHouse, behind that database. `copydesk move` moves
        /// them from one to the other
        pub store: ViewsPlace = choice(), default "embedded";
        /// Where ClickHouse is, version 24.8 or newer: http://user:password@host:8123/database, or several of them with
        /// commas between, which are replicas of one another
        pub clickhouse_url: Option<ClickHouseUrl> = optional(clickhouse());
        /// Cluster over which the tables in ClickHouse are replicated and spread, as its configuration calls it
        pub clickhouse_cluster: Option<String> = optional(line());
        /// Days that page views are kept, unless the project has its own value; 0 to keep them forever
        pub keep_days: u32 = whole(0, 36_500), default "0";
        /// Time in which a browser that reports the same page twice counts once; 0s to count both
        pub duplicate_window: Duration = time(secs(0), mins(10)), default "1s";
        /// Megabytes of memory for counters that were read from disk
        pub memory: u32 = whole(16, 1_000_000), default "256";
        /// Megabytes of memory for questions about large projects; further questions wait
        pub question_memory: u32 = whole(16, 1_000_000), default "256";
        /// Pages of a project that are counted separately on one day; the rest counts as /(other). 0 for no limit
        pub pages_per_day: u32 = whole(0, 10_000_000), default "50000";
        /// Kinds of readers of a project that are counted separately on one day; 0 for no limit
        pub readers_per_day: u32 = whole(0, 10_000_000), default "10000";
        /// Folder with newer lists of agents and their addresses than the built-in ones, by default lists in data_dir
        pub lists: Option<PathBuf> = optional(path());
        /// Proxies whose X-Forwarded-For is believed: loopback for those on this machine, private for this machine
        /// and private networks, none, or ranges such as 10.0.0.0/8, 192.0.2.7
        pub proxies: String = line(), default "loopback";
    }

    webhooks: WebhooksConfig {
        /// Private addresses that webhooks may go to, even without https: false for none, true for this machine and
        /// private networks, or ranges such as 10.0.0.0/8, 127.0.0.1
        pub allow_private: String = ranges(), default "false";
    }

    git: GitConfig {
        /// Author and committer of commits
        pub name: String = line(), default "Copydesk";
        /// E-mail address of the author and committer
        pub email: String = line(), default "copydesk@localhost";
        /// Time that one git command may take
        pub time: Duration = time(secs(1), hours(6)), default "5m";
    }

    credentials: CredentialsConfig {
        /// File with the keys that encrypt credentials and other secrets, by default credentials.key in data_dir; created
        /// if it is missing
        pub key_file: Option<PathBuf> = optional(path());
    }

    otlp: OtlpConfig {
        /// Whether traces are sent to a collector of OpenTelemetry: from the request that creates a job to its pull
        /// request
        pub traces: bool = switch(), default "false";
        /// Address of the collector, which is sent OTLP over HTTP; by default what OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
        /// OTEL_EXPORTER_OTLP_ENDPOINT says, or http://127.0.0.1:4318
        pub endpoint: Option<String> = optional(web_address());
    }

    sign_in: SignInConfig {
        /// Header in which a proxy in front sends the e-mail address of the person who signed in there
        pub proxy_header: Option<String> = optional(header());
        /// Addresses of that proxy; the header is believed only on connections from there
        pub proxies: Option<String> = optional(networks());
        /// What happens when the proxy or the provider signs in a person who is not a user yet: refuse them until
        /// they open an invitation, or make them a user without projects
        pub new_users: NewUsers = choice(), default "refuse";
        /// Address of the OpenID Connect provider with which people sign in
        pub oidc_issuer: Option<String> = optional(web_address());
        /// Client id of this server at the provider
        pub oidc_client_id: Option<String> = optional(line());
        /// Client secret of this server at the provider, if it has one
        pub oidc_client_secret: Option<SecretString> = optional(api_key());
        /// Whether people can sign in only with the provider, and not with a password
        pub oidc_only: bool = switch(), default "false";
    }
}
