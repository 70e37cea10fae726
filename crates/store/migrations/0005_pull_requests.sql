-- Where the pull requests of jobs stand on their code hosts, and work branches that were brought up to date.

-- The pull request as the code host last told of it; all null where there is none, or none with a number.
ALTER TABLE jobs ADD COLUMN pr_number {int};
ALTER TABLE jobs ADD COLUMN pr_state TEXT;
ALTER TABLE jobs ADD COLUMN pr_draft {int};
ALTER TABLE jobs ADD COLUMN pr_merged_at {int};
-- When somebody last asked the code host about it.
ALTER TABLE jobs ADD COLUMN pr_checked_at {int};

CREATE INDEX jobs_by_pull_request ON jobs (project_id, pr_number);

-- What the work branch was at when the base branch was brought into it, and the files that both had changed.
ALTER TABLE rounds ADD COLUMN merged_commit TEXT;
ALTER TABLE rounds ADD COLUMN conflicts TEXT;
