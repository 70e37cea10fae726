-- What belongs to a job is found by it when the job is forgotten.
CREATE INDEX pull_requests_of_job ON pull_requests (job_id);
CREATE INDEX outbox_of_job ON outbox (job_id);
