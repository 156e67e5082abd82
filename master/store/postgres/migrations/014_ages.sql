-- How many days after a trial's end its lines of log are kept; null: as the configuration says.
ALTER TABLE experiments ADD COLUMN log_days smallint;
ALTER TABLE trials ADD COLUMN log_days smallint;
