-- When the turn of a lane comes: a lane of which a job was taken goes behind those that wait already, so that each project has its
-- share however many jobs another one has. An earlier program writes no turn, and its lanes come first.
ALTER TABLE lanes ADD COLUMN turn_at {int} NOT NULL DEFAULT 0;
UPDATE lanes SET turn_at = next_at;
DROP INDEX lanes_by_turn;
CREATE INDEX lanes_by_turn ON lanes (turn_at, next_id);
