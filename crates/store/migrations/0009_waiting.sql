-- Since when the code host of a job is away, while it is waited for.
ALTER TABLE jobs ADD COLUMN away_since {int};
