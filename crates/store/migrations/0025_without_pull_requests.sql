-- A job is written to several times before it has a pull request, if it ever has: nothing of that goes into the indexes of those
-- that have one.
DROP INDEX jobs_by_pull_request;
CREATE INDEX jobs_by_pull_request ON jobs (project_id, pr_number) WHERE pr_number IS NOT NULL;
DROP INDEX jobs_of_project_by_pull_request;
CREATE INDEX jobs_of_project_by_pull_request ON jobs (project_id, pr_state, id) WHERE pr_state IS NOT NULL;
