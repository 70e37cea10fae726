//! Jobs by what they are about.

use copydesk_boxed::boxed;
use copydesk_domain::{Job, JobId, ProjectId};

use crate::conn::{Conn, Dialect, Result, plain_text, values};
use crate::database::Store;
use crate::jobs::COLUMNS;

/// So many of the newest jobs are looked through: what is older is found in the list.
const WORDS_OF: u32 = 2000;
/// The same for what they changed, which is longer.
const DIFFS_OF: u32 = 200;
/// How many jobs that are like another are of interest.
const ALIKE: u32 = 10;

#[boxed]
impl Store {
    /// Jobs of late whose title or prompt holds a text, newest first. Small and capital letters are the same.
    pub async fn find_jobs(&self, project_id: &ProjectId, text: &str, limit: u32) -> Result<Vec<Job>> {
        let (project_id, text) = (project_id.clone(), plain_text(text));
        self.read(move |c| Box::pin(by_words(c, project_id, text, limit))).await
    }

    /// Jobs of late that changed a file, newest first.
    pub async fn jobs_that_changed(&self, project_id: &ProjectId, file: &str, limit: u32) -> Result<Vec<Job>> {
        let (project_id, file) = (project_id.clone(), file.to_owned());
        self.read(move |c| Box::pin(by_file(c, project_id, file, limit))).await
    }

    /// Jobs of late that have a pull request which is not merged, and that were asked for in the same words as this one or
    /// have made the same change, newest first, each with its change.
    pub async fn jobs_like(&self, job: &Job, diff: &[u8]) -> Result<Vec<(Job, Vec<u8>)>> {
        let (project_id, id, base_ref, diff) =
            (job.project_id.clone(), job.id.clone(), job.base_ref.clone(), diff.to_vec());
        self.read(move |c| Box::pin(like(c, project_id, id, base_ref, diff))).await
    }

    /// Jobs whose pull request is open, those that nothing has happened to for longest first.
    pub async fn open_pulls(&self, project_id: &ProjectId, limit: u32) -> Result<Vec<Job>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM jobs WHERE project_id = $1 AND status = 'completed' AND pr_state = 'open' \
             ORDER BY updated_at LIMIT $2"
        );
        let values = values![project_id, limit];
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }
}

async fn by_words(c: &mut dyn Conn, project_id: ProjectId, text: String, limit: u32) -> Result<Vec<Job>> {
    let (place, prompt) = match c.dialect() {
        Dialect::Sqlite => ("instr", "CAST(m.prompt AS TEXT)"),
        // No text of PostgreSQL can hold a NUL, and a prompt may.
        Dialect::Postgres => (
            "strpos",
            "CASE WHEN position('\\x00'::bytea in m.prompt) > 0 THEN '' ELSE convert_from(m.prompt, 'UTF8') END",
        ),
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs WHERE id IN (SELECT id FROM jobs WHERE project_id = $1 ORDER BY id DESC LIMIT $2) \
         AND ({place}(lower(COALESCE(title, '')), lower($3)) > 0 OR EXISTS (SELECT 1 FROM messages m \
         WHERE m.job_id = jobs.id AND {place}(lower({prompt}), lower($4)) > 0)) ORDER BY id DESC LIMIT $5"
    );
    c.rows(sql, values![project_id, WORDS_OF, &text, &text, limit]).await
}

async fn like(
    c: &mut dyn Conn,
    project_id: ProjectId,
    id: JobId,
    base_ref: String,
    diff: Vec<u8>,
) -> Result<Vec<(Job, Vec<u8>)>> {
    // The last edit of a job holds all that it has changed.
    let last = "SELECT e.diff FROM edits e WHERE e.job_id = jobs.id ORDER BY e.round DESC LIMIT 1";
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs WHERE id IN (SELECT id FROM jobs WHERE project_id = $1 ORDER BY id DESC LIMIT $2) \
         AND id <> $3 AND pr_state IN ('open', 'closed') AND base_ref = $4 AND (({last}) = $5 OR EXISTS (SELECT 1 \
         FROM messages m JOIN messages o ON o.prompt = m.prompt AND o.job_id = $6 AND o.number = 1 \
         WHERE m.job_id = jobs.id AND m.number = 1)) ORDER BY id DESC LIMIT $7"
    );
    let jobs: Vec<Job> = c.rows(sql, values![project_id, WORDS_OF, &id, base_ref, diff, &id, ALIKE]).await?;
    let mut alike = Vec::new();
    for job in jobs {
        let last = "SELECT diff FROM edits WHERE job_id = $1 ORDER BY round DESC LIMIT 1";
        let diff: Option<Vec<u8>> = c.row(last, values![&job.id]).await?;
        alike.extend(diff.map(|diff| (job, diff)));
    }
    Ok(alike)
}

async fn by_file(c: &mut dyn Conn, project_id: ProjectId, file: String, limit: u32) -> Result<Vec<Job>> {
    // As a diff names the file that it is about.
    let (old, new) = (format!("\n--- a/{file}\n").into_bytes(), format!("\n+++ b/{file}\n").into_bytes());
    let holds = match c.dialect() {
        Dialect::Sqlite => "instr(e.diff, $3) > 0 OR instr(e.diff, $4) > 0",
        Dialect::Postgres => "position($3 in e.diff) > 0 OR position($4 in e.diff) > 0",
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs WHERE id IN (SELECT id FROM jobs WHERE project_id = $1 ORDER BY id DESC LIMIT $2) \
         AND EXISTS (SELECT 1 FROM edits e WHERE e.job_id = jobs.id AND ({holds})) \
         ORDER BY id DESC LIMIT $5"
    );
    c.rows(sql, values![project_id, DIFFS_OF, old, new, limit]).await
}
