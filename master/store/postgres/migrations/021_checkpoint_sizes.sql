-- Returns number and size of a trial's checkpoints from the index alone: a page of experiments
-- needs them for all trials.
CREATE INDEX checkpoints_counted ON checkpoints (trial) INCLUDE (size) WHERE state <> 'DELETED';
