-- A copy that was restored from a backup does nothing to the world outside until somebody says so: there is a row until then.
CREATE TABLE dormancy (
    id          {int} PRIMARY KEY,
    -- The moment that the backup shows.
    backup_at   {int} NOT NULL,
    restored_at {int} NOT NULL
) {strict};
