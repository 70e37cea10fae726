-- One place for everything that is sealed: what projects show to others, what others show to them, and what webhooks
-- are signed with.
CREATE TABLE secrets (
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- git, drain, hook, or webhook/ and the id of the webhook.
    name       {id} NOT NULL,
    -- Counted up when a new one takes over.
    generation {int} NOT NULL,
    -- Its kind, in words.
    title      TEXT NOT NULL,
    -- The key that it is sealed with, which is in a file and never here.
    key_id     TEXT NOT NULL,
    sealed     {bytes} NOT NULL,
    created_at {int} NOT NULL,
    updated_at {int} NOT NULL,
    -- Until when it still holds; set when a new one has taken over.
    expires_at {int},
    PRIMARY KEY (project_id, name, generation)
) {strict};

CREATE INDEX secrets_by_expiry ON secrets (expires_at) WHERE expires_at IS NOT NULL;

INSERT INTO secrets SELECT project_id, name, 1, title, key_id, sealed, created_at, updated_at, NULL
    FROM project_secrets WHERE name = 'git';

-- Until now these were sealed with, or made from, the secret of the installation, which is not known here. The program
-- seals them with a key of the key file when it next sees that secret.
INSERT INTO secrets SELECT e.project_id, 'webhook/' || e.id,
    (SELECT count(*) FROM webhook_secrets o WHERE o.endpoint_id = s.endpoint_id AND o.id <= s.id),
    'webhook secret', 'installation', s.sealed, e.created_at, e.created_at, s.expires_at
    FROM webhook_secrets s JOIN webhook_endpoints e ON e.id = s.endpoint_id;
INSERT INTO secrets SELECT id, 'drain', 1, 'drain secret', 'installation', CAST('' AS {bytes}), created_at, created_at,
    NULL FROM projects;
INSERT INTO secrets SELECT id, 'hook', 1, 'hook secret', 'installation', CAST('' AS {bytes}), created_at, created_at,
    NULL FROM projects;

DROP TABLE webhook_secrets;
DROP TABLE project_secrets;
