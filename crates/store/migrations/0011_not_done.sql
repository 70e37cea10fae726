-- What of its prompts an edit leaves undone, and why.
ALTER TABLE edits ADD COLUMN not_done TEXT NOT NULL DEFAULT '[]';
