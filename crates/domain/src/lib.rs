//! The words Copydesk is written in: ids, keys, projects, jobs and their state machine.
//!
//! Nothing here does I/O. Everything above imports from here; this imports from nobody.

mod ask;
mod budget;
mod checks;
mod clock;
pub mod dates;
mod duration;
mod event_line;
mod hex;
mod host;
mod id;
mod invalid;
mod job;
mod key;
mod people;
mod project;
mod prompt;
mod repository;
mod secret_text;
mod source;
mod steady;
mod trace;
mod views;
mod visible;
mod webhook;
mod window;

pub(crate) use ask::mentions;
pub use ask::{Ask, Person};
pub use budget::{Budget, BudgetOf, Budgets, Dollars};
pub use checks::{CheckSummary, FindingSummary, NotJudged};
pub use clock::{Clock, SystemClock, Timestamp};
pub use duration::{format_duration, parse_duration};
pub use event_line::event_line;
pub use hex::{hex, unhex};
pub use host::{Comments, HostKind, HostSettings, PullRequest, PullRequestState, api_url};
pub use id::{JobId, new_id, random_fraction, random_secret, random_suffix, random_token};
pub use invalid::Invalid;
pub use job::{Command, Job, Message, Outcome, Refusal, Status, Usage};
pub use key::{ApiKey, KeyRecord, MalformedKey, Scope};
pub use people::{
    Actor, ActorKind, Deed, MAX_PASSWORD, MIN_PASSWORD, Member, Role, User, email, password, person_name,
};
pub use project::{
    MAX_PATTERNS, OnFindings, Project, ProjectId, WritePaths, docs_path, git_ref, path_pattern, time_zone,
};
pub use prompt::{MAX_PROMPT_BYTES, Prompt, PromptError};
pub use repository::{Repository, begins_with_host};
pub use secret_text::SecretText;
pub use source::{ChangeRange, CodeSource, MAX_CODE_SOURCES, code_source_name};
pub use steady::{AT_ONCE, Doubt, SECOND_LOOK, SteadyTime};
pub use trace::{TRACE_TARGET, TraceContext};
pub use views::{MAX_DOMAINS, Source, Sources, ViewSettings, domain};
pub use visible::visible;
pub use webhook::EventKind;
pub use window::{Standing, Window};
