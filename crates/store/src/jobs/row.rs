use copydesk_domain::{Job, Outcome, Status};

use crate::conn::{Result, Row};
use crate::{StoreError, pull_state};

pub(crate) const COLUMNS: &str = "id, project_id, status, repository, base_ref, branch, model, draft, open_pull_request, \
     client_reference, pr_link, outcome, message, title, usage, checks, cancel_requested_at, turn, created_at, updated_at, \
     archived_at, turn_message, pr_number, pr_state, pr_draft, pr_merged_at, \
     pr_checked_at";

pub(crate) fn read(row: &Row) -> Result<Job> {
    let unreadable = |what: &str| StoreError::Unreadable(format!("a job's {what}"));
    Ok(Job {
        id: row.string(0)?,
        project_id: row.string(1)?,
        status: Status::parse(row.text(2)?).ok_or_else(|| unreadable("status"))?,
        repository: row.string(3)?,
        base_ref: row.string(4)?,
        branch: row.opt_string(5)?,
        model: row.string(6)?,
        draft: row.int(7)? != 0,
        open_pull_request: row.int(8)? != 0,
        client_reference: row.opt_string(9)?,
        pr_link: row.opt_string(10)?,
        outcome: match row.opt_text(11)? {
            Some(word) => Some(Outcome::parse(word).ok_or_else(|| unreadable("outcome"))?),
            None => None,
        },
        message: row.opt_string(12)?,
        title: row.opt_string(13)?,
        usage: serde_json::from_str(row.text(14)?).map_err(|_| unreadable("usage"))?,
        checks: serde_json::from_str(row.text(15)?).map_err(|_| unreadable("checks"))?,
        cancel_requested: row.opt_int(16)?.is_some(),
        turn: row.u32(17)?,
        created_at: row.time(18)?,
        updated_at: row.time(19)?,
        archived_at: row.opt_time(20)?,
        turn_message: row.u32(21)?,
        pull_request: pull_state::read(row, 22, row.opt_text(10)?)?,
        pull_checked_at: row.opt_time(26)?,
    })
}
