-- How a project's code host is reached, as JSON; see HostSettings.
ALTER TABLE projects ADD COLUMN host TEXT NOT NULL DEFAULT '{}';

-- What a project shows to others: sealed with the key of that id, which is in a file and never here.
CREATE TABLE project_secrets (
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name       {id} NOT NULL,
    key_id     TEXT NOT NULL,
    sealed     {bytes} NOT NULL,
    -- Its kind, in words.
    title      TEXT NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    PRIMARY KEY (project_id, name)
) {strict};
