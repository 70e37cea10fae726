-- Further repositories that the agents of a project may read. What is shown to their hosts is in `secrets`, as source/ and
-- the name.
CREATE TABLE sources (
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name       {id} NOT NULL,
    repository TEXT NOT NULL,
    -- The branch that is read; empty: the main branch.
    ref        TEXT NOT NULL,
    host       TEXT NOT NULL,
    created_at {int} NOT NULL,
    PRIMARY KEY (project_id, name)
) {strict};

-- The range of commits of a source that the documentation is to be brought up to.
ALTER TABLE jobs ADD COLUMN changes TEXT;

-- Where the sources were when the round began, so that whoever takes it over reads the same; nothing if there were none.
ALTER TABLE rounds ADD COLUMN sources TEXT;
