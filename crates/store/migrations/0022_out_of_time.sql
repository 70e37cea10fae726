-- Jobs that wait with their time running: few of the many that wait, and looked for every few seconds by every process.
CREATE INDEX jobs_out_of_time ON jobs (deadline_at) WHERE status = 'active' AND worker IS NULL AND deadline_at IS NOT NULL;
