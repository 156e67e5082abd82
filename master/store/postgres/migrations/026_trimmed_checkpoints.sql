-- Patterns of the files that are still to be removed from a PARTIALLY_DELETED checkpoint, as a list
-- of strings; NULL: none.
ALTER TABLE checkpoints ADD COLUMN globs jsonb;
CREATE INDEX checkpoints_trimmed ON checkpoints (id) WHERE globs IS NOT NULL;
