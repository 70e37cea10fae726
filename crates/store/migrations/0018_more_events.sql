-- When the first page view of a project was told of; null: there was none yet. Projects from before this are 0, because
-- nobody has looked yet whether they had any, and a view that is not the first must not be told of as such.
ALTER TABLE projects ADD COLUMN first_view_at {int};
UPDATE projects SET first_view_at = 0;

-- Webhooks for everything were made when everything was this. What they get stays as it was; a receiver that refuses what
-- it does not know would be paused otherwise.
UPDATE webhook_endpoints SET events = '["job.created","job.completed","job.failed","job.archived"]' WHERE events = '[]';

-- Pull requests that are asked about without anybody looking at their jobs.
CREATE INDEX jobs_open_pulls ON jobs (pr_checked_at) WHERE pr_state = 'open';
