-- What people ask for at code hosts: comments on pull requests, labels of issues. Each is there once, however often it is
-- told of; what became of it is written in the transaction that makes the job or the follow-up.
CREATE TABLE asks (
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    ask TEXT NOT NULL,
    state TEXT NOT NULL,
    note TEXT,
    job_id {id} REFERENCES jobs (id) ON DELETE CASCADE,
    message {int},
    tries {int} NOT NULL,
    heard_at {int} NOT NULL,
    due_at {int},
    PRIMARY KEY (project_id, key)
) {strict};
CREATE INDEX asks_due ON asks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX asks_of_job ON asks (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX asks_by_time ON asks (project_id, heard_at);
