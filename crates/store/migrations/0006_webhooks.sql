-- Webhooks: who is told of what happens to a project's jobs, and every telling.

CREATE TABLE webhook_endpoints (
    id              {id} PRIMARY KEY,
    project_id      {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    url             TEXT NOT NULL,
    -- The kinds that it wants, as a list; an empty one is all of them.
    events          TEXT NOT NULL,
    description     TEXT NOT NULL,
    created_at      {int} NOT NULL,
    -- Nothing is delivered while this is set; the words say who did it and why.
    paused_at       {int},
    paused_why      TEXT,
    -- The first failure since the last success.
    failing_since   {int},
    last_success_at {int}
) {strict};

CREATE INDEX webhook_endpoints_of_project ON webhook_endpoints (project_id, id);

-- What deliveries are signed with, sealed. There are two while one takes over from the other.
CREATE TABLE webhook_secrets (
    id          {id} PRIMARY KEY,
    endpoint_id {id} NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    sealed      {bytes} NOT NULL,
    expires_at  {int}
) {strict};

CREATE INDEX webhook_secrets_of_endpoint ON webhook_secrets (endpoint_id, id);

CREATE TABLE webhook_deliveries (
    id            {id} PRIMARY KEY,
    endpoint_id   {id} NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    event_id      {id} NOT NULL,
    kind          TEXT NOT NULL,
    payload       TEXT NOT NULL,
    created_at    {int} NOT NULL,
    tries         {int} NOT NULL,
    -- When it is due; null when it was delivered or given up.
    not_before    {int},
    last_tried_at {int},
    last_status   {int},
    last_answer   TEXT,
    last_error    TEXT,
    last_ms       {int},
    delivered_at  {int},
    given_up_at   {int}
) {strict};

CREATE INDEX webhook_deliveries_of_endpoint ON webhook_deliveries (endpoint_id, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, not_before) WHERE not_before IS NOT NULL;
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);
