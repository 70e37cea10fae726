-- The oldest version whose programs still run on this one, so that machines can be updated one after the other.
ALTER TABLE schema_versions ADD COLUMN runs_from {int};
