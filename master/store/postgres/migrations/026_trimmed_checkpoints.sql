-- Patterns of the files that are still to be removed of a checkpoint that is PARTIALLY_DELETED: a list
-- of texts. NULL: nothing more is to go of it.
ALTER TABLE checkpoints ADD COLUMN globs jsonb;
CREATE INDEX checkpoints_trimmed ON checkpoints (id) WHERE globs IS NOT NULL;
