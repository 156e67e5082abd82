-- The number of days after a trial's end for which its logs are kept; NULL: according to the
-- configuration.
ALTER TABLE experiments ADD COLUMN log_days smallint;
ALTER TABLE trials ADD COLUMN log_days smallint;
