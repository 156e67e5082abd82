-- The first attempts of a trial after each time that its experiment was continued, as a list of
-- numbers. Trials that were continued before keep one task.
ALTER TABLE trials ADD COLUMN continued_runs json NOT NULL DEFAULT '[]';
