-- People, how they get in, what they may do, and what everybody has done.

CREATE TABLE users (
    id         {id} PRIMARY KEY,
    -- In small letters.
    email      {id} NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    -- Its hash; null for those who only come in through somebody else's sign-in.
    password   TEXT,
    is_admin   {int} NOT NULL,
    created_at {int} NOT NULL
) {strict};

CREATE TABLE memberships (
    user_id    {id} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    role       TEXT NOT NULL,
    created_at {int} NOT NULL,
    PRIMARY KEY (user_id, project_id)
) {strict};

CREATE INDEX memberships_of_project ON memberships (project_id);

CREATE TABLE sessions (
    id           {id} PRIMARY KEY,
    -- Of what the browser shows; that itself is nowhere.
    digest       {id} NOT NULL UNIQUE,
    user_id      {id} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- How they came in: password, link, proxy, oidc.
    way          TEXT NOT NULL,
    -- The browser in words, and nothing that tells more of it.
    client       TEXT NOT NULL,
    created_at   {int} NOT NULL,
    seen_at      {int} NOT NULL,
    -- When they last showed that it is they.
    confirmed_at {int} NOT NULL,
    expires_at   {int} NOT NULL
) {strict};

CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Links that let somebody in once: into a project with a role, as an administrator, or as a user that there is already.
CREATE TABLE invitations (
    id         {id} PRIMARY KEY,
    digest     {id} NOT NULL UNIQUE,
    project_id {id} REFERENCES projects (id) ON DELETE CASCADE,
    -- Null for administrators and for users that there are already.
    role       TEXT,
    -- The user whom it lets in again; null for somebody new.
    user_id    {id} REFERENCES users (id) ON DELETE CASCADE,
    note       TEXT NOT NULL,
    made_by    TEXT NOT NULL,
    created_at {int} NOT NULL,
    expires_at {int} NOT NULL
) {strict};

CREATE INDEX invitations_of_project ON invitations (project_id);
CREATE INDEX invitations_by_expiry ON invitations (expires_at);

-- Forms that were taken, so that sending one again does nothing.
CREATE TABLE marks (
    mark       {id} PRIMARY KEY,
    expires_at {int} NOT NULL
) {strict};

-- Who somebody is at a provider of sign-ins.
CREATE TABLE identities (
    issuer  {id} NOT NULL,
    subject {id} NOT NULL,
    user_id {id} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
) {strict};

CREATE INDEX identities_of_user ON identities (user_id);

-- The audit log. It outlives what it tells of, so it refers to nothing.
CREATE TABLE deeds (
    id         {id} PRIMARY KEY,
    project_id {id},
    actor_kind TEXT NOT NULL,
    actor_id   {id},
    actor_name TEXT NOT NULL,
    action     TEXT NOT NULL,
    target     TEXT NOT NULL,
    detail     TEXT NOT NULL,
    created_at {int} NOT NULL
) {strict};

CREATE INDEX deeds_of_project ON deeds (project_id, id);

-- Who made the job, as people call them.
ALTER TABLE jobs ADD COLUMN made_by TEXT;

-- A pull request that Copydesk keeps can be merged and closed.
ALTER TABLE pull_requests ADD COLUMN state TEXT NOT NULL DEFAULT 'open';
ALTER TABLE pull_requests ADD COLUMN merged_at {int};
ALTER TABLE pull_requests ADD COLUMN merged_commit TEXT;
ALTER TABLE pull_requests ADD COLUMN closed_at {int};

CREATE INDEX jobs_of_project_by_status ON jobs (project_id, status, id);
CREATE INDEX jobs_of_project_by_model ON jobs (project_id, model, id);
CREATE INDEX jobs_of_project_by_pull_request ON jobs (project_id, pr_state, id);

-- What the checks say of the pages of a project's repository, at one commit of its base branch; replaced as a whole.
CREATE TABLE health (
    project_id {id} PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    -- When somebody last began to look.
    tried_at   {int} NOT NULL,
    -- The commit that the pages were judged at, and when; null until they were.
    commit_id  TEXT,
    checked_at {int},
    -- What could not be judged of all pages together, by the reason.
    not_judged TEXT NOT NULL DEFAULT '[]',
    -- Why the last look came to nothing; what is known is older then. Null if it did not.
    problem    TEXT
) {strict};

CREATE TABLE page_health (
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    file       {id} NOT NULL,
    -- The address of the page on the site, if it is known.
    page       {id},
    title      TEXT NOT NULL,
    -- How much was found, and the first of it; see the domain's FindingSummary.
    found      {int} NOT NULL,
    findings   TEXT NOT NULL,
    -- What could not be judged, by the reason.
    not_judged TEXT NOT NULL,
    PRIMARY KEY (project_id, file)
) {strict};

CREATE INDEX page_health_by_page ON page_health (project_id, page);
