-- Titles and texts that Copydesk itself has given to pull requests: whatever else one says is somebody else's, and stays.
CREATE TABLE pull_words (
    job_id {id} NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    PRIMARY KEY (job_id, digest)
) {strict};
