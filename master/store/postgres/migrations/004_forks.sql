-- The experiment from which this one was forked.
ALTER TABLE experiments ADD COLUMN forked_from int;
