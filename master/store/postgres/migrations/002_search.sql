
-- A trial that the searcher holds at its rung.
ALTER TABLE trials ADD COLUMN held boolean NOT NULL DEFAULT false;
-- A trial that starts from the checkpoint that this one saves.
ALTER TABLE trials ADD COLUMN waits_for int;

-- The checkpoint from which every trial of the experiment starts.
ALTER TABLE experiments ADD COLUMN warm_start text;

-- What a searcher has heard since its snapshot, step by step.
CREATE TABLE searcher_events (
  experiment int NOT NULL,
  sequence   bigint NOT NULL,
  events     json NOT NULL,
  PRIMARY KEY (experiment, sequence)
);
