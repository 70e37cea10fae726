-- Projects of which ClickHouse has only a part for now: days and months are being counted anew there, or were when that was
-- interrupted. Questions about them are refused until it has been done.
CREATE TABLE views_recounts (project INTEGER PRIMARY KEY);

-- Whether the tables in ClickHouse were this ledger's once: if they are not later, they are not made again, empty.
ALTER TABLE views_counted_in_clickhouse ADD COLUMN is_there BOOLEAN NOT NULL DEFAULT FALSE;

-- By what ClickHouse knows a shipment. A number alone could come twice, if the database was put back to a moment before. One that
-- was begun by a program of before has none, and is known by its number.
ALTER TABLE views_shipments ADD COLUMN token UUID;
