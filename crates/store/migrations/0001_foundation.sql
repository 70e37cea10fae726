-- One text for both databases. {int}, {id}, {bytes} and {strict} are replaced by the words of each:
-- instants are milliseconds since 1970, booleans 0 and 1, lists and objects JSON.

CREATE TABLE projects (
    id                 {id} PRIMARY KEY,
    name               TEXT NOT NULL,
    repository         TEXT NOT NULL,
    base_ref           TEXT NOT NULL,
    docs_paths         TEXT NOT NULL,
    time_zone          TEXT NOT NULL,
    jobs_per_hour      {int},
    max_running        {int},
    time_limit_seconds {int},
    created_at         {int} NOT NULL,
    updated_at         {int} NOT NULL
) {strict};

CREATE TABLE admin_keys (
    id           {id} PRIMARY KEY,
    project_id   {id} REFERENCES projects (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    scope        TEXT NOT NULL,
    digest       {id} NOT NULL UNIQUE,
    hint         TEXT NOT NULL,
    created_at   {int} NOT NULL,
    expires_at   {int},
    revoked_at   {int},
    last_used_at {int}
) {strict};

CREATE INDEX admin_keys_of_project ON admin_keys (project_id);

CREATE TABLE jobs (
    id                  {id} PRIMARY KEY,
    project_id          {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    status              TEXT NOT NULL,
    repository          TEXT NOT NULL,
    base_ref            TEXT NOT NULL,
    branch              TEXT,
    model               TEXT NOT NULL,
    draft               {int} NOT NULL,
    open_pull_request   {int} NOT NULL,
    client_reference    TEXT,
    pr_link             TEXT,
    outcome             TEXT,
    message             TEXT,
    title               TEXT,
    usage               TEXT NOT NULL,
    checks              TEXT NOT NULL,
    turn                {int} NOT NULL,
    created_at          {int} NOT NULL,
    updated_at          {int} NOT NULL,
    archived_at         {int},
    -- The lease queue. `attempt` only ever grows: it is the fencing token of every write by a worker.
    queued_at           {int} NOT NULL,
    not_before          {int} NOT NULL,
    tries               {int} NOT NULL,
    attempt             {int} NOT NULL,
    worker              TEXT,
    lease_expires_at    {int},
    deadline_at         {int},
    cancel_requested_at {int}
) {strict};

CREATE INDEX jobs_of_project ON jobs (project_id, id);
CREATE INDEX jobs_waiting ON jobs (not_before, id) WHERE status = 'active' AND worker IS NULL;
CREATE INDEX jobs_leased ON jobs (lease_expires_at) WHERE status = 'active' AND worker IS NOT NULL;
CREATE INDEX jobs_running ON jobs (project_id) WHERE status = 'active' AND worker IS NOT NULL;

CREATE TABLE messages (
    job_id     {id} NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number     {int} NOT NULL,
    project_id {id} NOT NULL,
    -- Bytes, not text: PostgreSQL's text cannot hold a NUL, which a prompt may.
    prompt     {bytes} NOT NULL,
    created_at {int} NOT NULL,
    PRIMARY KEY (job_id, number)
) {strict};

CREATE INDEX messages_in_window ON messages (project_id, created_at);

CREATE TABLE events (
    job_id     {id} NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number     {int} NOT NULL,
    kind       TEXT NOT NULL,
    data       TEXT NOT NULL,
    created_at {int} NOT NULL,
    PRIMARY KEY (job_id, number)
) {strict};

CREATE TABLE idempotency (
    project_id  {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    key         {id} NOT NULL,
    fingerprint TEXT NOT NULL,
    job_id      {id} NOT NULL,
    answer      TEXT NOT NULL,
    expires_at  {int} NOT NULL,
    PRIMARY KEY (project_id, key)
) {strict};

CREATE INDEX idempotency_expiry ON idempotency (expires_at);

CREATE TABLE outbox (
    id         {id} PRIMARY KEY,
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    job_id     {id} NOT NULL,
    kind       TEXT NOT NULL,
    created_at {int} NOT NULL,
    not_before {int} NOT NULL,
    tries      {int} NOT NULL
) {strict};

CREATE INDEX outbox_due ON outbox (not_before, id);
