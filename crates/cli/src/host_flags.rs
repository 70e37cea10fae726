//! What flags say of a code host, and what comes of trying one out, for projects and code sources alike.

use copydesk_desk::projects::{HostDraft, TalkDraft, TrialResult, TrialView};
use copydesk_domain::{Comments, HostKind};

use crate::args::{CommentsArg, HostArg, HostFlags, TalkFlags};

pub(crate) fn host_draft(host: HostFlags) -> HostDraft {
    HostDraft {
        kind: host.host.map(Into::into),
        api_url: host.host_api_url,
        ca_file: host.host_ca_file,
        accept_any_certificate: host.host_accept_any_certificate,
        talk: TalkDraft::default(),
    }
}

pub(crate) fn talk_draft(talk: TalkFlags) -> TalkDraft {
    TalkDraft {
        comments: talk.comments.map(Comments::from),
        mention: talk.mention,
        job_label: talk.job_label,
        labels: talk.label,
        reviewers: talk.reviewer,
    }
}

impl From<CommentsArg> for Comments {
    fn from(arg: CommentsArg) -> Self {
        match arg {
            CommentsArg::Mentions => Self::Mentions,
            CommentsArg::All => Self::All,
            CommentsArg::Off => Self::Off,
        }
    }
}

impl From<HostArg> for Option<HostKind> {
    fn from(arg: HostArg) -> Self {
        match arg {
            HostArg::Auto => None,
            HostArg::Github => Some(HostKind::Github),
            HostArg::Gitlab => Some(HostKind::Gitlab),
            // One asks the other's interface.
            HostArg::Forgejo | HostArg::Gitea => Some(HostKind::Forgejo),
            HostArg::Bitbucket => Some(HostKind::Bitbucket),
            HostArg::Git => Some(HostKind::Git),
        }
    }
}

pub(crate) fn trial_line(trial: &TrialView) -> String {
    let mark = match trial.result {
        TrialResult::Yes => "yes",
        TrialResult::No => "NO",
        TrialResult::Unknown => "?",
    };
    let why = trial.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{mark:<4} {}{why}", trial.what)
}
