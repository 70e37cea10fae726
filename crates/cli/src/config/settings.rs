//! The one list of settings: the struct [`Config`], parsing, `copydesk config` and the sample file all come from it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use secrecy::SecretString;

use super::database::DatabaseUrl;
use super::kind::{
    UNSET, api_key, choice, database, dollars, header, line, listen, model, models, networks, optional, path, ranges,
    switch, time, web_address, whole,
};
use super::origin::Origin;
use super::table::{Setting, default_value, settings};
use super::values::{LogFormat, LogLevel, NewUsers, Provider};

impl Config {
    /// Address under which users reach the server, without a trailing slash.
    pub fn public_url(&self) -> String {
        self.public_url.clone()
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
        /// Directory of everything this process stores on disk
        pub data_dir: PathBuf = path(), default "copydesk-data";
        /// Address the server listens on
        pub listen: SocketAddr = listen(), default "127.0.0.1:4400";
        /// Address for health and figures (/healthz, /readyz, /metrics) alone, of serve and of worker; keep it from the
        /// public
        pub admin_listen: Option<SocketAddr> = optional(listen());
        /// Address under which users reach the server
        pub(super) public_url: String = web_address(), default "http://127.0.0.1:4400",
            derived "http:// and the value of listen";
        /// Database of this process
        pub(super) database_url: DatabaseUrl = database(), default "sqlite:copydesk-data/copydesk.db",
            derived "the SQLite file copydesk.db in data_dir";
        /// PostgreSQL connections this process holds at most
        // One is taken by the wake-ups.
        pub database_connections: u32 = whole(2, 500), default "10";
        /// File with the secret of an earlier version, whose secrets are then sealed with credentials.key_file; secret.key in data_dir by default
        pub secret_file: Option<PathBuf> = optional(path());
        /// Least severe level that is logged
        pub log: LogLevel = choice(), default "info";
        /// How log lines are written
        pub log_format: LogFormat = choice(), default "json";
    }

    limits: Limits {
        /// Job creations and messages of a project in an hour; 0 for no limit
        pub jobs_per_hour: u32 = whole(0, 1_000_000), default "100";
        /// Analytics requests of a key in a minute; 0 for no limit
        pub analytics_per_minute: u32 = whole(0, 1_000_000), default "100";
        /// Page views that one network (256 addresses of IPv4, a /48 of IPv6) may tell of in a minute without a key; 0 for
        /// no limit
        pub events_per_minute: u32 = whole(0, 100_000_000), default "3000";
        /// Jobs of one project that may run at once; 0 for no limit
        pub running_per_project: u32 = whole(0, 1000), default "4";
        /// Calls of a model that a job may make for a prompt
        pub job_turns: u32 = whole(1, 10_000), default "60";
        /// Tokens that a job may use for a prompt, read and written
        pub job_tokens: u32 = whole(1000, 1_000_000_000), default "2000000";
        /// US dollars that a job may cost for a prompt, where prices are set; a project and a job can only lower it
        pub job_cost: Option<f64> = optional(dollars());
        /// Files that a job may change
        pub changed_files: u32 = whole(1, 100_000), default "100";
        /// Lines that a job may add and remove
        pub changed_lines: u32 = whole(1, 10_000_000), default "10000";
        /// Time a job may run
        pub job_time: Duration = time(secs(1), hours(7 * 24)), default "30m";
        /// Time a job waits for a code host that is away, which is not part of the time it may run; 0s to try no more
        /// often than after any other failure
        pub host_wait: Duration = time(secs(0), hours(30 * 24)), default "1h";
        /// Time a job may wait for a worker
        pub queue_time: Duration = time(mins(1), hours(30 * 24)), default "24h";
        /// Time a request may take
        pub request_time: Duration = time(secs(1), mins(10)), default "30s";
        /// Time the head of a request may take
        pub head_time: Duration = time(secs(1), mins(10)), default "10s";
        /// Connections the server holds open at once; idle and slow ones give way to new ones
        pub connections: u32 = whole(1, 100_000), default "1024";
        /// Of these, connections of one address; 0 for no limit. Proxies (views.proxies) have none
        pub connections_per_peer: u32 = whole(0, 100_000), default "256";
        /// Megabytes that the bodies of all requests may take up in memory
        pub body_memory: u32 = whole(128, 1_000_000), default "256";
        /// Bytes of a body that have to come in a second
        pub body_rate: u32 = whole(1, 1_000_000_000), default "2000";
        /// Whether /metrics is on the public listener too
        pub public_metrics: bool = switch(), default "false";
        /// Time open requests and jobs get to finish at shutdown
        pub shutdown_time: Duration = time(secs(0), mins(10)), default "30s";
    }

    runner: RunnerConfig {
        /// Jobs this process runs at once; 0 to run none
        pub workers: u32 = whole(0, 10_000), default "2";
        /// Time after which the job of a silent worker is given to another
        pub lease: Duration = time(Duration::from_millis(500), mins(10)), default "15s";
        /// Times a job is started before it counts as failed
        pub attempts: u32 = whole(1, 100), default "10";
    }

    jobs: JobsConfig {
        /// Model of a job that names none; a model that is configured takes the place of this default
        pub default_model: String = model(), default "builtin";
        /// Models a job may name; a model that is configured is added to this default
        pub models: Vec<String> = models(), default "builtin,noop";
    }

    // There is a model if `provider` and `name` are set, and then both are.
    model: ModelConfig {
        /// Who serves the model that runs the jobs; openai is anything that speaks OpenAI's chat interface
        pub provider: Option<Provider> = optional(choice());
        /// Name of the model
        pub name: Option<String> = optional(model());
        /// Address of the model's interface, where it is not the provider's own
        pub base_url: Option<String> = optional(web_address());
        /// Key for the model's interface
        pub api_key: Option<SecretString> = optional(api_key());
        /// Folder in which a file named like a project holds the key to use for it
        pub project_keys: Option<PathBuf> = optional(path());
        /// Tokens that the model can read at once
        pub context_tokens: u32 = whole(2000, 10_000_000), default "128000";
        /// Tokens that the model may write in one answer
        pub output_tokens: u32 = whole(100, 1_000_000), default "8192";
        /// US dollars for a million tokens that the model reads
        pub input_price: Option<f64> = optional(dollars());
        /// US dollars for a million tokens that the model's cache gives back; a part of input_price if left out
        pub cached_input_price: Option<f64> = optional(dollars());
        /// US dollars for a million tokens that the model writes
        pub output_price: Option<f64> = optional(dollars());
        /// Time without a word from the model after which a call is tried again
        pub silence: Duration = time(secs(1), hours(1)), default "2m";
    }

    views: ViewsConfig {
        /// Days that page views are kept, unless the project says otherwise; 0 for ever
        pub keep_days: u32 = whole(0, 36_500), default "0";
        /// Time in which a browser that tells of the same page twice has seen it once; 0s to count both
        pub duplicate_window: Duration = time(secs(0), mins(10)), default "1s";
        /// Megabytes that the counters of projects may take up in memory
        pub memory: u32 = whole(16, 1_000_000), default "256";
        /// Megabytes that questions about large projects may take up while they are answered; more of them wait
        pub question_memory: u32 = whole(16, 1_000_000), default "256";
        /// Pages of a project that are told apart on one day; the rest is counted as /(other). 0 for no bound
        pub pages_per_day: u32 = whole(0, 10_000_000), default "50000";
        /// Kinds of readers of a project that are told apart on one day; 0 for no bound
        pub readers_per_day: u32 = whole(0, 10_000_000), default "10000";
        /// Folder with newer lists of agents and of their addresses than those built in; lists in data_dir by default
        pub lists: Option<PathBuf> = optional(path());
        /// Proxies whose X-Forwarded-For tells the reader's address: loopback for those on this machine, private for this
        /// machine and private networks, none, or ranges such as 10.0.0.0/8, 192.0.2.7
        pub proxies: String = line(), default "loopback";
    }

    webhooks: WebhooksConfig {
        /// Private addresses that webhooks may go to, also without https: false, true for this machine and private
        /// networks, or ranges such as 10.0.0.0/8, 127.0.0.1
        pub allow_private: String = ranges(), default "false";
    }

    git: GitConfig {
        /// Author and committer of commits
        pub name: String = line(), default "Copydesk";
        /// Their e-mail address
        pub email: String = line(), default "copydesk@localhost";
        /// Time that one git command may take
        pub time: Duration = time(secs(1), hours(6)), default "5m";
    }

    credentials: CredentialsConfig {
        /// File with the keys that the credentials of projects are sealed with, made if it is missing; credentials.key
        /// in data_dir by default
        pub key_file: Option<PathBuf> = optional(path());
    }

    sign_in: SignInConfig {
        /// Header in which a proxy in front names the e-mail address of whoever has signed in there, such as Remote-Email
        pub proxy_header: Option<String> = optional(header());
        /// Where that proxy is: the header is believed only on connections that come from there
        pub proxies: Option<String> = optional(networks());
        /// What becomes of somebody for whom the proxy or the provider vouches and who is no user yet: refuse them until
        /// they open an invitation, or make them a user without-projects, who sees none until somebody gives them a place
        pub new_users: NewUsers = choice(), default "refuse";
        /// Address of a provider of OpenID Connect through which people sign in
        pub oidc_issuer: Option<String> = optional(web_address());
        /// Name by which the provider knows this server
        pub oidc_client_id: Option<String> = optional(line());
        /// Secret that the provider gave to this server, if it gave one
        pub oidc_client_secret: Option<SecretString> = optional(api_key());
        /// Whether the provider is the only way in, and passwords are refused
        pub oidc_only: bool = switch(), default "false";
    }
}
