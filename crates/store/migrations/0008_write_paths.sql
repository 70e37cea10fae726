-- Paths that a project opens to jobs or closes to them, beside its docs folders: JSON, see the domain's WritePaths.
ALTER TABLE projects ADD COLUMN write_paths TEXT NOT NULL DEFAULT '{}';
