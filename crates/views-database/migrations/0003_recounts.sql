-- Projects of which ClickHouse has only a part for now: days and months are being counted anew there, or were when that was
-- interrupted. Questions about them are refused until it has been done.
CREATE TABLE views_recounts (project INTEGER PRIMARY KEY);
