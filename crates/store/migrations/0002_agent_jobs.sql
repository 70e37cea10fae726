-- What agent jobs leave behind them while they run, so that whoever takes one over goes on from there.

-- What to do with a change that brings new findings: open it as a draft, or fail the job.
ALTER TABLE projects ADD COLUMN on_findings TEXT NOT NULL DEFAULT 'draft';

-- Somebody who opens the pull request of a finished job has this until then.
ALTER TABLE jobs ADD COLUMN publisher TEXT;
ALTER TABLE jobs ADD COLUMN publisher_until {int};

-- The prompt that began the job's present turn.
ALTER TABLE jobs ADD COLUMN turn_message {int} NOT NULL DEFAULT 1;

-- Answers of a model. They were paid for, so each is kept before it is acted upon.
CREATE TABLE answers (
    job_id       {id} NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number       {int} NOT NULL,
    round        {int} NOT NULL,
    seen_through {int} NOT NULL,
    said         {bytes} NOT NULL,
    usage        TEXT NOT NULL,
    created_at   {int} NOT NULL,
    PRIMARY KEY (job_id, number)
) {strict};

-- One way from prompts to a commit on the job's branch. A job has another one when prompts come in after it.
CREATE TABLE rounds (
    job_id        {id} NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number        {int} NOT NULL,
    turn          {int} NOT NULL,
    first_message {int} NOT NULL,
    base_commit   TEXT NOT NULL,
    parent_commit TEXT NOT NULL,
    branch        TEXT,
    commit_id     TEXT,
    pushed_at     {int},
    -- Its commit is not to go out any more: the job was cancelled, or its prompts were done again.
    dropped_at    {int},
    PRIMARY KEY (job_id, number)
) {strict};

-- What came out of a round.
CREATE TABLE edits (
    job_id        {id} NOT NULL,
    round         {int} NOT NULL,
    title         TEXT NOT NULL,
    summary       TEXT NOT NULL,
    taken_through {int} NOT NULL,
    verdict       TEXT NOT NULL,
    checks        TEXT NOT NULL,
    changes       {bytes} NOT NULL,
    diff          {bytes} NOT NULL,
    made_at       {int} NOT NULL,
    PRIMARY KEY (job_id, round),
    FOREIGN KEY (job_id, round) REFERENCES rounds (job_id, number) ON DELETE CASCADE
) {strict};

-- Pull requests of repositories that no code host looks after.
CREATE TABLE pull_requests (
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    number     {int} NOT NULL,
    job_id     {id} NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    head       {id} NOT NULL,
    base       TEXT NOT NULL,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    draft      {int} NOT NULL,
    token      {id} NOT NULL UNIQUE,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    PRIMARY KEY (project_id, number)
) {strict};

CREATE UNIQUE INDEX pull_requests_by_head ON pull_requests (project_id, head);
