-- Which projects have jobs that wait, by model: one row each, with the job that comes first. A worker looks here, so that a
-- look takes as long with many jobs and projects as with few. A row may be too early, never too late; what is missing is put
-- in by the upkeep.
CREATE TABLE lanes (
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    model      TEXT NOT NULL,
    -- When its first job may run, and which that is.
    next_at    {int} NOT NULL,
    next_id    {id} NOT NULL,
    PRIMARY KEY (project_id, model)
) {strict};
CREATE INDEX lanes_by_turn ON lanes (next_at, next_id);
CREATE INDEX jobs_in_lane ON jobs (project_id, model, not_before, id) WHERE status = 'active' AND worker IS NULL;
INSERT INTO lanes (project_id, model, next_at, next_id)
    SELECT j.project_id, j.model, j.not_before, MIN(j.id) FROM jobs j
    WHERE j.status = 'active' AND j.worker IS NULL AND j.not_before = (SELECT MIN(w.not_before) FROM jobs w
        WHERE w.project_id = j.project_id AND w.model = j.model AND w.status = 'active' AND w.worker IS NULL)
    GROUP BY j.project_id, j.model, j.not_before;
