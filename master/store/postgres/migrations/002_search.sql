
-- Whether the searcher holds the trial at its rung.
ALTER TABLE trials ADD COLUMN held boolean NOT NULL DEFAULT false;
-- The trial whose checkpoint this trial waits for, to start from it.
ALTER TABLE trials ADD COLUMN waits_for int;

-- The checkpoint from which every trial of the experiment starts.
ALTER TABLE experiments ADD COLUMN warm_start text;

-- The events that a searcher has handled since its snapshot, step by step.
CREATE TABLE searcher_events (
  experiment int NOT NULL,
  sequence   bigint NOT NULL,
  events     json NOT NULL,
  PRIMARY KEY (experiment, sequence)
);
