-- Browsers in which somebody has signed in with their password. They do not stand in line with strangers who guess it.
CREATE TABLE browsers (
    digest     TEXT PRIMARY KEY,
    user_id    {id} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    seen_at    {int} NOT NULL
) {strict};

CREATE INDEX browsers_of_user ON browsers (user_id, seen_at);
