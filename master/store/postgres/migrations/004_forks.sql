-- The experiment that this one was made from.
ALTER TABLE experiments ADD COLUMN forked_from int;
