-- Page views: what was counted, by quarter hour, day and month (all UTC), and what must be known to count nothing twice.
-- Rows of one project are found by its number. A project that was removed gets another one if it comes again, so that
-- nothing that is still to be deleted, or that a process remembers, can be taken for the new one's.

CREATE TABLE views_projects (
    id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    -- Moves on when pages or readers get other numbers: what a process remembers of them is void then.
    epoch BIGINT NOT NULL DEFAULT 0,
    script_since BIGINT,
    server_since BIGINT,
    floor BIGINT,
    -- How the floor was moved of late, and where it should be at the first look, as JSON.
    moves TEXT NOT NULL DEFAULT '[]',
    wish TEXT
) WITH (fillfactor = 50);

-- Projects that were removed and whose rows go in steps.
CREATE TABLE views_gone (project INTEGER PRIMARY KEY);

-- The store's own time, which a wrong clock does not move far: seconds since 1970.
CREATE TABLE views_time (only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row), now BIGINT NOT NULL);

CREATE TABLE views_paths (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project INTEGER NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    UNIQUE (project, path)
);

CREATE TABLE views_readers (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project INTEGER NOT NULL,
    -- Digest of facts and verdict, by which a new view finds it. None if another row is the same by now.
    digest BYTEA,
    -- JSON, always written by the same program in the same way.
    facts TEXT COLLATE "C" NOT NULL,
    verdict TEXT COLLATE "C" NOT NULL,
    -- The name of the machine, or the rule that found it.
    called TEXT COLLATE "C" NOT NULL,
    -- 0 people, 2 AI, 4 others; and 1 more if the server side told.
    side SMALLINT NOT NULL,
    UNIQUE (project, digest)
);

-- Digests of the ids of events, for as long as they are remembered; seconds since 1970.
CREATE TABLE views_ids (
    project INTEGER NOT NULL,
    id BYTEA NOT NULL,
    arrived BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX views_ids_arrived ON views_ids USING brin (arrived) WITH (pages_per_range = 32);

-- What is counted is updated often and never in its key: free space in the pages keeps the indexes out of it.
CREATE TABLE views_cells (
    project INTEGER NOT NULL,
    quarter INTEGER NOT NULL,
    path BIGINT NOT NULL,
    reader BIGINT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (project, quarter, path, reader)
) WITH (fillfactor = 90);

-- Pages by day and month: people by script and by server, AI by script and by server.
CREATE TABLE views_days (
    project INTEGER NOT NULL,
    day INTEGER NOT NULL,
    path BIGINT NOT NULL,
    hs BIGINT NOT NULL,
    hv BIGINT NOT NULL,
    ms BIGINT NOT NULL,
    mv BIGINT NOT NULL,
    PRIMARY KEY (project, day, path)
) WITH (fillfactor = 80);

CREATE TABLE views_months (
    project INTEGER NOT NULL,
    -- Since January 1970.
    month INTEGER NOT NULL,
    path BIGINT NOT NULL,
    hs BIGINT NOT NULL,
    hv BIGINT NOT NULL,
    ms BIGINT NOT NULL,
    mv BIGINT NOT NULL,
    PRIMARY KEY (project, month, path)
) WITH (fillfactor = 70);

-- What machines read, each kind by itself, AI or not.
CREATE TABLE views_machine_days (
    project INTEGER NOT NULL,
    day INTEGER NOT NULL,
    path BIGINT NOT NULL,
    reader BIGINT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (project, day, path, reader)
) WITH (fillfactor = 85);

CREATE TABLE views_machine_months (
    project INTEGER NOT NULL,
    month INTEGER NOT NULL,
    path BIGINT NOT NULL,
    reader BIGINT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (project, month, path, reader)
) WITH (fillfactor = 80);

-- The site as a whole by quarter hour, for courses over time in any zone.
CREATE TABLE views_site (
    project INTEGER NOT NULL,
    quarter INTEGER NOT NULL,
    reader BIGINT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (project, quarter, reader)
) WITH (fillfactor = 70);

-- How far logs have been imported, in the order in which that was written.
CREATE TABLE views_marks (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project INTEGER NOT NULL,
    log TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    place TEXT COLLATE "C",
    mark TEXT NOT NULL
);
CREATE INDEX views_marks_log ON views_marks (project, log, digest);
CREATE INDEX views_marks_place ON views_marks (project, place) WHERE place IS NOT NULL;

-- Prints of the lines of logs that were counted.
CREATE TABLE views_lines (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project INTEGER NOT NULL,
    log TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    prints BYTEA NOT NULL
);
CREATE INDEX views_lines_project ON views_lines (project, id);
